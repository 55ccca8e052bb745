#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One or two hosts of eight fail while jobs transfer: time until the slowest job ends, with recovery by measured flows, by stated flows, by
# the policy alone, and with the jobs requeued as a whole (recover_live.py). Real workers under nomora local-agent, by ssh. On
# demand: it needs a quiet machine and two minutes per seed. NOMORA_SEEDS: number of seeds; NOMORA_KINDS: a part of the four.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
for program in ssh ssh-keygen /usr/sbin/sshd curl ss; do command -v $program >/dev/null || skip_all "$program is not installed"; done
dir=$(mktemp -d /tmp/nomora-rl.XXXXXX) # the paths of unix sockets must be short
at_exit rm -rf "$dir"
lab=rl$((BASHPID % 100000))
"$nomora" lab up --name $lab --hosts 8 --racks 1 --link-MBps 10 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab

# ssh reaches a host by an sshd in its namespace that ssh itself starts, not over the network, whose links are measured.
mkdir -p /run/sshd "$dir/down" "$dir/home"
ssh-keygen -q -t ed25519 -N '' -f "$dir/key" && ssh-keygen -q -t ed25519 -N '' -f "$dir/host-key"
printf '%s\n' "HostKey $dir/host-key" "AuthorizedKeysFile $dir/key.pub" 'StrictModes no' 'UsePAM no' 'PermitRootLogin prohibit-password' 'PidFile none' \
	"SetEnv HOME=$dir/home PATH=$PATH" >"$dir/sshd-config"
printf '%s\n' 'Host h*' 'User root' "IdentityFile $dir/key" 'IdentitiesOnly yes' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' \
	"ProxyCommand sh -c 'test ! -e $dir/down/%n && exec ip netns exec $lab-%n /usr/sbin/sshd -i -f $dir/sshd-config'" >"$dir/ssh-config"

# shellcheck disable=SC2086 # words
python3 "$(dirname "$0")/recover_live.py" "$bin" "$dir" "$lab" "$source_root/curves" "${NOMORA_SEEDS:-10}" ${NOMORA_KINDS:-measured stated policy requeue} >"$dir/runs" 2>"$dir/err" &
child=$!
at_exit kill $child
wait $child
code=$?
sed 's/^/# /' "$dir/runs"
check "all runs end: no task is lost" test "$code $(grep -c '"failed"' "$dir/runs")" = "0 0"
# shellcheck disable=SC2086
python3 - "$dir/runs" ${NOMORA_KINDS:-measured stated policy requeue} >"$dir/table" <<'END'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
by = {(r["seed"], r["kind"]): r for r in runs if "slowest_s" in r}
kinds = sys.argv[2:]
seeds = sorted({s for s, _ in by if all((s, k) in by for k in kinds)})
print(f"{len(seeds)} seeds; slowest job after the failure, seconds; quotient: by the seed's time with the first, median (least to greatest)")
for kind in kinds:
    times = [by[s, kind]["slowest_s"] for s in seeds]
    ratios = sorted(by[s, kind]["slowest_s"] / by[s, kinds[0]]["slowest_s"] for s in seeds)
    print(f"{kind:10} median {statistics.median(times):.2f} mean {statistics.mean(times):.2f}  quotient {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
# The prediction begins when the lost tasks have started again.
late = 0
for kind in {"measured", "stated"} & set(kinds):
    runs = [r for s in seeds for r in [by[s, kind]] if r["predicted_s"]]
    errors = sorted((r["slowest_s"] - r["started_s"]) / r["predicted_s"] for r in runs)
    late += errors[-1:] > [1.03]
    if errors:
        print(f"{kind}: started after median {statistics.median(r['started_s'] for r in runs):.2f} s; then to the end / predicted: "
              f"median {statistics.median(errors):.3f} ({errors[0]:.3f} to {errors[-1]:.3f})")
sys.exit(2 if late else "requeue" in kinds and statistics.median(by[s, "requeue"]["slowest_s"] / by[s, kinds[0]]["slowest_s"] for s in seeds) <= 1)
END
code=$?
sed 's/^/# /' "$dir/table"
check "no job ends later than 1.03 times the prediction after the lost tasks started" test $code -ne 2
check "by the median, the slowest job ends before that of requeued jobs" test $code -ne 1
plan

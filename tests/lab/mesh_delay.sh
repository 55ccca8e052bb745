#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A delay added to one host's link is in the live mesh within 3 windows, and only in the pairs that use the link.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
lab=d$((BASHPID % 100000))
live=$scratch/live
at_exit "$nomora" lab down --name "$lab"
check "up: 3 hosts, an injector at h1" "$nomora" lab up --name "$lab" --hosts 3 --racks 1 --inject h1 --delay-us 0 --peers "$scratch/peers"
while read -r host address _; do
	ip netns exec "$lab-$host" "$nomora" mesh agent eth0 --address "$address" --peers "$scratch/peers" --live "$live" \
		--window 0.5 --interval-us 5000 --timeout-ms 200 --quiet >"$scratch/$host.log" 2>&1 &
	at_exit kill -9 $!
done < <(grep -v '^#' "$scratch/peers")

# Follows the live matrix until each pair has 3 windows that ended after a delay of 10 ms was set; the first of them began
# before that.
cat >"$scratch/follow.py" <<'END_PYTHON'
import json, subprocess, sys, time
nomora, live, socket = sys.argv[1:]
deadline = time.monotonic() + 60

def rows():
    out = subprocess.run([nomora, "mesh", "export", live, "--json"], capture_output=True, text=True).stdout
    pairs = json.loads(out)["pairs"] if out else []
    return {(p["src"], p["dst"]): (p["updated_at"], p["rtt_p50_us"]) for p in pairs if p["state"] == "measured"}

def wait(condition):
    while not condition(now := rows()):
        if time.monotonic() > deadline:
            sys.exit(f"timed out; the last rows are {now}")
        time.sleep(0.02)
    return now

wait(lambda now: len(now) == 6 and max(p50 for _, p50 in now.values()) < 5000)
subprocess.run([nomora, "inject-ctl", socket, "set", "delay_ab_us=10000"], check=True, stdout=subprocess.DEVNULL)
seen = {pair: [row] for pair, row in rows().items()}

def follow(now):
    for pair, row in now.items():
        if row[0] != seen[pair][-1][0]:
            seen[pair].append(row)
    return min(len(all_rows) for all_rows in seen.values()) > 3

wait(follow)
for pair, all_rows in sorted(seen.items()):
    p50s = [p50 for _, p50 in all_rows[1:4]]
    print("# p50 in us,", *pair, *p50s)
    if "h1" in pair:
        assert max(p50s) > 10000, pair
    else:
        assert min(p50s) < 5000, pair
END_PYTHON
run python3 "$scratch/follow.py" "$nomora" "$live" "/run/nomora/$lab-h1.sock"
[ "$code" -eq 0 ] && pass "10 ms at h1's link are in its four pairs within 3 windows, and in no other" ||
	fail "10 ms at h1's link are in its four pairs within 3 windows, and in no other" "$out" "$err" "$(cat "$scratch"/h?.log)"
printf '%s\n' "$out"
plan

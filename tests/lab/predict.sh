#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora trace --calibrate and nomora predict against the injector: the measured latency rises by the injected delay, and
# the prediction from one run without delay is checked by a sweep of the shipped ping-pong.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
[ -e "$bin/../predict/recorder/nomora_mpi.so" ] && command -v mpicc mpirun >/dev/null || skip_all "needs Open MPI"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
cd "$scratch" || exit 1
lab=p$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
mpi_plan=$source_root/injector/sweep/profiles/mpi-pingpong.plan
client=$(sed -n 's/^client = //p' "$mpi_plan")
# shellcheck disable=SC2016
launcher=${client%' $NOMORA_SCRATCH/pingpong 1 8'}
mpirun=mpirun${launcher#*mpirun}
gates=(--lab "$lab" --share-machine --reference-every 0 --precision-percent 0 --max-busy-percent 100 --max-stall-percent 20 --max-steal-percent 100 --any-delays)

cp -r "$source_root/injector/sweep/profiles/mpi" mpi
grep -vE '^(setup|client|metric) =' "$mpi_plan" >latency.plan
# HOME: as in the shipped plan
cat >>latency.plan <<END
client = HOME=\$NOMORA_SCRATCH $nomora trace --calibrate - -- $mpirun
metric = latency us lower json:latency_us
metric = overhead us lower json:overhead_us
metric = eager B lower json:eager_bytes
END
run "$nomora" sweep latency.plan -o latency.csv "${gates[@]}" --delays "0 100 1000" --repetitions 1 --timeout-s 120
swept && pass "calibrations at 0, 100 and 1,000 us" || fail "calibrations at 0, 100 and 1,000 us" "$err"
check "the measured latency rises by the injected delay, and nothing else does" python3 - latency.csv <<'PYTHON'
import csv, sys
rows = {(float(r["delay_us"]), r["metric"]): float(r["value"]) for r in csv.DictReader(open(sys.argv[1]))}
base = rows[0, "latency"]
for delay in 100, 1000:
    assert abs(rows[delay, "latency"] - base - delay) < 10 + 0.03 * delay, rows
    assert abs(rows[delay, "overhead"] - rows[0, "overhead"]) < 10, rows
assert {rows[d, "eager"] for d in (0, 100, 1000)} == {65536 - 56}, rows
PYTHON

run "$nomora" sweep "$mpi_plan" --try "${gates[@]}" --client "HOME=\$NOMORA_SCRATCH $nomora trace --calibrate $scratch/model.json -- $mpirun && echo '{\"rounds_per_s\": 1, \"mean_us\": 1}'"
[ -s model.json ] && pass "a model of the lab" || fail "a model of the lab" "$out" "$err"
run "$nomora" sweep "$mpi_plan" --try "${gates[@]}" --client "HOME=\$NOMORA_SCRATCH $nomora trace -o $scratch/run -- $mpirun \$NOMORA_SCRATCH/pingpong 1 8"
[ "$(find run -name '*.trace' | wc -l)" -eq 2 ] && pass "a recorded run" || fail "a recorded run" "$out" "$err"
run "$nomora" predict --model model.json --name pingpong -o pingpong.json --check "$mpi_plan" --measured check.csv run/*.trace \
	-- "${gates[@]}" --repetitions 2
[ "$code" -eq 0 ] || [ "$code" -eq 3 ] && pass "predict --check" || fail "predict --check" "exit $code" "$err"
printf '%s\n' "$out" | sed -n '/^Measured/,$ s/^/# /p'
check "four delays, twice" test "$(grep -c operations_per_second check.csv)" -eq 8
"$nomora" predict --model model.json --json --measured check.csv run/*.trace >check.json
# The ping-pong waits for each message: on a quiet machine the error is a few percent. Without latency in the model, it
# would be +590 % at 500 us.
check "predicted and measured performance are near each other" python3 -c '
import json
c = json.load(open("check.json"))["check"]
assert [level["added_rtt_us"] for level in c["levels"]] == [20, 100, 500], c
assert c["median_error"] < 0.25 and c["worst_error"] < 0.5, c'
check "nomora fit --compare takes both" sh -c "'$nomora' fit check.csv -q -o measured.json && { '$nomora' fit --compare measured.json pingpong.json --plot both.svg; [ \$? -ne 1 ]; } && test -s both.svg"
plan

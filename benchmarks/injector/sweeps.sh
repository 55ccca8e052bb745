#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sweeps each shipped plan twice. Measures how much the time of a request rises per added round trip, and whether the
# two sweeps agree within their stated deviations. One line of JSON per delay and per plan. The passes of a sweep (each
# delay once) alternate with those of all other sweeps, so that the deviation between passes includes the machine's
# drift over the whole time; each pass has reference runs, with which fit corrects the drift. Needs root and a quiet
# machine; a pass takes about 20 s: 6 plans, 2 sweeps and 4 passes take 16 minutes. Rows, curves and plots stay in
# FOLDER (`sweeps.py --document docs/sweeps.md FOLDER PLAN...` copies them into that document); with FOLDER empty, a
# temporary folder is used. Existing runs are not repeated: the same command resumes an interrupted sweep, and a larger
# PASSES adds passes.
# sweeps.sh NOMORA FOLDER [DELAYS [PLANS [PASSES]]]
set -u
nomora=$1
folder=$2
delays=${3:-}
plans=${4:-memcached redis pgbench nginx mpi-pingpong mpi-allreduce}
passes=${5:-4}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "sweeps.sh: wants root, for the lab of each plan" >&2; exit 1; }
if [ -z "$folder" ]; then
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

# The schedule of fewer repetitions is a prefix of that of more.
for pass in $(seq "$passes"); do
	for plan in $plans; do
		for sweep in 1 2; do
			"$nomora" sweep "$here/../../injector/sweep/profiles/$plan.plan" -o "$folder/$plan-$sweep.csv" --seed $sweep \
				--repetitions "$pass" --reference-every 2 --precision-percent 0 ${delays:+--delays "$delays"} --any-delays >&2 ||
				[ $? -eq 3 ] || echo "sweeps.sh: $plan, sweep $sweep, pass $pass: not finished" >&2
		done
	done
done

for plan in $plans; do
	for sweep in 1 2; do
		"$nomora" fit "$folder/$plan-$sweep.csv" --application "$plan" -o "$folder/$plan-$sweep.json" \
			--plot "$folder/$plan-$sweep.svg" >/dev/null 2>&1
	done
	# A curve needs at least three delays.
	rm -f "$folder/$plan-compare.json"
	[ ! -e "$folder/$plan-1.json" ] || [ ! -e "$folder/$plan-2.json" ] ||
		"$nomora" fit --compare "$folder/$plan-1.json" "$folder/$plan-2.json" --json >"$folder/$plan-compare.json"
	[ ! -e "$folder/$plan-2.csv" ] || python3 "$here/sweeps.py" "$folder" "$plan"
done

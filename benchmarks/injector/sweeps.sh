#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plans that ship, each swept twice: by how much a request's time rises, of the round trip that was added, and how
# well the two sweeps agree, of the deviation that they state themselves. One line of JSON for each delay and for each
# plan. Wants root, a quiet machine and eight minutes; fewer DELAYS or PLANS take less. Rows, curves and plots stay in
# FOLDER (as docs/sweeps.md shows them; `sweeps.py --markdown FOLDER PLAN...` prints its tables); an empty FOLDER is one
# that goes. What is there already is not swept again.
# sweeps.sh NOMORA FOLDER [DELAYS [PLANS]]
set -u
nomora=$1
folder=$2
delays=${3:-}
plans=${4:-memcached redis pgbench nginx mpi-pingpong mpi-allreduce}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "sweeps.sh: wants root, for the lab of each plan" >&2; exit 1; }
if [ -z "$folder" ]; then
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
for plan in $plans; do
	for sweep in 1 2; do
		"$nomora" sweep "$here/../../injector/sweep/profiles/$plan.plan" -o "$folder/$plan-$sweep.csv" --seed $sweep \
			${delays:+--delays "$delays"} >&2 || { echo "sweeps.sh: $plan, sweep $sweep: not finished" >&2; continue 2; }
		"$nomora" fit "$folder/$plan-$sweep.csv" --application "$plan" -o "$folder/$plan-$sweep.json" \
			--plot "$folder/$plan-$sweep.svg" >/dev/null 2>&1
	done
	# Three delays at least make a curve.
	rm -f "$folder/$plan-compare.json"
	[ ! -e "$folder/$plan-1.json" ] || [ ! -e "$folder/$plan-2.json" ] ||
		"$nomora" fit --compare "$folder/$plan-1.json" "$folder/$plan-2.json" --json >"$folder/$plan-compare.json"
	python3 "$here/sweeps.py" "$folder" "$plan"
done

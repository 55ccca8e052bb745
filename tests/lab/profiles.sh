#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The shipped plans: each is valid, and each whose programs are installed is run once at 0 and once at 500 us.
. "$(dirname "$0")/../cli/lib.sh"

profiles=$source_root/injector/sweep/profiles
for plan_file in "$profiles"/*.plan; do
	name=$(basename "$plan_file" .plan)
	run "$nomora" sweep "$plan_file" --dry-run
	[ "$code" -eq 0 ] && [ "$(printf '%s\n' "$out" | grep -c ' us ')" -eq 36 ] && pass "$name: 36 runs planned" || fail "$name: 36 runs planned" "$out$err"
done
finish_early() { skip "runs" "$1"; plan; exit 0; }
[ "$(id -u)" -eq 0 ] || finish_early "needs root"
[ -x "$bin/nomora-injector" ] || finish_early "built without DPDK"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || finish_early "network namespaces cannot be made here"
lab=p$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"

# try NAME PROGRAM...: the plan's first metric must fall by a third at least between 0 and 500 us.
try() {
	local name=$1 program verdict
	shift
	for program in "$@"; do
		command -v "$program" >/dev/null || [ -x "$program" ] || { skip "$name" "$program is not installed"; return; }
	done
	run "$nomora" sweep "$profiles/$name.plan" -o "$scratch/$name.csv" --lab "$lab" --share-machine --delays "0 500" --any-delays --repetitions 1 --reference-every 0 --attempts 3 --precision-percent 0 --max-busy-percent 100 --max-stall-percent 20 --max-steal-percent 100
	if ! swept; then fail "$name" "exit $code" "$err"; return; fi
	verdict=$(python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
first = rows[0]["metric"]
v = {float(r["delay_us"]): float(r["value"]) for r in rows if r["metric"] == first}
print("ok" if v[500] < v[0] / 1.5 else "bad", f"{first} {v[0]:.0f} -> {v[500]:.0f}")' "$scratch/$name.csv")
	case $verdict in ok*) pass "$name: ${verdict#ok }" ;; *) fail "$name: $verdict" ;; esac
}
try memcached memcached
try redis redis-server redis-benchmark redis-cli
try pgbench /usr/lib/postgresql/15/bin/postgres pgbench
try nginx nginx wrk
try mpi-pingpong mpicc mpirun
try mpi-allreduce mpicc mpirun
check "nothing is left" sh -c "! ip netns list | grep -q '^$lab-'"
plan

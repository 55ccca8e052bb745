#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A sweep that creates its own lab: memcached through the injector, and nothing left behind however it ends.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
command -v memcached >/dev/null || skip_all "memcached is not installed"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
cd "$scratch" || exit 1
lab=s$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
memcached_plan=$source_root/injector/sweep/profiles/memcached.plan
sweep=("$nomora" sweep "$memcached_plan" --lab "$lab" --share-machine --reference-every 0 --precision-percent 0 --max-busy-percent 100 --max-stall-percent 20 --max-steal-percent 100 --any-delays)
nothing_left() {
	if wait_for 15 sh -c "! ip netns list | grep -q '^$lab-' && ! ls /run/nomora/${lab}[.-]* 2>/dev/null" &&
		! ps -eo args | grep -qE "[1]0\.77\.1\.1 -p 11211|${lab}-[h]1"; then
		pass "$1"
	else
		fail "$1" "$(ip netns list | grep "^$lab-")" "$(ps -eo pid,args | grep -E "[1]0\.77\.1\.1 -p 11211|$lab-[h]1")"
	fi
}

run "${sweep[@]}" -o out.csv --delays "0 500" --repetitions 2 --attempts 5
swept && pass "memcached at 0 and 500 us, twice" || fail "memcached at 0 and 500 us, twice" "$err"
nothing_left "the lab and the server are gone"
check "the baseline round trip is in each row: ours, not ping's" awk -F, '
	NR > 1 { rows++; if ($10 > 1 && $10 < 5000) good++; if (NR > 2 && $10 != last) differ++; last = $10 }
	END { print rows, good, differ; exit !(rows == 12 && good == 12 && !differ) }' out.csv
"$nomora" sweep "$memcached_plan" --lab "$lab" --share-machine --any-delays --delays 0 --repetitions 1 --debug --client 'echo wrong; exit 7' -o debug.csv >debug.out 2>debug.err
check "--debug leaves the lab up" "$nomora" lab exec h1 --name "$lab" -- true
check "prints the line that repeats the client" sh -c "grep -A1 '^# client' debug.out | grep -q 'nomora lab exec h2 --name $lab -- env NOMORA_SERVER=10.77.1.1 .*wrong'"
check "and the one that removes the lab" sh -c "PATH='$bin':\$PATH; \$(tail -n 1 debug.out)"
nothing_left "which does"
verdict=$(python3 - out.csv <<'PYTHON'
import csv, statistics, sys
rows = list(csv.DictReader(open(sys.argv[1])))
mean = lambda d, m: statistics.mean(float(r["value"]) for r in rows if float(r["delay_us"]) == d and r["metric"] == m)
fast, slow = mean(0, "queries_per_second"), mean(500, "queries_per_second")
rise = mean(500, "latency_mean") - mean(0, "latency_mean")
print("ok" if len(rows) == 12 and slow < fast / 2 and rise > 900 else "bad",
      f"{fast:.0f} -> {slow:.0f} queries/s, mean request time +{rise:.0f} us for 1000")
PYTHON
)
case $verdict in ok*) pass "the rate falls: $verdict" ;; *) fail "the rate falls: $verdict" "$(cat out.csv)" ;; esac

printf '%s\n' "lab = $lab" 'server-host = h1' 'client-host = h2' 'delays = 0' 'any-delays = true' 'repetitions = 1' 'settle-s = 0' 'max-stall-percent = 100' \
	'client = taskset -cp $$ >affinity; echo value = 1' 'metric = value 1 higher regex:^value = ([0-9.]+)$' 'share-machine = true' >affinity.plan
run "$nomora" sweep affinity.plan -o affinity.csv
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
	check "the client keeps off the injector's CPU, the last one" sh -c "grep 'affinity list: ' affinity && ! grep -qE '[-, ]$(($(nproc --all) - 1))\$' affinity"
else
	skip "the client keeps off the injector's CPU" "one CPU, or no taskset"
fi
"${sweep[@]}" -o killed.csv --delays "0..90/10" --repetitions 1 >/dev/null 2>&1 &
running=$!
wait_for 30 sh -c 'test "$(wc -l <killed.csv)" -gt 3'
kill -KILL "$running"
wait "$running" 2>/dev/null
nothing_left "SIGKILL leaves no lab, no server, no injector"
run "${sweep[@]}" -o killed.csv --delays "0 10" --repetitions 1
swept && says "$out" 'already there|runs made' && pass "and the same file goes on" || fail "and the same file goes on" "$err"
"${sweep[@]}" -o term.csv --delays "0..90/10" --repetitions 1 >/dev/null 2>&1 &
running=$!
wait_for 30 sh -c "ip netns list | grep -q '^$lab-'" # the first of its namespaces: the lab is not complete yet
refuses "a second sweep names the first while that makes the lab" 1 "another sweep, process [0-9]+, uses the lab '$lab'" "${sweep[@]}" -o second.csv
wait_for 30 sh -c "find /run/nomora -path '*$lab*.sweep' -size +0 | grep -q ." # its lock file names the owner
refuses "and when that has the injector" 1 "another sweep, process [0-9]+, uses the lab '$lab'" "${sweep[@]}" -o second.csv
kill -TERM "$running"
code=0
wait "$running" || code=$?
check "SIGTERM: exit 1" test "$code" -eq 1
nothing_left "SIGTERM leaves nothing"

"$nomora" lab up --name "$lab" --hosts 2 --racks 1 >/dev/null
refuses "a lab whose name is taken" 1 "there is a lab '$lab' already" "${sweep[@]}" -o taken.csv
check "which does no harm to it" "$nomora" lab exec h1 --name "$lab" -- ping -q -c 1 -W 2 10.77.1.2
"$nomora" lab down --name "$lab"
if command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	refuses "not root" 1 'needs root' setpriv --reuid 65534 --clear-groups "$nomora" sweep "$memcached_plan" --lab "$lab" --share-machine -o /tmp/nobody.csv
	rm -f /tmp/nobody.csv*
fi
nothing_left "nothing is left"
plan

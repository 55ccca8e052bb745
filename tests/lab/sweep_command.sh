#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A sweep without a plan: from a benchmark's command line to a curve in two commands, with two real benchmarks.
. "$(dirname "$0")/../cli/lib.sh"

refuses "a program whose output is not known" 2 "'true' is not a benchmark whose output is known.*--metric" "$nomora" sweep -o "$scratch/no.csv" -- true
refuses "a plan and a command" 2 "mutually exclusive" "$nomora" sweep redis -- wrk
refuses "a command of two lines" 2 "line break" "$nomora" sweep -o "$scratch/no.csv" -- wrk $'a\nb'
check "they write no plan" test ! -e "$scratch/no.plan"
cd "$scratch" || exit 1
run "$nomora" sweep -o dry.csv --reference-every 0 --dry-run --server 'echo {server} "$HOME"' -- wrk "it's" '$HOME' '' 'http://{server}:80/a b' -t1
check "words are quoted for the shell; an option at its default value counts" diff dry.plan - <<'END'
# Made by nomora sweep from a command line. Repeat it: nomora sweep FILE -o SWEEP.csv
application = wrk
lab = sweep
server-host = h1
client-host = h2
server = echo $NOMORA_SERVER "$HOME"
server-ready = wrk 'it'\''s' '$HOME' '' http://"$NOMORA_SERVER"':80/a b' -t1
client = wrk 'it'\''s' '$HOME' '' http://"$NOMORA_SERVER"':80/a b' -t1
ready-timeout-s = 120
metric = rate 1/s higher regex:Requests/sec: +([0-9.]+)
max-stall-percent = 4
rtt-check = true
END
NOMORA_SERVER=10.0.0.1 bash -c "$(sed -n 's/^client = wrk/printf "%s|"/p' dry.plan)" >words
check "the shell makes the same words of it" grep -qxF "it's|\$HOME||http://10.0.0.1:80/a b|-t1|" words
planned=$out
run "$nomora" sweep dry.plan --dry-run -o other.csv
[ "$out" = "$planned" ] && pass "the plan repeats the sweep" || fail "the plan repeats the sweep" "$planned" "$out"
refuses "another plan is kept" 1 "dry.plan: exists with another plan" "$nomora" sweep -o dry.csv --dry-run -- wrk other

[ "$(id -u)" -eq 0 ] && [ -x "$bin/nomora-injector" ] && ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || {
	skip "sweeps in a lab" "needs root, DPDK and network namespaces"
	plan
	exit 0
}
lab=c$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
gates=(--lab "$lab" --server-host h1 --client-host h2 --any-delays -d '0 200 400' -r 1 --precision-percent 0 --max-busy-percent 100 --max-stall-percent 100 --max-steal-percent 100 --share-machine)
# falls NAME FILE: the sweep has rows of both delays, and fit makes a curve that falls to less than 60 %
falls() {
	check "$1: there is a curve" "$nomora" fit "$2" -q -o "$1.json"
	check "$1: which falls as the added 800 us demand" awk -F, '
		NR > 1 { sum[$1] += $7; count[$1]++ }
		END { print sum[0] / count[0], sum[400] / count[400]; exit !(count[0] && sum[400] / count[400] < 0.6 * sum[0] / count[0]) }' "$2"
}
if command -v redis-benchmark redis-server >/dev/null; then
	run "$nomora" sweep -o redis.csv "${gates[@]}" --server 'redis-server --port 6379 --bind {server} --save "" --protected-mode no' \
		-- redis-benchmark -h '{server}' -t get -n 3000 -c 1 -q
	swept && pass "redis-benchmark at three delays" || fail "redis-benchmark at three delays" "exit $code" "$err"
	falls redis redis.csv
else
	skip "redis-benchmark" "not installed"
fi
if command -v wrk >/dev/null; then
	run "$nomora" sweep -o wrk.csv "${gates[@]}" --server 'python3 -m http.server 8000 --bind {server}' -- wrk -t1 -c1 -d1 'http://{server}:8000/'
	swept && pass "wrk at three delays" || fail "wrk at three delays" "exit $code" "$err"
	check "wrk: there is a curve" "$nomora" fit wrk.csv -q -o wrk.json
else
	skip "wrk" "not installed"
fi
plan

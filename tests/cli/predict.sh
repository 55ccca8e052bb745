#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora predict: a published trace (Sweep3D on 2 x 2 ranks, recorded by liballprof), a schedule in GOAL, refusals; place
# reads what it writes.
. "$(dirname "$0")/lib.sh"

traces=("$source_root"/tests/data/predict/sweep3d-{0,1,2,3}.txt.gz)
mkdir "$scratch/curves"
run "$nomora" predict --latency 3 --overhead 1 --gap 0.8 --name sweep3d --output "$scratch/curves/sweep3d.json" \
	--job "$scratch/jobs.jsonl" "${traces[@]}"
[ "$code" -eq 0 ] && pass "Sweep3D" || fail "Sweep3D" "exit $code" "$err"
# An independent program (60 lines of Python on the same trace, without MPI_Init's end) has 41.9089 s at 3 us, 42.0521 s at
# 1,003 us, 15 breakpoints and 144 messages at the end.
has() { says "$out" "$2" && pass "$1" || fail "$1" "$out"; }
has "run time, and the recorded one" '^Run time 41\.9096 s; recorded were 42\.5395 s$'
has "run time at the longest latency" '^ +2000 us +42\.0521 s +0\.9966 +143$'
has "what is tolerated beyond it" '^Tolerates over 2000 us for 1 %, over 2000 us for 2 %, over 2000 us for 5 % more run time$'
has "the pairs on the longest path" '^Messages on the longest path, most first: 2 to 0: 29, 3 to 2: 19, 0 to 1: 17, 1 to 3: 17, 0 to 2: 13, 2 to 3: 3, 3 to 0: 1$'
check "the curve says that it is predicted" grep -q '"origin": "predicted"' "$scratch/curves/sweep3d.json"

cat >"$scratch/cluster.json" <<'END'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_rack": 20, "same_pod": 60, "across_pods": 100},
 "machines": [{"name": "a", "rack": "r", "slots": 1}, {"name": "b", "rack": "r", "slots": 1},
              {"name": "c", "rack": "s", "slots": 1}, {"name": "d", "rack": "s", "slots": 1}]}
END
run "$nomora" place --cluster "$scratch/cluster.json" --jobs "$scratch/jobs.jsonl" --curves "$scratch/curves"
[ "$code" -eq 0 ] && pass "place takes curve and job" || fail "place takes curve and job" "exit $code" "$err"
has "and names the predicted curve" '^Curves that are predicted, not measured: sweep3d\.$'
has "and the graph's edges" '^Job sweep3d: mean performance of its 5 edges'

run "$nomora" predict --json "${traces[@]}"
check "JSON: pieces rise, slopes rise, pairs sum to the first slope" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
p = d["pieces"]
assert d["ranks"] == 4 and len(p) > 10 and p[0]["messages"] == sum(x[2] for x in d["pairs"])
assert p[-1]["added_rtt_us"] <= 2000 and all(x["beyond"] and x["added_rtt_us"] == 2000 for x in d["tolerates"])
for a, b in zip(p, p[1:]):
    assert b["messages"] > a["messages"] and b["added_rtt_us"] > a["added_rtt_us"]
    t = a["run_time_s"] + a["messages"] * (b["added_rtt_us"] - a["added_rtt_us"]) * 0.5e-6
    assert abs(t - b["run_time_s"]) < 1e-9 * t
' "$out"

printf 'num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 8b to 1 tag 5\nl2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 5\n}\n' >"$scratch/net.goal"
run "$nomora" predict --latency 3 --gap 1 --longest 10 "$scratch/net.goal"
# 1 us of calculation, o, 7 ns, L, o, and half the added round trip.
diff - <(printf '%s\n' "$out") >"$scratch/difference" <<'END'
application: 2 ranks, an execution graph of 5 nodes
LogGPS: L 3 us, o 1 us, G 1 ns a byte, rendezvous above 65536 bytes

added round trip    run time  performance  messages on the longest path
            0 us 6.007e-06 s       1.0000                             1
            1 us 6.507e-06 s       0.9232                             1
            2 us 7.007e-06 s       0.8573                             1
            5 us 8.507e-06 s       0.7061                             1
           10 us 1.1007e-05 s       0.5457                             1

Tolerates 0.12014 us for 1 %, 0.24028 us for 2 %, 0.6007 us for 5 % more run time
Messages on the longest path, most first: 0 to 1: 1
END
[ -s "$scratch/difference" ] && fail "GOAL" "$(cat "$scratch/difference")" || pass "GOAL"
gzip -c "$scratch/net.goal" >"$scratch/net.goal.gz"
run "$nomora" predict --latency 3 --gap 1 --longest 10 "$scratch/net.goal.gz"
has "GOAL, compressed" '^ +10 us +1\.1007e-05 s'
out=$("$nomora" predict --latency 3 --gap 1 --longest 10 - <"$scratch/net.goal")
has "GOAL from stdin" '^ +10 us +1\.1007e-05 s'

# Runs whose computation takes 1, 2, 9, 4, 5, 6, 7, 8 and 3 us; a message of 8 bytes, L 3, o 1, G 1 ns: T(x) = calc + 5.007 us + x / 2.
for us in 1 2 9 4 5 6 7 8 3; do
	sed "s/calc 1000/calc ${us}000/" "$scratch/net.goal" >"$scratch/run-$us.goal"
	runs+=("$scratch/run-$us.goal")
done
run "$nomora" predict --runs 9 --json -o "$scratch/curves/runs.json" --latency 3 --gap 1 --longest 20 "${runs[@]}"
check "several runs: medians; an interval that has the median with 96.1 %, by the binomial distribution" python3 -c '
import json, math, sys
d, curve = json.loads(sys.argv[1]), json.load(open(sys.argv[2]))
r = d["runs"]
t = lambda calc, x: (calc + 5.007 + x / 2) * 1e-6
# the second and the eighth of nine: fewer than two, or fewer than two of the others, are below the median
assert r["count"] == 9 and abs(r["confidence"] - (1 - 2 * (1 + math.comb(9, 1)) / 2 ** 9)) < 1e-12
near = lambda a, b: all(abs(x - y) < 1e-9 * y for x, y in zip(a, b, strict=True))
for point in r["points"]:
    x = point["added_rtt_us"]
    assert near(point["run_time_s"], [t(5, x), t(2, x), t(8, x)]), point
    assert near(point["performance"], [t(c, 0) / t(c, x) for c in (5, 2, 8)]), point
p20 = r["points"][-1]["performance"]
assert near([curve["table"]["p"][2], curve["band"]["low"][2], curve["band"]["high"][2]], p20)
assert curve["band"]["confidence"] == r["confidence"] and curve["baseline"]["value"] == d["run_time_s"] == t(5, 0)
' "$out" "$scratch/curves/runs.json"
run "$nomora" predict --runs 3 --latency 3 --gap 1 --longest 20 "${runs[@]:0:3}"
has "of three runs, the interval has all" '^3 runs: medians, .* probability of 75 %'
has "in a table" '^ +20 us +1\.7007e-05 s +1\.6007e-05 to 2\.4007e-05 +0\.4120 +0\.3753 to 0\.5835 '
run "$nomora" predict --runs 2 --latency 3 --json "${traces[@]}" "${traces[@]}"
check "twice the same run of four ranks: the interval is empty" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["ranks"] == 4 and d["runs"]["count"] == 2 and all(len(set(p["run_time_s"])) == 1 for p in d["runs"]["points"])' "$out"
refuses "files that are not so many runs" 1 '9 files are not 2 runs with as many files each' "$nomora" predict --runs 2 "${runs[@]}"
sed 's/num_ranks 2/num_ranks 3/; $a rank 2 {\n}' "$scratch/net.goal" >"$scratch/three.goal"
refuses "runs of different programs" 1 'three\.goal: a run of 3 ranks, but the first has 2' "$nomora" predict --runs 2 "$scratch/net.goal" "$scratch/three.goal"

# Of the first of these runs, T(x) = 6.007 us + x / 2. The sweep has twice a delay of 0, 5 and 10 us a direction.
sweep_rows() {
	echo delay_us,direction,run,metric,unit,better,value,started_at,disturbed
	printf '%s,both,%s,seconds,s,lower,%s,2026-11-29T10:00:00Z,%s\n' 0 0 2 0 0 1 2 0 5 0 4 0 5 1 4 0 10 0 5 0 10 1 5 "$1"
}
sweep_rows 0 >"$scratch/good.csv"
run "$nomora" predict --latency 3 --gap 1 --longest 20 --measured "$scratch/good.csv" --json "$scratch/run-1.goal"
[ "$code" -eq 0 ] && pass "a sweep to check by" || fail "a sweep to check by" "exit $code" "$err"
check "predicted against measured, as worked out by hand" python3 -c '
import json, sys
c = json.loads(sys.argv[1])["check"]
assert c["metric"] == "seconds" and c["runs"] == 6 and c["disturbed"] == 0, c
errors = [6.007 / 11.007 / 0.5 - 1, 6.007 / 16.007 / 0.4 - 1] # predicted, measured
assert [level["added_rtt_us"] for level in c["levels"]] == [10, 20]
for level, error, measured in zip(c["levels"], errors, [0.5, 0.4]):
    assert abs(level["error"] - error) < 1e-9 and abs(level["measured"] - measured) < 1e-9, level
assert abs(c["worst_error"] - abs(errors[0])) < 1e-9 and c["worst_us"] == 10
assert abs(c["median_error"] - (abs(errors[0]) + abs(errors[1])) / 2) < 1e-9' "$out"
sweep_rows 1 >"$scratch/disturbed.csv"
run "$nomora" predict --latency 3 --gap 1 --longest 20 --measured "$scratch/disturbed.csv" "$scratch/run-1.goal"
[ "$code" -eq 3 ] && pass "disturbed runs: exit 3" || fail "disturbed runs: exit 3" "exit $code" "$err"
has "the table" '^ +10 us +0\.5000 +0\.5457 +\+9\.1 %'
has "the error" '^Error: median 7\.7 %, worst 9\.1 % at 10 us$'
has "and a warning" '^Warning: 1 of the 6 runs were disturbed'
refuses "a sweep beyond the prediction" 1 'good\.csv:6: 20 us of added round trip, but the prediction ends at 15 us: use --longest 20' \
	"$nomora" predict --longest 15 --measured "$scratch/good.csv" "$scratch/run-1.goal"
grep -v ',both,' "$scratch/good.csv" >"$scratch/none.csv"
refuses "a sweep without rows" 1 'none\.csv' "$nomora" predict --measured "$scratch/none.csv" "$scratch/run-1.goal"
refuses "a plan without a file" 2 'check needs --measured' "$nomora" predict --check redis "$scratch/run-1.goal"
refuses "options of a sweep without a plan" 2 'are for the sweep of --check PLAN' "$nomora" predict "$scratch/run-1.goal" -- --share-machine
refuses "a plan that does not exist" 1 'nothing\.plan' "$nomora" predict --check nothing.plan --measured "$scratch/new.csv" "$scratch/run-1.goal"
run "$nomora" predict --check redis --measured "$scratch/dry.csv" --longest 400 "$scratch/run-1.goal" -- --dry-run --repetitions 2
check "the plan runs at delays of 1/100, 1/20 and 1/4 of the longest round trip, with the sweep's own options" \
	test "$(printf '%s\n' "$out" | awk '$3 == "us" && $4 == "run" { print $2 }' | sort -nu | xargs)" = '0 2 10 50'

mkdir "$scratch/collectives"
differ=$(python3 "$(dirname "$0")/predict_collectives.py" "$nomora" "$scratch/collectives" 2>&1)
[ -z "$differ" ] && pass "each algorithm of a collective, against a schedule of its messages" || fail "each algorithm of a collective, against a schedule of its messages" "$differ"
run "$nomora" predict --json --collective allreduce=tree --collective allreduce=ring "${traces[@]}"
check "the algorithms that were used are told; the last choice counts" python3 -c '
import json, sys
used = {(c["call"], c["algorithm"]) for c in json.loads(sys.argv[1])["collectives"]}
assert ("allreduce", "ring") in used and ("allreduce", "tree") not in used, used' "$out"
refuses "another algorithm" 2 "'allreduce=none' is no algorithm of a collective: expected one of barrier=dissemination, " "$nomora" predict --collective allreduce=none "${traces[@]}"
refuses "an algorithm for a schedule" 1 'net\.goal: no recorded calls: --collective is for those' "$nomora" predict --collective allreduce=ring "$scratch/net.goal"

for rank in 0 1; do # 10 ms in a barrier that takes 20 us
	printf 'MPI_Init:-:0\nMPI_Barrier:0:0,%d,2:10000\nMPI_Finalize:10000:-\n' $rank >"$scratch/slow-$rank.txt"
done
run "$nomora" predict "$scratch"/slow-?.txt
has "time in calls that the model does not explain" '^Warning: the model.s run time is 0\.00[0-9]* of the recorded one\. The rest passed within MPI calls'
run "$nomora" predict --latency 100000 -o "$scratch/curves/slow.json" "$scratch"/slow-?.txt
has "a latency that cannot be that of the recording" '^Warning: the model.s run time is 10 of the recorded one\. Latency or overhead are too large'
check "the curve says so, too" grep -q '"note": ".*Warning: the model' "$scratch/curves/slow.json"
run "$nomora" predict --json --hosts a,a,a,a "${traces[@]}"
check "on one host, no message has a latency" python3 -c 'import json, sys; sys.exit([p["messages"] for p in json.loads(sys.argv[1])["pieces"]] != [0])' "$out"
run "$nomora" predict --json --hosts a,b,a,b "${traces[@]}"
check "on two hosts, only messages between them have" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
sys.exit(not d["pairs"] or any((a + b) % 2 == 0 for a, b, n in d["pairs"]))' "$out"
refuses "hosts of some ranks" 1 'the list of hosts has 2, but the run has 4 ranks' "$nomora" predict --hosts a,b "${traces[@]}"

run "$nomora" predict --json --name redis -o "$scratch/curves/redis.json" "$source_root/tests/data/predict/redis.pcap"
check "a capture: port, loop, connections; the run time is the recorded one" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
c = d["capture"]
assert c["port"] == 6379 and c["connections"] == 9 and c["turns"] == 185 and c["loop"] == "closed", c
assert abs(d["run_time_s"] - d["recorded_s"]) < 1e-5 and d["ranks"] == 2
assert len(c["hosts"]) == 2 and c["hosts"][0]["server"] and c["retransmitted"] == 0' "$out"
check "its curve says that it is predicted from a capture" grep -q '"note": "Predicted from a capture of one run' "$scratch/curves/redis.json"
out=$("$nomora" predict --format capture - <"$source_root/tests/data/predict/redis.pcap")
has "a capture from stdin" '^Port 6379: 9 connections, 185 turns'
if [ "$(id -u)" -eq 0 ] && unshare -n true 2>/dev/null && command -v redis-server redis-benchmark >/dev/null; then
	live=$(unshare -n "$(dirname "$0")/predict_live.sh" "$nomora" 2>&1)
	[ -z "$live" ] && pass "a capture of an interface: its length, a signal, silence" || fail "a capture of an interface: its length, a signal, silence" "$live"
else
	skip "a capture of an interface" "needs root, network namespaces and Redis"
fi
refuses "a capture of no interface" 1 '^nomora: error: none: cannot capture: No such device' "$nomora" predict --interface none
refuses "an interface and a file" 2 'has no FILE' "$nomora" predict --interface lo "$scratch/net.goal"
refuses "a length of a file" 2 'is for --interface' "$nomora" predict --duration 1 "$scratch/net.goal"
refuses "another port" 1 'redis\.pcap: no request to port 80 has a response$' "$nomora" predict --port 80 "$source_root/tests/data/predict/redis.pcap"
refuses "a latency of a capture" 1 'a capture shows its own latency' "$nomora" predict --latency 9 "$source_root/tests/data/predict/redis.pcap"
refuses "a port of a schedule" 1 'net\.goal: not a capture: --port is for captures' "$nomora" predict --port 80 "$scratch/net.goal"
refuses "hosts of a capture" 1 'a capture has its hosts' "$nomora" predict --hosts a,b "$source_root/tests/data/predict/redis.pcap"
head -c 1000 "$source_root/tests/data/predict/redis.pcap" >"$scratch/cut.pcap"
refuses "a capture that is cut" 1 'cut\.pcap: after packet' "$nomora" predict "$scratch/cut.pcap"
refuses "a rank's trace alone" 1 'sweep3d-0\.txt\.gz:9: communicator: rank 0 of 4, expected rank 0 of 1' "$nomora" predict "${traces[0]}"
refuses "ranks in another order" 1 'expected rank 0 of 4' "$nomora" predict "${traces[1]}" "${traces[0]}" "${traces[2]}" "${traces[3]}"
sed '/recv/d' "$scratch/net.goal" >"$scratch/alone.goal"
refuses "a message without a receiver" 1 'alone\.goal:4: rank 0: send to rank 1, tag 5: the other end is missing$' "$nomora" predict "$scratch/alone.goal"
printf 'num_ranks 1\nrank 0 {\n}\n' >"$scratch/empty.goal"
refuses "a run of no time" 1 'empty\.goal: the run takes no time$' "$nomora" predict "$scratch/empty.goal"
refuses "two schedules" 1 'a schedule in GOAL is one file, found 2$' "$nomora" predict "$scratch/net.goal" "$scratch/net.goal"
refuses "no file" 1 'nothing\.goal' "$nomora" predict "$scratch/nothing.goal"
refuses "no operand" 2 'expected FILE, or --interface NAME' "$nomora" predict
run "$nomora" predict -o "$scratch/no/such/folder/c.json" "$scratch/net.goal"
[ "$code" -eq 1 ] && [ -n "$err" ] && pass "a curve that cannot be written" || fail "a curve that cannot be written" "$code $err"
plan

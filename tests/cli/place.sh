#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora place: workers near their root, reasons for waiting, equal answers of all algorithms, and refusals of bad
# files.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# The expected values were computed by hand with these options.
hand=(--p-m 105 --p-r 110 --latency-stat max)

curves=$source_root/curves
header=src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at

# Eight hosts in two racks, two slots each; 20 to 36 us within a rack, 200 us more between them.
machines=
for host in 1 2 3 4 5 6 7 8; do
	machines="$machines${machines:+,
}{\"name\": \"h$host\", \"rack\": \"rack$(((host - 1) / 4 + 1))\", \"slots\": 2}"
done
printf '{"schema": "nomora.cluster/1", "machines": [\n%s]}\n' "$machines" >cluster.json
{
	echo "$header"
	for a in 1 2 3 4 5 6 7 8; do
		for b in 1 2 3 4 5 6 7 8; do
			[ $a -eq $b ] && continue
			rtt=$((20 + (a * 7 + b * 5) % 17))
			[ $(((a - 1) / 4)) -ne $(((b - 1) / 4)) ] && rtt=$((rtt + 200))
			echo "h$a,h$b,$rtt,$((rtt + 2)),$((rtt + 4)),0,1000,1795188663.25"
		done
	done
} >mesh.csv
cat >jobs.jsonl <<'END'
{"id": "web", "curve": "memcached", "root": "server", "tasks": ["server", "w1", "w2", "w3"]}
{"id": "train", "curve": "tensorflow", "root": "master", "tasks": ["master", "w1", "w2"]}
{"id": "batch", "curve": "strads", "root": 0, "tasks": 5}
END
place=("$nomora" place "${hand[@]}" --cluster cluster.json --curves "$curves")
field() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$out"; }
expect() { # NAME EXPRESSION WANTED, over the JSON in $out
	local found
	found=$(field "$2")
	if [ "$found" = "$3" ]; then pass "$1"; else fail "$1" "$2" "found $found, wanted $3" "$err"; fi
}

run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --verify --json
[ "$code" -eq 0 ] && pass "a round ends well" || fail "a round ends well" "exit $code" "$err"
expect "schema" 'd["schema"]' nomora.place/1
expect "all nine workers are in their root's rack" 'd["totals"]["in_root_rack"]' 9
expect "nobody waits" 'd["totals"]["waiting"]' 0
expect "the answer is proved" 'd["solver"]["verified"]' True
expect "better than random" 'd["totals"]["mean_performance"] > d["totals"]["random_mean_performance"] + 0.1' True
expect "every placed task says where its round trip comes from" \
	'sorted({t["rtt_origin"] for t in d["tasks"] if t["state"] == "placed"} - {"measured", "same machine"})' '[]'
expect "no machine holds more than its slots" \
	'max(sum(t["machine"] == m for t in d["tasks"]) for m in {t["machine"] for t in d["tasks"]})' 2
cost=$(field 'd["solver"]["cost"]')

for algorithm in $("$nomora" place "${hand[@]}" --help | sed -n 's/.*same cost: \(.*\) (default.*/\1/p' | tr -d ,); do
	run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --verify --json --algorithm "$algorithm"
	[ "$code" -eq 0 ] || fail "$algorithm" "$err"
	expect "$algorithm finds the same cost" 'd["solver"]["cost"]' "$cost"
done

run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --dump-dimacs net.min --draw net.dot
[ "$code" -eq 0 ] && says "$out" 'web.w3 .*us .*rack|web.w3' && pass "the table names every task" ||
	fail "the table names every task" "$out$err"
run "$nomora" solve net.min
dumped=$out
run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --json
[ "$dumped" = "s $cost" ] && pass "the dumped network has the same optimum" ||
	fail "the dumped network has the same optimum" "$dumped, not s $cost"
if command -v dot >/dev/null; then
	check "the drawing is one that Graphviz reads" dot -Tsvg net.dot -o net.svg
else
	skip "the drawing is one that Graphviz reads" "graphviz is not installed"
fi
check "the drawing as JSON" "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --draw net.json
check "is JSON with named nodes" python3 -c '
import json
d = json.load(open("net.json"))
assert d["schema"] == "nomora.flownet/1"
names = {n["name"] for n in d["nodes"]}
assert {"X", "S", "R(rack1)", "h8", "web.w1", "U(web)"} <= names, names
flow = {n["id"]: n["supply"] for n in d["nodes"]}
for a in d["arcs"]:
    assert 0 <= a["flow"] <= a["capacity"]
    flow[a["from"]] -= a["flow"]
    flow[a["to"]] += a["flow"]
assert not any(flow.values()), "the flow is not conserved"'

for policy in random load_spreading quincy first_fit; do
	run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --json --policy "$policy"
	expect "$policy places all" 'd["totals"]["waiting"], d["policy"]' "(0, '$policy')"
	expect "$policy is compared with random, task by task" \
		'd["totals"]["predicted"], d["totals"]["compared"], abs(sum(t["random_performance"] for t in d["tasks"] if t["state"] == "placed") / 9 - d["totals"]["random_mean_performance"]) < 1e-9' \
		"(9, 9, True)"
done
run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --policy random --seed 5
first=$(printf '%s\n' "$out" | grep -v '^Solved')
run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --policy random --seed 5
[ "$first" = "$(printf '%s\n' "$out" | grep -v '^Solved')" ] && pass "a seed repeats" || fail "a seed repeats"

run "${place[@]}" --jobs jobs.jsonl --json
expect "without a matrix the cluster's defaults count" \
	'sorted({t["rtt_origin"] for t in d["tasks"] if t["state"] == "placed"} - {"same machine"})' "['topology']"
grep -v '^h1,h2\|^h2,h1' mesh.csv >part.csv
cat >pair.jsonl <<'END'
{"id": "p", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "a", "machine": "h2", "running_s": 60}]}
END
run "${place[@]}" --jobs pair.jsonl --latency part.csv --json
expect "a pair that was not measured takes its racks' worst" \
	'[(t["rtt_origin"], t["rtt_us"]) for t in d["tasks"] if t["task"] == "a"][0]' \
	"('rack pair', $(awk -F, 'substr($1,2)<=4 && substr($2,2)<=4 && NR>1 && $5>m {m=$5} END {printf "%.1f", m}' part.csv))"
# A host that answers no probes is unreachable, which is not the same as "not measured". Its slots stay free, and tasks
# that would need them wait.
sed 's/^\(h2,h[0-9]*\|h[0-9]*,h2\),.*/\1,,,,1,0,1795188663.25/' mesh.csv >dead.csv
for policy in nomora quincy; do
	run "${place[@]}" --jobs jobs.jsonl --latency dead.csv --json --policy $policy --p-m 1000 --p-r 1000
	expect "$policy: no task beside its root on a host that never answered" \
		'[t for t in d["tasks"] if t["rtt_origin"] == "unreachable"]' '[]'
done
printf '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "rack1", "slots": 2}, {"name": "h2", "rack": "rack1", "slots": 2}]}\n' >pair.json
echo '{"id": "p", "curve": "memcached", "root": 0, "tasks": [{"name": "r", "machine": "h1"}, {"name": "a", "machine": "h1"}, "b"]}' >dead.jsonl
run "$nomora" place --cluster pair.json --jobs dead.jsonl --latency dead.csv --json
expect "the task waits, and why" '[(t["state"], t["why_waiting"], t["next_best"]) for t in d["tasks"]][2]' \
	"('waiting', \"no machine with a free slot is reachable from the root's\", None)"
echo '{"id": "p", "curve": "memcached", "root": 0, "tasks": [{"name": "r", "machine": "h1"}, {"name": "a", "machine": "h2"}]}' >cut.jsonl
run "$nomora" place --cluster pair.json --jobs cut.jsonl --latency dead.csv --json
expect "a running task that is cut off" '[(t["state"], t["rtt_us"], t["rtt_origin"], t["performance"]) for t in d["tasks"]][1]' \
	"('placed', None, 'unreachable', 0.0)"
run "$nomora" place --cluster pair.json --jobs cut.jsonl --latency dead.csv
says "$out" '^p.a +h2 \(rack1\), stays +unreachable +0\.000' && pass "so says the table" || fail "so says the table" "$out"
# A root whose host died is placed beside its running tasks, and with the cheapest slots of all racks for the waiting ones:
# 1262 is the least possible cost.
cat >failover-cluster.json <<'END'
{"schema":"nomora.cluster/1","default_rtt_us":{"same_rack":5,"same_pod":900},"machines":[{"name":"a1","rack":"A","slots":3},{"name":"a2","rack":"A","slots":1},{"name":"b1","rack":"B","slots":3}]}
END
cat >failover.jsonl <<'END'
{"id":"web","curve":"memcached","root":"server","tasks":["server","c1","c2",{"name":"c3","machine":"a1"},{"name":"c4","machine":"a1"},{"name":"c5","machine":"a1"}]}
END
run "$nomora" place --cluster failover-cluster.json --jobs failover.jsonl --curves "$curves" --json
expect "a restarted root goes beside its running tasks" 'd["tasks"][0]["machine"], d["totals"]["performance_cost"]' "('a2', 1262)"
expect "without --verify, there is no bound" '"round" in d' False
run "$nomora" place --cluster failover-cluster.json --jobs failover.jsonl --curves "$curves" --json --verify
expect "with it, a proof, and why the root is there" 'd["round"]["cost"], d["round"]["cost_bound"], d["round"]["roots"][0]["next_root"], d["round"]["roots"][0]["next_cost"] >= 1262' \
	"(1262, 1262, 'b1', True)"
run "$nomora" place --cluster failover-cluster.json --jobs failover.jsonl --curves "$curves" --verify
says "$out" 'placed in this round cost 1262, with any choice of roots and slots at least 1262 \(gap 0\.0 %\)' &&
	says "$out" 'Job web: with its root on a2 \(A\), its 5 other tasks cost 1262; on the best other machine, b1 \(B\), at least' &&
	pass "the table, too" || fail "the table, too" "$out"
# seen_rows SEEN ANSWERED: h2 answered its probers last ANSWERED s ago, and they saw it SEEN s ago; h2's own rows are as old
# as its last answer. The other rows are of now.
seen_rows() {
	awk -F, -v OFS=, -v now="$(date +%s)" -v seen="$1" -v answered="$2" '
		NR == 1 { print $0, "state,paths,paths_covered,disturbed,error_us,answered_at"; next }
		{ $8 = now }
		$1 == "h2" { $8 = now - answered }
		$2 == "h2" { $3 = $4 = $5 = ""; $6 = 1; $7 = 0; $8 = now - seen }
		{ print $0, $7 ? "measured" : "unreachable", 0, 1, 0, 0, $2 == "h2" ? now - answered : $8 }' mesh.csv
}
# One task per free slot: h2's two slots stay free as long as h2 is seen to be silent.
echo '{"id": "p", "curve": "memcached", "root": 0, "tasks": [{"name": "r", "machine": "h1"}, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}' >full.jsonl
seen_rows 1 600 >silent.csv
rm -f silent.live
"$nomora" mesh merge silent.csv --live silent.live --cluster cluster.json
for mesh in silent.csv silent.live; do
	run "$nomora" place --cluster cluster.json --curves "$curves" --jobs full.jsonl --latency "$mesh" --max-age 60 --json
	expect "a host that answered last 600 s ago, and is seen now, gets no task: $mesh" \
		'sum(t["machine"] == "h2" for t in d["tasks"]), d["totals"]["waiting"]' "(0, 2)"
done
seen_rows 90 600 >unseen.csv
run "$nomora" place --cluster cluster.json --curves "$curves" --jobs full.jsonl --latency unseen.csv --max-age 60 --json
expect "one that nobody has seen for 90 s counts as not measured" \
	'{t["rtt_origin"] for t in d["tasks"] if t["machine"] == "h2"}, d["totals"]["waiting"]' "({'rack pair'}, 0)"
# A task may not reach an unreachable machine at the price of its rack: A.t would be sent to h6, at 0.455.
silent=("$nomora" place --cluster "$source_root/tests/data/place/silent-cluster.json" --latency "$source_root/tests/data/place/silent.csv" --verify --json)
printf '%s\n' '{"id":"A","curve":"memcached","root":"r","tasks":[{"name":"r","machine":"h1","running_s":9},"t"]}' \
	'{"id":"B","curve":"spark","root":"r","tasks":[{"name":"r","machine":"h5","running_s":9},"t"]}' >silent.jsonl
tac silent.jsonl >turned.jsonl
for jobs in silent turned; do
	for algorithm in auto simplex structured scaling; do
		run "${silent[@]}" --jobs $jobs.jsonl --algorithm $algorithm
		expect "with a silent pair, the placement costs what was proved: $jobs, $algorithm" \
			'd["totals"]["performance_cost"], d["solver"]["cost"], d["solver"]["verified"], d["solver"]["refused"]' "(200, 200, True, 0)"
	done
done
run "$nomora" place --cluster "$source_root/tests/data/place/dead-host-cluster.json" --curves "$curves" --jobs <(echo '{"id": "web", "curve": "memcached", "root": "s", "tasks": ["s", "c", "d"]}') \
	--latency "$source_root/tests/data/place/dead-host.csv" --json
expect "a host that nobody reaches gets no new root, though the whole job fits there" 'sorted(t["machine"] for t in d["tasks"])' "['h2', 'h2', 'h3']"
run "${silent[@]}" --jobs silent.jsonl --policy quincy
expect "a refused move is counted, and nothing is called optimal" 'd["solver"]["verified"], d["solver"]["refused"], d["totals"]["waiting"]' "(False, 1, 1)"
sed 's/1795188663.25$/1000/' mesh.csv >old.csv
run "${place[@]}" --jobs pair.jsonl --latency old.csv --max-age 60 --json
expect "what is older than --max-age counts as not measured" '[t["rtt_origin"] for t in d["tasks"] if t["task"] == "a"]' "['topology']"
says "$err" 'old.csv: 56 rows older than 60 s' && pass "and is counted" || fail "and is counted" "$err"
sed "2,\$s/,[^,]*\$/,$(date -d '+1 hour' +%s)/" old.csv >future.csv
run "${place[@]}" --jobs pair.jsonl --latency future.csv --max-age 60 --json
expect "and what is dated in the future" '[t["rtt_origin"] for t in d["tasks"] if t["task"] == "a"]' "['topology']"
says "$err" 'rows dated in the future' && pass "which it says" || fail "which it says" "$err"
run "${place[@]}" --jobs pair.jsonl --latency part.csv --json
expect "a running task stays without preemption" '[t["machine"] for t in d["tasks"]]' "['h1', 'h2']"
sed 's/"h2"/"h5"/' pair.jsonl >far.jsonl
run "${place[@]}" --jobs far.jsonl --latency mesh.csv --json --preemption
expect "with it, it moves into its root's rack" \
	'[(t["was_on"], t["rack"]) for t in d["tasks"] if t["task"] == "a"]' "[('h5', 'rack1')]"
run "${place[@]}" --jobs far.jsonl --latency mesh.csv --json --preemption --beta-per-s 5
expect "beta holds it" '[t["machine"] for t in d["tasks"]]' "['h1', 'h5']"

run "${place[@]}" --jobs far.jsonl --latency mesh.csv --json --beta-per-s 1
expect "without --preemption beta is no discount" \
	'[(t["arc"], t["arc_cost"] == round(100 / t["performance"])) for t in d["tasks"] if t["task"] == "a"]' "[('running', True)]"
run "${place[@]}" --jobs far.jsonl --latency mesh.csv
says "$out" '^p.r \(root\) *h1 \(rack1\), stays *0 running$' &&
	says "$out" '^p.a +h5 \(rack2\), stays +2[0-9]{2}\.0 us measured +0\.[0-9]{3} +[0-9]+ running +h1 1\.000 +0\.[0-9]{3}$' &&
	pass "the table: who stays, where it would be better" || fail "the table: who stays, where it would be better" "$out"
run "${place[@]}" --jobs far.jsonl --latency mesh.csv --preemption
says "$out" '^p.a +h1 \(rack1\), was h5 ' && pass "who moves" || fail "who moves" "$out"

# A cluster almost full of randomly placed tasks, and a job that waits. The answer is then used as input: it must
# already be optimal.
python3 - <<'END'
import json, random
random.seed(3)
slots = [random.randint(8, 12) for _ in range(50)]
json.dump({"schema": "nomora.cluster/1", "machines": [{"name": f"n{i}", "rack": f"r{i // 48}", "pod": "p", "slots": s} for i, s in enumerate(slots)]}, open("many.json", "w"))
free = [f"n{i}" for i, s in enumerate(slots) for _ in range(s)]
random.shuffle(free)
jobs = open("many.jsonl", "w")
for job in range(len(free) * 95 // 100 // 20):
    where = (lambda: {"waited_s": 9}) if job == 3 else (lambda: {"machine": free.pop(), "running_s": 60})
    tasks = [{"name": f"t{t}", **where()} for t in range(20)]
    print(json.dumps({"id": f"j{job}", "curve": random.choice(["memcached", "strads", "spark", "tensorflow"]), "root": "t0", "tasks": tasks}), file=jobs)
rtts = open("many.csv", "w")
print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=rtts)
for a, b in random.sample([(a, b) for a in range(50) for b in range(50) if a != b], 1000):
    rtt = round(random.lognormvariate(4, 0.7), 2)
    print(f"n{a},n{b},{rtt},{rtt},{rtt},0,10,1", file=rtts)
END
many=("$nomora" place "${hand[@]}" --cluster many.json --curves "$curves" --latency many.csv --json --verify --preemption)
run "${many[@]}" --jobs many.jsonl
expect "tasks that run anywhere move" 'd["totals"]["moved"] > 100' True
cost=$(printf '%s\n' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
machine = {(t["job"], t["task"]): t["machine"] for t in d["tasks"]}
with open("best.jsonl", "w") as best:
    for line in open("many.jsonl"):
        job = json.loads(line)
        for task in job["tasks"]:
            task.pop("waited_s", None)
            task["machine"] = machine[job["id"], task["name"]]
        print(json.dumps(job), file=best)
print(d["solver"]["cost"])')
run "${many[@]}" --jobs best.jsonl
expect "where they are placed best, nobody moves" 'd["totals"]["moved"], d["solver"]["cost"]' "(0, $cost)"
sed 's/"h5"/"h0"/; s/"h1"/"h5"/; s/"h0"/"h1"/' far.jsonl >back.jsonl
run "${place[@]}" --jobs back.jsonl --latency mesh.csv --preemption
says "$out" '^p.a +h5 \(rack2\), was h1 ' && pass "also from the first machine" || fail "also from the first machine" "$out"
run "${place[@]}" --jobs far.jsonl --latency mesh.csv --json
expect "the first machine may be the next best" '[t["next_best"]["machine"] for t in d["tasks"] if t["task"] == "a"]' "['h1']"

# A root on h1 with two slots left there, one in its rack, four elsewhere.
cat >uneven.json <<'END'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_machine": 1, "same_rack": 30, "same_pod": 100}, "machines": [
{"name": "h1", "rack": "r1", "slots": 3}, {"name": "h2", "rack": "r1", "slots": 1}, {"name": "h3", "rack": "r2", "slots": 4}]}
END
echo '{"id": "j", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, "w"]}' >uneven.jsonl
run "$nomora" place "${hand[@]}" --cluster uneven.json --jobs uneven.jsonl --curves "$curves" --latency-reference absolute --json
expect "random takes each free slot alike, not each machine" \
	'abs([t["random_performance"] for t in d["tasks"] if t["task"] == "w"][0] - sum(n * json.load(open("'"$curves"'/memcached.json"))["table"]["p"][x] for n, x in ((2, 0), (1, 3), (4, 10))) / 7) < 1e-4' True
expect "the next best machine is another one, also where this one has a slot left" \
	'[(t["machine"], t["next_best"]["machine"]) for t in d["tasks"] if t["task"] == "w"]' "[('h1', 'h2')]"

# A root takes the last slot: there is no slot for a random placement of the waiting task, and means leave it out.
cat >last.json <<'END'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_machine": 1, "same_rack": 30, "same_pod": 100}, "machines": [
{"name": "h1", "rack": "r1", "slots": 3}, {"name": "h2", "rack": "r2", "slots": 1}]}
END
cat >last.jsonl <<'END'
{"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "w", "machine": "h1"}]}
{"id": "b", "curve": "memcached", "root": "r", "tasks": ["r", {"name": "w", "machine": "h1"}]}
END
run "$nomora" place "${hand[@]}" --cluster last.json --jobs last.jsonl --curves "$curves" --policy first_fit --latency-reference absolute --json
expect "without a slot beside the root's own random has no expectation" \
	'[t["random_performance"] is None for t in d["tasks"] if t["state"] == "placed"], d["totals"]["predicted"], d["totals"]["compared"]' \
	"([False, True], 2, 1)"
expect "means are over those that have one" \
	'd["totals"]["random_mean_performance"] == d["tasks"][1]["random_performance"] and abs(d["totals"]["mean_performance"] - sum(d["tasks"][i]["performance"] for i in (1, 3)) / 2) < 1e-9' True
run "$nomora" place "${hand[@]}" --cluster last.json --jobs last.jsonl --curves "$curves" --policy first_fit
says "$out" 'mean of 2 tasks: first_fit .* %, random .* % \(expected' && pass "so says the table" || fail "so says the table" "$out"

# A root that the same solve places takes its own slot; random placement has the other slots.
cat >same.json <<'END'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_machine": 1, "same_rack": 30, "same_pod": 100}, "machines": [
{"name": "h1", "rack": "r1", "slots": 3}, {"name": "h2", "rack": "r2", "slots": 2}]}
END
echo '{"id": "j", "curve": "memcached", "root": "r", "tasks": ["r", "w"]}' >same.jsonl
for policy in first_fit random load_spreading; do
	run "$nomora" place "${hand[@]}" --cluster same.json --jobs same.jsonl --curves "$curves" --policy $policy --latency-reference absolute --json
	expect "random beside a root placed in the same solve, $policy" \
		'(lambda p, near, far: abs(d["tasks"][1]["random_performance"] - (near * p[0] + far * p[10]) / 4) < 1e-9)(json.load(open("'"$curves"'/memcached.json"))["table"]["p"], *((2, 2) if d["tasks"][0]["machine"] == "h1" else (1, 3)))' True
	expect "and is a share, $policy" '0 <= d["totals"]["random_mean_performance"] <= 1' True
	expect "the sum of 100 / performance beside the cost of the flow, $policy" \
		'd["totals"]["performance_cost"] == round(100 / d["tasks"][1]["performance"]), d["solver"]["cost"]' "(True, 200)"
	expect "application performance: the root's machine would give 1, $policy" \
		'd["totals"]["application_performance"] == d["tasks"][1]["performance"]' True
done

# Another job's waiting root causes a first solve: the running tasks must be placed, compared and drawn as without it.
cat >beside.json <<'END'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_machine": 1, "same_rack": 30, "same_pod": 100}, "machines": [
{"name": "h1", "rack": "a", "slots": 5}, {"name": "h3", "rack": "b", "slots": 5}]}
END
echo '{"id": "A", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, "w1", "w2", "w3", "w4"]}' >alone.jsonl
{ cat alone.jsonl; echo '{"id": "B", "curve": "memcached", "root": "r", "tasks": ["r"]}'; } >beside.jsonl
beside=("$nomora" place "${hand[@]}" --curves "$curves" --latency-reference absolute)
for case in alone:4,5 beside:4,4; do
	run "${beside[@]}" --cluster beside.json --jobs "${case%:*}.jsonl" --json
	expect "random over the slots that were free, ${case%:*}" \
		'[abs(t["random_performance"] - sum(n * json.load(open("'"$curves"'/memcached.json"))["table"]["p"][x] for n, x in zip(('"${case#*:}"'), (0, 10))) / sum(('"${case#*:}"'))) < 1e-4 for t in d["tasks"] if t["state"] == "placed"]' \
		"[True, True, True, True]"
done
sed 's/"h3", "rack": "b", "slots": 5/"h3", "rack": "b", "slots": 1/' beside.json >one.json
run "${beside[@]}" --cluster one.json --jobs beside.jsonl --json
expect "also where the root takes the last slot elsewhere" '[t["random_performance"] for t in d["tasks"] if t["state"] == "placed"]' "[1.0, 1.0, 1.0, 1.0]"
run "${beside[@]}" --cluster beside.json --jobs beside.jsonl --draw beside_net.json
says "$out" 'roots first \(1 placed\), then the other tasks, whose roots are known \(4 moves\)' && pass "the roots alone go first" ||
	fail "the roots alone go first" "$out"
check "the drawing has all that the others could choose" python3 -c '
import json
d = json.load(open("beside_net.json"))
ids = {n["name"]: n["id"] for n in d["nodes"]}
for task in ("A.w1", "A.w4"):
    to = {n["name"] for a in d["arcs"] for n in d["nodes"] if a["from"] == ids[task] and a["to"] == n["id"]}
    assert {"U(A)", "X", "h1"} <= to, (task, to)'

# A full cluster: with preemption a root is placed, and its job with it in the same round.
cat >crowd.jsonl <<'END'
{"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "w1", "machine": "h1", "running_s": 1000}, {"name": "w2", "machine": "h1"}, {"name": "w3", "machine": "h2"}, {"name": "w4", "machine": "h3"}, {"name": "w5", "machine": "h3"}, {"name": "w6", "machine": "h3"}, {"name": "w7", "machine": "h3"}]}
{"id": "b", "curve": "memcached", "root": "r", "tasks": ["r", "w"]}
END
crowd=("$nomora" place "${hand[@]}" --cluster uneven.json --curves "$curves" --json --verify)
run "${crowd[@]}" --jobs crowd.jsonl --preemption
expect "with preemption a root takes the dearest place, its task one beside it" \
	'[(t["machine"], t["arc"]) for t in d["tasks"] if t["job"] == "b"], sum(t["state"] == "waiting" for t in d["tasks"])' \
	"([('h3', 'cluster'), ('h3', 'machine')], 2)"
run "$nomora" place "${hand[@]}" --cluster uneven.json --curves "$curves" --jobs crowd.jsonl --preemption
says "$out" 'roots first \(1 placed\)' && pass "who makes room is not counted as placed" || fail "who makes room is not counted as placed" "$out"
run "${crowd[@]}" --jobs alone.jsonl --rounds 2
expect "the last round is explained: what the first one placed stays" '{t["arc"] for t in d["tasks"]}' "{'running'}"
run "${crowd[@]}" --jobs crowd.jsonl
expect "without it, it waits" '[t["why_waiting"] for t in d["tasks"] if t["job"] == "b"]' \
	"['no free slot in the cluster', 'waits for its root, which has no machine']"
# A job that starts as a whole: with too few free slots it is not tried; with too few in the root's reach it gives back its slots.
echo '{"id": "whole", "curve": "memcached", "root": 0, "tasks": 5, "minimum_tasks": 4}' >whole.jsonl
whole() { # CLUSTER JOBS OPTION...
	run "$nomora" place --cluster "$1" --curves "$curves" --jobs "$2" --max-age 0 "${@:3}"
}
cluster_of() { python3 -c 'import json, sys; print(json.dumps({"schema": "nomora.cluster/1", "machines": [{"name": f"h{i}", "rack": "r", "slots": int(s)} for i, s in enumerate(sys.argv[1:], 1)]}))' "$@"; }
cluster_of 2 1 >three.json
cluster_of 2 2 >four.json
printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\nh1,h2,,,,1,0,1795188663\n' >apart.csv
whole three.json whole.jsonl --json --verify
expect "three slots do not start four tasks" '[t["state"] for t in d["tasks"]], {t["why_waiting"] for t in d["tasks"]}, d["solver"]["verified"]' \
	"(['waiting', 'waiting', 'waiting', 'waiting', 'waiting'], {'waits until 4 tasks of its job can start together; free slots: 3'}, True)"
whole four.json whole.jsonl --json
expect "four do" 'sum(t["state"] == "waiting" for t in d["tasks"])' 1
whole four.json whole.jsonl --latency apart.csv --json --verify
expect "not two and two that cannot reach each other" 'sum(t["state"] == "waiting" for t in d["tasks"]), d["totals"]["slots_free_after"], d["solver"]["verified"]' "(5, 4, False)"
whole four.json whole.jsonl --latency apart.csv --verify
says "$out" 'not optimal \(jobs that got fewer slots than their minimum_tasks: 1\)' && pass "and the output says so" || fail "and the output says so" "$out"
# Where beta makes staying free, a waiting root makes no difference, even if it is placed only in the second solve.
python3 -c 'import json
print(json.dumps({"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": n, "machine": m, "running_s": 1000} for n, m in zip("rvwxyz", ("h1", "h1", "h2", "h2", "h3", "h3"))]}))
print(json.dumps({"id": "b", "curve": "memcached", "root": "r", "tasks": ["r", "late"]}))' >kept.jsonl
sed 's/"slots": [134]/"slots": 2/g' uneven.json >even.json
for algorithm in structured auto simplex scaling; do
	run "$nomora" place "${hand[@]}" --cluster even.json --curves "$curves" --json --jobs kept.jsonl --preemption --gamma 50 --beta-per-s 5 \
		--algorithm $algorithm --draw kept.json
	in_network=$(python3 -c 'import json; print("b.late" in {n["name"] for n in json.load(open("kept.json"))["nodes"]})')
	expect "who has no part in the last solve has no arc, $algorithm" \
		'[(t["arc"] != "none", t["why_waiting"].startswith("waits for")) for t in d["tasks"] if t["task"] == "late"]' \
		"[($in_network, $([ "$in_network" = True ] && echo False || echo True))]"
done
# A machine with a measured round trip to itself: two tasks on it use that, two tasks on another machine the cluster's
# default.
printf '%s\nh1,h1,500,600,700,0,9,1\n' "$header" >self.csv
cat >self.jsonl <<'END'
{"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "w", "machine": "h1"}]}
{"id": "b", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h3"}, {"name": "w", "machine": "h3"}]}
END
run "$nomora" place "${hand[@]}" --cluster uneven.json --jobs self.jsonl --curves "$curves" --latency self.csv --json
expect "what was measured of a machine to itself wins over same_machine" \
	'[(t["rtt_us"], t["rtt_origin"]) for t in d["tasks"] if t["task"] == "w"]' "[(700.0, 'measured'), (1.0, 'same machine')]"
sed 's/, "machine": "h1"}\]/}]/' self.jsonl | head -1 >beside.jsonl
run "$nomora" place "${hand[@]}" --cluster uneven.json --jobs beside.jsonl --curves "$curves" --latency self.csv --json
expect "and is what the machine costs" '[t["machine"] for t in d["tasks"]]' "['h1', 'h2']"

# A task waits although slots are free, because the policy counts waiting as cheaper; until it has waited long enough.
cat >wait.json <<'END'
{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 2}, {"name": "h2", "rack": "r1", "slots": 1},
{"name": "h3", "rack": "r2", "slots": 2}]}
END
echo '{"id": "a", "curve": "memcached", "root": "r", "tasks": ["r", "w1", "w2"]}' >wait.jsonl
waits() { # NAME WANTED OPTION...: the reasons of all that wait
	local name=$1 wanted=$2
	shift 2
	run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves "$curves" --json "$@"
	expect "$name" '[t["why_waiting"] for t in d["tasks"] if t["state"] == "waiting"]' "$wanted"
}
dear="waiting costs 50, the cheapest free slot (h1) 100 by"
waits "waiting is cheaper" "['$dear machine', '$dear machine']" --gamma 50
waits "by a policy's own costs" "['waiting costs 50, the cheapest free slot (h2) 100 by rack']" --gamma 50 --policy quincy
waits "so it may be for a root that is placed with the others" "['$dear cluster', '$dear cluster', '$dear cluster']" --gamma 50 --policy random
waits "and for one that goes first" "['waiting costs 0, the cheapest free slot (h1) 0 by cluster', 'waits for its root, which has no machine', 'waits for its root, which has no machine']" --gamma 0
waits "time passes from round to round" "['${dear/50/80} machine', '${dear/50/80} machine']" --gamma 50 --omega-per-s 30 --rounds 2
waits "until waiting is dear" "[]" --gamma 50 --omega-per-s 15 --round-s 2 --rounds 3
echo '{"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "w1", "machine": "h3"}, {"name": "w2", "waited_s": 2}]}' >wait.jsonl
waits "preempted" "['preempted; $dear machine', '$dear machine']" --gamma 50 --preemption
waits "what waited before counts" "[]" --gamma 50 --omega-per-s 30
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves "$curves" --strict
[ "$code" -eq 0 ] && pass "--strict: nobody waits" || fail "--strict: nobody waits" "exit $code"
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves "$curves" --algorithm scaling --json
expect "the solver that was asked for solves" 'd["solver"]["algorithm"]' scaling

# A curve with a known baseline round trip of its testbed: subtracted or not, by option.
mkdir testbed && sed 's/"baseline_rtt_us": null/"baseline_rtt_us": 60/' "$curves/memcached.json" >testbed/memcached.json
for reference in added:0.0 absolute:60.0; do
	run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves testbed --latency-reference "${reference%:*}" --json
	expect "--latency-reference ${reference%:*}" '(lambda t: abs(t["performance"] - json.load(open("testbed/memcached.json"))["table"]["p"][int(round((t["rtt_us"] - 60 + '"${reference#*:}"') / 10))]) < 1e-9)([t for t in d["tasks"] if t["task"] == "w1"][0])' True
done

# The assumptions behind the predictions are printed: the statistic, the reference, disturbed sweeps, thresholds.
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves testbed
says "$out" "^Latency: max; a curve's baseline round trip is subtracted.$" && [ -z "$err" ] &&
	pass "the statistic and the reference" || fail "the statistic and the reference" "$out$err"
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves "$curves" --latency-stat p50
says "$out" '^Latency: p50; .*unknown, so nothing is subtracted for memcached\)' &&
	pass "a curve without a baseline is named" || fail "a curve without a baseline is named" "$out$err"
# The first curve, cassandra, has a baseline; the others have none.
mkdir mixed && cp "$curves"/*.json mixed && sed 's/"name": "memcached"/"name": "cassandra"/; s/"application": "memcached"/"application": "cassandra"/' testbed/memcached.json >mixed/cassandra.json
for curve in cassandra memcached spark; do echo "{\"id\": \"$curve\", \"curve\": \"$curve\", \"root\": 0, \"tasks\": 1}"; done >mixed.jsonl
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs mixed.jsonl --curves mixed
says "$out" 'unknown, so nothing is subtracted for memcached, spark\)' &&
	pass "all curves without a baseline are named" || fail "all curves without a baseline are named" "$out$err"
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves "$curves" --latency-reference absolute
says "$out" '^Latency: max; absolute: no baseline round trip is subtracted.$' &&
	pass "the absolute reference" || fail "the absolute reference" "$out$err"
mkdir disturbed && sed 's/"baseline_rtt_us": 60,/& "disturbed_runs": 7,/' testbed/memcached.json >disturbed/memcached.json
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves disturbed
[ "$code" -eq 0 ] && says "$err" 'warning: curve memcached: 7 disturbed runs in its sweep' &&
	pass "a curve of a disturbed sweep: a warning" || fail "a curve of a disturbed sweep: a warning" "$err"
run "$nomora" place "${hand[@]}" --cluster wait.json --jobs wait.jsonl --curves testbed --p-m 99 --p-r 99
[ "$code" -eq 0 ] && says "$err" 'warning: --p-m 99, --p-r 99: [12] tasks{0,1} found no machine or rack .*a\.w[12]' &&
	pass "tasks that a threshold left to chance are named" || fail "tasks that a threshold left to chance are named" "$out$err"
sed 's/"h2", "rack": "r1", "slots": 1/"h2", "rack": "r1", "slots": 9/' wait.json >roomy.json
for named in '3 tasks a.w1, a.w2, a.w3' '4 tasks a.w1, a.w2, a.w3, ...'; do
	count=${named%% *}
	python3 -c 'import json, sys; print(json.dumps({"id": "a", "curve": "memcached", "root": "r", "tasks": ["r"] + [f"w{i + 1}" for i in range(int(sys.argv[1]))]}))' "$count" >chance.jsonl
	run "$nomora" place "${hand[@]}" --cluster roomy.json --jobs chance.jsonl --curves testbed --p-m 99 --p-r 99
	printf '%s\n' "$err" | grep -qF ": $count tasks found no machine or rack with a free slot within these thresholds and took any slot (${named#* tasks })" &&
		pass "$count of them: three names" || fail "$count of them: three names" "$out$err"
done

# More tasks than slots.
echo '{"id": "big", "curve": "spark", "root": 0, "tasks": 20}' >big.jsonl
run "${place[@]}" --jobs big.jsonl --latency mesh.csv --json --strict
[ "$code" -eq 3 ] && pass "--strict: waiting tasks are a negative answer" || fail "--strict" "exit $code"
expect "four wait, and it is said why" \
	'[t["why_waiting"] for t in d["tasks"] if t["state"] == "waiting"]' \
	"$(python3 -c 'print(["no free slot in the cluster"] * 4)')"
run "${place[@]}" --jobs big.jsonl --latency mesh.csv --json --unscheduled-capacity 1
expect "the paper's capacity of 1 leaves three without a way" 'd["solver"]["unscheduled"], d["solver"]["unrouted"]' "(1, 3)"
# U holds one of the waiting tasks, the one with the lowest cost; the drawn flow is the optimum of its own network.
echo '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "a", "slots": 2}]}' >narrow.json
echo '{"id": "A", "curve": "memcached", "root": "r", "tasks": ["r", {"name": "x", "waited_s": 100}, "w", {"name": "y", "waited_s": 1}, {"name": "z", "waited_s": 50}]}' >narrow.jsonl
run "$nomora" place "${hand[@]}" --cluster narrow.json --jobs narrow.jsonl --curves "$curves" --json --unscheduled-capacity 1 --omega-per-s 3 \
	--draw narrow_net.json --dump-dimacs narrow.min
expect "the cheapest waits by an arc, the others by none" \
	'sorted((t["arc"], t["arc_cost"]) for t in d["tasks"] if t["state"] == "waiting"), d["solver"]["unscheduled"], d["solver"]["unrouted"]' \
	"([('none', 0), ('none', 0), ('unscheduled', 1001)], 1, 2)"
grep -q "^c each task with an arc to 'unscheduled' also has one of cost $(awk '$1 == "a" && $6 > cost {cost = $6} END {print cost}' narrow.min) to the sink, used only if there is no other path$" narrow.min &&
	! grep -q 'no other path' net.min && pass "the dump says what its dearest arcs are" || fail "the dump says what its dearest arcs are" "$(head -3 narrow.min)"
expect "who solves that" 'd["solver"]["algorithm"]' simplex
# Two jobs: each has its own unscheduled aggregator, and the first must not explain the second.
cat >narrow_two.jsonl <<'END'
{"id": "A", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "x", "waited_s": 100}, {"name": "y", "waited_s": 1}]}
{"id": "B", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "x", "waited_s": 1}, {"name": "y", "waited_s": 100}]}
END
run "$nomora" place "${hand[@]}" --cluster narrow.json --jobs narrow_two.jsonl --curves "$curves" --json --unscheduled-capacity 1 --omega-per-s 3
expect "each job's cheapest waits by an arc" \
	'[(t["job"], t["task"], t["arc"], t["arc_cost"]) for t in d["tasks"] if t["state"] == "waiting"]' \
	"[('A', 'x', 'none', 0), ('A', 'y', 'unscheduled', 1004), ('B', 'x', 'unscheduled', 1004), ('B', 'y', 'none', 0)]"
run "$nomora" place "${hand[@]}" --cluster narrow.json --jobs narrow_two.jsonl --curves "$curves" --json --unscheduled-capacity 1
expect "also without omega" \
	'[(t["job"], t["task"], t["arc"], t["arc_cost"]) for t in d["tasks"] if t["state"] == "waiting"]' \
	"[('A', 'x', 'unscheduled', 1001), ('A', 'y', 'none', 0), ('B', 'x', 'unscheduled', 1001), ('B', 'y', 'none', 0)]"
drawn=$(python3 -c 'import json; print("s", sum(a["flow"] * a["cost"] for a in json.load(open("narrow_net.json"))["arcs"]))')
run "$nomora" solve narrow.min
[ "$drawn" = "$out" ] && pass "the drawn flow is optimal" || fail "the drawn flow is optimal" "$drawn, not $out"

# The cost added by omega is limited: beyond the limit the order of waiting tasks is lost, with a warning.
echo '{"id": "A", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "v", "machine": "h1"}, {"name": "x", "waited_s": 20000}, {"name": "y", "waited_s": 200000}, {"name": "z", "waited_s": 50}]}' >late.jsonl
late=("$nomora" place "${hand[@]}" --cluster narrow.json --jobs late.jsonl --curves "$curves" --json --round-s 10)
run "${late[@]}" --rounds 3 --omega-per-s 100
[ "$(printf '%s\n' "$err" | grep -c .)" -eq 1 ] && printf '%s\n' "$err" |
	grep -q 'warning: --omega-per-s 100: .* adds at most 524288 .* 2 waiting tasks .* 200020 s.* Expected --omega-per-s 2\.6 or less' &&
	pass "costs of waiting that are cut off are told once" || fail "costs of waiting that are cut off are told once" "$err"
expect "what they are cut to" '[t["arc_cost"] for t in d["tasks"]][2:]' "[525289, 525289, $((1001 + 7000))]"
run "${late[@]}" --rounds 3 --omega-per-s 2.6
expect "with the omega that it names none is" '[t["arc_cost"] for t in d["tasks"]][2:]' '[53053, 521053, 1183]'
[ -z "$err" ] && pass "and no word is said" || fail "and no word is said" "$err"
sed 's/{"name": "x"[^}]*}, //; s/, {"name": "z"[^}]*}//' late.jsonl >late_one.jsonl
run "$nomora" place "${hand[@]}" --cluster narrow.json --jobs late_one.jsonl --curves "$curves" --json --omega-per-s 100
says "$err" 'warning: .* 1 waiting tasks .* 200000 s' && pass "a job with one waiting task counts" ||
	fail "a job with one waiting task counts" "$err"

# The printed cost is that of the dumped network: pinned and movable running tasks, and unrouted tasks.
cat >costs.jsonl <<'END'
{"id": "a", "curve": "memcached", "root": "r", "tasks": [{"name": "r", "machine": "h1"}, {"name": "v", "machine": "h1", "running_s": 2}, {"name": "far", "machine": "h5"}, {"name": "x", "waited_s": 100}, {"name": "y", "waited_s": 1}, "z"]}
{"id": "b", "curve": "spark", "root": 0, "tasks": 16}
END
for algorithm in structured auto simplex scaling; do
	for options in "" --preemption "--unscheduled-capacity 1" "--preemption --beta-per-s 3 --unscheduled-capacity 2"; do
		# shellcheck disable=SC2086
		run "${place[@]}" --jobs costs.jsonl --latency mesh.csv --json --verify --algorithm $algorithm $options --dump-dimacs costs.min
		cost=$(field 'd["solver"]["cost"]')
		run "${place[@]}" --jobs costs.jsonl --latency mesh.csv --algorithm $algorithm $options
		printed=$(printf '%s\n' "$out" | sed -n 's/^Solved.*; cost \([0-9]*\); .*/\1/p')
		run "$nomora" solve costs.min
		[ "$out" = "s $cost" ] && [ "$printed" = "$cost" ] && pass "the cost is that of the dumped network, $algorithm $options" ||
			fail "the cost is that of the dumped network, $algorithm $options" "$out, not s $cost; printed $printed" "$err"
	done
done

# A name of 400 bytes is truncated between characters.
python3 -c 'import json; print(json.dumps({"id": "é" * 200, "curve": "memcached", "root": "r", "tasks": ["r", "w"]}))' >long.jsonl
check "a long name" "${place[@]}" --jobs long.jsonl --draw long.json --dump-dimacs long.min
check "is drawn whole" python3 -c '
import json
d = json.load(open("long.json"))
ids = {n["id"] for n in d["nodes"]}
assert all(a["from"] in ids and a["to"] in ids for a in d["arcs"]), "arcs of nodes that are not there"
assert {"é" * 200 + ".w", "U(" + "é" * 200 + ")"} <= {n["name"] for n in d["nodes"]}
assert " " + "é" * 200 + ".w\n" in open("long.min").read()'

sed 's/"slots": 2/"slots": 0/' cluster.json >full.json
run "$nomora" place "${hand[@]}" --cluster full.json --curves "$curves" --jobs jobs.jsonl --json
expect "a full cluster: roots wait, the others for them" \
	'sorted({t["why_waiting"] for t in d["tasks"]})' \
	"['no free slot in the cluster', 'waits for its root, which has no machine']"
: >none.jsonl
run "${place[@]}" --jobs none.jsonl --json
expect "no jobs at all is no error" 'd["totals"]["tasks"]' 0

printf '%s\nh1,h2,1,2,3,0,9,1\nh1,stranger,1,2,3,0,9,1\n' "$header" >stranger.csv
run "${place[@]}" --jobs jobs.jsonl --latency stranger.csv
[ "$code" -eq 0 ] && says "$err" "warning: stranger.csv: ignored 1 row with machines .*'stranger'" &&
	pass "a matrix larger than the cluster: a warning" || fail "a matrix larger than the cluster: a warning" "$code $err"

# Bad input: one line with file, line and reason, exit 1.
bad_cluster() { # NAME PATTERN TEXT
	printf '%s\n' "$3" >bad.json
	refuses "$1" 1 "$2" "$nomora" place "${hand[@]}" --cluster bad.json --jobs jobs.jsonl --curves "$curves"
}
bad_cluster "a machine twice" "bad.json:4: machines\[1\].name: duplicate machine name 'h1'" '{"schema": "nomora.cluster/1",
"machines": [
{"name": "h1", "rack": "r", "slots": 1},
{"name": "h1", "rack": "r", "slots": 1}]}'
bad_cluster "a rack without machines" "bad.json:3: racks\[1\].name: rack 's' has no machines" '{"schema": "nomora.cluster/1",
"racks": [{"name": "r"},
{"name": "s"}],
"machines": [{"name": "h1", "rack": "r", "slots": 1}]}'
bad_cluster "a cluster cut in half" "bad.json:.*JSON" '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "ra'
bad_jobs() {
	printf '%s\n' "$3" >bad.jsonl
	refuses "$1" 1 "$2" "${place[@]}" --jobs bad.jsonl
}
bad_jobs "a job that would drive the terminal" "bad.jsonl:1: id: expected text without control characters" \
	'{"id": "a\u001b[31m", "curve": "spark", "root": 0, "tasks": 2}'
bad_jobs "a task that would break the table" "bad.jsonl:1: tasks\[0\]: expected a name without control characters" \
	'{"id": "a", "curve": "spark", "root": 0, "tasks": ["t\n0"]}'
bad_cluster "a machine that would" "bad.json:2: machines\[0\].rack: expected names without control" '{"schema": "nomora.cluster/1", "machines": [
{"name": "h\n1", "rack": "r", "slots": 1}]}'
bad_cluster "a key of the cluster mistyped" "bad.json:2: default_rtt_us.same_rakc: unknown key, did you mean 'same_rack'" \
	'{"schema": "nomora.cluster/1",
"default_rtt_us": {"same_rakc": 500}, "machines": [{"name": "h1", "rack": "r", "slots": 1}]}'
bad_jobs "a task's key mistyped" "bad.jsonl:1: tasks\[0\].machne: unknown key, did you mean 'machine'. Expected one of name, machine" \
	'{"id": "a", "curve": "spark", "root": "r", "tasks": [{"name": "r", "machne": "h1"}]}'
printf '%s\n' '{"id": "a", "curve": "spark", "root": 0, "tasks": [{"name": "r", "cpu": 2}], "priority": 1}' \
	'{"id": "b", "curve": "spark", "root": 0, "tasks": 1, "priority": 2}' >foreign.jsonl
"${place[@]}" --jobs foreign.jsonl >/dev/null 2>foreign.err
[ "$(grep -c 'priority is no key that is known here' foreign.err)$(grep -c cpu foreign.err)" = 10 ] && pass "a foreign key is warned of once" ||
	fail "a foreign key is warned of once" "$(cat foreign.err)"
bad_jobs "a graph that is none" "bad.jsonl:1: graph: found 'rnig'; expected \"star\", \"ring\"" '{"id": "a", "curve": "spark", "root": 0, "tasks": 2, "graph": "rnig"}'
bad_jobs "a grid of other tasks" "bad.jsonl:1: graph: grid:2x3 has 6 tasks, the job has 5" '{"id": "a", "curve": "spark", "root": 0, "tasks": 5, "graph": "grid:2x3"}'
bad_jobs "an edge to no task" "bad.jsonl:1: graph\[1\]: expected a name of one of the job's tasks" \
	'{"id": "a", "curve": "spark", "root": 0, "tasks": 2, "graph": [[0, 1], ["t0", "t7"]]}'
# The ranks of a ring. The racks' hosts come in turns, so that the order of the hosts is a bad one.
sed -E 's/"h([0-9]+)", "rack": "rack[12]"/"h\1", "rack": "rack\1"/; s/"rack": "rack[1357]"/"rack": "odd"/; s/"rack": "rack[2468]"/"rack": "even"/' cluster.json >turns.json
awk -F, -v OFS=, 'NR > 1 {r = substr($1, 2) % 2 == substr($2, 2) % 2 ? 30 : 230; $3 = $4 = $5 = r} {print}' mesh.csv >turns.csv
crossings=() costs=()
for graph in star ring; do
	echo "{\"id\": \"$graph\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": 16, \"graph\": \"$graph\"}" >$graph.jsonl
	run "$nomora" place --cluster turns.json --curves "$curves" --jobs $graph.jsonl --latency turns.csv --max-age 0 --verify --json
	crossings+=("$(field 'sum(a["rack"] != b["rack"] for a, b in zip(d["tasks"], d["tasks"][1:] + d["tasks"][:1]))')")
	costs+=("$(field '(d["solver"]["cost"], d["solver"]["verified"], sorted(t["machine"] for t in d["tasks"]))')")
done
check "a ring leaves each rack once: ${crossings[*]} edges between racks" test "${crossings[1]}" -eq 2 -a "${crossings[0]}" -ge 8
check "its order costs nothing" test "${costs[0]}" = "${costs[1]}"
expect "and the answer says what it gains" 'd["graphs"][0]["performance"] > d["graphs"][0]["performance_unordered"] + 0.05' True
expect "and what no order can be below" '0.5 * d["graphs"][0]["cost"] < d["graphs"][0]["cost_bound"] <= d["graphs"][0]["cost"]' True
run "$nomora" place --cluster turns.json --curves "$curves" --jobs ring.jsonl --latency turns.csv --max-age 0
grep -qE '^Job ring: mean performance of its 16 edges [0-9.]+ % \([0-9.]+ % before its tasks were ordered\); cost [0-9]+, in no order below [0-9]+$' <<<"$out" &&
	pass "in words, too" || fail "in words, too" "$out"
bad_jobs "a missing curve" "bad.jsonl:2: curve: job 'b' needs curve 'nope'" '{"id": "a", "curve": "spark", "root": 0, "tasks": 2}
{"id": "b", "curve": "nope", "root": 0, "tasks": 2}'
bad_jobs "a curve that is a path" "bad.jsonl:1: curve: job 'a' needs curve '../x': '../x' is not a curve name; expected NAME for" '{"id": "a", "curve": "../x", "root": 0, "tasks": 2}'
bad_jobs "a root that is none of the tasks" "bad.jsonl:1: root: 'x' is not a task of this job" \
	'{"id": "a", "curve": "spark", "root": "x", "tasks": ["b"]}'
bad_jobs "a job twice" "bad.jsonl:2: id: duplicate job 'a'; the first is in line 1" '{"id": "a", "curve": "spark", "root": 0, "tasks": 2}
{"id": "a", "curve": "spark", "root": 0, "tasks": 2}'
bad_jobs "a task on a machine that is not there" "bad.jsonl:1: tasks: task 'b' runs on 'zz'" \
	'{"id": "a", "curve": "spark", "root": "b", "tasks": [{"name": "b", "machine": "zz"}]}'
bad_jobs "more tasks than slots on a machine" "bad.jsonl:1: tasks: task 'd' exceeds the slots of 'h1'" \
	'{"id": "a", "curve": "spark", "root": "b", "tasks": [{"name": "b", "machine": "h1"}, {"name": "c", "machine": "h1"}, {"name": "d", "machine": "h1"}]}'
mkdir bad && echo '{"schema": "nomora.curve/1"}' >bad/spark.json
echo '{"id": "a", "curve": "spark", "root": 0, "tasks": 2}' >one.jsonl
refuses "a curve that is none" 1 "one.jsonl:1: curve: .*bad/spark.json" \
	"$nomora" place "${hand[@]}" --cluster cluster.json --jobs one.jsonl --curves bad
printf '%s\nh1,h2,1,2,x,0,9,1\n' "$header" >bad.csv
refuses "a bad matrix" 1 "bad.csv:2: " "${place[@]}" --jobs jobs.jsonl --latency bad.csv
refuses "a cluster that is not there" 1 "none.json: No such file" "$nomora" place "${hand[@]}" --cluster none.json --jobs jobs.jsonl --curves "$curves"
refuses "a drawing that cannot be written" 1 "/no/such/folder" "${place[@]}" --jobs jobs.jsonl --draw /no/such/folder/x.dot
ln -s /dev/full full_net.json
ln -s /dev/full full_net.dot
for drawing in full_net.json full_net.dot; do
	refuses "a drawing onto a full disk, $drawing" 1 "cannot write /dev/full: No space left" "${place[@]}" --jobs jobs.jsonl --draw "$drawing"
done
refuses "the network and JSON on one stream" 2 "--dump-dimacs - and --json would both write to standard output; use --dump-dimacs FILE" \
	"${place[@]}" --jobs jobs.jsonl --dump-dimacs - --json
[ -z "$out" ] && pass "nothing was written" || fail "nothing was written" "$out"
refuses "a drawing on standard output" 2 "found '-', expected a name that ends in .dot or .json" "${place[@]}" --jobs jobs.jsonl --draw -
run "${place[@]}" --jobs jobs.jsonl --latency mesh.csv --json
cost=$(field 'd["solver"]["cost"]')
run "$nomora" place "${hand[@]}" --cluster cluster.json --jobs jobs.jsonl --latency mesh.csv --json
expect "without --curves those that come with nomora count" 'd["solver"]["cost"]' "$cost"
echo '{"id": "own", "curve": "own", "root": 0, "tasks": 2}' >own.jsonl
refuses "a curve that does not come with nomora" 1 "own.jsonl:1: .*needs curve 'own': .*own.json" "$nomora" place "${hand[@]}" --cluster cluster.json --jobs own.jsonl
refuses "a policy that is not there" 2 "policy" "${place[@]}" --jobs jobs.jsonl --policy best
refuses "a negative beta" 2 "beta-per-s" "${place[@]}" --jobs jobs.jsonl --beta-per-s -1
plan

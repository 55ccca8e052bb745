#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow: placements, rates, exit codes and refusals.
. "$(dirname "$0")/lib.sh"

scenario=$scratch/scenario.json
cat >"$scenario" <<'TEXT'
{"schema": "nomora.dataflow/1", "topology": "fattree:4", "MBps": 100, "slots": 2,
 "jobs": [
  {"name": "running", "components": [{"name": "s"}, {"name": "k"}], "edges": [{"from": "s", "to": "k"}],
   "placement": {"s.0": "h0", "k.0": "h15"}},
  {"name": "count", "components": [{"name": "words", "tasks": 2}, {"name": "sum", "tasks": 4}],
   "edges": [{"from": "words", "to": "sum", "grouping": "key", "skew": 1}]}]}
TEXT

run "$nomora" dataflow plan "$scenario"
check "places and explains" grep -qE '^count: [0-9.]+ MB/s, random [0-9.]+' <<<"$out"
check "a running job stays" grep -qE '^running: [0-9.]+ MB/s \(was running\)' <<<"$out"
check "names what limits a source" grep -qE 'words\.0 sends [0-9.]+ MB/s, limited by .+' <<<"$out"

run "$nomora" dataflow plan --json "$scenario"
check "JSON: placement, slots, routes that join their hosts, no link over its capacity" python3 - "$out" <<'PYTHON'
import collections, json, sys
plan = json.loads(sys.argv[1])
assert plan["schema"] == "nomora.dataflow-plan/1"
running, count = plan["jobs"]
assert running["placement"] == {"s.0": "h0", "k.0": "h15"}
hosts = list(running["placement"].values()) + list(count["placement"].values())
assert max(collections.Counter(hosts).values()) <= 2
routes = {(r["from"], r["to"]): r["links"] for r in plan["routes"]}
used = collections.Counter()
def send(a, b, rate):
    if a == b:
        return
    links = routes.get((a, b)) or [" -> ".join(reversed(l.split(" -> "))) for l in reversed(routes[(b, a)])]
    at = a
    for link in links:
        begin, end = link.split(" -> ")
        assert begin == at
        at = end
        used[link] += rate
    assert at == b
shares = [1 / (i + 1) for i in range(4)]
for source in count["sources"]:
    for i in range(4):
        send(count["placement"][source["task"]], count["placement"][f"sum.{i}"], source["MBps"] * shares[i] / sum(shares))
send("h0", "h15", running["sources"][0]["MBps"])
assert max(used.values()) <= 100 * (1 + 1e-9), used
reported = {l["link"]: l["MBps"] for l in plan["links"]}
assert reported.keys() == used.keys() and all(abs(reported[l] - used[l]) < 1e-6 for l in used), (reported, used)
for job in plan["jobs"]:
    for source in job["sources"]:
        if " -> " in source["limited_by"]:
            assert abs(used[source["limited_by"]] - 100) < 1e-6, (source, used)
PYTHON

run "$nomora" dataflow plan --random-runs 0 --plot "$scratch/load.svg" "$scenario"
check "draws the load of the links" grep -q '>core3<' "$scratch/load.svg"
run "$nomora" dataflow plan --random-runs 0 --generate storm,jobs=2 -t jellyfish:10,5,12 --plot "$scratch/load.png"
run "$nomora" dataflow plan --json --random-runs 0 --generate storm,jobs=1 --slots 4 -t "$source_root/tests/data/lldp"
check "a network from LLDP" jq -e '[.jobs[0].placement[]] | unique == ["h0", "h1", "h2"]' <<<"$out"
mkdir "$scratch/net" && sed 's/"leaf1"/"other"/' "$source_root/tests/data/lldp/h1.json" >"$scratch/net/h1.json" && cp "$source_root/tests/data/lldp/leaf1.json" "$scratch/net"
refuses "files that contradict each other" 1 "net/leaf1.json:4: lldp.interface: neighbour 'h1' has a file, which does not list 'leaf1'" "$nomora" dataflow plan --generate storm,jobs=1 -t "$scratch/net"
interfaces=$source_root/tests/data/netbox/interfaces.json
netbox() { jq -n --arg hosts "$1" --slurpfile interfaces "$2" --slurpfile devices "$source_root/tests/data/netbox/devices.json" -f "$source_root/integrations/netbox/network.jq"; }
netbox ^server "$interfaces" >"$scratch/netbox.json"
# A port of 100 Gbit/s with four cables of 25, one of them in a port at 10; two cables between the switches, and one that is planned, one in a disabled port.
check "a network from NetBox: the speeds of its links" jq -e 'def gbit: . * 8 * 1514 / 1448 / 1000 | round;
	[.links[] | "\(.a) \(.b) \(.MBps | gbit)"] == ["leaf1 spine1 200", "leaf1 h1 25", "leaf1 h2 35", "leaf1 h3 50"]' "$scratch/netbox.json"
run "$nomora" dataflow plan --json --random-runs 0 --generate storm,jobs=1 --slots 4 -t "$scratch/netbox.json"
check "a network from NetBox: its hosts take tasks" jq -e '[.jobs[0].placement[]] | unique == ["h1", "h2", "h3"]' <<<"$out"
refuses "a role of no device" 5 "no device with cables has a role like 'compute'; found" netbox compute "$interfaces"
jq -s '.[0]' "$interfaces" >"$scratch/page.json"
refuses "one page of NetBox's two" 5 "interfaces: 9 of 18 objects; expected all pages" netbox ^server "$scratch/page.json"
sed 's/25gbase-x-sfp28/other/' "$interfaces" >"$scratch/other.json"
refuses "an interface of unknown speed" 5 "leaf1 Ethernet1: no speed, and the type 'other'" netbox ^server "$scratch/other.json"
zoo=$source_root/tests/data/graphml/zoo.graphml
run "$nomora" dataflow plan --json --random-runs 0 --generate storm,jobs=1 --slots 2 -t "$zoo"
check "a network from GraphML" jq -e '[.jobs[0].placement[]] | unique - ["h-Hamburg", "h-Frankfurt_am_Main", "h-2", "h-3", "h-4", "h-5", "h-Köln"] == []' <<<"$out"
sed 's/undirected/directed/' "$zoo" >"$scratch/directed.graphml"
refuses "a directed graph" 1 "directed.graphml:12: graph.edgedefault: 'directed': expected \"undirected\"" "$nomora" dataflow plan --generate storm,jobs=1 -t "$scratch/directed.graphml"
refuses "no network" 1 "cannot read /no/such: No such file" "$nomora" dataflow plan --generate storm,jobs=1 -t /no/such
check "draws switches on a circle" test "$(head -c 4 "$scratch/load.png" | tail -c 3)" = PNG
refuses "a picture of an unknown kind" 2 'x.gif' "$nomora" dataflow plan --random-runs 0 --plot x.gif "$scenario"
cat >"$scratch/far.json" <<'TEXT'
{"schema": "nomora.dataflow/1", "topology": "leafspine:2,1,4", "MBps": 100, "slots": 1, "hosts": [{"name": "h0", "slots": 2}, {"name": "h2", "slots": 2}],
 "jobs": [
  {"name": "stays", "components": [{"name": "s"}, {"name": "k"}], "edges": [{"from": "s", "to": "k"}], "placement": {"s.0": "h0", "k.0": "h2"}},
  {"name": "web", "curve": "memcached", "components": [{"name": "s", "MBps": 10}, {"name": "k"}], "edges": [{"from": "s", "to": "k"}],
   "placement": {"s.0": "h0"}}]}
TEXT
awk 'BEGIN { print "# nomora.latency/2\nsrc,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_us"
	for (a = 0; a < 4; a++) for (b = 0; b < 4; b++) if (a != b) { rtt = a + b == 3 ? 30 : 900
		printf "h%d,h%d,%d,%d,%d,0,1000,1795188663.250,measured,0,1,0,0.05\n", a, b, rtt, rtt, rtt } }' >"$scratch/mesh.csv"
run "$nomora" dataflow plan --json --random-runs 0 --latency "$scratch/mesh.csv" --curves "$source_root/curves" "$scratch/far.json"
check "measured latency: the only near host, in another rack" jq -e '.jobs[1] | .placement["k.0"] == "h3" and .performance > 0.9' <<<"$out"
check "a job without a curve does not mind" jq -e '.jobs[0].performance == 1' <<<"$out"
run "$nomora" dataflow plan --json --random-runs 0 --latency "$scratch/mesh.csv" --curves "$source_root/curves" --curve memcached "$scratch/far.json"
check "--curve is for jobs that name none" jq -e '.jobs[0].performance < 1' <<<"$out"
sed '/h3/d' "$scratch/mesh.csv" >"$scratch/three.csv"
refuses "a host that was not measured" 1 "three.csv: host 'h3' of the network is not in the matrix" "$nomora" dataflow plan --latency "$scratch/three.csv" --curves "$source_root/curves" "$scratch/far.json"
refuses "an unknown curve" 1 'nosuch' "$nomora" dataflow plan --latency "$scratch/mesh.csv" --curves "$source_root/curves" --curve nosuch "$scratch/far.json"
run "$nomora" dataflow plan --json --random-runs 0 --advise-moves "$scratch/far.json"
check "advice: both tasks on one host need no link" jq -e '.moves[0] | .job == "stays" and .task == "s.0" and .to == "h2" and .gain_MBps > 9000' <<<"$out"
first=$("$nomora" dataflow plan --json --seed 7 "$scenario")
check "the same seed, the same answer" test "$first" = "$("$nomora" dataflow plan --json --seed 7 "$scenario")"
"$nomora" dataflow plan - <"$scenario" >"$scratch/piped" && grep -q '^count' "$scratch/piped" && pass "stdin" || fail "stdin"

run "$nomora" dataflow plan --compare "$scenario"
check "compares all engines" test "$(wc -l <<<"$out")" -eq 10
for engine in rate completion both application routing random storm flink rstorm; do
	run "$nomora" dataflow plan --engine "$engine" --steps 10 "$scenario"
	[ "$code" -eq 0 ] && pass "engine $engine" || fail "engine $engine" "exit $code" "$err"
done

map=$scratch/map
check "--map writes the routes, and reads the same" test "$first" = "$("$nomora" dataflow plan --json --seed 7 --map "$map" "$scenario")" -a "$first" = "$("$nomora" dataflow plan --json --seed 7 --map "$map" "$scenario")"
refuses "a map of other routes" 1 'map: computed with k 10, detour 4, seed 7; expected 9, 4, 7' "$nomora" dataflow plan --seed 7 -k 9 --map "$map" "$scenario"
refuses "a map of another network" 1 'map: belongs to another network \(36 nodes' "$nomora" dataflow plan --seed 7 --map "$map" --generate storm,jobs=1 -t fattree:4,12
head -c 2000 "$map" >"$scratch/half"
refuses "a cut map" 1 'half: damaged or cut' "$nomora" dataflow plan --seed 7 --map "$scratch/half" "$scenario"
refuses "a map that cannot be written" 1 '/proc/none' "$nomora" dataflow plan --map /proc/none/map "$scenario"

ends() {
	"$nomora" dataflow simulate --generate storm,jobs=5,MB=100-1000,seed=1 -t jellyfish:30,5,30 --local-MBps 100 --json --engine "$1" |
		jq '[.jobs[].end_s] | add'
}
by_rate=$(ends rate)
check "engine completion: jobs end earlier in sum than with rate" jq -en --argjson ours "$(ends completion)" --argjson rate "$by_rate" '$ours < $rate'

run "$nomora" dataflow plan --bound "$scenario"
check "the bound is no less than the rates" grep -qE '^bound: all jobs [0-9.]+ MB/s, ([0-9.]{1,4}|100.0) % of the [0-9.]+ MB/s' <<<"$out"
"$nomora" dataflow plan --generate storm,jobs=3,seed=5 -t leafspine:4,2,24 --scenario "$scratch/made.json"
generated=$("$nomora" dataflow plan --generate storm,jobs=3,seed=5 -t leafspine:4,2,24 --json)
check "a generated scenario, written and read, gives the same plan" test "$generated" = "$("$nomora" dataflow plan --json "$scratch/made.json")"
cat >"$scratch/plan.json" <<'TEXT'
{"plan": {"jid": "00ff", "nodes": [{"id": "bc76", "parallelism": 2},
 {"id": "0a44", "parallelism": 4, "inputs": [{"num": 0, "id": "bc76", "ship_strategy": "HASH"}]}]}}
TEXT
sed 's/: 4/: 2/' "$scratch/plan.json" >"$scratch/two.json"
run "$nomora" dataflow plan --from flink "$scratch/plan.json"
check "a plan of Flink" grep -qE '^  0a44\.3 +h[0-9]+$' <<<"$out"
run "$nomora" dataflow plan --json --from flink "$scratch/plan.json" --pods "$scratch/pods"
check "a pod template with an affinity to the hosts of the job" jq -en --argjson plan "$out" --slurpfile pod "$scratch/pods/00ff.json" '
	$pod[0] as {apiVersion: $version, kind: $kind, spec: {affinity: {nodeAffinity: $node}}}
	| $node.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]
	| . as $term | $version == "v1" and $kind == "Pod" and .key == "kubernetes.io/hostname" and .operator == "In"
		and (.values | sort) == ([$plan.jobs[0].placement[]] | unique)'
run "$nomora" dataflow plan --json --slots 1 -t fattree:2 --from flink "$scratch/two.json"
check "a plan of Flink that fits only because its vertices share slots" jq -e '.jobs[0].placement | .["bc76.0"] == .["0a44.0"] and .["bc76.1"] == .["0a44.1"] and .["0a44.0"] != .["0a44.1"]' <<<"$out"
sed 's/00ff/a\/b/' "$scratch/plan.json" >"$scratch/slash.json"
refuses "a job whose name is no file" 1 "job 'a/b': not a name of a file in" "$nomora" dataflow plan --from flink "$scratch/slash.json" --pods "$scratch/pods"
mkdir "$scratch/rates" && printf '[{"id": "numBytesOutPerSecond", "sum": 3000000.0}]' >"$scratch/rates/bc76.json"
run "$nomora" dataflow plan --from flink "$scratch/plan.json" --rates "$scratch/rates"
check "a plan of Flink with its measured rates" grep -qE '^00ff: 3.00 MB/s' <<<"$out"
refuses "rates of another format" 2 '--rates is for --from flink' "$nomora" dataflow plan --from swim "$scratch/plan.json" --rates "$scratch/rates"
sed 's/HASH/HUSH/' "$scratch/plan.json" >"$scratch/hush.json"
refuses "an unknown ship strategy" 1 "hush.json: plan.nodes\[1\].inputs\[0\].ship_strategy: unknown strategy 'HUSH'" "$nomora" dataflow plan --from flink "$scratch/hush.json"
run "$nomora" dataflow plan --from spark "$source_root/tests/data/spark/eventlog" --slots 4
check "an event log of Spark, without the job that shuffles nothing" test "$(grep -c '^app-.* MB/s' <<<"$out")" -eq 2
sed '9s/"Stage ID":0/"Stage ID":99/' "$source_root/tests/data/spark/eventlog" >"$scratch/eventlog"
refuses "a task of no stage" 1 'eventlog:9: Stage ID: no job before this line has stage 99' "$nomora" dataflow plan --from spark "$scratch/eventlog"
run "$nomora" dataflow plan --from storm "$source_root/tests/data/storm" --slots 4
check "a topology of Storm" grep -qE '^  count\.3 +h[0-9]+$' <<<"$out"
recipe=$(sed -n "s/.*--from storm FOLDER | \(jq .*\))$/\1/p" "$source_root/docs/formats.md")
run "$nomora" dataflow plan --json --random-runs 0 -t leafspine:2,1,8 --slots 2 --from storm "$source_root/tests/data/storm"
check "the hosts that Storm is to prefer, by the documented command" python3 -c 'import json, sys
hosts, plan = json.loads(sys.argv[1]), json.loads(sys.argv[2])
assert hosts == sorted(set(plan["jobs"][0]["placement"].values())) and len(hosts) == 5, hosts' "$(bash -c "$recipe" <<<"$out")" "$out"
refuses "a folder without a topology" 1 'topology.json' "$nomora" dataflow plan --from storm "$scratch"
printf 'job0\t49\t49\t740773\t2339561\t627471\njob1\t101\t52\t736346\t0\t432269\n' >"$scratch/swim.tsv"
run "$nomora" dataflow plan --from swim "$scratch/swim.tsv"
check "a workload of SWIM, without the job that shuffles nothing" test "$(grep -c '^job' <<<"$out")" -eq 1
printf 'job0\t49\t49\t740773\n' >"$scratch/swim.tsv"
refuses "a cut workload" 1 'swim.tsv:1: 4 fields, expected 6' "$nomora" dataflow plan --from swim "$scratch/swim.tsv"
printf '4 2\n1 0 2 0 1 2 2:120.0 3:60.0\n2 500000 1 0 1 1:5\n' >"$scratch/coflows"
run "$nomora" dataflow plan --from coflows "$scratch/coflows" --pin
check "coflows keep their ports" grep -qE '^  map\.1 +h1$' <<<"$out"
run "$nomora" dataflow simulate --generate storm,jobs=4,MB=100-200 -t jellyfish:10,5,30 --fail used:20@1-2 --fail host:h3@1
check "simulates jobs, links and hosts" grep -q '^4 of 4 jobs ended, half of them within' <<<"$out"
first=$("$nomora" dataflow simulate --generate storm,jobs=4,MB=100-200 --json -t jellyfish:10,5,30 --fail used:20@1-2)
check "the same seed, the same simulation" test "$first" = "$("$nomora" dataflow simulate --generate storm,jobs=4,MB=100-200 --json -t jellyfish:10,5,30 --fail used:20@1-2)"
check "simulation as JSON" jq -e '.schema == "nomora.dataflow-simulation/1" and (.jobs | length == 4) and (.jobs | all(.end_s > .start_s))' <<<"$first"
refuses "a fault of a plan" 2 "unknown or ambiguous option.*fail" "$nomora" dataflow plan --generate storm,MB=1-2 --fail host:h0@1
sed 's/"ship_strategy": *"HASH[^"]*"/"ship_strategy": "HASH[id, key]"/' "$scratch/plan.json" >"$scratch/sql.json"
cmp -s "$scratch/plan.json" "$scratch/sql.json" && fail "the plan has a hash strategy" || pass "the plan has a hash strategy"
check "a ship strategy with its keys" "$nomora" dataflow plan --from flink "$scratch/sql.json"
refuses "a bad fault" 2 "fail: 'link:h0:h1@5': unknown link" "$nomora" dataflow simulate --generate storm,MB=1-2 --fail link:h0:h1@5
refuses "jobs that never end" 1 "job 'j0' never ends" "$nomora" dataflow simulate --generate storm
papers=("$source_root/reproduction/papers.py" --nomora "$nomora" --runs 2)
quick=(-- --steps 2 --route-steps 2 --repeats 1 --starts 1)
run python3 "${papers[@]}" storm "${quick[@]}"
check "figures 4 and 5" test "$code" -eq 0
check "published values beside ours" grep -qE "^Jellyfish, 30 hosts, both \(the paper's\) +\+34.1 % +[+-][0-9.]+ %" <<<"$out"
run python3 "${papers[@]}" failures "${quick[@]}"
check "figures 6 and 9" grep -qE "^MapReduce, both \(the paper's\): throughput while links are down +within 4.7 % +median [+-][0-9.]+ %, worst " <<<"$out"
check "throughput is back after the repair" grep -qE '^Storm, rate \(ours\): throughput after the repair +within 2 % +median [+-]0.0 %, worst [+-]0.0 %' <<<"$out"
refuses "a format without a file" 2 "expected either FILE, whose format is --from, or --generate" "$nomora" dataflow simulate --from swim --generate storm
refuses "a bad recipe" 2 "generate: found 'spark', expected storm or mapreduce" "$nomora" dataflow plan --generate spark
refuses "a bad number in a recipe" 2 "generate: found 'jobs=x', expected a whole number from 1" "$nomora" dataflow plan --generate storm,jobs=x
refuses "a bad range in a recipe" 2 "generate: found 'MB=5-x', expected LOW-HIGH" "$nomora" dataflow plan --generate storm,MB=5-x
refuses "an odd network" 2 'topology: bad k 3; expected an even number' "$nomora" dataflow plan --topology fattree:3 --generate storm
refuses "two scenarios" 2 'expected either FILE, whose format is --from, or --generate' "$nomora" dataflow plan --generate storm "$scenario"

sed 's/"tasks": 4/"tasks": 40/' "$scenario" >"$scratch/large"
refuses "too few slots" 3 "job 'count': 42 tasks to place, 30 free slots" "$nomora" dataflow plan "$scratch/large"
sed 's/fattree:4/fattree:5/' "$scenario" >"$scratch/odd"
refuses "an odd fat-tree" 1 'odd: topology: bad k 5; expected an even number' "$nomora" dataflow plan "$scratch/odd"
sed 's/"to": "sum"/"to": "sun"/' "$scenario" >"$scratch/unknown"
refuses "an unknown component" 1 "unknown:5: jobs\[1\].edges\[0\].to: unknown component 'sun'" "$nomora" dataflow plan "$scratch/unknown"
head -c 200 "$scenario" >"$scratch/cut"
refuses "a cut file" 1 'cut:4: not valid JSON' "$nomora" dataflow plan "$scratch/cut"
# name | exit | expected line (pattern) | links beside those of the two hosts, or a complete job's components and edges
two='{"a": "h0", "b": "s0", "MBps": 1}, {"a": "h1", "b": "s1", "MBps": 1}'
pair='"components": [{"name": "a"}, {"name": "b"}], "edges": [{"from": "a", "to": "b"}]'
bad() {
	local links=$4 job=${5:-$pair}
	printf '{"schema": "nomora.dataflow/1", "slots": 1, "topology": {"schema": "nomora.topology/1",\n"switches": [{"name": "s0"}, {"name": "s1"}], "hosts": [{"name": "h0"}, {"name": "h1"}], "links": [%s]},\n"jobs": [{"name": "j", %s}]}\n' \
		"$two${links:+, $links}" "$job" >"$scratch/bad.json"
	refuses "$1" "$2" "$3" "$nomora" dataflow plan --random-runs 0 "$scratch/bad.json"
}
link='{"a": "s0", "b": "s1", "MBps": 1}'
loop='"components": [{"name": "s"}, {"name": "a"}, {"name": "b"}]'
bad "a network in two parts" 3 "job 'j': no route from host 'h0' to host 'h1'" ""
bad "a link twice" 1 "bad.json: topology: topology:1: links\[3\].b: 's1' - 's0' is already listed as 's0' - 's1'" "$link, {\"a\": \"s1\", \"b\": \"s0\", \"MBps\": 1}"
bad "a link to itself" 1 "links\[2\].b: 's0' is linked to itself" '{"a": "s0", "b": "s0", "MBps": 1}'
bad "no capacity" 1 'links\[2\].MBps: expected a capacity > 0' '{"a": "s0", "b": "s1", "MBps": 0}'
bad "a negative capacity" 1 'links\[2\].MBps: found -1, expected a number from 0' '{"a": "s0", "b": "s1", "MBps": -1}'
bad "a capacity that is none" 1 "bad.json:2: not valid JSON at column [0-9]+: invalid token near 'NaN'" '{"a": "s0", "b": "s1", "MBps": NaN}'
bad "an unknown end" 1 "links\[2\].b: unknown node 's9'" '{"a": "s0", "b": "s9", "MBps": 1}'
bad "an unknown host" 1 'bad.json:3: jobs\[0\].placement.a.0: unknown host' "$link" "$pair, \"placement\": {\"a.0\": \"h9\"}"
bad "no sink" 1 'bad.json:3: jobs\[0\].edges: no sink: every component has an outgoing edge' "$link" \
	"$loop, \"edges\": [{\"from\": \"s\", \"to\": \"a\"}, {\"from\": \"a\", \"to\": \"b\"}, {\"from\": \"b\", \"to\": \"a\"}]"
bad "a sink without a source" 1 "bad.json:3: jobs\[0\].edges: no source reaches component 'a'" "$link" \
	'"components": [{"name": "s"}, {"name": "a"}, {"name": "b"}, {"name": "k"}], "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}, {"from": "b", "to": "k"}]'
bad "a loop that gains" 1 "bad.json: job 'j': a cycle of edges passes on as much as it gets" "$link" \
	'"components": [{"name": "s"}, {"name": "a"}, {"name": "k"}, {"name": "b"}], "edges": [{"from": "s", "to": "a"}, {"from": "a", "to": "b"}, {"from": "b", "to": "a"}, {"from": "b", "to": "k"}]'
bad "an unknown grouping" 1 "jobs\[0\].edges\[0\].grouping: unknown grouping 'hash'; expected shuffle" "$link" "${pair/\"to\": \"b\"/\"to\": \"b\", \"grouping\": \"hash\"}"
bad "a curve that is no name" 1 'bad.json:3: jobs\[0\].curve: found a number, expected a string' "$link" "$pair, \"curve\": 5"
refuses "an unknown engine" 2 'engine' "$nomora" dataflow plan --engine fast "$scenario"
refuses "a picture of an unknown kind, before the run" 2 "x.txt: a picture's name must end in .svg or .png" "$nomora" dataflow run --lab none --throughput x.txt --generate storm,jobs=1
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow run: tasks as processes on a routed lab. A link on a route is cut: no tuple is lost or doubled, and the new
# routes avoid it. Killed by SIGKILL, it leaves no process and no route. No rate and no time is asserted.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=dr$((RANDOM % 1000))
"$nomora" lab up --name $lab --fabric fattree:4 --link-MBps 2 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
ours() { for ns in /run/netns/$lab-s*; do ip -N -n "$(basename "$ns")" rule show; done | grep -c 'proto 78'; }
processes() { for ns in /run/netns/$lab-h*; do ip netns pids "$(basename "$ns")"; done | wc -l; }
# over A B: the routes of chosen tables at switch A whose next hop is B
over() { "$nomora" lab exec --name $lab "$1" -- ip -N route show table all proto 78 dev "$2" | wc -l; }

"$nomora" lab inventory --name $lab --topology "$scratch/net.json" >/dev/null
jq '{schema: "nomora.dataflow/1", topology: ., slots: 2, jobs: [{name: "j",
	components: [{name: "a", tasks: 2, MBps: 0.5}, {name: "b", tasks: 2}, {name: "c"}],
	edges: [{from: "a", to: "b"}, {from: "b", to: "c", grouping: "all"}],
	placement: {"a.0": "h0", "a.1": "h1", "b.0": "h15", "b.1": "h8", "c.0": "h4"}}]}' "$scratch/net.json" >"$scratch/job.json"
read -r a b <<<"$("$nomora" dataflow --json --random-runs 0 "$scratch/job.json" |
	jq -r '[.routes[] | select(.links | length == 6) | .links[2]][0] | sub(" -> "; " ")')"
whole='.schema == "nomora.dataflow-run/1" and .complete and .sent == .received and .received > 100 and .lost == 0 and .duplicated == 0'

run "$nomora" dataflow run --lab $lab --seconds 1 --keep-routes --random-runs 0 --json "$scratch/job.json"
check "every tuple arrives once" jq -e "$whole and (.sinks | length == 1)" <<<"${out##*$'\n'}"
check "the routes use the link that is cut next" test "$(over "$a" "$b")" -gt 0
run "$nomora" dataflow run --lab $lab --seconds 3 --keep-routes --random-runs 0 --json --fail "link:$a:$b@1" "$scratch/job.json"
check "with a link cut, every tuple arrives once" jq -e "$whole" <<<"${out##*$'\n'}"
check "routes were chosen again" jq -es 'map(.rerouted // 0) | add > 0' <<<"$out"
check "and avoid the link" test "$(over "$a" "$b")" -eq 0
check "the link is back" "$nomora" lab exec --name $lab "$a" -- sh -c "ip link show $b | grep -q LOWER_UP"

setsid "$nomora" dataflow run --lab $lab --seconds 600 --random-runs 0 "$scratch/job.json" >"$scratch/out" 2>&1 &
controller=$!
check "a run is under way" wait_for 30 grep -q '^ *[0-9]' "$scratch/out"
kill -KILL $controller
wait $controller 2>/dev/null
none_left() { [ "$(processes)" -eq 0 ] && [ "$(ours)" -eq 0 ]; }
check "killed, it leaves neither process nor route" wait_for 60 none_left
refuses "faults of hosts" 1 'fails links alone' "$nomora" dataflow run --lab $lab --fail host:h0@1 "$scratch/job.json"
jq '.jobs[0].edges += [{from: "b", to: "a", selectivity: 0.1}, {from: "d", to: "a"}] | .jobs[0].components += [{name: "d"}] | del(.jobs[0].placement)' \
	"$scratch/job.json" >"$scratch/cycle.json"
refuses "a cycle" 1 'has a cycle' "$nomora" dataflow run --lab $lab "$scratch/cycle.json"
plan

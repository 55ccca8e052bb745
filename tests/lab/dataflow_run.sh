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

# Within a pod one hash decides, so that ports reach every path on kernels without a seed for each switch too.
jq '.jobs[0].placement = {"a.0": "h0", "a.1": "h1", "b.0": "h2", "b.1": "h3", "c.0": "h3"}' "$scratch/job.json" >"$scratch/pod.json"
"$nomora" dataflow --json --random-runs 0 "$scratch/pod.json" >"$scratch/pod.plan"
# Bytes sent so far over the links that the plan takes out of the switch of h0 and h1
uplinks() { jq -r '.routes[] | select(.from == "h0" or .from == "h1").links[1] | sub(" -> "; " ")' "$scratch/pod.plan" | sort -u |
	while read -r at next; do "$nomora" lab exec --name $lab "$at" -- cat "/sys/class/net/$next/statistics/tx_bytes" </dev/null; done |
	awk '{sum += $1} END {printf "%.0f\n", sum}'; }
before=$(uplinks)
run "$nomora" dataflow run --lab $lab --seconds 1 --routes ports --keep-routes --random-runs 0 --json "$scratch/pod.json"
check "over source ports, every tuple arrives once" jq -e "$whole" <<<"${out##*$'\n'}"
# Half of the tuples, of 1,000 bytes each, are those from a to b.
check "and its bytes went over the plan's links" jq -e --argjson bytes "$(($(uplinks) - before))" '$bytes >= .received / 2 * 1000' <<<"${out##*$'\n'}"
jq -r '.flows[] | "\(.from_host) \(.to_host) \(.source_port) \(.port)"' <<<"${out##*$'\n'}" >"$scratch/flows"
check "each pair of tasks on two hosts has a port" test "$(wc -l <"$scratch/flows")" -eq 5
check "the routes of earlier runs are gone, and none is set" test "$(ours)" -eq 0
address() { "$nomora" lab exec --name $lab "$1" -- ip -4 -o address show dev eth0 | awk '{sub("/.*", "", $4); print $4}'; }
# The route of the plan from host $1 to host $2, and the one that each switch's kernel gives the connection from port $3 to port $4
planned() { jq -r --arg a "$1" --arg b "$2" '.routes[] | select(.from == $a and .to == $b).links[]' "$scratch/pod.plan"; }
taken() {
	local before=$1 at next from to
	from=$(address "$1") to=$(address "$2")
	at=$(planned "$1" "$2" | sed -n '1s/.* -> //p')
	printf '%s -> %s\n' "$1" "$at"
	for _ in 1 2 3 4; do
		next=$("$nomora" lab exec --name $lab "$at" -- ip route get "$to" from "$from" iif "$before" ipproto tcp sport "$3" dport "$4" |
			sed -n 's/.* dev \([^ ]*\) .*/\1/p')
		printf '%s -> %s\n' "$at" "$next"
		[ "$next" != "$2" ] || return 0
		before=$at at=$next
	done
}
while read -r from to source port; do
	check "the switches take $from to $to over the plan's route" test "$(taken "$from" "$to" "$source" "$port")" = "$(planned "$from" "$to")"
done <"$scratch/flows"
# With each side of the pod on one switch of its own, what remains is a detour that no switch hashes to.
jq '.topology.links |= map(select(([.a, .b] | sort | join(" ")) as $ends | ["agg0.1 edge0.0", "agg0.0 edge0.1"] | index($ends) | not))' \
	"$scratch/pod.json" >"$scratch/far.json"
refuses "a route that no port takes" 3 'no source port from [0-9]* to [0-9]* takes packets from h0 to h2 over edge0.0 agg0.0 ' \
	"$nomora" dataflow run --lab $lab --routes ports --random-runs 0 "$scratch/far.json"
check "which leaves no process" test "$(processes)" -eq 0
refuses "--fail with ports" 2 'no --fail' "$nomora" dataflow run --lab $lab --routes ports --fail "link:$a:$b@1" "$scratch/job.json"
refuses "ports of --apply" 2 'for run' "$nomora" dataflow --apply --lab $lab --routes ports "$scratch/job.json"

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

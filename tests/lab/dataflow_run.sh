#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow run: tasks as processes on a routed lab. A link on a route is cut: no tuple is lost or duplicated, and
# the new routes avoid it. The same for a link that drops packets but keeps its carrier. After SIGKILL, no process and
# no route is left. Rates and times are not checked by default. With NOMORA_CUTS=N: N cuts; in 99 % of the seconds with
# a cut, the longest gap between two tuples of a connection is at most 50 ms. With NOMORA_LOSSES=N: N links that lose
# everything, and N that lose a fifth; each is detected, and its flows rerouted, within 3 probe windows of 0.2 s.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=dr$((RANDOM % 1000))
"$nomora" lab up --name $lab --fabric fattree:4 --link-MBps 2 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
ours() { for ns in /run/netns/$lab-s*; do ip -N -n "$(basename "$ns")" rule show; done | grep -c 'proto 78'; }
processes() { for ns in /run/netns/$lab-h*; do ip netns pids "$(basename "$ns")"; done | wc -l; }
# over A B: lists the chosen routes at switch A whose next hop is B
over() { "$nomora" lab exec --name $lab "$1" -- ip -N route show table all proto 78 dev "$2" | wc -l; }

"$nomora" lab inventory --name $lab --topology "$scratch/net.json" >/dev/null
jq '{schema: "nomora.dataflow/1", topology: ., slots: 2, jobs: [{name: "j",
	components: [{name: "a", tasks: 2, MBps: 0.5}, {name: "b", tasks: 2}, {name: "c"}],
	edges: [{from: "a", to: "b"}, {from: "b", to: "c", grouping: "all"}],
	placement: {"a.0": "h0", "a.1": "h1", "b.0": "h15", "b.1": "h8", "c.0": "h4"}}]}' "$scratch/net.json" >"$scratch/job.json"
read -r a b <<<"$("$nomora" dataflow plan --json --random-runs 0 "$scratch/job.json" |
	jq -r '[.routes[] | select(.links | length == 6) | .links[2]][0] | sub(" -> "; " ")')"
whole='.schema == "nomora.dataflow-run/1" and .complete and .sent == .received and .received > 100 and .lost == 0 and .duplicated == 0'

# arrives NAME: the last run() lost and doubled no tuple
arrives() {
	if [ "$code" -eq 0 ] && jq -e "$whole" <<<"${out##*$'\n'}" >/dev/null; then
		pass "$1"
	else
		fail "$1" "exit $code" "$err" "${out##*$'\n'}"
	fi
}

# run_until CONDITION OPTION...: like run(), ends the run when the condition of jq's holds for its lines
run_until() {
	local condition=$1 controller
	shift
	"$nomora" dataflow run --lab $lab --seconds 600 --json "$@" >"$scratch/out" 2>"$scratch/err" &
	controller=$!
	wait_for 60 jq -es "$condition" "$scratch/out"
	kill -TERM $controller
	code=0
	wait $controller || code=$?
	out=$(cat "$scratch/out")
	err=$(cat "$scratch/err")
}
data='any(.[]; .sink_MBps > 0.2)'
rerouted='(map(.rerouted > 0) | index(true)) as $cut | $cut != null and any(.[$cut + 1:][]; .sink_MBps > 0.2)' # and data after that

run_until "$data" --keep-routes "$scratch/job.json"
arrives "every tuple arrives once"
check "at one sink" jq -e '.sinks | length == 1' <<<"${out##*$'\n'}"
check "the routes use the link that is cut next" test "$(over "$a" "$b")" -gt 0
run_until "$rerouted" --keep-routes --fail "link:$a:$b@1" "$scratch/job.json"
arrives "with a link cut, every tuple arrives once"
check "routes were chosen again" jq -es 'map(.rerouted // 0) | add > 0' <<<"$out"
check "and avoid the link" test "$(over "$a" "$b")" -eq 0
check "the link is back" "$nomora" lab exec --name $lab "$a" -- sh -c "ip link show $b | grep -q LOWER_UP"
run_until "$rerouted" --fail used:10@1 "$scratch/job.json"
arrives "with a share of the links cut at once, every tuple arrives once"

# Sources with 0.05 MB end after a tenth of a second.
jq '.jobs[0].components[0].MB = 0.05' "$scratch/job.json" >"$scratch/short.json"
run "$nomora" dataflow run --lab $lab --seconds 600 --json "$scratch/short.json"
arrives "in a run that ends by itself, every tuple arrives once"
check "its only second, which is not whole, has a line" jq -es 'any(.[]; .sink_MBps > 0)' <<<"$out"
refuses "a fault that the run does not reach" 1 'the run ended before its fault: 1 link was not taken down' \
	"$nomora" dataflow run --lab $lab --seconds 600 --fail "link:$a:$b@500" "$scratch/short.json"
check "its result is printed" grep -q 'tuples sent' <<<"$out"
refuses "a fault after the end" 1 'a fault begins at 5 s, but the run ends at 5 s' \
	"$nomora" dataflow run --lab $lab --seconds 5 --fail "link:$a:$b@5" "$scratch/job.json"
mkdir "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/ip"
chmod +x "$scratch/bin/ip"
refuses "a link that cannot be taken down" 1 "cannot set the link between '$a' and '$b' down" \
	env PATH="$scratch/bin:$PATH" "$nomora" dataflow run --lab $lab --seconds 600 --fail "link:$a:$b@1" "$scratch/job.json"

switch=$("$nomora" lab exec --name $lab "$b" -- ip netns identify)
# lose PERCENT: drops packets that arrive at switch B from A, at random, by a BPF program
lose() {
	ip netns exec "$switch" tc filter replace dev "$a" ingress pref 1 handle 1 bpf da bytecode \
		"4,32 0 0 4294963256,53 0 1 $((4294967295 / 100 * $1)),6 0 0 0,6 0 0 2"
}
uses() { [ "$(over "$a" "$b")" -gt 0 ]; }
avoids() { [ "$(over "$a" "$b")" -eq 0 ]; }
told() { [ "$(grep -c run-second "$scratch/out")" -gt "$1" ]; }
# watch_loss PERCENT: a run during which the link loses packets until the routes avoid it; the run ends when they use it
# again. $waited: microseconds until they avoided it
watch_loss() {
	local begin controller
	lose 0 # empties the port's queue before the run counts
	"$nomora" dataflow run --lab $lab --seconds 600 --keep-routes --json "$scratch/job.json" >"$scratch/out" &
	controller=$!
	wait_for 60 jq -es "$data" "$scratch/out"
	begin=$EPOCHREALTIME
	lose "$1"
	wait_for 60 avoids
	waited=$((${EPOCHREALTIME/./} - ${begin/./}))
	lose 0
	wait_for 60 uses
	wait_for 60 told "$(grep -c run-second "$scratch/out")" # the routes that changed are in that line
	kill -TERM $controller
	wait $controller
}
noticed='map(select(.notice_windows > 0))'
if ip netns exec "$switch" tc qdisc add dev "$a" clsact 2>/dev/null && lose 0 2>/dev/null; then
	affected=$("$nomora" dataflow plan --json --random-runs 0 "$scratch/job.json" |
		jq --arg a "$a" --arg b "$b" '[.routes[] | select(any(.links[]; . == "\($a) -> \($b)" or . == "\($b) -> \($a)"))] | length')
	watch_loss 100
	check "with a link that drops everything, every tuple arrives once" jq -e "$whole" <<<"$(tail -n 1 "$scratch/out")"
	check "the loss is noticed within 3 probe windows" jq -es "$noticed | length == 1 and .[0].notice_windows <= 3" "$scratch/out"
	check "the $affected flows over the link, and no others, had new routes, and their old ones again" \
		jq -es --argjson n "$affected" 'map(.rerouted // 0) | add == 2 * $n' "$scratch/out"
	check "clean again, the link is used again" uses
	for percent in 100 20; do
		for i in $(seq "${NOMORA_LOSSES:-0}"); do
			watch_loss $percent
			jq -cs --argjson wall "$waited" "$noticed | {windows: (.[0].notice_windows), links: length, wall_windows: (\$wall / 200000)}" "$scratch/out"
		done >"$scratch/noticed"
		[ -n "${NOMORA_LOSSES:-}" ] || continue
		jq -cs 'map(.wall_windows) | sort | {p50: .[length / 2 | floor], p90: .[length * 0.9 | floor], max: .[-1]}' "$scratch/noticed" |
			sed "s/^/# a link loses $percent %, probe windows until its flows have new routes: /"
		check "a link that loses $percent %: within 3 windows in 9 of 10 cases" \
			jq -es 'map(.wall_windows) | sort | .[length * 0.9 | floor] <= 3' "$scratch/noticed"
	done
	ip netns exec "$switch" tc qdisc del dev "$a" clsact
else
	skip "a link that drops packets" "no BPF classifier in this kernel"
fi

if [ -n "${NOMORA_CUTS:-}" ]; then
	cuts=()
	for i in $(seq "$NOMORA_CUTS"); do cuts+=(--fail "link:$a:$b@$((2 * i)).3-$((2 * i + 1)).3"); done
	run "$nomora" dataflow run --lab $lab --seconds $((2 * NOMORA_CUTS + 3)) --json "${cuts[@]}" "$scratch/job.json"
	arrives "with $NOMORA_CUTS cuts, every tuple arrives once"
	check "every cut was seen" test "$(jq -s 'map(select(.links_down == 1 and .rerouted > 0)) | length' <<<"$out")" -eq "$NOMORA_CUTS"
	jq -s 'map(select(.links_down == 1 and .rerouted > 0).gap_ms) | sort | {p50: .[length / 2 | floor], p99: .[length * 0.99 | floor], max: .[-1]}' <<<"$out" |
		jq -c . | sed 's/^/# gap, ms: /'
	check "gap p99 at most 50 ms" jq -es 'map(select(.links_down == 1 and .rerouted > 0).gap_ms) | sort | .[length * 0.99 | floor] <= 50' <<<"$out"
fi

# Within a pod a single switch hashes, so that source ports reach every path even on kernels without a hash seed per
# switch.
jq '.jobs[0].placement = {"a.0": "h0", "a.1": "h1", "b.0": "h2", "b.1": "h3", "c.0": "h3"}' "$scratch/job.json" >"$scratch/pod.json"
"$nomora" dataflow plan --json --random-runs 0 "$scratch/pod.json" >"$scratch/pod.plan"
# Bytes sent so far over the uplinks that the plan uses from the switch of h0 and h1
uplinks() { jq -r '.routes[] | select(.from == "h0" or .from == "h1").links[1] | sub(" -> "; " ")' "$scratch/pod.plan" | sort -u |
	while read -r at next; do "$nomora" lab exec --name $lab "$at" -- cat "/sys/class/net/$next/statistics/tx_bytes" </dev/null; done |
	awk '{sum += $1} END {printf "%.0f\n", sum}'; }
before=$(uplinks)
run_until "$data" --routes ports --keep-routes "$scratch/pod.json"
arrives "over source ports, every tuple arrives once"
# Half of the tuples (1,000 bytes each) are from a to b.
check "and its bytes went over the plan's links" jq -e --argjson bytes "$(($(uplinks) - before))" '$bytes >= .received / 2 * 1000' <<<"${out##*$'\n'}"
jq -r '.flows[] | "\(.from_host) \(.to_host) \(.source_port) \(.port)"' <<<"${out##*$'\n'}" >"$scratch/flows"
check "each pair of tasks on two hosts has a port" test "$(wc -l <"$scratch/flows")" -eq 5
check "the routes of earlier runs are gone, and none is set" test "$(ours)" -eq 0
address() { "$nomora" lab exec --name $lab "$1" -- ip -4 -o address show dev eth0 | awk '{sub("/.*", "", $4); print $4}'; }
# The plan's route from host $1 to host $2, and the route that the switches' kernels give the connection from port $3 to
# port $4
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
# With each host of the pod on its own switch, the remaining path is a detour, to which no switch hashes.
jq '.topology.links |= map(select(([.a, .b] | sort | join(" ")) as $ends | ["agg0.1 edge0.0", "agg0.0 edge0.1"] | index($ends) | not))' \
	"$scratch/pod.json" >"$scratch/far.json"
refuses "a route that no port takes" 3 'no source port from [0-9]* to [0-9]* takes packets from h0 to h2 over edge0.0 agg0.0 ' \
	"$nomora" dataflow run --lab $lab --routes ports "$scratch/far.json"
check "which leaves no process" test "$(processes)" -eq 0
refuses "--fail with ports" 2 'leave out --fail' "$nomora" dataflow run --lab $lab --routes ports --fail "link:$a:$b@1" "$scratch/job.json"

# Two jobs; a worker of one is killed. Job k runs on.
jq '.jobs += [.jobs[0] | .name = "k" | .placement = {"a.0": "h2", "a.1": "h3", "b.0": "h12", "b.1": "h9", "c.0": "h5"}]' \
	"$scratch/job.json" >"$scratch/two.json"
"$nomora" dataflow run --lab $lab --seconds 600 --json "$scratch/two.json" >"$scratch/out" 2>"$scratch/err" &
controller=$!
wait_for 60 jq -es 'map(select(.sink_MBps > 0.2)) | length > 2' "$scratch/out" # two reports of each sink give its rate
kill -KILL "$("$nomora" lab exec --name $lab h15 -- ip netns identify | xargs ip netns pids)"
check "the failed task and its host are named at once" wait_for 30 grep -q 'task j.b.0 on host h15 failed; its job ends' "$scratch/err"
before=$(wc -l <"$scratch/out")
check "job j leaves no process" test "$(processes)" -eq 5
check "the other job runs on" wait_for 30 jq -es ".[$before + 1:] | $data" "$scratch/out"
kill -TERM $controller
code=0
wait $controller || code=$?
last=$(tail -n 1 "$scratch/out")
check "the exit status is 1" test "$code" -eq 1
check "stderr says that a job is not complete" grep -q '1 job was not run to the end, because the process of a task failed' "$scratch/err"
check "the result names job, task, host and cause" jq -e '(.complete | not) and (.failures | length == 1) and
	(.failures[0] | .job == "j" and .task == "b.0" and .host == "h15" and .cause == "killed by signal 9" and .s > 0)' <<<"$last"
check "and has the sinks of both jobs" jq -e '[.sinks[].job] == ["j", "k"] and all(.sinks[]; .measured_MBps > 0)' <<<"$last"

setsid "$nomora" dataflow run --lab $lab --seconds 600 "$scratch/job.json" >"$scratch/out" 2>&1 &
controller=$!
check "a run is under way" wait_for 30 grep -q '^ *[0-9]' "$scratch/out"
kill -KILL $controller
wait $controller 2>/dev/null
none_left() { [ "$(processes)" -eq 0 ] && [ "$(ours)" -eq 0 ]; }
check "killed, it leaves neither process nor route" wait_for 60 none_left
refuses "faults of hosts" 1 'can fail links only' "$nomora" dataflow run --lab $lab --fail host:h0@1 "$scratch/job.json"
jq '.jobs[0].edges += [{from: "b", to: "a", selectivity: 0.1}, {from: "d", to: "a"}] | .jobs[0].components += [{name: "d"}] | del(.jobs[0].placement)' \
	"$scratch/job.json" >"$scratch/cycle.json"
refuses "a cycle" 1 'has a cycle' "$nomora" dataflow run --lab $lab "$scratch/cycle.json"
plan

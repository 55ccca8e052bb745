#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow apply: routes in the switches of a routed lab, and transfers over them. Rates are not checked.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=df$((RANDOM % 1000))
"$nomora" lab up --name $lab --fabric fattree:4 --link-MBps 5 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
# ours: counts the rules of routing protocol 78 in all switches of the lab
ours() { for ns in /run/netns/$lab-s*; do ip -N -n "$(basename "$ns")" rule show; done | grep -c 'proto 78'; }

# applies ARGUMENT...: up to five tries, as a sender that a busy machine stops for 500 ms counts as failed.
applies() {
	local try
	for try in 1 2 3 4 5; do
		run "$nomora" dataflow apply --lab $lab "$@"
		[ "$code" -ne 0 ] || return 0
		echo "# try $try: $err"
	done
}

jobs=(--generate "mapreduce,jobs=2,seed=3" --slots 1 --local-MBps 5)
applies --seconds 0.3 --json "${jobs[@]}"
check "every flow is sent and measured" jq -e '.schema == "nomora.dataflow-apply/1" and (.flows | length > 8)
	and (.flows | all(.predicted_MBps > 0 and .measured_MBps > 0 and .from_host != .to_host))' <<<"$out"
check "the routes are gone" test "$(ours)" -eq 0
applies --seconds 0.1 --keep-routes --json "${jobs[@]}"
check "routes stay where that is asked for" test "$(ours)" -gt 0
# The kernel takes the plan's path: at each switch on it, by the rule for the two addresses.
"$nomora" lab inventory --name $lab --topology "$scratch/net.json" >/dev/null 2>&1
jq '{schema: "nomora.dataflow/1", topology: ., slots: 1, jobs: [{name: "j", components: [{name: "a"}, {name: "b"}],
	edges: [{from: "a", to: "b"}], placement: {"a.0": "h0", "b.0": "h15"}}]}' "$scratch/net.json" >"$scratch/pair.json"
planned=$("$nomora" dataflow plan --json --random-runs 0 --seed 5 "$scratch/pair.json" | jq -r '.routes[0].links | map(split(" -> ")[1]) | .[:-1] | join(" ")')
applies --seconds 0.1 --seed 5 --keep-routes --json "$scratch/pair.json"
address=$("$nomora" lab exec --name $lab h15 -- ip -4 -o address show dev eth0 | awk '{sub("/.*", "", $4); print $4}')
taken=
node=${planned%% *}
for _ in 1 2 3 4 5 6; do
	taken="$taken${taken:+ }$node"
	next=$("$nomora" lab exec --name $lab "$node" -- ip route get "$address" from \
		"$("$nomora" lab exec --name $lab h0 -- ip -4 -o address show dev eth0 | awk '{sub("/.*", "", $4); print $4}')" iif \
		"$("$nomora" lab exec --name $lab "$node" -- ls /sys/class/net | grep -vx lo | head -1)" | sed -n 's/.* dev \([^ ]*\) .*/\1/p' | head -1)
	[ "$next" != h15 ] || break
	node=$next
done
[ -n "$planned" ] && [ "$taken" = "$planned" ] && pass "the kernel's path is the plan's" || fail "the kernel's path is the plan's" "planned $planned" "taken $taken"
applies --seconds 0.1 --json "${jobs[@]}"
check "the next run removes them" test "$(ours)" -eq 0
"$nomora" lab down --name $lab >/dev/null
"$nomora" lab up --name $lab --racks 1 >/dev/null
refuses "a lab of bridges" 1 'has bridges' "$nomora" dataflow apply --lab $lab "${jobs[@]}"
refuses "no lab" 1 'nolab' "$nomora" dataflow apply --lab nolab "${jobs[@]}"
plan

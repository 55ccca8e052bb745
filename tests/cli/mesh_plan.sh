#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC1091,SC2015,SC2154,SC2034
# nomora mesh plan and drain: lists of peers for the agents, a plan that goes on, budgets that are too small.
. "$(dirname "$0")/lib.sh"

command -v jq >/dev/null || skip_all "jq is not installed"
for i in 1 2 3 4 5 6; do echo "h$i 10.0.0.$i - r$(((i + 1) / 2))"; done >"$scratch/peers"
plan_of() { "$nomora" mesh plan "$scratch/peers" --state "$scratch/plan.json" -o "$scratch/lists" "$@"; }
names() { awk '!/^#/ { print $1 }' "$scratch/lists/$1.peers" | sort | tr '\n' ' '; }

run plan_of --host-pps 500
[ "$code" -eq 0 ] && says "$out" '^epoch 1: 6 hosts in 3 racks, 0 drained' &&
	pass "a plan in words" || fail "a plan in words" "exit $code" "$out" "$err"
documented "mesh plan --json" "$nomora" mesh plan "$scratch/peers" --json
[ "$(cat "$scratch"/lists/h?.peers | grep -cv '^#')" -eq 18 ] && grep -q '^h1 10.0.0.1 - r1$' "$scratch/lists/h1.peers" &&
	grep -q '^h2 10.0.0.2 - r1$' "$scratch/lists/h1.peers" &&
	pass "lists of the host itself, its rack and a host of another" || fail "lists" "$(tail -n +1 "$scratch"/lists/*)"

# Every pair is measured in turn: 4 pairs of hosts between two racks.
: >"$scratch/seen"
for _ in 1 2 3 4; do
	plan_of --refresh 86400 >/dev/null
	for i in 1 2 3 4 5 6; do for peer in $(names h$i); do echo "h$i $peer"; done; done >>"$scratch/seen"
done
[ "$(sort -u "$scratch/seen" | wc -l)" -eq 36 ] && pass "every pair is probed" || fail "every pair is probed" "$(sort "$scratch/seen" | uniq -c)"

before=$(names h1)
printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\nh1,h2,10,20,30,0,100,1000\nh2,h1,10,20,30,0,100,1000\n' >"$scratch/latency.csv"
"$nomora" mesh merge "$scratch/latency.csv" --live "$scratch/live"
check "drain" "$nomora" mesh drain "$scratch/live" h2
run plan_of --keep --live "$scratch/live"
[ "$code" -eq 0 ] && says "$out" '5 hosts in 3 racks, 1 drained' && [ "$(names h2)" = "h2 " ] &&
	[ "$(names h1)" = "${before/h2 /}" ] &&
	pass "a drained host is in no list, and nothing else changes" || fail "a drained host is in no list" "$out" "$err" "$before: $(names h1)"
check "and back" "$nomora" mesh drain "$scratch/live" h2 --status active
run plan_of --keep --live "$scratch/live"
says "$out" '6 hosts in 3 racks, 0 drained' && pass "it is in the lists" || fail "it is in the lists" "$out"

refuses "an unknown host" 1 "there is no host 'h9'" "$nomora" mesh drain "$scratch/live" h9
refuses "a budget that is too small" 3 '--host-pps: 100 .* needs 2 sessions of 100 probes per second; set at least 200' plan_of --host-pps 100
sed 's/"epoch": /"epoch": -/' "$scratch/plan.json" >"$scratch/bad.json"
refuses "a bad plan" 1 'bad.json: epoch: ' "$nomora" mesh plan "$scratch/peers" --state "$scratch/bad.json"
refuses "no peers" 1 'none: ' "$nomora" mesh plan "$scratch/none"
printf '../evil 10.0.0.1 - r1\nb 10.0.0.2 - r1\n' >"$scratch/evil"
refuses "a name that leaves the folder" 1 "host '../evil': a name with '/'" "$nomora" mesh plan "$scratch/evil" -o "$scratch/lists"
plan

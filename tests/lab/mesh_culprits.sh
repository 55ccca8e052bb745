#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A live mesh of 4 leaves, 4 spines and 8 hosts names the culprit of a fault within a few windows: a slow and a lossy
# spine, a slow link, a host that stalls, a dead rack. Without a fault, it accuses nobody. On demand: it needs a machine
# whose CPUs are not shared; SPINE=1 forces the part with four injectors.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
lab=c$((BASHPID % 100000))
live=$scratch/live
window=${WINDOW_S:-4}
at_exit "$nomora" lab down --name "$lab"
declare -A agents
start() { # start HOST
	local address leaf
	address=$(awk -v h="$1" '$1 == h { print $2 }' "$scratch/peers")
	leaf=${address#10.77.} && leaf=${leaf%.*}
	ip netns exec "$lab-$1" taskset -c "$cpus" "$nomora" mesh agent eth0 --address "$address/32" --gateway "10.77.$leaf.254" --peers "$scratch/peers" \
		--live "$live" --paths auto --interval-us 10000 --window "$window" --quiet >"$scratch/$1.log" 2>&1 &
	agents[$1]=$!
	at_exit kill -9 "${agents[$1]}"
}
measured() { "$nomora" mesh export "$live" --json | python3 -c 'import json, sys
pairs = json.load(sys.stdin)["pairs"]
far = [p for p in pairs if p["paths_covered"] >= 4]
sys.exit(len(pairs) != 56 or any(p["state"] != "measured" for p in pairs) or len(far) < 48)'; }
findings() { "$nomora" mesh top "$live" --json --stat p50 | python3 -c 'import json, sys
for finding in json.load(sys.stdin)["findings"]: print(finding["text"])'; }
inject() { for socket in /run/nomora/"$lab"-*.sock; do "$nomora" inject-ctl "$socket" set "$@" >/dev/null || return 1; done; }
# names PATTERN: within a few windows, a finding matches; the time is counted from the fault.
names() {
	local start=$SECONDS
	wait_for $((4 * window)) eval "findings | grep -qE '$1'" && pass "named after $((SECONDS - start)) s: $1" || fail "named: $1" "$(findings)"
}
innocent() {
	local seen
	for _ in 1 2 3; do
		sleep "$window"
		seen=$(findings)
		[ -z "$seen" ] || break
	done
	[ -z "$seen" ] && pass "$1" || fail "$1" "$seen"
}

up() { # up PLACE
	check "up, with injectors in $1" "$nomora" lab up --name "$lab" --hosts 8 --racks 4 --spines 4 --inject "$1" --delay-us 0 \
		--peers "$scratch/peers"
	rm -f "$live"
	# The agents must not share a CPU with the injector's loop: they would stall, and say so.
	# shellcheck disable=SC2046
	cpus=$(python3 - $(ip netns pids "$lab-inj") <<-'END'
		import os, sys
		tasks = [int(t) for pid in sys.argv[1:] for t in os.listdir(f"/proc/{pid}/task")]
		own = [os.sched_getaffinity(t) for t in tasks]
		print(",".join(map(str, os.sched_getaffinity(0) - {c for s in own if len(s) == 1 for c in s} or os.sched_getaffinity(0))))
	END
	)
	for host in h1 h2 h3 h4 h5 h6 h7 h8; do start "$host"; done
	check "all pairs are measured, over four paths" wait_for 90 measured
	sleep $((2 * window))
}
down() {
	for host in "${!agents[@]}"; do kill "${agents[$host]}"; wait "${agents[$host]}" 2>/dev/null; done
	agents=()
	"$nomora" lab down --name "$lab" >/dev/null 2>&1
}

if [ "$(nproc)" -ge 6 ] || [ -n "${SPINE:-}" ]; then # an injector in each of its four links
	up spine3
	check "spine3 delays all packets by 200 us" inject delay_ab_us=200 delay_ba_us=200
	names '^Router 10\.78\.0\.3 adds [2-9][0-9]{2} us to [0-9]+ pairs that cross it$'
	check "spine3 loses 5 % instead" inject delay_ab_us=0 delay_ba_us=0 loss=5
	names '^Router 10\.78\.0\.3 loses [0-9.]+ % of the probes of [0-9]+ pairs that cross it$'
	down
else
	skip "a slow and a lossy spine" "need 6 CPUs"
fi
up leaf1:spine3
innocent "without a fault, nobody is accused"
check "the link between leaf1 and spine3 delays by 200 us" inject delay_ab_us=200 delay_ba_us=200
names '^The link between routers 10\.78\.0\.3 and 10\.78\.0\.5 adds [2-9][0-9]{2} us to [0-9]+ pairs that cross it$'
check "it is good again" inject delay_ab_us=0 delay_ba_us=0
sleep $((2 * window))
innocent "then nobody is accused"
while :; do kill -STOP "${agents[h7]}"; sleep 0.3; kill -CONT "${agents[h7]}"; sleep 0.4; done &
stopper=$!
at_exit kill "$stopper"
names '^Host h7 in rack rack4 stalls: .*; this is not the network$'
findings | grep -q '^Bad' && fail "and no pair of h7 is bad" "$(findings)" || pass "and no pair of h7 is bad"
kill "$stopper" && wait "$stopper" 2>/dev/null
kill -CONT "${agents[h7]}"
kill -9 "${agents[h3]}" "${agents[h4]}" # rack2
names '^Bad (rack rack2|host h3 in rack rack2)'
plan

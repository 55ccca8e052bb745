#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest round trips that the prober reports over a bare veth pair, compared with ping and sockperf (where
# installed) on the same pair in the same run. One JSON line per figure; medians of ROUNDS rounds. Needs root. Usage:
# floor.sh BIN [ROUNDS]
set -u
bin=$1
rounds=${2:-3}
[ "$(id -u)" -eq 0 ] || { echo '{"benchmark": "probe_floor", "skipped": "needs root"}'; exit 77; }
command -v jq >/dev/null || { echo '{"benchmark": "probe_floor", "skipped": "jq is not installed"}'; exit 77; }
a=bench$$a b=bench$$b
scratch=$(mktemp -d)
children=()
finish() {
	for child in "${children[@]+"${children[@]}"}"; do kill "$child" 2>/dev/null; done
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
	rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 143' INT TERM
ip netns add $a && ip netns add $b && ip link add va netns $a type veth peer name vb netns $b || exit 1
ip -n $a addr add 10.99.0.1/24 dev va && ip -n $b addr add 10.99.0.2/24 dev vb
ip -n $a link set va up && ip -n $b link set vb up
printf 'a 10.99.0.101\nb 10.99.0.102\n' >"$scratch/peers"

middle() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "null" }'; }
# figure NAME P50_FILE P99_FILE
figure() {
	printf '{"benchmark": "probe_floor", "what": "%s", "p50_us": %s, "p99_us": %s, "rounds": %d}\n' "$1" \
		"$(middle <"$2")" "$(middle <"$3")" "$rounds"
}

# probe NAME OPTION...: one round of the prober, its figures added to NAME.p50 and NAME.p99
probe() {
	local name=$1 reflector
	shift
	ip netns exec $b "$bin/nomora-probe" reflect vb --address 10.99.0.102 --quiet "$@" &
	reflector=$!
	children+=("$reflector")
	ip netns exec $a "$bin/nomora-probe" probe va --address 10.99.0.101 --peers "$scratch/peers" --count 3000 \
		--interval-us 1000 --duration 0 --json "$@" >"$scratch/result"
	jq .peers[0].rtt_us.p50 "$scratch/result" >>"$scratch/$name.p50"
	jq .peers[0].rtt_us.p99 "$scratch/result" >>"$scratch/$name.p99"
	kill "$reflector"
	wait "$reflector" 2>/dev/null
}

for _ in $(seq "$rounds"); do
	probe kernel
	probe tsc --stamps tsc
	if command -v ping >/dev/null; then
		ip netns exec $a ping -q -c 1000 -i 0.001 10.99.0.2 | awk -F/ '/^rtt/ { print $5 * 1000 }' >>"$scratch/ping.p50"
		echo null >>"$scratch/ping.p99" # ping prints only mean and deviation
	fi
	if command -v sockperf >/dev/null; then
		ip netns exec $b sockperf server -i 10.99.0.2 -p 7999 >/dev/null 2>&1 &
		server=$!
		children+=("$server")
		for _ in $(seq 100); do
			ip netns exec $b ss -Hlun 'sport = :7999' | grep -q . && break
			read -rt 0.05 <> <(:) || :
		done
		ip netns exec $a sockperf ping-pong -i 10.99.0.2 -p 7999 -t 3 --mps 1000 --full-rtt >"$scratch/sockperf" 2>&1
		sed -n 's/.*percentile 50.000 = *\([0-9.]*\).*/\1/p' "$scratch/sockperf" >>"$scratch/sockperf.p50"
		sed -n 's/.*percentile 99.000 = *\([0-9.]*\).*/\1/p' "$scratch/sockperf" >>"$scratch/sockperf.p99"
		kill "$server"
		wait "$server" 2>/dev/null
	fi
done
figure "nomora probe, kernel stamps" "$scratch/kernel.p50" "$scratch/kernel.p99"
figure "nomora probe, stamps in user space" "$scratch/tsc.p50" "$scratch/tsc.p99"
[ -f "$scratch/ping.p50" ] && figure "ping, mean" "$scratch/ping.p50" "$scratch/ping.p99"
[ -f "$scratch/sockperf.p50" ] && figure "sockperf ping-pong" "$scratch/sockperf.p50" "$scratch/sockperf.p99"
exit 0

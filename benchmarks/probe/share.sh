#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program's own share of the round trips that it reports: the prober's undisturbed p50, p99 and p99.9 beside those of
# ping, fping, irtt and sockperf (where installed) over one veth pair, in turn, on a quiet machine ("idle") and beside a
# busy loop on every CPU ("busy"); and the prober's while it is stopped for 5 ms every 100 ms ("stopped").
# One JSON line per program and run, then one per program with the medians. Needs root.
# Usage: share.sh BIN [RUNS [PROBES]]; default 5 runs of 2,000 probes, one every 2 ms
set -u
bin=$1
runs=${2:-5}
probes=${3:-2000}
[ "$(id -u)" -eq 0 ] || { echo '{"benchmark": "probe_share", "skipped": "needs root"}'; exit 77; }
command -v jq >/dev/null || { echo '{"benchmark": "probe_share", "skipped": "jq is not installed"}'; exit 77; }
a=share$$a b=share$$b
scratch=$(mktemp -d)
children=()
finish() {
	for child in "${children[@]+"${children[@]}"}"; do kill -KILL "$child" && wait "$child"; done 2>/dev/null
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

# serve COMMAND...: a server in the second namespace, for the whole benchmark
serve() {
	ip netns exec $b "$@" >/dev/null 2>&1 &
	children+=("$!")
}
serve "$bin/nomora-probe" reflect vb --address 10.99.0.102 --quiet
command -v irtt >/dev/null && serve irtt server -i 0
command -v sockperf >/dev/null && serve sockperf server -i 10.99.0.2 -p 7999

# waits until a program has opened the UDP port in the second namespace
await_port() {
	for _ in $(seq 200); do
		ip netns exec $b ss -Hlun "sport = :$1" | grep -q . && return 0
		read -rt 0.05 <> <(:) || :
	done
	return 1
}

# quantiles: of round trips in us, one a line: "p50 p99 p99.9", by the nearest rank
quantiles() {
	sort -g | awk 'function at(q) { i = int(q * NR); return v[i < q * NR ? i + 1 : i] }
		{ v[NR] = $1 } END { if (NR) print at(0.5), at(0.99), at(0.999) }'
}

from_a() { ip netns exec $a "$@"; }

run_nomora() {
	from_a "$bin/nomora-probe" probe va --address 10.99.0.101 --peers "$scratch/peers" --count "$probes" \
		--interval-us 2000 --duration 0 --json --quiet --samples "$scratch/samples" >"$scratch/result" || return
	jq -r '.peers[0] | "disturbed \(.disturbed) of \(.received)"' "$scratch/result" >"$scratch/note"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["disturbed"] == 0 { print $column["rtt_us"] }' "$scratch/samples" | quantiles
}
run_ping() { from_a ping -i 0.002 -c "$probes" 10.99.0.2 | sed -n 's/.*time=\([0-9.]*\) ms/\1/p' | awk '{ print $1 * 1000 }' | quantiles; }
run_fping() { from_a fping -q -p 2 -C "$probes" 10.99.0.2 2>&1 | tr ' ' '\n' | awk '/^[0-9]+[.][0-9]+$/ { print $1 * 1000 }' | quantiles; }
run_irtt() {
	await_port 2112 || return
	from_a irtt client -Q -i 2ms -d "$((probes * 2))ms" -o - 10.99.0.2 2>/dev/null |
		jq -r '.round_trips[].delay.rtt | select(.) / 1000' | quantiles
}
run_sockperf() {
	await_port 7999 || return
	from_a sockperf ping-pong -i 10.99.0.2 -p 7999 -t "$((probes / 500 + 1))" --mps 500 --full-rtt >"$scratch/sockperf" 2>&1
	for q in 50.000 99.000 99.900; do sed -n "s/.*percentile $q = *\([0-9.]*\).*/\1/p" "$scratch/sockperf"; done | paste -sd' '
}

# measure NAME CONDITION: one run, if the program is installed
measure() {
	local p50 p99 p999
	[ "$1" = nomora ] || command -v "$1" >/dev/null || return
	: >"$scratch/note"
	read -r p50 p99 p999 < <("run_$1") || return
	printf '{"benchmark": "probe_share", "program": "%s", "machine": "%s", "p50_us": %s, "p99_us": %s, "p999_us": %s, "note": "%s"}\n' \
		"$1" "$2" "$p50" "$p99" "$p999" "$(cat "$scratch/note")" | tee -a "$scratch/all"
}

# The prober alone, stopped for 5 ms every 100 ms.
measure_stopped() {
	local stopper
	(
		pid=
		while [ -z "$pid" ]; do
			for child in $(ip netns pids $a); do
				[ "$(cat "/proc/$child/comm" 2>/dev/null)" = nomora-probe ] && pid=$child
			done
		done
		exec 8<> <(:)
		# Without a child, which would take CPU time and caches from the prober and the network.
		while kill -STOP "$pid"; do
			read -rt 0.005 <&8
			kill -CONT "$pid"
			read -rt 0.095 <&8
		done
	) 2>/dev/null &
	stopper=$!
	children+=("$stopper")
	measure nomora stopped
	kill "$stopper"
	wait "$stopper" 2>/dev/null
}

for _ in $(seq "$runs"); do
	for program in nomora ping fping irtt sockperf; do measure $program idle; done
	measure_stopped
	loops=()
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$cpu" sh -c 'while :; do :; done' &
		loops+=("$!")
		children+=("$!")
	done
	for program in nomora ping fping irtt sockperf; do measure $program busy; done
	kill "${loops[@]}"
	wait "${loops[@]}" 2>/dev/null
done
jq -cs 'def middle: sort | .[length / 2 | floor]; group_by(.machine, .program)[] |
	{benchmark: "probe_share", medians: true, program: .[0].program, machine: .[0].machine, runs: length,
	 p50_us: map(.p50_us) | middle, p99_us: map(.p99_us) | middle, p999_us: map(.p999_us) | middle}' "$scratch/all"
exit 0

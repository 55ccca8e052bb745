#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora rtt on a capture that is kept, and on files that are none. (probe.sh compares it with a live prober.)
. "$(dirname "$0")/lib.sh"

capture=$source_root/tests/data/fuzz/capture/probes.pcap
run "$nomora" rtt "$capture"
[ "$code" -eq 0 ] && pass "a capture of probes" || fail "a capture of probes" "exit $code" "$err"
if command -v jq >/dev/null; then
	run "$nomora" rtt "$capture" --json
	printf '%s' "$out" | jq -e '.schema == "nomora.rtt/1" and .packets.captured == 24 and
		.packets.requests + .packets.answers + .packets.repeated + .packets.broken == 24 and
		([.pairs[].samples] | add) == .packets.paired and all(.pairs[]; .rtt_us.p50 > 0 and .rtt_us.p50 < 1000)' \
		>/dev/null && pass "counters add up" || fail "counters add up" "$out"
	printf '%s' "$out" | jq -e '[.pairs[] | [.src, .dst] | map(split(".") | map(tonumber))] | . == unique and length > 1' \
		>/dev/null && pass "each pair once, by address" || fail "each pair once, by address" "$out"
	net=$(printf '%s' "$out" | jq '[.pairs[].rtt_us.mean] | add')
	run "$nomora" rtt "$capture" --json --gross
	printf '%s' "$out" | jq -e --argjson net "$net" '[.pairs[].rtt_us.mean] | add > $net' >/dev/null &&
		pass "gross is more than net" || fail "gross is more than net" "$out"
fi
check "from stdin, with samples" sh -c "'$nomora' rtt - --samples '$scratch/s.csv' <'$capture'"
[ "$(wc -l <"$scratch/s.csv")" -gt 5 ] && pass "samples" || fail "samples" "$(cat "$scratch/s.csv")"
refuses "no such file" 1 'nowhere' "$nomora" rtt "$scratch/nowhere"
printf 'this is no capture\n' >"$scratch/text"
refuses "a text file" 1 'text: not a capture' "$nomora" rtt "$scratch/text"
head -c 1000 "$capture" >"$scratch/cut.pcap"
refuses "a capture that is cut off" 1 'cut.pcap: after packet' "$nomora" rtt "$scratch/cut.pcap" --samples "$scratch/none.csv"
[ ! -e "$scratch/none.csv" ] && pass "nothing half-written" || fail "nothing half-written"
head -c 24 "$capture" >"$scratch/empty.pcap"
run "$nomora" rtt "$scratch/empty.pcap"
[ "$code" -eq 3 ] && pass "a capture without probes: exit 3" || fail "a capture without probes: exit 3" "exit $code" "$err"
run "$nomora" rtt "$capture" --udp-port 9999
[ "$code" -eq 3 ] && pass "another port: exit 3" || fail "another port: exit 3" "exit $code"
plan

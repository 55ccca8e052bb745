#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora probe and reflect on the two ends of a veth pair: tags, header bits, sizes, limits, IPv6.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
command -v jq >/dev/null || skip_all "jq is not installed"
printf 'a 10.89.0.1\nb 10.89.0.2\n' >"$scratch/peers"
refuses "a VLAN beyond the last" 2 '--vlan: expected ID or ID,PRIORITY' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --vlan 4095
refuses "a priority beyond the last" 2 '--vlan: expected ID or ID,PRIORITY' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --vlan 5,8
refuses "a VLAN that is no number" 2 '--vlan: expected ID or ID,PRIORITY' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --vlan 5x
refuses "a size without room for padding" 2 '--size: expected 72, or 76 and more, found 74' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --size 74
refuses "a member link beyond the last" 2 '--micro-session: expected ID or ID,PEER' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --micro-session 65536
refuses "a TLV that nobody knows" 2 '--tlv: expected names such as' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --tlv class,colour
refuses "a size beyond --mtu" 2 '--size 1501 is more than --mtu 1500' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" --size 1501
[ "$(id -u)" -eq 0 ] || { skip "the rest" "needs root"; plan; exit 0; }

net=w$(($$ % 100000))
at_exit ip netns del "$net-a"
at_exit ip netns del "$net-b"
{ ip netns add "$net-a" && ip netns add "$net-b" &&
	ip link add eth0 mtu 9000 netns "$net-a" type veth peer name eth0 netns "$net-b" mtu 9000 &&
	ip -n "$net-a" link set eth0 up && ip -n "$net-b" link set eth0 up; } 2>"$scratch/net.log" ||
	{ skip "the rest" "no namespaces: $(tail -1 "$scratch/net.log")"; plan; exit 0; }

# reflector ARGUMENT...: runs on b until end_reflector, which stores its report in $report.
ours=10.89.0.1/24 theirs=10.89.0.2/24 peers=$scratch/peers
reflector() {
	ip netns exec "$net-b" "$nomora" reflect eth0 --address "$theirs" --json "$@" >"$scratch/b.json" 2>"$scratch/b.err" &
	process=$!
	at_exit kill "$process"
}
end_reflector() {
	kill "$process"
	wait "$process"
	report=$(cat "$scratch/b.json")
}
# probes ARGUMENT...: 20 probes from a to b, as soon as b answers.
probes() {
	run ip netns exec "$net-a" "$nomora" probe eth0 --address "$ours" --peers "$peers" --count 20 --interval-us 2000 \
		--timeout-ms 30000 --wait 60 --json "$@"
}
answered() { printf '%s' "$out" | jq -e ".peers[0] | .received == 20 and .lost == 0 and ($1)" >/dev/null; }
# expect NAME FILTER: the last probes were all answered, and FILTER is true for the peer.
expect() { if [ "$code" -eq 0 ] && answered "$2"; then pass "$1"; else fail "$1" "exit $code" "$out" "$err" "$(cat "$scratch/b.err")"; fi; }

reflector --mtu 9000 --clock-error-us 0.001
probes --dscp 46 --ecn 1 --ttl 7 --no-df
expect "DSCP, ECN and DF come back, the hop limit is reported" \
	'.headers == {"request_ttl": 7, "ttl": 255, "dscp": 46, "ecn": 1, "dont_fragment": false, "congested": 0}'
probes --capture "$scratch/own.pcapng" --samples "$scratch/own.csv"
expect "a capture of one's own" true
run "$nomora" rtt "$scratch/own.pcapng" --peers "$scratch/peers" --compare "$scratch/own.csv" --json
check "it has every probe with the stamps of its sample" jq -e '.compare | .added_us.probes == 20 and .not_captured == 0' <<<"$out"
refuses "a capture of several queues" 2 '--capture needs --queues 1' "$nomora" probe eth0 --address 10.89.0.1 --peers "$scratch/peers" \
	--capture "$scratch/own.pcapng" --queues 2
probes
check "the kernel stamps the departure of every probe" jq -e '.run.departures >= 20' <<<"$out"
expect "the defaults" '.headers == {"request_ttl": 255, "ttl": 255, "dscp": 0, "ecn": 0, "dont_fragment": true, "congested": 0}'
probes --mtu 9000 --size 9000
expect "packets of the MTU, 9000 bytes" true
check "the kernel stamps the departure of long packets too" jq -e '.run.departures >= 20' <<<"$out"
probes --tlv location,timestamp,class,direct,follow-up,destination --dscp 10 --ecn 1 --poisson --seed 5
expect "TLVs are filled in by the reflector, and read" '.tlvs | .filled == ["location", "timestamp", "class", "direct", "follow-up",
	"destination"] and .flagged == [] and .location.source == "10.89.0.1" and .location.destination == "10.89.0.2" and
	.location.destination_port == 862 and (.location.source_mac | length == 17) and .class == {"dscp": 10, "ecn": 1, "refused": false} and
	.timestamp.method_out == 2 and .direct == {"sent": 20, "received": 20, "answered": 20} and .follow_up.sequence == 18 and
	.follow_up.left_at > 1.7e9'
expect "the next answer says when the one before it left" '.stamps | .samples == 20 and .t1_kernel >= 10 and .t4_kernel >= 10 and .t3_follow_up >= 10'
# The stamps' accuracy depends on the machine's other load.
one_way() { probes --clock-error-us 0.001 && printf '%s' "$out" | jq -e '.peers[0].one_way != null' >/dev/null; }
wait_for 60 one_way
expect "clocks that are known have one-way delays" '.one_way | .samples > 0 and .error_us > 0 and .forward_us.p50 > 0 and .backward_us.p50 > 0'
probes --clock-error-us 1000
expect "a bound beyond the round trip has none" '.one_way == null and .stamps.clock_error_us >= 1000 and .stamps.peer_clock_error_us < 1000'
refuses "stamps of a NIC on a port that has none" 1 'cannot stamp every received packet' ip netns exec "$net-a" "$nomora" probe eth0 \
	--address 10.89.0.1/24 --peers "$scratch/peers" --stamps nic
probes --vlan 0,5
expect "a tag with a priority alone" true
run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/peers" --count 5 --interval-us 1000 --wait 0 \
	--timeout-ms 50 --vlan 7 --json
[ "$code" -eq 3 ] && pass "another VLAN is another network" || fail "another VLAN is another network" "exit $code" "$out" "$err"
ip -n "$net-a" link set eth0 mtu 1500
refuses "a size beyond the interface's MTU" 1 '--size 1600 is more than the MTU of eth0, 1500' ip netns exec "$net-a" "$nomora" probe eth0 \
	--address 10.89.0.1/24 --peers "$scratch/peers" --mtu 9000 --size 1600
ip -n "$net-a" link set eth0 mtu 9000
probes --interval-us 1 --count 0 --duration 0.3 --limit-probes 100
if [ "$code" -eq 0 ] && printf '%s' "$out" | jq -e '.run.limited and .run.interval_us == 10000 and .peers[0].sent <= 60' >/dev/null; then
	pass "--limit-probes is a limit, and says so"
else
	fail "--limit-probes is a limit, and says so" "exit $code" "$out" "$err"
fi
end_reflector

reflector --vlan 100
probes --vlan 100,3
expect "a VLAN of their own" true
printf 'b 10.89.0.2 %s\n' "$(ip -n "$net-b" -j link show eth0 | jq -r '.[0].address')" >"$scratch/fixed"
run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/fixed" --count 5 --interval-us 1000 --wait 0 \
	--timeout-ms 50 --json
end_reflector
if [ "$code" -eq 3 ] && printf '%s' "$report" | jq -e '.run.other_vlan >= 5' >/dev/null; then
	pass "frames of no VLAN get no answer in one, and are counted"
else
	fail "frames of no VLAN get no answer in one, and are counted" "exit $code" "$out" "$report"
fi

# IPv6: addresses that only nomora has, and addresses for which the kernel answers, too.
printf 'a 2001:db8::a1\nb 2001:db8::b1\n' >"$scratch/peers6"
printf 'a 2001:db8::a2\nb 2001:db8::b2\n' >"$scratch/kernel6"
refuses "a gateway of another family" 2 "--gateway: expected an address such as 10.0.0.254, of --address's family" \
	"$nomora" probe eth0 --address 2001:db8::a1/64 --gateway 10.89.0.1 --peers "$scratch/peers6"
refuses "an address that is no host's on a network" 2 '--address: expected an IP address' "$nomora" probe eth0 --address ::1 --peers "$scratch/peers6"
refuses "IPv4 peers for an IPv6 address" 1 "peer 'a': its address is IPv4, ours IPv6" ip netns exec "$net-a" "$nomora" probe eth0 \
	--address 2001:db8::a1 --peers "$scratch/peers"
ip -n "$net-a" addr add 2001:db8::a2/64 dev eth0 nodad
ip -n "$net-b" addr add 2001:db8::b2/64 dev eth0 nodad
ours=2001:db8::a1/64 theirs=2001:db8::b1/64 peers=$scratch/peers6
reflector --allow 2001:db8::a0/124,10.0.0.0/8
probes --dscp 34 --ecn 2 --ttl 9 --size 1280
expect "IPv6, with neighbour discovery of our own" '.address == "2001:db8::b1" and .headers.request_ttl == 9 and .headers.dscp == 34 and .headers.ecn == 2'
# No program answers the ping itself: it only resolves the reflector's address.
answers_kernel() {
	ip netns exec "$net-a" ping -6 -c 1 -W 1 2001:db8::b1
	ip -n "$net-a" -j -6 neigh show 2001:db8::b1 | jq -e 'any(.[]; .lladdr)'
}
if command -v ping >/dev/null; then
	check "a kernel's neighbour solicitation is answered" wait_for 30 answers_kernel
fi
end_reflector
ours=2001:db8::a2/64 theirs=2001:db8::b2/64 peers=$scratch/kernel6
reflector --stateless
probes --vlan 0,3
expect "IPv6 on the kernels' own addresses, with a priority tag; a stateless reflector counts nothing" '.lost_forward == null or .lost == 0'
end_reflector

# Authenticated, with one key; requests signed with another key get no answer.
(umask 077 && printf '7 %s\n' "$(printf '%02x' {0..31})" >"$scratch/keys" && printf '7 %s\n' "$(printf '%02x' {1..32})" >"$scratch/others")
ours=10.89.0.1/24 theirs=10.89.0.2/24 peers=$scratch/peers
reflector --keys "$scratch/keys" --micro-session 7
probes --keys "$scratch/keys" --size 300 --tlv class,direct --micro-session 3
expect "authenticated probes are answered, and so are their TLVs" '.tlvs | .filled == ["class", "direct", "hmac", "micro-session", "padding"] or
	(.filled | sort) == ["class", "direct", "hmac", "micro-session", "padding"] and .flagged == [] and (.bad_hmac | not)'
expect "the two ends name their member links of a LAG, and the hops between" '.tlvs.micro_session == {"sender": 3, "reflector": 7} and
	.hops_there == 0 and .hops_back == 0'
# No answers arrive: the MAC is given, so that no probe waits for ARP, and the reflector has time to receive them.
printf 'a 10.89.0.1\nb 10.89.0.2 %s\n' "$(ip -n "$net-b" -j link show eth0 | jq -r '.[0].address')" >"$scratch/known"
run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/known" --count 20 --interval-us 1000 --wait 0 \
	--timeout-ms 1500 --keys "$scratch/others" --json
wrong=$out$code
run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/known" --count 20 --interval-us 1000 --wait 0 \
	--timeout-ms 1500 --keys "$scratch/keys" --micro-session 3,8 --json
[ "$code" -eq 3 ] && pass "probes for another member link have no answer" || fail "probes for another member link have no answer" "exit $code" "$out" "$err"
end_reflector
check "and are counted" jq -e '.run.reflector.other_member >= 5' <<<"$report"
check "those signed with another key are not, and counted" jq -e '.run.reflector | .bad_hmac >= 5 and .replayed == 0' <<<"$report"
[ "${wrong: -1}" -eq 3 ] && pass "exit 3" || fail "exit 3" "$wrong"
plan

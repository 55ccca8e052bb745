#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# TWAMP-Control: a client that nobody of this project wrote for itself, by the RFCs' figures, against `reflect --twamp`,
# and `probe --twamp` against such a server; two namespaces on a veth pair.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
command -v jq >/dev/null || skip_all "jq is not installed"
printf 'a 10.89.0.1\nb 10.89.0.2\n' >"$scratch/peers"
refuses "TWAMP sessions and answering at once" 2 'mutually exclusive' "$nomora" probe eth0 --address 10.89.0.1 \
	--peers "$scratch/peers" --twamp --reflect
refuses "TWAMP sessions for paths that are not known yet" 2 '--twamp needs --paths N' "$nomora" probe eth0 --address 10.89.0.1 \
	--peers "$scratch/peers" --twamp --paths auto
refuses "TWAMP sessions with keys" 2 'only unauthenticated sessions' "$nomora" reflect eth0 --address 10.89.0.1 --twamp --keys k
[ "$(id -u)" -eq 0 ] || { skip "the rest" "needs root"; plan; exit 0; }

net=t$(($$ % 100000))
at_exit ip netns del "$net-a"
at_exit ip netns del "$net-b"
{ ip netns add "$net-a" && ip netns add "$net-b" &&
	ip link add eth0 netns "$net-a" type veth peer name eth0 netns "$net-b" &&
	ip -n "$net-a" link set eth0 up && ip -n "$net-b" link set eth0 up; } 2>"$scratch/net.log" ||
	{ skip "the rest" "no namespaces: $(tail -1 "$scratch/net.log")"; plan; exit 0; }
twamp() { ip netns exec "$net-a" python3 "$source_root/tests/cli/probe_twamp.py" "$@"; }

refuses "a server on an address that the kernel does not have" 1 'no interface has 10.89.0.2: TWAMP-Control needs the kernel to have it' \
	ip netns exec "$net-b" "$nomora" reflect eth0 --address 10.89.0.2/24 --twamp
ip -n "$net-a" addr add 10.89.0.1/24 dev eth0
ip -n "$net-a" addr add 10.89.0.3/24 dev eth0
ip -n "$net-b" addr add 10.89.0.2/24 dev eth0
if command -v tcpdump >/dev/null; then
	ip netns exec "$net-a" tcpdump -i eth0 -U -w "$scratch/control.pcap" tcp port 862 and not host 10.89.0.3 2>"$scratch/tcpdump.log" &
	at_exit kill $!
	wait_for 10 grep -q listening "$scratch/tcpdump.log"
fi

# The server.
ip netns exec "$net-b" "$nomora" reflect eth0 --address 10.89.0.2/24 --twamp --json >"$scratch/b.json" 2>"$scratch/b.err" &
reflector=$!
at_exit kill "$reflector"
listens() { ip netns exec "$net-b" ss -Hltn 'sport = 862' | grep -q 862; }
wait_for 20 listens
# one byte each half a second, beside all others: 30 s are over before the 164 are complete
twamp slow 10.89.0.2 10.89.0.3 >"$scratch/slow" 2>&1 &
slow=$!
at_exit kill "$slow"
run twamp client 10.89.0.2 10.89.0.1
# done_with NAME FILTER: the last run() succeeded, and FILTER is true for what it printed.
done_with() {
	if [ "$code" -eq 0 ] && jq -e "$2" <<<"$out" >/dev/null; then pass "$1"; else fail "$1" "exit $code" "$out" "$err"; fi
}
done_with "a client's two sessions: every packet is answered, those of 14 bytes too" \
	'.padded.received == 50 and .short.received == 50 and .padded.min_us > 0 and .padded.min_us < 1e6'
check "modes, requests and commands that are not supported are refused with the RFC's codes" twamp refused 10.89.0.2 10.89.0.1
check "a host has eight connections; more are turned away, not left waiting" twamp crowd 10.89.0.2 10.89.0.1
run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/peers" --twamp --paths 3 --count 30 \
	--interval-us 5000 --timeout-ms 10000 --json
done_with "our prober has sessions with our reflector" '.peers[0] | .received == 30 and .lost == 0'
wait "$slow"
check "a slow Set-Up-Response is given up" [ "$(cat "$scratch/slow")" -ge 25 ]
kill "$reflector"
wait "$reflector"
check "the report counts connections and sessions" jq -e '.twamp | .connections > 20 and .sessions == 6 and .turned_away == 20 and
	.refused == 7 and .late == 1' "$scratch/b.json"

# The client: a server with a UDP port of its own, which answers only the sessions' source ports.
# server PORTS REFUSE
server() {
	ip netns exec "$net-b" python3 "$source_root/tests/cli/probe_twamp.py" serve 10.89.0.2 "$@" >"$scratch/server" 2>"$scratch/server.err" &
	process=$!
	at_exit kill "$process"
	wait_for 20 grep -q ready "$scratch/server"
}
# It does not answer greetings, for which the prober thus must not wait.
probes() {
	run ip netns exec "$net-a" "$nomora" probe eth0 --address 10.89.0.1/24 --peers "$scratch/peers" --twamp --count 40 \
		--interval-us 5000 --timeout-ms 10000 --wait 100000 --json "$@"
}
server same 0
probes --paths 2 --dscp 10
wait "$process"
done_with "every probe is answered by a TWAMP reflector" '.peers[0] | .received == 40 and .lost == 0 and .rtt_us.p50 > 0'
check "the server saw what the RFC says" jq -e '.sessions == 2 and .reflected == [20, 20] and
	.asked[0] == {"padding": 30, "wanted": 862, "type_p": 167772160, "timeout_s": 10}' <(tail -1 "$scratch/server")
[ -s "$scratch/server.err" ] && fail "the server has no complaint" "$(cat "$scratch/server.err")"
server each 0
probes --paths 2
[ "$code" -eq 1 ] && says "$err" 'TWAMP server 10.89.0.2 gives each session a port of its own, which needs --paths 1' &&
	pass "ports that differ" || fail "ports that differ" "$code" "$err"
kill "$process" 2>/dev/null
server each 5
probes
[ "$code" -eq 1 ] && says "$err" 'TWAMP server 10.89.0.2 refuses the session: temporary resource limit \(5\)' &&
	pass "a refusal is named" || fail "a refusal is named" "$code" "$err"
kill "$process" 2>/dev/null
wait "$process" 2>/dev/null
refuses "no server" 1 'TWAMP server 10.89.0.2, TCP port 862: Connection refused' ip netns exec "$net-a" "$nomora" probe eth0 \
	--address 10.89.0.1/24 --peers "$scratch/peers" --twamp
if command -v tshark >/dev/null && [ -s "$scratch/control.pcap" ]; then
	tshark -r "$scratch/control.pcap" -Y twamp.control -T fields -e _ws.malformed -e twamp.control.command 2>/dev/null >"$scratch/dissected"
	# Its dissector does not join the bytes of the slow client, which is not in the capture.
	check "tshark dissects every message" [ "$(grep -c . "$scratch/dissected")" -gt 20 -a "$(cut -f1 "$scratch/dissected" | grep -c .)" -eq 0 ]
fi
plan

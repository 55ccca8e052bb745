#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora probe and reflect on a virtual rack of two racks with two hosts each: refusals, a mesh, signals, dead peers,
# a delay between the racks, and the same round trips from a capture by nomora rtt.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
printf 'h1 10.0.0.1\nh1 10.0.0.2\n' >"$scratch/twice"
printf 'h1 10.0.0.1\nh2 10.0.0.2\n' >"$scratch/two"
refuses "no address" 2 '--address is missing' "$nomora" probe eth0 --peers "$scratch/two"
refuses "no peers" 2 '--peers is missing' "$nomora" probe eth0 --address 10.0.0.1
refuses "no port" 2 'PORT|operand|argument|missing' "$nomora" probe --address 10.0.0.1 --peers "$scratch/two"
refuses "an address that is none" 2 '--address: expected an IP address such as 10.0.0.1' \
	"$nomora" probe eth0 --address 10.0.0 --peers "$scratch/two"
refuses "a gateway without a prefix" 2 '--gateway needs' \
	"$nomora" probe eth0 --address 10.0.0.1 --gateway 10.0.0.9 --peers "$scratch/two"
refuses "a turn beyond the last" 2 '--slot: expected I/N' \
	"$nomora" probe eth0 --address 10.0.0.1 --slot 9/8 --peers "$scratch/two"
refuses "an interval of 0" 2 'interval-us' "$nomora" probe eth0 --address 10.0.0.1 -i 0 --peers "$scratch/two"
refuses "a host list with duplicates" 1 "twice:2: name: duplicate host name 'h1'" \
	"$nomora" probe eth0 --address 10.0.0.1 --peers "$scratch/twice"
refuses "a host list that is not there" 1 'nowhere' \
	"$nomora" probe eth0 --address 10.0.0.1 --peers "$scratch/nowhere"
[ "$(id -u)" -eq 0 ] || { skip "the rest" "needs root"; plan; exit 0; }
refuses "a port that does not exist" 1 "no-such" \
	"$nomora" probe no-such0 --address 10.0.0.1 --peers "$scratch/two" --wait 0
refuses "reflect on a port that does not exist" 1 "no-such" "$nomora" reflect no-such0 --address 10.0.0.1
command -v jq >/dev/null || { skip "the rest" "jq is not installed"; plan; exit 0; }

lab=p$(($$ % 100000))
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --hosts 4 --racks 2 --inject core --delay-us 200 --peers "$scratch/peers" \
	--cluster "$scratch/cluster.json" >"$scratch/lab.log" 2>&1 ||
	{ skip "the rest" "no virtual rack: $(tail -1 "$scratch/lab.log")"; plan; exit 0; }
address_of() { awk -v name="$1" '$1 == name { print $2 }' "$scratch/peers"; }

# Background processes are started directly, not in a function, so that $! is the process itself. captured COUNT: the
# capture has COUNT answered probes of h1.
captured() {
	"$nomora" rtt "$scratch/h1.pcap" --peers "$scratch/peers" --json >"$scratch/rtt.json" 2>/dev/null &&
		jq -e --argjson wanted "$1" '[.pairs[] | select(.src == "h1") | .samples] | add >= $wanted' "$scratch/rtt.json" >/dev/null
}

# The mesh, with a capture at h1's port of the switch.
capture=
if command -v tcpdump >/dev/null; then
	ip netns exec "$lab-sw" tcpdump -i h1 -U -B 8192 -w "$scratch/h1.pcap" --time-stamp-precision=nano udp port 862 2>"$scratch/tcpdump.log" &
	capture=$!
	at_exit kill "$capture"
	wait_for 10 grep -q listening "$scratch/tcpdump.log"
fi
declare -A process
for host in h1 h2 h3 h4; do
	ip netns exec "$lab-$host" "$nomora" probe eth0 --address "$(address_of $host)" --peers "$scratch/peers" --reflect \
		--duration 3 --interval-us 5000 --paths 4 --wait 20 --json -o "$scratch/$host.csv" \
		--samples "$scratch/$host.samples" >"$scratch/$host.json" 2>"$scratch/$host.err" &
	process[$host]=$!
done
for host in h1 h2 h3 h4; do
	code=0
	wait "${process[$host]}" || code=$?
	[ "$code" -eq 0 ] && pass "$host ends with 0" || fail "$host ends with 0" "exit $code" "$(cat "$scratch/$host.err")"
done
# every FILTER: true for each peer of each host
every() { jq -e -s "[.[].peers[] | $1] | length == 12 and all" "$scratch"/h[1-4].json; }
check "schema" jq -e -s 'all(.schema == "nomora.probe/1")' "$scratch"/h[1-4].json
check "nothing lost, doubled or out of order" every '.lost == 0 and .duplicates == 0 and .reordered == 0'
check "every probe is answered" every '.sent == .received and .sent > 300'
check "every path has its share" every '.paths | length == 4 and all(.received > 75)'
check "the matrix is merged" "$nomora" mesh merge "$scratch"/h[1-4].csv -o "$scratch/latency.csv"
check "and shown" "$nomora" mesh show "$scratch/latency.csv" --cluster "$scratch/cluster.json"
# Compares the fastest round trips, since a busy machine stalls the injector, which then holds packets longer but never
# shorter.
between=$(jq -s '[.[] | .host as $h | .peers[] | select((($h == "h1" or $h == "h2") and (.name == "h3" or .name == "h4")) or
	(($h == "h3" or $h == "h4") and (.name == "h1" or .name == "h2"))) | .rtt_us.min]' "$scratch"/h[1-4].json)
if printf '%s' "$between" | jq -e 'length == 8 and min >= 400 and max <= 460' >/dev/null; then
	pass "200 us each way between the racks show as 400 us"
else
	fail "200 us each way between the racks show as 400 us" "fastest of each pair: $between"
fi
# The row of the mesh equals the JSON exactly.
row_differs() {
	jq -r '.host as $h | .peers[] | [$h, .name, .row_us.p50, .row_us.p99, .row_us.max] | @tsv' "$scratch/h1.json" |
		while IFS=$'\t' read -r src dst p50 p99 max; do
			awk -F, -v s="$src" -v d="$dst" -v p50="$p50" -v p99="$p99" -v max="$max" '$1 == s && $2 == d {
				found = 1; if ($3 != p50 || $4 != p99 || $5 != max) print d ": " $0 " is not " p50 " " p99 " " max }
				END { if (!found) print d " is missing" }' "$scratch/h1.csv"
		done
}
differs=$(row_differs)
[ -z "$differs" ] && pass "the CSV row has the figures of the JSON" || fail "the CSV row has the figures of the JSON" "$differs"
samples=$(wc -l <"$scratch/h1.samples")
received=$(jq '[.peers[].received] | add' "$scratch/h1.json")
[ "$samples" -eq $((received + 1)) ] && pass "samples are all there" || fail "samples are all there" "$samples, $received"

# The same from the capture. The switch's port is one veth away, which adds up to 30 us and 10 %, including a wake-up.
if [ -n "$capture" ]; then
	# The last packets reach the file some time later; while it grows, its last packet may be incomplete.
	wait_for 10 captured "$received"
	kill "$capture"
	wait "$capture" 2>/dev/null
	"$nomora" rtt "$scratch/h1.pcap" --peers "$scratch/peers" --compare "$scratch/h1.samples" --json >"$scratch/rtt.json"
	if jq -n -e --slurpfile mesh "$scratch/h1.json" --slurpfile wire "$scratch/rtt.json" '
		[$mesh[0].peers[] as $p | $wire[0].pairs[] | select(.src == "h1" and .dst == $p.name) |
		 .added_us.p50 | . > -5 and . < 30 + 0.1 * $p.rtt_us.p50] | length == 3 and all' >/dev/null; then
		pass "the capture's round trips are the prober's"
	else
		fail "the capture's round trips are the prober's" "$(jq -c '.pairs[] | select(.src == "h1")' "$scratch/rtt.json")" \
			"$(jq -c '.peers[] | [.name, .rtt_us]' "$scratch/h1.json")"
	fi
	check "the capture has every probe of h1 answered" jq -n -e --slurpfile mesh "$scratch/h1.json" \
		--slurpfile wire "$scratch/rtt.json" '[$mesh[0].peers[].received] | add as $n |
		[$wire[0].pairs[] | select(.src == "h1") | .samples] | add | . >= $n and . < $n * 1.1'
	if jq -e --argjson n "$received" '.compare | .prober == "h1" and .added_us.probes > $n / 2 and
		.added_us.probes + .not_captured == $n' "$scratch/rtt.json" >/dev/null; then
		pass "the prober's samples are found in the capture"
	else
		fail "the prober's samples are found in the capture" "$(jq -c .compare "$scratch/rtt.json")"
	fi
else
	skip "the capture's round trips are the prober's" "tcpdump is not installed"
fi

# Two absent peers: one with a known MAC address, one that ARP has to find.
printf 'h1 %s\nghost 10.77.1.250 02:00:00:00:00:99\nshade 10.77.1.251\n' "$(address_of h1)" >"$scratch/dead"
run ip netns exec "$lab-h1" "$nomora" probe eth0 --address "$(address_of h1)" --peers "$scratch/dead" --count 5 \
	--interval-us 1000 --wait 0.2 --timeout-ms 100 --linger-ms 0 --json -o "$scratch/dead.csv"
if [ "$code" -eq 3 ] && printf '%s' "$out" | jq -e '.peers | map([.name, .sent, .lost, .rtt_us]) ==
	[["ghost", 5, 5, null], ["shade", 0, 0, null]]' >/dev/null && grep -q '^h1,ghost,,,,1,0,.*,unreachable,' "$scratch/dead.csv" &&
	grep -q '^h1,shade,,,,1,0,.*,unreachable,' "$scratch/dead.csv"; then
	pass "a silent peer is unreachable, as is one without a MAC address, exit 3"
else
	fail "a silent peer is unreachable, as is one without a MAC address, exit 3" "exit $code" "$out" "$err" "$(cat "$scratch/dead.csv")"
fi

# SIGINT to a prober with outstanding probes (400 us to h3): they are not counted.
ip netns exec "$lab-h3" "$nomora" reflect eth0 --address "$(address_of h3)" --quiet &
reflector=$!
printf 'h3 %s\n' "$(address_of h3)" >"$scratch/far"
ip netns exec "$lab-h1" env --default-signal=INT "$nomora" probe eth0 --address "$(address_of h1)" --peers "$scratch/far" \
	--duration 60 --interval-us 50 --json --samples "$scratch/cut.samples" >"$scratch/cut.json" 2>"$scratch/cut.err" &
prober=$!
# Until the end, samples are in a file of another name.
under_way() { [ "$(cat "$scratch"/*cut.samples* | wc -l)" -gt 1500 ]; }
wait_for 60 under_way
kill -INT "$prober"
code=0
wait "$prober" || code=$?
kill "$reflector"
wait "$reflector" 2>/dev/null
if [ "$code" -eq 0 ] && jq -e '.peers[0] | .sent > 1000 and .sent == .received + .lost' "$scratch/cut.json" >/dev/null; then
	pass "SIGINT to a prober: sent is received and lost"
else
	fail "SIGINT to a prober: sent is received and lost" "exit $code" "$(jq -c '.peers[0] | [.sent, .received, .lost]' "$scratch/cut.json")" \
		"$(cat "$scratch/cut.err")"
fi

# The rest needs no delay: without the injector, which polls.
"$nomora" lab down --name "$lab"
check "the rack without an injector" "$nomora" lab up --name "$lab" --hosts 4 --racks 2 --peers "$scratch/peers"

# Across a router: peers outside of --address's prefix go to the gateway's MAC.
router() {
	local side
	ip netns add "$lab-r" && ip netns exec "$lab-r" sysctl -qw net.ipv4.ip_forward=1 || return 1
	for side in 1 2; do
		ip netns add "$lab-n$side" && ip link add eth0 netns "$lab-n$side" type veth peer name "r$side" netns "$lab-r" &&
			ip -n "$lab-n$side" link set eth0 up && ip -n "$lab-r" link set "r$side" up &&
			ip -n "$lab-r" addr add "10.88.$side.254/24" dev "r$side" || return 1
	done
}
for name in r n1 n2; do at_exit ip netns del "$lab-$name"; done
if router 2>"$scratch/router.log"; then
	printf 'a 10.88.1.1\nb 10.88.2.1\n' >"$scratch/routed"
	ip netns exec "$lab-n2" "$nomora" probe eth0 --address 10.88.2.1/24 --gateway 10.88.2.254 --peers "$scratch/routed" --reflect \
		--count 50 --interval-us 2000 --wait 10 --json >"$scratch/b.json" 2>"$scratch/b.err" &
	far=$!
	run ip netns exec "$lab-n1" "$nomora" probe eth0 --address 10.88.1.1/24 --gateway 10.88.1.254 --peers "$scratch/routed" \
		--reflect --count 50 --interval-us 2000 --wait 10 --json
	wait "$far"
	if [ "$code" -eq 0 ] && printf '%s' "$out" | jq -e '.peers | length == 1 and (.[0] | .received == 50 and .lost == 0)' >/dev/null; then
		pass "--gateway: a peer behind a router answers every probe"
	else
		fail "--gateway: a peer behind a router answers every probe" "exit $code" "$out" "$err" "$(cat "$scratch/b.err")"
	fi
else
	skip "--gateway: a peer behind a router answers every probe" "no namespaces: $(tail -1 "$scratch/router.log")"
fi

# Signals, and a port that is taken.
for signal in INT TERM; do
	ip netns exec "$lab-h2" env --default-signal=INT "$nomora" reflect eth0 --address "$(address_of h2)" --json \
		>"$scratch/reflect.json" 2>"$scratch/reflect.err" &
	reflector=$!
	printf 'h2 %s\n' "$(address_of h2)" >"$scratch/one"
	run ip netns exec "$lab-h1" "$nomora" probe eth0 --address "$(address_of h1)" --name h1 --peers "$scratch/one" \
		--count 20 --interval-us 2000 --format ntp --json
	[ "$code" -eq 0 ] && pass "reflect answers ($signal)" || fail "reflect answers ($signal)" "$out" "$err"
	[ "$signal" = TERM ] || refuses "a port that is taken" 1 'eth0' ip netns exec "$lab-h2" \
		"$nomora" reflect eth0 --address "$(address_of h2)"
	kill -"$signal" "$reflector"
	code=0
	wait "$reflector" || code=$?
	if [ "$code" -eq 0 ] && jq -e '.run.reflector.answered >= 20' "$scratch/reflect.json" >/dev/null; then
		pass "SIG$signal ends it cleanly, with its report"
	else
		fail "SIG$signal ends it cleanly, with its report" "exit $code" "$(cat "$scratch/reflect.err")"
	fi
done

# On the kernel's own address the ports are reserved: no ICMP errors, and a port in use by another program is refused
# clearly.
if command -v python3 >/dev/null; then
	own=$(ip netns exec "$lab-h2" ip -4 -o addr show eth0 | awk '{ split($4, a, "/"); print a[1] }')
	ip netns exec "$lab-h2" python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((sys.argv[1], 862)); print("bound", flush=True); time.sleep(60)' \
		"$own" >"$scratch/bound" &
	holder=$!
	at_exit kill "$holder"
	wait_for 10 grep -q bound "$scratch/bound"
	refuses "a UDP port that another program has" 1 'UDP port 862 of this host: .*another program has it' \
		ip netns exec "$lab-h2" "$nomora" reflect eth0 --address "$own"
	kill "$holder"
	wait "$holder" 2>/dev/null
fi
# A station whose interface is removed reports it and fails, immediately and without a row.
for command in reflect probe; do
	host=$([ $command = reflect ] && echo h3 || echo h4)
	options=(--address "$(address_of $host)" --duration 100)
	[ $command = reflect ] || options+=(--peers "$scratch/dead" --reflect -o "$scratch/removed.csv")
	ip netns exec "$lab-$host" timeout 60 "$nomora" $command eth0 "${options[@]}" --quiet 2>"$scratch/removed.err" &
	station=$!
	printf '%s %s\n' "$host" "$(address_of $host)" >"$scratch/one"
	ip netns exec "$lab-h1" "$nomora" probe eth0 --address "$(address_of h1)" --name h1 --peers "$scratch/one" --count 1 \
		--wait 20 --quiet || fail "$command runs"
	ip -n "$lab-$host" link del eth0
	code=0
	wait "$station" || code=$?
	[ $code -eq 1 ] && grep -q 'eth0: the interface was removed' "$scratch/removed.err" && [ ! -e "$scratch/removed.csv" ] &&
		pass "$command ends when its interface is removed" ||
		fail "$command ends when its interface is removed" "exit $code" "$(cat "$scratch/removed.err")"
done

left=$(for host in h1 h2 h3 h4; do
	for process in $(ip netns pids "$lab-$host"); do tr '\0' ' ' <"/proc/$process/cmdline"; done
done)
[ -z "$left" ] && pass "no process is left" || fail "no process is left" "$left"
plan

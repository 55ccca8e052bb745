#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The delay is real: between two hosts in namespaces, ping's round trip grows by 2 D within 15 % + 30 us at every D, on
# af_xdp and on af_packet; every packet is accounted for; the capture agrees.
. "$(dirname "$0")/../cli/lib.sh"

[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
[ "$(id -u)" -eq 0 ] || skip_all "needs root for network namespaces"
prefix=nomora-test-$$
control=$scratch/control.sock
for name in a b mid; do
	ip netns add "$prefix-$name" 2>/dev/null || skip_all "no network namespaces here"
	at_exit ip netns del "$prefix-$name"
	ip netns exec "$prefix-$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
address=1
for name in a b; do # the host has app0, the injector inj-a and inj-b
	ip -n "$prefix-$name" link add app0 type veth peer name "inj-$name" netns "$prefix-mid"
	ip -n "$prefix-$name" addr add "10.77.0.$address/24" dev app0
	ip -n "$prefix-$name" link set app0 up
	ip netns exec "$prefix-$name" ethtool -K app0 tx off rx off tso off gso off gro off >/dev/null 2>&1
	ip -n "$prefix-mid" link set "inj-$name" up
	address=$((address + 1))
done
injector_pid=
stop_injector() { [ -z "$injector_pid" ] || kill -TERM "$injector_pid" 2>/dev/null; }
at_exit stop_injector

# True when the injector answers or has died, as there is nothing to wait for then.
ready() { "$nomora" inject-ctl "$control" stats || ! kill -0 "$injector_pid"; }

start() {
	ip netns exec "$prefix-mid" "$nomora" inject inj-a inj-b "$@" --control "$control" 2>"$scratch/log" </dev/null &
	injector_pid=$!
	wait_for 30 ready && kill -0 "$injector_pid" 2>/dev/null
}
stop() {
	"$nomora" inject-ctl "$control" stop >/dev/null
	wait "$injector_pid"
	injector_pid=
}
# Median and minimum of some round trips, us; with real-time priority, as nice has no effect between sessions.
ping_us() {
	ip netns exec "$prefix-a" chrt -r 1 ping -n -c 60 -i 0.005 -W 2 10.77.0.2 >"$scratch/ping" || return 1
	sed -n 's/.*time=\([0-9.]*\) ms/\1/p' "$scratch/ping" | sort -n | awk '{v[NR]=$1} END {printf "%.1f %.1f", v[int((NR+1)/2)]*1000, v[1]*1000}'
}

for driver in af_xdp af_packet; do
	if ! start --driver "$driver"; then
		fail "$driver starts" "$(cat "$scratch/log")"
		stop_injector
		continue
	fi
	ping_us >/dev/null # ARP
	for delay in 5 20 100 500 1000 2000; do
		seen='2 no answer to ping'
		for attempt in 1 2 3 4 5 6 7 8; do # on a shared machine: a baseline for each delay, eight tries
			"$nomora" inject-ctl "$control" set delay_us=0 >/dev/null
			base=$(ping_us) || break
			"$nomora" inject-ctl "$control" set delay_us="$delay" >/dev/null
			with=$(ping_us) || break
			near $((2 * delay)) "$base" "$with" && break
		done
		judge_near "$driver, D = $delay us" 1
	done
	"$nomora" inject-ctl "$control" stats --json >"$scratch/stats"
	if python3 - "$scratch/stats" <<-'END'; then
		import json, sys
		s = json.load(open(sys.argv[1]))
		ok = all(s[d]["rx_packets"] == s[d]["tx_packets"] + s[d]["held"] >= 600 for d in ("ab", "ba"))
		sys.exit(not (ok and s["ring_full"] == s["nombuf"] == s["rx_missed"] == 0))
	END
		pass "$driver: every packet is accounted for"
	else
		fail "$driver: every packet is accounted for" "$(cat "$scratch/stats")"
	fi
	stop && pass "$driver stops cleanly" || fail "$driver stops cleanly" "$(cat "$scratch/log")"
	[ -z "$(ip -n "$prefix-mid" -d link show inj-a | grep -o 'prog/xdp')" ] && pass "$driver leaves no program attached" ||
		fail "$driver leaves no program attached"
done

# Checks that do not need a quiet machine: the stamps of each packet at both ports. No packet is early, lost or out of
# order.
for delay in 5 2000; do
	if start --delay-us $delay --capture "$scratch/$delay.pcapng" && ping_us >/dev/null && stop; then
		run "$nomora" inject-check "$scratch/$delay.pcapng" --expect-us $delay --limit-us 5 --percentile 50
		[ "$code" -eq 0 ] && pass "each packet stays $delay us" || fail "each packet stays $delay us" "exit $code" "$out" "$err"
	else
		fail "each packet stays $delay us" "$(cat "$scratch/log")"
	fi
done
if start --delay-us 300 --capture "$scratch/run.pcapng" && ping_us >/dev/null && stop; then
	run "$nomora" inject-check "$scratch/run.pcapng" --expect-us 300 --limit-us 5 --percentile 50
	[ "$code" -eq 0 ] && pass "the capture shows the delay of each packet" ||
		fail "the capture shows the delay of each packet" "exit $code" "$out" "$err"
	run "$nomora" inject-check "$scratch/run.pcapng" --expect-us 200 --limit-us 50
	[ "$code" -eq 3 ] && pass "and that it is not another one" || fail "and that it is not another one" "exit $code" "$out"
	run tcpdump -nr "$scratch/run.pcapng" icmp
	case $err in
	*"ot found"*) skip "tcpdump reads it" "tcpdump is not installed" ;;
	*) [ "$(printf '%s\n' "$out" | grep -c 'ICMP echo')" -ge 240 ] && pass "tcpdump reads it" || fail "tcpdump reads it" "$err" ;;
	esac
else
	fail "captures" "$(cat "$scratch/log")"
fi
if start --delay-us 1000 --only proto:icmp && with=$(ping_us); then
	arp=$("$nomora" inject-ctl "$control" stats --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["ab"]["bypassed"])')
	[ "${with%%.*}" -ge 2000 ] && pass "only what the filter picks is delayed (ARP passed at once: $arp)" || fail "filter" "$with"
	stop
else
	fail "filter" "$(cat "$scratch/log")"
fi

# Jumbo frames pass unchanged, there and back; longer ones, and jumbo frames on a port opened for less, are dropped and
# counted.
for name in a b; do
	ip -n "$prefix-$name" link set app0 mtu 9000
	ip -n "$prefix-mid" link set "inj-$name" mtu 9000
done
jumbo() { ip netns exec "$prefix-a" ping -n -q -M "do" -s 8972 -c 20 -i 0.01 -W 2 10.77.0.2; }
if start --mtu 9000 --delay-us 100; then
	run jumbo
	[ "$code" -eq 0 ] && pass "an MTU of 9000" || fail "an MTU of 9000" "$out" "$(cat "$scratch/log")"
	stop
else
	fail "an MTU of 9000" "$(cat "$scratch/log")"
fi
if start --driver af_packet --delay-us 100; then
	run jumbo
	refused=$("$nomora" inject-ctl "$control" stats --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["rx_errors"])')
	[ "$code" -ne 0 ] && [ "$refused" -ge 20 ] && pass "frames over the MTU are counted" || fail "frames over the MTU are counted" "$refused" "$out"
	stop
else
	fail "frames over the MTU are counted" "$(cat "$scratch/log")"
fi
run ip netns exec "$prefix-mid" "$nomora" inject inj-a inj-b --mtu 9000 --driver af_xdp
[ "$code" -eq 1 ] && case $err in *2790*) pass "af_xdp says what it carries" ;; *) fail "af_xdp says what it carries" "$err" ;; esac
plan

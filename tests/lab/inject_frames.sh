#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The injector carries every kind of frame unchanged, or drops it and counts it by name: fragments, tags, runts, frames
# of link protocols, TCP and UDP of hosts that leave checksums and segmentation to their NIC, frames longer than the
# MTU, frames for a link that is down or an interface that is gone.
. "$(dirname "$0")/../cli/lib.sh"

. "$(dirname "$0")/inject_lib.sh"

counted() { is "$1" "$2" "$(ask 's["rx_packets"], s["tx_packets"] - s["tx_errors"], s["tx_errors"], s["tx_link_down"], s["tx_mtu"]')"; }

if start --delay-us 100; then
	grep -q "inj-a: driver af_packet instead of af_xdp: it is virtual" "$scratch/log" && pass "auto says its choice and why" ||
		fail "auto says its choice and why" "$(cat "$scratch/log")"
	check "TCP and UDP of hosts with default offloads arrive unchanged" python3 "$here/tcp.py" "$prefix"
	is "and nothing is dropped" 0 "$(ask 's["rx_missed"] + s["rx_errors"] + s["tx_errors"] + s["ring_full"] + s["nombuf"]')"
	stop
else
	fail "auto starts" "$(cat "$scratch/log")"
fi
for name in a b; do
	ip netns exec "$prefix-$name" ethtool -K app0 tx off rx off tso off gso off gro off >/dev/null 2>&1
done
for driver in af_packet af_xdp; do
	if start --driver "$driver" --delay-us 100; then
		check "$driver carries every kind of frame unchanged" python3 "$here/frames.py" "$prefix" kinds
		is "$driver forwards nothing that its own host sends" "20 0" \
			"$(python3 "$here/frames.py" "$prefix" count mid inj-a 20 100)"
		stop
	else
		fail "$driver starts" "$(cat "$scratch/log")"
	fi
done
# DPDK's own devices: two injectors with a shared memory between them, and libpcap.
memif=role=server,socket=$scratch/memif.sock,socket-abstract=no
ip netns exec "$prefix-mid" "$nomora" inject inj-a "net_memif0,$memif" --nice 0 --control "$scratch/first.sock" 2>"$scratch/first" </dev/null &
first_pid=$!
at_exit kill "$first_pid"
linked() { "$nomora" inject-ctl "$1" stats --json | jq -e '[.ports[].link_up] == [true, true]'; }
ports=("net_memif1,${memif/server/client}" inj-b)
listens() { "$nomora" inject-ctl "$scratch/first.sock" stats || ! kill -0 "$first_pid"; }
wait_for 30 listens
if start --delay-us 100 && wait_for 30 linked "$control" && wait_for 30 linked "$scratch/first.sock"; then
	check "net_memif carries every kind of frame unchanged" python3 "$here/frames.py" "$prefix" kinds
	is "and every frame is counted" True "$(ask '34 <= s["rx_packets"] == s["tx_packets"]')"
	"$nomora" inject-ctl "$scratch/first.sock" stop >/dev/null
	wait "$first_pid" && pass "the peer stops" || fail "the peer stops" "$(cat "$scratch/first")"
	unlinked() { ! linked "$control"; }
	wait_for 30 unlinked
	send() { python3 "$here/frames.py" "$prefix" count b app0 "$1" 100 >/dev/null; }
	"$nomora" inject-ctl "$control" reset >/dev/null
	send 300
	is "frames for it are then counted" "300 300 300 0" \
		"$(ask 't["rx_packets"], t["tx_packets"], t["tx_link_down"], t["held"]')"
	stop
else
	fail "net_memif starts" "$(cat "$scratch/log" "$scratch/first")"
fi
kill -KILL "$first_pid" 2>/dev/null
wait "$first_pid" 2>/dev/null
ports=("net_pcap0,rx_iface_in=inj-a,tx_iface=inj-a" "net_pcap1,rx_iface_in=inj-b,tx_iface=inj-b")
if start --delay-us 100; then
	check "net_pcap carries every kind of frame unchanged" python3 "$here/frames.py" "$prefix" kinds
	is "net_pcap forwards nothing that its own host sends" "20 0" \
		"$(python3 "$here/frames.py" "$prefix" count mid inj-a 20 100)"
	stop
else
	fail "net_pcap starts" "$(cat "$scratch/log")"
fi
ports=(inj-a inj-b)
for driver in af_packet af_xdp; do
	start --driver "$driver" --delay-us 100 --mtu 1900 || {
		fail "$driver starts" "$(cat "$scratch/log")"
		continue
	}
	ip -n "$prefix-mid" link set inj-b down
	# more than all rings have together, but never more at once than the receive ring, if the injector does not run
	for _ in 1 2 3 4; do python3 "$here/frames.py" "$prefix" count a app0 750 100 >/dev/null; done
	counted "$driver: frames for a link that is down are counted" "3000 0 3000 3000 0"
	ip -n "$prefix-mid" link set inj-b up
	is "and do not arrive when it is up again, but all later ones do" "0 100" "$(python3 "$here/frames.py" "$prefix" count a app0 100 100)"
	counted "and are counted" "3100 100 3000 3000 0"
	for interface in a:app0 mid:inj-a; do
		ip -n "$prefix-${interface%:*}" link set "${interface#*:}" mtu 1900
	done
	"$nomora" inject-ctl "$control" reset >/dev/null
	is "frames longer than the other MTU do not arrive" "0 0" "$(python3 "$here/frames.py" "$prefix" count a app0 50 1700)"
	counted "and are counted" "50 0 50 0 50"
	is "both interfaces have counted the same packets" "0 0" "$(ask 's["rx_uncounted"], s["tx_uncounted"]')"
	ip -n "$prefix-b" link set app0 mtu 1300
	python3 "$here/frames.py" "$prefix" count a app0 50 1400 >/dev/null
	is "frames that the peer loses are counted, or missing in the interface's counter" 50 \
		"$(ask 's["tx_errors"] - s["tx_mtu"] + s["tx_uncounted"]')"
	is "and none is held" "0 0" "$(ask 's["held"], s["rx_uncounted"]')"
	ip -n "$prefix-b" link set app0 mtu 1500
	stop
	for interface in a:app0 mid:inj-a; do
		ip -n "$prefix-${interface%:*}" link set "${interface#*:}" mtu 1500
	done
done
# af_xdp carries frames of every MTU that it accepts, and refuses others with its limit.
set_mtu() {
	for interface in a:app0 b:app0 mid:inj-a mid:inj-b; do
		ip -n "$prefix-${interface%:*}" link set "${interface#*:}" mtu "$1"
	done
}
for mtu in 1766 1767 1965 2790; do
	set_mtu $mtu
	start --driver af_xdp --mtu $mtu || {
		fail "af_xdp starts at an MTU of $mtu" "$(cat "$scratch/log")"
		continue
	}
	is "af_xdp carries full frames of an MTU of $mtu" "0 20" "$(python3 "$here/frames.py" "$prefix" count a app0 20 $((mtu + 14)))"
	stop
done
for mtu in 2791 3000; do
	run ip netns exec "$prefix-mid" "$nomora" inject inj-a inj-b --mtu $mtu --driver af_xdp --duration 1
	case "$code $err" in
	[12]*"at most 2790"*) pass "and refuses an MTU of $mtu" ;;
	*) fail "and refuses an MTU of $mtu" "$code" "$err" ;;
	esac
done
# Devices whose driver reports changes of the link by an interrupt, as NICs do. Host a is at one tap; the other stays here.
ip -n "$prefix-a" link del app0
ports=(net_tap0 net_tap1)
if start --delay-us 100; then
	ip -n "$prefix-mid" link set dtap0 netns "$prefix-a" name app0
	ip -n "$prefix-a" link set app0 up
	arrived() { ip -n "$prefix-mid" -j -s link show dtap1 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["rx"]["packets"])'; }
	check "net_tap carries every kind of frame unchanged" python3 "$here/frames.py" "$prefix" kinds mid dtap1
	"$nomora" inject-ctl "$control" reset >/dev/null
	send() { python3 "$here/frames.py" "$prefix" count a app0 "$1" 100 >/dev/null; }
	ip -n "$prefix-mid" link set dtap1 down
	before=$(arrived)
	send 300
	counted "net_tap: frames for a link that is down are counted" "300 0 300 300 0"
	ip -n "$prefix-mid" link set dtap1 up
	send 100
	counted "and later ones leave when it is up again" "400 100 300 300 0"
	is "these alone arrive" 100 $(($(arrived) - before))
	stop
else
	fail "net_tap starts" "$(cat "$scratch/log")"
fi
plan

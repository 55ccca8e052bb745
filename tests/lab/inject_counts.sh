#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The law of conservation, exact to the packet: each frame that the injector's interface has received arrives at host b
# or is dropped under a name, also while links fail, the injector stops, its ring overflows or an interface is removed.
# And nothing arrives late: frames for a link that is down are lost, as on a wire.
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/inject_lib.sh"

for name in a b; do
	ip netns exec "$prefix-$name" ethtool -K app0 tx off rx off tso off gso off gro off >/dev/null 2>&1
done
rx() { ip netns exec "$prefix-mid" sed -n 's/^ *inj-a: *[0-9]* *\([0-9]*\) .*/\1/p' /proc/net/dev; }
flow() { # flow PPS SECONDS COMMAND: runs the command 0.5 s after the first frame
	before=$(rx)
	python3 "$here/frames.py" "$prefix" flow "$1" "$2" >"$scratch/flow" &
	flow_pid=$!
	wait_for 30 grep -q sending "$scratch/flow"
	sleep 0.5
	eval "$3"
	wait "$flow_pid"
	sleep 2.2 # two samples of the injector
	read -r sent arrived longest < <(tail -1 "$scratch/flow")
	received=$(($(rx) - before))
}
drops='s["rx_missed"] + s["rx_errors"] + s["nombuf"] + s["ring_full"] + s["too_late"] + s["tx_errors"]'
conserved() { # conserved NAME [ARRIVED]: after flow
	is "$1: received = arrived + drops" "$received 0" "$((${2-$arrived} + $(ask "$drops"))) $(ask 's["held"]')"
	is "and nothing is unaccounted for" 0 "$(ask 's["unaccounted"]')"
}
some() { # some FIELD LEAST: a named drop
	if [ "$received" -lt $((sent * 9 / 10)) ]; then
		skip "which are drops ($1)" "too busy to judge: $received of $sent frames reached the injector's interface"
		return
	fi
	[ "$(ask "s['$1']")" -ge "$2" ] && pass "which are drops ($1)" || fail "which are drops ($1)" "$(cat "$scratch/flow" "$scratch/log")"
}
on_time() { [ "$longest" -lt 500 ] && pass "no frame arrives late" || fail "no frame arrives late" "$longest ms"; }
logged() { grep -q "$1: the link" "$scratch/log" && pass "which the log states" || fail "which the log states" "$(cat "$scratch/log")"; }
bounce() { ip -n "$prefix-mid" link set "$1" down && sleep "$2" && ip -n "$prefix-mid" link set "$1" up; }
for driver in af_packet af_xdp; do
	start --driver "$driver" --delay-us 1000 --slots 1024 || {
		fail "$driver starts" "$(cat "$scratch/log")"
		continue
	}
	flow 1000 2 'bounce inj-b 0.2'
	conserved "$driver, a link that is down for 0.2 s"
	some tx_link_down 100
	on_time
	logged inj-b
	flow 1000 2 'bounce inj-a 0.2'
	logged inj-a
	"$nomora" inject-ctl "$control" reset >/dev/null
	flow 1000 9.5 'bounce inj-b 8'
	conserved "$driver, 8 s"
	some tx_link_down 7000
	on_time
	"$nomora" inject-ctl "$control" reset >/dev/null
	flow 4000 3 'kill -STOP $injector_pid && sleep 2 && kill -CONT $injector_pid'
	conserved "$driver, an injector that is stopped for 2 s"
	some rx_missed 100
	"$nomora" inject-ctl "$control" reset >/dev/null
	"$nomora" inject-ctl "$control" set delay_us=10000 >/dev/null
	flow 400000 0.5 :
	# The kernel of host b may drop frames of such a burst.
	conserved "$driver, a burst" "$(ask 's["tx_packets"] - s["tx_errors"]')"
	"$nomora" inject-ctl "$control" set delay_us=1000 >/dev/null
	"$nomora" inject-ctl "$control" reset >/dev/null
	flow 1000 2 'ip -n "$prefix-mid" link del inj-b'
	conserved "$driver, an interface that is removed"
	some tx_link_down 1000
	stop
	ip -n "$prefix-b" link add app0 type veth peer name inj-b netns "$prefix-mid"
	ip netns exec "$prefix-b" ethtool -K app0 tx off rx off tso off gso off gro off >/dev/null 2>&1
	ip -n "$prefix-b" link set app0 up
	ip -n "$prefix-mid" link set inj-b up
done
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The injector on a PCI network card: two that QEMU emulates, driven by DPDK's driver through vfio-pci and an IOMMU
# inside a guest. Ping from a host at one port to a host at the other: nothing is lost, the round trip grows by
# 2 D.
# shellcheck source=guest.sh
. "$(dirname "${BASH_SOURCE[0]}")/guest.sh"

# --- the injector on both ---
guest 20 "nomora inject ${nics//$'\n'/ } --duration 1 >/dev/null 2>/tmp/refusal; echo exit \$?; cat /tmp/refusal"
case $answer in
*"exit 1"*"not invariant"*) pass "a counter that the CPU does not call invariant is refused" ;;
*) fail "a counter that the CPU does not call invariant is refused" "$answer" ;;
esac
guest 5 "nomora inject ${nics//$'\n'/ } --delay-us 0 --trust-counter --control /run/inj.sock --json \
	>/tmp/json 2>/tmp/log </dev/null & injector=\$!"
statistics() { guest 10 "nomora inject-ctl /run/inj.sock stats --json" && printf '%s' "$answer" >"$scratch/stats"; }
# value EXPRESSION: of Python, s is the last statistics.
value() {
	python3 -c 'import json, sys
print(eval("(" + sys.argv[2] + ")", {"s": json.load(open(sys.argv[1]))}))' "$scratch/stats" "$1" 2>/dev/null
}
linked() { statistics && [ "$(value 'all(p["link_up"] for p in s["ports"])')" = True ]; }
if ! wait_for 40 linked; then
	guest 5 "cat /tmp/log"
	bail "the injector starts and both links are up" "$answer" "$(cat "$scratch/stats" 2>&1)"
fi
drivers=$(value '" ".join(p["driver"] for p in s["ports"])')
[ "$drivers" = "$driver $driver" ] && pass "both ports: driver $driver, link up" ||
	fail "both ports: driver $driver, link up" "$drivers"
[ "$(value 's["counter"]')" = trusted ] && pass "its output says that the counter was trusted" ||
	fail "its output says that the counter was trusted" "$(cat "$scratch/stats")"
guest 5 "cat /tmp/log"
log=$answer
case $log in
*"from hugepages"*) pass "its memory is from hugepages" ;;
*) fail "its memory is from hugepages" "$log" ;;
esac

# --- ping --- ping_us COUNT: the lower decile of the round trips, which the machine's other load hardly affects. Fails
# on a loss.
ping_us() {
	nice -n -20 ip netns exec hw-a ping -n -c "$1" -i 0.02 -W 2 -w 10 10.77.0.2 >"$scratch/ping" || return 1
	grep -q ' 0% packet loss' "$scratch/ping" || return 1
	sed -n 's/.*time=\([0-9.]*\) ms/\1/p' "$scratch/ping" | sort -n |
		awk '{v[NR] = $1} END {printf "%.0f", v[int(NR / 10) + 1] * 1000}'
}
# Resets the counters, so that the lateness is that of this delay only.
set_delay() { guest 10 "nomora inject-ctl /run/inj.sock set delay_us=$1 && nomora inject-ctl /run/inj.sock reset"; }
answers() { ip netns exec hw-a ping -n -c 1 -W 1 10.77.0.2; }
wait_for 20 answers && pass "host to host through the injector" ||
	bail "host to host through the injector" "$(cat "$scratch/stats")"
account='all(s[d]["rx_packets"] == s[d]["tx_packets"] + s[d]["held"] >= 100 for d in ("ab", "ba")) and
	s["ring_full"] == s["nombuf"] == s["rx_missed"] == 0'
for delay in 500 2000; do
	verdict=
	for _ in 1 2 3; do # the machine may be busy: each try has its own D = 0
		if ! { set_delay 0 && base=$(ping_us 100) && set_delay "$delay" && with=$(ping_us 100) && statistics; }; then
			verdict="packets lost, or no answer: $(tail -n 3 "$scratch/ping") $answer"
			alive || break
			continue
		fi
		verdict=$(awk -v b="$base" -v w="$with" -v d="$delay" 'BEGIN {
			off = w - b - 2 * d; if (off < 0) off = -off
			printf "%s: %d - %d = %d us, 2 D = %d", off <= 0.15 * 2 * d + 30 ? "good" : "bad", w, b, w - b, 2 * d }')
		case $verdict in good*) break ;; esac
	done
	case $verdict in
	good*) pass "D = $delay us, 100 packets and none lost ($verdict)" ;;
	*) fail "D = $delay us, 100 packets and none lost" "$verdict" ;;
	esac
	[ "$(value "$account")" = True ] && pass "every packet is accounted for" ||
		fail "every packet is accounted for" "$(cat "$scratch/stats")"
	echo "# released late: $(value '"p50 %(p50)d ns, p99 %(p99)d ns" % s["ab"]["lateness_ns"]'); $(value \
		'"%(stalls)d stalls, the longest %(stall_max_us).0f us, %(disturbed)d packets disturbed" % s')"
done
# --- frames of all kinds, and a link that goes down ---
frames() { python3 "$here/../lab/frames.py" hw "$@"; }
fresh() { guest 10 "nomora inject-ctl /run/inj.sock set delay_us=$1 && nomora inject-ctl /run/inj.sock reset >/dev/null"; }
fresh 100
check "the card carries every kind of frame unchanged" frames kinds padded
down() { statistics && [ "$(value 's["ports"][1]["link_up"]')" = "$1" ]; }
fresh 100
link 2 off
wait_for 10 down False && pass "the link of the second port is down" || fail "the link of the second port is down" "$answer"
frames count a app0 3000 100 >/dev/null
statistics
# On a busy machine, the cable (a tap) drops some of the burst before the card has it.
counted='len({s["ab"][k] for k in ("rx_packets", "tx_packets", "tx_errors", "tx_link_down")}) == 1 and s["ab"]["held"] == 0'
[ "$(value "$counted and s['ab']['rx_packets'] >= 1000")" = True ] && pass "frames for it are counted as tx_link_down" ||
	fail "frames for it are counted as tx_link_down" "$(cat "$scratch/stats")"
link 2 on
wait_for 20 down True && pass "the link is up again" || fail "the link is up again" "$answer"
arrived=$(frames count a app0 100 100)
[ "$arrived" = "0 100" ] && pass "those frames do not arrive late; later ones do" ||
	fail "those frames do not arrive late; later ones do" "$arrived"
statistics
changes=$(value 's["ports"][1]["link_changes"]')
[ "$changes" = 2 ] && pass "both changes of the link are counted" || fail "both changes of the link are counted" "$changes"
if guest 20 'nomora inject-ctl /run/inj.sock stop >/dev/null; wait $injector'; then
	pass "it stops cleanly"
else
	guest 5 "cat /tmp/log"
	fail "it stops cleanly" "$answer"
fi
guest 5 'tail -n 1 /tmp/json'
printf '%s' "$answer" >"$scratch/stats"
[ "$(value 's["schema"], {p["driver"] for p in s["ports"]}')" = "('nomora.inject/1', {'$driver'})" ] &&
	pass "--json names the driver" || fail "--json names the driver" "$answer"
plan

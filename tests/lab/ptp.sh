#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora ptp with linuxptp's ptp4l: both mechanisms over Ethernet, IPv4 and IPv6; and nomora rtt on the captured
# packets.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
ptp4l=$(command -v ptp4l || echo /usr/sbin/ptp4l)
[ -x "$ptp4l" ] || skip_all "no ptp4l (Debian: linuxptp)"
tcpdump=$(command -v tcpdump || :)
a=pa$((BASHPID % 100000)) b=pb$((BASHPID % 100000))
for netns in "$a" "$b"; do
	at_exit ip netns del "$netns"
	# shellcheck disable=SC2016
	at_exit sh -c 'ip netns pids "$1" | xargs -r kill -KILL' end "$netns"
	ip netns add "$netns"
	ip netns exec "$netns" sysctl -qw net.ipv6.conf.default.accept_dad=0
done
ip link add e0 netns "$a" type veth peer name e0 netns "$b"
for netns in "$a" "$b"; do
	ip -n "$netns" addr add "10.9.0.$([ "$netns" = "$a" ] && echo 1 || echo 2)/24" dev e0
	ip -n "$netns" link set e0 up
done
cat >"$scratch/ptp4l.cfg" <<END
[global]
time_stamping software
logAnnounceInterval -3
logSyncInterval -4
masterOnly 1
uds_address $scratch/ptp4l.socket
END
measure() { ip netns exec "$a" "$nomora" ptp e0 "$@" --count 5 --interval-ms 10 --timeout-ms 1000 --json >"$scratch/ptp.json"; }
measure_port() { measure "$@" --dpdk 2>"$scratch/port.err"; }
good() {
	python3 - "$scratch/ptp.json" <<-'END'
		import json, sys
		ptp = json.load(open(sys.argv[1]))
		assert ptp["schema"] == "nomora.ptp/1" and ptp["samples"] + ptp["unanswered"] == ptp["requests"] == 5, ptp
		assert ptp["clock"].endswith("-1"), ptp
		# Both ends have the same clock: each direction takes more than 0 and less than a second.
		assert 0 < ptp["delay_us"]["min"] < 1e6 and abs(ptp["offset_us"]["p50"]) < 1e6, ptp
		assert ptp["out_us"]["min"] > 0 and ptp["back_us"]["min"] > 0, ptp
	END
}
one_step() {
	python3 - "$scratch/ptp.json" "$1" <<-'END'
		import json, sys
		ptp = json.load(open(sys.argv[1]))
		assert ptp["samples"] and ptp["one_step"] == ptp["samples"] and ptp["clock"] == "001b19.fffe.000001-1", ptp
		assert 0 < ptp["delay_us"]["min"] and ptp["delay_us"]["max"] < 1e8, ptp
		if sys.argv[2] == "e2e":
		    assert abs(ptp["offset_us"]["p50"]) < 1e8 and ptp["out_us"]["min"] > 0 and ptp["back_us"]["min"] > 0, ptp
		else:
		    assert ptp["offset_us"] is None and ptp["out_us"] is None and ptp["back_us"] is None, ptp
	END
}
# captured MECHANISM TRANSPORT: the capture's round trips equal those of an independent reader.
captured() {
	run "$nomora" rtt "$scratch/$1-$2.pcap" --protocols ptp --json
	printf '%s' "$out" >"$scratch/rtt.json"
	python3 "$(dirname "$0")/ptp_capture.py" "$scratch/$1-$2.pcap" >"$scratch/round_trips"
	python3 - "$scratch/rtt.json" "$scratch/round_trips" "$2" <<-'END'
		import json, sys
		rtt, expected = json.load(open(sys.argv[1])), [float(line) for line in open(sys.argv[2])]
		pair, rtts = rtt["pairs"][0], rtt["pairs"][0]["rtt_us"]
		assert len(rtt["pairs"]) == 1 and pair["protocol"] == "ptp" and pair["samples"] == len(expected) >= 5, (rtt, expected)
		assert rtt["packets"]["broken"] == 0 and rtt["packets"]["paired"] == pair["samples"], rtt
		for name, value in (("min", expected[0]), ("max", expected[-1]), ("mean", sum(expected) / len(expected))):
		    assert abs(rtts[name] - value) < 0.002, (name, rtts, expected)
		names = {"l2": ("-20045", "-1"), "udp4": ("10.9.0.1", "10.9.0.2"), "udp6": ("", "")}[sys.argv[3]]
		assert pair["src"].endswith(names[0]) and pair["dst"].endswith(names[1]), pair
	END
}
for mode in "P peer-delay" "E e2e"; do
	for transport in "2 l2" "4 udp4" "6 udp6"; do
		ip netns exec "$b" "$ptp4l" -i e0 "-${transport% *}" "-${mode% *}" -f "$scratch/ptp4l.cfg" -m -q >"$scratch/ptp4l.log" 2>&1 &
		master=$!
		if [ "$tcpdump" ]; then
			ip netns exec "$a" "$tcpdump" -i e0 -U --immediate-mode -w "$scratch/${mode#* }-${transport#* }.pcap" \
				'ether proto 0x88f7 or udp port 319 or udp port 320' 2>"$scratch/tcpdump.log" &
			dump=$!
			wait_for 20 grep -q 'listening on' "$scratch/tcpdump.log"
		fi
		if wait_for 60 measure "--${mode#* }" "--${transport#* }"; then
			check "${mode#* } over ${transport#* }" good
		else
			fail "${mode#* } over ${transport#* }" "$(cat "$scratch/ptp.json")" "$(tail -n 5 "$scratch/ptp4l.log")"
		fi
		if [ "$tcpdump" ]; then
			kill "$dump"
			wait "$dump" 2>/dev/null
			check "its capture: ${mode#* } over ${transport#* }" captured "${mode#* }" "${transport#* }"
		fi
		if [ "$transport" = "2 l2" ] && [ -x "$bin/nomora-probe" ]; then
			wait_for 60 measure_port "--${mode#* }" && good >"$scratch/out" 2>&1 &&
				grep -q 'driver net_af_.* has no PTP clock: stamps by software alone' "$scratch/port.err" &&
				pass "${mode#* } through a DPDK port" ||
				fail "${mode#* } through a DPDK port" "$(cat "$scratch/ptp.json" "$scratch/out" "$scratch/port.err")"
		fi
		kill -KILL "$master"
		wait "$master" 2>/dev/null
	done
done

# A one-step clock, and another one that answers first and is 1,000 s off.
ip netns exec "$b" python3 "$(dirname "$0")/ptp_one_step.py" e0 >"$scratch/one_step.log" 2>&1 &
master=$!
for mode in peer-delay e2e; do
	if wait_for 60 measure "--$mode" --l2; then
		check "$mode of a one-step clock" one_step "$mode"
	else
		fail "$mode of a one-step clock" "$(cat "$scratch/ptp.json")" "$(cat "$scratch/one_step.log")"
	fi
done
# The kernel enables receive stamps slightly after the first socket requests them: an answer may arrive before that,
# and in ten runs one does.
answered=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	run ip netns exec "$a" "$nomora" ptp e0 --peer-delay --l2 --count 1
	[ "$code" -eq 0 ] && answered=$((answered + 1))
done
[ "$answered" -eq 10 ] && pass "one request is enough" || fail "one request is enough" "$answered of 10 answered" "$out$err"
run ip netns exec "$a" "$nomora" ptp e0 --peer-delay --l2 --timeout-ms 2000 --interval-ms 10 --count 10
[[ $code -eq 0 && $out == *', one-step'* && $out == *'our clock - theirs'*-*-*-*- ]] &&
	pass "the text says what is not known" || fail "the text says what is not known" "exit $code" "$out$err"
kill -KILL "$master"
wait "$master" 2>/dev/null

run ip netns exec "$a" "$nomora" ptp e0 --count 1 --timeout-ms 10
[ "$code" -eq 3 ] && pass "nobody answers: exit 3" || fail "nobody answers: exit 3" "exit $code" "$out$err"
refuses "two transports" 2 'mutually exclusive' "$nomora" ptp e0 --l2 --udp4
refuses "UDP through a DPDK port" 2 '--dpdk sends over Ethernet' "$nomora" ptp e0 --dpdk --udp4
refuses "EAL's words without EAL" 2 'need --dpdk' "$nomora" ptp e0 -- -l 0
refuses "two mechanisms" 2 'mutually exclusive' "$nomora" ptp e0 --peer-delay --e2e
refuses "an interface that is not there" 1 "there is no interface 'e9'" ip netns exec "$a" "$nomora" ptp e9
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora ptp against linuxptp's ptp4l: both mechanisms over Ethernet, IPv4 and IPv6.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
ptp4l=$(command -v ptp4l || echo /usr/sbin/ptp4l)
[ -x "$ptp4l" ] || skip_all "no ptp4l (Debian: linuxptp)"
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
good() {
	python3 - "$scratch/ptp.json" <<-'END'
		import json, sys
		ptp = json.load(open(sys.argv[1]))
		assert ptp["schema"] == "nomora.ptp/1" and ptp["samples"] + ptp["unanswered"] == ptp["requests"] == 5, ptp
		assert ptp["clock"].endswith("-1"), ptp
		# Both ends are of one machine and one clock: each way takes time, and no second.
		assert 0 < ptp["delay_us"]["min"] < 1e6 and abs(ptp["offset_us"]["p50"]) < 1e6, ptp
		assert ptp["out_us"]["min"] > 0 and ptp["back_us"]["min"] > 0, ptp
	END
}
for mode in "P peer-delay" "E e2e"; do
	for transport in "2 l2" "4 udp4" "6 udp6"; do
		ip netns exec "$b" "$ptp4l" -i e0 "-${transport% *}" "-${mode% *}" -f "$scratch/ptp4l.cfg" -m -q >"$scratch/ptp4l.log" 2>&1 &
		master=$!
		if wait_for 60 measure "--${mode#* }" "--${transport#* }"; then
			check "${mode#* } over ${transport#* }" good
		else
			fail "${mode#* } over ${transport#* }" "$(cat "$scratch/ptp.json")" "$(tail -n 5 "$scratch/ptp4l.log")"
		fi
		kill -KILL "$master"
		wait "$master" 2>/dev/null
	done
done

run ip netns exec "$a" "$nomora" ptp e0 --count 1 --timeout-ms 10
[ "$code" -eq 3 ] && pass "nobody answers: exit 3" || fail "nobody answers: exit 3" "exit $code" "$out$err"
refuses "two transports" 2 'mutually exclusive' "$nomora" ptp e0 --l2 --udp4
refuses "two mechanisms" 2 'mutually exclusive' "$nomora" ptp e0 --peer-delay --e2e
refuses "an interface that is not there" 1 "there is no interface 'e9'" ip netns exec "$a" "$nomora" ptp e9
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The prober's counts on a path that loses, duplicates and reorders packets, compared with captures at both ends: the
# injector between the racks impairs the traffic, tcpdump captures what h1 and h2 send and receive, and every count must
# be exact.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
{ [ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ]; } || skip_all "built without DPDK"
for program in jq tcpdump; do command -v $program >/dev/null || skip_all "$program is not installed"; done
lab=n$(($$ % 100000))
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --hosts 2 --racks 2 --inject core --peers "$scratch/peers" >"$scratch/lab.log" 2>&1 ||
	skip_all "no virtual rack: $(tail -1 "$scratch/lab.log")"
address_of() { awk -v name="$1" '$1 == name { print $2 }' "$scratch/peers"; }
ip netns exec "$lab-h2" "$nomora" reflect eth0 --address "$(address_of h2)" --quiet &
at_exit kill $!

# start_capture HOST: captures at the switch's end of the host's link; its process id is in $capture. In immediate mode
# a slot of the kernel's ring has the size of the snap length: with 256 bytes, the ring holds ten times the packets of a
# measurement.
start_capture() {
	: >"$scratch/$1.log" # clear the previous output
	ip netns exec "$lab-sw" tcpdump -i "$1" -s 256 -B 16384 --immediate-mode -U -w "$scratch/$1.pcap" --time-stamp-precision=nano udp port 862 \
		2>"$scratch/$1.log" &
	capture=$!
	at_exit kill "$capture"
	wait_for 10 grep -q listening "$scratch/$1.log"
}

# measure INJECTOR_OPTION...: 2000 probes from h1 to h2 through an injector with these options, captured at both ends.
measure() {
	local injector captures=()
	ip netns exec "$lab-inj" "$nomora" inject core-a core-b --delay-us 200 --control "$scratch/inj.sock" "$@" \
		>/dev/null 2>"$scratch/inject.log" &
	injector=$!
	at_exit kill "$injector"
	wait_for 20 "$nomora" inject-ctl "$scratch/inj.sock" stats || { fail "the injector runs" "$(cat "$scratch/inject.log")"; return 1; }
	for host in h1 h2; do
		start_capture $host
		captures+=("$capture")
	done
	# No greeting (--wait 0), so that all captured packets are measured; the MAC addresses are in the peers file.
	ip netns exec "$lab-h1" "$nomora" probe eth0 --address "$(address_of h1)" --peers "$scratch/peers" --wait 0 \
		--count 2000 --interval-us 1000 --duration 0 --timeout-ms 500 --json >"$scratch/probe.json" 2>"$scratch/probe.err"
	kill -INT "${captures[@]}"
	wait "${captures[@]}" 2>/dev/null
	kill "$injector"
	wait "$injector" 2>/dev/null
	for host in h1 h2; do
		"$nomora" rtt "$scratch/$host.pcap" --json --samples "$scratch/$host.samples" >"$scratch/$host.json" 2>/dev/null
	done
	# In the order in which h1 received them: answers that come after one with a higher number.
	late=$(awk -F, 'NR > 1 { if ($5 < highest) late++; else highest = $5 } END { print late + 0 }' "$scratch/h1.samples")
	dropped=$(sed -n 's/^\([0-9]*\) packets\{0,1\} dropped by kernel.*/\1/p' "$scratch"/h[12].log | paste -sd+ | sed 's/^$/0/')
}

# An answer after the timeout counts as lost and as late: on a busy machine the injector may hold a packet that long.
# holds NAME FILTER: FILTER over $p (the prober's peer), $near and $far (the captures' packets), $late.
holds() {
	if [ "$((dropped))" -ne 0 ]; then fail "$1" "tcpdump itself lost $((dropped)) packets"; return; fi
	if jq -n -e --argjson late "$late" --slurpfile probe "$scratch/probe.json" --slurpfile h1 "$scratch/h1.json" \
		--slurpfile h2 "$scratch/h2.json" '$probe[0].peers[0] as $p | $h1[0].packets as $near | $h2[0].packets as $far |
		'"$2" >/dev/null; then
		pass "$1"
	else
		fail "$1" "$(jq -c '.peers[0] | del(.rtt_us, .residence_us, .paths)' "$scratch/probe.json")" \
			"h1: $(jq -c .packets "$scratch/h1.json")" "h2: $(jq -c .packets "$scratch/h2.json")" "late: $late"
	fi
}

if measure --loss 5 --jitter uniform:3000 --reorder; then
	holds "all were sent, and the path lost and mixed up enough" '$p.sent == 2000 and $near.requests == 2000 and
		$p.lost > 100 and $late > 100'
	holds "loss: received and lost are the capture's" '$p.received + $p.late == $near.paired and
		$p.lost - $p.late == $near.unanswered and $p.duplicates == 0'
	# The reflector cannot count losses after the newest answer: for this many probes, no more than a few
	holds "loss on the way there is what did not reach the reflector" '($near.requests - $far.requests - $p.lost_forward) |
		. >= 0 and . <= 3'
	holds "reordering is that of the capture" '$p.reordered == $late'
fi
if measure --duplicate 10 --jitter uniform:3000 --reorder; then
	holds "doubling: nothing is lost" '$p.sent == 2000 and $p.received + $p.late == 2000 and $p.lost == $p.late and
		$p.lost_forward == 0'
	holds "doubles are those of the capture" '$p.duplicates == $near.repeated and $p.duplicates > 200'
	holds "the reflector answered each copy" '$far.repeated > 100'
	holds "reordering is told from doubling" '$p.reordered == $late and $late > 100'
fi
if measure --loss 5 --duplicate 10; then
	holds "both at once add up" '$p.received + $p.late == $near.paired and $p.lost - $p.late == $near.unanswered and
		$p.duplicates == $near.repeated and $p.reordered == 0'
	holds "and loss on the way there is not overstated" '$p.lost_forward <= $near.requests - $far.requests and
		$p.lost_forward > ($near.requests - $far.requests) * 0.8'
fi
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh agent on a virtual rack: windows reach the live matrix while the agents run; a killed host is unreachable
# within three windows, and so is one that never answered ARP; place assigns no task to either; a peer that is removed
# from the file is no longer probed.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
refuses "no live matrix" 2 '--live is missing' "$nomora" mesh agent eth0 --address 10.0.0.1 --peers none
refuses "no peers" 2 '--peers is missing' "$nomora" mesh agent eth0 --address 10.0.0.1 --live none
[ "$(id -u)" -eq 0 ] || { skip "the rest" "needs root"; plan; exit 0; }
command -v jq >/dev/null || { skip "the rest" "jq is not installed"; plan; exit 0; }

lab=w$(($$ % 100000))
live=$scratch/live
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --hosts 3 --racks 1 --peers "$scratch/peers" --cluster "$scratch/cluster.json" >"$scratch/lab.log" 2>&1 ||
	{ skip "the rest" "no virtual rack: $(tail -1 "$scratch/lab.log")"; plan; exit 0; }
h3=$(awk '$1 == "h3" { print $2 }' "$scratch/peers")
echo "mute ${h3%.*}.250" >>"$scratch/peers" # no host has that address: no answer to ARP
printf 'no live matrix\n' >"$scratch/other"
refuses "a file that is no live matrix" 1 'other: ' ip netns exec "$lab-h1" "$nomora" mesh agent eth0 \
	--address "$(awk '$1 == "h1" { print $2 }' "$scratch/peers")" --peers "$scratch/peers" --live "$scratch/other"
declare -A process
for host in h1 h2 h3; do
	ip netns exec "$lab-$host" "$nomora" mesh agent eth0 --address "$(awk -v h=$host '$1 == h { print $2 }' "$scratch/peers")" \
		--peers "$scratch/peers" --live "$live" --window 1 --interval-us 10000 --timeout-ms 200 2>"$scratch/$host.err" &
	process[$host]=$!
	at_exit kill -9 "${process[$host]}"
done
# state STATE N: N pairs are in this state.
state() { [ "$("$nomora" mesh top "$live" --json --max-age 0 2>/dev/null | jq --arg s "$1" '.states[$s]')" = "$2" ]; }
wait_for 20 state measured 6 && pass "every pair is measured while the agents run" ||
	fail "every pair is measured while the agents run" "$("$nomora" mesh show "$live" 2>&1)" "$(cat "$scratch"/h?.err)"
wait_for 6 state unreachable 3 && state never 0 && pass "a peer that answers no ARP is unreachable" ||
	fail "a peer that answers no ARP is unreachable" "$("$nomora" mesh show "$live" 2>&1)"
# h3's agent is stopped for 120 ms of every 300: its host stalls, the network is good.
while :; do kill -STOP "${process[h3]}"; sleep 0.12; kill -CONT "${process[h3]}"; sleep 0.18; done &
stopper=$!
at_exit kill "$stopper"
finding() { "$nomora" mesh top "$live" --once | grep -q "$1"; }
wait_for 20 finding '^Host h3 in rack rack1 stalls: it holds [1-9][0-9]* % of the probes for over 10 ms, up to 1[0-9][0-9] ms; this is not the network$' &&
	pass "top says that h3 stalls, and that it is not the network" ||
	fail "top says that h3 stalls, and that it is not the network" "$("$nomora" mesh top "$live" --once)"
sleep 2 # the windows in which the stops began are over
good() { "$nomora" mesh export "$live" --json | jq -e '[.pairs[] | select(.dst == "h3" and .rtt_p99_us < 20000)] | length == 2'; }
check "the stops are in no round trip to h3" wait_for 6 good
"$nomora" mesh top "$live" --once | grep -q "^Bad host h3" && fail "and no pair of h3 is bad" "$("$nomora" mesh top "$live" --once)" || pass "and no pair of h3 is bad"
kill "$stopper" && wait "$stopper" 2>/dev/null
kill -CONT "${process[h3]}"
python3 - "$scratch/cluster.json" >"$scratch/two.json" <<-'END'
	import json, sys
	cluster = json.load(open(sys.argv[1]))
	h1 = dict(next(m for m in cluster["machines"] if m["name"] == "h1"), slots=2)
	cluster["machines"] = [h1, dict(h1, name="mute")]
	print(json.dumps(cluster))
END
echo '{"id": "p", "curve": "memcached", "root": 0, "tasks": [{"name": "r", "machine": "h1"}, {"name": "a", "machine": "h1"}, "b"]}' >"$scratch/job.jsonl"
run "$nomora" place --cluster "$scratch/two.json" --jobs "$scratch/job.jsonl" --latency "$live" --curves "$source_root/curves" --json
says "$out" "no machine with a free slot is reachable from the root's" && ! says "$out" '"machine": *"mute"' &&
	pass "place puts no task there, and says why" || fail "place puts no task there, and says why" "$out" "$err"
kill -9 "${process[h3]}"
wait "${process[h3]}" 2>/dev/null
wait_for 6 state unreachable 5 && pass "a killed host is unreachable within a few windows" ||
	fail "a killed host is unreachable within a few windows" "$("$nomora" mesh top "$live" --once 2>&1)"
"$nomora" mesh top "$live" --once | grep -q '^lost: h3' && pass "top names it" || fail "top names it" "$("$nomora" mesh top "$live" --once)"
grep -v '^h3 ' "$scratch/peers" >"$scratch/peers.new" && mv "$scratch/peers.new" "$scratch/peers"
for host in h1 h2; do
	kill "${process[$host]}"
	code=0
	wait "${process[$host]}" || code=$?
	[ "$code" -eq 0 ] && pass "SIGTERM ends $host cleanly" || fail "SIGTERM ends $host cleanly" "exit $code" "$(cat "$scratch/$host.err")"
done
# An agent ends when its interface is removed, so that systemd restarts it when there is another one.
rm -f "$scratch/h3.err" # it says of the first agent that it measures
ip netns exec "$lab-h3" "$nomora" mesh agent eth0 --address "$h3" --name h3 --peers "$scratch/peers" --live "$live" \
	--window 1 2>"$scratch/h3.err" &
agent=$!
at_exit kill -9 "$agent"
wait_for 20 grep -q 'measures the peers' "$scratch/h3.err" || :
ip -n "$lab-h3" link del eth0
wait "$agent"
[ $? -eq 1 ] && grep -q 'the interface was removed' "$scratch/h3.err" && pass "an agent whose interface is removed says so and ends" ||
	fail "an agent whose interface is removed says so and ends" "$(cat "$scratch/h3.err")"
check "the matrix outlives its writers" "$nomora" mesh show "$live"
plan

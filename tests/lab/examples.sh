#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs those examples of the man pages that need a rack: unchanged, except for names, durations and the two ports, which
# are those of the rack. tests/cli/examples.sh runs the others.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
for tool in memcached tcpdump jq; do command -v "$tool" >/dev/null || skip_all "needs $tool"; done
lab=x$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
prepare_examples
names=(-e "s/lab0/$lab/g" -e "s/nomora lab \(up\|down\|exec\|inventory\|link\)/& --name $lab/")
ports=(-e "s/\(ip netns exec tor \)\?nomora inject va vb/ip netns exec $lab-inj nomora inject h1-a h1-b/" -e "s|/run/inj.sock|inj.sock|"
	-e "s|/var/lib/[a-z/-]*/||" -e '/0000:03:00/d' -e 's/--duration 10/--duration 1.5/')
cd "$scratch/work" || exit 1

printf '#!/bin/sh\nip netns exec %s-h1 ping -q -c 2 -i 0.1 10.77.1.2 >measured\n' "$lab" >measure.sh
chmod 755 measure.sh
run_examples nomora-lab "${names[@]}"
check "the lab was made, changed and written" grep -q '^2 packets transmitted, 2 received' measured
check "and is gone" sh -c "! ip netns list | grep '^$lab-'"

"$nomora" lab up --name "$lab" --hosts 2 --racks 1 --inject h1 --delay-us -1 >/dev/null
run_examples nomora-load "${names[@]}" -e 's/&$/\& trap "kill $!" EXIT; sleep 0.3/' -e 's/--duration 5/--duration 0.3/' \
	-e 's/--mode open/& --duration 0.3/' -e "s/^nomora\|^memcached/ip netns exec $lab-h2 &/"
examples nomora-inject | sed "${ports[@]}" -e '/inject-ctl/d' >injector.sh
PATH=$scratch/path:$PATH bash injector.sh >lines.json 2>/dev/null &
wait_for 10 "$nomora" inject-ctl inj.sock stats || fail "the injector runs" "$(cat lines.json)"
run_examples nomora-inject "${ports[@]}" -e '/nomora inject /d'
documented lab "$nomora" lab status --name "$lab" --json
documented inject "$nomora" inject-ctl inj.sock stats
documented load ip netns exec "$lab-h2" sh -c "memcached -u nobody -l 127.0.0.1 & sleep 0.3; '$nomora' load 127.0.0.1 --duration 0.1 --warm-up 0 --mode open --json; kill \$!"
check "its delay was set" sh -c "'$nomora' inject-ctl inj.sock stats | jq -e '.delay_ab_us == 50 and .delay_ba_us == 50'"
# The injector here has no rule; tests/cli/inject.sh changes one.
run_examples nomora-inject-ctl "${ports[@]}" -e '/set rule=/d'
check "each way apart" sh -c "'$nomora' inject-ctl inj.sock stats | jq -e '.delay_ab_us == 20 and .delay_ba_us == 35.5'"
check "metrics for Prometheus" grep -q '^nomora_inject' nomora.prom
"$nomora" inject-ctl inj.sock stop >/dev/null
wait
check "a line of JSON a second" sh -c "head -1 lines.json | jq -e '.schema == \"nomora.inject/1\"'"
# Without ARP: it asks once a second, and the run lasts 1.5 s.
knows() { ip -n "$lab-$1" neigh replace "$2" lladdr "$(ip -n "$lab-$3" -j link show eth0 | jq -r '.[0].address')" dev eth0; }
knows h2 10.77.1.1 h1
knows h1 10.77.1.2 h2
ip netns exec "$lab-h2" ping -q -i 0.02 -w 120 10.77.1.1 >/dev/null &
pinger=$!
run_examples nomora-inject-check "${ports[@]}"
kill "$pinger"; wait "$pinger" 2>/dev/null
documented inject-check "$nomora" inject-check run.pcapng --expect-us 50 --json
check "the capture has packets" sh -c "'$nomora' inject-check run.pcapng --json | jq -e '.ab.matched > 5'"
"$nomora" lab down --name "$lab"

run_examples nomora-probe "${names[@]}" -e 's/--hosts 8/--hosts 4/' -e '/lab up/!d'
run_examples nomora-reflect "${names[@]}" -e 's/nomora reflect/timeout -s INT 0.5 &/'
examples nomora-rtt | sed "${names[@]}" -e '/^nomora/d' -e 's/^ip/exec ip/' >capture.sh
bash capture.sh 2>listening &
capture=$!
wait_for 10 grep -q 'listening on' listening || fail "tcpdump listens" "$(cat listening)"
run_examples nomora-probe "${names[@]}" -e '/lab up/d' -e 's/--reflect/& --duration 0.5 --samples $name.samples/'
check "the mesh has all pairs" test "$(grep -vc "^#" latency.csv)" -eq 13
kill "$capture"
wait "$capture"
run_examples nomora-rtt "${names[@]}" -e '/tcpdump/d'
documented rtt "$nomora" rtt h1.pcap --json
documented probe "$nomora" lab exec h1 --name "$lab" -- "$nomora" probe eth0 --address 10.77.1.101 --peers peers.txt --wait 0 --duration 0.1 --json
check "the capture has the probes of h1" sh -c "'$nomora' rtt h1.pcap --peers peers.txt | grep -qE '^h1 +h2 +stamp +[0-9]+ '"
"$nomora" lab down --name "$lab"

examples nomora-sweep | sed "${names[@]}" -e '/^nomora /d' -e 's/--duration 1/--duration 0.3 --warm-up 0.1/' >memcached.plan
# A busy machine disturbs a run (exit code 3): its curve is fitted all the same.
run_examples nomora-sweep -e '/ = /d' -e 's/ && nomora fit/; nomora fit/' -e 's/nomora sweep/& --delays "0 100 300" --repetitions 1 --attempts 1/'
documented sweep "$nomora" sweep memcached.plan -o sweep.csv --delays "0 100 300" --repetitions 1 --json
check "the sweep has a row for each delay" test "$(grep -c ',queries_per_second,' sweep.csv)" -eq 3
check "and was fitted" jq -e '.schema == "nomora.curve/1"' memcached.json
check "nothing is left" sh -c "! ip netns list | grep '^$lab-'"
plan

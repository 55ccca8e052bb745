#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora inject, inject-ctl, inject-check: refusals, control socket, signals, nothing left behind.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
inject=("$nomora" inject)
control=$scratch/control.sock
injector_pid=

# True when the injector answers or has died, as there is nothing to wait for then.
ready() { "$nomora" inject-ctl "$control" stats || ! kill -0 "$injector_pid"; }

# Starts the injector in the background and waits for its control socket. No timing is tested here, so it runs niced.
start() { # start ARGUMENT...
	env --default-signal=HUP "${inject[@]}" "$@" --nice 19 --control "$control" \
		>"$scratch/stream" 2>"$scratch/log" </dev/null &
	injector_pid=$!
	wait_for 30 ready && kill -0 "$injector_pid" 2>/dev/null
}
stop_now() { [ -z "$injector_pid" ] || kill -KILL "$injector_pid" 2>/dev/null; }
at_exit stop_now

value() { "$nomora" inject-ctl "$control" stats --json | python3 -c "import json,sys; print(json.load(sys.stdin)['$1'])"; }

refuses "one port" 2 "missing operand" "${inject[@]}" net_null0
refuses "the same port twice" 2 "expected two ports" "${inject[@]}" net_null0 net_null0
refuses "delay -1" 2 "found '-1', expected a number from 0 to 10000" "${inject[@]}" net_null0 net_null1 --delay-us -1
refuses "delay 1e9" 2 "found '1e9', expected a number from 0 to 10000" "${inject[@]}" net_null0 net_null1 --delay-us 1e9
refuses "a delay between steps" 2 "0.05 us: expected steps of 0.1" \
	"${inject[@]}" net_null0 net_null1 --delay-us 0.05
refuses "an interface that is not there" 1 "no network interface 'nosuchif0'" "${inject[@]}" nosuchif0 net_null1
refuses "a PCI device that is not there" 1 "no PCI device 0000:fe:1f.7" "${inject[@]}" 0000:fe:1f.7 net_null1
refuses "a virtual device that no driver makes" 1 "net_nosuch0: DPDK cannot create" "${inject[@]}" net_nosuch0 net_null1
refuses "overlapping delays" 2 "--jitter and --replay overlap" \
	"${inject[@]}" net_null0 net_null1 --jitter uniform:5 --replay /dev/null
refuses "overlapping losses" 2 "--loss and --gilbert overlap" "${inject[@]}" net_null0 net_null1 --loss 1 --gilbert 1,2
refuses "a fixed delay beside a schedule" 2 "fixed delay and --steps are mutually exclusive" "${inject[@]}" net_null0 net_null1 --steps 0:5 --delay-us 5
refuses "a path that is both given and measured" 2 "mutually exclusive" \
	"${inject[@]}" net_null0 net_null1 --calibrate --subtract-ns 30
refuses "a delay beyond the ring's reach says which ring would do" 2 "--slots 32768 would do" \
	"${inject[@]}" net_null0 net_null1 --delay-us 500 --expect-pps 4e7
refuses "a schedule beyond the ring's reach" 2 "10000 us at .* --slots 262144 would do" \
	"${inject[@]}" net_null0 net_null1 --steps 0:10,5:10000 --expect-pps 14.88e6
refuses "a jitter beyond the ring's reach" 2 "100[01][0-9.]* us at .* --slots 262144 would do" \
	"${inject[@]}" net_null0 net_null1 --delay-us 10 --jitter uniform:10000 --expect-pps 14.88e6
refuses "copies beyond the ring's reach" 2 "1000 us at 2e\+06 packets/s, copies included, holds 2000 packets.* --slots 4096 would do" \
	"${inject[@]}" net_null0 net_null1 --delay-us 1000 --expect-pps 1e6 --slots 1024 --duplicate 100 --duration 0.1
refuses "a delay beyond any ring's reach" 2 "under the 4194304 slots" \
	"${inject[@]}" net_null0 net_null1 --delay-us 10000 --expect-pps 1e9
refuses "packets that even as the smallest ones are too many for a rate" 2 "2e\+06 packets/s would overflow any ring: --rate lets through only 1488095/s, even" \
	"${inject[@]}" net_null0 net_null1 --delay-us 10 --rate 1000 --expect-pps 2e6 --duration 0.1
refuses "or are so with their copies" 2 "2e\+06 packets/s, copies included, would overflow any ring: --rate lets through only 1488095/s, even" \
	"${inject[@]}" net_null0 net_null1 --delay-us 10 --rate 1000 --duplicate 100 --expect-pps 1e6 --duration 0.1
check "but not as many as just fit" "${inject[@]}" net_null0 net_null1 --delay-us 10 --rate 1000 --expect-pps 1.488e6 --duration 0.1
check "nor where others pass by" "${inject[@]}" net_null0 net_null1 --delay-us 10 --rate 1000 --expect-pps 2e6 --only tcp:11211 --duration 0.1
refuses "a rate of packets that overtake" 2 "--reorder and --rate overlap" \
	"${inject[@]}" net_null0 net_null1 --jitter uniform:5 --reorder --rate 10
refuses "a CPU that is not there" 2 "no CPU 4000|is no CPU|expected numbers" "${inject[@]}" net_null0 net_null1 --cpus 1000
refuses "an EAL argument that is unknown" 2 "DPDK does not start" "${inject[@]}" net_null0 net_null1 -- --no-such-option
refuses "a control path below a file" 1 "control socket" "${inject[@]}" net_null0 net_null1 --control "$0/where"
refuses "a capture in no folder" 1 "cannot create the capture" "${inject[@]}" net_null0 net_null1 --capture "$scratch/no/where"
refuses "a replay file that is no series" 1 "series:2: .*not a number" \
	"${inject[@]}" net_null0 net_null1 --replay <(:) --replay "$(printf '1\ntwo\n' >"$scratch/series"; echo "$scratch/series")"
refuses "a replay file with a delay out of range" 1 "value 2, 20000 us, is out of range" \
	"${inject[@]}" net_null0 net_null1 --replay "$(printf '1\n20000\n' >"$scratch/range"; echo "$scratch/range")"
refuses "a table of netem that is none" 1 "table:2: .*\"x\": expected an integer" \
	"${inject[@]}" net_null0 net_null1 --jitter "netem:5,$(printf '1 2\n3 x\n' >"$scratch/table"; echo "$scratch/table")"
refuses "samples out of range" 1 "value 1, 20000 us, is out of range" \
	"${inject[@]}" net_null0 net_null1 --jitter "samples:$(printf '20000\n' >"$scratch/samples"; echo "$scratch/samples")"
refuses "waves that are shorter than the order permits" 2 "could not stay in order: expected at least 300" \
	"${inject[@]}" net_null0 net_null1 --jitter uniform:50 --jitter-wave-us 100
refuses "a rule without settings" 2 '"udp:53": expected a condition and settings' \
	"${inject[@]}" net_null0 net_null1 --rule udp:53
refuses "a rule with a setting that is not there" 2 '"colour": expected delay=US or MODE=VALUE' \
	"${inject[@]}" net_null0 net_null1 --rule 'udp:53 delay=1 colour=red'
refuses "a rule's delay beyond the ring's reach" 2 "5000 us at .* --slots 131072 would do" \
	"${inject[@]}" net_null0 net_null1 --rule 'udp:53 delay=5000' --expect-pps 14.88e6
refuses "a corruption of more than all packets" 2 "\"101\" is not a percentage" \
	"${inject[@]}" net_null0 net_null1 --corrupt 101
refuses "a file of steps that is none" 1 "steps:2: found 1 field," \
	"${inject[@]}" net_null0 net_null1 --steps "$(printf '0:1\n5\n' >"$scratch/steps"; echo "$scratch/steps")"
refuses "a file of steps in no order" 1 "expected increasing seconds" \
	"${inject[@]}" net_null0 net_null1 --steps "$(printf '0:1\n0:2\n' >"$scratch/order"; echo "$scratch/order")"
refuses "a word that is no step" 2 '^nomora.*: --steps: "5": found 1 field, expected two numbers' \
	"${inject[@]}" net_null0 net_null1 --steps 0:1,5
for path in nofile.txt no/such:file; do
	refuses "a file of steps that is not there: $path" 2 \
		"--steps: neither a file nor a schedule such as 0:10,5:20: \"$path\": " \
		"${inject[@]}" net_null0 net_null1 --steps "$path"
done
# As an injector of the version before answers: a line, not HTTP.
python3 - "$scratch/older" <<-'END' &
	import socket, sys
	server = socket.socket(socket.AF_UNIX)
	server.bind(sys.argv[1])
	server.listen()
	caller, _ = server.accept()
	caller.recv(4096)
	caller.sendall(b'{"error": "unknown command"}\n')
END
wait_for 10 test -S "$scratch/older"
refuses "inject-ctl of an injector of another version" 1 "another version of nomora" "$nomora" inject-ctl "$scratch/older" stats
refuses "inject-ctl where nobody listens" 1 "nothing answers" "$nomora" inject-ctl "$scratch/nobody" stats
refuses "inject-check of a text" 1 "not a pcapng file" "$nomora" inject-check "$0"
refuses "inject-check of nothing" 1 "No such file" "$nomora" inject-check "$scratch/nothing"
refuses "inject-check with a limit and no delay" 2 "give --expect-us" "$nomora" inject-check "$0" --limit-us 5
printf '\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0' >"$scratch/header.pcapng"
refuses "inject-check of no frame with a limit" 3 "no frame that arrived and left" "$nomora" inject-check "$scratch/header.pcapng" --expect-us 5 --limit-us 5
check "and its JSON says so" sh -c "'$nomora' inject-check '$scratch/header.pcapng' --expect-us 5 --limit-us 5 --json | jq -e '.over_limit and .frames == 0'"
run "$nomora" inject-check "$scratch/header.pcapng"
[ "$code" -eq 0 ] && pass "without a limit it is just empty" || fail "without a limit it is just empty" "$err"

if start net_null0 net_null1 --delay-us 10 --json; then
	pass "starts without hugepages and answers"
else
	fail "starts without hugepages and answers" "$(cat "$scratch/log")"
fi
refuses "a control path that is taken" 1 "control" "${inject[@]}" net_null0 net_null1 --control "$control"
check "set changes both directions" "$nomora" inject-ctl "$control" set delay_us=20.5
[ "$(value delay_ab_us) $(value delay_ba_us)" = "20.5 20.5" ] && pass "the new delay is told" || fail "the new delay is told"
"$nomora" inject-ctl "$control" set delay_ab_us=1 delay_ba_us=2 >/dev/null
[ "$(value delay_ab_us) $(value delay_ba_us)" = "1.0 2.0" ] && pass "one by one" || fail "one by one"
refuses "set out of range" 2 "out of range" "$nomora" inject-ctl "$control" set delay_us=10001
refuses "set of a direction twice" 2 'delay_us=6.*is given twice' "$nomora" inject-ctl "$control" set delay_us=5 delay_us=6
refuses "set of one and of both" 2 'delay_us.*direction ba is given twice' "$nomora" inject-ctl "$control" set delay_ba_us=5 delay_us=6
[ "$(value delay_ab_us) $(value delay_ba_us)" = "1.0 2.0" ] && pass "and neither changes anything" || fail "and neither changes anything"
refuses "set between steps" 2 "expected steps of 0.1" "$nomora" inject-ctl "$control" set delay_us=1e-5
refuses "set of nothing" 2 "set: expected delay_us=" "$nomora" inject-ctl "$control" set
refuses "set of an unknown name" 2 "expected delay_us=" "$nomora" inject-ctl "$control" set dealy_us=1
refuses "an unknown command" 2 "unknown command" "$nomora" inject-ctl "$control" frobnicate
refuses "stats takes no argument" 2 "stats: found 'now'" "$nomora" inject-ctl "$control" stats now
run "$nomora" inject-ctl "$control" metrics
says "$out" '^nomora_injector_sent_packets_total\{direction="ab"\} [0-9]' &&
	pass "metrics are Prometheus text" || fail "metrics are Prometheus text" "$out"
if command -v promtool >/dev/null; then
	check "promtool likes them" promtool check metrics <"$scratch/out"
else
	skip "promtool likes them" "promtool is not installed"
fi
# The fields of each answer are in its row of docs/formats.md.
for command in stats "set delay_us=3" metrics reset; do
	"$nomora" inject-ctl "$control" $command --json >"$scratch/answer"
	check "the answer to ${command%% *} is documented" python3 -c 'import json, re, sys
row = next(line for line in open(sys.argv[2]) if line.startswith("| `nomora.inject/1`"))
unknown = set(json.load(open(sys.argv[1]))) - {"schema"} - set(re.findall(r"`([a-z0-9_]+)(?:\[\])?`", row))
print(*unknown)
sys.exit(bool(unknown))' "$scratch/answer" "$source_root/docs/formats.md"
done
wait_for 10 grep -q '"schema":"nomora.inject/1"' "$scratch/stream" && pass "one line of JSON a second" ||
	fail "one line of JSON a second" "$(head -c 300 "$scratch/stream")"
for number in INT TERM HUP; do
	[ "$number" = INT ] || start net_null0 net_null1 --lcores 2
	wanted=$([ "$number" = INT ] && echo 1 || echo 2)
	[ "$(value lcores)" = "$wanted" ] && pass "tells how many CPUs it keeps busy: $wanted" || fail "tells how many CPUs it keeps busy: $wanted"
	if [ "$number" = INT ]; then # a background job ignores SIGINT: use the socket
		"$nomora" inject-ctl "$control" stop >/dev/null
	else
		kill -"$number" "$injector_pid"
	fi
	code=0
	wait "$injector_pid" || code=$?
	injector_pid=
	[ "$code" -eq 0 ] && grep -q 'packets disturbed' "$scratch/log" && pass "ends cleanly ($number), with a summary" ||
		fail "ends cleanly ($number), with a summary" "exit $code" "$(cat "$scratch/log")"
	[ ! -e "$control" ] && pass "leaves no socket" || fail "leaves no socket"
done
start net_null0 net_null1 --steps 0:500
refuses "set where a schedule decides" 2 "--steps decides it" "$nomora" inject-ctl "$control" set delay_us=50
[ "$(value delay_set_by) $(value delay_ab_us)" = "steps None" ] && pass "no delay is told there, but who sets it" ||
	fail "no delay is told there, but who sets it"
run "$nomora" inject-ctl "$control" metrics
case $out in
*nomora_injector_delay_seconds*) fail "nor to Prometheus" "$out" ;;
*nomora_injector_sent_packets_total*) pass "nor to Prometheus" ;;
*) fail "nor to Prometheus" "$out" ;;
esac
"$nomora" inject-ctl "$control" stop >/dev/null
wait "$injector_pid"
injector_pid=
start net_null0 net_null1 --delay-us 10 --corrupt 100 --jitter "samples:$(seq 0 0.01 5 >"$scratch/some"; echo "$scratch/some")" \
	--rule 'udp:53,host:10.0.0.0/8 delay=20 loss=1' --expect-pps 10e6
wait_for 20 sh -c "'$nomora' inject-ctl '$control' stats --json | jq -e '.ab.corrupted > 0'" # beside load, the first packets are late
check "stats have rules, damage and delays, and add up" sh -c "'$nomora' inject-ctl '$control' stats --json | jq -e '
	.ab | .corrupted > 0 and .rx_packets == .tx_packets + .held + .ring_full + .too_late + .lost
	and .rules[0].rule == \"udp:53,host:10.0.0.0/8 delay=20 loss=1\" and .rules[0].packets == 0
	and .rules[0].applied_delay_ns == null
	and .requested_delay_ns.mean > 10000 and .requested_delay_ns.mean < 15000
	and .applied_delay_ns.p50 >= 10000 and .applied_delay_ns.p99 >= .applied_delay_ns.p50'"
rule() { "$nomora" inject-ctl "$control" set rule="$1"; }
texts() { "$nomora" inject-ctl "$control" stats --json | jq -r '.ab.rules[0].rule, .ba.rules[0].rule, .delay_changes'; }
check "a rule gets other settings" sh -c "'$nomora' inject-ctl '$control' set rule='udp:53,host:10.0.0.0/8  delay=30' |
	jq -e '.rule == \"udp:53,host:10.0.0.0/8  delay=30\"'"
found=$(texts)
[ "$found" = "$(printf '%s\n' 'udp:53,host:10.0.0.0/8  delay=30' 'udp:53,host:10.0.0.0/8  delay=30' 1)" ] &&
	pass "in both directions, which the stats state" || fail "in both directions, which the stats state" "$found"
refuses "a rule that is not there" 2 'no --rule has the conditions "udp:54"' rule 'udp:54 delay=1'
refuses "a rule with bad settings" 2 '"colour": expected delay=US or MODE=VALUE' rule 'udp:53,host:10.0.0.0/8 delay=1 colour=red'
refuses "a rule's new delay beyond the ring's reach" 2 "5000 us at .* --slots 65536 would do" rule 'udp:53,host:10.0.0.0/8 delay=5000'
refuses "a rule with a file that is not there" 1 'No such file' rule 'udp:53,host:10.0.0.0/8 replay=/nowhere'
refuses "a rule beside a delay" 2 'rule= alone' "$nomora" inject-ctl "$control" set delay_us=1 rule='udp:53,host:10.0.0.0/8 delay=1'
[ "$(texts)" = "$found" ] && pass "a rule that is refused changes nothing" || fail "a rule that is refused changes nothing" "$(texts)"
run "$nomora" inject-ctl "$control" metrics
says "$out" 'applied_delay_seconds\{direction="ab",quantile="0.99"\} [0-9.e-]+' &&
	pass "Prometheus gets the applied delay" || fail "Prometheus gets the applied delay" "$out"
"$nomora" inject-ctl "$control" stop >/dev/null
wait "$injector_pid"
injector_pid=
run "${inject[@]}" net_null0 net_null1 --rate 1 --slots 1024 --duration 1.5 --nice 19
says "$err" 'leave more slowly \(--rate' && ! says "$err" 'need --slots' &&
	pass "a rate that is exceeded is no matter of slots" || fail "a rate that is exceeded is no matter of slots" "$err"
start net_null0 net_null1 --calibrate --hiccup-ns 400 --trust-counter
[ "$(value hiccup_threshold_ns)" = 400.0 ] && [ "$(value counter)" = invariant ] &&
	pass "thresholds and the kind of counter are told" || fail "thresholds and the kind of counter are told"
awk "BEGIN {exit !($(value subtract_ns) > 0)}" && grep -q 'ns on average before it is received: subtracted' "$scratch/log" &&
	pass "what --calibrate took off is told" || fail "what --calibrate took off is told" "$(cat "$scratch/log")"
kill -STOP "$injector_pid" # stopped for longer than any client waits
"$nomora" inject-ctl "$control" stats --timeout 0.2 >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && grep -q 'no answer in time' "$scratch/err" && pass "stats of a stopped process ends in time" ||
	fail "stats of a stopped process ends in time" "$(cat "$scratch/err")"
sleep 2.2 # the injector gives up a reading after 2 s
kill -CONT "$injector_pid"
check "stats after starvation is JSON again" value stalls
"$nomora" inject-ctl "$control" stop >/dev/null
wait "$injector_pid"
injector_pid=
run timeout --foreground -s INT 3 "${inject[@]}" net_null0 net_null1
grep -q 'packets disturbed' "$scratch/err" && pass "ends cleanly by SIGINT" || fail "ends cleanly by SIGINT" "$err"
run "${inject[@]}" net_null0 net_null1 --duration 0.3 --delay-us 5 --capture "$scratch/run.pcapng"
[ "$code" -eq 0 ] && pass "stops after --duration" || fail "stops after --duration" "$err"
summary=$err
refuses "a capture on a disk that is full" 1 "/dev/full: cannot create the capture: No space left" \
	"${inject[@]}" net_null0 net_null1 --duration 5 --capture /dev/full
run "${inject[@]}" net_null0 net_null1 --duration 0.3 --delay-us 10000 --slots 1024 --json
python3 - "$err" "$scratch/out" <<-'END' && pass "at the end, all packets have left, as the last line of JSON says" ||
	import json, re, sys
	sample = json.loads(open(sys.argv[2]).read().splitlines()[-1])
	sums = [d["rx_packets"] - d["tx_packets"] - d["held"] - d["ring_full"] - d["too_late"] for d in (sample["ab"], sample["ba"])]
	told = re.search(r"still held", sys.argv[1])
	sys.exit(not (not told and sample["ab"]["held"] + sample["ba"]["held"] == 0 < sample["ab"]["rx_packets"] and sums == [0, 0]))
END
	fail "at the end, all packets have left, as the last line of JSON says" "$err" "$(cat "$scratch/out")"
cp "$scratch/run.pcapng" "$scratch/kept.pcapng"
for capture in nothing kept; do
	refuses "a delay that cannot be, with a capture," 2 "--slots 32768 would do" \
		"${inject[@]}" net_null0 net_null1 --delay-us 500 --expect-pps 4e7 --capture "$scratch/$capture.pcapng"
done
check "makes no file of it" test ! -e "$scratch/nothing.pcapng"
check "and leaves the one that was there" cmp -s "$scratch/run.pcapng" "$scratch/kept.pcapng"
run "${inject[@]}" net_null0 net_null1 --duration 0.1 --mtu 9000 --expect-pps 138000 -- -m 160
[ "$code" -eq 0 ] && pass "jumbo frames at a rate that is told take no more than they need" ||
	fail "jumbo frames at a rate that is told take no more than they need" "$err"
refuses "jumbo frames at any rate in as little memory" 1 "no memory for .* give fewer slots" \
	"${inject[@]}" net_null0 net_null1 --duration 0.1 --mtu 9000 -- -m 160
run "$nomora" inject-check "$scratch/run.pcapng" --json
[ "$code" -eq 0 ] && says "$out" '"schema": "nomora.inject-check/1"' && pass "the capture is readable" ||
	fail "the capture is readable" "$err"
# An injector that stands still most of the time overruns no capture.
status=0
python3 - "$summary" "$scratch/out" <<-'END' || status=$?
	import json, re, sys
	number = lambda pattern: [float(x) for x in re.search(pattern, sys.argv[1]).groups()]
	seen = sum(number(r"A->B (\d+) in (\d+) out, B->A (\d+) in (\d+) out"))
	written, lost = number(r"capture: (\d+) frames written, (\d+) lost")
	seconds, = number(r"nomora inject: ([\d.]+) s at")
	stalled_ms, = number(r"stalls over 1 us \(([\d.]+) ms")
	check = json.load(open(sys.argv[2]))
	if seen != written + lost or check["frames"] != written or check["lost"] != lost:
	    sys.exit(1)
	sys.exit(0 if lost > 0 else 3 if stalled_ms > 500 * seconds else 1)
END
case $status in
0) pass "each frame seen is in the capture, or told as lost, there too" ;;
3) skip "each frame seen is in the capture, or told as lost, there too" "too busy to judge" ;;
*) fail "each frame seen is in the capture, or told as lost, there too" "$summary" "$(head -c 300 "$scratch/out")" ;;
esac
start net_null0 net_null1 --json
two_lines() { [ "$(wc -l <"$scratch/stream")" -ge 2 ]; }
wait_for 30 two_lines
check "packets per second are those since the line before" python3 -c 'import json, sys
a, b = [json.loads(line) for line in open(sys.argv[1])][:2]
seconds = b["time"] - a["time"]
for way in "ab", "ba":
    packets, rate = b[way]["rx_packets"] - a[way]["rx_packets"], b[way]["rx_pps"]
    print(way, packets, rate, seconds)
    assert packets > 0 and abs(rate * seconds / packets - 1) < 0.05' "$scratch/stream"
kill -TERM "$injector_pid"
wait "$injector_pid"
injector_pid=
# A ring that says it is at another node than CPU 0.
if [ -e /sys/devices/system/cpu/cpu0/node0 ]; then
	run "${inject[@]}" net_ring0,nodeaction=net_ring0:0:CREATE net_ring1,nodeaction=net_ring1:1:CREATE --cpus 0 --duration 0.1 --nice 19
	[ "$(grep NUMA <<<"$err")" = "nomora inject: warning: net_ring1 is at NUMA node 1, the CPU that polls it at node 0: \
each packet crosses between them (use --cpus with CPUs of node 1)" ] &&
		pass "a port at another NUMA node than its CPU is said in one line" ||
		fail "a port at another NUMA node than its CPU is said in one line" "$err"
else
	skip "a port at another NUMA node than its CPU is said in one line" "CPU 0 has no NUMA node 0"
fi
# EAL names its runtime folder by process.
"${inject[@]}" net_null0 net_null1 --duration 0.2 --nice 19 2>/dev/null &
short=$!
wait "$short"
check "leaves no runtime folder" test ! -e "/var/run/dpdk/nomora-$short"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	skip "no permission is said plainly" "needs root to become nobody"
	plan
	exit 0
fi
namespace=nomora-test-inject-$$
ip netns add "$namespace" 2>/dev/null && ip -n "$namespace" link add va type veth peer name vb || {
	skip "ports of a namespace" "no network namespaces here"
	plan
	exit 0
}
at_exit ip netns del "$namespace"
within=(ip netns exec "$namespace")
chmod 755 "$scratch"
cp "$bin/nomora" "$bin/nomora-injector" "$scratch/" # the build folder may not be accessible to nobody
refuses "no permission is said plainly" 1 "no permission to open raw sockets" \
	"${within[@]}" setpriv --reuid 65534 --clear-groups "$scratch/nomora" inject va vb
flags_of() { ip -n "$namespace" -o link show "$1" | sed 's/.*<\(.*\)>.*/\1/'; }
ip -n "$namespace" link set va up
ip -n "$namespace" link set vb up
before=$(flags_of va)
ip -n "$namespace" addr add 192.0.2.1/24 dev va
refuses "an interface that the host uses is not taken" 1 "va has the address 192.0.2.1: .*--take-interface" "${within[@]}" "${inject[@]}" net_null0 va
[ "$(flags_of va)" = "$before" ] && pass "and stays as it is" || fail "and stays as it is" "$before" "$(flags_of va)"
refuses "nor as a virtual device's" 1 "va has the address" "${within[@]}" "${inject[@]}" net_null0 net_af_packet0,iface=va
run "${within[@]}" "${inject[@]}" net_null0 va --take-interface --duration 0.5 --nice 19
[ "$code" -eq 0 ] && [ "$(flags_of va)" = "$before" ] && pass "--take-interface takes it, and its flags are restored at the end" ||
	fail "--take-interface takes it, and its flags are restored at the end" "exit $code" "$err" "$before" "$(flags_of va)"
ip -n "$namespace" addr flush dev va
ip -n "$namespace" route add 198.51.100.0/24 dev va
refuses "an interface in a route is used as well" 1 "va is in a route of this host" "${within[@]}" "${inject[@]}" net_null0 va
ip -n "$namespace" route del 198.51.100.0/24
for kind in bridge 'vrf table 10' bond; do
	if ip -n "$namespace" link add group0 type $kind 2>/dev/null; then # without quotes: vrf has arguments
		ip -n "$namespace" link set va down # a bond takes no other
		ip -n "$namespace" link set va master group0
		refuses "nor is a member of a ${kind%% *}" 1 "va is a member of group0, .*nomaster" "${within[@]}" "${inject[@]}" net_null0 va
		ip -n "$namespace" link del group0
	else
		skip "nor is a member of a ${kind%% *}" "this kernel has no ${kind%% *}"
	fi
done
ip -n "$namespace" link set vb down
ip -n "$namespace" link set va down
"${within[@]}" "${inject[@]}" va vb --nice 19 --driver af_packet --control "$control" 2>"$scratch/log" &
injector_pid=$!
wait_for 30 "$nomora" inject-ctl "$control" stats
kill -KILL "$injector_pid"
wait "$injector_pid" 2>/dev/null
case $(flags_of va) in *PROMISC*) fail "SIGKILL leaves the interface up, not promiscuous" "$(flags_of va)" ;; *UP*) pass "SIGKILL leaves the interface up, not promiscuous" ;; *) fail "SIGKILL leaves the interface up, not promiscuous" "$(flags_of va)" ;; esac
run "${within[@]}" "${inject[@]}" va vb --duration 0.5 --nice 19
case $(flags_of va) in *PROMISC* | *UP*) fail "the next injector restores the flags at its end" "$(flags_of va)" "$err" ;; *) pass "the next injector restores the flags at its end" ;; esac
inode=$("${within[@]}" stat -Lc %i /proc/self/ns/net)
check "and leaves no note of them" sh -c "! ls /run/nomora/interface-$inode-*-va"
"${within[@]}" "${inject[@]}" va vb --nice 19 --control "$control" 2>"$scratch/log" &
injector_pid=$!
wait_for 30 "$nomora" inject-ctl "$control" stats
refuses "a port that is taken" 1 "va is taken" "${within[@]}" "${inject[@]}" va net_null1
kill -TERM "$injector_pid"
wait "$injector_pid"
injector_pid=
ip -n "$namespace" link set va mtu 9000 up
ip -n "$namespace" link set vb mtu 9000 up
ip netns exec "$namespace" sysctl -qw net.ipv6.conf.va.disable_ipv6=1 net.ipv6.conf.vb.disable_ipv6=1
"${within[@]}" "${inject[@]}" va net_null1 --driver af_packet --nice 19 --control "$control" 2>"$scratch/log" &
injector_pid=$!
wait_for 30 "$nomora" inject-ctl "$control" stats
"$nomora" inject-ctl "$control" reset >/dev/null
"${within[@]}" python3 -c 'import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("vb", 0))
for length in [2049, 2048] * 50 + [9000]:
    s.send((b"\xff" * 12 + b"\x88\xb5").ljust(length, b"."))'
counted() { [ "$("$nomora" inject-ctl "$control" stats --json | python3 -c '
import json, sys
ab = json.load(sys.stdin)["ab"]
print(ab["rx_packets"], ab["rx_errors"])')" = "50 51" ]; }
wait_for 10 counted && grep -q 'more than 2048 bytes are dropped' "$scratch/log" &&
	pass "af_packet: frames over 2048 bytes are counted to the packet, not cut" ||
	fail "af_packet: frames over 2048 bytes are counted to the packet, not cut" "$(cat "$scratch/log")" \
		"$("$nomora" inject-ctl "$control" stats --json)"
"$nomora" inject-ctl "$control" stop >/dev/null
wait "$injector_pid"
injector_pid=

# A packet sent into vb arrives from va, and one that the injector sends on va arrives at vb.
ask() {
	"$nomora" inject-ctl "$control" stats --json |
		python3 -c "import json,sys; s = json.load(sys.stdin); print($1)"
}
asked() { [ "$(ask "$1")" = "$2" ]; } # asked EXPRESSION ANSWER
send_frames() { # send_frames INTERFACE COUNT
	"${within[@]}" python3 -c 'import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for i in range(int(sys.argv[2])):
    s.send((b"\xff" * 12 + b"\x88\xb5" + i.to_bytes(4, "big")).ljust(60, b"."))' "$@"
}
ip -n "$namespace" link add vc type veth peer name vd
for interface in vc vd; do
	ip netns exec "$namespace" sysctl -qw net.ipv6.conf.$interface.disable_ipv6=1
	ip -n "$namespace" link set $interface up
done
"${within[@]}" "${inject[@]}" va vc --driver af_packet --nice 19 --control "$control" 2>"$scratch/log" &
injector_pid=$!
wait_for 30 "$nomora" inject-ctl "$control" stats
asked 'all(p["link_up"] for p in s["ports"])' True && pass "links that are up are told" ||
	fail "links that are up are told"
ip -n "$namespace" link set vc down
send_frames vb 100
wait_for 10 asked 's["ab"]["tx_errors"]' 100 &&
	asked 's["tx_errors"], s["ba"]["tx_errors"], s["ab"]["tx_packets"]' '100 0 100' &&
	pass "what a port that is down drops is counted to the packet" ||
	fail "what a port that is down drops is counted to the packet" "$("$nomora" inject-ctl "$control" stats --json)"
run "$nomora" inject-ctl "$control" metrics
says "$out" '^nomora_injector_transmit_errors_total\{direction="ab"\} 100$' &&
	pass "and told to Prometheus" || fail "and told to Prometheus" "$out"
says "$out" '^nomora_injector_link_up\{port="b",name="vc"\} 0$' &&
	says "$out" '^nomora_injector_link_up\{port="a",name="va"\} 1$' &&
	pass "and so is the link" || fail "and so is the link" "$out"
asked '[p["link_up"] for p in s["ports"]]' '[True, False]' && pass "the link that is down is told" ||
	fail "the link that is down is told"
"$nomora" inject-ctl "$control" reset >/dev/null
asked 's["tx_errors"]' 0 && pass "a reset takes them off" || fail "a reset takes them off"
ip -n "$namespace" link set vc up
wait_for 10 asked '[p["link_up"] for p in s["ports"]]' '[True, True]' && pass "so is the one that came back" ||
	fail "so is the one that came back"
ip -n "$namespace" link del vc
wait_for 10 asked 's["ports"][1]["link_up"]' False && pass "an interface that is gone is down" ||
	fail "an interface that is gone is down"
[ "$(grep -c 'vc: the link is down' "$scratch/log")" -eq 2 ] &&
	[ "$(grep -c 'vc: the link is up again' "$scratch/log")" -eq 1 ] &&
	pass "each change is told once" || fail "each change is told once" "$(cat "$scratch/log")"
kill -STOP "$injector_pid" # its receive ring has 4096 slots
send_frames vb 5000
kill -CONT "$injector_pid"
wait_for 20 asked 's["ab"]["rx_missed"] > 0 and s["ab"]["rx_packets"] + s["ab"]["rx_missed"]' 5000 &&
	pass "what the receive port had no room for is counted to the packet" ||
	fail "what the receive port had no room for is counted to the packet" "$("$nomora" inject-ctl "$control" stats --json)"
"$nomora" inject-ctl "$control" reset >/dev/null
asked 's["rx_missed"], s["ab"]["rx_missed"]' '0 0' && pass "a reset takes it off" || fail "a reset takes it off"
"$nomora" inject-ctl "$control" stop >/dev/null
wait "$injector_pid"
injector_pid=
[ -z "$(ip -n "$namespace" -d link show va | grep -o 'prog/xdp')" ] && pass "no XDP program stays attached" ||
	fail "no XDP program stays attached"
plan

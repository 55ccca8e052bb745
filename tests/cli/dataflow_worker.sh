#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow worker: tuples pass from task to task in the plan's shares and are counted; gaps and repeats are
# detected.
. "$(dirname "$0")/lib.sh"

# A loopback address of our own, so that no other test uses its ports.
address=127.$((64 + ($$ >> 16) % 100)).$(($$ >> 8 & 255)).$(($$ & 255))
# task NAME NUMBER PORT INPUTS EDGES [MORE]
task() { echo "{\"schema\": \"nomora.worker/1\", \"task\": \"$1\", \"number\": $2, \"address\": \"$address\", \"port\": $3, \"inputs\": $4, \"edges\": [$5]${6:-}}" >"$scratch/$1.json"; }
target() { echo "{\"address\": \"$address\", \"port\": $1${2:+, \"share\": $2}}"; }
task src 0 0 0 "{\"targets\": [$(target 7801 0.75), $(target 7802 0.25)]}" ', "MB": 1'
task half 1 7801 1 "{\"selectivity\": 0.5, \"targets\": [$(target 7803)]}"
task copy 2 7802 1 "{\"copies\": \"all\", \"targets\": [$(target 7803), $(target 7804)]}"
task sink 3 7803 2 '' ', "cpu_us": 1'
task last 4 7804 1 ''
workers=()
for name in src half copy sink last; do
	"$nomora" dataflow worker "$scratch/$name.json" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
	workers+=($!)
done
failed=0
for pid in "${workers[@]}"; do wait "$pid" || failed=1; done
check "all end" test $failed -eq 0
last() { tail -n 1 "$scratch/$1.out"; }
check "a source sends its volume" jq -e '.done and .sent == 1000' <<<"$(last src)"
check "and says for how long it ran" jq -e '.s > 0 and .s < 600' <<<"$(last src)"
check "in the shares of the plan, of which half goes on" jq -e '.received == 750 and .sent == 375' <<<"$(last half)"
check "a copy for each target" jq -e '.received == 250 and .sent == 500' <<<"$(last copy)"
check "sinks get all of it once" jq -es '.[0].received == 625 and .[1].received == 250 and all(.lost == 0 and .duplicated == 0 and .done)' \
	<<<"$(last sink)$(last last)"

# 0.2 MB at 1 MB/s take 0.2 s, less what a source may send at once at the start.
task slowly 10 0 0 "{\"targets\": [$(target 7809)]}" ', "MB": 0.2, "MBps": 1'
task waits 11 7809 1 ''
workers=()
for name in slowly waits; do
	"$nomora" dataflow worker "$scratch/$name.json" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
	workers+=($!)
done
wait "${workers[@]}"
check "a source keeps to its rate" jq -e '.done and .sent == 200 and .s >= 0.15' <<<"$(last slowly)"

# A slow sink limits the task `merge`, which must take equally from its four inputs, so all sources end at about the same time.
sources=(first second third fourth) workers=()
for name in "${sources[@]}"; do task "$name" 7 0 0 "{\"targets\": [$(target 7807)]}" ', "MB": 2'; done
task merge 8 7807 4 "{\"targets\": [$(target 7808)]}"
task slow 9 7808 1 '' ', "cpu_us": 500'
for name in "${sources[@]}" merge slow; do
	"$nomora" dataflow worker "$scratch/$name.json" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
	workers+=($!)
done
wait "${workers[@]}"
check "inputs share a full output" jq -es 'map(.s) | min / max > 0.8' <<<"$(for name in "${sources[@]}"; do last "$name"; done)"

# send FILE SEQUENCE...: tuples with these sequence numbers to a new sink
send() {
	local plan=$1 name
	shift
	name=$(basename "$plan" .json)
	"$nomora" dataflow worker "$plan" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
	python3 - "$address" "$(jq .port "$plan")" "$@" <<-'END'
		import socket, struct, sys, time
		for attempt in range(3000):
		    try:
		        s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
		        break
		    except ConnectionRefusedError:
		        time.sleep(0.02)
		for n in sys.argv[3:]:
		    size = 65536 if n == "largest" else 100
		    s.sendall(b"no tuples at all" * 4 if n == "bad" else struct.pack(">IIQq", size, 7, 0 if n == "largest" else int(n), 0) + bytes(size - 24))
		s.close()
	END
	code=0
	wait $! || code=$?
}
task gaps 5 7805 1 ''
send "$scratch/gaps.json" 0 1 3 4 4 8
check "gaps and repeats are counted" jq -e '.received == 6 and .lost == 4 and .duplicated == 1' <<<"$(last gaps)"
task largest 7 7807 1 ''
send "$scratch/largest.json" largest
check "the largest tuple is taken" jq -e '.received == 1' <<<"$(last largest)"
task bad 6 7806 1 ''
send "$scratch/bad.json" 0 bad
[ "$code" -eq 1 ] && grep -q 'expected a tuple, found' "$scratch/bad.err" && pass "other bytes are refused" || fail "other bytes are refused" "exit $code" "$(cat "$scratch/bad.err")"
documented "the report" cat "$scratch/gaps.out"
documented "the plan" cat "$scratch/half.json"
echo '{"schema": "nomora.worker/1", "task": "x", "address": "10.0.0.300", "port": 1}' >"$scratch/wrong.json"
refuses "a bad address" 1 'wrong.json.*address.*10.0.0.300' "$nomora" dataflow worker "$scratch/wrong.json"
echo '{"schema": "nomora.worker/1", "task": "x", "address": "10.0.0.3", "port": 1, "edges": [{"targets": []}]}' >"$scratch/wrong.json"
refuses "an edge without targets" 1 'edges\[0\].targets' "$nomora" dataflow worker "$scratch/wrong.json"
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Usage: predict_live.sh NOMORA, in a network namespace of its own. Prints what is wrong with nomora predict --interface.
nomora=$1
ip link set lo up
redis-server --port 6379 --save '' --daemonize no >/dev/null &
server=$!
trap 'kill $server $client 2>/dev/null; wait' EXIT
until redis-cli ping >/dev/null 2>&1; do kill -0 $server || { echo 'no server'; exit; }; sleep 0.05; done
redis-benchmark -t get -c 1 -n 1000000000 >/dev/null 2>&1 &
client=$!

# took FEWEST MOST SHORTEST LONGEST: the answer in $out is of that many captures, of so many seconds each.
took() {
	python3 - "$out" "$@" <<'PYTHON'
import json, sys
answer, fewest, most, shortest, longest = json.loads(sys.argv[1]), *map(float, sys.argv[2:])
capture = answer["capture"]
assert capture["port"] == 6379 and capture["connections"] == 1 and capture["loop"] == "closed", capture
assert capture["turns"] > 100 and shortest < answer["recorded_s"] < longest, answer["recorded_s"]
assert fewest <= (answer["runs"] or {"count": 1})["count"] <= most, answer["runs"]
PYTHON
}
out=$("$nomora" predict --interface lo --duration 0.5 --json)
took 1 1 0.05 0.6
out=$("$nomora" predict --interface lo --duration 0.2 --runs 3 --json)
took 3 3 0.02 0.3
out=$(timeout --signal=INT 0.7 "$nomora" predict --interface lo --duration 1000 --json)
took 1 1 0.01 100
# a signal in one of many captures: the answer is that of the captures so far
out=$(timeout --signal=INT 2 "$nomora" predict --interface lo --duration 0.3 --runs 500 --json)
took 2 499 0.01 0.4
kill $client
wait $client 2>/dev/null
out=$(timeout 20 "$nomora" predict --interface lo --duration 0.1 2>&1)
[ $? -eq 1 ] && grep -q 'lo: no TCP packets among 0 packets' <<<"$out" || echo "silence: $out"

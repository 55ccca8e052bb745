#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Request rate of one thread of `nomora load` against Debian's memcached, compared with memcaslap on one thread with the
# same number of connections, mean key and value sizes and share of updates. Five runs each, alternating; medians. One
# line of JSON per number of connections.
set -u
nomora=$1
scratch=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
user=()
[ "$(id -u)" -ne 0 ] || user=(-u nobody)
memcached "${user[@]}" -l 127.0.0.1 -p "$port" -t 1 -m 256 &
server=$!
trap 'kill $server; rm -rf "$scratch"' EXIT
until (exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.02; done
printf 'key\n36 36 1\nvalue\n329 329 1\ncmd\n0 0.03\n1 0.97\n' >"$scratch/etc"

ours() { "$nomora" load "127.0.0.1:$port" --connections "$1" --duration 1 --warm-up 0.2 --json | sed -n 's/^  "qps": \([0-9.]*\).*/\1/p'; }
theirs() { memcaslap -s "127.0.0.1:$port" -T 1 -c "$1" -t 1s -F "$scratch/etc" -w 1k 2>/dev/null | sed -n 's/.*TPS: \([0-9]*\).*/\1/p'; }
for connections in 1 16 64; do
	: >"$scratch/ours"
	: >"$scratch/theirs"
	for _ in 1 2 3 4 5; do
		ours $connections >>"$scratch/ours"
		command -v memcaslap >/dev/null && theirs $connections >>"$scratch/theirs"
	done
	python3 - "$connections" "$scratch/ours" "$scratch/theirs" <<'PYTHON'
import json, statistics, sys
ours, theirs = ([float(x) for x in open(name)] for name in sys.argv[2:])
line = {"benchmark": "load_rate", "connections": int(sys.argv[1]), "requests_per_s": statistics.median(ours)}
if theirs:
    line |= {"memcaslap_requests_per_s": statistics.median(theirs), "ratio": statistics.median(ours) / statistics.median(theirs)}
print(json.dumps(line))
PYTHON
done

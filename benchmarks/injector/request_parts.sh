#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Where the time of a request goes at each delay: memcached with one connection in a lab, captured by the injector at
# both its ports. For each request: the time that it and its answer are held by the injector; the time from the
# request's departure to the answer's arrival (the server's, including delivery by the injector); and from there to the
# next request (the client's). One line of JSON per delay; all delays twice, in rising order. Needs root and a quiet
# machine.
# request_parts.sh NOMORA [DELAYS [SECONDS]]
set -u
nomora=$1
delays=${2:-0 5 10 20 50 100 200 500}
seconds=${3:-0.5}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "request_parts.sh: wants root, for the lab" >&2; exit 1; }
lab=parts
folder=$(mktemp -d)
idle=
trap 'kill $idle 2>/dev/null; "$nomora" lab down --name "$lab" >/dev/null 2>&1; rm -rf "$folder"' EXIT

"$nomora" lab up --name "$lab" --hosts 2 --racks 1 --inject h1 --delay-us 0 -- --capture "$folder/capture.pcapng" >/dev/null || exit 1
# As in the plans, server and client share the first CPU; the injector has the last one.
on() { local host=$1; shift; taskset -c 0 nice -n -20 ip netns exec "$lab-$host" "$@"; }
on h1 memcached -u nobody -l 10.77.1.1 -p 11211 -m 64 -t 1 -o no_lru_crawler,no_lru_maintainer &
taskset -c 0 chrt --idle 0 sh -c 'while :; do :; done' & # keeps the CPU from idling
idle=$!
for _ in $(seq 50); do on h2 "$nomora" load 10.77.1.1 --fill-only >/dev/null 2>&1 && break; sleep 0.1; done
order=
for pass in 1 2; do
	for delay in $delays; do
		"$nomora" inject-ctl "/run/nomora/$lab-h1.sock" set "delay_us=$delay" >/dev/null
		sleep 0.15
		on h2 "$nomora" load 10.77.1.1 --no-fill --connections 1 --depth 1 --warm-up 0.1 --duration "$seconds" --update-share 0 >/dev/null
		sleep 0.15
		order="$order $delay"
	done
done
kill "$idle"
"$nomora" lab down --name "$lab" >/dev/null
python3 "$here/request_parts.py" "$folder/capture.pcapng" $order

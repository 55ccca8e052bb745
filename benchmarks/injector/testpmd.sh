#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The injector compared with dpdk-testpmd's plain forwarding (io) on the same virtual ports (net_null, which generate
# and drop frames), one after the other, several rounds; one JSON line. Packets per second of the forwarding thread's
# CPU time. Both run without hugepages: each of testpmd's buffers then takes a page, while those of dp_pool_create() are
# contiguous; this explains most of the difference. Arguments: the folder of the programs, seconds per run (6; testpmd
# takes two to start), rounds (3).
set -eu
bin=$1 seconds=${2:-6} rounds=${3:-3}
command -v dpdk-testpmd >/dev/null || { echo '{"benchmark":"injector_testpmd","skipped":"dpdk-testpmd is not installed"}'; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "/var/run/dpdk/nomora-bench-$$"' EXIT
eal=(--no-huge --no-pci --no-telemetry --no-shconf -m 512 --file-prefix "nomora-bench-$$" --log-level=1)

# CPU seconds of the process's busiest worker so far: on a busy machine, the main thread's start-up can take longer.
busiest() {
	awk '$2 ~ /worker/ {t = $14 + $15; if (t > m) m = t} END {print m / '"$(getconf CLK_TCK)"'}' /proc/"$1"/task/*/stat 2>/dev/null
}
for ((round = 0; round < rounds; round++)); do
	(sleep "$seconds"; echo) | dpdk-testpmd -l 0,1 "${eal[@]}" --vdev=net_null0 --vdev=net_null1 -- --nb-cores=1 \
		--total-num-mbufs=32768 --forward-mode=io --auto-start >"$scratch/testpmd" 2>&1 &
	process=$! # the last command of the pipe
	cpu=0
	while now=$(busiest "$process") && [ -n "$now" ] && [ "$now" != 0 ] || kill -0 "$process" 2>/dev/null; do
		cpu=$(awk "BEGIN {print (${now:-0} > $cpu) ? ${now:-0} : $cpu}") # the thread ends before the process does
		sleep 0.02
	done
	wait
	packets=$(awk '/Accumulated/ {f = 1} f && /RX-packets/ {print $2; exit}' "$scratch/testpmd")
	echo "testpmd $packets $cpu" >>"$scratch/figures"
	for delay in 0 10; do
		"$bin/nomora" inject net_null0 net_null1 --delay-us $delay --control "$scratch/socket" 2>/dev/null &
		process=$!
		until "$bin/nomora" inject-ctl "$scratch/socket" reset >/dev/null 2>&1; do
			kill -0 $process
			sleep 0.05
		done
		before=$(busiest "$process")
		sleep "$seconds"
		cpu=$(awk "BEGIN {print $(busiest "$process") - $before}")
		"$bin/nomora" inject-ctl "$scratch/socket" stats --json >"$scratch/stats"
		"$bin/nomora" inject-ctl "$scratch/socket" stop >/dev/null
		wait
		echo "inject_$delay $(python3 -c 'import json,sys; s=json.load(open(sys.argv[1])); print(s["tx_ab"]+s["tx_ba"])' "$scratch/stats") $cpu" \
			>>"$scratch/figures"
	done
done
python3 - "$scratch/figures" <<'END'
import json, statistics, sys
runs = {}
for line in open(sys.argv[1]):
    name, packets, cpu = line.split()
    runs.setdefault(name, []).append(float(packets) / float(cpu) / 2 / 1e6)
median = {name: statistics.median(v) for name, v in runs.items()}
print(json.dumps({"schema": "nomora.benchmark/1", "benchmark": "injector_testpmd",
                  "testpmd_io_Mpps_per_direction": round(median["testpmd"], 2),
                  "inject_0us_Mpps_per_direction": round(median["inject_0"], 2),
                  "inject_10us_Mpps_per_direction": round(median["inject_10"], 2),
                  "ratio_0us": round(median["inject_0"] / median["testpmd"], 3),
                  "ratio_10us": round(median["inject_10"] / median["testpmd"], 3)}))
END

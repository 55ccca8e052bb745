#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An MPI ring and an MPI star on two racks, 10 ms apart: in the order that nomora place chooses and in random orders on the
# same slots, the measured time of a lap against the one predicted from the measured round trips.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
[ -x "$bin/nomora-injector" ] && [ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
command -v mpicc mpirun >/dev/null || skip_all "needs Open MPI"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
lab=r$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
cd "$scratch" || exit 1
check "the program" mpicc -O2 -o lap "$source_root/tests/lab/lap.c"
check "up: two racks of two hosts" "$nomora" lab up --name "$lab" --hosts 4 --racks 2 --inject core --delay-us 10000 --slots 2 \
	--peers peers --cluster cluster.json

while read -r host address _; do
	ip netns exec "$lab-$host" "$nomora" probe eth0 --address "$address" --peers peers --reflect --duration 3 -o "$host.csv" \
		>"$host.log" 2>&1 &
	probers+=($!)
done < <(grep -v '^#' peers)
wait "${probers[@]}"
run "$nomora" mesh merge h?.csv -o mesh.csv
[ "$code" -eq 0 ] && pass "the measured round trips" || fail "the measured round trips" "$out" "$err" "$(cat h?.log)"

# orders.py NOMORA GRAPH TASKS: for the order that place chooses, and for two random ones on the cluster's slots, prints its
# name, the predicted lap, and the processes of its tasks. Processes 2 n and 2 n + 1 are on host n.
cat >orders.py <<'END_PYTHON'
import csv, json, random, subprocess, sys
nomora, graph, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
names = [line.split()[0] for line in open("peers") if line[0] != "#"]
rtt = {(r["src"], r["dst"]): float(r["rtt_p50_us"]) for r in csv.DictReader(line for line in open("mesh.csv") if line[0] != "#")}
rtt.update({(h, h): 0 for h in names})
json.dump({"id": graph, "curve": "memcached", "root": 0, "tasks": tasks, "graph": graph}, open("job.jsonl", "w"))
placed = json.loads(subprocess.run([nomora, "place", "--cluster", "cluster.json", "--jobs", "job.jsonl", "--latency", "mesh.csv", "--json"],
                                   check=True, capture_output=True, text=True).stdout)
orders = {"chosen": [task["machine"] for task in placed["tasks"]]}
for seed in 1, 2:
    slots = [host for host in names for _ in range(2)]
    random.Random(seed).shuffle(slots)
    orders[f"random{seed}"] = slots[:tasks]
for name, hosts in orders.items():
    processes = [2 * names.index(host) + hosts[:task].count(host) for task, host in enumerate(hosts)]
    edges = [(hosts[i], hosts[(i + 1) % tasks]) for i in range(tasks)] if graph == "ring" else [(hosts[0], host) for host in hosts[1:]]
    print(name, sum(rtt[edge] for edge in edges) / (2 if graph == "ring" else 1), ",".join(map(str, processes)))
END_PYTHON

# Open MPI's remote shell: ADDRESS COMMAND... All hosts have the same name: each needs a folder of its own for its files.
cat >agent <<END
#!/bin/sh
while read -r host address _; do
	case \$address in "\${1%.*}.\$((\${1##*.} + 100))"*) name=\$host ;; esac
done <$scratch/peers
shift
mkdir -p "$scratch/\$name"
exec ip netns exec "$lab-\$name" env TMPDIR="$scratch/\$name" /bin/sh -c "\$*"
END
chmod 755 agent
hosts=$(awk '!/^#/ {split($2, a, /[.\/]/); printf "%s%s.%s.%s.%d:2", comma, a[1], a[2], a[3], a[4] - 100; comma = ","}' peers)
# The injector has the last CPU. The ranks that wait poll, so they must not share it. They yield the other CPU at each poll;
# under the default scheduler, the next rank may still wait some milliseconds, under round-robin it runs at once.
cpus=0-$(($(nproc) > 1 ? $(nproc) - 2 : 0))
measured() { # GRAPH PROCESSES
	chrt -r 1 taskset -c "$cpus" ip netns exec "$lab-h1" env HOME="$scratch" TMPDIR="$scratch" mpirun --allow-run-as-root --host "$hosts" --map-by slot --oversubscribe -n 8 --bind-to none \
		--mca plm_rsh_agent "$scratch/agent" --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 \
		--mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 "$scratch/lap" "$1" 10 "$2" 2>>mpi.log </dev/null | sed -n 's/^lap_us //p'
}
for graph in ring star; do
	tasks=$([ "$graph" = ring ] && echo 8 || echo 5)
	run python3 orders.py "$nomora" "$graph" "$tasks"
	[ "$code" -eq 0 ] || fail "$graph: an order" "$err"
	while read -r name predicted processes; do
		echo "$name $predicted $(measured "$graph" "$processes")"
	done <<<"$out" >"$graph.laps"
	sed "s/^/# $graph: lap predicted, measured in us: /" "$graph.laps"
	check "$graph: the laps are as predicted within 25 %, and that of the chosen order is the fastest" python3 - "$graph.laps" <<'PYTHON'
import sys
laps = {name: (float(predicted), float(measured)) for name, predicted, measured in (line.split() for line in open(sys.argv[1]))}
assert len(laps) == 3
for name, (predicted, measured) in laps.items():
    assert abs(measured / predicted - 1) < 0.25, laps  # a quiet machine: 0.05
    assert name == "chosen" or predicted / laps["chosen"][0] >= 1.9, laps
PYTHON
done
[ ! -s mpi.log ] || sed 's/^/# /' mpi.log
plan

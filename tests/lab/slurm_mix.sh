#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A mix of 200 jobs on a Slurm of eight nodes, submitted at once, with and without the documented comment in turns:
# the time until all have ended, and the share of the CPUs in use. By the medians, the comment costs at most 2 % of the
# time and 1 % of the CPUs. On demand: it needs a quiet machine and some six minutes. NOMORA_JOBS: number of jobs; NOMORA_SEED: their
# seed; NOMORA_ROUNDS: runs of each kind.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-slurm" ] || skip_all "built without Slurm"

lab=x$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5 h6 h7 h8 h9) jobs=${NOMORA_JOBS:-200}
. "$(dirname "$0")/slurm_cluster.sh"
at_exit "$nomora" lab down --name "$lab"
use_plugin
"$nomora" lab up --name "$lab" --hosts 9 --racks 2 >/dev/null 2>"$dir/lab.log" || { cat "$dir/lab.log"; exit 1; }
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 RealMemory=400"; done
printf 'SwitchName=rack1 Nodes=h[2-5]\nSwitchName=rack2 Nodes=h[6-9]\nSwitchName=core Switches=rack[1-2]\n' >"$dir/topology.conf"
start_slurm "${plugin_lines[@]}" TopologyPlugin=topology/tree
within 120 "eight nodes are idle" all_idle
random_mesh
start_schedd
start_agent
within 60 "schedd has the nodes" has_slots 4

# A job's line: its tasks and its seconds. Its script notes when it starts and ends.
RANDOM=${NOMORA_SEED:-1}
for ((i = 0; i < jobs; i++)); do echo "$((1 << RANDOM % 4)) $((1 + RANDOM % 6))"; done >"$dir/mix"
printf '#!/bin/sh\nbegan=$(date +%%s%%N)\nsleep "$2"\necho "$1 $began $(date +%%s%%N)" >>"$3"\n' >"$dir/work.sh"
ended() { [ "$(wc -l <"$1")" -eq "$jobs" ]; }
# run KIND ARGUMENT...: the mix once; a line in $dir/KIND: seconds until the last end, and percent of the CPUs in use.
run_mix() {
	local kind=$1 out=$dir/ended.$1.$RANDOM begun tasks seconds
	shift
	: >"$out"
	within 60 "all nodes are idle" all_idle
	begun=$(date +%s%N)
	while read -r tasks seconds; do ctl sbatch -Q -o /dev/null -n "$tasks" "$@" "$dir/work.sh" "$tasks" "$seconds" "$out"; done <"$dir/mix"
	within 600 "$jobs jobs end ($kind)" ended "$out"
	awk -v begun="$begun" '{ used += $1 * ($3 - $2); last = $3 > last ? $3 : last }
		END { span = last - begun; printf "%.2f %.1f\n", span / 1e9, 100 * used / span / 32 }' "$out" >>"$dir/$kind"
	echo "# $kind: $(tail -n 1 "$dir/$kind") (seconds until all have ended, percent of the CPUs)"
}
for ((r = 0; r < ${NOMORA_ROUNDS:-2}; r++)); do
	run_mix plain
	run_mix comment --comment=nomora:curve=memcached,move=no
	placed=$(ctl scontrol show job | grep -cE 'AdminComment=nomora:slurm-[0-9a-f]+-[0-9]+ ')
done
median() { cut -d " " -f "$2" "$dir/$1" | sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }
check "the comment costs at most 2 % of the time: $(median plain 1), $(median comment 1) s" \
	at_most "$(median comment 1)" "$(awk -v s="$(median plain 1)" 'BEGIN { print 1.02 * s }')"
check "and 1 % of the CPUs: $(median plain 2), $(median comment 2) % are in use" \
	at_most "$(awk -v u="$(median plain 2)" 'BEGIN { print 0.99 * u }')" "$(median comment 2)"
check "schedd placed jobs of the last minute: $placed" test "$placed" -gt 0
plan

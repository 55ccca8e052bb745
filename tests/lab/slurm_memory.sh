#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Slurm that allocates memory (CR_Core_Memory): schedd places jobs where Slurm has CPUs and memory for them, and places
# none under settings where a task takes more than a slot. The agent's --patience is long, so that a job waits if schedd
# has placed it where Slurm cannot start it.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-slurm" ] || skip_all "built without Slurm"

lab=m$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5) NOMORA_CONSUMES=CR_Core_Memory
. "$(dirname "$0")/slurm_cluster.sh"
at_exit "$nomora" lab down --name "$lab"
use_plugin
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 RealMemory=430 MemSpecLimit=30"; done
"$nomora" lab up --name "$lab" --hosts 5 --racks 1 >/dev/null 2>"$dir/lab.log" || { cat "$dir/lab.log"; exit 1; }
start_slurm "${plugin_lines[@]}" DefMemPerCPU=100
within 120 "four nodes are idle" all_idle
random_mesh
start_schedd
start_agent --patience 30
within 60 "schedd has the nodes with their CPUs" has_slots 4

printf '#!/bin/sh\nexec sleep 600\n' >"$dir/sleep.sh"
others() { submit -o /dev/null "$@" "$dir/sleep.sh"; }
asked() { others --comment=nomora:curve=memcached,move=no "$@"; }
asked_placed() { submit_placed -o /dev/null --comment=nomora:curve=memcached,move=no "$@" "$dir/sleep.sh"; }
runs() { is_job "$1" JobState RUNNING; }
# startable: for each node, the number of tasks that Slurm could still start there, by its CPUs and memory.
startable() {
	ctl scontrol -o show node | sed 's/.*NodeName=\([^ ]*\) .*CPUAlloc=\([0-9]*\) .*AllocMem=\([0-9]*\) .*/\1 \2 \3/' |
		awk '{ cpus = 4 - $2; tasks = int((400 - $3) / 100); print $1, cpus < tasks ? cpus : tasks }' | sort
}
slots() { "$nomora" nodes --json | jq -r '.machines[] | "\(.name) \(.slots - .tasks)"' | sort; }
agree() { [ "$(startable)" = "$(slots)" ]; }
stays_placed() { runs "$1" && is_placed "$1"; }

# --- other jobs take memory, but few CPUs: only h5 can start three tasks on one node, h2 to h4 can start one each
taken=()
for host in h2 h3 h4; do taken+=("$(others -n 1 --mem=300 -w $host)"); done
taken+=("$(others -n 1 -w h5)")
for id in "${taken[@]}"; do within 60 "job $id takes memory" runs "$id"; done
within 60 "schedd's free slots are the tasks that Slurm could start" agree
check "of which there are six" test "$(slots | awk '{ sum += $2 } END { print sum }')" -eq 6
for tasks in 3 2 1; do
	id=$(asked_placed -n $tasks)
	within 20 "a job of $tasks tasks starts where schedd placed it" stays_placed "$id"
	within 60 "the free slots are those of Slurm" agree
done
check "no slot is left" test "$(slots | awk '{ sum += $2 } END { print sum }')" -eq 0
ctl scancel -u root
within 60 "the jobs are cancelled, and all slots are free" has_slots 4
exclusive=$(others -n 1 --exclusive -w h2)
sparing=$(others -n 4 --mem-per-cpu=50 -w h3)
greedy=$(others -n 2 --mem-per-cpu=150 -w h4)
for id in $exclusive $sparing $greedy; do within 60 "a job with another share of memory runs" runs "$id"; done
within 60 "the free slots are those of Slurm" agree
check "h2 has none, h3 none, h4 one, h5 four" test "$(slots | tr '\n' ' ')" = "h2 0 h3 0 h4 1 h5 4 "
ctl scancel -u root
within 60 "all slots are free" has_slots 4

# --- settings under which a task is more than a slot: the agent says so, and Slurm decides
# says PATTERN: the last line of the agent's log about who decides.
says() { grep 'decides about.* new jobs' "$dir/agent.log" | tail -n 1 | grep -q "$1"; }
# decides NAME REASON: the agent gives this reason, and three jobs of one task that are submitted at once run where Slurm
# starts them.
decides() {
	local ids=() id
	within 60 "$1: the agent says so" says "Slurm decides about all new jobs: $2"
	for _ in 1 2 3; do ids+=("$(asked -n 1)"); done
	for id in "${ids[@]}"; do within 20 "$1: job $id runs" runs "$id"; done
	check "$1: schedd placed none" none_placed "${ids[@]}"
	ctl scancel -u root
}
# decides_alone NAME REASON: the agent gives this reason.
decides_alone() { within 60 "$1: the agent says so" says "Slurm decides about all new jobs: $2"; }
none_placed() { local id; for id in "$@"; do ! is_placed "$id" || return 1; done; }

ctl scontrol update PartitionName=main MaxNodes=2
decides "MaxNodes" "slurm.conf: PartitionName=main: MinNodes or MaxNodes"
ctl scontrol update PartitionName=main MaxNodes=UNLIMITED
within 60 "without the limit, schedd decides" says "schedd decides"
ctl scontrol update PartitionName=main MaxMemPerCPU=50
decides_alone "MaxMemPerCPU" "slurm.conf: a limit of memory without a default, or below it"
ctl scontrol update PartitionName=main MaxMemPerCPU=0
within 60 "without the limit of memory, schedd decides" says "schedd decides"

# --- memory by node: a job takes it on each of its nodes, whatever its number of tasks there
# by_node MB [SETTING]: with this setting of slurm.conf, jobs of one, four and five tasks run where schedd placed them,
# with this memory on each node; a job of one task leaves no memory on its node for another.
by_node() {
	local mb=$1 setting=${2:-#} name=${2:-no default} ids=() id
	sed -i "s/^DefMemPer.*/$setting/" "$SLURM_CONF"
	ctl scontrol reconfigure
	within 60 "$name: all slots are free" has_slots 4
	for tasks in 1 4 5; do
		ids+=("$(asked_placed -n $tasks)")
		within 20 "$name: a job of $tasks tasks starts where schedd placed it" stays_placed "${ids[-1]}"
		within 60 "$name: the free slots are those of Slurm" agree_by_node "$mb"
	done
	check "$name: no slot is left" test "$(slots | awk '{ sum += $2 } END { print sum }')" -eq 0
	check "$name: each job has the memory, on as few nodes as its tasks need" test \
		"$(for id in "${ids[@]}"; do job "$id" TRES | sed 's/.*mem=\([0-9]*\)M,node=\([0-9]*\),.*/\1 \2/'; done | tr '\n' ' ')" = "$mb 1 $mb 1 $((2 * mb)) 2 "
	ctl scancel -u root
	within 60 "$name: all slots are free again" has_slots 4
}
startable_by_node() {
	ctl scontrol -o show node | sed 's/.*NodeName=\([^ ]*\) .*CPUAlloc=\([0-9]*\) .*AllocMem=\([0-9]*\) .*/\1 \2 \3/' |
		awk -v mb="$1" '{ print $1, 400 - $3 < mb ? 0 : 4 - $2 }' | sort
}
agree_by_node() { [ "$(startable_by_node "$1")" = "$(slots)" ]; }
by_node 300 DefMemPerNode=300
by_node 400 # no default: a job takes all memory
sed -i 's/^#$/DefMemPerCPU=100/' "$SLURM_CONF"
ctl scontrol reconfigure
ctl scontrol update PartitionName=main MaxMemPerNode=200
within 60 "with MaxMemPerNode, all slots are free" has_slots 4
id=$(asked_placed -n 2)
within 20 "two tasks on a node have no more memory than MaxMemPerNode" stays_placed "$id"
id=$(asked -n 4)
within 20 "four tasks would have more on one node: the job runs as without the comment" runs "$id"
ctl scancel -u root
ctl scontrol update PartitionName=main MaxMemPerNode=0
within 60 "without MaxMemPerNode, all slots are free" has_slots 4
stop_controller
sed -i 's/CPUs=4 /CPUs=4 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 /' "$SLURM_CONF"
start_controller
# --- two threads a core: a job of one task takes a core, so that schedd may place too many at once; Slurm has the others
# started on other nodes, and long before --patience ends
within 60 "slurmctld has restarted" all_idle
ids=()
for tasks in 1 1 1 3 1 1; do ids+=("$(asked -n $tasks)"); done
for id in "${ids[@]}"; do within 20 "two threads a core: job $id runs" runs "$id"; done
within 60 "the free slots are those of Slurm" agree
check "of eight cores, one is left" test "$(slots | awk '{ sum += $2 } END { print sum }')" -eq 2
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A comment costs a job nothing: seeded random sbatch lines on a busy Slurm of eight nodes, each with and without the
# documented comment (slurm_pairs.py). NOMORA_PAIRS: number of lines; NOMORA_SEED: their seed; NOMORA_CONSUMES: Slurm's
# SelectTypeParameters, such as CR_CPU_Memory; NOMORA_CORES=2: two threads a core; NOMORA_ACCOUNTS=1: batches of jobs
# whose accounts and QOS have limits (slurm_limits.py); this needs slurmdbd and mariadb-server-core.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-slurm" ] || skip_all "built without Slurm"

settings=() test=slurm_pairs lab=p$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5 h6 h7 h8 h9) accounts=${NOMORA_ACCOUNTS:-}
. "$(dirname "$0")/slurm_cluster.sh"
[ -z "$accounts" ] || has_accounting || skip_all "no slurmdbd and MariaDB"
at_exit "$nomora" lab down --name "$lab"
use_plugin

"$nomora" lab up --name "$lab" --hosts 9 --racks 2 >/dev/null 2>"$dir/lab.log" || { cat "$dir/lab.log"; exit 1; }
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 ${NOMORA_CORES:+Sockets=1 CoresPerSocket=$NOMORA_CORES ThreadsPerCore=$((4 / NOMORA_CORES))} RealMemory=400 Feature=$([ "${host#h}" -le 5 ] && echo fast || echo slow)"; done
node_options[h9]+=" Gres=fpga:2"
echo "NodeName=h9 Name=fpga Count=2" >"$dir/gres.conf"
printf 'SwitchName=rack1 Nodes=h[2-5]\nSwitchName=rack2 Nodes=h[6-9]\nSwitchName=core Switches=rack[1-2]\n' >"$dir/topology.conf"
start_slurm "${plugin_lines[@]}" TopologyPlugin=topology/tree GresTypes=fpga Licenses=tool:4 \
	DefMemPerCPU=40 \
	PriorityType=priority/multifactor PriorityWeightJobSize=10000 PriorityWeightPartition=1000 PriorityWeightAge=0 \
	"PreemptType=preempt/$([ -n "$accounts" ] && echo qos || echo partition_prio)" PriorityWeightQOS=10000 PreemptMode=REQUEUE \
	"PartitionName=low Nodes=ALL DefaultTime=60 MaxTime=INFINITE State=UP PriorityTier=0" \
	"PartitionName=high Nodes=ALL DefaultTime=60 MaxTime=INFINITE State=UP PriorityTier=10" \
	"PartitionName=big Nodes=h[6-9] DefaultTime=60 MaxTime=INFINITE State=UP" \
	"PartitionName=gpu Nodes=h9 DefaultTime=60 MaxTime=INFINITE State=UP" \
	"PartitionName=small Nodes=ALL MaxNodes=1 DefaultTime=10 MaxTime=10 State=UP" \
	"PartitionName=closed Nodes=h[6-9] DefaultTime=60 MaxTime=INFINITE State=DOWN"
wait_for 120 all_idle || { fail "eight nodes are idle" "$(ctl sinfo 2>&1)"; plan; exit; }
[ -z "$accounts" ] || { add_limits; test=slurm_limits; }
random_mesh
start_schedd
start_agent --patience 10 # a job that schedd placed where Slurm cannot start it is late
wait_for 60 has_slots 4 || { fail "schedd has the nodes" "$("$nomora" nodes 2>&1)" "$(cat "$dir/agent.log")"; plan; exit; }
[[ ${NOMORA_CONSUMES:-} != *Memory ]] || settings=(--memory)
nsenter --net="/run/netns/$lab-h1" python3 "$(dirname "$0")/$test.py" --lines "${NOMORA_PAIRS:-60}" --seed "${NOMORA_SEED:-1}" --mark "$dir" "${settings[@]}" >"$dir/pairs"
status=$?
cat "$dir/pairs"
if [ $status -ne 0 ]; then
	tail -n 30 "$dir/agent.log" | sed 's/^/# /'
fi
planned=1
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow run --slurm: Slurm starts the tasks of a heterogeneous job on the chosen hosts of a routed lab, each
# with a slurmd; meanwhile a link on a route is cut, and no tuple is lost or duplicated.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
for program in slurmctld slurmd munged srun; do command -v $program >/dev/null || skip_all "needs $program"; done
lab=ds$((BASHPID % 100000)) hosts=(h0 h4 h8 h15)
# The paths of unix sockets must be short. slurmctld, slurmd and munged run in the lab and end with it.
dir=$(mktemp -d /tmp/nomora-slurm.XXXXXX)
at_exit rm -rf "$dir"
"$nomora" lab up --name $lab --fabric fattree:4 --link-MBps 2 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
mkdir -p "$dir"/{state,plans,bin,spool}

# on HOST COMMAND...: in the host's network, with its name
on() { nsenter --net="/run/netns/$(netns "$1")" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$@"; }
netns() { jq -r --arg name "$1" '.labs[0].hosts[] | select(.name == $name).netns' "$dir/lab.json"; }
address() { jq -r --arg name "$1" '.labs[0].hosts[] | select(.name == $name).address' "$dir/lab.json"; }
"$nomora" lab status --name $lab --json >"$dir/lab.json"
{
	cat <<-END
		ClusterName=nomora
		SlurmctldHost=h5($(address h5))
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock
		CredType=cred/munge
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.%n.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.%n.log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,bf_interval=1
		SlurmdParameters=config_overrides
		SlurmdTimeout=300
		MessageTimeout=60
		KillWait=2
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	for host in "${hosts[@]}"; do echo "NodeName=$host NodeAddr=$(address "$host") CPUs=2 RealMemory=100"; done
} >"$dir/slurm.conf"
export SLURM_CONF=$dir/slurm.conf
(umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
on h5 munged --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" \
	--seed-file="$dir/munge.seed" --origin=127.0.0.1
on h5 slurmctld -c -f "$SLURM_CONF"
for host in "${hosts[@]}"; do
	mkdir -p "$dir/spool/$host"
	on "$host" slurmd -N "$host" -f "$SLURM_CONF"
done
# Commands of Slurm are run on the controller's host.
printf '#!/bin/sh\nexec nsenter --net=/run/netns/%s /usr/bin/srun "$@"\n' "$(netns h5)" >"$dir/bin/srun"
chmod +x "$dir/bin/srun"
idle() { [ "$(on h5 sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" -eq ${#hosts[@]} ]; }
check "four nodes are idle" wait_for 120 idle

"$nomora" lab inventory --name $lab --topology "$scratch/net.json" >/dev/null
jq '{schema: "nomora.dataflow/1", topology: ., slots: 2, jobs: [{name: "j",
	components: [{name: "a", tasks: 2, MBps: 0.5}, {name: "b", tasks: 2}, {name: "c"}],
	edges: [{from: "a", to: "b"}, {from: "b", to: "c", grouping: "all"}],
	placement: {"a.0": "h0", "a.1": "h0", "b.0": "h15", "b.1": "h8", "c.0": "h4"}}]}' "$scratch/net.json" >"$scratch/job.json"
read -r a b <<<"$("$nomora" dataflow --json --random-runs 0 "$scratch/job.json" |
	jq -r '[.routes[] | select(.links | length == 6) | .links[2]][0] | sub(" -> "; " ")')"
PATH=$dir/bin:$PATH "$nomora" dataflow run --lab $lab --seconds 3 --random-runs 0 --json --slurm "$dir/plans" --fail "link:$a:$b@1" "$scratch/job.json" >"$scratch/out" 2>"$scratch/said" &
controller=$!
workers() { on h5 squeue -h -t R -o '%N %C' | sort | paste -sd, ; }
placed() { [ "$(workers)" = "h0 2,h15 1,h4 1,h8 1" ]; }
check "Slurm runs a job of four components on the decided hosts" wait_for 60 placed
# task NODE: lists the tasks whose processes are in the node's network namespace
tasks() { for pid in $(ip netns pids "$(netns "$1")"); do tr '\0' '\n' <"/proc/$pid/cmdline" | grep "^$dir/plans"; done | xargs jq -r .task | sort -u | paste -sd' '; }
tasks_right() { [ "$(tasks h0)/$(tasks h15)/$(tasks h8)/$(tasks h4)" = "j.a.0 j.a.1/j.b.0/j.b.1/j.c.0" ]; }
check "each task runs where it was decided" wait_for 30 tasks_right
wait $controller
ended=$?
if [ $ended -eq 0 ]; then pass "the run ends well"; else fail "the run ends well" "exit $ended" "$(cat "$scratch/said")" "$(tail -n 3 "$scratch/out")"; fi
check "every tuple arrives once" jq -e '.schema == "nomora.dataflow-run/1" and .complete and .sent == .received and .received > 100 and .lost == 0 and .duplicated == 0' <<<"$(tail -n 1 "$scratch/out")"
check "the link that was cut had its flows on new routes" jq -es 'map(.rerouted // 0) | add > 0' "$scratch/out"
no_job() { [ -z "$(on h5 squeue -h)" ]; }
check "Slurm has no job left" wait_for 30 no_job
check "the shared folder is empty again" test -z "$(ls "$dir/plans")"
refuses "a shared folder that does not exist" 1 'cannot make a folder in it: No such file' \
	"$nomora" dataflow run --lab $lab --seconds 1 --random-runs 0 --json --slurm "$dir/none" "$scratch/job.json"

PATH=$dir/bin:$PATH setsid "$nomora" dataflow run --lab $lab --seconds 600 --random-runs 0 --json --slurm "$dir/plans" "$scratch/job.json" >"$scratch/out" 2>&1 &
controller=$!
check "a run is under way" wait_for 60 grep -q run-second "$scratch/out"
kill -KILL $controller
wait $controller 2>/dev/null
check "killed, it leaves no job" wait_for 60 no_job
plan

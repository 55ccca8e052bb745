#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# record.sh BIN SOURCE: makes the files beside this script, by a real Slurm: slurmctld, slurmdbd with MariaDB, and seven
# slurmd with 4 CPUs each, in a lab. By hand, as root; needs slurmctld, slurmd, slurmdbd and mariadb-server-core:
#
#   tests/data/slurm/record.sh build/bin .
#
# sacct.txt, squeue.txt and scontrol.txt are the output of the three commands that nomora-gain(1) names, while these jobs run: three
# with a comment, one of them a heterogeneous job, two without, the elements of an array, and one that waits. history.txt is
# what sacct -D prints of jobs that ended in other ways.
. "$(dirname "$0")/../../cli/lib.sh"
target=$(realpath "$(dirname "$0")")
lab=r$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5 h6 h7 h8) accounts=1
. "$source_root/tests/lab/slurm_cluster.sh"
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 RealMemory=100"; done
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --hosts 8 --racks 2 >/dev/null || exit

start_slurm AccountingStoreFlags=job_comment JobAcctGatherType=jobacct_gather/none
wait_for 60 all_idle || { ctl sinfo; tail "$dir/slurmctld.log"; exit 1; }

printf '#!/bin/sh\nexec srun sleep 600\n' >"$dir/steps.sh"
printf '#!/bin/sh\nexec sleep 600\n' >"$dir/plain.sh"
add() { submit -D / -o /dev/null "$@"; }
accounting add account main
accounting add user root account=main
add -n 4 -w h2,h5 -N 2 --comment=nomora:curve=memcached "$dir/steps.sh"
add -n 3 -w h3,h6,h8 -N 3 --comment=nomora:curve=spark,root=1 "$dir/steps.sh"
add -n 5 -w 'h[3-4]' -N 2 "$dir/steps.sh"
add -n 1 -w h7 "$dir/plain.sh"
add --array=1-2 -n 1 -w h7 "$dir/plain.sh"
add -n 2 -w h6 --comment=nomora:curve=memcached : -n 1 -w h8 "$dir/plain.sh"
add -n 27 "$dir/plain.sh"
running() {
	[ "$(ctl squeue -h -t R -o %i | wc -l)" -eq 8 ] && [ "$(ctl sacct -n -a -P -s R -o JobID,NTasks | grep -c '\.0|')" -ge 3 ]
}
wait_for 60 running || { ctl squeue; tail "$dir/slurmctld.log"; exit 1; }
ctl sacct -a -P -s RUNNING,PENDING -o JobID,State,NodeList,NTasks,AllocCPUS,Comment >"$target/sacct.txt"
ctl squeue -o '%i|%T|%N|%C|%k' >"$target/squeue.txt"
ctl scontrol -o -d show job >"$target/scontrol.txt"
ctl scancel -u root
no_jobs() { [ -z "$(ctl squeue -h)" ]; }
wait_for 60 no_jobs

# History: a job of two steps, one that fails, an array, two components, one that is cancelled, one that never ran, one that is
# requeued, one whose node fails, and one that still runs.
begin=$(date +%FT%T)
printf '#!/bin/sh\nsrun sleep 6\nsrun -n 1 sleep 2\n' >"$dir/steps.sh"
printf '#!/bin/sh\nexec sleep $1\n' >"$dir/plain.sh"
is_running() { is_job "$1" JobState RUNNING; }
add -n 4 -w h2,h5 -N 2 "$dir/steps.sh"
printf '#!/bin/sh\nexit 3\n' >"$dir/fail.sh"
add -n 2 "$dir/fail.sh"
add --array=1-3%2 -n 2 "$dir/plain.sh" 4
add -n 2 : -n 1 "$dir/plain.sh" 6
cancelled=$(add -n 3 "$dir/plain.sh" 600)
never=$(add -n 28 "$dir/plain.sh" 3)
again=$(add -n 2 --requeue "$dir/plain.sh" 5)
failed=$(add -n 2 -w h8 --requeue "$dir/plain.sh" 5)
for id in "$cancelled" "$again" "$failed"; do wait_for 60 is_running "$id"; done
sleep 2
ctl scancel "$cancelled" "$never"
ctl scontrol requeue "$again"
ctl scontrol update nodename=h8 state=down reason=test
sleep 2
ctl scontrol update nodename=h8 state=idle
wait_for 300 no_jobs # Slurm waits two minutes after a failure
last=$(add -n 5 "$dir/plain.sh" 600)
wait_for 60 is_running "$last"
sleep 2 # slurmdbd has it
ctl sacct -a -P -D -S "$begin" -o JobID,Submit,Start,End,ElapsedRaw,NTasks,AllocCPUS,State >"$target/history.txt"
ctl scancel -u root
planned=1

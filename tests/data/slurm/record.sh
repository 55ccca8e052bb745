#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# record.sh BIN SOURCE: makes the files beside this script, by a real Slurm: slurmctld, slurmdbd with MariaDB, and seven
# slurmd with 4 CPUs each, in a lab. By hand, as root; needs slurmctld, slurmd, slurmdbd and mariadb-server:
#
#   tests/data/slurm/record.sh build/bin .
#
# sacct.txt, squeue.txt and scontrol.txt are the output of the three commands that nomora-gain(1) names, while these jobs run: three
# with a comment, one of them a heterogeneous job, two without, the elements of an array, and one that waits.
. "$(dirname "$0")/../../cli/lib.sh"
target=$(realpath "$(dirname "$0")")
lab=r$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5 h6 h7 h8)
. "$source_root/tests/lab/slurm_cluster.sh"
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 RealMemory=100"; done
at_exit "$nomora" lab down --name "$lab"
"$nomora" lab up --name "$lab" --hosts 8 --racks 2 >/dev/null || exit

# The database and slurmdbd, both on the controller's host.
mariadb-install-db --no-defaults --user=root --datadir="$dir/db" --auth-root-authentication-method=normal >/dev/null
launch "$controller" mariadbd --no-defaults --user=root --datadir="$dir/db" --skip-grant-tables --skip-name-resolve \
	--bind-address=127.0.0.1 --socket="$dir/my.sock" 2>"$dir/my.log" &
at_exit kill $!
wait_for 60 mariadb --no-defaults --socket="$dir/my.sock" -e 'SELECT 1' || { cat "$dir/my.log"; exit 1; }
cat >"$dir/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock
DbdHost=$controller
DbdAddr=127.0.0.1
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=root
StoragePass=none
StorageLoc=slurm
LogFile=$dir/slurmdbd.log
PidFile=$dir/slurmdbd.pid
END
chmod 600 "$dir/slurmdbd.conf"
start_controller() { # start_slurm calls it when munged runs
	on "$controller" slurmdbd
	wait_for 60 ctl sacctmgr -n show cluster || { cat "$dir/slurmdbd.log"; exit 1; }
	ctl sacctmgr -i add cluster nomora >/dev/null
	on "$controller" slurmctld "$@" -f "$SLURM_CONF"
}
start_slurm AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=127.0.0.1 AccountingStoragePass="$dir/munge.sock" \
	AccountingStoreFlags=job_comment JobAcctGatherType=jobacct_gather/none
wait_for 60 all_idle || { ctl sinfo; tail "$dir/slurmctld.log"; exit 1; }

printf '#!/bin/sh\nexec srun sleep 600\n' >"$dir/steps.sh"
printf '#!/bin/sh\nexec sleep 600\n' >"$dir/plain.sh"
submit() { ctl sbatch --parsable -D / -o /dev/null "$@" >>"$dir/ids"; }
submit -n 4 -w h2,h5 -N 2 --comment=nomora:curve=memcached "$dir/steps.sh"
submit -n 3 -w h3,h6,h8 -N 3 --comment=nomora:curve=spark,root=1 "$dir/steps.sh"
submit -n 5 -w 'h[3-4]' -N 2 "$dir/steps.sh"
submit -n 1 -w h7 "$dir/plain.sh"
submit --array=1-2 -n 1 -w h7 "$dir/plain.sh"
submit -n 2 -w h6 --comment=nomora:curve=memcached : -n 1 -w h8 "$dir/plain.sh"
submit -n 27 "$dir/plain.sh"
running() {
	[ "$(ctl squeue -h -t R -o %i | wc -l)" -eq 8 ] && [ "$(ctl sacct -n -a -P -s R -o JobID,NTasks | grep -c '\.0|')" -ge 3 ]
}
wait_for 60 running || { ctl squeue; tail "$dir/slurmctld.log"; exit 1; }
ctl sacct -a -P -s RUNNING,PENDING -o JobID,State,NodeList,NTasks,AllocCPUS,Comment >"$target/sacct.txt"
ctl squeue -o '%i|%T|%N|%C|%k' >"$target/squeue.txt"
ctl scontrol -o -d show job >"$target/scontrol.txt"
ctl scancel -u root
planned=1

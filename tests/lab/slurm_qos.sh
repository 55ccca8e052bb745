#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Accounts and QOS with limits (slurmdbd): a job that Slurm refuses or holds back after schedd has placed it reserves no slots,
# and starts as without the comment once the limit allows it. The agent's --patience is long. Needs slurmdbd and
# mariadb-server-core.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-slurm" ] || skip_all "built without Slurm"

lab=q$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5) accounts=1
. "$(dirname "$0")/slurm_cluster.sh"
has_accounting || skip_all "no slurmdbd and MariaDB"
at_exit "$nomora" lab down --name "$lab"
use_plugin
for host in "${hosts[@]}"; do node_options[$host]="CPUs=4 RealMemory=400"; done
"$nomora" lab up --name "$lab" --hosts 5 --racks 1 >/dev/null 2>"$dir/lab.log" || { cat "$dir/lab.log"; exit 1; }
start_slurm "${plugin_lines[@]}" PreemptType=preempt/qos PreemptMode=REQUEUE
within 120 "four nodes are idle" all_idle
add_limits
random_mesh
start_schedd
start_agent --patience 60
within 60 "schedd has the nodes with their CPUs" has_slots 4

printf '#!/bin/sh\nexec sleep 600\n' >"$dir/sleep.sh"
asked() { submit -o /dev/null --comment=nomora:curve=memcached,move=no "$@" "$dir/sleep.sh"; }
runs() { is_job "$1" JobState RUNNING; }
waits_for() { is_job "$1" JobState PENDING && is_job "$1" Reason "$2"; }
# reserved: the number of slots of tasks that do not run.
reserved() { "$nomora" jobs --json | jq '[.jobs[].decided] | add // 0'; }
none_reserved() { [ "$(reserved)" -eq 0 ]; }
jobs_are() { [ "$("$nomora" jobs --json | jq '.jobs | length')" -eq "$1" ]; }

# submit_held ARGUMENT...: submits jobs until schedd has decided about one that Slurm then holds back.
placed_at() { grep -c "placed at once" "$dir/agent.log"; }
submit_held() {
	local id before
	for _ in $(seq 50); do
		before=$(placed_at)
		id=$(asked "$@")
		[ "$(placed_at)" -gt "$before" ] && break
		ctl scancel "$id"
		sleep 0.5
	done
	echo "$id"
}
first=$(asked -n 1 -A few)
within 20 "an account with MaxJobs=1: the first job runs" runs "$first"
held=$(submit_held -n 4 -A few)
within 20 "the second waits for the limit" waits_for "$held" AssocMaxJobsLimit
within 20 "schedd reserves no slots for it" none_reserved
check "its mark says why" test "$(mark "$held" | sed 's/ *$//')" = "pass Slurm cannot start it, whatever nodes are free"
for account in narrow:QOSMaxCpuPerJobLimit capped:AssocMaxCpuPerJobLimit group:QOSGrpCpuLimit; do
	id=$(submit_held -n 9 -A "${account%:*}")
	within 20 "account ${account%:*}: waits for ${account#*:}" waits_for "$id" "${account#*:}"
	within 20 "account ${account%:*}: schedd reserves no slots" none_reserved
	ctl scancel "$id"
done
ctl scancel "$first"
within 20 "once the limit allows it, the job starts" runs "$held"
ctl scancel -u root
within 60 "schedd has no job" jobs_are 0

before=$(placed_at)
for _ in $(seq 50); do
	check_refused=$(asked -n 9 -A denied)
	[ "$(placed_at)" -gt "$before" ] && break
	sleep 0.5
done
check "DenyOnLimit: sbatch refuses the job after schedd has decided" test -z "$check_refused" -a "$(placed_at)" -gt "$before"
check "with Slurm's reason" grep -q "QOSMaxCpuPerJobLimit" "$dir/sbatch.log"
within 20 "schedd forgets it" jobs_are 0
check "an account that does not exist: refused" test -z "$(asked -n 4 -A none)"
within 20 "schedd forgets it too" jobs_are 0

full=$(asked -n 16)
within 20 "a job has all CPUs" runs "$full"
urgent=$(asked -n 4 -A urgent)
within 20 "a job whose account has a QOS that preempts starts at once" runs "$urgent"
within 20 "the other is requeued" is_job "$full" JobState PENDING
ctl scancel -u root
within 60 "all slots are free" jobs_are 0
plan

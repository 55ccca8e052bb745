#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Slurm end to end on a virtual rack: slurmctld, seven slurmd, schedd, the agent, an MPI job, which moves after a delay
# is added.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-slurm" ] || skip_all "built without Slurm"
command -v mpicc >/dev/null || skip_all "needs mpicc"

lab=s$((BASHPID % 100000)) controller=h1 hosts=(h2 h3 h4 h5 h6 h7 h8)
. "$(dirname "$0")/slurm_cluster.sh"
at_exit "$nomora" lab down --name "$lab"
use_plugin
address() { echo "10.77.$(((${1#h} - 1) / 4 + 1)).$(((${1#h} - 1) % 4 + 1))"; }

agent_options=(--patience 2 --no-return 3600)
# stop NAME SIGNAL: stops a program that was started by start_NAME.
stop() { kill "-$2" "$(cat "$dir/$1.pid")" && tail --pid="$(cat "$dir/$1.pid")" -s 0.05 -f /dev/null; }

# measure: writes the fastest of some pings between any two hosts to the mesh.
measure() {
	local a b pids=()
	for a in "${hosts[@]}"; do
		for b in "${hosts[@]}"; do
			[ "$a" = "$b" ] || echo "$b $(address "$b")"
		done | nsenter --net="/run/netns/$lab-$a" sh -c '
			while read -r name address; do
				ping -q -n -c 8 -i 0.002 -W 5 "$address" | sed -n "s,.*= \([0-9.]*\)/.*,$1 $name \1,p"
			done' sh "$a" >"$dir/pings.$a" &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat "$dir"/pings.* >"$dir/pings"
	awk -v now="$(date +%s)" 'BEGIN { print "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at" }
		{ us = $3 * 1000; printf "%s,%s,%g,%g,%g,0,8,%d\n", $1, $2, us, us, us, now }' "$dir/pings" >"$dir/new.csv"
	[ "$(wc -l <"$dir/new.csv")" -eq 43 ] && mv "$dir/new.csv" "$dir/latency.csv"
}

layout() { ctl "$bin/nomora-slurm" slurm-hostfile "$1" --json 2>/dev/null | jq -c .hosts; }
# agree ID: schedd has the job running on the nodes in its mark, which are those that Slurm allocated.
agree() {
	local id
	is_job "$1" JobState RUNNING || return 1
	id=$(mark "$1") id=${id%% *}
	[ "$("$nomora" jobs "$id" --json | jq -c '[.tasks[] | select(.state == "running").machine]')" = "$(layout "$1")" ] &&
		[ "$(layout "$1" | jq -r '.[]' | sort -u)" = "$(ctl scontrol show hostnames "$(job "$1" NodeList)" | sort -u)" ]
}
gone() { ! "$nomora" jobs --json | jq -r '.jobs[].id' | grep -qE "^slurm-$1(\.|$)"; }
in_state() { [ "$("$nomora" nodes --json | jq -r ".machines[] | select(.name == \"$1\").state")" = "$2" ]; }
# submit_timed WHEN ARGUMENT...: submits a job; the time is only logged, as tests/lab checks no times on busy machines.
submit_timed() {
	local when=$1 began
	shift
	began=$(date +%s%N)
	submit "$@"
	echo "# sbatch $when: $((($(date +%s%N) - began) / 1000000)) ms" >>"$dir/times"
}
# begin COMMAND...: runs it, and notes the time for settled().
begin() { began=$(date +%s%N) && "$@"; }
# began_with PATTERN: the event is the last line of slurmctld's log that matches, where Slurm itself takes its time before.
began_with() { began=$(date -d "$(sed -n "s/^\[\([^]]*\)\] .*$1.*/\1/p" "$dir/slurmctld.log" | tail -n 1)" +%s%N); }
# in_time NAME MS LIMIT: passes if an event took at most LIMIT ms. On a machine where a mere question to slurmctld takes
# 0.25 s the figure is only printed.
in_time() {
	local asked
	if [ "$2" -ge 0 ] && [ "$2" -le "$3" ]; then
		pass "$1 ($2 ms)"
		return
	fi
	asked=$(date +%s%N)
	ctl scontrol ping >/dev/null
	asked=$((($(date +%s%N) - asked) / 1000000))
	if [ "$2" -gt "$3" ] && [ $asked -gt 250 ]; then
		skip "$1" "$2 ms on a busy machine: scontrol ping takes $asked ms"
	else
		fail "$1" "$2 ms; scontrol ping takes $asked ms"
	fi
}
# settled NAME CONDITION: the last record of schedd's journal with this condition (jq) is from within 5 s of the event
# that began.
settled() {
	in_time "$1: the states agree within 5 s" "$("$nomora" schedd export | jq -rs --argjson began "$began" \
		"(.[0].origin_s * 1000) as \$origin | [.[] | select($2) | \$origin + .t_us / 1000] | max - \$began / 1000000 | floor")" 5000
}
runs() { echo ".event == \"task\" and .state == \"running\" and .job == \"$(mark "$1" | cut -d' ' -f1)\""; }
ends() { echo ".event == \"task\" and .state == \"ended\" and .job == \"$1\""; }
becomes() { echo ".event == \"machine\" and .machine == \"$1\" and .state == \"$2\""; }
drain() { ctl scontrol update NodeName="$1" State=DRAIN Reason=test; }
resume() { ctl scontrol update NodeName="$1" State=RESUME; }

"$nomora" lab up --name "$lab" --hosts 8 --racks 2 --inject h3 --delay-us 0 >/dev/null 2>"$dir/lab.log" || { cat "$dir/lab.log"; exit 1; }
printf 'SwitchName=rack1 Nodes=h[2-4]\nSwitchName=rack2 Nodes=h[5-8]\nSwitchName=core Switches=rack[1-2]\n' >"$dir/topology.conf"
start_slurm "${plugin_lines[@]}" TopologyPlugin=topology/tree PriorityType=priority/multifactor PriorityWeightJobSize=100000 \
	PreemptType=preempt/partition_prio PreemptMode=REQUEUE "PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=0"
within 120 "seven nodes are idle" all_idle
check "every pair of hosts is measured" measure
# injector SIGNAL: it takes a whole CPU, and only measure() and the MPI job use h3's link.
injector() { ip netns pids "$lab-inj" | xargs -r kill "-$1"; }
injector STOP
start_schedd
start_agent "${agent_options[@]}" --migrate on
within 60 "schedd has the nodes with their CPUs, in the racks of Slurm's topology" has_slots 2
check "racks come from topology.conf" test "$("$nomora" nodes --json | jq -r '[.machines[].rack] | unique | join(",")')" = rack1,rack2

# --- a comment costs a job nothing: neither its place in the queue nor preemption
asking=--comment=nomora:curve=memcached,move=no
cat >"$dir/note.sh" <<END
#!/bin/sh
#SBATCH --output=/dev/null
echo "\$1" >>"$dir/order.\$2"
END
cat >"$dir/fill.sh" <<END
#!/bin/sh
#SBATCH --output=/dev/null
exec sleep 600
END
noted() { [ "$(wc -l <"$dir/order.$1")" -eq "$2" ]; }
# full: schedd knows that no slot is free. Before it does, a job could get nodes that are taken, until the agent's next poll.
full() { [ "$("$nomora" nodes --json | jq '[.machines[] | .slots - .tasks] | add')" = 0 ]; }
# queue NAME [OPTION...]: 20 jobs, of which no two fit at once, wait for a full cluster; the larger has the higher
# priority. Notes the order of their starts.
queue() {
	local name=$1 filler n
	shift
	filler=$(submit -n 14 "$@" "$dir/fill.sh")
	wait_for 60 is_job "$filler" JobState RUNNING && wait_for 60 full || return 1
	for n in 9 8 12 10 11 8 13 9 14 10 12 11 9 13 8 10 12 11 13 14; do
		submit -n "$n" "$@" "$dir/note.sh" "$n" "$name" >/dev/null
	done
	ctl scancel "$filler"
	wait_for 120 noted "$name" 20
}
check "20 jobs wait for a full cluster, and start" queue plain
check "and 20 with a comment" queue asked $asking
check "in the same order" cmp "$dir/order.plain" "$dir/order.asked"
# preempts NAME [OPTION...]: the milliseconds until a job runs for which one of a lower partition must go.
preempts() {
	local name=$1 low other job began
	shift
	low=$(submit -p low -n 8 "$dir/fill.sh")
	other=$(submit -n 4 "$@" "$dir/fill.sh")
	wait_for 60 is_job "$low" JobState RUNNING && wait_for 60 is_job "$other" JobState RUNNING || return 1
	sleep 1 # schedd has both
	began=$(date +%s%N)
	job=$(submit -n 4 "$@" "$dir/fill.sh")
	wait_for 60 is_job "$job" JobState RUNNING || return 1
	echo $((($(date +%s%N) - began) / 1000000)) >"$dir/preempts.$name"
	ctl scancel "$job" "$low" "$other"
	wait_for 60 all_idle
}
check "a job preempts one of a lower partition" preempts plain
check "and so does one with a comment" preempts asked $asking
later=$(($(cat "$dir/preempts.asked") - $(cat "$dir/preempts.plain")))
in_time "it starts at most 2 s later" $((later > 0 ? later : 0)) 2000
echo "# preempts after $(cat "$dir/preempts.plain") ms, with a comment after $(cat "$dir/preempts.asked") ms"
# --- CPUs in fragments: two free on one node, one on another
waited() { echo $((($(date -d "$(job "$1" StartTime)" +%s) - $(date -d "$(job "$1" SubmitTime)" +%s)) * 1000)); }
# fits ID: it runs, with one CPU for each task.
fits() { wait_for 60 is_job "$1" JobState RUNNING && is_job "$1" NumCPUs 3; }
most=$(submit -N 5 -n 10 -w "h[2-6]" "$dir/fill.sh") one=$(submit -n 1 -w h7 "$dir/fill.sh")
within 60 "three CPUs are free, on two nodes" is_job "$one" JobState RUNNING
plain=$(submit -n 3 "$dir/fill.sh")
check "a job of three tasks starts there" fits "$plain"
ctl scancel "$plain"
asked=$(submit_placed -n 3 $asking "$dir/fill.sh")
check "and so does one that schedd places" fits "$asked"
in_time "at most 2 s after it was submitted" "$(waited "$asked")" 2000
ctl scancel "$asked" "$most" "$one"
idle() { [ "$("$nomora" jobs --json | jq '.jobs | length')" -eq 0 ] && all_idle; }
within 60 "the cluster is idle" idle

# An MPI program: prints the host of each rank, then runs rounds of an allreduce over all ranks until it is stopped, and
# prints each second how many it does per second. It pauses between them: it runs during most of this script, and MPI
# waits busily.
cat >"$dir/rounds.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char host[64] = "", hosts[16][64];
	int rank, ranks, stop = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	gethostname(host, sizeof host - 1);
	MPI_Gather(host, 64, MPI_CHAR, hosts, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int r = 0; rank == 0 && r < ranks; r++)
		printf("rank %d on %s\n", r, hosts[r]);
	while (!stop) {
		double began = MPI_Wtime(), spent = 0;
		int rounds = 0, any;
		for (any = 0; !any; rounds++) {
			double from = MPI_Wtime();
			int mine = from - began >= 1;
			MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
			spent += MPI_Wtime() - from;
			usleep(5000);
		}
		if (rank == 0)
			printf("%.0f rounds/s\n", rounds / spent), fflush(stdout);
	}
	MPI_Finalize();
	return 0;
}
END
check "the MPI program compiles" mpicc -O2 -o "$dir/rounds" "$dir/rounds.c"
# srun starts the ranks: mpirun would start its own daemons by another srun, and of 20 such starts here, 2 never ended.
cat >"$dir/mpi.sh" <<END
#!/bin/sh
#SBATCH --output=$dir/out.%j
#SBATCH --open-mode=append
echo "try \${SLURM_RESTART_COUNT:-0}"
export HOME=$dir SLURM_HOSTFILE=$dir/hosts.\$SLURM_JOB_ID.\${SLURM_RESTART_COUNT:-0}
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_mpi_yield_when_idle=1
"$bin/nomora" slurm-hostfile >"\$SLURM_HOSTFILE"
exec srun --mpi=pmix -n "\$SLURM_NTASKS" -m arbitrary "$dir/rounds"
END
cat >"$dir/sleep.sh" <<END
#!/bin/sh
#SBATCH --output=/dev/null
echo >"$dir/ran.\${SLURM_ARRAY_JOB_ID:-\$SLURM_JOB_ID}\${SLURM_ARRAY_TASK_ID:+_\$SLURM_ARRAY_TASK_ID}"
exec sleep 600
END
# ran JOB: its script runs; slurmd takes 5 s to end one that is only about to.
ran() { wait_for 60 test -e "$dir/ran.$1"; }

# --- placed, with counts; only h3 and h4 are free
injector CONT
for host in h2 h5 h6 h7; do drain $host; done
begin drain h8
within 60 "drained by hand: schedd knows" in_state h8 draining
settled "drained by hand" "$(becomes h8 draining)"
# output TRY: output of the first job since its TRYth start.
output() { sed -n "/^try $1\$/,/^try $(($1 + 1))\$/p" "$dir/out.$first"; }
makes_rounds() { output "$1" | grep -q rounds; }
ranks_as_decided() { [ "$(output "$1" | sed -n 's/^rank [0-9]* on //p')" = "$(cat "$dir/hosts.$first.$1")" ]; }
first=$(submit_placed -n 3 --comment=nomora:curve=memcached "$dir/mpi.sh")
within 60 "a job is placed and runs; both sides agree" agree "$first"
check "on the two nodes that are left" test "$(layout "$first" | jq -r '.[]' | sort | uniq -c | awk '{ print $1 }' | sort | tr -d '\n')" = 12
within 120 "the MPI job makes rounds" makes_rounds 0
check "srun -m arbitrary starts each rank where it was decided" ranks_as_decided 0
for host in h2 h5 h6 h7 h8; do resume $host; done
within 60 "back in service" in_state h8 up
# refused COMMENT REASON: the comment is refused. An earlier answer that was too late for slurmctld lets jobs pass for 5
# s.
refused() {
	run ctl sbatch --parsable --comment="$1" "$dir/sleep.sh"
	[ "$code" -ne 0 ] || { ctl scancel "$out"; return 1; }
	grep -q "$2" <<<"$err"
}
within 60 "an unknown curve" refused nomora:curve=none "comment: unknown curve 'none'"
within 60 "a misspelt comment" refused nomora:curv=memcached "bad field 'curv=memcached'"

# --- a delay at h3: the job moves, and then stays median: of the rates in the lines of an output.
median() { sed -n 's,^\([0-9]*\) rounds/s$,\1,p' | sort -n | awk '{ rate[NR] = $1 } END { print NR ? rate[int((NR + 1) / 2)] : "none" }'; }
quiet=$(wc -l <"$dir/out.$first")
"$nomora" inject-ctl "/run/nomora/$lab-h3.sock" set delay_us=3000 >/dev/null
check "the delay is measured" measure
moved() { [ "$(job "$first" Restarts)" -ge 1 ] && ! layout "$first" | grep -q h3 && agree "$first"; }
within 120 "the job is requeued and runs without h3" moved
within 120 "it makes rounds there" makes_rounds 1
check "its ranks start where they were decided" ranks_as_decided 1
check "the agent says why" grep -qE "job $first: moves for a predicted performance of (1|0\.[6-9])[.0-9]* instead of 0\.[0-9]+" "$dir/agent.log"
"$nomora" inject-ctl "/run/nomora/$lab-h3.sock" set delay_us=0 >/dev/null
check "the delay is gone from the mesh" measure
"$nomora" inject-ctl "/run/nomora/$lab-h3.sock" stop >/dev/null # no MPI job comes to h3 any more
here=$(layout "$first")

# --- schedd hangs: no job waits longer than the agent's --patience (2 s) and a second
kill -STOP "$(cat "$dir/schedd.pid")"
for try in 1 2 3; do
	began=$(date +%s%N)
	hung=$(submit -n 1 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
	within 60 "schedd hangs: job $try runs" is_job "$hung" JobState RUNNING
	in_time "schedd hangs: job $try runs within 3 s" $((($(date +%s%N) - began) / 1000000)) 3000
	ctl scancel "$hung"
done
kill -CONT "$(cat "$dir/schedd.pid")"
within 60 "schedd goes on: the jobs that have ended are gone" gone "$hung"

# --- schedd dies: Slurm decides alone; it comes back: what runs is adopted
stop schedd KILL
plain=$(submit_timed "that the plug-in leaves alone, without schedd" --hold -n 2 "$dir/sleep.sh")
ctl scancel "$plain"
alone=$(submit_timed "without schedd" -n 2 --comment=nomora:curve=memcached "$dir/sleep.sh")
within 60 "without schedd Slurm decides" is_job "$alone" JobState RUNNING
begin start_schedd
within 60 "back: the job that Slurm placed is adopted" agree "$alone"
settled "schedd killed and started" "$(runs "$alone")"
within 60 "and the one before is known" agree "$first"
check "it did not move back" test "$(layout "$first")" = "$here"

# --- the agent dies, a job ends meanwhile; slurmctld restarts
stop agent KILL
ctl scancel "$alone"
# The agent answers nonsense: a job passes all the same.
rm -f "$NOMORA_SLURM_SOCKET"
python3 - "$NOMORA_SLURM_SOCKET" 2>/dev/null <<'END' &
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    asker, _ = listener.accept()
    try:
        asker.recv(4096)
        asker.sendall(b"PLACE " + b"n1," * 300000)
    except OSError:
        pass
    asker.close()
END
liar=$!
at_exit kill -9 $liar
wait_for 60 test -S "$NOMORA_SLURM_SOCKET"
orphan=$(submit_timed "with an agent that answers nonsense" -n 1 --comment=nomora:curve=memcached "$dir/sleep.sh")
within 60 "an agent that answers nonsense: Slurm decides" is_job "$orphan" JobState RUNNING
ctl scancel "$orphan"
kill -9 $liar
wait $liar 2>/dev/null
start_agent "${agent_options[@]}"
within 60 "the agent is back: the cancelled job is gone from schedd" gone "$alone"
stop_controller
start_controller
second=$(wait_for 60 ctl scontrol ping && submit -n 2 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
within 60 "slurmctld restarted: a new job runs" agree "$second"
# slurmctld starts no job before its nodes have registered, 5 s later.
began_with "\(Started\|Allocate\) JobId=$second "
settled "slurmctld restarted, the job started" "$(runs "$second")"
within 60 "and the first one is where it was" agree "$first"
ctl scancel "$second"
within 60 "a cancelled job is gone" gone "$second"
second=$(submit_placed -n 2 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
within 60 "the next one is placed" agree "$second"

# --- an array: Slurm places each element, a job of its own
array=$(submit -a 1-3 -n 1 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
array_agrees() { agree "${array}_1" && agree "${array}_2" && agree "${array}_3"; }
within 60 "each element of an array is adopted" array_agrees
ran "${array}_2"
begin ctl scancel "${array}_2"
within 60 "one is cancelled: its slot is free, the others run" gone "${array}_2"
settled "cancelled" "$(ends "slurm-${array}_2")"
ctl scancel "$array"
within 60 "so are those of all" gone "${array}_[13]"
# --- a job that depends on another takes no slots from schedd before Slurm has started it
parent=$(submit -n 1 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
within 60 "a job runs on which another depends" agree "$parent"
dependent=$(submit -n 1 --dependency="afterany:$parent" --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
later=$(submit -n 1 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
within 60 "so does a later one" agree "$later"
check "the dependent one is unknown to schedd" gone "$dependent"
ctl scancel "$parent"
within 60 "when the first has ended, it runs" agree "$dependent"
ctl scancel "$dependent" "$later"

short=$(submit_placed -n 1 --comment=nomora:curve=memcached "$dir/sleep.sh")
within 60 "a job is placed" agree "$short"
short_id=$(mark "$short" | cut -d' ' -f1)
ran "$short"
begin ctl scancel "$short"
is_unknown() { ! "$nomora" jobs --json | jq -e --arg id "$1" '.jobs[] | select(.id == $id)'; }
within 60 "cancelled at once, it is gone" is_unknown "$short_id"
settled "cancelled soon after its start" "$(ends "$short_id")"

# --- a second agent
refuses "a second agent is refused" 1 "another agent answers here" timeout 60 "$bin/nomora-slurm" slurm-agent --socket "$NOMORA_SLURM_SOCKET"

# --- by hand: requeue, and a job that says where it wants to be
ctl scontrol requeue "$second"
requeued() { [ "$(job "$1" Restarts)" = "$2" ] && agree "$1"; }
within 120 "requeued by hand: decided again" requeued "$second" 1
began_with "Requeuing JobId=$second" # slurmd may have taken seconds to end its processes
settled "requeued by hand" "$(runs "$second")"

# --- requeued before the agent has seen that it ran
missed=$(submit_placed -n 1 --comment=nomora:curve=memcached,move=no "$dir/sleep.sh")
kill -STOP "$(cat "$dir/agent.pid")"
within 60 "it starts while the agent is stopped" is_job "$missed" JobState RUNNING
ran "$missed"
ctl scontrol requeue "$missed"
waits() { [ "$(job "$missed" Restarts)" = 1 ] && is_job "$missed" JobState PENDING; }
within 60 "it is requeued" waits
begin kill -CONT "$(cat "$dir/agent.pid")"
within 60 "the agent goes on: it runs" requeued "$missed" 1
resumed=$began
began_with "Requeuing JobId=$missed" # the later of both: slurmd may have taken seconds, as above
[ "$began" -ge "$resumed" ] || began=$resumed
settled "requeued behind the agent's back" "$(runs "$missed")"
ctl scancel "$missed"

# --- a node is killed: its slurmd, and Slurm's word for it
lost=$(layout "$second" | jq -r '.[0]')
kill -9 "$(cat "$dir/slurmd.$lost.pid")"
begin ctl scontrol update NodeName="$lost" State=DOWN Reason=killed
within 60 "a node is killed: schedd has it down" in_state "$lost" down
settled "a node is killed" "$(becomes "$lost" down)"
within 120 "its job is requeued and placed elsewhere" requeued "$second" 2
# slurmctld tries for 10 s to reach the dead slurmd before it requeues a job that has other nodes, too.
began_with "Requeuing JobId=$second"
settled "its job, requeued" "$(runs "$second")"
elsewhere() { ! layout "$second" | grep -q "\"$lost\""; }
check "elsewhere" elsewhere
fixed=$(submit -n 2 -w h2 --comment=nomora:curve=memcached "$dir/sleep.sh")
placed_by_hand() { agree "$fixed" && [ "$(layout "$fixed")" = '["h2","h2"]' ]; }
case $(layout "$first")$(layout "$second")$lost in
*h2*) skip "a job with a node list of its own is adopted" "h2 is taken" ;;
*) within 60 "a job with a node list of its own is adopted there" placed_by_hand ;;
esac
ctl scancel "$first" "$second" "$fixed"
empty() { [ "$("$nomora" jobs --json | jq '.jobs | length')" -eq 0 ]; }
within 60 "cancelled: schedd has no jobs" empty
echo "# median rounds/s: $(head -n "$quiet" "$dir/out.$first" | median) before, $(sed -n "$((quiet + 1)),/^try 1/p" "$dir/out.$first" | median) with the delay," \
	"$(sed '1,/^try 1/d' "$dir/out.$first" | median) after; predicted: $(sed -n "s/.*job $first: moves for a predicted performance of //p" "$dir/agent.log")"
cat "$dir/times"
echo "# plug-in, each job: $(sed -n 's,.*job_submit/nomora: \([0-9]* us\)$,\1,p' "$dir/slurmctld.log" | paste -sd ' ')"
echo "# $(grep -c 'placed at once' "$dir/agent.log") of the jobs were placed while sbatch waited"
plan

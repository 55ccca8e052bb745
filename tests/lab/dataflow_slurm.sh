#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow run --slurm: Slurm starts the tasks of a heterogeneous job on the chosen hosts of a routed lab, each
# with a slurmd; meanwhile a link on a route is cut, and no tuple is lost or duplicated.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=ds$((BASHPID % 100000)) controller=h5 hosts=(h0 h4 h8 h15)
. "$(dirname "$0")/slurm_cluster.sh"
"$nomora" lab up --name $lab --fabric fattree:4 --link-MBps 2 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
mkdir "$dir"/{plans,bin}
start_slurm
# Commands of Slurm are run on the controller's host.
printf '#!/bin/sh\nexec nsenter --net=/run/netns/%s /usr/bin/srun "$@"\n' "$lab-$controller" >"$dir/bin/srun"
chmod +x "$dir/bin/srun"
check "four nodes are idle" wait_for 120 all_idle

"$nomora" lab inventory --name $lab --topology "$scratch/net.json" >/dev/null
jq '{schema: "nomora.dataflow/1", topology: ., slots: 2, jobs: [{name: "j",
	components: [{name: "a", tasks: 2, MBps: 0.5}, {name: "b", tasks: 2}, {name: "c"}],
	edges: [{from: "a", to: "b"}, {from: "b", to: "c", grouping: "all"}],
	placement: {"a.0": "h0", "a.1": "h0", "b.0": "h15", "b.1": "h8", "c.0": "h4"}}]}' "$scratch/net.json" >"$scratch/job.json"
read -r a b <<<"$("$nomora" dataflow plan --json --random-runs 0 "$scratch/job.json" |
	jq -r '[.routes[] | select(.links | length == 6) | .links[2]][0] | sub(" -> "; " ")')"
PATH=$dir/bin:$PATH "$nomora" dataflow run --lab $lab --seconds 30 --json --slurm "$dir/plans" --fail "link:$a:$b@3" "$scratch/job.json" >"$scratch/out" 2>"$scratch/said" &
run=$!
workers() { ctl squeue -h -t R -o '%N %C' | sort | paste -sd, ; }
placed() { [ "$(workers)" = "h0 2,h15 1,h4 1,h8 1" ]; }
check "Slurm runs a job of four components on the decided hosts" wait_for 60 placed
# task NODE: lists the tasks whose processes are in the node's network namespace
tasks() { for pid in $(ip netns pids "$lab-$1"); do tr '\0' '\n' <"/proc/$pid/cmdline" | grep "^$dir/plans/.*\.\(source\|task\)$"; done | xargs jq -r .task | sort -u | paste -sd' '; }
tasks_right() { [ "$(tasks h0)/$(tasks h15)/$(tasks h8)/$(tasks h4)" = "j.a.0 j.a.1/j.b.0/j.b.1/j.c.0" ]; }
check "each task runs where it was decided" wait_for 30 tasks_right
wait $run
ended=$?
if [ $ended -eq 0 ]; then pass "the run ends well"; else fail "the run ends well" "exit $ended" "$(cat "$scratch/said")" "$(tail -n 3 "$scratch/out")"; fi
check "every tuple arrives once" jq -e '.schema == "nomora.dataflow-run/1" and .complete and .sent == .received and .received > 100 and .lost == 0 and .duplicated == 0' <<<"$(tail -n 1 "$scratch/out")"
check "the link that was cut had its flows on new routes" jq -es 'map(.rerouted // 0) | add > 0' "$scratch/out"
no_job() { [ -z "$(ctl squeue -h)" ]; }
check "Slurm has no job left" wait_for 30 no_job
check "the shared folder is empty again" test -z "$(ls "$dir/plans")"
refuses "a shared folder that does not exist" 1 'cannot create a folder in it: No such file' \
	"$nomora" dataflow run --lab $lab --seconds 1 --json --slurm "$dir/none" "$scratch/job.json"

# A worker of job j is killed. Job k runs to its end.
jq '.jobs += [.jobs[0] | .name = "k" | .components[] |= (.tasks = 1) | .placement = {"a.0": "h4", "b.0": "h8", "c.0": "h15"}] | .slots = 3' \
	"$scratch/job.json" >"$scratch/two.json"
PATH=$dir/bin:$PATH "$nomora" dataflow run --lab $lab --seconds 40 --json --slurm "$dir/plans" "$scratch/two.json" >"$scratch/out" 2>"$scratch/said" &
run=$!
check "two jobs are under way" wait_for 60 jq -es 'map(select(.sink_MBps > 0.2)) | length > 2' "$scratch/out"
for pid in $(ip netns pids "$lab-h15"); do
	tr '\0' '\n' <"/proc/$pid/cmdline" | grep "^$dir/plans/.*\.task" | xargs -r jq -r .task | grep -qx j.b.0 && [ "$(ps -o comm= "$pid")" = nomora ] && kill -KILL "$pid"
done
check "the failed task is named" wait_for 30 grep -q 'task j.b.0 on host h15 failed; its job ends' "$scratch/said"
code=0
wait $run || code=$?
check "the exit status is 1" test $code -eq 1
check "the result has the job's failure, and the other job's sink" jq -e '(.failures | map([.job, .task, .cause]) == [["j", "b.0", "killed by signal 9"]]) and
	(.sinks | map(select(.job == "k" and .measured_MBps > 0.3)) | length == 1)' <<<"$(tail -n 1 "$scratch/out")"
check "Slurm has no job left after it" wait_for 30 no_job

PATH=$dir/bin:$PATH setsid "$nomora" dataflow run --lab $lab --seconds 600 --json --slurm "$dir/plans" "$scratch/job.json" >"$scratch/out" 2>&1 &
run=$!
check "a run is under way" wait_for 60 grep -q run-second "$scratch/out"
kill -KILL $run
wait $run 2>/dev/null
check "killed, it leaves no job" wait_for 60 no_job
plan

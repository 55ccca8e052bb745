#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora gain: the figures of today equal those that Python computes from the files; a gain that is not there is not
# printed; jobs and hosts that cannot be compared are named. The Slurm files are from a real Slurm (tests/data/slurm), the
# pods by the published types of the Kubernetes API v1, as kubectl get pods -A -o json prints them.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
slurm=$source_root/tests/data/slurm curves=$source_root/curves

cat >make.py <<'END'
import json, random, sys
racks = lambda a: (a - 1) // 4
with open("mesh.csv", "w") as out:  # eight hosts in two racks
    out.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
    for a in range(1, 9):
        for b in range(1, 9):
            rtt = 20 + (a * 7 + b * 5) % 17 + (200 if racks(a) != racks(b) else 0)
            if a != b:
                out.write(f"h{a},h{b},{rtt},{rtt + 2},{rtt + 4},0,1000,1795188663.25\n")
def pod(name, node, space="default", owner=None, kind="ReplicaSet", phase="Running", **labels):
    metadata = {"name": name, "namespace": space, "labels": {k.replace("__", "/").replace("_", "."): v for k, v in labels.items()}}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "1", "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}
pods = [pod("web-0", "h1", nomora_io__job="web", nomora_io__curve="memcached", nomora_io__role="root"),
        pod("web-1", "h5", nomora_io__job="web"), pod("web-2", "h6", nomora_io__job="web"),
        pod("shop-b", "h2", owner="shop-1"), pod("shop-a", "h7", owner="shop-1"), pod("shop-c", None, owner="shop-1"),
        pod("shop-d", "h7", owner="shop-1", phase="Succeeded"),
        pod("net-1", "h1", space="kube-system", owner="net", kind="DaemonSet"), pod("alone", "h3"),
        pod("far-0", "n9", owner="far", kind="StatefulSet"), pod("far-1", "h3", owner="far", kind="StatefulSet"),
        pod("far-2", "n9", owner="far", kind="StatefulSet")]
json.dump({"apiVersion": "v1", "kind": "List", "items": pods}, open("pods.json", "w"))
# A hundred jobs of a root and one task, on random hosts.
random.seed(44)
with open("pairs.txt", "w") as out:
    out.write("JOBID|STATE|NODELIST|CPUS|COMMENT\n")
    for j in range(100):
        a, b = random.sample(range(1, 9), 2)
        out.write(f"{j + 1}|RUNNING|h{min(a, b)},h{max(a, b)}|2|(null)\n")
END
python3 make.py

# check.py ROOTS JSON: recomputes today's figures, from the placement that is known, and the means.
cat >check.py <<'END'
import csv, json, sys
answer = json.load(open(sys.argv[2]))
known = json.loads(sys.argv[1])  # job -> [hosts, root first]
mesh = {}
for row in csv.DictReader(open("mesh.csv")):
    pair = frozenset((row["src"], row["dst"]))
    mesh[pair] = max(mesh.get(pair, 0), float(row["rtt_p99_us"]))
curves = {}
def performance(name, a, b):
    curve = curves.setdefault(name, json.load(open(f"{sys.argv[3]}/{name}.json")))
    base = curve["baseline"].get("rtt_us") or 0
    x = max(0, (1.0 if a == b else mesh[frozenset((a, b))]) - base)
    p = [min(1, max(0.1, v)) for v in curve["table"]["p"]]
    i = int(x / 10)
    return min(p) if x / 10 > len(p) - 1 else p[i] if i + 1 == len(p) else p[i] + (x / 10 - i) * (p[i + 1] - p[i])
means, every = {"today": [], "best": []}, {"today": [], "best": []}
for job in answer["jobs"]:
    hosts = known[job["job"]]
    root = next(t for t in job["placement"] if t["root"])
    others = [t for t in job["placement"] if not t["root"]]
    assert [root["today"]] + [t["today"] for t in others] == hosts, (job["job"], hosts, job["placement"])
    for when in means:
        values = [performance(job["curve"], root[when], t[when]) for t in others]
        assert abs(sum(values) / len(values) - job[when]["performance"]) < 1e-6, (job["job"], when, values, job[when])
        means[when].append(sum(values) / len(values))
        every[when] += values
slots = lambda when: sorted(t[when] for job in answer["jobs"] for t in job["placement"])
assert slots("today") == slots("best"), "the best placement uses other slots than today's"
for when in means:
    assert abs(answer["mean_of_jobs"][when]["performance"] - sum(means[when]) / len(means[when])) < 1e-6
    assert abs(answer["mean_of_tasks"][when]["performance"] - sum(every[when]) / len(every[when])) < 1e-6
assert answer["mean_of_tasks"]["best"]["performance"] >= answer["mean_of_tasks"]["today"]["performance"]
assert len(answer["jobs"]) == len(known)
END
gain=("$nomora" gain --latency mesh.csv --curves "$curves" --json)
# recomputed NAME KNOWN: the last run()'s JSON.
recomputed() {
	printf '%s' "$out" >answer.json
	if [ "$code" -eq 0 ] && problem=$(python3 check.py "$2" answer.json "$curves" 2>&1); then pass "$1"; else fail "$1" "exit $code" "$problem" "$err"; fi
}
# Which task was on which node: by the CPUs on each node that Slurm prints (job 1: h2*3, h5*1).
exact='{"1": ["h2", "h2", "h2", "h5"], "2": ["h6", "h3", "h8"], "3": ["h3", "h3", "h3", "h4", "h4"], "7": ["h6", "h6", "h8"]}'
run "${gain[@]}" --sacct "$slurm/scontrol.txt" --curve memcached
recomputed "scontrol: today's performance is that of an independent computation" "$exact"
check "scontrol needs no guess" test -z "$err"
check "the elements of an array with one task are left out" python3 -c 'import json
left = json.load(open("answer.json"))["left_out"]
assert len(left) == 3 and set(left.values()) == {"it has one task"}, left'
run "${gain[@]}" --sacct "$slurm/squeue.txt" --curve memcached
recomputed "squeue: tasks are divided evenly" "${exact/'"h2", "h2", "h2", "h5"'/'"h2", "h2", "h5", "h5"'}"
check "and a warning says so" grep -q 'tasks on each node of 2 jobs are not known' <<<"$err"
run "${gain[@]}" --sacct "$slurm/sacct.txt" --curve memcached
recomputed "sacct: the comment of a running job is not printed, so all have the default curve" \
	'{"1": ["h2", "h2", "h5", "h5"], "2": ["h3", "h6", "h8"], "3": ["h3", "h3", "h3", "h4", "h4"], "7": ["h6", "h6", "h8"]}'
run "${gain[@]}" --sacct "$slurm/scontrol.txt"
check "without --curve, a job without a comment is left out" \
	python3 -c 'import json,sys; assert json.loads(sys.argv[1])["left_out"]["3"] == "it names no curve"' "$out"

# Curves come from users' comments: one that is not there, or is no name, costs its own job only.
sed 's/nomora:curve=spark/nomora:curve=nothing/' "$slurm/squeue.txt" >unknown.txt
run "${gain[@]}" --sacct unknown.txt --curve memcached
recomputed "a job whose comment names an unknown curve is left out" '{"1": ["h2", "h2", "h5", "h5"], "3": ["h3", "h3", "h3", "h4", "h4"], "7": ["h6", "h6", "h8"]}'
check "with the reason" python3 -c 'import json
assert "its curve '"'nothing'"': " in json.load(open("answer.json"))["left_out"]["2"], json.load(open("answer.json"))'
refuses "an unknown --curve" 1 'error: --curve nothing: ' "$nomora" gain --latency mesh.csv --curves "$curves" --sacct "$slurm/squeue.txt" --curve nothing

# Node lists: the hosts outside the mesh are those that Slurm's own program makes of the list.
printf 'ClusterName=c\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n' >slurm.conf
if SLURM_CONF=slurm.conf scontrol show hostnames n1 >/dev/null 2>&1; then
	for list in 'n1' 'n[08-10,12],r[1-2]c[1-2],gpu1' 'a[9-11],b[009-011]' 'x-ib[1-3],y[2,4,6-7]' 'z[099-101]k[8-10]'; do
		printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|%s|1000\n' "$list" >list.txt
		run "${gain[@]}" --sacct list.txt --curve spark
		check "the hosts of $list are Slurm's" diff <(SLURM_CONF=slurm.conf scontrol show hostnames "$list" | sort) \
			<(python3 -c 'import json,sys; print(*sorted(json.loads(sys.argv[1])["foreign_hosts"]), sep="\n")' "$out")
	done
else
	skip "node lists" "scontrol is not installed"
fi

run "${gain[@]}" --kubectl pods.json --curve spark
recomputed "pods: by label, else by controller with the first pod as the root" '{"default.web": ["h1", "h5", "h6"], "default.shop-1": ["h7", "h2"]}'
check "a label's curve, and --curve for the others" python3 -c 'import json
curves = {j["job"]: j["curve"] for j in json.load(open("answer.json"))["jobs"]}
assert curves == {"default.web": "memcached", "default.shop-1": "spark"}, curves'
check "a host outside the mesh is named and counted" python3 -c 'import json
answer = json.load(open("answer.json"))
assert answer["foreign_hosts"] == {"n9": 2}, answer["foreign_hosts"]
assert "n9 is not in the mesh" in answer["left_out"]["default.far"]'
check "a pod without a controller is counted" grep -q '1 pod without a controller' <<<"$err"
# A host must be in both: h8 is in the mesh alone, x in the cluster file alone.
printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|h[1,8]|3\n2|RUNNING|h3,x|2\n3|RUNNING|h[1-2]|2\n' >either.txt
python3 -c 'import json
machines = [{"name": f"h{m}", "rack": "r", "pod": "p", "slots": 3} for m in range(1, 8)] + [{"name": "x", "rack": "r", "pod": "p", "slots": 3}]
json.dump({"schema": "nomora.cluster/1", "machines": machines}, open("either.json", "w"))'
run "${gain[@]}" --sacct either.txt --cluster either.json --curve spark
check "and so is one that is in the mesh or in the cluster file alone" python3 -c 'import json,sys
answer = json.loads(sys.argv[1])
assert answer["foreign_hosts"] in ({"h8": 1, "x": 1}, {"h8": 2, "x": 1}), answer["foreign_hosts"]
assert set(answer["left_out"]) == {"1", "2"} and [j["job"] for j in answer["jobs"]] == ["3"], answer' "$out"

# Jobs of a root and one task: the flow is optimal for the roots' machines, and never worse than today.
run "${gain[@]}" --sacct pairs.txt --curve memcached
printf '%s' "$out" >answer.json
known=$(python3 -c 'import json
print(json.dumps({r.split("|")[0]: r.split("|")[2].split(",") for r in list(open("pairs.txt"))[1:]}))')
recomputed "a hundred pairs, in the slots that they use" "$known"
check "their gain is positive, and random is worse than the best" python3 -c 'import json
total = json.load(open("answer.json"))["mean_of_tasks"]
assert total["gain"] > 0.05 and total["random"] < total["best"]["performance"], total'
# The best placement, given as today's, has nothing to gain.
python3 - <<'END'
import json
lines = ["JOBID|STATE|NODELIST|CPUS|COMMENT"]
for job in json.load(open("answer.json"))["jobs"]:
    root = next(t["best"] for t in job["placement"] if t["root"])
    other = next(t["best"] for t in job["placement"] if not t["root"])
    lines.append(f"{job['job']}|RUNNING|{root},{other}|2|(null)" if root != other else f"{job['job']}|RUNNING|{root}|2|(null)")
open("best.txt", "w").write("\n".join(lines) + "\n")
END
was=$(python3 -c 'import json; print(json.load(open("answer.json"))["mean_of_tasks"]["best"]["performance"])')
run "${gain[@]}" --sacct best.txt --curve memcached
check "the best placement as today's is not worse, and gains at most 5 %" python3 -c 'import json,sys
total = json.loads(sys.argv[1])["mean_of_tasks"]
assert abs(total["today"]["performance"] - float(sys.argv[2])) < 1e-6 and 0 <= total["gain"] <= 0.05, total' "$out" "$was"
printf '1|RUNNING|h1\n2|RUNNING|h1\n' | sed '1i JOBID|STATE|NODELIST|CPUS' | sed 's/h1$/h1|3/' >perfect.txt
run "$nomora" gain --latency mesh.csv --curves "$curves" --sacct perfect.txt --curve memcached
check "jobs that are on one host each: no gain, and the text says so" grep -q 'No better placement was found' <<<"$out"

# A pair that is not measured: nothing is guessed.
grep -v 'h1,h2,\|h2,h1,' mesh.csv >holes.csv
printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|h[1-2]|2\n2|RUNNING|h[3-4]|2\n' >two.txt
run "$nomora" gain --latency holes.csv --curves "$curves" --sacct two.txt --curve memcached
check "a job across a pair that was not measured is left out" grep -q '1: the pair of its hosts h1 and h2 was not measured' <<<"$out"
check "and the other one is compared" grep -q '^1 job with 2 tasks compared' <<<"$out"
run "$nomora" gain --latency mesh.csv --curves "$curves" --sacct "$slurm/scontrol.txt" --curve memcached --slots 5
check "with more slots, the means are named" grep -q '^mean of 4 jobs .* 11 ' <<<"$out"

# Bands: a curve of a sweep has one.
run "$nomora" fit "$source_root/docs/sweeps/redis-1.csv" --replicates 20 -o banded.json
mkdir with && cp banded.json with/redis.json
run "$nomora" gain --latency mesh.csv --curves with --sacct "$slurm/squeue.txt" --curve redis --json
sed 's/nomora:curve=[a-z]*/nomora:curve=redis/' "$slurm/squeue.txt" >redis.txt
run "$nomora" gain --latency mesh.csv --curves with --sacct redis.txt --curve redis --json
check "with bands, each figure is between its bounds" python3 -c 'import json,sys
for row in json.loads(sys.argv[1])["jobs"]:
    for when in "today", "best":
        assert row[when]["low"] <= row[when]["performance"] <= row[when]["high"], row
    assert row["gain_low"] <= row["gain"] + 1e-9 and row["gain"] <= row["gain_high"] + 1e-9, row
    if row["today"]["performance"] == row["best"]["performance"] and all(t["today"] == t["best"] for t in row["placement"]):
        assert row["gain_low"] == row["gain_high"] == 0, row' "$out"

refuses "both sources" 2 'expected one of --sacct and --kubectl' "$nomora" gain --sacct a --kubectl b --latency mesh.csv
refuses "no mesh" 2 'missing option --latency' "$nomora" gain --sacct a
printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|h[1-|2\n' >bad.txt
refuses "a bad node list" 1 'bad.txt:2: NodeList: found .h\[1-.; expected a list of nodes' "$nomora" gain --sacct bad.txt --latency mesh.csv
printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|h1|many\n' >bad.txt
refuses "a bad number of tasks" 1 'bad.txt:2: NTasks: .*expected a number of tasks' "$nomora" gain --sacct bad.txt --latency mesh.csv
printf 'a|b\n' >bad.txt
refuses "a wrong header" 1 'bad.txt:1: JobID: .*expected the output of scontrol' "$nomora" gain --sacct bad.txt --latency mesh.csv
refuses "not a list of pods" 1 'expected a List or PodList' "$nomora" gain --kubectl "$curves/spark.json" --latency mesh.csv
printf 'JOBID|STATE|NODELIST|CPUS\n1|RUNNING|h1|1\n' >single.txt
run "$nomora" gain --sacct single.txt --latency mesh.csv --curves "$curves" --curve spark
check "no job that can be compared: exit 3" test "$code" -eq 3
plan

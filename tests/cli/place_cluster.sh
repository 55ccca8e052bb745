#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora place on 625 machines and about 1,000 random jobs, with every policy: the output of --json is recomputed from
# the input files alone.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
curves=$source_root/curves

# 24 machines per rack, 16 racks per pod, 8 to 12 slots; tasks for 90 % of the slots, two thirds of them already
# running.
cat >draw.py <<'END'
import json, random
random.seed(20261121)
machines, names = 625, [f"m{i:03d}" for i in range(625)]
rack, slots = [i // 24 for i in range(machines)], [random.randint(8, 12) for _ in range(machines)]
json.dump({"schema": "nomora.cluster/1", "racks": [{"name": f"r{r}", "pod": f"p{r // 16}"} for r in range(rack[-1] + 1)],
           "machines": [{"name": names[i], "rack": f"r{rack[i]}", "slots": slots[i]} for i in range(machines)]}, open("cluster.json", "w"))
free, tasks, job = slots[:], 0, 0
def take():
    while True:
        machine = random.randrange(machines)
        if free[machine]:
            free[machine] -= 1
            return names[machine]
with open("jobs.jsonl", "w") as out:
    while tasks < 0.9 * sum(slots):
        count, runs = min(int(random.paretovariate(1.1)) + 1, 120), random.random() < 0.7
        job += 1
        tasks += count
        out.write(json.dumps({"id": f"j{job}", "curve": random.choice(["memcached", "strads", "spark", "tensorflow"]), "root": "t0", "tasks": [
            {"name": f"t{t}", "machine": take(), "running_s": random.randint(1, 500)} if runs and (t == 0 or random.random() < 0.9)
            else {"name": f"t{t}", "waited_s": random.randint(0, 30)} for t in range(count)]}) + "\n")
with open("mesh.csv", "w") as out:
    out.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
    for a in range(machines):
        for b in random.sample(range(machines), 40):
            if a != b:
                rtt = (20 if rack[a] == rack[b] else 60 if rack[a] // 16 == rack[b] // 16 else 150) * random.lognormvariate(0, 0.4)
                out.write(f"{names[a]},{names[b]},{rtt:.3f},{1.2 * rtt:.3f},{1.5 * rtt:.3f},0,100,1000\n")
END

cat >judge.py <<'END'
import collections, json, re, sys
out, folder = json.load(open("out.json")), sys.argv[1]
policy, total, preempts = out["policy"], out["totals"], out["settings"]["preemption"]
machines = {m["name"]: m for m in json.load(open("cluster.json"))["machines"]}
jobs = {job["id"]: job for job in map(json.loads, open("jobs.jsonl"))}
measured = {}
for line in open("mesh.csv").read().split("\n")[1:-1]:
    field = line.split(",")
    measured[field[0], field[1]] = float(field[3])
tables = {name: json.load(open(f"{folder}/{name}.json")) for name in ("memcached", "strads", "spark", "tensorflow")}
wrong = []

def must(true, *what):
    if not true and len(wrong) < 10:
        wrong.append(what)

def performance(job, rtt_us):
    p, step, part = tables[jobs[job]["curve"]], int(rtt_us / 10), rtt_us / 10 % 1
    table = [min(1, max(0.1, x)) for x in p["table"]["p"]]
    if rtt_us / 10 > len(table) - 1:
        return max(0.1, p["beyond_domain"]["p"])
    return table[step] + (part * (table[step + 1] - table[step]) if part else 0)

def cost_at(job, rtt_us):
    return round(100 / performance(job, int(rtt_us * 4 + 0.5) / 4))

def is_near(a, b):
    return a is not None and abs(a - b) < 1e-6

tasks = out["tasks"]
must([(t["job"], t["task"]) for t in tasks] == [(id, t["name"]) for id, job in jobs.items() for t in job["tasks"]], "every task once, in order")
load = collections.Counter(t["machine"] for t in tasks if t["machine"])
free = {name: m["slots"] - load[name] for name, m in machines.items()}
must(min(free.values()) >= 0, "a machine over its slots")
root = {t["job"]: t["machine"] for t in tasks if t["root"]}
for t in tasks:
    ran = next(x for x in jobs[t["job"]]["tasks"] if x["name"] == t["task"]).get("machine")
    must(t["was_on"] == ran and (preempts or ran is None or t["machine"] == ran), "moved without preemption", t)
    must((t["machine"] is None) == (t["state"] == "waiting") == (t["why_waiting"] is not None), "placed or with a reason", t)
    must(t["machine"] is None or t["rack"] == machines[t["machine"]]["rack"], "its rack", t)
    if t["state"] == "waiting":
        costs = re.fullmatch(r"(?:preempted; )?waiting costs (\d+), the cheapest free slot \((\w+)\) (\d+) by \w+", t["why_waiting"])
        must(costs and int(costs[1]) == t["arc_cost"] <= int(costs[3]) and free[costs[2]] > 0 if total["slots_free_after"] else
             t["why_waiting"].removeprefix("preempted; ") in ("no free slot in the cluster", "waits for its root, which has no machine"), "why it waits", t)
    if t["state"] != "placed":
        must(t["performance"] is None and t["rtt_us"] is None, "no root to talk to", t)
        continue
    at = root[t["job"]]
    must(at is not None, "placed before its root", t)
    pair = measured.get((at, t["machine"]), measured.get((t["machine"], at)))
    must(t["rtt_origin"] == ("same machine" if at == t["machine"] else "rack pair" if pair is None else "measured") or
         t["rtt_origin"] in ("pod pair", "topology") and pair is None, "where its round trip comes from", t)
    must(t["rtt_origin"] != "measured" or any(is_near(t["rtt_us"], x) for x in (measured.get((at, t["machine"])), measured.get((t["machine"], at))) if x),
         "the measured round trip", t)
    must(is_near(t["performance"], performance(t["job"], t["rtt_us"])), "the curve at that round trip", t)
    cost = cost_at(t["job"], t["rtt_us"])
    if policy == "nomora":
        must(t["arc"] not in ("machine", "running") or abs(t["arc_cost"] - cost) <= 1, "the arc costs what the curve says", t)
        must(t["arc"] not in ("rack", "cluster") or t["arc_cost"] >= cost - 1, "the worst of a rack costs no less", t)
    best = t["next_best"]
    if best:
        must(best["machine"] != t["machine"] and free[best["machine"]] > 0, "the next best is another one, with a slot", t)
        must(is_near(best["performance"], performance(t["job"], best["rtt_us"])) and best["cost"] == cost_at(t["job"], best["rtt_us"]), "its curve", t)
        must(policy != "nomora" or t["was_on"] == t["machine"] or best["cost"] >= cost, "a better slot stayed free", t)
predicted = [t for t in tasks if t["state"] == "placed"]
must(all(t["random_performance"] is None or 0 <= t["random_performance"] <= 1 for t in tasks), "random is a share")
root_first = policy in ("nomora", "quincy")
if not preempts: # otherwise the first solve may have freed slots
    vacant = collections.Counter({name: m["slots"] for name, m in machines.items()})
    vacant.subtract(t["was_on"] if t["was_on"] else t["machine"] for t in tasks if t["was_on"] or root_first and t["root"] and t["machine"])
    new_root = {t["job"] for t in tasks if t["root"] and t["machine"] and not t["was_on"]}
    worst, pairs = collections.defaultdict(float), collections.defaultdict(float)
    for (a, b), rtt in measured.items():
        pairs[a, b] = pairs[b, a] = max(pairs[a, b], rtt)
        racks = machines[a]["rack"], machines[b]["rack"]
        worst[racks] = worst[racks[::-1]] = max(worst[racks], rtt)
    def rtt_us(a, b):
        return 1 if a == b else pairs[a, b] if (a, b) in pairs else worst[machines[a]["rack"], machines[b]["rack"]]
    expected = {}
    for t in [t for t in predicted if t["random_performance"] is not None][::101]:
        at = root[t["job"]]
        if t["job"] not in expected:
            slots = {m: n - (m == at and n > 0 and not root_first and t["job"] in new_root) for m, n in vacant.items()}
            expected[t["job"]] = sum(n * performance(t["job"], rtt_us(at, m)) for m, n in slots.items() if n) / sum(slots.values())
        must(is_near(t["random_performance"], expected[t["job"]]), "random's expectation", t, expected[t["job"]])
    must(len(expected) > 5 or total["compared"] == 0, "random is compared somewhere")
counted = {
    "tasks": len(tasks), "roots": sum(t["state"] == "root" for t in tasks), "waiting": sum(t["state"] == "waiting" for t in tasks),
    "placed": sum(t["was_on"] is None and t["machine"] is not None for t in tasks),
    "stay": sum(t["was_on"] is not None and t["was_on"] == t["machine"] for t in tasks),
    "moved": sum(t["was_on"] is not None and t["was_on"] != t["machine"] for t in tasks),
    "predicted": len(predicted), "compared": sum(t["random_performance"] is not None for t in predicted),
    "in_root_rack": sum(t["rack"] == machines[root[t["job"]]]["rack"] for t in predicted),
    "slots": sum(m["slots"] for m in machines.values()), "slots_free_after": sum(free.values()),
}
must(all(total[key] == value for key, value in counted.items()), "totals", counted, total)
must(is_near(total["mean_performance"], sum(t["performance"] for t in predicted) / len(predicted)), "the mean")
must(total["performance_cost"] == sum(cost_at(t["job"], t["rtt_us"]) for t in predicted), "the sum of 100 / performance")
must(total["worst_performance"] == min(t["performance"] for t in predicted), "the worst")
must(out["solver"]["verified"], "proved")
must(out["solver"]["cost"] == sum(t["arc_cost"] for t in tasks), "the arcs' costs add up to the solver's")
if policy == "nomora":
    must(total["mean_performance"] > total["random_mean_performance"] + 0.05, "better than random")
for what in wrong:
    print(*what)
sys.exit(bool(wrong))
END

check "a cluster, its jobs and its mesh" python3 draw.py
round() { # NAME OPTION...
	local name=$1
	shift
	run "$nomora" place -c cluster.json -j jobs.jsonl -l mesh.csv -C "$curves" --verify --json "$@"
	printf '%s\n' "$out" >out.json
	if [ "$code" -eq 0 ] && [ -z "$err" ]; then
		check "$name" python3 judge.py "$curves"
	else
		fail "$name" "exit $code" "$err"
	fi
}
# The general solver would first build the complete network, with an arc for each task and machine.
for algorithm in structured auto; do
	run "$nomora" place -c cluster.json -j jobs.jsonl -l mesh.csv -C "$curves" --algorithm $algorithm
	printf '%s\n' "$out" | sed 's/^\(Solved by structured\) in [0-9.]* ms/\1/' >$algorithm.txt
done
check "auto solves" grep -q '^Solved by structured;' auto.txt
check "auto is the solver that is kept between rounds" cmp structured.txt auto.txt
for policy in nomora random load_spreading quincy first_fit; do round "$policy" --policy "$policy"; done
round "with preemption" --preemption
round "where waiting is cheap, also for those that run" --gamma 110 --preemption
sed 's/"slots": [0-9]*/"slots": 8/g' cluster.json >small.json && mv small.json cluster.json
python3 - <<'END'
import json
# Tasks that ran on nine to twelve slots of a machine do not all fit on eight: the surplus waits again.
load = {}
with open("fewer.jsonl", "w") as out:
    for job in map(json.loads, open("jobs.jsonl")):
        for task in job["tasks"]:
            machine = task.get("machine")
            load[machine] = load.get(machine, 0) + 1
            if machine and load[machine] > 8:
                del task["machine"], task["running_s"]
        out.write(json.dumps(job) + "\n")
END
mv fewer.jsonl jobs.jsonl
round "oversubscribed, with preemption" --preemption
plan

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""policies.py PROGRAM SOURCE [SEEDS]: the default policy beside the others on seeded clusters of 200 hosts.

Each cluster has 5 racks of 40 hosts, 8 slots each, 884 tasks in jobs of 2 to 60; every pair is measured: log-normal round
trips around 8 us in a rack and 40 us beyond. Curves: the four published ones and the six sweeps of docs/sweeps, fitted here.
Prints a table of mean and worst task by policy, as Markdown, and checks by brute force that in the default's answer no
move of a task to a free slot and no swap of two tasks lowers the sum of 100 / performance. Exit 1 if one does, or if another
policy has the better mean or the better worst task for some seed.
"""
import glob, itertools, json, os, random, subprocess, sys, tempfile

program, source = (os.path.abspath(path) for path in sys.argv[1:3])
seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 12
HOSTS, RACKS, SLOTS, TASKS = 200, 5, 8, 884
POLICIES = {"nomora": [], "the paper's thresholds": ["--p-m", "105", "--p-r", "110"], "quincy": ["--policy", "quincy"],
            "load_spreading": ["--policy", "load_spreading"], "first_fit": ["--policy", "first_fit"], "random": ["--policy", "random"]}


def run(*arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def draw(seed):
    """Writes a cluster, its mesh and its jobs to files; returns the round trips by pair."""
    rng = random.Random(seed)
    rack = [host // (HOSTS // RACKS) for host in range(HOSTS)]
    machines = [{"name": f"h{i}", "rack": f"r{rack[i]}", "slots": SLOTS} for i in range(HOSTS)]
    json.dump({"schema": "nomora.cluster/1", "machines": machines}, open("cluster.json", "w"))
    rtt = {}
    with open("mesh.csv", "w") as out:
        out.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
        for a, b in itertools.combinations(range(HOSTS), 2):
            us = round((8 if rack[a] == rack[b] else 40) * rng.lognormvariate(0, 0.4), 3)
            rtt[f"h{a}", f"h{b}"] = rtt[f"h{b}", f"h{a}"] = us
            for one, other in (a, b), (b, a):
                out.write(f"h{one},h{other},{us},{us},{us},0,100,1000\n")
    left, number = TASKS, 0
    with open("jobs.jsonl", "w") as out:
        while left:
            count = min(left, rng.randint(2, 60))
            number, left = number + 1, left - count
            tasks = [f"t{t}" for t in range(count)]
            out.write(json.dumps({"id": f"j{number}", "curve": rng.choice(sorted(curves)), "root": "t0", "tasks": tasks}) + "\n")
    return rtt


def cost(curve, us):
    """100 / performance, as the scheduler rounds it: quarters of a microsecond, whole costs."""
    us = int(max(0, us - (curve.get("testbed", {}).get("baseline_rtt_us") or 0)) * 4 + 0.5) / 4
    table, step = curve["table"]["p"], int(us / 10)
    if step >= len(table) - 1:
        p = table[-1] if us / 10 == len(table) - 1 else curve["beyond_domain"]["p"]
    else:
        p = table[step] + (us / 10 - step) * (table[step + 1] - table[step])
    return round(100 / min(1, max(0.1, p)))


def improvements(answer, rtt):
    """Moves and swaps of tasks other than roots that lower the sum of costs."""
    tasks = [task for task in answer["tasks"] if task["machine"]]
    root = {task["job"]: task["machine"] for task in tasks if task["root"]}
    load = {f"h{host}": 0 for host in range(HOSTS)}
    for task in tasks:
        load[task["machine"]] += 1
    curve_of = {job["id"]: curves[job["curve"]] for job in map(json.loads, open("jobs.jsonl"))}
    price = {job: {host: cost(curve_of[job], 1 if host == at else rtt[at, host]) for host in load} for job, at in root.items()}
    placed = sorted({(task["job"], task["machine"]) for task in tasks if not task["root"]})
    found = [(job, host, free) for job, host in placed for free in load
             if load[free] < SLOTS and price[job][free] < price[job][host]]
    found += [(a, b) for a, b in itertools.combinations(placed, 2)
              if price[a[0]][b[1]] + price[b[0]][a[1]] < price[a[0]][a[1]] + price[b[0]][b[1]]]
    return found


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.mkdir("curves")
    for path in glob.glob(source + "/curves/*.json"):
        name = os.path.basename(path)
        os.symlink(path, "curves/published-" + name)
    for path in glob.glob(source + "/docs/sweeps/*-1.csv"):
        run("fit", path, "-o", "curves/measured-" + os.path.basename(path)[:-6] + ".json")
    curves = {os.path.basename(path)[:-5]: json.load(open(path)) for path in glob.glob("curves/*.json")}
    figures = {name: [] for name in POLICIES}
    failed = 0
    for seed in range(1, seeds + 1):
        rtt = draw(seed)
        for name, options in POLICIES.items():
            answer = json.loads(run("place", "--cluster", "cluster.json", "--jobs", "jobs.jsonl", "--latency", "mesh.csv",
                                    "--curves", "curves", "--json", *options))
            shown = [task["performance"] for task in answer["tasks"] if task["performance"] is not None]
            figures[name].append((100 * sum(shown) / len(shown), 100 * min(shown)))
            if name == "nomora":
                better = improvements(answer, rtt)
                failed += len(better) > 0
                print(f"seed {seed}: {len(better)} improving moves or swaps", *better[:3], file=sys.stderr)
    print("| policy | mean of tasks, least to greatest over the seeds | worst task, least to greatest | better mean / worst task than the default |")
    print("|---|---|---|---|")
    for name, rows in figures.items():
        beats = [sum(row[i] > own[i] + 1e-9 for row, own in zip(rows, figures["nomora"])) for i in (0, 1)]
        failed += sum(beats)
        average = [sum(row[i] for row in rows) / len(rows) for i in (0, 1)]
        print("| {} | {:.1f} ({:.1f}–{:.1f}) | {:.1f} ({:.1f}–{:.1f}) | {} / {} of {} |".format(
            name, average[0], min(r[0] for r in rows), max(r[0] for r in rows), average[1], min(r[1] for r in rows),
            max(r[1] for r in rows), *beats, len(rows)))
sys.exit(failed > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""simulate_record.py BIN SOURCE: recomputes the metrics of 'nomora simulate' from its --record, as TAP.

Draws journals with round trips between all machines, simulates them, and computes the metrics of the summary from the
recorded events and the curves alone. Performance is sampled at each whole second, before the events at that time. Every
third job is a gang: all of its tasks start in the same round. The others have a ring of edges with weights.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

BIN, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CURVES = os.path.join(SOURCE, "curves")
SECOND = 10 ** 6
SAME_MACHINE_US = 1
RUNS = 20
POLICIES = (["-p", "random"], ["-p", "load_spreading"], ["-p", "nomora"], ["-p", "nomora:p_m=105,p_r=110", "--round-s", "7"],
            ["-p", "nomora:preemption,beta=0,round_s=9"])


def draw(seed):
    """Returns the lines of a journal: 8 machines of 2 slots, three sets of round trips, 9 jobs."""
    rng = random.Random(seed)
    names = [f"h{i}" for i in range(8)]
    lines = [{"t_us": 0, "event": "machine", "machine": name, "rack": f"r{i // 3}", "pod": "p", "slots": 2, "state": "up"}
             for i, name in enumerate(names)]
    for at in (0, 30500000, 70500000):
        rtt = {frozenset((a, b)): rng.choice((20, 60, 130, 250, 500, 900)) + rng.randrange(4) for a in names for b in names if a < b}
        for a in names:
            others = [b for b in names if b != a]
            lines.append({"t_us": at, "event": "latency", "from": a, "to": others, "rtt_us": [rtt[frozenset((a, b))] for b in others]})
    for j in range(9):
        at = rng.randrange(90) * SECOND + rng.randrange(100000, 400000)
        tasks, curve = rng.randrange(2, 6), rng.choice(("memcached", "strads", "tensorflow"))
        edges = [[str(t), str((t + 1) % tasks), rng.choice((1, 2.5))] for t in range(tasks if tasks > 2 else 1)]
        lines.append({"t_us": at, "event": "job", "job": f"j{j}", "curve": curve, "root": "0", **({"gang": tasks} if j % 3 == 0 else {}),
                      **({"graph": edges} if j % 3 > 0 else {})})
        for t in range(tasks):
            lines.append({"t_us": at, "event": "task", "job": f"j{j}", "task": str(t), "state": "waiting",
                          "run_us": rng.randrange(3, 60) * SECOND + rng.randrange(1, 400000)})
    return [{"schema": "nomora.journal/1"}] + sorted(lines, key=lambda line: line["t_us"])


class World:
    """The state that the events of a journal describe, and sums over its seconds."""

    def __init__(self):
        self.rtt, self.curves, self.jobs, self.tasks, self.machines = {}, {}, {}, {}, set()
        self.placement, self.response, self.migrations, self.preemptions, self.task_us, self.edges = [], [], 0, 0, 0, 0

    def apply(self, event):
        kind, now = event["event"], event["t_us"]
        if kind == "machine":
            (self.machines.add if event["state"] == "up" else self.machines.discard)(event["machine"])
        elif kind == "curve":
            self.curves[event["curve"]] = event["definition"]["table"]["p"]
        elif kind == "latency":
            for to, rtt in zip(event["to"], event["rtt_us"]):
                self.rtt[event["from"], to] = rtt
        elif kind == "job":
            self.jobs[event["job"]] = {"curve": event["curve"], "root": event["root"], "at": None, "tasks": [], "sums": [0] * 4,
                                       "gang": event.get("gang", 0), "graph": event.get("graph")}
        elif kind == "decision":
            self.migrations += event["decision"] == "move"
            self.preemptions += event["decision"] == "preempt"
        elif kind == "task":
            self.task(self.jobs[event["job"]], (event["job"], event["task"]), event, now)

    def task(self, job, key, event, now):
        if key not in self.tasks:
            self.tasks[key] = {"submit": now, "placed": None, "since": None, "on": None}
            job["tasks"].append(key)
        task = self.tasks[key]
        if task["on"] is not None:
            self.task_us += now - task["since"]
        task["on"], task["since"] = event.get("machine"), now
        if event["state"] == "running":
            if task["placed"] is None:
                task["placed"] = now
                self.placement.append((now - task["submit"]) / SECOND)
            if key[1] == job["root"]:
                job["at"] = task["on"]
        if event["state"] == "waiting" and key[1] == job["root"]:
            job["at"] = None
        if event["state"] == "ended":
            self.response.append((now - task["submit"]) / SECOND)

    def p(self, job, a, b):
        table, rtt = self.curves[job["curve"]], SAME_MACHINE_US if a == b else self.rtt[a, b]
        return table[min(int(rtt / 10 + 0.5), len(table) - 1)]

    def sample(self):
        for job in self.jobs.values():
            on = [self.tasks[key]["on"] for key in job["tasks"] if key[1] != job["root"] and self.tasks[key]["on"]]
            if job["at"] is None or not on:
                continue
            values = [self.p(job, job["at"], machine) for machine in on]
            worst = min(values)
            if job["graph"]:
                at = {key[1]: self.tasks[key]["on"] for key in job["tasks"]}
                edges = [(self.p(job, at[a], at[b]), weight) for a, b, weight in job["graph"] if at[a] and at[b]]
                if not edges:
                    continue
                self.edges += len(edges)
                worst = min(p for p, _ in edges)
                values = [sum(p * weight for p, weight in edges) / sum(weight for _, weight in edges)] * len(on)
            best = max(self.p(job, job["at"], machine) for machine in self.machines)
            for i, value in enumerate((sum(values) / len(values), worst, best, 0)):
                job["sums"][i] += value
            job["sums"][3] += 1
            job.setdefault("all", []).extend(values)


def recompute(lines, end_us):
    world, second = World(), 1
    for event in lines[1:]:
        while second * SECOND <= event["t_us"]:
            world.sample()
            second += 1
        world.apply(event)
    while second * SECOND <= end_us:
        world.sample()
        second += 1
    sampled = [job for job in world.jobs.values() if job["sums"][3]]
    values = [value for job in sampled for value in job["all"]]
    for task in world.tasks.values():
        world.task_us += end_us - task["since"] if task["on"] is not None else 0
    waited = 0
    for job in world.jobs.values():
        starts = [world.tasks[key]["placed"] for key in job["tasks"]]
        assert not job["gang"] or len(set(starts)) == 1, f"a gang starts at {starts}"
        waited += job["gang"] and starts[0] != world.tasks[job["tasks"][0]]["submit"]
    return {
        "waited": waited, "edges": world.edges, "area": sum(job["sums"][0] / job["sums"][2] for job in sampled) / len(sampled),
        "area_worst_task": sum(job["sums"][1] / job["sums"][2] for job in sampled) / len(sampled),
        "task_mean": sum(values) / len(values), "jobs": len(sampled),
        "submitted": len(world.tasks), "finished": len(world.response),
        "running": sum(task["on"] is not None for task in world.tasks.values()),
        "placed": len(world.placement), "placement": sum(world.placement) / max(1, len(world.placement)),
        "longest": max(world.placement, default=0), "response": sum(world.response) / max(1, len(world.response)),
        "migrations": world.migrations, "preemptions": world.preemptions, "task_hours": world.task_us / SECOND / 3600}


def reported(policy):
    performance, tasks, moves = policy["performance"], policy["tasks"], policy["moves"]
    return {**{name: performance[name] for name in ("area", "area_worst_task", "task_mean", "jobs")},
            **{name: tasks[name] for name in ("submitted", "finished", "running", "task_hours")},
            "placed": policy["placement_latency"]["count"], "placement": policy["placement_latency"]["mean_s"],
            "longest": policy["placement_latency"]["maximum_s"], "response": policy["response_time"]["mean_s"],
            "migrations": moves["migrations"], "preemptions": moves["preemptions"]}


def run(seed):
    with open("drawn.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in draw(seed))
    options = POLICIES[seed % len(POLICIES)]
    result = subprocess.run([os.path.join(BIN, "nomora"), "simulate", "--journal", "drawn.jsonl", "-C", CURVES, "--hours", "0.03",
                             *options, "--record", "record.jsonl", "--json"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"exit {result.returncode}: {result.stderr}", {}
    with open("record.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    policy = json.loads(result.stdout)["policies"][0]
    ours, theirs = recompute(lines, int(policy["simulated_s"] * SECOND)), reported(policy)
    theirs.update(waited=ours["waited"], edges=ours["edges"])
    return "".join(f"{name}: recomputed {ours[name]}, reported {theirs[name]}; " for name in ours
                   if abs(ours[name] - theirs[name]) > 2e-6 * max(1, abs(ours[name]))), theirs


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    failed, seen = 0, {"migrations": 0, "preemptions": 0, "longest": 0, "waited": 0, "edges": 0}
    for number in range(1, RUNS + 1):
        difference, figures = run(number)
        failed += difference != ""
        seen = {name: seen[name] + figures.get(name, 0) for name in seen}
        print(f"{'not ok' if difference else 'ok'} {number} - seed {number}, {' '.join(POLICIES[number % len(POLICIES)])}"
              + (f"\n# {difference}" if difference else ""))
    print(f"{'ok' if all(seen.values()) else 'not ok'} {RUNS + 1} - tasks and gangs wait, tasks move and are preempted in some runs\n# {seen}")
    failed += not all(seen.values())
    os.chdir("/")
print(f"1..{RUNS + 1}")
sys.exit(failed > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Computes the figures of the papers on dataflow and recovery, and prints the published values beside ours.

  papers.py [--nomora build/bin/nomora] [--runs N] EXPERIMENT

Cross-layer scheduling (docs/reproduction-dataflow.md):
  storm, hadoop     figures 4 and 5, 7 and 8: throughput of jobs that fill the slots, by engine; N paired seeds
  failures          figures 6 and 9: 10 % of the used links fail and return; N seeds
  dataflow-scale    figures 12 and 13: completion times of N jobs at 1,000 hosts
Surviving failures (docs/reproduction-recovery.md):
  testbed           figures 6 to 11
  recovery-scale    figures 12 and 13: N scenarios of 1,000 servers and 20 failed tasks

Words after -- are further options of nomora dataflow, such as --k 5.
"""

import argparse
import heapq
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
ENGINES = {"random": "random", "application": "application", "routing": "routing", "both": "both (the paper's)",
           "rstorm": "R-Storm", "rate": "rate (ours)"}
TOPOLOGIES = ["Fat-tree", "Jellyfish"]
# Published gains over random placement and routes, in per cent, by topology, engine and number of hosts.
GAINS = {"storm": {("Fat-tree", "application"): {10: 7.5, 30: 21.1}, ("Fat-tree", "routing"): {10: 9.1, 30: 22.7},
                   ("Fat-tree", "both"): {10: 13.0, 30: 30.0}, ("Jellyfish", "application"): {10: 10.9, 30: 21.2},
                   ("Jellyfish", "routing"): {10: 14.5, 30: 23.1}, ("Jellyfish", "both"): {10: 18.1, 30: 34.1}},
         "mapreduce": {("Fat-tree", "application"): {10: 7.5}, ("Fat-tree", "routing"): {10: 9.0},
                       ("Fat-tree", "both"): {10: 22.3}, ("Jellyfish", "application"): {30: 18.8},
                       ("Jellyfish", "routing"): {30: 25.5}, ("Jellyfish", "both"): {30: 31.9}}}
TASKS = {"storm": 12, "mapreduce": 8}  # of a job
# Student's t for 95 %, by the number of runs.
STUDENT = dict(enumerate([math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                          2.131, 2.120, 2.110, 2.101, 2.093], 1))


def nomora(*words):
    """The answer of the command, from its JSON."""
    command = [ARGUMENTS.nomora, *map(str, words), "--json"]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if run.returncode:
        raise SystemExit(f"papers.py: failed: {' '.join(command)}")
    return json.loads(run.stdout)


def dataflow(what, recipe, topology, engine, seed, *words):
    """Fat-tree: 6 ports, or 16 for more than 54 hosts. Jellyfish: a switch with 5 ports to others for each host; for more than 54
    hosts, switches with 15 ports to others and 4 hosts each."""
    name, hosts = topology
    small = hosts <= 54
    network = f"fattree:{6 if small else 16},{hosts}" if name == "Fat-tree" else \
        f"jellyfish:{hosts if small else -(-hosts // 4)},{5 if small else 15},{hosts}"
    return nomora("dataflow", what, "--generate", f"{recipe},seed={seed}", "--topology", network, "--engine", engine, "--seed", seed,
                  "--local-MBps", 100, *words, *ARGUMENTS.options)


def row(what, published, ours):
    print(f"{what:64} {published:22} {ours}", flush=True)


# --- dataflow ---

def gain(ratios):
    """The geometric mean of the ratios, minus 1, and half of its 95 % confidence interval, both in per cent."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = math.exp(statistics.mean(logs))
    if len(logs) == 1:
        return 100 * (mean - 1), math.nan
    return 100 * (mean - 1), 100 * mean * STUDENT.get(len(logs), 1.96) * statistics.stdev(logs) / math.sqrt(len(logs))


def throughput(kind, topology, engine, seed):
    """Mean of a job, MB/s, where jobs that never end fill the slots of the hosts, two of each."""
    jobs = max(1, 2 * topology[1] // TASKS[kind])
    plan = dataflow("plan", f"{kind},jobs={jobs}", topology, engine, seed, "--random-runs", 0)
    return sum(job["MBps"] for job in plan["jobs"]) / jobs


def gains(kind):
    for name in TOPOLOGIES:
        for hosts in 10, 20, 30:
            rates = {engine: [throughput(kind, (name, hosts), engine, seed) for seed in range(1, ARGUMENTS.runs + 1)]
                     for engine in ENGINES}
            for engine, text in ENGINES.items():
                what = f"{name}, {hosts} hosts, {text}"
                if engine == "random":
                    row(what, "20 MB/s" if (name, hosts) == ("Fat-tree", 10) else "–", f"{statistics.mean(rates[engine]):.1f} MB/s a job")
                    continue
                ours = gain([rate / other for rate, other in zip(rates[engine], rates["random"])])
                published = GAINS[kind].get((name, engine), {}).get(hosts)
                row(what, f"+{published} %" if published else "–" if (name, engine) in GAINS[kind] else "not in the paper",
                    "%+.1f %% ± %.1f" % ours)


def mean_rate(rates, begin, end):
    """Of [[time, MB/s from then on], ...]."""
    return sum(max(0, min(end, after[0]) - max(begin, time)) * rate for (time, rate), after in zip(rates, rates[1:])) / (end - begin)


def failures():
    for kind, repair, during, after in ("storm", 800, "within 6.8 %", "within 2 %"), ("mapreduce", 810, "within 4.7 %", "within 1.5 %"):
        for engine in "both", "rate":
            changes = []
            for seed in range(1, ARGUMENTS.runs + 1):
                rates = dataflow("simulate", f"{kind},jobs=5", ("Jellyfish", 30), engine, seed, "--until", 1200, "--fail",
                                 f"used:10@500-{repair}")["rates"]
                before = mean_rate(rates, 1, 500)
                changes.append([100 * (mean_rate(rates, *times) / before - 1) for times in ((501, repair), (repair + 1, 1200))])
            for text, published, values in zip(("while links are down", "after the repair"), (during, after), zip(*changes)):
                row(f"{'Storm' if kind == 'storm' else 'MapReduce'}, {ENGINES[engine]}: throughput {text}", published,
                    f"median {statistics.median(values):+.1f} %, worst {min(values):+.1f} %")


def dataflow_scale():
    for kind, recipe, published in (
            ("MapReduce", "mapreduce,per-minute=60,MB=1-1000", ["-34 %", "-38 %", ("27 %", "18 %"), "under +20 %"]),
            ("Storm", "storm,per-minute=10,MB=1-100", ["-34 %", "-41 %", ("24 %", "16 %"), "under +30 %"])):
        for number, name in enumerate(TOPOLOGIES):
            seconds = {engine: [job["end_s"] - job["arrival_s"] for job in
                                dataflow("simulate", f"{recipe},jobs={ARGUMENTS.runs}", (name, 1000), engine, 1)["jobs"]]
                       for engine in ("random", "both", "rate")}
            for engine in "both", "rate":
                changes = sorted(100 * (own / random - 1) for own, random in zip(seconds[engine], seconds["random"]))
                slower = 100 * sum(change > 1e-6 for change in changes) / len(changes)
                for text, theirs, ours in zip(("p50 of the change", "p75 of the improvement", "jobs that are slower", "worst"), published, (
                        f"{changes[len(changes) // 2]:+.1f} %", f"{changes[len(changes) // 4]:+.1f} %", f"{slower:.0f} %",
                        f"{changes[-1]:+.1f} %")):
                    row(f"{kind}, {name}, {ENGINES[engine]}: {text}", "not in the paper" if engine == "rate" else
                        theirs if isinstance(theirs, str) else theirs[number], ours)


# --- recovery ---

class Flows:
    """The flows between servers of a scenario of nomora.recovery/1, its failed tasks placed as nomora recover answered."""

    def __init__(self, scenario, answer):
        self.ends, self.server, self.MB, self.fair, self.capacity = [], {}, [], [], {}
        rate = {(of["application"], of["from"], of["to"]): of["MBps"] for of in answer["rates"]}
        for server in scenario["servers"]:
            self.capacity[server["name"], "out"], self.capacity[server["name"], "in"] = server["egress_MBps"], server["ingress_MBps"]
        for of in scenario["applications"]:
            for task in of["tasks"]:
                name = f"{of['name']}.{task['name']}"
                self.server[name] = answer["placement"].get(name, task["server"])
            for flow in of["flows"]:
                ends = [f"{of['name']}.{flow[end]}" for end in ("from", "to")]
                if self.server[ends[0]] != self.server[ends[1]]:
                    restarts = any(task in answer["placement"] for task in ends)
                    self.ends.append(ends)
                    self.MB.append(flow["MB"] - (0 if restarts else flow.get("sent_MB", 0)))
                    self.fair.append(rate[of["name"], flow["from"], flow["to"]])
        self.links = [((self.server[a], "out"), (self.server[b], "in")) for a, b in self.ends]
        self.flows = {}  # of each link
        for flow, links in enumerate(self.links):
            for link in links:
                self.flows.setdefault(link, []).append(flow)

    def performance(self):
        """When each flow ends, s: rates of eq. 19."""
        return [MB / rate for MB, rate in zip(self.MB, self.fair)]

    def equal(self):
        """Each flow has fixed equal shares of its links."""
        return [MB / min(self.capacity[link] / len(self.flows[link]) for link in links) for MB, links in zip(self.MB, self.links)]

    def max_min_rates(self, active):
        """Progressive filling: the link whose flows get the least share is filled first."""
        left, count, rates = dict(self.capacity), {link: len(flows & active) for link, flows in self.sets.items()}, {}
        queue = [(left[link] / count[link], link) for link in count if count[link]]
        heapq.heapify(queue)
        while queue:
            share, link = heapq.heappop(queue)
            if not count[link]:
                continue
            now = left[link] / count[link]
            if now > share * (1 + 1e-12):
                heapq.heappush(queue, (now, link))
                continue
            for flow in self.sets[link] & active:
                if flow not in rates:
                    rates[flow] = now
                    for other in self.links[flow]:
                        left[other] -= now
                        count[other] -= 1
        return rates

    def max_min(self, step=0):
        """Max-min fair rates, chosen again when flows end; ends less than `step` seconds apart are one event."""
        self.sets = {link: set(flows) for link, flows in self.flows.items()}
        left, active, ends, now = list(self.MB), set(range(len(self.MB))), [0] * len(self.MB), 0
        while active:
            rates = self.max_min_rates(active)
            pause = min(left[flow] / rates[flow] for flow in active) + step
            for flow in list(active):
                if left[flow] <= pause * rates[flow] + 1e-9 * self.MB[flow]:
                    ends[flow] = now + min(pause, left[flow] / rates[flow])
                    active.remove(flow)
                else:
                    left[flow] -= pause * rates[flow]
            now += pause
        return ends

    def last(self, ends, task):
        """The end of the task's last flow."""
        return max((end for end, tasks in zip(ends, self.ends) if task in tasks), default=0)


def recover(scenario, *words):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        return nomora("recover", file.name, *words)


def random_time(answer, which):
    """The mean transfer time of the random placements relative to the optimal one."""
    return next(of["p"] for of in answer["compare"] if of.get("placement") == which) / answer["p"]


def testbed():
    scenario = json.loads((SOURCE / "docs/recovery/testbed.json").read_text(encoding="utf-8"))
    for weight, figure, published in (1, 6, ["4.8", "24 s", "about 45 s", "42 s", "24 s"]), \
            (2, 7, ["5", "30 s", "not printed", "not printed", "15 s"]):
        next(of for of in scenario["applications"] if of["name"] == "B")["weight"] = weight
        answer = recover(scenario, "--compare", "--eta", 1)
        time = answer["transfer_time_s"]["A"]
        flows = Flows(scenario, answer)
        places = " ".join(f"{task.replace('.', '')} on {server}" for task, server in answer["placement"].items())
        row(f"figure {figure}: optimal placement {places}; 1/S*", published[0], f"{answer['p']:.6g}")
        row("JO: transfer time of A", published[1], f"{time:.4g} s")
        row("PFR, mean of 100 runs", "between JO and R", f"{time * random_time(answer, 'filter and random'):.4g} s")
        row("R, mean of 100 runs", published[2], f"{time * random_time(answer, 'random'):.4g} s")
        row("C3, performance-centric", published[1], f"{flows.last(flows.performance(), 'C.3'):.4g} s")
        row("C3, per-flow fairness: fixed equal shares", published[3], f"{flows.last(flows.equal(), 'C.3'):.4g} s")
        row("C3, per-flow fairness: max-min", "not printed", f"{flows.last(flows.max_min(), 'C.3'):.4g} s")
        row("B, performance-centric", published[4], f"{answer['transfer_time_s']['B']:.4g} s")


def lags(scenario, answer):
    """Of the servers that got a failed task of stage 1, takes the one with the most other tasks, of which four count. Returns the end
    of the failed task relative to that of the slowest of the others, by sharing."""
    flows, tasks = Flows(scenario, answer), {}
    for task, server in flows.server.items():
        if task not in answer["placement"]:
            tasks.setdefault(server, []).append(task)
    stage = {f"{of['name']}.{task['name']}": task.get("stage", 1) for of in scenario["applications"] for task in of["tasks"]}
    failed = max((task for task in reversed(answer["placement"]) if stage[task] == 1),
                 key=lambda task: len(tasks.get(flows.server[task], [])))
    for text, ends in ("eq. 19", flows.performance()), ("fixed equal shares", flows.equal()), \
            ("max-min", flows.max_min(0.01 * max(answer["transfer_time_s"].values()))):
        yield text, flows.last(ends, failed) / max(flows.last(ends, task) for task in tasks[flows.server[failed]][:4])


def recovery_scale():
    times, small, big, random = [], [], [], []
    for seed in range(1, ARGUMENTS.runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "scenario.json")
            answers = [nomora("recover", "--generate", f"servers=1000,apps=100,tasks=40,failed=20,demand=4,seed={seed}", "--compare",
                              "--runs", 50, "--seed", seed, "--eta", eta, "--scenario", path) for eta in (15, 25)]
            scenario = json.loads(path.read_text(encoding="utf-8"))
        time = answers[0]["transfer_time_s"]["a0"]
        times.append(time)
        small.append(time * random_time(answers[0], "filter and random"))
        big.append(time * random_time(answers[1], "filter and random"))
        random.append(time * random_time(answers[0], "random"))
        if seed == 1:
            figure_13 = list(lags(scenario, answers[0]))
    row(f"JO, mean transfer time over {ARGUMENTS.runs} runs", "least of the four", f"{statistics.mean(times):.4g} s")
    for what, published, values in ("PFRs (eta 15)", "second", small), ("PFRb (eta 25)", "third", big), ("R", "worst", random):
        row(what, published, f"{sum(values) / sum(times):.3f} x JO")
    for (text, lag), published in zip(figure_13, ("no lag", "lags, about 15 s", "not printed")):
        row(f"end of the failed task / slowest other task, {text}", published, f"{lag:.3g} x")


EXPERIMENTS = {"storm": lambda: gains("storm"), "hadoop": lambda: gains("mapreduce"), "failures": failures,
               "dataflow-scale": dataflow_scale, "testbed": testbed, "recovery-scale": recovery_scale}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--nomora", default=SOURCE / "build/bin/nomora", help="the program")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("options", nargs="*", help=argparse.SUPPRESS)
    ARGUMENTS = parser.parse_args()
    EXPERIMENTS[ARGUMENTS.experiment]()

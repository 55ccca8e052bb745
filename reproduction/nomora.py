#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reproduces the evaluation of the NoMora paper, and writes docs/reproduction.md.

  nomora.py --nomora build/bin/nomora --trace google2011 --runs FOLDER [RUN...]
      Makes the simulations that FOLDER does not have yet, two hours of CPU time for all; RUN...: only these. Stores their
      figures in docs/reproduction/nomora.json, and writes the page and its charts.
  nomora.py
      Writes the page from the stored figures.
  nomora.py --check
      Exit status 1 if the page is not the one that the stored figures give.

The page's text is reproduction/nomora.md; what is between {{ and }} is an expression of Python with the names of class Page.
"""

import argparse
import csv
import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from losses import REASONS, losses

SOURCE = Path(__file__).resolve().parent.parent
TEXT, PAGE, FIGURES = SOURCE / "reproduction/nomora.md", SOURCE / "docs/reproduction.md", SOURCE / "docs/reproduction/nomora.json"

P105, P110 = "nomora:p_m=105,p_r=110", "nomora:p_m=110,p_r=115"
BETA1, BETA0 = f"{P105},preemption,beta=1", f"{P105},preemption,beta=0"
BETA0_SECOND, BETA0_MINUTE, BETA1_MINUTE = f"{BETA0},round_s=1", f"{BETA0},round_s=60", f"{BETA1},round_s=60"
FOUR = ["random", "load_spreading", P110, P105]
PAPER = {"random": 47.2, "load_spreading": 46.8, P110: 51.85, P105: 60.2, BETA1: 59.0, BETA0: 89.6}

TENTH = ["--fraction", "0.1", "--topology", "2x48"]
HOUR = TENTH + ["--hours", "1"]
RULES = ["--roots", "best", "--spill", "best", "--unscheduled-capacity", "0", "--machine-arcs", "1024"]
DEFAULT, OTHERS = "nomora:p_m=1000,p_r=1000", [P110, P105, "first_fit", "quincy"]
# The default beside the others, with the same seeds: the options of each condition, on the tenth and its first hour.
MEASURED = ["memcached", "mpi-allreduce", "mpi-pingpong", "nginx", "pgbench", "redis"]
CONDITIONS = {**{f"{slots} slots": ["--slots", str(slots)] for slots in range(11, 17)},
              "STRADS alone": ["--curve-mix", "strads=1"],
              "six measured curves": ["--curve-mix", ",".join(f"{name}-1=1" for name in MEASURED)],
              "192 machines a rack": ["--topology", "2x192"],
              "round trips 10 s old": ["--latency-age", "10"], "round trips 60 s old": ["--latency-age", "60"],
              "10 % error of measurement": ["--measurement-error", "0.1"],
              "60 s old, 10 % error": ["--latency-age", "60", "--measurement-error", "0.1"]}
SEEDS = "1,2,3,4,5,6,7,8,9,10"
SWEEPS = {"slots": "11,12,13,14,15,16", "rack-us": "40,60,70,80,100,120", "pod-us": "100,150,200,250,300,400,570",
          "noise": "0,0.1,0.2,0.4", "spread": "0,0.1,0.3", "drift": "0,0.1,0.4", "spikes": "0,0.005,0.02", "round-s": "0,1,10,60,1800", "roots": "any,best,first,solver", "workers": "same-round,next-round",
          "spill": "any,best", "two-significant-digits": "no,yes", "solver-time": "zero,published"}
CHARTS = ["slots", "rack-us", "noise", "round-s", "roots", "spill"]
# The sets of unknowns: every combination of these values.
GRID = {"roots": ["any", "best", "first", "solver"], "workers": ["same-round", "next-round"], "two-significant-digits": ["no", "yes"],
        "spill": ["any", "best"], "rack-us": ["40", "70", "120"]}
# The run whose journal tells why its jobs lose performance.
LOSSES = "day-default-task"
GRID_POLICIES = [P105, P110, BETA1_MINUTE, BETA0_MINUTE]


def policies(*names):
    return [part for name in names for part in ("-p", name)]


def pair(condition, which):
    return "pair-" + re.sub(r"\W+", "-", condition) + "-" + which


def runs():
    """Returns the options of each run, by name."""
    made = {"day": policies(*FOUR)}
    for name, options in {"first": ["--roots", "first"], "next": ["--workers", "next-round"],
                          "first-next": ["--roots", "first", "--workers", "next-round"],
                          "two": ["--two-significant-digits"],
                          "first-two": ["--roots", "first", "--two-significant-digits"]}.items():
        made[f"day-{name}"] = options + policies(P110, P105)
    made["day-default-task"] = ["--topology", "16x48"] + RULES + ["--weights", "task"] + policies(DEFAULT)
    made["day-first-fit"], made["day-quincy"] = policies("first_fit"), policies("quincy")
    made["gap-hour"] = ["--topology", "16x48", "--hours", "1"] + RULES + ["--gap"] + policies(DEFAULT)
    made["gap-tenth"] = HOUR + RULES + ["--gap"] + policies(DEFAULT)
    for name, options in CONDITIONS.items():
        options = ["--topology", "2x48", "--hours", "1"] + options + ["--sweep", f"seed={SEEDS}"]
        made[pair(name, "default")] = options + RULES + policies(DEFAULT)
        made[pair(name, "job")] = options + RULES + ["--weights", "job"] + policies(DEFAULT)
        made[pair(name, "others")] = options + policies(*OTHERS)
    made["day-beta1"] = policies(BETA1)
    made["day-beta0"] = policies(BETA0_SECOND)
    half = TENTH + ["--hours", "0.5"]
    made["seeds"] = half + policies(*FOUR, BETA1) + ["--sweep", "seed=1,2,3,4,5"]
    made["seeds-beta0"] = half + policies(P105, BETA0_MINUTE) + ["--sweep", "seed=" + ",".join(map(str, range(1, 11)))]
    for key, values in SWEEPS.items():
        made[key] = HOUR + policies(*FOUR) + ["--sweep", f"{key}={values}"]
    for time in ("published", "work"):
        made[f"solver-{time}"] = HOUR + ["--slots", "13", "--solver-time", time] + policies(*FOUR, BETA1, BETA0_SECOND)
    for values in itertools.product(*GRID.values()):
        options = [part for key, value in zip(GRID, values) for part in (f"--{key}={value}",) if value not in ("yes", "no")]
        made["set-" + "-".join(values)] = (["--topology", "2x48", "--hours", "1"] + options + (["--two-significant-digits"] if "yes" in values else []) +
                                           policies(*GRID_POLICIES))
    return made


def trace_of(arguments, name):
    """Returns the trace of a run: for sets and pairs, the tenth and the hour of it that they simulate, which is read faster."""
    tenth = arguments.runs / "tenth"
    if not name.startswith(("set-", "pair-")):
        return arguments.trace
    if not tenth.exists():
        subprocess.run([arguments.nomora, "simulate", "--trace", arguments.trace, *HOUR, "-p", "random", "--write-trace", tenth],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return tenth


def curves_of(arguments):
    """Returns the folder of the curves: the shipped ones, and those of the sweeps in docs/sweeps."""
    folder = arguments.runs / "curves"
    if not folder.exists():
        shutil.copytree(SOURCE / "curves", folder)
        for name in MEASURED:
            subprocess.run([arguments.nomora, "fit", SOURCE / f"docs/sweeps/{name}-1.csv", "-q", "-o", folder / f"{name}-1.json"], check=True)
    return folder


def simulate(arguments, name, options):
    folder = arguments.runs / name
    part = arguments.runs / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    if name == LOSSES:
        options = [*options, "--record", arguments.runs / f"{name}.journal"]
    print(f"{name}: simulate {' '.join(options)}", file=sys.stderr)
    subprocess.run([arguments.nomora, "simulate", "--trace", trace_of(arguments, name), "-C", curves_of(arguments), "--across-us", "570",
                    *options, *([] if "--hours" in options else ["--hours", "24"]), "-o", part], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part.rename(folder)


def rounded(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def figures_of_policy(policy, jobs):
    """Returns what the page says of a policy; jobs: its rows of jobs.csv."""
    areas = sorted(float(row["average"]) for row in jobs)
    small = [float(row["average"]) for row in jobs if 2 <= int(row["tasks"]) <= 12]
    placement, cpu = policy["placement_latency"], policy["wall"]["round_cpu"]
    found = {"area": policy["performance"]["area"], "worst": policy["performance"]["area_worst_task"],
             "tasks": policy["performance"]["task_mean"], "p10": areas[len(areas) // 10], "small": statistics.mean(small),
             "least": areas[0], "rounds": policy["rounds"], "hours": policy["simulated_s"] / 3600,
             "placement": [placement[f"{q}_s"] for q in ("p50", "p90", "p99", "maximum")],
             "response": policy["response_time"]["mean_s"], "migrated": policy["migrated_share_of_running"]["mean"],
             "used": policy["utilisation"]["mean"], "cpu": policy["wall"]["cpu_s"],
             "round_cpu": [cpu[f"{q}_s"] for q in ("p50", "p99", "maximum")]}
    if "gap" in policy:
        found["gap"] = [policy["gap"]["mean"], policy["gap"]["maximum"]]
    return {key: [rounded(v) for v in value] if isinstance(value, list) else rounded(value) for key, value in found.items()}


def figures_of_run(folder):
    if (folder / "sweep.csv").exists():
        areas, tasks, p99 = {}, {}, {}
        with open(folder / "sweep.csv", encoding="utf-8") as file:
            reader = csv.reader(file)
            next(reader)
            for value, policy, area, _, task_mean, _, placement, *_ in reader:
                areas.setdefault(policy, {})[value] = float(area)
                tasks.setdefault(policy, {})[value] = float(task_mean)
                p99.setdefault(policy, {})[value] = float(placement)
        return {"areas": areas, "tasks": tasks} if folder.name.startswith("pair-") else {"areas": areas, "tasks": tasks, "placement_p99": p99}
    with open(folder / "summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    with open(folder / "jobs.csv", encoding="utf-8") as file:
        jobs = list(csv.DictReader(file))
    workload = summary["workload"]
    if folder.name.startswith("set-"):
        return {"areas": {policy["name"]: rounded(policy["performance"]["area"]) for policy in summary["policies"]}}
    journal = folder.with_name(f"{folder.name}.journal")
    return {**({"losses": losses(journal, jobs)} if journal.exists() else {}),
            "workload": {"problems": {name: problem["count"] for name, problem in workload["problems"].items()},
                         **{key: workload[key] for key in ("rows", "machines", "jobs", "tasks", "left_out")}},
            "policies": {policy["name"]: figures_of_policy(policy, [row for row in jobs if row["policy"] == str(number + 1)])
                         for number, policy in enumerate(summary["policies"])}}


def update(arguments, stored):
    wanted = runs()
    for name in arguments.only or wanted:
        if not (arguments.runs / name).exists():
            if not arguments.nomora:
                continue
            simulate(arguments, name, wanted[name])
        stored["runs"][name] = {"options": " ".join(wanted[name]), **figures_of_run(arguments.runs / name)}
        stored["kept"].pop(name, None)
        if name in CHARTS:
            shutil.copy(arguments.runs / name / "sweep.svg", FIGURES.parent / f"{name}.svg")
    stored["runs"] = {name: stored["runs"][name] for name in wanted if name in stored["runs"]}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(run)}" for name, run in stored["runs"].items())
    FIGURES.write_text(f'{{"kept": {json.dumps(stored["kept"])},\n"runs": {{\n{lines}\n}}}}\n', encoding="utf-8")


class Page:
    """The names that the text's expressions use. Areas are in per cent, differences in points."""

    def __init__(self, stored):
        self.kept, self.runs = stored["kept"], stored["runs"]
        self.sets = {name: run["areas"] for name, run in self.runs.items() if name.startswith("set-")}
        self.load = self.runs["day"]["workload"]
        self.left, self.faults = self.load["left_out"], self.load["problems"]

    def policy(self, run, name):
        return self.runs[run]["policies"][name]

    def area(self, run, name):
        return 100 * self.policy(run, name)["area"]

    def percent(self, run, name, key="area", digits=1):
        return f"{100 * self.policy(run, name)[key]:.{digits}f}"

    @staticmethod
    def number(value):
        return f"{round(value):,}"

    @staticmethod
    def apart(a, b, digits=1):
        return f"{abs(a - b):.{digits}f}"

    def kept_text(self):
        return "\n".join(f"The run `{name}` was not repeated with the others: {reason}." for name, reason in self.kept.items())

    @staticmethod
    def interval(a, b):
        """The mean over the seeds of a - b, shares by seed, with its 95 % confidence interval."""
        points = [100 * (a[seed] - b[seed]) for seed in a]
        half = {5: 2.776, 10: 2.262}[len(points)] * statistics.stdev(points) / math.sqrt(len(points))
        return f"{statistics.mean(points):+.1f} ± {half:.1f}".replace("-", "−")

    def difference(self, run, a, b):
        areas = self.runs[run]["areas"]
        return self.interval(areas[a], areas[b])

    def pair_row(self, condition, key):
        """The default's mean over the seeds, and how far it is above the others: areas, or means over tasks."""
        own, job, others = (self.runs[pair(condition, which)][key] for which in ("default", "job", "others"))
        own = own[DEFAULT]
        cells = [self.interval(own, other) for other in [*(others[name] for name in OTHERS), job[DEFAULT]]]
        return f"| {condition} | {100 * statistics.mean(own.values()):.1f} | {' | '.join(cells)} |"

    def pair_rows(self, key):
        return "\n".join(self.pair_row(condition, key) for condition in CONDITIONS)

    def area_row(self, title, run, name):
        paper = PAPER[name.removesuffix(",round_s=1")]
        cells = [self.percent(run, name, key) for key in ("area", "worst", "tasks")]
        return f"| {title} | {paper:.1f} | {' | '.join(cells)} | {self.policy(run, name)['hours']:.0f} h |"

    def unknown_row(self, title, run):
        return f"| {title} | {self.percent(run, P110)} | {self.percent(run, P105)} |"

    def sweep(self, key):
        """The values, and the areas of random, 110/115 and 105/110."""
        areas = self.runs[key]["areas"]
        cells = [", ".join(f"{100 * area:.1f}" for area in areas[name].values()) for name in ("random", P110, P105)]
        return " | ".join([", ".join("1,800" if v == "1800" else v for v in areas[P105]), *cells])

    def span(self, key, name):
        areas = self.runs[key]["areas"][name].values()
        return f"{100 * (max(areas) - min(areas)):.0f}"

    def nearest(self, wanted):
        """The set with the least sum of distances to the published areas, {policy: area}."""
        return min(self.sets, key=lambda name: sum(abs(100 * self.sets[name][policy] - area) for policy, area in wanted.items()))

    @staticmethod
    def set_text(name):
        roots, workers, digits, spill, rack = re.fullmatch(r"set-(\w+)-(\w+-round)-(\w+)-(\w+)-(\d+)", name).groups()
        return f"roots {roots}, workers {workers}, {'two digits' if digits == 'yes' else 'two decimals'}, spill {spill}, {rack} µs"

    def sets_row(self, title, policy, paper):
        areas = [100 * areas[policy] for areas in self.sets.values()]
        best = self.nearest({policy: paper})
        return f"| {title} | {paper:g} | {min(areas):.1f} to {max(areas):.1f} | {100 * self.sets[best][policy]:.1f} | {self.set_text(best)} |"

    def together(self):
        """Returns the set nearest to all four published areas, and its areas."""
        best = self.nearest({P110: PAPER[P110], P105: PAPER[P105], BETA1_MINUTE: PAPER[BETA1], BETA0_MINUTE: PAPER[BETA0]})
        return self.set_text(best), [f"{100 * self.sets[best][name]:.1f}" for name in (P110, P105, BETA1_MINUTE, BETA0_MINUTE)]

    def extreme(self, which, policy, *roots):
        """The largest or least area of the sets with these roots."""
        return f"{100 * which(areas[policy] for name, areas in self.sets.items() if name.split('-')[1] in roots):.0f}"

    def solver_apart(self):
        """The largest difference of area between a set with the solver's roots and the same set with first."""
        pairs = [(areas, self.sets[name.replace("-solver-", "-first-")]) for name, areas in self.sets.items() if "-solver-" in name]
        return f"{100 * max(abs(a[policy] - b[policy]) for a, b in pairs for policy in a):.1f}"

    def lead(self):
        """Returns in how many sets 105/110 is above 110/115, and the largest difference."""
        points = [100 * (areas[P105] - areas[P110]) for areas in self.sets.values()]
        return sum(p > 0 for p in points), max(points)

    def runtime_row(self, title, paper, run, name, quiet, target):
        policy = self.policy(run, name)
        cpu, whole = policy.get("round_cpu"), policy.get("cpu")
        ours = f"{1e3 * cpu[0]:.2g} / {1e3 * cpu[1]:.2g} ms" if cpu else "–"
        return f"| {title} | {paper} | {ours} | {self.number(policy['rounds'])} | {f'{whole:.0f} s' if whole else '–'} | {quiet} | {target} |"

    def placed(self, run, name, quantile=2):
        return self.policy(run, name)["placement"][quantile]

    def solver_row(self, title, name):
        one, other = self.policy("solver-published", name), self.policy("solver-work", name)
        waits = [" / ".join(f"{value:.3g}" for value in policy["placement"][:3]) for policy in (one, other)]
        return (f"| {title} | {100 * one['area']:.1f}; {100 * other['area']:.1f} | {waits[0]} | {waits[1]} | "
                f"{self.number(one['response'])}; {self.number(other['response'])} | {self.number(one['rounds'])}; {self.number(other['rounds'])} |")

    def day_row(self, title, run, name):
        return f"| {title} | {' | '.join(self.percent(run, name, key) for key in ('area', 'p10', 'small', 'tasks', 'least'))} |"

    def loss_rows(self):
        return "\n".join(f"| {reason} | {jobs:,} | {below} | {tenth} | {points:.2f} |"
                         for reason, (jobs, below, tenth, points) in zip(REASONS, self.runs[LOSSES]["losses"]["reasons"]))

    def worst_rows(self):
        return "\n".join(f"| {tasks:,} | {100 * average:.1f} | {free:,} | {pod:,} | {rack:,} | {REASONS[reason]} |"
                         for tasks, average, reason, free, pod, rack in self.runs[LOSSES]["losses"]["worst"])

    def gaps(self, run):
        """Returns the gaps of all rounds together, and of the worst one, in per cent."""
        return [f"{100 * gap:.1f}" for gap in self.policy(run, DEFAULT)["gap"]]



def page(stored, text):
    """Returns the text with the values of its expressions."""
    made = Page(stored)
    names = {**globals(), **vars(made), **{name: getattr(made, name) for name in dir(made) if not name.startswith("_")}}
    return re.sub(r"\{\{(.+?)\}\}", lambda found: str(eval(found[1], names)), text, flags=re.S)  # pylint: disable=eval-used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nomora", type=os.path.abspath, help="the program; without it, no simulation is made")
    parser.add_argument("--trace", help="folder of Google clusterdata-2011-2")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="output of the simulations")
    parser.add_argument("--check", action="store_true", help="compare the page with the stored figures")
    parser.add_argument("only", nargs="*", metavar="RUN", help="a run; without any: all")
    arguments = parser.parse_args()
    if arguments.nomora and not (arguments.trace and arguments.runs):
        parser.error("--nomora needs --trace and --runs")
    if set(arguments.only) - set(runs()):
        parser.error(f"expected runs of {' '.join(runs())}")
    stored = json.loads(FIGURES.read_text(encoding="utf-8"))
    if arguments.runs:
        arguments.runs.mkdir(parents=True, exist_ok=True)
        update(arguments, stored)
    written = page(stored, TEXT.read_text(encoding="utf-8"))
    if arguments.check:
        return int(written != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

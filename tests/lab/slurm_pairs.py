#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Submits each of some random sbatch lines twice, with and without the documented comment, and compares.

Both must be accepted or refused alike, have the same constraints and the same priority while they wait, run on nodes
that the line allows, and the one with the comment must start at most 2 s later. Prints TAP. Needs slurm_pairs.sh's
cluster: nodes h2 to h9 with four CPUs and 400 MB; h2 to h5 are "fast", the others "slow"; h9 has two fpga.
"""
import argparse
import json
import os
import random
import re
import subprocess
import time

NODES = ["h%d" % n for n in range(2, 10)]
LATER_S = 2.0
WAITS_S = 1.5  # a job that has not started after this time waits for something
BUSY_S = 0.25  # on a machine where "scontrol ping" takes longer, times are not judged
PARTITIONS = {"main": NODES, "low": NODES, "high": NODES, "small": NODES, "big": NODES[4:], "gpu": NODES[7:],
              "closed": NODES[4:]}
FEATURES = {"fast": NODES[:4], "slow": NODES[4:]}
LIMIT = re.compile("QOS|Assoc|Max")  # the reasons of jobs at a limit of an account or a QOS
# Fields of "scontrol show job" that say what a job may use, and how.
SAME = ["Nice", "QOS", "Requeue", "TimeLimit", "TimeMin", "Partition", "ExcNodeList", "NumTasks",
        "CPUs/Task", "ReqB:S:C:T", "NtasksPerN:B:S:C", "CoreSpec", "MinCPUsNode", "MinMemoryNode", "MinMemoryCPU",
        "MinTmpDiskNode", "Features", "Reservation", "OverSubscribe", "Contiguous", "Licenses", "TresPerJob",
        "TresPerNode", "TresPerSocket", "TresPerTask", "ArrayTaskThrottle", "DelayBoot"]


def call(*words, limit=60):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def expand(names):
    """The nodes of "h[2-4,7],h9"."""
    return call("scontrol", "show", "hostnames", names)[1].split() if names not in ("", "(null)") else []


def pick(rng, *choices):
    return rng.choice(choices)


def some(rng, least, most):
    return ",".join(rng.sample(NODES, rng.randint(least, most)))


# Each option: its words, from the random numbers. Some are invalid for this cluster, or for most lines.
OPTIONS = [
    lambda r: ["-p", pick(r, "big", "gpu", "small", "closed", "high", "low", "main", "none")],
    lambda r: ["-C", pick(r, "fast", "slow", "fast|slow", "fast&slow", "none")],
    lambda r: ["-x", some(r, 1, 5) if r.random() < 0.9 else "none"],
    lambda r: ["-w", some(r, 1, 3) if r.random() < 0.9 else "none"],
    lambda r: ["--mem=%d" % pick(r, 20, 100, 300, 400, 3000)],
    lambda r: ["--mem-per-cpu=%d" % pick(r, 10, 50, 100, 900)],
    lambda r: ["--gres=%s" % pick(r, "fpga:1", "fpga:2", "fpga:3", "none:1")],
    lambda r: ["--reservation=%s" % pick(r, "res1", "none")],
    lambda r: ["-N", pick(r, "1", "2", "3", "1-2", "2-4", "9")],
    lambda r: ["--mincpus=%d" % pick(r, 1, 2, 4, 8)],
    lambda r: ["--ntasks-per-node=%d" % pick(r, 1, 2, 4, 5)],
    lambda r: ["-c", str(pick(r, 1, 2, 3, 5))],
    lambda r: ["--spread-job"],
    lambda r: ["--use-min-nodes"],
    lambda r: ["-O"],
    lambda r: ["--exclusive"],
    lambda r: ["-s"],
    lambda r: ["--contiguous"],
    lambda r: ["-a", pick(r, "1-3", "1-4%1", "1-3%2", "5,7")],
    lambda r: ["-L", pick(r, "tool:1", "tool:4", "tool:5", "none:1")],
    lambda r: ["-H"],
    lambda r: ["--begin=now+%d" % pick(r, 1, 3600)],
    lambda r: ["--nice=%d" % pick(r, 1, 100, 5000)],
    lambda r: ["--priority=%d" % pick(r, 1, 5000)],
    lambda r: ["--qos=%s" % pick(r, "normal", "none")],
    lambda r: ["--deadline=now+1hour"],
    lambda r: ["--distribution=%s" % pick(r, "cyclic", "block", "arbitrary")],
    lambda r: ["--switches=%d" % pick(r, 1, 2)],
    lambda r: ["--tmp=%d" % pick(r, 0, 1000000)],
    lambda r: ["--core-spec=1"],
    lambda r: ["--cores-per-socket=%d" % pick(r, 1, 4)],
    lambda r: ["-B", "1:1:1"],
    lambda r: ["--hint=nomultithread"],
    lambda r: ["--cpu-freq=high"],
    lambda r: ["--gpus=1"],
    lambda r: ["--dependency=%s" % pick(r, "singleton", "afterok:999999")],
    lambda r: ["--account=none"],
    # These constrain nothing: such a job may be placed.
    lambda r: ["-t", str(pick(r, 1, 5, 30))],
    lambda r: ["-J", "name%d" % r.randint(1, 9)],
    lambda r: [pick(r, "--requeue", "--no-requeue")],
    lambda r: ["--no-kill"],
    lambda r: ["--export=NONE"],
    lambda r: ["--signal=USR1@30"],
    lambda r: ["--open-mode=append"],
]


def make_line(rng):
    words = ["-n", str(pick(rng, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40))] if rng.random() < 0.95 else []
    for _ in range(pick(rng, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3)):
        words += rng.choice(OPTIONS)(rng)
    return words


def allowed(words):
    """The nodes on which Slurm's rules let the line run, except for what is in use."""
    nodes = set(PARTITIONS["main"])
    given = {words[n]: words[n + 1] for n in range(len(words) - 1)}
    if "-p" in given:
        nodes = set(PARTITIONS.get(given["-p"], []))
    if given.get("-C") in FEATURES:
        nodes &= set(FEATURES[given["-C"]])
    if "-x" in given:
        nodes -= set(given["-x"].split(","))
    if any(word.startswith("--gres=fpga") for word in words):
        nodes &= {"h9"}
    return nodes & {"h8"} if "--reservation=res1" in words else nodes - {"h8"}


def node_limits(words):
    """The least and greatest number of nodes by -N; sbatch lowers it to the number of tasks."""
    given = {words[n]: words[n + 1] for n in range(len(words) - 1)}
    if "-N" not in given:
        return 1, len(NODES)
    ends = given["-N"].split("-")
    return min(int(ends[0]), int(given.get("-n", ends[0]))), int(ends[-1])


def records(job):
    """What Slurm shows of a job: a dictionary for each of an array's elements."""
    code, out, _ = call("scontrol", "-o", "show", "job", job)
    if code != 0:
        return []
    return [dict(word.split("=", 1) for word in line.split(" ") if "=" in word) for line in out.splitlines()]


class Half:
    """A line that was submitted, with or without a comment."""

    def __init__(self, words, script, comment):
        call_words = ["sbatch", "--parsable", "-o", "/dev/null"] + words
        self.words = words
        code, self.job, self.refusal = call(*call_words, *(["--comment=nomora:curve=memcached,move=no"] if comment else []),
                                            script)
        self.submitted = time.monotonic()
        self.accepted = code == 0
        self.refusal = self.refusal.splitlines()[-1:]
        self.records, self.first = [], []
        self.after_s = None
        self.reserves = False

    def running(self):
        return sum(record["JobState"] in ("RUNNING", "CONFIGURING") for record in self.records)

    def look(self):
        if self.accepted:
            self.records = records(self.job) or self.records
            self.first = self.first or self.records

    def watch(self, limit_s, enough):
        """Waits until `enough` elements run, at most limit_s."""
        while self.accepted:
            self.look()
            passed = time.monotonic() - self.submitted
            if self.running() >= enough:
                self.after_s = passed
                return True
            if passed > limit_s:
                self.reserves = self.is_reserved()
                return False
            time.sleep(0.03)
        return False

    def is_reserved(self):
        """True if schedd has slots for a job that waits."""
        marks = [record.get("AdminComment", "") for record in self.records]
        answer = call("curl", "-s", "--unix-socket", os.environ["NOMORA_SCHEDD"], "http://localhost/v1/jobs")[1]
        return any(("nomora:%s" % job["id"]) in marks and job["decided"] > 0 for job in json.loads(answer)["jobs"])

    def placed(self):
        """True if schedd decided while sbatch waited: a job that Slurm placed has another id, slurm-JOB."""
        return any(re.match("nomora:slurm-[0-9a-f]+-[0-9]+$", record.get("AdminComment", "")) for record in self.first)

    def nodes(self):
        return {node for record in self.records if record["JobState"] == "RUNNING" for node in expand(record["NodeList"])}

    def end(self):
        if not self.accepted:
            return
        call("scancel", self.job)
        until = time.monotonic() + 30
        while time.monotonic() < until and call("squeue", "-h", "-j", self.job, "-o", "%i")[1]:
            time.sleep(0.05)


def cpus_of(half):
    return sorted(record["NumCPUs"] for record in half.records if record["JobState"] == "RUNNING")


def value(half, record, field):
    """A field's value. Slurm replaces an unlimited time by a year when it starts a job, and fits it to a deadline."""
    if field == "TimeLimit" and any(word.startswith("--deadline") for word in half.words):
        return None
    text = record.get(field)
    return "UNLIMITED" if text == "365-00:00:00" else text


def compare(plain, asked):
    """The differences, as texts, except those of time."""
    if plain.accepted != asked.accepted:
        return ["plain: %s; with the comment: %s" % (plain.refusal or "accepted", asked.refusal or "accepted")]
    if not plain.accepted:
        return [] if plain.refusal == asked.refusal else ["refused for another reason: %s, %s" % (plain.refusal, asked.refusal)]
    found = []
    for record, other in zip(plain.records[:1], asked.records[:1]):
        for field in SAME:
            if value(plain, record, field) != value(asked, other, field):
                found.append("%s: %s, with the comment %s" % (field, record.get(field), other.get(field)))
        if record["JobState"] == other["JobState"] == "PENDING" and record["Priority"] != other["Priority"]:
            found.append("priority %s, with the comment %s" % (record["Priority"], other["Priority"]))
        limits = [r["Reason"] for r in (record, other) if LIMIT.match(r["Reason"])]
        if limits and record["Reason"] != other["Reason"] and "None" not in (record["Reason"], other["Reason"]):
            found.append("waits for %s, with the comment for %s" % (record["Reason"], other["Reason"]))
        if LIMIT.match(other["Reason"]) and asked.reserves:
            found.append("schedd reserves slots although %s" % other["Reason"])
    if asked.nodes() - allowed(asked.words):
        found.append("runs on %s" % sorted(asked.nodes() - allowed(asked.words)))
    least, most = node_limits(asked.words)
    for record in asked.records:
        if record["JobState"] == "RUNNING" and not least <= int(record["NumNodes"]) <= most:
            found.append("runs on %s nodes" % record["NumNodes"])
    if plain.running() and asked.running() and cpus_of(plain) != cpus_of(asked):
        found.append("CPUs %s, with the comment %s" % (cpus_of(plain), cpus_of(asked)))
    return found


def try_pair(words, script, asked_first):
    """One line, twice. Returns both halves, and whether the start of the second is too late."""
    halves = {}
    for comment in (True, False) if asked_first else (False, True):
        half = halves[comment] = Half(words, script, comment)
        other = halves.get(not comment)
        if other is None:
            half.watch(WAITS_S, 1)
        elif other.running():
            half.watch(other.after_s + LATER_S if comment else WAITS_S + LATER_S, other.running())
        else:
            half.watch(WAITS_S, 1)
        half.end()
    return halves[False], halves[True]


def busy():
    began = time.monotonic()
    call("scontrol", "ping")
    return time.monotonic() - began > BUSY_S


def judge(words, script, rng):
    """Returns the differences, whether they are of time only, and whether schedd placed the job."""
    late, placed = False, False
    for _ in range(3):  # a start that is late once may be so by chance
        plain, asked = try_pair(words, script, rng.random() < 0.5)
        found = compare(plain, asked)
        placed = placed or asked.placed()
        late = bool(plain.running() > asked.running() or
                    (asked.running() and plain.running() and asked.after_s > plain.after_s + LATER_S))
        early = asked.running() > plain.running()
        if found or not (late or early):
            break
    if found:
        return found, False, placed
    if late:
        return ["starts after %s s, plain %s s" % (asked.after_s, plain.after_s),
                "plain %s" % plain.records, "asked %s" % asked.records], True, placed
    if early:
        return ["starts, but plain waits: %s" % plain.records], True, placed
    return [], False, placed


# Settings of memory: of slurm.conf, of the default partition. Under some, a job without options never starts.
MEMORY = [(["DefMemPerNode=150"], []), ([], []), (["DefMemPerCPU=40", "MaxMemPerNode=120"], []),
          (["DefMemPerNode=100", "MaxMemPerNode=300"], []), (["DefMemPerNode=100", "MaxMemPerCPU=150"], []),
          (["DefMemPerNode=300", "MaxMemPerCPU=100"], []), (["DefMemPerNode=300", "MaxMemPerNode=200"], []),
          (["DefMemPerCPU=40"], ["DefMemPerNode=200"]), (["DefMemPerNode=300"], ["DefMemPerCPU=90"]),
          (["DefMemPerCPU=40"], ["MaxMemPerNode=80"]), (["DefMemPerCPU=40", "MaxMemPerCPU=60"], ["DefMemPerNode=50"]),
          (["DefMemPerCPU=100"], ["MaxMemPerCPU=60"])]


def set_memory(rng):
    """Draws the settings of memory; returns their text."""
    cluster, partition = rng.choice(MEMORY)
    path = os.environ["SLURM_CONF"]
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not re.match("(Def|Max)Mem", line)]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(["%s\n" % line for line in cluster] + lines)
    call("scontrol", "reconfigure")
    if partition:
        call("scontrol", "update", "PartitionName=main", *partition)
    return "slurm.conf: %s; the default partition: %s" % (" ".join(cluster) or "none", " ".join(partition) or "none")


class Others:
    """The jobs that keep the cluster busy."""

    def __init__(self, script, accounts=()):
        self.script, self.accounts, self.jobs = script, accounts, []

    def change(self, rng):
        """Without accounts, some jobs leave CPUs without memory, or all are busy, and a job waits for them."""
        share = pick(rng, 0.2, 0.4, 0.6) if self.accounts else pick(rng, 0, 0.3, 0.6, 0.9, 1.0)
        for node in NODES:
            cpus = 4 if share == 1 else sum(rng.random() < share for _ in range(4))
            if cpus and node not in ("h2", "h8"):  # a job that waited for one of these would be a queue, and Slurm decides
                memory = [] if self.accounts else pick(rng, [], [], ["--mem=200"], ["--mem=360"])
                self.add("-n", str(cpus), "-N", "1", "-w", node, "-p", "main", *memory)
        for account in rng.sample(self.accounts, min(len(self.accounts), 2)):
            self.add("-n", str(pick(rng, 1, 4)), "-A", account)
        until = time.monotonic() + 20
        while time.monotonic() < until and re.search("^(None|Resources|Priority)", call("squeue", "-h", "-t", "PENDING", "-o", "%r")[1], re.M):
            time.sleep(0.05)
        if share == 1 and rng.random() < 0.5:
            self.add("-n", "2")  # waits for nodes
        time.sleep(0.7)  # the agent has seen these jobs
        return share

    def add(self, *words):
        self.jobs.append(call("sbatch", "--parsable", "-o", "/dev/null", *words, self.script)[1])

    def clear(self):
        if self.jobs:
            call("scancel", *self.jobs)
        until = time.monotonic() + 60
        while self.jobs and time.monotonic() < until and call("squeue", "-h", "-o", "%i")[1]:
            time.sleep(0.1)
        self.jobs = []


def begin():
    """Parses the options, and prepares the cluster and the script of the jobs. Returns the options and the script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--mark")
    parser.add_argument("--memory", action="store_true", help="change the settings of memory every ten lines")
    options = parser.parse_args()
    script = os.path.join(options.mark, "sleep.sh")
    with open(script, "w", encoding="ascii") as out:
        out.write("#!/bin/sh\nexec sleep 600\n")
    call("scontrol", "create", "reservation", "ReservationName=res1", "StartTime=now", "Duration=1-0", "Users=root", "Nodes=h8")
    call("scontrol", "update", "NodeName=h2", "State=DRAIN", "Reason=test")
    return options, script


def say(number, name, found, excuse):
    """Prints a test's result. Returns 1 if it fails; found: what is wrong, which a busy machine may excuse."""
    if found and excuse and busy():
        print("ok %d - %s # SKIP too busy to judge: %s" % (number, name, found[0]))
    else:
        print("%sok %d - %s" % ("not " if found else "", number, name))
        excuse = False
    for text in found:
        print("# %s" % text, flush=True)
    return bool(found) and not excuse


def main():
    options, script = begin()
    rng = random.Random(options.seed)
    others = Others(script)
    red = placed = 0
    for number in range(1, options.lines + 1):
        if number % 10 == 1:
            others.clear()
            if options.memory and number > 1:
                print("# %s" % set_memory(random.Random(options.seed + number)))
            print("# the other jobs use %.0f %% of the CPUs" % (100 * others.change(rng)), flush=True)
        words = make_line(rng)
        # Not the same random numbers: on a busy machine, judge() takes more of them.
        found, timed, was_placed = judge(words, script, random.Random(number))
        placed += was_placed
        red += say(number, "sbatch %s%s" % (" ".join(words), " (placed)" if was_placed else ""), found, timed)
    others.clear()
    few = ["fewer than one in 20"] if placed * 20 < options.lines else []
    red += say(options.lines + 1, "schedd places some of the jobs: %d" % placed, few, True)
    print("1..%d" % (options.lines + 1))
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())

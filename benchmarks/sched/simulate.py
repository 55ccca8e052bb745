#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole runs of `nomora simulate` and `tracegen`: CPU time and memory of each, a JSON line for each figure.

    simulate.py NOMORA CURVES [DATA]

DATA (else $NOMORA_DATA) has google2011; without it the synthetic day stands in. The days with preemption are cut to a minute; their
figure is the CPU time of a round. NOMORA_LONG=1 adds 50,000 machines.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

nomora, curves = sys.argv[1:3]
trace = Path((sys.argv[3:4] or [os.environ.get("NOMORA_DATA", "")])[0]) / "google2011"
PAPER = "nomora:p_m=105,p_r=110"
SPARK = ["--curve-mix", "spark=1", "--topology", "16x192"]
day = ["simulate", "--curves", curves, "--across-us", "570", "--json"] + (["--trace", str(trace)] if trace.is_dir() else [])


def run(name, arguments):
    """CPU time and memory of this process only."""
    child = subprocess.Popen([nomora, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{name}: exit {child.returncode}")
    line = {"benchmark": "simulate", "run": name, "trace": trace.is_dir(), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "memory_MB": round(usage.ru_maxrss / 1024)}
    if arguments[0] == "simulate":
        summary = json.loads(out)
        policy = summary["policies"][0]
        line |= {"tasks": policy["tasks"]["submitted"], "rounds": policy["rounds"], "area": policy["performance"]["area"]}
        line |= {f"round_{key}_ms": round(1e3 * policy["wall"]["round_cpu"][f"{key}_s"], 3) for key in ("p50", "p99", "maximum")}
    print(json.dumps(line), flush=True)


with tempfile.TemporaryDirectory() as folder:
    run("a trace of a million tasks", ["tracegen", "--tasks", "1000000", folder])
run("reading and the first seconds", [*day, "--hours", "0.001", "-p", "random"])
run("a day without preemption", [*day, "--hours", "24", "-p", PAPER])
run("an hour, Spark's curve, racks of 192", [*day, *SPARK, "--hours", "1", "-p", PAPER])
run("the same with 1,024 arcs a row", [*day, *SPARK, "--hours", "1", "-p", PAPER, "--machine-arcs", "1024"])
for beta in (1, 0):
    run(f"a minute, preemption, beta {beta}, a round a second", [*day, "--hours", "0.0167", "-p", f"{PAPER},preemption,beta={beta},round_s=1"])
if os.environ.get("NOMORA_LONG"):
    run("a day of 50,000 synthetic machines", ["simulate", "--curves", curves, "--json", "--machines", "50000", "-p", PAPER])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""text_sched.py BIN SOURCE: the text of a command says what its --json says. The text is built again from the JSON, here; all
lines must be equal but for spaces and the solver's time."""
import json
import os
import re
import subprocess
import sys
import tempfile

BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
CURVES = os.path.join(SOURCE, "curves")
number = 0


def s(count):
    return "" if count == 1 else "s"


def run(*arguments):
    return subprocess.run([os.path.join(BIN, "nomora"), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def plain(text):
    text = re.sub(r"(took|in) [-+.e0-9]+ ms", r"\1 T", text)  # the solver's time
    text = re.sub(r"( +[0-9.]+ m?s){2}( +\d+ +\d+)$", r" T T\2", text, flags=re.M)  # and in a simulation
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def same(name, build, *arguments):
    global number
    number += 1
    text, machine = run(*arguments), run(*arguments, "--json")
    try:
        wanted = build(json.loads(machine.stdout))
    except (ValueError, KeyError) as err:
        wanted, machine.stderr = "", f"{machine.stderr}{err!r}"
    good = text.returncode == machine.returncode == 0 and wanted and plain(text.stdout) == plain(wanted)
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        for a, b in zip(plain(text.stdout) + [""] * 99, plain(wanted)):
            if a != b:
                print(f"# printed: {a}\n#    JSON: {b}")
        print("# " + f"{text.stdout}\n{wanted}{machine.stderr}{text.stderr}".replace("\n", "\n# "), flush=True)


def gain(d):
    def share(x):
        return f"{x['performance']:.3f}" + ("" if x["low"] is None else f" ({x['low']:.3f} to {x['high']:.3f})")

    def percent(x):
        return f"{100 * x:+.1f}"

    def row(r, name):
        gains = percent(r["gain"]) + " %" + ("" if r["gain_low"] is None else f" ({percent(r['gain_low'])} to {percent(r['gain_high'])})")
        return f"{name} {r.get('curve', '')} {r['tasks']} {share(r['today'])} {share(r['best'])} {r['random']:.3f} {gains}"

    tasks, jobs = sum(len(j["placement"]) for j in d["jobs"]), len(d["jobs"])
    mean, foreign, left = d["mean_of_tasks"], d["foreign_hosts"], d["left_out"]
    out = [f"{jobs} job{s(jobs)} with {tasks} task{s(tasks)} compared; {d['hosts']} hosts in the mesh; round trips: {d['latency_stat']}",
           "JOB CURVE TASKS TODAY BEST RANDOM GAIN"]
    out += [row(j, j["job"]) for j in d["jobs"]]
    out += [row(d["mean_of_jobs"], f"mean of {jobs} job{s(jobs)}"), row(mean, f"mean of {mean['tasks']} task{s(mean['tasks'])}")]
    if d["moved"]:
        out += [f"The best placement moves {d['moved']} of {tasks} tasks."
                + (" Its gain is within the uncertainty of the curves." if mean["gain_low"] is not None and mean["gain_low"] <= 0 else "")]
    else:
        out += ["No better placement was found than the present one, which counts as the best."]
    assert d["moved"] == sum(t["today"] != t["best"] for j in d["jobs"] for t in j["placement"])
    out += ["Performance: 1 = no added latency. A job's is the mean of its tasks without the root, by their round trips to the root.",
            f"In brackets: bounds by the 95 % bands of the curves. Random: mean of {d['seeds']} placements."]
    out += ["Slots: those that the compared jobs use today; --slots or --cluster gives others."]
    if foreign:
        out += [f"{len(foreign)} host{' is' if len(foreign) == 1 else 's are'} not in the mesh, with {sum(foreign.values())}"
                f" task{s(sum(foreign.values()))}: " + " ".join(foreign)]
    if left:
        out += [f"{len(left)} job{' is' if len(left) == 1 else 's are'} left out:"] + [f"{k}: {v}" for k, v in left.items()]
    return "\n".join(out)


def place(d):
    t, tasks, kept = d["totals"], d["tasks"], d["settings"]
    out = [d["policy"] + (f", p_m {kept['p_m']}, p_r {kept['p_r']}, {'' if kept['preemption'] else 'no '}preemption" if d["policy"] == "nomora" else "")
           + f"; 6 machines in 3 racks, {t['slots_free_before']} of {t['slots']} slots free; 4 jobs, {len(tasks)} tasks"]
    roots = sum(x["root"] and x["machine"] is not None and x["was_on"] is None for x in tasks)
    moved = sum(x["machine"] is not None and x["machine"] != x["was_on"] for x in tasks)
    if d["policy"] == "nomora":
        out += [f"One round = two solves: roots first ({roots} placed), then the other tasks, whose roots are known"
                f" ({moved - roots} move{s(moved - roots)})."]
    out += ["Latency: p99; a curve's baseline round trip is subtracted (warning: baseline unknown, so nothing is subtracted for memcached, spark, strads).",
            "JOB.TASK MACHINE RTT TO ROOT PERFORMANCE COST BY ARC NEXT BEST RANDOM"]
    for x in tasks:
        cells = [f"{x['job']}.{x['task']}{' (root)' if x['root'] else ''}"]
        if x["machine"] is None:
            cells += ["waits"]
        else:
            cells += [f"{x['machine']} ({x['rack']})" + (", stays" if x["was_on"] == x["machine"] else f", was {x['was_on']}" if x["was_on"] else "")]
        predicted = x["performance"] is not None
        if predicted:
            cells += [x["rtt_origin"] if x["rtt_us"] is None else f"{x['rtt_us']:.1f} us {x['rtt_origin']}", f"{x['performance']:.3f}"]
        if x["machine"] is not None and x["arc"] != "none":
            cells += [f"{x['arc_cost']} {x['arc']}"]
        if x["machine"] is None:
            cells += [x["why_waiting"]]
        elif x["next_best"]:
            cells += [f"{x['next_best']['machine']} {x['next_best']['performance']:.3f}"]
        elif predicted:
            cells += ["no other slot"]
        if x["random_performance"] is not None:
            cells += [f"{x['random_performance']:.3f}"]
        out += [" ".join(cells)]
    out += [f"{t['placed']} placed, {t['stay']} stay, {t['moved']} moved or preempted, {t['waiting']} wait; {t['slots_free_after']} slots left"]
    out += [f"Predicted performance, mean of {t['predicted']} tasks: {d['policy']} {100 * t['mean_performance']:.1f} %, random"
            f" {100 * t['random_mean_performance']:.1f} % (expected value for a random free slot); worst task {100 * t['worst_performance']:.1f} %",
            f"{t['in_root_rack']} of these tasks are in their root's rack"]
    solver = d["solver"]
    out += [f"Solved by {solver['algorithm']} in T{', proved optimal' if solver['verified'] else ''}; cost {solver['cost']};"
            f" sum of 100/performance {t['performance_cost']}"]
    if "round" in d:
        r = d["round"]
        out += [f"The tasks placed in this round cost {r['cost']}, with any choice of roots and slots at least {r['cost_bound']} (gap {100 * r['gap']:.1f} %)"]
        rack = {x["machine"]: x["rack"] for x in tasks} | RACKS
        for j in r["roots"]:
            if j["tasks"]:
                alone = f" (without the round's other jobs {j['cost_alone']})" if j["cost_alone"] < j["cost"] else ""
                other = (f"; on the best other machine, {j['next_root']} ({rack[j['next_root']]}), at least {j['next_cost']}" if j["next_root"]
                         else "; no other machine is possible")
                out += [f"Job {j['job']}: with its root on {j['root']} ({rack[j['root']]}), its {j['tasks']} other task{s(j['tasks'])}"
                        f" cost{'s' if j['tasks'] == 1 else ''} {j['cost']}{alone}{other}"]
    for g in d.get("graphs", []):
        given = "" if g["performance_unordered"] is None else f" ({100 * g['performance_unordered']:.1f} % before its tasks were ordered)"
        bound = "" if g["cost_bound"] is None else f", in no order below {g['cost_bound']:.0f}"
        out += [f"Job {g['job']}: mean performance of its {g['edges']} edge{s(g['edges'])} {100 * g['performance']:.1f} %{given}; cost {g['cost']:.0f}{bound}"]
    return "\n".join(out)


def recover(d):
    out = [f"{d['status']}: {d['failed']} failed task{s(d['failed'])}, {d['candidates']} candidate server{s(d['candidates'])}, solver took T",
           f"p {d['p']:.6g} s (gap {100 * d['gap']:.2g} %), S* {d['S']:.6g}; before the failure p {d['p_before']:.6g} s, S* {d['S_before']:.6g}",
           "transfer times: " + ", ".join(f"{k} {v:.6g} s" for k, v in d["transfer_time_s"].items())]
    if d["bottlenecks"]:
        out += ["bottlenecks: " + ", ".join(f"{b['server']} {b['direction']}" for b in d["bottlenecks"])]
    out += ["task server load next best random"]
    for w in d["why"]:
        assert d["placement"][w["task"]] == w["server"]
        n = w["next_best"]
        best = f"{n['server']}: p {n['p']:.6g} ({100 * (n['p'] / d['p'] - 1):+.1f} %)" if n else "none fits"
        star = "*" if w["load_s"] >= d["p"] * (1 - 1e-9) else ""
        out += [f"{w['task']} {w['server']} {w['load_s']:.6g}{star and ' *'} {best} p {w['random_p']:.6g} over {w['servers']}"]
    compared = [c for c in d.get("compare", []) if "placement" in c]
    if compared:
        out += ["placement p p/p* least greatest"]
        for c in compared:
            name = "filter, eta 1 + random" if c["placement"].startswith("filter") else c["placement"]
            out += [f"{name} {c['p']:.6g} {c['p'] / d['p']:.3f}" + (f" {c['least_p']:.6g} {c['greatest_p']:.6g}" if "least_p" in c else "")]
        out += ["sharing (joint placement) mean time last"]
        out += [f"{c['sharing']} {c['mean_time_s']:.6g} s {c['last_s']:.6g} s" for c in d["compare"] if "sharing" in c]
    return "\n".join(out)


def plan(d):
    out = []
    for j in d["jobs"]:
        line = f"{j['name']}: {j['MBps']:.2f} MB/s"
        if "evaluations" in j:
            line += f", random {j['random_MBps']:.2f} ({j['evaluations']} placements evaluated in T)"
        else:
            line += " (was running)"
        out += [line] + ([f"performance at the hosts' latency: {100 * j['performance']:.1f} %"] if "performance" in j else [])
        out += [f"{t} {host}" for t, host in j["placement"].items()]
        out += [f"{x['task']} sends {x['MBps']:.2f} MB/s, limited by {x['limited_by']}" for x in j["sources"]]
        assert abs(sum(x["MBps"] for x in j["sources"]) - j["MBps"]) < 1e-6
    if "moves" in d:
        out += [f"move {m['task']} of {m['job']} from {m['from']} to {m['to']}: {m['gain_MBps']:+.2f} MB/s for all jobs, {m['own_gain_MBps']:+.2f}"
                " MB/s for this job" for m in d["moves"]] or ["no move of a task of a running job would raise the sum of the rates"]
    if "bound_MBps" in d:
        total = sum(j["MBps"] for j in d["jobs"])
        out += [f"bound: all jobs {total:.2f} MB/s, {100 * total / d['bound_MBps']:.1f} % of the {d['bound_MBps']:.2f} MB/s that these placements allow"]
    return "\n".join(out)


def flows(d):
    end = d["rates"][-1][0]
    out, times = ["JOB ARRIVAL s START s END s MB MB/s"], []
    for j in d["jobs"]:
        until = end if j["end_s"] is None else j["end_s"]
        moved = f" {j['moved_tasks']} task{s(j['moved_tasks'])} moved" if j["moved_tasks"] else ""
        at = ["nan" if x is None else f"{x:.3f}" for x in (j["start_s"], j["end_s"])]
        rate = "nan" if j["start_s"] is None or until <= j["start_s"] else f"{j['MB'] / (until - j['start_s']):.2f}"
        out += [f"{j['name']} {j['arrival_s']:.3f} {at[0]} {at[1]} {j['MB']:.2f} {rate}{moved}"]
        times += [] if j["end_s"] is None else [j["end_s"] - j["arrival_s"]]
    times.sort()
    median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2 if times else 0
    sent = sum(rate * (then - at) for (at, rate), (then, _) in zip(d["rates"], d["rates"][1:]))
    assert abs(sent - sum(j["MB"] for j in d["jobs"])) < 1e-6 * sent  # no megabyte is lost
    half = f", half of them within {median:.3f} s of their arrival" if times else ""
    return "\n".join(out + [f"{len(times)} of {len(d['jobs'])} job{s(len(d['jobs']))} ended{half}; all jobs together sent {sent / end:.2f} MB/s on average"
                            f" over {end:.3f} s; {d['rerouted']} route{s(d['rerouted'])} replaced after failures"])


def day(d):
    def share(x):
        return "-" if x is None else f"{100 * x:.1f}%"

    def took(seconds):
        return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"

    w, left = d["workload"], d["workload"]["left_out"]
    out = [f"{w['machines']} machines, {w['jobs']} jobs, {w['tasks']} tasks; left out: {left['tasks_that_never_ran']} tasks that never ran,"
           f" {left['single_task_jobs']} jobs of one task", f"simulated: hour 0.00 to {d['settings']['hours']:.2f} of the workload",
           "POLICY AREA WORST TASKS PLACED p50 p99 ROUND p50 p99 MIGRATED WAITING"]
    for p in d["policies"]:
        f, wait = p["performance"], p["placement_latency"]
        out += [f"{p['name']} {share(f['area'])} {share(f['area_worst_task'])} {share(f['task_mean'])} {took(wait['p50_s'])} {took(wait['p99_s'])} 1 ms 1 ms"
                f" {p['moves']['migrations']} {p['waiting_tasks']['mean']:.0f}"]
    for p in d["policies"]:
        g = p["gap"]
        out += [f"{p['name']}: the tasks that the rounds placed cost {100 * (g['cost'] / g['cost_bound'] - 1):.1f} % more than is proved to be least,"
                f" in one round at most {100 * g['maximum']:.1f} %"]
    return "\n".join(out + ["AREA is the mean over jobs of the average application performance, WORST the same of each job's worst task, TASKS",
                            "the mean over tasks. The times of rounds are CPU time."])


SIMULATE = ["simulate", "--curves", CURVES, "--machines", "60", "--slots", "4", "--hours", "0.1", "--load", "1.5", "--topology", "2x5",
            "--unscheduled-capacity", "0", "-p", "nomora:preemption"]
# option of simulate: its value, and its name among the settings of the summary
OPTIONS = {
    "--fraction": (0.7, "fraction"), "--speed-up": (2, "speed_up"), "--keep-single": (True, "keep_single"),
    "--slots": (5, "slots"), "--topology": ("3x7", "topology"), "--solver-time": ("work", "solver_time"),
    "--round-s": (7, "round_s"), "--roots": ("best", "roots"), "--workers": ("next-round", "workers"),
    "--weights": ("job", "weights"), "--unscheduled-capacity": (3, "unscheduled_capacity"),
    "--omega-per-s": (17, "omega_per_s"), "--seed": (9, "seed"),
    "--rack-us": (33, "latency.rack_us"), "--pod-us": (90, "latency.pod_us"), "--across-us": (333, "latency.across_us"),
    "--spread": (0.4, "latency.spread"), "--drift": (0.3, "latency.drift"), "--noise": (0.5, "latency.noise"),
    "--spikes": (0.05, "latency.spike_chance"), "--latency-age": (50, "latency.age_s"),
    "--measurement-error": (0.9, "latency.error"), "--curve-mix": ("spark=100", "curve_mix"),
    "--two-significant-digits": (True, "two_significant_digits"), "--machine-arcs": (1, "machine_arcs"), "--gamma": (101, "gamma"), "--spill": ("best", "spill"),
    "--lose-work": (True, "lose_work"),
}


def settings_and_results(*more):
    d = json.loads(run(*SIMULATE, *more, "--json").stdout)
    for p in d["policies"]:
        del p["wall"]
    return d["settings"], d["policies"]


def every_option():
    """Each option is in the summary, alone of all settings, and changes the results."""
    global number
    settings, results = settings_and_results()
    wrong = []
    for option, (value, key) in OPTIONS.items():
        changed, other = settings_and_results(*([option] if value is True else [option, str(value)]))
        *outer, last = key.split(".")
        wanted = json.loads(json.dumps(settings))
        (wanted[outer[0]] if outer else wanted)[last] = value
        if changed != wanted:
            wrong += [f"{option}: {changed}"]
        if other == results and option != "--speed-up":  # which is for traces
            wrong += [f"{option} changes nothing"]
    number += 1
    print(f"{'not ok' if wrong else 'ok'} {number} - simulate: each option is in the summary and changes the results")
    for line in wrong:
        print("# " + line)


RACKS = {f"h{i}": f"r{(i + 1) // 2}" for i in range(1, 7)}
MACHINES = [{"name": h, "rack": r, "slots": 4 if h == "h3" else 2 + (h == "h1")} for h, r in RACKS.items()]
JOBS = [{"id": "web", "curve": "memcached", "root": "s", "tasks": ["s", "c1", "c2"], "graph": "ring"},
        {"id": "runs", "curve": "spark", "root": "r", "tasks": [{"name": "r", "machine": "h3"}, {"name": "a", "machine": "h6", "running_s": 60}, "b"]},
        {"id": "big", "curve": "strads", "root": 0, "tasks": ["x", "y", "z"]},
        {"id": "lost", "curve": "memcached", "root": 0, "tasks": ["x", {"name": "y", "machine": "h5"}, "z"]}]
PAIRS = {("h1", "h2"): 12, ("h1", "h3"): 412, ("h2", "h3"): 412, ("h5", "h6"): 42, ("h3", "h6"): 212, ("h3", "h4"): 22, ("h1", "h4"): 90, ("h2", "h5"): 61}


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def main():
    write("cluster.json", json.dumps({"schema": "nomora.cluster/1", "machines": MACHINES}))
    write("jobs.jsonl", "".join(json.dumps(j) + "\n" for j in JOBS))
    write("full.jsonl", "".join(json.dumps(j) + "\n" for j in [*JOBS[:3], {**JOBS[3], "tasks": JOBS[3]["tasks"] + [f"t{i}" for i in range(9)]}]))
    write("mesh.csv", "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
          + "".join(f"{a},{b},{us - 2},{us},{us + 9},0,100,1795188663.25\n" for (a, b), us in PAIRS.items()))
    placing = ["place", "--cluster", "cluster.json", "--latency", "mesh.csv", "--curves", CURVES]
    print("1..15")
    same("place", place, *placing, "--jobs", "jobs.jsonl")
    same("place --verify, tasks that wait", place, *placing, "--jobs", "full.jsonl", "--verify")
    same("place --preemption", place, *placing, "--jobs", "jobs.jsonl", "--preemption", "--verify")
    same("place, random", place, *placing, "--jobs", "jobs.jsonl", "--policy", "random")
    comparing = ["gain", "--sacct", os.path.join(SOURCE, "tests/data/slurm/squeue.txt"), "--curves", CURVES, "--curve", "spark"]
    write("slurm.csv", "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
          + "".join(f"h{a},h{b},1,{20 * (b - a) + a},999,0,100,1795188663.25\n" for a in range(1, 9) for b in range(a + 1, 9)))
    write("part.csv", "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
          + "".join(f"h{a},h{b},1,{20 * (b - a) + a},999,0,100,1795188663.25\n" for a in range(3, 9) for b in range(a + 1, 9) if a != 4 and b != 4))
    same("gain", gain, *comparing, "--latency", "slurm.csv")
    same("gain, hosts outside the mesh", gain, *comparing, "--latency", "part.csv", "--seeds", "3")
    same("recover", recover, "recover", "--generate", "servers=6,apps=2,tasks=4,failed=2,seed=3")
    same("recover --compare", recover, "recover", "--generate", "servers=9,apps=3,tasks=6,failed=4,seed=5,weights=2-5", "--compare", "--runs", "9")
    write("flows.json", json.dumps(DATAFLOW))
    same("dataflow plan", plan, "dataflow", "plan", "flows.json")
    same("dataflow plan --moves --bound", plan, "dataflow", "plan", "flows.json", "--advise-moves", "--bound")
    same("dataflow simulate", flows, "dataflow", "simulate", "flows.json")
    same("dataflow simulate, a failed link", flows, "dataflow", "simulate", "flows.json", "--fail", "link:s0:s1@2-9", "--fail", "host:f@4-20")
    same("simulate", day, "simulate", "--curves", CURVES, "--machines", "60", "--slots", "4", "--hours", "0.1", "--load", "1.2", "-p", "random",
         "-p", "nomora:preemption,round_s=20", "--gap")
    every_option()
    same("dataflow simulate --until", flows, "dataflow", "simulate", "flows.json", "--until", "6")


DATAFLOW = {
    "schema": "nomora.dataflow/1", "slots": 2, "topology": {
        "schema": "nomora.topology/1", "switches": [{"name": f"s{i}"} for i in range(3)], "hosts": [{"name": h} for h in "abcdef"],
        "links": [{"a": h, "b": f"s{i // 2}", "MBps": 40 + 10 * i} for i, h in enumerate("abcdef")]
        + [{"a": f"s{i}", "b": f"s{(i + 1) % 3}", "MBps": 20 + i} for i in range(3)]},
    "jobs": [{"name": "one", "components": [{"name": "s", "MB": 300}, {"name": "k", "tasks": 2}], "edges": [{"from": "s", "to": "k"}],
              "placement": {"s.0": "d"}},
             {"name": "two", "components": [{"name": "s", "MB": 500, "tasks": 2}, {"name": "k"}],
              "edges": [{"from": "s", "to": "k", "selectivity": 0.5}]},
             {"name": "far", "components": [{"name": "s", "MB": 400}, {"name": "k"}], "edges": [{"from": "s", "to": "k"}],
              "placement": {"s.0": "a", "k.0": "c"}},
             {"name": "late", "arrival_s": 3, "components": [{"name": "s", "MB": 100}, {"name": "k"}], "edges": [{"from": "s", "to": "k"}]}]}

with tempfile.TemporaryDirectory(prefix="nomora-text-") as folder:
    os.chdir(folder)
    main()

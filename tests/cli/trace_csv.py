#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trace_csv.py BIN SOURCE: the converter of public traces, and the accounting of batch systems, as TAP.

For each format, a small file with its quirks, written by hand, and random workloads written in the format: the totals
of the converted table, as this test and as 'nomora simulate' count them, are those of the workload. Random workloads
as SWF and as sacct print them, with rows that are no jobs: their jobs, tasks and task-hours are those of simulate.
"""

import csv
import json
import os
import random
import subprocess
import sys
import tempfile

BIN, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CONVERT = os.path.join(SOURCE, "sched", "simulate", "traces", "nomora-trace-csv")
DAY = 86400
checks, failed = 0, 0


def check(name, got, wanted):
    global checks, failed
    checks += 1
    failed += got != wanted
    print(f"{'ok' if got == wanted else 'not ok'} {checks} - {name}")
    if got != wanted:
        print(f"# expected {wanted!r}\n# got      {got!r}")


def convert(form, text):
    """Returns the exit code, the rows and the messages; the rows are None if there is no output."""
    with open("trace", "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists("jobs.csv"):
        os.unlink("jobs.csv")
    run = subprocess.run([sys.executable, CONVERT, form, "-o", "jobs.csv", "trace"], capture_output=True, text=True, check=False)
    if not os.path.exists("jobs.csv"):
        return run.returncode, None, run.stderr
    with open("jobs.csv", encoding="utf-8") as file:
        return run.returncode, [",".join(row) for row in csv.reader(file)][1:], run.stderr


def quirks():
    """What the documents of the traces describe; written by hand."""
    code, rows, messages = convert("alibaba2018", (
        "task_A,2,j_1,1,Terminated,100,160,50.0,0.2\n"      # 2 instances, 60 s
        "M1,3,j_2,1,Terminated,200,230,100.0,0.5\n"         # a job of two tasks of a graph
        "R2_1,1,j_2,1,Failed,230,250,,\n"
        "M1,4,j_3,1,Running,300,0,100.0,0.5\n"              # no end in the trace
        "M1,5,j_4,1,Waiting,0,0,100.0,0.5\n"                # never ran
        "M1,1,j_5,1,Terminated,400,390,100.0,0.5\n"         # ends before its start
        "M1,2,j_6,1,Terminated,0,70,100.0,0.5\n"            # began before the trace
        "M1,2,j_7,1,Running,0,0,100.0,0.5\n"                # the same, and ends after it
        "M1,3,j_8,1,Terminated,500,0,100.0,0.5\n"           # ended after the trace
        "M1,6,j_9,1,Failed,600,0,100.0,0.5\n"               # when it failed is not known
        "M1,7,,1,Terminated,600,700,100.0,0.5\n"))          # without a job
    check("batch_task.csv", (code, rows), (0, ["j_1,100,60,2", "j_2,200,30,3", "j_2,230,20,1", "j_3,300,,4", "j_6,0,70,2",
                                               "j_7,0,,2", "j_8,500,,3"]))
    check("its tasks that are left out, by reason", messages.splitlines()[1:],
          ["left out: 1 end before their start", "left out: 6 ended at an unknown time", "left out: 5 never ran",
           "left out: 7 without a job"])
    check("batch_instance.csv: equal instances are one row, earlier attempts none", convert("alibaba2018", (
        "ins_1,M1,j_1,1,Terminated,100,160,m_1,1,1,13.0,16.0,0.02,0.02\n"
        "ins_2,M1,j_1,1,Terminated,100,160,m_2,1,1,13.0,16.0,0.02,0.02\n"
        "ins_3,M1,j_1,1,Failed,100,110,m_3,1,2,13.0,16.0,0.02,0.02\n"
        "ins_3,M1,j_1,1,Terminated,112,160,m_4,2,2,,,,\n"))[:2], (0, ["j_1,100,60,2", "j_1,112,48,1"]))
    check("openb_pod_list: pods that were never scheduled, and that still run", convert("alibaba-gpu2023", (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
        "openb-pod-0001,6000,12288,1,460,,LS,Running,427061,,427063\n"
        "openb-pod-0002,6000,12288,2,1000,V100,BE,Pending,500000,600000,\n"))[:2],
        (0, ["openb-pod-0000,0,12537496,1", "openb-pod-0001,427061,,1"]))
    check("cluster_job_log: attempts add up, a task for each GPU", convert("philly", json.dumps([
        {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "user": "a", "submitted_time": "2017-10-09 07:02:47",
         "attempts": [{"start_time": "2017-10-09 07:07:47", "end_time": "2017-10-09 07:08:47",
                       "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
                      {"start_time": "2017-10-09 08:00:00", "end_time": "2017-10-09 09:00:00",
                       "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]}]},
        {"status": "Killed", "vc": "ee9e8c", "jobid": "application_2", "user": "a", "submitted_time": "2017-10-09 07:02:48",
         "attempts": [{"start_time": "2017-10-09 07:07:47", "end_time": None, "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
        {"status": "Killed", "vc": "ee9e8c", "jobid": "application_3", "user": "a", "submitted_time": "2017-10-09 07:02:49",
         "attempts": []}], indent=1))[:2], (0, ["application_1,1507532567,3660,3", "application_2,1507532568,,1"]))
    events = [(0, 0, 1, 0, 0), (0, 3, 1, 0, 0), (5000000, 0, 1, 1, 0), (6000000, "SCHEDULE", 1, 1, 0), (7000000, 4, 1, 1, 0),
              (7500000, "SUBMIT", 1, 1, 0), (8000000, 3, 1, 1, 0), (8500000, 10, 1, 1, 0), (9000000, 6, 1, 1, 0),
              (9000000, 0, 9, 0, 1), (9100000, 0, 2, 0, 0), (2 ** 63 - 1, 6, 1, 0, 0)]
    lines = "".join(json.dumps({"time": str(time), "type": kind, "collection_id": str(job), "instance_index": index,
                                "collection_type": collection}) + "\n" for time, kind, job, index, collection in events)
    check("instance_events: attempts add up; alloc sets and tasks that never ran are left out",
          convert("google2019", lines)[:2], (0, ["1,0,,1", "1,5,2,1"]))
    text = "".join(f"{time},{kind},{job},{index},{collection}\n" for time, kind, job, index, collection in events)
    check("the same as CSV", convert("google2019", "time,type,collection_id,instance_index,collection_type\n" + text)[:2],
          (0, ["1,0,,1", "1,5,2,1"]))


def refusals():
    for form, text, message in (
            ("alibaba2018", "M1,2,j_1,1,Terminated,100,160,50.0,0.2\nM1,2,j_1,1\n", "trace:2: 4 columns; expected 9 or 14"),
            ("alibaba2018", "M1,2,j_1,1,Terminated,1h,160,50.0,0.2\n", "trace:1: start_time: '1h': expected a number"),
            ("alibaba2018", 'M1,2,"j,1",1,Terminated,1,160,50.0,0.2\n',
             "job 'j,1': expected a name without commas, quotes, # and outer blanks"),
            ("alibaba-gpu2023", "name,creation_time,deletion_time\nx,1,2\n", "trace:2: scheduled_time: None: expected a value"),
            ("philly", '[{"jobid": "a",\n "submitted_time": "now", "attempts": []}]',
             "trace:1: submitted_time: 'now': expected a time as 2017-10-09 07:07:47"),
            ("philly", '[{"jobid": "a", "submitted_time"', "trace:1: bad JSON: Expecting"),
            ("google2019", '{"time": 5, "type": 0, "collection_id": "x", "instance_index": 0}\n',
             "trace:1: collection_id: 'x': expected a number"),
            ("google2019", '{"time": 5, "type": 11, "collection_id": 1, "instance_index": 0}\n',
             "trace:1: type: 11: expected an event")):
        code, rows, messages = convert(form, text)
        check(f"{form}: {message}", (code, rows, message in messages and messages.count("\n") == 1), (1, None, True))
    check("no temporary file is left", [name for name in os.listdir(".") if name.startswith(".nomora")], [])


def draw(rng):
    """Returns (job, submission, run time, number of tasks), and how many tasks never ran."""
    jobs = [(f"{n + 1}", rng.randrange(1, DAY), rng.randrange(1, 3600), rng.randrange(1, 20)) for n in range(30)]
    return jobs, rng.randrange(1, 9)


def as_batch_task(jobs, never):
    return "".join(f"M1,{tasks},{job},1,Terminated,{submit},{submit + run},1,1\n" for job, submit, run, tasks in jobs) + \
        f"M1,{never},x,1,Waiting,0,0,1,1\n"


def as_batch_instance(jobs, never):
    return "".join(f"i{job}_{t},M1,{job},1,Terminated,{submit},{submit + run},m_1,1,1,1,1,1,1\n"
                   for job, submit, run, tasks in jobs for t in range(tasks)) + "i,M1,x,1,Waiting,0,0,,1,1,,,,\n" * never


def as_gpu2023(jobs, never):
    return "name,creation_time,deletion_time,scheduled_time\n" + "".join(
        f"{job}-{t},{submit},{submit + run},{submit}\n" for job, submit, run, tasks in jobs for t in range(tasks)) + \
        "x,5,,\n" * never


def as_philly(jobs, _never):
    def stamp(seconds):
        return f"2017-10-{1 + seconds // DAY:02} {seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return json.dumps([{"jobid": job, "submitted_time": stamp(submit), "attempts": [{
        "start_time": stamp(submit), "end_time": stamp(submit + run),
        "detail": [{"ip": f"m{t}", "gpus": ["gpu0"]} for t in range(tasks)]}]} for job, submit, run, tasks in jobs])


def as_google2019(jobs, never):
    events = [(5, 0, 999, t) for t in range(never)]
    for job, submit, run, tasks in jobs:
        for t in range(tasks):
            events += [(submit * 10 ** 6, 0, job, t), (submit * 10 ** 6, 3, job, t), ((submit + run) * 10 ** 6, 6, job, t)]
    return "".join(json.dumps(dict(zip(("time", "type", "collection_id", "instance_index"), event))) + "\n"
                   for event in random.Random(1).sample(events, len(events)))


def totals():
    for form, write, single in (("alibaba2018", as_batch_task, False), ("alibaba2018", as_batch_instance, False),
                                ("alibaba-gpu2023", as_gpu2023, True), ("philly", as_philly, False),
                                ("google2019", as_google2019, False)):
        for seed in range(3):
            jobs, never = draw(random.Random(seed))
            code, rows, _ = convert(form, write(jobs, never))
            rows = [row.split(",") for row in rows or []]
            tasks = sum(job[3] for job in jobs)
            name = f"{form}, {write.__name__}, seed {seed}"
            check(f"{name}: jobs, tasks, task-seconds",
                  (code, len({row[0] for row in rows}), sum(int(row[3]) for row in rows),
                   sum(float(row[2]) * int(row[3]) for row in rows)),
                  (0, tasks if single else len(jobs), tasks, sum(job[2] * job[3] for job in jobs)))
            if seed > 0:
                continue
            run = subprocess.run([os.path.join(BIN, "nomora"), "simulate", "--csv", "jobs.csv", "--keep-single", "-p", "random",
                                  "-C", os.path.join(SOURCE, "curves"), "--machines", "100", "--json"],
                                 capture_output=True, text=True, check=False)
            read = json.loads(run.stdout)["workload"] if run.returncode == 0 else {}
            check(f"{name}: as simulate counts them", (read.get("jobs"), read.get("tasks")),
                  (tasks if single else len(jobs), tasks))


def as_swf(jobs, never, rng):
    """Some jobs are checkpointed: rows of their parts (status 2 to 4) follow; some state only the processors asked for."""
    rows = []
    for number, (_, submit, run, tasks) in enumerate(jobs):
        def row(submit, wait, run, status, number=number, tasks=tasks, asked=rng.random() < 0.3):
            return f"{number} {submit} {wait} {run} {-1 if asked else tasks} -1 -1 {tasks} -1 -1 {status} 1 1 1 1 1 -1 -1"
        wait = rng.randrange(50)
        rows.append(row(submit, wait, run, rng.randrange(2)))
        if rng.random() < 0.3 and run > 1:
            rows += [row(submit, wait, run // 2, 2), row(submit + run, 0, run - run // 2, rng.choice((3, 4)))]
    rows += [f"{5000 + n} 7 -1 -1 -1 -1 -1 4 -1 -1 5 1 1 1 1 1 -1 -1" for n in range(never)]
    return "; MaxNodes: 200\n; Note: MaxNodes: 3\n" + "".join(row + "\n" for row in rows)


def as_sacct(jobs, never, rng):
    """Jobs with steps, requeued jobs, heterogeneous jobs, arrays, and jobs that were cancelled while they waited."""
    text, base = "JobID|Submit|Start|End|ElapsedRaw|NTasks|AllocCPUS\n", 1793520000
    for number, (_, submit, run, tasks) in enumerate(jobs):
        def row(job, run, ntasks, cpus, at=base + submit):
            return f"{job}|{at}|{at + 3}|{at + 3 + run}|{run}|{ntasks}|{cpus}\n"
        kind, job = rng.randrange(5), 100 + number
        if kind == 1:
            text += row(job, run, "", tasks * 8) + row(f"{job}.batch", run, 1, tasks * 8) + row(f"{job}.0", run, tasks, tasks * 8)
        elif kind == 2 and run > 1:
            text += row(job, 1, "", tasks) + row(job, run - 1, "", tasks, base + submit + 90)
        elif kind == 3 and tasks > 1:
            text += row(f"{job}+0", run, "", 1) + row(f"{job}+1", run, "", tasks - 1)
        else:
            text += row(f"{job}_{number}" if kind == 4 else job, run, "", tasks)
    return text + "".join(f"{5000 + n}|{base}|None|Unknown|0||4\n" for n in range(never))


def accounts():
    for option, write in (("--swf", as_swf), ("--sacct", as_sacct)):
        for seed in range(5):
            rng = random.Random(seed)
            jobs, never = draw(rng)
            jobs = [(job, submit // 24, run, tasks) for job, submit, run, tasks in jobs]  # within an hour
            with open("account", "w", encoding="utf-8") as file:
                file.write(write(jobs, never, rng))
            run = subprocess.run([os.path.join(BIN, "nomora"), "simulate", option, "account", "--keep-single", "-p", "random",
                                  "-C", os.path.join(SOURCE, "curves"), "--machines", "200", "--slots", "100", "--json"],
                                 capture_output=True, text=True, check=False)
            read = json.loads(run.stdout) if run.returncode == 0 else {"workload": {"left_out": {}}, "policies": [{"tasks": {}}]}
            check(f"{option}, seed {seed}: jobs, tasks, task-seconds, tasks that never ran",
                  (read["workload"].get("jobs"), read["workload"].get("tasks"),
                   round(read["policies"][0]["tasks"].get("task_hours", 0) * 3600, 3),
                   read["workload"]["left_out"].get("tasks_that_never_ran")),
                  (len(jobs), sum(job[3] for job in jobs), sum(job[2] * job[3] for job in jobs), 4 * never))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    quirks()
    refusals()
    totals()
    accounts()
    os.chdir("/")
print(f"1..{checks}")
sys.exit(failed > 0)

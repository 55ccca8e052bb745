#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schedd_crash.py BIN DIR CURVES KILLS: submits jobs to nomora schedd and confirms its decisions, sometimes late, twice or never,
while the daemon is killed at random moments. Then: every acknowledged job is known, unless it was ended with an
acknowledgement; no machine has more tasks than slots, and the machines have the tasks
that the jobs have there, also two start timeouts after the last kill; decisions are numbered without gaps in the journal; none was acknowledged and forgotten."""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

BIN, DIR, CURVES, KILLS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
SOCKET, STATE = os.path.join(DIR, "crash.sock"), os.path.join(DIR, "crash.state")
JOBS = 60  # at most; each kill is followed by a request per job
random.seed(7)


class Unix(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=5)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(SOCKET)


def ask(method, path, body=None):
    """(status, answer), or (0, None) when the daemon died."""
    try:
        connection = Unix()
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None


def start():
    process = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", STATE, "--socket", SOCKET, "--cluster", DIR + "/cluster.json",
                                "--curves", CURVES, "--start-timeout", "0.3", "--retry", "0.05", "--attempts", "1000"],
                               stderr=subprocess.DEVNULL)
    with open(os.path.join(DIR, "pid"), "w") as file:  # for the script's clean-up, if this one is killed
        print(process.pid, file=file)
    while ask("GET", "/v1/machines")[0] != 200:
        assert process.poll() is None, "the daemon does not start"
        time.sleep(0.01)
    return process


def confirm():
    """Reports some decided or running tasks; returns the jobs whose end was acknowledged."""
    ended = set()
    status, answer = ask("GET", "/v1/jobs")
    for job in (answer or {}).get("jobs", []):
        status, whole = ask("GET", "/v1/jobs/" + job["id"])
        for task in (whole or {}).get("tasks", []):
            event = {"job": job["id"], "task": task["name"], "machine": task["machine"] or ""}
            if task["state"] == "decided" and random.random() < 0.7:
                for _ in range(random.choice([1, 1, 2])):
                    ask("POST", "/v1/events", json.dumps(dict(event, event="started")))
            elif task["state"] == "running" and random.random() < 0.3:
                before = sum(t["state"] == "ended" for t in whole["tasks"])
                if ask("POST", "/v1/events", json.dumps(dict(event, event="ended")))[0] == 200 and before + 1 >= len(whole["tasks"]):
                    ended.add(job["id"])
    return ended


def held_slots():
    """Tasks per machine in the killed daemon's state; reads a copy, as reading the original would replay its log."""
    for ending in ("", "-wal"):
        if os.path.exists(STATE + ending):
            shutil.copy(STATE + ending, STATE + ".copy" + ending)
    copy = sqlite3.connect(STATE + ".copy")
    rows = copy.execute("SELECT machine, count(*) FROM tasks WHERE state IN ('decided', 'running', 'moving') GROUP BY machine").fetchall()
    copy.close()
    return dict(rows)


def compare_machines():
    """The machines have the tasks that the jobs have there. Tries again, as tasks fail between the two requests."""
    for _ in range(200):
        machines = ask("GET", "/v1/machines")[1]["machines"]
        assert all(machine["tasks"] <= machine["slots"] for machine in machines), machines
        found = {machine["name"]: machine["tasks"] for machine in machines if machine["tasks"]}
        held = {}
        for job in ask("GET", "/v1/jobs")[1]["jobs"]:
            for task in (ask("GET", "/v1/jobs/" + job["id"])[1] or {}).get("tasks", []):
                if task["state"] in ("decided", "running", "moving"):
                    held[task["machine"]] = held.get(task["machine"], 0) + 1
        if found == held:
            return
    assert False, f"machines {found}, jobs {held}"


acknowledged, ended, doubtful, number = set(), set(), set(), 0
daemon = start()
for kill in range(KILLS):
    killer = subprocess.Popen(["sh", "-c", f"sleep {random.uniform(0.05, 0.4)}; kill -9 {daemon.pid}"])
    while daemon.poll() is None:
        if random.random() < 0.6 and len(acknowledged - ended - doubtful) < JOBS:
            number += 1
            line = json.dumps({"id": f"j{number}", "curve": "memcached", "root": 0, "tasks": random.randint(1, 3)})
            if ask("POST", "/v1/jobs", line)[0] == 201:
                acknowledged.add(f"j{number}")
        else:
            ended |= confirm()
    killer.wait()
    daemon.wait()
    assert daemon.returncode == -signal.SIGKILL, f"the daemon ended by itself: {daemon.returncode}"
    held = held_slots()
    assert all(count <= 2 for count in held.values()), held
    daemon = start()
    jobs = ask("GET", "/v1/jobs")[1]["jobs"]
    lost = acknowledged - ended - {job["id"] for job in jobs}
    # The last task's end may have been committed without the answer arriving.
    doubtful |= lost
    compare_machines()
# Every task that was decided before the last kill has failed since then: its slot was given up.
time.sleep(1)
compare_machines()
daemon.terminate()
daemon.wait()
base = sqlite3.connect(STATE)
sequence = [row[0] for row in base.execute("SELECT sequence FROM decisions ORDER BY sequence")]
assert sequence == list(range(1, len(sequence) + 1)), "decisions have gaps"
started = {row[0] for row in base.execute("SELECT DISTINCT job FROM decisions")}
assert doubtful <= started, f"acknowledged jobs that were never decided are gone: {doubtful - started}"
print(f"{KILLS} kills, {len(acknowledged)} jobs acknowledged, {len(ended)} ended, {len(sequence)} decisions, {len(doubtful)} ended without an answer")
assert len(doubtful) <= KILLS, "more jobs gone than kills can explain"

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schedd_day.py BIN DIR CURVES SOURCE SPEED RESTARTS: plays the workload of a journal (nomora simulate --record) to nomora schedd, SPEED times
faster, as users, an executor and a mesh would: jobs are submitted, decisions carried out, tasks end after their run time, machines go down and come back,
round trips change. The daemon is killed RESTARTS times on the way. Prints what happened as JSON; DIR/day.jsonl is the daemon's journal."""
import collections
import heapq
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import time

BIN, DIR, CURVES, SOURCE, SPEED, RESTARTS = sys.argv[1:5] + [float(sys.argv[5]), int(sys.argv[6])]
SOCKET, STATE, DEADLINE_S, PEERS, MESH_S = DIR + "/day.sock", DIR + "/day.state", 60, 40, 2
LIMITS, RESTART_S = ["--migrate-gain", "0.02", "--migrate-rate", "8", "--no-return", "2"], 0.5
if os.environ.get("NOMORA_DAY_LIMITS") == "off":
    LIMITS, RESTART_S = ["--migrate-gain", "0", "--migrate-rate", "100000", "--no-return", "0"], 0
random.seed(3)


class Unix(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=DEADLINE_S)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(SOCKET)


connection = Unix()


def ask(method, path, body=None):
    """Repeats the request until it is answered: the daemon may have been killed."""
    global connection
    until = time.time() + DEADLINE_S
    while True:
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            assert time.time() < until, "the daemon does not answer"
            connection = Unix()
            time.sleep(0.01)


def read_source():
    machines, jobs, timed = {}, collections.OrderedDict(), []
    with open(SOURCE) as file:
        next(file)
        for line in file:
            event = json.loads(line)
            at, kind = event["t_us"] / 1e6, event["event"]
            if kind == "machine":
                if event["machine"] in machines and at > 0:
                    timed.append((at, "machine", event["machine"], event["state"]))
                elif event["state"] == "up" or event["machine"] not in machines:
                    machines[event["machine"]] = event
            elif kind == "job":
                jobs[event["job"]] = {"at": at, "curve": event["curve"], "root": event["root"], "tasks": {}}
            elif kind == "task" and event["state"] == "waiting" and event["task"] not in jobs[event["job"]]["tasks"]:
                jobs[event["job"]]["tasks"][event["task"]] = event.get("run_us", -1) / 1e6
    for name, job in jobs.items():
        if job["root"] in job["tasks"]:
            timed.append((job["at"], "job", name, None))
    length = max(event[0] for event in timed)
    for away in range(12):  # churn in addition to the source's
        name, at = random.choice(list(machines)), length * random.uniform(0.1, 0.8)
        timed += [(at, "machine", name, random.choice(["down", "draining"])), (at + length / 10, "machine", name, "up")]
    timed.sort(key=lambda event: event[0])
    return machines, jobs, timed


machines, jobs, timed = read_source()
names = list(machines)
levels = {}


def write_mesh():
    """Measurements of each machine to neighbours and some others; some round trips change between windows."""
    with open(DIR + "/day.new", "w") as file:
        file.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
        for a, name in enumerate(names):
            far = max(1, len(names) // (PEERS + 1))
            peers = {(a + (step if step <= PEERS // 4 else step * far)) % len(names) for step in range(1, min(PEERS, len(names) - 1) + 1)}
            for other in (names[b] for b in sorted(peers - {a})):
                if (name, other) not in levels or random.random() < 0.05:
                    near = machines[name]["rack"] == machines[other]["rack"]
                    levels[name, other] = round(random.uniform(20, 60) if near else random.uniform(60, 500), 3)
                rtt = levels[name, other]
                file.write(f"{name},{other},{rtt},{rtt},{rtt},0,100,{time.time():.0f}\n")
    os.rename(DIR + "/day.new", DIR + "/day.csv")


def start():
    process = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", STATE, "--socket", SOCKET, "--cluster", DIR + "/day.json", "--curves", CURVES,
                                "--latency", DIR + "/day.csv", "--max-age", "3600", "--migrate", os.environ.get("NOMORA_DAY_MIGRATE", "on"), *LIMITS,
                                "--start-timeout", "60"], stderr=open(DIR + "/day.log", "a"))
    with open(DIR + "/pid", "w") as file:  # for the script's clean-up, if this one is killed
        print(process.pid, file=file)
    return process


def memory_mb(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


def report(events):
    """Skips lines that are refused because their task has ended meanwhile."""
    while events:
        status, answer = ask("POST", "/v1/events", "\n".join(json.dumps(event) for event in events))
        assert "taken" in answer, (status, answer)
        events = events[answer["taken"] + 1:] if status != 200 else []


with open(DIR + "/day.json", "w") as file:
    json.dump({"schema": "nomora.cluster/1", "machines": [
        {"name": name, "rack": of["rack"], "pod": of.get("pod", ""), "slots": of["slots"]} for name, of in machines.items()]}, file)
write_mesh()
daemon = start()
ask("GET", "/v1/curves")
begin, last, ends, counts, next_mesh, memory = time.time(), 0, [], collections.Counter(), 0, []
length = timed[-1][0] if timed else 0
kills = [length * (k + 1) / (RESTARTS + 1) for k in range(RESTARTS)]
place, runs = 0, {}
while place < len(timed) or time.time() - begin < length / SPEED:
    now = (time.time() - begin) * SPEED
    if kills and now >= kills[0]:
        kills.pop(0)
        daemon.kill()
        daemon.wait()
        daemon = start()
        counts["restarts"] += 1
    lines = []
    while place < len(timed) and timed[place][0] <= now:
        at, kind, name, state = timed[place]
        place += 1
        if kind == "machine":
            assert ask("PUT", "/v1/machines/" + name, json.dumps({"state": state}))[0] == 200
            counts["machines"] += 1
        else:
            tasks = list(jobs[name]["tasks"])
            lines.append(json.dumps({"id": name, "curve": jobs[name]["curve"], "root": jobs[name]["root"], "tasks": tasks}))
    for chunk in range(0, len(lines), 500):
        status, answer = ask("POST", f"/v1/jobs?move=1&restart_s={RESTART_S}", "\n".join(lines[chunk:chunk + 500]))
        counts["jobs"] += sum(job["status"] == 201 for job in answer["jobs"])
    status, answer = ask("GET", f"/v1/decisions?after={last}")
    events = []
    for decision in answer["decisions"]:
        last = decision["sequence"]
        counts[decision["kind"]] += 1
        events.append({"event": "started", "job": decision["job"], "task": decision["task"], "machine": decision["to"]})
        run = jobs[decision["job"]]["tasks"][decision["task"]]
        if decision["kind"] == "place" and run >= 0:
            heapq.heappush(ends, (now + run, decision["sequence"], decision["job"], decision["task"]))
            runs[decision["job"], decision["task"]] = decision["sequence"]
    while ends and ends[0][0] <= now:
        _, sequence, job, task = heapq.heappop(ends)
        if runs.get((job, task)) == sequence:  # not restarted since
            events.append({"event": "ended", "job": job, "task": task})
            counts["ended"] += 1
    report(events)
    if time.time() >= next_mesh:
        next_mesh = time.time() + MESH_S
        write_mesh()
        memory.append(memory_mb(daemon))
    if not answer["decisions"] and not lines:
        time.sleep(0.005)
daemon.terminate()
assert daemon.wait() == 0
with open(DIR + "/day.jsonl", "w") as file:
    subprocess.run([BIN + "/nomora-schedd", "schedd", "export", "--state", STATE], stdout=file, check=True)
print(json.dumps(dict(counts, memory_MB=[round(memory[len(memory) * i // 10]) for i in range(10)] if memory else [])))

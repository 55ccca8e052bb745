#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schedd_recover.py BIN DIR CURVES: machines of nomora schedd --network fail: alone, two at once, one after the other, and before
a kill -9. The tasks with flows are placed together, as what-if forecast; no task is lost, no machine over-full."""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

BIN, DIR, CURVES = sys.argv[1:4]
SOCKET, STATE, DEADLINE_S, MACHINES, SLOTS = DIR + "/recover.sock", DIR + "/recover.state", 60, 24, 4
random.seed(5)


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(SOCKET)


def ask(method, path, body=None, status=200):
    connection = Unix("localhost")
    connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert status is None or response.status == status, (method, path, response.status, answer)
    return answer


def start(hold_ms):
    process = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", STATE, "--socket", SOCKET, "--cluster", DIR + "/recover.json",
                                "--curves", CURVES, "--network", DIR + "/network.json", "--recovery-hold-ms", str(hold_ms),
                                "--recovery-ms", "5000"])
    with open(DIR + "/pid", "w") as file:  # for the script's clean-up, if this one is killed
        print(process.pid, file=file)
    wait(lambda: process.poll() is not None or answers(), "the daemon does not answer")
    assert process.poll() is None, "the daemon does not start"
    return process


def answers():
    try:
        return ask("GET", "/v1/machines")
    except OSError:
        return False


def wait(condition, what):
    until = time.time() + DEADLINE_S
    while not condition():
        assert time.time() < until, what
        time.sleep(0.005)


def write_files():
    servers = []
    for m in range(MACHINES):
        speed = random.choice([40, 125, 1250])
        servers.append({"name": f"m{m}", "cpu": SLOTS, "egress_MBps": speed, "ingress_MBps": speed})
    with open(DIR + "/network.json", "w") as file:
        json.dump({"schema": "nomora.recovery/1", "servers": servers, "applications": []}, file)
    with open(DIR + "/recover.json", "w") as file:
        machines = [{"name": f"m{m}", "rack": f"r{m // 4}", "slots": SLOTS} for m in range(MACHINES)]
        json.dump({"schema": "nomora.cluster/1", "machines": machines}, file)


def job(name, tasks, flows=True):
    line = {"id": name, "curve": "spark", "root": 0, "tasks": tasks}
    if flows:
        line["graph"] = [[random.randrange(t), t, 1, random.randint(10, 100), random.randint(0, 50)] for t in range(1, tasks)]
    return json.dumps(line)


def tasks():
    """{(job, task): (state, machine)}"""
    return {(j["id"], t["name"]): (t["state"], t["machine"]) for j in ask("GET", "/v1/jobs")["jobs"]
            for t in ask("GET", "/v1/jobs/" + j["id"])["tasks"]}


def confirm():
    """Reports every decided task as started, until all tasks run. Then no machine has more tasks than slots."""
    def done():
        for (name, task), (state, machine) in tasks().items():
            if state == "decided":
                ask("POST", "/v1/events", {"event": "started", "job": name, "task": task, "machine": machine})
        return all(state == "running" for state, _ in tasks().values())
    wait(done, "tasks do not start")
    machines = {m["name"]: m for m in ask("GET", "/v1/machines")["machines"]}
    where = [machine for _, machine in tasks().values()]
    for name, machine in machines.items():
        assert machine["tasks"] == where.count(name) <= (SLOTS if machine["state"] == "up" else 0), machine
    assert len(where) == TASKS, "a task is lost"


def busiest(count):
    machines = [machine for (name, _), (_, machine) in tasks().items() if name.startswith("flow")]
    return sorted(set(machines), key=lambda m: (-machines.count(m), m))[:count]


def lost_on(failed):
    return {key for key, (_, machine) in tasks().items() if machine in failed}


def last():
    return ask("GET", "/v1/recovery", status=None)


def placed_by_recovery(expected, failed):
    """The tasks with flows that were on the failed machines are those of the last recovery."""
    flows = {key for key in expected if key[0].startswith("flow")}
    wait(lambda: {(t["job"], t["task"]) for t in last().get("tasks", [])} == flows, f"no recovery of {flows}: {last()}")
    assert all(t["to"] not in failed for t in last()["tasks"])
    now = tasks()
    assert all(now[t["job"], t["task"]][1] == t["to"] for t in last()["tasks"]), "a task is not where recovery placed it"
    for name, task in expected:
        why = ask("GET", f"/v1/explain/{name}/{task}")["why"]
        wanted = "recovery placed all lost tasks" if name.startswith("flow") else "placed by the policy: no flow"
        assert wanted in why, (name, task, why)


write_files()
daemon = start(0)
lines = [job(f"flow{n}", random.randint(4, 9)) for n in range(7)] + [job(f"plain{n}", 4, False) for n in range(3)]
TASKS = sum(json.loads(line)["tasks"] for line in lines)
ask("POST", "/v1/jobs", "\n".join(lines), status=201)
confirm()

# Two at once, as forecast.
failed = busiest(2)
forecast = ask("POST", "/v1/what-if", {"changes": ["fail " + " ".join(failed)], "within_s": 0})
expected, recovery = lost_on(failed), forecast["recovery"]
assert recovery["status"] == "optimal" and recovery["policy"]["waiting"] == 0, recovery
assert recovery["slowest_s"] <= recovery["policy"]["slowest_s"] * (1 + 1e-9), recovery
shown = subprocess.run([BIN + "/nomora", "what-if", "--within", "0", "fail " + " ".join(failed)], env={**os.environ, "NOMORA_SCHEDD": SOCKET},
                       capture_output=True, text=True, check=True).stdout
assert "transfers of the slowest job: before the failure" in shown and "by the policy alone" in shown, shown
ask("POST", "/v1/changes", {"changes": ["fail " + " ".join(failed)]})
placed_by_recovery(expected, failed)
for key in ("slowest_s", "tasks", "rates"):
    assert last()[key] == recovery[key], key
made = ask("GET", f"/v1/decisions?after={forecast['last']}")["decisions"]
assert made == forecast["decisions"], (made, forecast["decisions"])

# One that just got lost tasks fails before they start.
second = [last()["tasks"][0]["to"]]
expected = lost_on(second)
ask("PUT", "/v1/machines/" + second[0], {"state": "down"})
placed_by_recovery(expected, failed + second)
confirm()
print(f"recovered {len(recovery['tasks'])} tasks of {failed}, then those of {second}")

# Two notices, one after the other, are one problem; with a kill between them and the recovery.
daemon.terminate()
assert daemon.wait() == 0
daemon = start(1000)
for name in failed + second:
    ask("PUT", "/v1/machines/" + name, {"state": "up"})
for kill in (False, True):
    failed = busiest(2)
    expected, before = lost_on(failed), last()
    forecast = ask("POST", "/v1/what-if", {"changes": ["fail " + " ".join(failed)], "within_s": 0})["recovery"]
    for name in failed:
        ask("PUT", "/v1/machines/" + name, {"state": "down"})
    if kill:
        assert last() == before, "the recovery was not held"
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        daemon = start(1000)
    placed_by_recovery(expected, failed)
    assert last()["tasks"] == forecast["tasks"], (last(), forecast)
    confirm()
    for name in failed:
        ask("PUT", "/v1/machines/" + name, {"state": "up"})
    print(f"recovered {len(last()['tasks'])} tasks of {failed}{', after a kill' if kill else ''}")
daemon.terminate()
assert daemon.wait() == 0

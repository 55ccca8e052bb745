#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recovery.py BIN CURVES [RUNS]: from the notice that machines of a running nomora schedd have failed until all lost tasks are decided.
1,000 machines of 4 slots, 80 jobs of 40 tasks, 32,000 flows, as bench_live_recovery; one machine, then 20 of a rack, each noticed by
a request of its own. Prints one JSON line a figure; elapsed times, which include --recovery-hold-ms (100)."""
import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BIN, CURVES, RUNS = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 10
DIR = tempfile.TemporaryDirectory(prefix="nomora-recovery.")
SOCKET = DIR.name + "/s"
random.seed(1)


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(SOCKET)


def ask(method, path, body=None):
    connection = Unix("localhost")
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status < 300, (path, answer)
    return answer


def job(number):
    edges = [[a, b, 1, random.randint(10, 100)] for a in range(20) for b in range(20, 40)]
    return json.dumps({"id": f"j{number}", "curve": "spark", "root": 0, "tasks": 40, "graph": edges})


def machines():
    return {machine["name"]: machine for machine in ask("GET", "/v1/machines")["machines"]}


def recovered():
    """Tasks placed by recoveries so far."""
    connection = Unix("localhost")
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return next(int(float(line.split()[1])) for line in lines if line.startswith("nomora_schedd_recovered_tasks_total "))


def measure(figure, count):
    seconds, solve_ms, lost = [], [], []
    for _ in range(RUNS):
        known = machines()
        rack = random.choice(sorted({m["rack"] for m in known.values() if m["tasks"] > 0}))
        failing = sorted((m for m in known.values() if m["rack"] == rack), key=lambda m: -m["tasks"])[:count]
        before = recovered()
        begun = time.monotonic()
        for machine in failing:
            ask("PUT", "/v1/machines/" + machine["name"], '{"state": "down"}')
        while any(one["waiting"] + one["decided"] for one in ask("GET", "/v1/jobs")["jobs"]):
            pass
        seconds.append(time.monotonic() - begun)
        solve_ms.append(ask("GET", "/v1/recovery")["solve_ms"])
        lost.append(recovered() - before)
        for machine in failing:
            ask("PUT", "/v1/machines/" + machine["name"], '{"state": "up"}')
    print(json.dumps({"benchmark": "schedd_recovery", "figure": figure, "machines": 1000, "runs": RUNS, "placed": statistics.mean(lost),
                      "p50_ms": round(statistics.median(seconds) * 1e3, 1), "max_ms": round(max(seconds) * 1e3, 1),
                      "solve_p50_ms": round(statistics.median(solve_ms), 2)}), flush=True)


with open(DIR.name + "/cluster.json", "w") as file:
    json.dump({"schema": "nomora.cluster/1", "machines": [{"name": f"h{m}", "rack": f"r{m // 40}", "slots": 4} for m in range(1000)]}, file)
daemon = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", DIR.name + "/state", "--socket", SOCKET, "--cluster",
                           DIR.name + "/cluster.json", "--curves", CURVES, "--network", "leafspine:25,4,1000", "--no-executor"],
                          stderr=subprocess.DEVNULL)
try:
    while True:
        try:
            machines()
            break
        except OSError:
            time.sleep(0.05)
    for number in range(80):
        ask("POST", "/v1/jobs", job(number))
    while ask("GET", "/v1/overview")["totals"]["running"] < 80 * 40:
        time.sleep(0.1)
    measure("one machine", 1)
    measure("20 machines of a rack", 20)
finally:
    daemon.kill()
    daemon.wait()

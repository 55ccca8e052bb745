#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schedd_forecast.py BIN DIR CURVES CHANGES: asks nomora schedd what would follow from random changes, then makes them. The decisions
must be those of the forecast, number by number, and no others."""
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time

BIN, DIR, CURVES, CHANGES = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
SOCKET, DEADLINE_S = os.path.join(DIR, "forecast.sock"), 60
NAMES = [name[:-5] for name in sorted(os.listdir(CURVES)) if name.endswith(".json")]
random.seed(11)


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(SOCKET)


def ask(method, path, body=None):
    connection = Unix("localhost")
    connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def start():
    machines = [{"name": f"m{i}", "rack": f"r{i // 4}", "pod": f"p{i // 8}", "slots": 3} for i in range(24)]
    with open(DIR + "/forecast.json", "w") as file:
        json.dump({"schema": "nomora.cluster/1", "machines": machines}, file)
    with open(DIR + "/forecast.csv", "w") as file:
        file.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
        for a in range(24):
            for b in random.sample(range(24), 12):
                rtt = random.choice([10, 40, 90, 200, 400])
                if a != b:
                    file.write(f"m{a},m{b},{rtt},{rtt},{rtt},0,100,{time.time():.0f}\n")
    process = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", DIR + "/forecast.state", "--socket", SOCKET, "--cluster",
                                DIR + "/forecast.json", "--curves", CURVES, "--latency", DIR + "/forecast.csv", "--max-age", "0", "--no-executor",
                                "--migrate", "on", "--migrate-gain", "0.05", "--migrate-rate", "3"])
    with open(os.path.join(DIR, "pid"), "w") as file:  # for the script's clean-up, if this one is killed
        print(process.pid, file=file)
    until = time.time() + DEADLINE_S
    while time.time() < until:
        try:
            if ask("GET", "/v1/machines")[0] == 200:
                return process
        except OSError:
            time.sleep(0.01)
        assert process.poll() is None, "the daemon does not start"
    raise AssertionError("the daemon does not answer")


jobs = 0


def some_jobs():
    global jobs
    lines = []
    for _ in range(random.randint(1, 3)):
        jobs += 1
        lines.append(json.dumps({"id": f"j{jobs}", "curve": random.choice(NAMES), "root": 0, "tasks": random.randint(2, 6)}))
    return "\n".join(lines)


def some_change(known):
    scope = random.choice(["machine m", "rack r", "pod p"])
    name = scope + str(random.randrange({"machine m": 24, "rack r": 6, "pod p": 3}[scope]))
    kind = random.randrange(8)
    if kind < 2:
        return "drain " + name
    if kind < 5:
        return "up " + name
    if kind == 5:
        return f"down machine m{random.randrange(24)}"
    if kind == 6:
        return f"add {random.randint(1, 3)} machines like m{random.randrange(24)}"
    return f"cancel {random.choice(known)}" if known and random.random() < 0.7 else f"curve {random.choice(NAMES)} := {random.choice(NAMES)}"


def same(forecast):
    """Waits for the forecast's decisions, and compares."""
    until = time.time() + DEADLINE_S
    expected = forecast["decisions"]
    while True:
        made = ask("GET", f"/v1/decisions?after={forecast['last']}")[1]["decisions"]
        status, after = ask("POST", "/v1/what-if", {"within_s": 0})  # nothing is left to do
        assert status == 200, after
        if after["last"] == made[-1]["sequence"] if made else after["last"] == forecast["last"]:
            break
        assert time.time() < until, "the daemon does not settle"
    assert made == expected, f"forecast {expected}\nhappened {made}"
    assert after["before"] == forecast["after"], f"forecast {forecast['after']}\nhappened {after['before']}"
    return len(made)


daemon = start()
decisions = moves = 0
for number in range(CHANGES):
    known = [job["id"] for job in ask("GET", "/v1/jobs")[1]["jobs"]]
    if len(known) < 4 or random.random() < 0.3:
        lines = some_jobs()
        status, forecast = ask("POST", "/v1/what-if", {"jobs": lines, "move": True, "within_s": 0})
        done, answer = ask("POST", "/v1/jobs?move=1", lines)
        assert (status == 200) == (done < 300), (status, forecast, done, answer)
    else:
        change = some_change(known)
        status, forecast = ask("POST", "/v1/what-if", {"changes": [change], "within_s": 0})
        assert status == 200, (change, forecast)
        assert ask("POST", "/v1/changes", {"changes": [change]})[0] == 200
    if status == 200:
        decisions += same(forecast)
        moves += sum(decision["kind"] == "move" for decision in forecast["decisions"])
assert moves > 0 and decisions > moves, "no decisions to compare"
daemon.terminate()
assert daemon.wait() == 0
print(f"{CHANGES} changes, {decisions} decisions, {moves} moves: as forecast")

# SPDX-License-Identifier: BSD-3-Clause
"""Seconds from SIGKILL of a schedd until its standby has decided about a new job: takeover.py BIN MACHINES JOBS.
Each job has four tasks."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time

program, machines, jobs = sys.argv[1] + "/nomora-schedd", int(sys.argv[2]), int(sys.argv[3])
folder = tempfile.mkdtemp(prefix="nomora-takeover.", dir="/tmp")  # the path of a unix socket must be short


def start(name):
    words = ["schedd", "--standby", "--no-executor", "--state", folder + "/state", "--socket", folder + "/" + name]
    return subprocess.Popen([program, *words, "--cluster", folder + "/cluster.json"], stderr=subprocess.DEVNULL)


def ask(name, method, path, body=None):
    """The body of the answer, or None without an answer of status 200 or 201."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(300)
    try:
        connection.sock.connect(folder + "/" + name)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
    except OSError:
        return None
    return text if answer.status in (200, 201) else None


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


def line(number, tasks):
    return json.dumps({"id": f"j{number}", "curve": "spark", "root": 0, "tasks": tasks}) + "\n"


def runs(name, job):
    answer = ask(name, "GET", "/v1/jobs/" + job)
    return answer is not None and all(task["state"] == "running" for task in json.loads(answer)["tasks"])


with open(folder + "/cluster.json", "w") as file:
    racks = [{"name": f"h{m}", "rack": f"r{m // 40}", "slots": 16} for m in range(machines)]
    json.dump({"schema": "nomora.cluster/1", "machines": racks}, file)
first, second = "a", "b"
serving = start(first)
try:
    wait_for(lambda: ask(first, "GET", "/v1/curves"))
    for begin in range(0, jobs, 500):
        assert ask(first, "POST", "/v1/jobs", "".join(line(j, 4) for j in range(begin, min(begin + 500, jobs))))
    for turn in range(6):
        standby = start(second)
        time.sleep(1.3)
        begun = time.time()
        serving.kill()
        wait_for(lambda: ask(second, "POST", "/v1/jobs", line(jobs + turn, 1)))
        wait_for(lambda: runs(second, f"j{jobs + turn}"))
        print(f"{time.time() - begun:.2f} s", flush=True)
        serving.wait()
        serving, first, second = standby, second, first
finally:
    serving.kill()
    serving.wait()
    shutil.rmtree(folder)

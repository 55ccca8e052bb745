#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A loaded `nomora schedd` over its unix socket, a JSON line for each figure.

    schedd.py BIN [MACHINES [TASKS]]

Fills the cluster (12,500 machines of 12 slots, 100,000 tasks in jobs of 10, 700,000 measured pairs in a live matrix; decisions count as
started at once) and measures: a submission until its decision can be read, with moves off and on; submissions over 64 connections;
idle CPU time; a new window of all pairs; a restart; memory; and what a sync of the same disk takes. Needs /proc and 2 GB.
"""
import http.client
import json
import os
import random
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.argv[1])
MACHINES, TASKS = int((sys.argv[2:3] or [12500])[0]), int((sys.argv[3:4] or [100000])[0])
PEERS, JOB_TASKS, SAMPLES, CONNECTIONS, DEADLINE_S = 56, 10, 120, 64, 300
random.seed(1)
folder = tempfile.TemporaryDirectory(prefix="nomora-bench-")
DIR = Path(folder.name)
SOCKET = str(DIR / "socket")


class Unix(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=DEADLINE_S)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(SOCKET)

    def ask(self, method, path, body=None):
        self.request(method, path, body)
        return self.answer()

    def answer(self):
        response = self.getresponse()
        return response.status, response.read()


def figure(name, value, unit):
    print(json.dumps({"figure": name, "value": round(value, 3), "unit": unit, "load": round(os.getloadavg()[0], 1)}), flush=True)


def quantiles(name, times):
    times.sort()
    for share in (0.5, 0.99):
        figure(f"{name}, p{share * 100:.0f}", times[int(share * (len(times) - 1))] * 1e3, "ms")


def cpu_s(process):
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{process.pid}/task").iterdir()) / 1e9


def memory(name, process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    figure(name, int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024, "MB")
    figure(name + ", most", int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024, "MB")


def metric(name):
    return float(re.search(rf"^nomora_schedd_{name} (\S+)$", Unix().ask("GET", "/metrics")[1].decode(), re.M).group(1))


def until(condition, what):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {DEADLINE_S} s")
        time.sleep(0.05)


def settle(process):
    """Waits until the daemon is idle: under 3 % of a core for a second."""
    before = [cpu_s(process)]

    def idle():
        time.sleep(1)
        before.append(cpu_s(process))
        return before[-1] - before[-2] < 0.03

    until(idle, "rest")


def write_cluster():
    machines = [{"name": f"m{m}", "rack": f"r{m // 48}", "pod": f"p{m // 768}", "slots": 12} for m in range(MACHINES)]
    (DIR / "cluster.json").write_text(json.dumps({"schema": "nomora.cluster/1", "machines": machines}))


def write_window():
    """Measurements of each machine to its neighbours and to machines all over the cluster."""
    now = f"{time.time():.0f}"
    with open(DIR / "mesh.csv", "w") as file:
        file.write("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n")
        for a in range(MACHINES):
            for step in range(1, PEERS + 1):
                b = (a + (step if step <= PEERS // 4 else step * (MACHINES // (PEERS + 1)))) % MACHINES
                rtt = (20 if a // 48 == b // 48 else 60 if a // 768 == b // 768 else 250) * random.uniform(0.8, 1.2)
                file.write(f"m{a},m{b},{rtt:.3f},{rtt:.3f},{rtt:.3f},0,100,{now}\n")
    subprocess.run([BIN / "nomora", "mesh", "merge", DIR / "mesh.csv", "--live", DIR / "mesh", "--cluster", DIR / "cluster.json"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start(*options):
    """Starts the daemon; returns it and the time until it answers."""
    begin = time.monotonic()
    process = subprocess.Popen([BIN / "nomora-schedd", "schedd", "--state", DIR / "state", "--socket", SOCKET, "--latency", DIR / "mesh", "--max-age", "0",
                                "--no-executor", "--journal-brief", *options], stderr=open(DIR / "log", "a"))
    while True:
        try:
            if Unix().ask("GET", "/healthz")[0] == 200:
                return process, time.monotonic() - begin
        except OSError:
            if process.poll() is not None or time.monotonic() > begin + DEADLINE_S:
                sys.exit((DIR / "log").read_text())
            time.sleep(0.002)


def job(name, tasks):
    return json.dumps({"id": name, "curve": "memcached", "root": 0, "tasks": tasks})


def fill():
    begin, connection = time.monotonic(), Unix()
    names = [f"fill{j}" for j in range(TASKS // JOB_TASKS)]
    for j in range(0, len(names), 500):
        status, answer = connection.ask("POST", "/v1/jobs?move=1", "\n".join(job(name, JOB_TASKS) for name in names[j:j + 500]))
        assert status == 201, answer
    until(lambda: metric('tasks{state="running"}') == len(names) * JOB_TASKS, "filling")
    figure("filling", time.monotonic() - begin, "s")


def decided(name, process, round_name):
    """Sequential submissions to an idle daemon: a root alone, and a job of five tasks, until its last task is decided."""
    poll, connection = Unix(), Unix()
    for tasks in (1, 5):
        times, cpu = [], cpu_s(process)
        for sample in range(SAMPLES):
            after = json.loads(connection.ask("GET", "/v1/decisions?after=1000000000000000")[1])["last"]
            poll.request("GET", f"/v1/decisions?after={after}&wait=1")
            one, missing = f"{round_name}{tasks}x{sample}", tasks
            begin = time.monotonic()
            connection.request("POST", "/v1/jobs", job(one, tasks))
            while missing:
                answer = json.loads(poll.answer()[1])
                missing -= sum(decision["job"] == one for decision in answer["decisions"])
                if missing:
                    after = max([after, *(decision["sequence"] for decision in answer["decisions"])])
                    poll.request("GET", f"/v1/decisions?after={after}&wait=1")
            times.append(time.monotonic() - begin)
            assert connection.answer()[0] == 201
            assert connection.ask("DELETE", "/v1/jobs/" + one)[0] == 200
            time.sleep(random.uniform(0.02, 0.04))  # two rounds: the cancelled job's round is over
        quantiles(f"submit to decided, {tasks} task(s), {name}", times)
        figure("the same, CPU time of the daemon a job", (cpu_s(process) - cpu) / SAMPLES * 1e3, "ms")


def submissions(process, count=min(20000, (12 * MACHINES - TASKS) // 2)):
    """One request at a time on each connection; the client is one thread, which also takes CPU time."""
    waiting = select.epoll()
    sockets, sent, times, answered, number = {}, {}, [], {}, 0

    def send(fd):
        nonlocal number
        body = job(f"s{number}", 1)
        number += 1
        sent[fd], answered[fd] = time.monotonic(), b""
        sockets[fd].sendall(f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    cpu, begin, own = cpu_s(process), time.monotonic(), time.process_time()
    for _ in range(CONNECTIONS):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(DEADLINE_S)
        one.connect(SOCKET)
        sockets[one.fileno()] = one
        waiting.register(one, select.EPOLLIN)
        send(one.fileno())
    while len(times) < count:
        for fd, _ in waiting.poll(DEADLINE_S):
            answered[fd] += sockets[fd].recv(65536)
            head, blank, body = answered[fd].partition(b"\r\n\r\n")
            if not blank or len(body) < int(re.search(rb"(?i)content-length: *(\d+)", head).group(1)):
                continue
            assert b" 201 " in head, answered[fd]
            times.append(time.monotonic() - sent[fd])
            if number < count:
                send(fd)
    figure(f"submissions over {CONNECTIONS} connections", count / (time.monotonic() - begin), "1/s")
    figure("the same, CPU time of this client each", (time.process_time() - own) / count * 1e3, "ms")
    settle(process)
    figure("the same, CPU time of the daemon each, decisions included", (cpu_s(process) - cpu) / count * 1e3, "ms")
    quantiles("a submission among them", times)


def disk(count=300):
    times = []
    with open(DIR / "sync", "wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"x" * 8192)
            begin = time.monotonic()
            os.fsync(file.fileno())
            times.append(time.monotonic() - begin)
    quantiles("a sync of this disk", times)


def idle(process, length_s=10):
    settle(process)
    cpu, begin = cpu_s(process), time.monotonic()
    time.sleep(length_s)
    share = (cpu_s(process) - cpu) / (time.monotonic() - begin)
    figure("idle", share * 100, "% of a core")
    return share


def window(process, idle_share):
    settle(process)
    begin, cpu = time.monotonic(), cpu_s(process)
    write_window()
    time.sleep(2)  # the daemon checks twice a second
    settle(process)
    figure(f"a window of {MACHINES * PEERS} pairs", (cpu_s(process) - cpu - idle_share * (time.monotonic() - begin)) * 1e3, "ms of CPU, the round after it included")


write_cluster()
write_window()
daemon, _ = start("--cluster", DIR / "cluster.json")
try:
    settle(daemon)
    fill()
    share = idle(daemon)
    decided("moves off", daemon, "off")
    disk()
    submissions(daemon)
    window(daemon, share)
    memory("memory", daemon)
    daemon.terminate()
    daemon.wait()
    daemon, seconds = start("--migrate", "on", "--migrate-gain", "0.1")
    figure("restart to serving", seconds, "s")
    settle(daemon)
    decided("moves on", daemon, "on")
    window(daemon, share)
    settle(daemon)
    figure("moves made", metric("moves_total"), "")
    memory("memory, moves on", daemon)
finally:
    daemon.kill()
    daemon.wait()

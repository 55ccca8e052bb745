#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schedd_abuse.py BIN CURVES SECONDS: one user of nomora schedd misbehaves in several ways, for SECONDS each, while another one submits and cancels
jobs. A JSON line for each way: how long the other one's submissions took, beside those of the quiet time before and after it, and the daemon's
memory. Fails when a submission is not answered, when the median of the submissions is over twice the quiet one and MARGIN_MS, or when memory grows
beyond MEMORY_MB. With 4 or more SECONDS, each way comes three times, and the median of the three p99s may not be over twice the quiet one. Needs root,
to be two users."""
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN, CURVES, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
VICTIM, ABUSER, MEMORY_MB, DEADLINE_S, QUOTA, MARGIN_MS = 12346, 12345, 250, 20, 2000, 50
random.seed(11)
folder = tempfile.TemporaryDirectory(prefix="nomora-abuse-")
DIR = Path(folder.name)
DIR.chmod(0o755)
SOCKET = str(DIR / "socket")
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))


def connect(timeout=DEADLINE_S):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(timeout)
    one.connect(SOCKET)
    return one


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = connect()
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def head(body_bytes, path="/v1/jobs"):
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {body_bytes}\r\n\r\n".encode()


def job(name):
    return json.dumps({"id": name, "curve": "spark", "root": 0, "tasks": 1})


def malformed():
    paths = ["/v1/jobs", "/v1/events", "/v1/what-if", "/v1/changes", "/v1/explain/%00/%ff", "/v1/jobs?restart_s=nan", "//", "/v1/machines/" + "x" * 4000]
    bodies = ["{", "[" * 100000, '{"id": ' * 1000, job("a")[:-1], job("a") * 2, '{"id": "a", "tasks": -1}', "\x00\xff" * 500, '{"changes": [7]}', "9" * 100000]
    while True:
        if random.random() < 0.3:
            with connect() as one:
                one.sendall(os.urandom(random.randrange(1, 5000)))
        else:
            assert ask(random.choice(["POST", "PUT", "DELETE", "GET", "BREW"]), random.choice(paths), random.choice(bodies).encode("latin-1"))[0] >= 400


def large():
    while True:
        with connect() as one:
            one.sendall(head(10000000))
            one.sendall(b"x" * 10000000)
            assert b" 413 " in one.recv(1000)


def connections():
    held = []
    while len(held) < 10000:
        held.append(connect())
    signal.pause()


def half_open():
    held = []
    while len(held) < 2000:
        held.append(connect())
        held[-1].sendall(head(100)[:random.randrange(60)])
    signal.pause()


def slow():
    """Sends bodies of 8 MB at once, except for their last bytes."""
    held = []
    for _ in range(200):
        held.append(connect())
        held[-1].setblocking(False)
        try:
            held[-1].send(head(8 << 20))
        except OSError:
            pass
    while True:
        for one in held:
            try:
                one.send(b" " * 100000)
            except OSError:
                pass
        time.sleep(0.05)


def polls():
    held = []
    while len(held) < 2000:
        held.append(connect())
        held[-1].sendall(b"GET /v1/decisions?after=0&wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        held[-1].sendall(b"GET /v1/decisions?after=1000000000000&wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    signal.pause()


def many_jobs():
    for part in range(100):
        body = "\n".join(job(f"m{part}x{number}") for number in range(10000)).encode()
        with connect(600) as one:
            one.sendall(head(len(body)) + body)
            while b"]}" not in one.recv(1 << 20):
                pass
    signal.pause()


WAYS = [malformed, large, connections, half_open, slow, polls, many_jobs]


def forked(user, work):
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            work()
        except OSError:
            signal.pause()  # refused by the server, as intended
        finally:
            os._exit(0)
    return child


def submissions(seconds):
    """Submissions of the other user; returns their times in ms, sorted."""
    reading, writing = os.pipe()

    def work():
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            name, begin = f"v{time.monotonic_ns()}", time.monotonic()
            status = ask("POST", "/v1/jobs", job(name))[0]
            times.append((time.monotonic() - begin) * 1e3 if status == 201 else -1)
            ask("DELETE", "/v1/jobs/" + name)
        os.write(writing, json.dumps(times).encode()[:60000])

    child = forked(VICTIM, work)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        text = file.read()
    times = sorted(json.loads(text[:text.rindex(",")] + "]" if not text.endswith("]") else text)) if text else []
    assert times, "a submission was not answered"
    assert times[0] > 0, "a submission was refused"
    return times


def p(share, times):
    return round(times[int(share * (len(times) - 1))], 2)


def memory_mb():
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{daemon.pid}/status").read_text()).group(1)) / 1024


machines = [{"name": f"m{m}", "rack": f"r{m // 20}", "slots": 8} for m in range(400)]
(DIR / "cluster.json").write_text(json.dumps({"schema": "nomora.cluster/1", "machines": machines}))
daemon = subprocess.Popen([BIN + "/nomora-schedd", "schedd", "--state", DIR / "state", "--socket", SOCKET, "--cluster", DIR / "cluster.json", "--curves", CURVES,
                           "--no-executor", "--user-tasks", str(QUOTA)], stderr=open(DIR / "log", "w"))
abuser = 0
try:
    while True:
        try:
            ask("GET", "/healthz")
            break
        except OSError:
            assert daemon.poll() is None, (DIR / "log").read_text()
            time.sleep(0.01)
    for way in WAYS:
        ratios = []
        for _ in range(3 if SECONDS >= 4 else 1):
            quiet = submissions(SECONDS / 2)
            abuser = forked(ABUSER, way)
            time.sleep(min(SECONDS / 2, 2))
            busy = submissions(SECONDS)
            used = memory_mb()
            os.kill(abuser, signal.SIGKILL)
            os.waitpid(abuser, 0)
            abuser = 0
            quiet = sorted(quiet + submissions(SECONDS / 2))
            ratios.append(p(0.99, busy) / p(0.99, quiet))
            print(json.dumps({"abuse": way.__name__, "submissions": len(busy), "p50_ms": p(0.5, busy), "p99_ms": p(0.99, busy), "quiet_p50_ms": p(0.5, quiet),
                              "quiet_p99_ms": p(0.99, quiet), "memory_MB": round(used)}), flush=True)
            assert used < MEMORY_MB, f"{used} MB"
            assert p(0.5, busy) < 2 * p(0.5, quiet) + MARGIN_MS, "others' submissions are slow"
            assert daemon.poll() is None, "the daemon ended"
        assert SECONDS < 4 or statistics.median(ratios) < 2, f"the p99 of others' submissions is {statistics.median(ratios):.1f} times the quiet one"
    jobs = json.loads(ask("GET", "/v1/jobs")[1])["jobs"]
    assert sum(of["owner"] == ABUSER for of in jobs) <= QUOTA
finally:
    if abuser:
        os.kill(abuser, signal.SIGKILL)
    daemon.terminate()
    daemon.wait()

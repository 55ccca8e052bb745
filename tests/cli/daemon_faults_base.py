# SPDX-License-Identifier: BSD-3-Clause
"""A daemon whose calls fail, for daemon_faults.py and its scenarios."""
import http.client
import json
import os
import socket
import subprocess
import sys
import time

LIBRARY, BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:4])
LIMIT_S = 60       # for each step of a scenario
NODES = 4
WITH_US = ["setpriv", "--pdeathsig", "KILL"]  # a process ends with this one, even if it is killed


class Wrong(Exception):
    """What a daemon did wrong."""


class Ended(Exception):
    """The daemon has ended by itself."""


def wait_until(condition, what, daemon=None):
    """Returns the condition's first true value."""
    late = time.monotonic() + LIMIT_S
    while True:
        value = condition()
        if value:
            return value
        if daemon and daemon.process.poll() is not None:
            raise Ended
        if time.monotonic() > late:
            raise Wrong(f"timed out: {what}")
        time.sleep(0.01)


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=5)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self.path)


def exchange(connection, method, path, body=None):
    """Returns the status and the text of the answer; (0, "") without an answer."""
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException, ValueError):
        return 0, ""
    finally:
        connection.close()


class Daemon:
    """A daemon in a folder, with its scenario. A subclass has:

    program: the name of its executable; arguments(); is_ready(); use(): what a client asks, each until it is done, also
    repeated after a restart; check(): after the restart without a fault."""

    program, code_at_end = "nomora", 0
    skipped = ()  # functions that do not fail here
    found = ()    # FUNCTION[:PHASE] of the program where a fault was found once; each is always tried

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        self.prepare()

    def at(self, name):
        return os.path.join(self.folder, name)

    failing = None  # the function that fails
    within = ()   # a command that runs the daemon, in a namespace

    def prepare(self):
        pass

    def clean(self):
        pass

    def start(self, variables):
        environment = {"MALLOC_PERTURB_": "165", **os.environ, "ASAN_OPTIONS": "", **variables}
        if variables:
            environment["LD_PRELOAD"] = LIBRARY
        with open(self.at("messages"), "ab") as messages, open(self.at("printed"), "wb") as printed:
            self.process = subprocess.Popen([*WITH_US, *self.within, os.path.join(BIN, self.program), *self.arguments()],
                                            env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=printed,
                                            stderr=messages)
        wait_until(self.is_ready, "it is ready", self)
        open(self.at("is-ready"), "w", encoding="utf-8").close()

    def stop(self):
        """Ends it by SIGTERM; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong("does not end by SIGTERM") from None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.clean()

    def messages(self):
        with open(self.at("messages"), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()


def nomora(*arguments):
    """Runs a command without faults; returns its output, or None if it fails."""
    ended = subprocess.run([os.path.join(BIN, "nomora"), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    return ended.stdout if ended.returncode == 0 else None


class Mesh(Daemon):
    """A daemon with a live matrix that other processes write."""

    program = "nomora-live"

    def put(self, live, rtt):
        """Writes rows with these round trips, newer than those before."""
        self.at_s = getattr(self, "at_s", int(time.time()) - 1000) + 1
        with open(self.at("rows.csv"), "w", encoding="utf-8") as file:
            print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=file)
            for a in range(NODES):
                for b in range(NODES):
                    if a != b:
                        print(f"h{a},h{b}", rtt, 2 * rtt, 3 * rtt, 0, 100, self.at_s, sep=",", file=file)
        with open(self.at("racks.json"), "w", encoding="utf-8") as file:
            json.dump({"schema": "nomora.cluster/1", "machines": [{"name": f"h{i}", "rack": f"r{i // 2}", "slots": 1} for i in range(NODES)]}, file)
        wait_until(lambda: nomora("mesh", "merge", self.at("rows.csv"), "--live", self.at(live), "--cluster", self.at("racks.json")) is not None,
                   "rows are written")

    def has(self, live, rtt):
        text = nomora("mesh", "export", self.at(live), "--json") if os.path.exists(self.at(live)) else None
        pairs = json.loads(text)["pairs"] if text else []
        known = [pair for pair in pairs if pair["state"] == "measured"]
        if any((pair["rtt_p99_us"], pair["rtt_max_us"]) != (2 * pair["rtt_p50_us"], 3 * pair["rtt_p50_us"]) for pair in known):
            raise Wrong(f"a torn row: {known}")
        return len([pair for pair in known if pair["rtt_p50_us"] == rtt]) == NODES * (NODES - 1)

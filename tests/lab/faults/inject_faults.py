# SPDX-License-Identifier: BSD-3-Clause
"""Injects faults into a live mesh and checks that it names each culprit, and nothing else.

A lab of 4 leaves, 4 spines and 8 hosts, an agent on each host. The kernel makes the faults, so no CPU is busy: iptables
drops the forwarded packets of a router or link, or queues them for slow_forward.py; a host stalls by SIGSTOP. Each
fault must be named within 3 windows of its beginning; what is named beside it, or without a fault, is a false
accusation. Faults are drawn by the seed.
"""

import argparse
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

LEAVES, SPINES, HOSTS = 4, 4, 8
HERE = os.path.dirname(os.path.abspath(__file__))


def spine_address(spine):
    return f"10.78.0.{spine}"


def leaf_address(leaf):
    return f"10.78.0.{SPINES + leaf}"


class Lab:
    def __init__(self, nomora, folder, window):
        self.nomora, self.window = nomora, window
        self.name = f"f{os.getpid() % 100000}"
        self.live = os.path.join(folder, "live")
        self.agents = {}
        peers = os.path.join(folder, "peers")
        self.call("lab", "up", "--name", self.name, "--hosts", HOSTS, "--racks", LEAVES, "--spines", SPINES, "--peers", peers)
        for line in open(peers):
            if line.startswith("#"):
                continue
            host, address = line.split()[:2]
            leaf = address.split(".")[2]
            command = [
                "ip", "netns", "exec", f"{self.name}-{host}", nomora, "mesh", "agent", "eth0", "--address", address + "/32",
                "--gateway", f"10.77.{leaf}.254", "--peers", peers, "--live", self.live, "--paths", "auto",
                "--interval-us", "10000", "--window", str(window), "--quiet",
            ]  # fmt: skip
            self.agents[host] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, *words):
        return subprocess.run([self.nomora, *map(str, words)], check=True, capture_output=True, text=True).stdout

    def close(self):
        for agent in self.agents.values():
            agent.send_signal(signal.SIGCONT)
            agent.terminate()
        for agent in self.agents.values():
            agent.wait()
        self.call("lab", "down", "--name", self.name)

    def is_measured(self):
        try:
            pairs = json.loads(self.call("mesh", "export", self.live, "--json"))["pairs"]
        except subprocess.CalledProcessError:  # no agent has made it yet
            return False
        far = [pair for pair in pairs if pair["paths_covered"] >= SPINES]
        return len(pairs) == HOSTS * (HOSTS - 1) and all(p["state"] == "measured" for p in pairs) and len(far) >= 48

    def findings(self):
        top = json.loads(self.call("mesh", "top", self.live, "--json", "--stat", "p50"))
        return [finding["text"] for finding in top["findings"]]

    def iptables(self, switch, *words):
        subprocess.run(["ip", "netns", "exec", f"{self.name}-s{switch}", "iptables-legacy", "-w", *words], check=True)


class Fault:
    """What is broken in the lab, and the words that name it."""

    def __init__(self, kind, text, pattern, rules=(), switch=0, delay_us=0, stall=None, around=None):
        self.kind, self.text, self.pattern, self.rules = kind, text, re.compile(pattern), rules
        self.around = re.compile(around or "$^")  # a finding that contains the culprit, and is no false accusation
        self.switch, self.delay_us, self.host = switch, delay_us, stall
        self.ended, self.helper = threading.Event(), None

    def begin(self, lab):
        self.ended.clear()
        if self.delay_us:
            place = f"{lab.name}-s{self.switch}"
            self.helper = subprocess.Popen(
                ["ip", "netns", "exec", place, sys.executable, os.path.join(HERE, "slow_forward.py"), str(self.delay_us)]
            )
            queue = ["ip", "netns", "exec", place, "cat", "/proc/net/netfilter/nfnetlink_queue"]
            while not subprocess.run(queue, check=True, capture_output=True).stdout:
                time.sleep(0.01)
        for rule in self.rules:
            lab.iptables(self.switch, "-A", "FORWARD", *rule)
        if self.host:
            self.helper = threading.Thread(target=self.stall, args=(lab.agents[self.host],))
            self.helper.start()

    def stall(self, agent):
        while not self.ended.is_set():
            agent.send_signal(signal.SIGSTOP)
            time.sleep(0.3)
            agent.send_signal(signal.SIGCONT)
            self.ended.wait(0.4)

    def end(self, lab):
        self.ended.set()
        if self.rules:
            lab.iptables(self.switch, "-F", "FORWARD")
        if self.host:
            self.helper.join()
        elif self.helper:
            time.sleep(0.1)  # what it holds goes on
            self.helper.terminate()
            self.helper.wait()


def draw(kind, chance):
    leaf, spine = chance.randint(1, LEAVES), chance.randint(1, SPINES)
    delay_us, loss = chance.choice([100, 200, 400, 800]), chance.choice([0.03, 0.05, 0.1])
    router, link = spine_address(spine), f"The link between routers {spine_address(spine)} and {leaf_address(leaf)} "
    queue, drop = ["-j", "NFQUEUE"], ["-m", "statistic", "--mode", "random", "--probability", str(loss), "-j", "DROP"]
    both = [["-i", f"leaf{leaf}"], ["-o", f"leaf{leaf}"]]
    near = f"^Bad (uplink of rack rack{leaf}|path .*rack rack{leaf})\\b"
    if kind == "host stalled":
        host = f"h{chance.randint(1, HOSTS)}"
        return Fault(kind, f"{host} stops for 300 of every 700 ms", f"^Host {host} in rack \\S+ stalls", stall=host)
    if kind == "slow link":
        return Fault(kind, f"leaf{leaf} - spine{spine}, {delay_us} us", link + "adds", [way + queue for way in both], spine, delay_us, around=near)
    if kind == "lossy link, one direction":
        way = both[chance.randint(0, 1)]
        arrow = "->" if way is both[0] else "<-"
        return Fault(kind, f"leaf{leaf} {arrow} spine{spine}, {loss:.0%}", link + "loses", [way + drop], spine, around=near)
    if kind == "slow spine":
        return Fault(kind, f"spine{spine}, {delay_us} us", f"^Router {router} adds", [queue], spine, delay_us)
    if kind == "lossy spine":
        return Fault(kind, f"spine{spine}, {loss:.0%}", f"^Router {router} loses", [drop], spine)
    if kind == "dead spine":
        return Fault(kind, f"spine{spine} forwards nothing", f"^Router {router} loses", [["-j", "DROP"]], spine)
    assert kind == "dead rack"
    near = f"^Bad (host \\S+ in|uplink of|path .*) rack rack{leaf}\\b"
    return Fault(kind, f"leaf{leaf} forwards nothing", f"^Bad rack rack{leaf}\\b", [["-j", "DROP"]], SPINES + leaf, around=near)


SINGLE = ["host stalled", "slow link", "lossy link, one direction", "slow spine", "lossy spine", "dead spine", "dead rack"]
TWO = "two at once"


def draw_two(chance):
    while True:
        faults = [draw(kind, chance) for kind in chance.sample(SINGLE, 2)]
        places = [fault.switch or fault.host for fault in faults]
        # A dead rack hides what is wrong in it.
        racks = {(int(fault.host[1:]) + 1) // 2 for fault in faults if fault.host}
        dead = {fault.switch - SPINES for fault in faults if fault.kind == "dead rack"}
        inside = any(re.search(f"leaf{rack} ", fault.text) for rack in dead for fault in faults if "link" in fault.kind)
        if places[0] != places[1] and not racks & dead and not inside:
            return faults


def wait_until(holds, limit_s):
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > limit_s:
            return None
        time.sleep(0.2)
    return time.monotonic() - begin


def run(lab, faults, kind):
    """Returns a row of the result. `passing`: accused for a moment, before the culprit was named; `others`: then."""
    seen, last = set(), []

    def named():
        findings = lab.findings()
        seen.update(findings)
        last[:] = findings
        return all(any(fault.pattern.search(text) for text in findings) for fault in faults)

    for fault in faults:
        fault.begin(lab)
    seconds = wait_until(named, 3 * lab.window)
    for fault in faults:
        fault.end(lab)
    known = [pattern for fault in faults for pattern in (fault.pattern, fault.around)]
    others, passing = (sorted(t for t in texts if not any(p.search(t) for p in known)) for texts in (last, seen - set(last)))
    calm = wait_until(lambda: not lab.findings(), 10 * lab.window)
    time.sleep(lab.window)
    return {
        "kind": kind,
        "fault": "; ".join(fault.text for fault in faults),
        "windows": None if seconds is None else round(seconds / lab.window, 1),
        "others": others,
        "passing": passing,
        "calm_windows": None if calm is None else round(calm / lab.window, 1),
    }


def table(rows):
    """The rows as a table of kinds."""
    yield "| fault | injected | named within 3 windows | median, windows | something else accused then |"
    yield "|---|---|---|---|---|"
    for kind in [*SINGLE, TWO, None]:
        of_kind = [row for row in rows if kind in (row["kind"], None)]
        named = sorted(row["windows"] for row in of_kind if row["windows"] is not None)
        accused = sum(bool(row["others"]) for row in of_kind)
        median = named[len(named) // 2] if named else "-"
        yield f"| {kind or 'all'} | {len(of_kind)} | {len(named)} | {median} | {accused} |"


def watch(lab, minutes):
    """Without a fault: returns what is accused."""
    accused, end = [], time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        found = lab.findings()
        accused += [text for text in found if not accused or text != accused[-1]]
        time.sleep(lab.window / 2)
    return accused


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nomora")
    parser.add_argument("folder", help="for the live matrix")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", choices=[*SINGLE, TWO], default=[*SINGLE, TWO], help="injected in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--window", type=float, default=4)
    parser.add_argument("--quiet-minutes", type=float, default=0, help="watch as long without a fault, first")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    chance = random.Random(options.seed)
    rows = []
    lab = Lab(options.nomora, options.folder, options.window)
    try:
        if wait_until(lab.is_measured, 120) is None:
            sys.exit("not all pairs are measured, over four paths")
        time.sleep(2 * options.window)
        if options.quiet_minutes:
            print(json.dumps({"quiet_minutes": options.quiet_minutes, "load": os.getloadavg()[0],
                              "accused": watch(lab, options.quiet_minutes)}), flush=True)  # fmt: skip
        for kind in itertools.islice(itertools.cycle(options.kinds), options.faults):
            faults = draw_two(chance) if kind == TWO else [draw(kind, chance)]
            rows.append(run(lab, faults, kind))
            print(json.dumps(rows[-1]), flush=True)
    finally:
        lab.close()
        print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()

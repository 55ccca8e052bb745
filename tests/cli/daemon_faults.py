#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""daemon_faults.py LIBRARY BIN SOURCE [NAME...]: these daemons, or all, while one of their calls of the system fails, once. TAP.

The preloaded library (tests/support/fail_call.c) fails a call at its first use after the start of the program, or after the
daemon is ready. The daemon must then go on, or end with exit code 1 and a message; must not repeat a message again and
again; must do what a client asks again; must end by SIGTERM; and what it acknowledged must be there after the next start.
By default, a sample of the calls of each daemon by NOMORA_FAULTS_SEED; NOMORA_FAULTS=all tries all of them,
NOMORA_FAULTS=NAME those of one daemon, NAME:calls, NAME:memory, NAME:clock, NAME:EINTR (any error's name) and
NAME:@FUNCTION,... a part of these, NAME:KEY:ERROR:PHASE one fault, as it is printed."""
import collections
import concurrent.futures
import errno
import http.client
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from daemon_faults_agents import Cluster, MeshAgent, SlurmAgent
from daemon_faults_base import BIN, NODES, SOURCE, WITH_US, Daemon, Ended, Mesh, Unix, Wrong, exchange, nomora, wait_until

CHOSEN = os.environ.get("NOMORA_FAULTS", "")
SEED = int(os.environ.get("NOMORA_FAULTS_SEED", "1"))
FAULTS = 8         # per daemon, unless all are tried
REPEATED = 3       # number of times that the same message may appear
MEMORY = ("malloc", "calloc", "realloc")
FOUND_CALLS = MEMORY + ("fflush", "fork", "open", "open64")  # of the functions in Daemon.found


class Schedd(Daemon):
    """Two jobs, reports, a drained machine, all pages; then a restart."""

    program = "nomora-schedd"
    found = ("record_put", "store_put_machine", "store_put_curve", "serve_create", "placer_job_arrived", "job_json", "file_lines_open",
             "live_note_curve", "store_journal_page")

    def prepare(self):
        with open(self.at("cluster.json"), "w", encoding="utf-8") as file:
            json.dump({"schema": "nomora.cluster/1", "machines": [{"name": f"h{i}", "rack": f"r{i // 2}", "slots": 2}
                                                                  for i in range(NODES)]}, file)
        os.mkdir(self.at("curves"))
        shutil.copy(os.path.join(SOURCE, "curves", "memcached.json"), self.at("curves"))
        self.measure(40)
        self.acknowledged, self.socket = set(), self.at("s")

    def measure(self, rtt):
        with open(self.at("new.csv"), "w", encoding="utf-8") as file:
            print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=file)
            for a in range(NODES):
                for b in range(NODES):
                    if a != b:
                        print(f"h{a},h{b}", *3 * [rtt if a // 2 == b // 2 else 400], 0, 100, int(time.time()) - 4000, sep=",", file=file)  # not in the future if the clock is set back
        os.rename(self.at("new.csv"), self.at("mesh.csv"))

    def arguments(self):
        return ["schedd", "--state", "state", "--socket", self.socket, "--cluster", "cluster.json", "--curves", "curves",
                "--latency", "mesh.csv", "--max-age", "0", "--start-timeout", "600", "--retry", "0.05", "--round-ms", "10",
                "--migrate", "on", "--migrate-gain", "0.05"]

    def ask(self, method, path, body=None):
        return exchange(Unix(self.socket), method, path, body if body is None or isinstance(body, str) else json.dumps(body))

    def is_ready(self):
        return self.ask("GET", "/healthz")[0] == 200

    def done(self, method, path, body=None):
        """Asks until it is done."""
        answer = [0, ""]

        def try_it():
            answer[:] = self.ask(method, path, body)
            return 200 <= answer[0] < 300
        try:
            wait_until(try_it, f"{method} {path}", self)
        except Wrong as wrong:
            raise Wrong(f"{wrong}: {answer}") from None
        return answer[1]

    def tasks(self, job):
        return json.loads(self.done("GET", f"/v1/jobs/{job}"))["tasks"]

    def submit(self, job, tasks):
        self.done("POST", "/v1/jobs", {"id": job, "curve": "memcached", "root": 0, "tasks": tasks})
        self.acknowledged.add(job)

    def report(self, event, job, task):
        """Reports it until the job has it; a report may be taken although its answer is lost."""
        state = {"started": "running", "ended": "ended"}[event]

        def is_there():
            now = next(t for t in self.tasks(job) if t["name"] == task)
            if now["state"] == state:
                return True
            status, answer = self.ask("POST", "/v1/events", {"event": event, "job": job, "task": task, "machine": now["machine"] or ""})
            if status == 200 and json.loads(answer) != {"taken": 1}:
                raise Wrong(f"an event is acknowledged that was not taken: {answer}")
            return False
        wait_until(is_there, f"{job}/{task} is {state}", self)

    def use(self):
        self.submit("web", 3)
        wait_until(lambda: all(task["state"] in ("decided", "running", "ended") for task in self.tasks("web")), "web is placed", self)
        for task in ("t0", "t1", "t2"):
            if not any(t["name"] == task and t["state"] == "ended" for t in self.tasks("web")):
                self.report("started", "web", task)
        pairs = NODES * (NODES - 1) // 2
        wait_until(lambda: f"nomora_schedd_measured_pairs {pairs}\n" in self.done("GET", "/metrics"), "the mesh is read", self)
        self.measure(60)
        self.submit("one", 1)
        self.done("POST", "/v1/changes", {"changes": ["drain h3"]})
        self.done("POST", "/v1/changes", {"changes": ["up h3"]})
        for page in ("/metrics", "/v1/decisions", "/v1/explain/web/t1", "/v1/machines", "/v1/overview", "/v1/curves", "/"):
            self.done("GET", page)
        self.done("GET", "/v1/journal")
        self.report("ended", "web", "t2")

    def check(self):
        jobs = {job["id"] for job in json.loads(self.done("GET", "/v1/jobs"))["jobs"]}
        if not self.acknowledged <= jobs:
            raise Wrong(f"acknowledged jobs are gone: {self.acknowledged - jobs}")
        states = {task["name"]: task["state"] for task in self.tasks("web")}
        if states["t2"] != "ended" or states["t0"] != "running":
            raise Wrong(f"reports are gone: {states}")
        machines = json.loads(self.done("GET", "/v1/machines"))["machines"]
        held = collections.Counter(task["machine"] for job in jobs for task in self.tasks(job)
                                   if task["state"] in ("decided", "running", "moving"))
        if {m["name"]: m["tasks"] for m in machines if m["tasks"]} != dict(held) or any(m["tasks"] > m["slots"] for m in machines):
            raise Wrong(f"machines {machines}, jobs {held}")

    def after(self):
        base = sqlite3.connect(self.at("state"))
        sequence = [row[0] for row in base.execute("SELECT sequence FROM decisions ORDER BY sequence")]
        base.close()
        if sequence != list(range(1, len(sequence) + 1)):
            raise Wrong(f"decisions have gaps: {sequence}")


class Serve(Mesh):
    """Pages and a history of a live matrix."""

    def prepare(self):
        self.put("live", 40)

    def arguments(self):
        return ["serve", "live", "--port", "0", "--max-age", "0", "--history", "history.db", "--history-every", "0.1"]

    def is_ready(self):
        with open(self.at("printed"), encoding="utf-8") as file:
            return "http" in file.read()

    def page(self, path):
        with open(self.at("printed"), encoding="utf-8") as file:
            port = int(re.search(r":(\d+)/", file.read()).group(1))
        status, text = exchange(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "GET", path)
        return text if status == 200 else None

    def shows(self, rtt):
        return f'nomora_mesh_rack_rtt_seconds{{from="r0",to="r1",stat="p50"}} {rtt // 10}e-05' in (self.page("/metrics") or "")

    def use(self):
        for path, part in (("/", "Worst pairs"), ("/racks?from=r0&to=r1", "</table>"), ("/metrics", "# EOF")):
            wait_until(lambda path=path, part=part: part in (self.page(path) or ""), f"the page {path}", self)
        self.put("live", 50)
        wait_until(lambda: self.shows(50), "the new rows are served", self)
        wait_until(self.recorded, "the rows are in the history", self)

    def recorded(self):
        return "100" in (nomora("mesh", "history", self.at("history.db"), "--last", "0", "h0", "h1") or "")

    def check(self):
        wait_until(lambda: self.shows(50), "the rows are served again", self)
        if not self.recorded():
            raise Wrong("the history is gone")


class Collect(Mesh):
    """Rows from a NATS server, and their history."""

    skipped = ("clock_gettime",)  # libnats compares it with the kernel's clock, by which threads wait

    def prepare(self):
        self.helpers = []
        os.mkdir(self.at("ports"))
        self.put("source", 40)
        self.helper("nats-server", "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", self.at("ports"))
        self.url = wait_until(self.find_server, "the NATS server listens")
        self.helper(os.path.join(BIN, "nomora-live"), "publish", self.at("source"), "--server", self.url, "--interval", "0.02",
                    "--all-every", "0.3")

    def helper(self, *command):
        self.helpers.append(subprocess.Popen([*WITH_US, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def find_server(self):
        for name in os.listdir(self.at("ports")):
            try:
                with open(os.path.join(self.at("ports"), name), encoding="utf-8") as file:
                    return json.load(file)["nats"][0]
            except (ValueError, OSError):
                pass
        return None

    def arguments(self):
        return ["collect", "live", "--server", self.url, "--hosts", "64", "--pairs", "64", "--history", "history.db",
                "--history-every", "0.1"]

    def is_ready(self):
        return any("connected to" in line for line in self.messages()[self.before:])

    def start(self, variables):
        self.before = len(self.messages()) if os.path.exists(self.at("messages")) else 0
        super().start(variables)

    def use(self):
        wait_until(lambda: self.has("live", getattr(self, "now", 40)), "the rows arrive", self)
        self.put("source", 50)
        self.now = 50
        wait_until(lambda: self.has("live", 50), "the new rows arrive", self)
        wait_until(lambda: "100" in (nomora("mesh", "history", self.at("history.db"), "--last", "0", "h0", "h1") or ""),
                   "the rows are in the history", self)

    def check(self):
        if not self.has("live", 50):
            raise Wrong("rows are gone")
        self.put("source", 60)
        wait_until(lambda: self.has("live", 60), "rows arrive after the next start", self)

    def clean(self):
        for helper in self.helpers:
            helper.kill()
            helper.wait()


class Inject(Daemon):
    """The control socket of a delay line."""

    program = "nomora-injector"
    found = ("make_config",)
    skipped = ("pthread_create",)  # DPDK aborts

    def arguments(self):
        return ["inject", "net_null0", "net_null1", "--delay-us", "5", "--nice", "19", "--control", self.at("c")]

    def ask(self, *arguments):
        return nomora("inject-ctl", self.at("c"), *arguments, "--json")

    def is_ready(self):
        return self.ask("stats") is not None

    def use(self):
        for command in (["stats"], ["set", "delay_us=20"], ["metrics"], ["reset"]):
            wait_until(lambda command=command: self.ask(*command) is not None, " ".join(command), self)
        self.check_delay(20)

    def check_delay(self, wanted):
        stats = json.loads(wait_until(lambda: self.ask("stats"), "stats", self))
        if (stats["delay_ab_us"], stats["delay_ba_us"]) != (wanted, wanted):
            raise Wrong(f"the delay is {stats['delay_ab_us']} us, {wanted} was acknowledged")

    def check(self):
        self.check_delay(5)


DAEMONS = {"schedd": Schedd, "serve": Serve, "collect": Collect, "inject": Inject, "agent": MeshAgent, "slurm": SlurmAgent}
PROGRAMS = {"collect": ["nats-server"], "inject": [os.path.join(BIN, "nomora-injector")],
            "agent": [os.path.join(BIN, "nomora-probe"), "ip", "unshare"],
            "slurm": [os.path.join(BIN, "nomora-slurm"), "unshare", "slurmctld", "slurmd", "munged"]}
NEED_ROOT = ("agent", "slurm")


class Fault(collections.namedtuple("Fault", "daemon key error phase function errors place")):
    """phase: start, ready (only calls after the daemon is ready)."""

    def number(self):
        return int(self.errors[self.error])

    def belongs_to(self, part):
        kind = "memory" if self.function in MEMORY else "clock" if self.function == "clock_gettime" else "calls"
        return part in (kind, errno.errorcode.get(self.number()) if kind == "calls" else None)

    def name(self):
        number = self.number()
        text = f"{number:+} s" if self.function == "clock_gettime" else errno.errorcode[number]
        return f"{self.function} {text}, {self.daemon}:{self.key}:{self.error}:{self.phase}"


def variables(daemon, phase):
    found = {"FAIL_CALL_PROGRAM": daemon.program, "FAIL_CALL_LIST": daemon.at("calls")}
    if phase == "ready":
        found["FAIL_CALL_FROM"] = daemon.at("is-ready")
    return found


def flood(lines):
    """The first message that is repeated, without its figures."""
    counts = collections.Counter(re.sub(r"\d+", "N", line) for line in lines)
    return next((line for line, count in counts.items() if count > REPEATED), None)


def judge_end(daemon, before):
    code = daemon.process.returncode
    messages = daemon.messages()[before:]
    if code == 0:
        raise Wrong(f"ended by itself with exit code 0: {messages}")
    if code != 1:
        raise Wrong(f"ended with {signal.Signals(-code).name if code < 0 else code}: {messages[-3:]}")
    if not messages:
        raise Wrong("exit code 1 without a message")


def run_fault(top, fault):
    """None, or what is wrong."""
    folder = tempfile.mkdtemp(dir=top)
    daemon = DAEMONS[fault.daemon](folder)
    daemon.failing = fault.function
    faulty = {**variables(daemon, fault.phase), "FAIL_CALL_SITE": fault.key, "FAIL_CALL_FUNCTION": fault.function,
              "FAIL_CALL_ERROR": str(fault.error)}
    try:
        for attempt in range(2):
            before = len(daemon.messages()) if attempt else 0
            try:
                daemon.start({} if attempt else faulty)
                daemon.use()
                break
            except Ended:
                daemon.process.wait()
                judge_end(daemon, before)
        code = daemon.stop()
        with open(daemon.at("calls"), encoding="utf-8") as file:
            failed = "failed" in file.read()
        if code != daemon.code_at_end and not (failed and code == 1):
            raise Wrong(f"SIGTERM ends it with {code}: {daemon.messages()[-3:]}")
        repeated = flood(daemon.messages())
        if repeated:
            raise Wrong(f"a message appears again and again: {repeated}")
        os.unlink(daemon.at("is-ready"))
        daemon.start({})
        daemon.check()
        if daemon.stop() != daemon.code_at_end:
            raise Wrong(f"after the next start, SIGTERM ends it with {daemon.process.returncode}: {daemon.messages()[-3:]}")
        if hasattr(daemon, "after"):
            daemon.after()
        return (None, failed)
    except (KeyError, TypeError, ValueError) as wrong:
        return (f"an incomplete answer: {wrong!r}; {fault.place}", True)
    except (Wrong, Ended) as wrong:
        return (f"{str(wrong) or f'it does not start again: {daemon.messages()[-3:]}'}; {fault.place}", True)
    finally:
        daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)


def find_places(daemon, addresses):
    """The functions of the program that make the calls."""
    try:
        lines = subprocess.run(["addr2line", "-fse", os.path.join(BIN, daemon.program), *addresses], capture_output=True,
                               text=True, check=False).stdout.split("\n")
    except OSError:
        lines = []
    return lines[:2 * len(addresses):2] + [""] * (len(addresses) - len(lines) // 2)


def find_calls(top, name, phase):
    """The faults that the scenario can have."""
    folder = tempfile.mkdtemp(dir=top)
    daemon = DAEMONS[name](folder)
    faults = []
    try:
        daemon.start(variables(daemon, phase))
        daemon.use()
        daemon.stop()
        with open(daemon.at("calls"), encoding="utf-8") as file:
            sites = [line.split()[1:] for line in file]
        for (key, function, _, *errors), place in zip(sites, find_places(daemon, [site[2] for site in sites])):
            if function not in daemon.skipped:
                faults += [Fault(name, key, e, phase, function, errors, place) for e in range(len(errors))]
    finally:
        daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return faults


def main():
    names = [name for name in sys.argv[4:] or DAEMONS if CHOSEN in ("", "all") or CHOSEN.split(":")[0] == name]
    top = tempfile.mkdtemp(prefix="nomora-f-", dir="/tmp")
    print(f"1..{len(names)}\n# NOMORA_FAULTS_SEED={SEED}")
    try:
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("NOMORA_FAULTS_JOBS", "0")) or os.cpu_count()) as pool:
            for number, name in enumerate(names, 1):
                missing = [program for program in PROGRAMS.get(name, []) if not shutil.which(program)]
                if missing or (name in NEED_ROOT and os.getuid() != 0):
                    print(f"ok {number} - {name} # SKIP {'no ' + missing[0] if missing else 'needs root'}")
                    continue
                faults = [fault for phase in ("start", "ready") for fault in find_calls(top, name, phase)]
                chosen = faults
                if CHOSEN.count(":") == 3:
                    chosen = [fault for fault in faults if fault.name().endswith(CHOSEN)]
                elif ":@" in CHOSEN:
                    chosen = [fault for fault in faults if fault.place.split(".")[0] in CHOSEN.split(":@")[1].split(",")]
                elif ":" in CHOSEN:
                    chosen = [fault for fault in faults if fault.belongs_to(CHOSEN.split(":")[1])]
                elif not CHOSEN:
                    chosen = random.Random(SEED).sample(faults, min(FAULTS, len(faults)))
                    for place, _, phase in (found.partition(":") for found in DAEMONS[name].found):
                        chosen += [fault for fault in faults if fault.place.split(".")[0] == place and fault.phase == (phase or "start")
                                   and fault.function in FOUND_CALLS][:1]
                wrong, failed = "", 0
                for fault, (text, happened) in zip(chosen, pool.map(lambda fault: run_fault(top, fault), chosen)):
                    wrong = wrong or text or ""
                    failed += happened
                    if text:
                        print(f"# {fault.name()}: {text}".replace("\n", "\n# "), flush=True)
                print(f"{'not ok' if wrong or not failed else 'ok'} {number} - {name}: {failed} of {len(chosen)} faults happened; "
                      f"it has {len(faults)}{wrong and '; first: ' + wrong.splitlines()[0].replace('#', '')}", flush=True)
    finally:
        Cluster.end_all()
        shutil.rmtree(top, ignore_errors=True)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recover_live.py BIN DIR LAB CURVES SEEDS KIND...: a host of the lab fails while jobs transfer; of three seeds, at one a second host fails
with it, and at one a second host up to 3 s later. For each seed, the same in up to four ways:
measured  nomora schedd --network, and nomora local-agent --flows
stated    nomora schedd --network: the flows are those stated in the jobs
policy    no --network: the lost tasks are placed by the policy
requeue   as policy, and each job that lost a task begins again, as with Slurm's --requeue
Nothing limits the flows, so TCP shares the links. Prints a line of JSON per run, with the seconds from the (last) failure to the
start of the last task that was lost, and to the end of the slowest job that was running at the first failure."""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

BIN, DIR, LAB, CURVES, SEEDS = sys.argv[1:6]
KINDS = sys.argv[6:]
HOSTS, SLOTS, JOBS, TASKS, MBPS, FAIL_S = 8, 4, 4, 6, 10, 6
ENV = {**os.environ, "NOMORA_SCHEDD": DIR + "/s"}
HERE = os.path.dirname(os.path.abspath(__file__))


def nomora(*arguments, text=None, check=True):
    return subprocess.run([BIN + "/nomora", *arguments], input=text, env=ENV, capture_output=True, text=True, check=check).stdout


def wait(condition, what, limit_s=90):
    until = time.time() + limit_s
    while not condition():
        if time.time() > until:
            raise TimeoutError(what)
        time.sleep(0.05)


class World:
    def __init__(self, kind, seed):
        self.kind, self.random = kind, random.Random(seed)
        self.folder, self.down, self.processes = f"{DIR}/{kind}{seed}", set(), []
        os.makedirs(self.folder + "/down")
        self.make_jobs()
        with open(self.folder + "/network.json", "w") as file:
            json.dump({"schema": "nomora.recovery/1", "applications": [], "servers": [
                {"name": f"h{h}", "cpu": SLOTS, "egress_MBps": MBPS, "ingress_MBps": MBPS} for h in range(1, HOSTS + 1)]}, file)
        network = ["--network", self.folder + "/network.json"] if kind in ("measured", "stated") else []
        self.start("schedd", [BIN + "/nomora-schedd", "schedd", "--state", self.folder + "/state", "--socket", DIR + "/s", "--curves", CURVES,
                              "--policy", "load_spreading", *network])
        wait(lambda: subprocess.run([BIN + "/nomora", "jobs"], env=ENV, capture_output=True).returncode == 0, "schedd")
        self.start_agent()

    def make_jobs(self):
        """Half of a job's tasks send to the other half."""
        self.jobs, self.pauses = {}, []
        for j in range(JOBS):
            edges = [[f"t{a}", f"t{b}", 1, self.random.randint(4, 40), 0] for a in range(TASKS // 2) for b in range(TASKS // 2, TASKS)]
            self.jobs[f"j{j}"] = {"id": f"j{j}", "curve": "spark", "root": "t0", "tasks": [f"t{t}" for t in range(TASKS)], "graph": edges,
                                  "command": ["python3", HERE + "/recover_live_worker.py", self.folder]}
            with open(f"{self.folder}/j{j}.json", "w") as file:
                json.dump({"flows": [[a, b, MB] for a, b, _, MB, _ in edges]}, file)
            self.pauses.append(self.random.random())
        self.victims = self.random.sample(range(HOSTS), HOSTS)
        self.between_s = [None, 0, 3 * self.random.random()][seed % 3]

    def start(self, name, argv):
        with open(f"{self.folder}/{name}.log", "a") as log:
            self.processes.append(subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        return self.processes[-1]

    def start_agent(self):
        with open(self.folder + "/machines", "w") as file:
            for h in range(1, HOSTS + 1):
                print(json.dumps({"name": f"h{h}", "slots": SLOTS, "ssh": f"h{h}", "state": "down" if f"h{h}" in self.down else "up"}), file=file)
        self.agent = self.start("agent", [BIN + "/nomora", "local-agent", "--machines", self.folder + "/machines", "--state", self.folder + "/a",
                                          "--ssh-config", DIR + "/ssh-config", "--poll", "1", "--grace", "0",
                                          *(["--flows"] if self.kind == "measured" else [])])

    def hosts_up(self):
        return sum(m["state"] == "up" for m in json.loads(nomora("nodes", "--json"))["machines"])

    def tasks(self):
        answer = json.loads(nomora("jobs", "--json"))
        return {(j["id"], t["name"]): t for j in answer["jobs"] for t in json.loads(nomora("jobs", j["id"], "--json", check=False) or '{"tasks": []}')["tasks"]}

    def submit(self, job):
        wait(lambda: subprocess.run([BIN + "/nomora", "submit", "-"], input=json.dumps(self.jobs[job]), env=ENV, capture_output=True,
                                    text=True).returncode == 0, "submit")

    def end_runs(self, host):
        for path in glob.glob(f"{self.folder}/a/{host}/runs/*/pid"):
            session = open(path).read().split()[0]
            try:
                os.killpg(int(session), signal.SIGKILL) if session != "0" else None
            except ProcessLookupError:
                pass

    def fail(self, *hosts):
        """The hosts lose their links and their processes, and nobody can log in. Their state is set as an operator would."""
        for host in hosts:
            open(f"{DIR}/down/{host}", "w").close()
            subprocess.run(["ip", "-n", f"{LAB}-sw", "link", "set", host, "down"], check=True)
            self.end_runs(host)
            subprocess.run(["ssh", "-F", DIR + "/ssh-config", "-o", f"ControlPath={self.folder}/a/ssh-%C", "-O", "exit", host], capture_output=True)
            self.down.add(host)
        self.agent.terminate()
        self.agent.wait()
        self.start_agent()

    def ends(self):
        """Time at which the last flow of each job arrived."""
        return {job: max((float(open(path).read().split()[2]) for path in glob.glob(f"{self.folder}/done.{job}.*.*")), default=0)
                for job in self.jobs}

    def alive(self):
        return {j["id"] for j in json.loads(nomora("jobs", "--json"))["jobs"]}

    def lose(self, hosts, alive):
        """Fails the hosts. Returns the names of the tasks that were on them."""
        lost = {name for name, task in self.tasks().items() if task["machine"] in hosts}
        self.fail(*hosts)
        for job in sorted({job for job, _ in lost} & alive if self.kind == "requeue" else []):
            nomora("jobs", job, "--cancel", check=False)
            self.submit(job)
        return lost

    def run(self):
        wait(lambda: self.hosts_up() == HOSTS, "all hosts answer")
        for job in self.jobs:
            self.submit(job)
            wait(lambda: all(os.path.exists(f"{self.folder}/at.{job}.t{t}") for t in range(TASKS)), "the tasks of " + job)
        wait(lambda: all(t["state"] == "running" for t in self.tasks().values()), "all tasks run")
        where = {f"{j}.{t}": task["machine"] for (j, t), task in self.tasks().items()}
        victims = [f"h{v + 1}" for v in self.victims if f"h{v + 1}" in where.values()][:1 if self.between_s is None else 2]
        begun_s = time.time()
        for job, pause in zip(self.jobs, self.pauses):
            time.sleep(pause)
            open(f"{self.folder}/go.{job}", "w").close()
        time.sleep(max(0, begun_s + FAIL_S - time.time()))
        failed_s = time.time()
        alive = {job for job in self.jobs if not os.path.exists(f"{self.folder}/end.{job}")}
        lost = self.lose(victims if self.between_s == 0 else victims[:1], alive)
        if self.between_s:
            time.sleep(self.between_s)
            failed_s = time.time()
            lost |= self.lose(victims[1:], alive)
        wait(lambda: not self.alive(), "the jobs end", 300)
        recovery = {}
        if self.kind in ("measured", "stated"):
            recovery = json.loads(subprocess.run(["curl", "-s", "--unix-socket", DIR + "/s", "http://localhost/v1/recovery"], capture_output=True,
                                                 text=True).stdout or "{}")
        ends = self.ends()
        started_s = max(float(open(f"{self.folder}/at.{job}.{task}").read().split()[0].split(".")[1]) / 1e9 for job, task in lost)
        return {"kind": self.kind, "hosts": victims, "between_s": self.between_s, "lost": len(lost), "started_s": round(started_s - failed_s, 2), "slowest_s": round(max(ends[j] for j in alive) - failed_s, 2),
                "jobs_s": {j: round(ends[j] - failed_s, 2) for j in sorted(alive)},
                "predicted_s": recovery.get("slowest_s"), "flows": recovery.get("flows"), "measured": recovery.get("measured"),
                "solve_ms": recovery.get("solve_ms"), "placement": hash(json.dumps(where, sort_keys=True)) % 10**6}

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        for h in range(1, HOSTS + 1):
            self.end_runs(f"h{h}")
            subprocess.run(["ssh", "-F", DIR + "/ssh-config", "-o", f"ControlPath={self.folder}/a/ssh-%C", "-O", "exit", f"h{h}"], capture_output=True)
        for host in self.down:
            os.unlink(f"{DIR}/down/{host}")
            subprocess.run(["ip", "-n", f"{LAB}-sw", "link", "set", host, "up"], check=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
for seed in range(1, int(SEEDS) + 1):
    for kind in KINDS:
        world = World(kind, seed)
        try:
            print(json.dumps({"seed": seed, **world.run()}), flush=True)
        except TimeoutError as err:
            print(json.dumps({"seed": seed, "kind": kind, "failed": str(err)}), flush=True)
        finally:
            world.close()

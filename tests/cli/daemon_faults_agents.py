# SPDX-License-Identifier: BSD-3-Clause
"""The agents, for daemon_faults.py: that of the mesh between two network namespaces, and Slurm's with a real slurmctld."""
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import time

from daemon_faults_base import BIN, LIMIT_S, SOURCE, WITH_US, Daemon, Mesh, Unix, Wrong, exchange, nomora, wait_until


def run(*command, **variables):
    """Runs a command; returns its output, or None if it fails."""
    ended = subprocess.run(command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False, timeout=LIMIT_S)
    return ended.stdout.strip() if ended.returncode == 0 else None


def need(*command):
    if run(*command) is None:
        raise Wrong(f"failed: {' '.join(command)}")


class MeshAgent(Mesh):
    """Measures a peer that answers, finds one that does not, follows the file of peers and writes a history."""

    program = "nomora-probe"
    skipped = ("pthread_create",)  # DPDK aborts
    found = ("open_for_reading:ready",)

    def prepare(self):
        self.helpers = []
        self.hosts = [self.namespace(), self.namespace()]
        need("ip", "link", "add", "eth0", "netns", str(self.hosts[0]), "type", "veth", "peer", "name", "eth0", "netns", str(self.hosts[1]))
        for number, host in enumerate(self.hosts, 1):
            inside = ["nsenter", f"--net=/proc/{host}/ns/net", "ip"]
            need(*inside, "address", "add", f"10.0.0.{number}/24", "dev", "eth0")
            need(*inside, "link", "set", "eth0", "up")
        self.within = ["nsenter", f"--net=/proc/{self.hosts[0]}/ns/net"]
        self.peers("h1 10.0.0.1", "h2 10.0.0.2")
        self.helper("nsenter", f"--net=/proc/{self.hosts[1]}/ns/net", os.path.join(BIN, self.program), "reflect", "eth0",
                    "--address", "10.0.0.2", "--quiet")

    def helper(self, *command):
        self.helpers.append(subprocess.Popen([*WITH_US, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.helpers[-1].pid

    def namespace(self):
        """Returns the number of a process in a network namespace of its own."""
        process, own = self.helper("unshare", "--net", "sleep", "infinity"), os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{process}/ns/net") != own, "a network namespace is made")
        return process

    def peers(self, *lines):
        with open(self.at("new"), "w", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
        os.rename(self.at("new"), self.at("peers"))

    def arguments(self):
        return ["agent", "eth0", "--address", "10.0.0.1", "--peers", "peers", "--live", "live", "--window", "0.2",
                "--interval-us", "5000", "--timeout-ms", "100", "--hosts", "8", "--pairs", "64", "--history", "history.db",
                "--history-every", "0.1", "--stamps",
                "tsc" if self.failing == "clock_gettime" else "auto"]  # the kernel's stamps would not step with the clock

    def start(self, variables):
        self.before = len(self.messages()) if os.path.exists(self.at("messages")) else 0
        super().start(variables)

    def is_ready(self):
        return any("measures the peers" in line for line in self.messages()[self.before:])

    def pair(self, peer):
        text = nomora("mesh", "export", self.at("live"), "--json")
        return next((pair for pair in json.loads(text or '{"pairs": []}')["pairs"] if (pair["src"], pair["dst"]) == ("h1", peer)), {})

    def updated(self):
        """The time of h2's row if it answers; else None."""
        pair = self.pair("h2")
        if pair.get("state") != "measured":
            return None
        if not 0 < pair["rtt_p50_us"] <= pair["rtt_p99_us"] <= pair["rtt_max_us"]:
            raise Wrong(f"a wrong row: {pair}")
        return pair["updated_at"]

    def measure_again(self, what, within_s=float("inf")):
        """Waits for two further windows of h2; the last must be this near to the present."""
        for _ in range(2):
            old = self.updated()
            wait_until(lambda old=old: self.updated() not in (None, old), what, self)
        wait_until(lambda: abs((self.updated() or 0) - time.time()) < within_s, f"{what} now", self)

    def is_left(self):
        """h3's row does not change while h2's does."""
        old = self.pair("h3").get("updated_at")
        self.measure_again("the peer is still measured")
        return self.pair("h3").get("updated_at") == old

    def use(self):
        self.measure_again("the peer is measured")
        self.peers("h1 10.0.0.1", "h2 10.0.0.2", "h3 10.0.0.3")
        wait_until(lambda: self.pair("h3").get("state") == "unreachable", "a peer that does not answer is unreachable", self)
        self.peers("h1 10.0.0.1", "h2 10.0.0.2")
        wait_until(self.is_left, "a peer that was removed is not measured", self)
        wait_until(lambda: "measured" in (nomora("mesh", "history", self.at("history.db"), "--last", "0", "h1", "h2") or ""),
                   "the rows are in the history", self)

    def check(self):
        self.measure_again("the peer is measured after the next start", 30)

    def clean(self):
        for helper in self.helpers:
            helper.kill()
            helper.wait()


class Cluster:
    """slurmctld and two slurmd in namespaces of their own, which end with this process. Agents use it one after the other."""

    free, all = queue.Queue(), []
    nodes = {"h1": "rack1", "h2": "rack2"}
    script = """
ip link set lo up
ip link add bridge type bridge # glibc resolves addresses only if there is one besides the loopback's
ip address add 10.99.0.1/24 dev bridge
ip link set bridge up
hostname controller
cd "$1" || exit
(umask 077 && head -c 128 /dev/urandom >munge.key)
munged --force --key-file="$1/munge.key" --socket="$1/munge.sock" --pid-file="$1/munged.pid" --log-file="$1/munged.log" \
    --seed-file="$1/munge.seed" --origin=127.0.0.1
slurmctld -c -f slurm.conf
slurmd -N h1 -f slurm.conf
slurmd -N h2 -f slurm.conf
exec sleep infinity
"""

    def __init__(self):
        self.folder, self.child = tempfile.mkdtemp(prefix="nomora-fs-", dir="/tmp"), None
        Cluster.all.append(self)
        self.socket = self.at("agent.sock")
        for name in ("state", "plugins", "spool"):
            os.mkdir(self.at(name))
        shutil.copy(os.path.join(BIN, "..", "integrations", "slurm", "job_submit_nomora.so"), self.at("plugins"))
        self.write_settings()
        environment = {**os.environ, "NOMORA_SLURM_SOCKET": self.socket}
        with open(self.at("log"), "wb") as log:
            self.process = subprocess.Popen([*WITH_US, "unshare", "--net", "--uts", "--pid", "--fork", "--kill-child", "bash", "-c", self.script,
                                             "cluster", self.folder], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.is_idle, "the nodes are idle")

    def at(self, name):
        return os.path.join(self.folder, name)

    def write_settings(self):
        plugins = os.path.dirname(next(os.path.join(top, "select_cons_tres.so") for place in ("/usr/lib", "/usr/local/lib")
                                       for top, _, names in os.walk(place) if "select_cons_tres.so" in names))
        with open(self.at("topology.conf"), "w", encoding="utf-8") as file:
            for node, rack in Cluster.nodes.items():
                print(f"SwitchName={rack} Nodes={node}", file=file)
            print("SwitchName=core Switches=rack[1-2]", file=file)
        with open(self.at("slurm.conf"), "w", encoding="utf-8") as file:
            print(f"""ClusterName=nomora
SlurmctldHost=controller(10.99.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
TopologyPlugin=topology/tree
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=300
KillWait=1
MinJobAge=10
JobSubmitPlugins=nomora
PluginDir={self.folder}/plugins:{plugins}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP""", file=file)
            for number, node in enumerate(Cluster.nodes, 1):
                print(f"NodeName={node} NodeAddr=10.99.0.1 Port=700{number} CPUs=2 RealMemory=100", file=file)

    def within(self):
        self.child = self.child or run("pgrep", "-P", str(self.process.pid))
        return ["nsenter", f"--net=/proc/{self.child}/ns/net", f"--uts=/proc/{self.child}/ns/uts"] if self.child else None

    def ask(self, *command):
        within = self.within()
        return run(*within, *command, SLURM_CONF=self.at("slurm.conf")) if within else None

    def is_idle(self):
        return len(set((self.ask("sinfo", "-h", "-N", "-t", "idle", "-o", "%N") or "").split())) == len(Cluster.nodes)

    def job(self, number):
        """The fields of a job."""
        line = self.ask("scontrol", "-o", "show", "job", number) or ""
        mark = re.search(r" AdminComment=nomora:(.*?) +(Comment|StdErr)=", line)
        return {**dict(word.split("=", 1) for word in line.split() if "=" in word), "mark": mark.group(1) if mark else ""}

    @staticmethod
    def take():
        try:
            return Cluster.free.get_nowait()
        except queue.Empty:
            return Cluster()

    def give_back(self):
        self.ask("scancel", "--user=root", "--signal=KILL", "--full")
        self.ask("scancel", "--user=root")
        for node in Cluster.nodes:
            self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        wait_until(self.is_idle, "the nodes are idle again")
        Cluster.free.put(self)

    @staticmethod
    def end_all():
        for cluster in Cluster.all:
            cluster.process.kill()
            cluster.process.wait()
            shutil.rmtree(cluster.folder, ignore_errors=True)


class SlurmAgent(Daemon):
    """A job that runs, one that ends, a drained node; then a restart, and the end of the job."""

    program = "nomora-slurm"
    found = ("executor_turn", "job_json", "process_start", "slurm_mark_parse", "slurm_mark_placed", "slurm_request_parse", "slurm_view_rack",
             "take_hosts")

    def prepare(self):
        self.schedd, self.mark, self.cluster = None, None, Cluster.take()
        self.within = self.cluster.within()
        with open(self.at("mesh.csv"), "w", encoding="utf-8") as file:
            print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=file)
            print("h1,h2,40,40,40,0,100", int(time.time()), sep=",", file=file)
        with open(self.at("schedd.log"), "wb") as log:
            self.schedd = subprocess.Popen([*WITH_US, os.path.join(BIN, "nomora-schedd"), "schedd", "--state", self.at("state"), "--socket",
                                            self.at("s"), "--curves", os.path.join(SOURCE, "curves"), "--latency", self.at("mesh.csv"),
                                            "--max-age", "0", "--retry", "0.05", "--round-ms", "10"],
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self.ask("jobs"), "schedd is ready")

    def ask(self, page):
        status, text = exchange(Unix(self.at("s")), "GET", f"/v1/{page}")
        return json.loads(text) if status == 200 else None

    def arguments(self):
        return ["slurm-agent", "--schedd", self.at("s"), "--socket", self.cluster.socket, "--poll", "0.05", "--migrate", "on",
                "--review", "0.2"]

    def start(self, variables):
        super().start({**variables, "SLURM_CONF": self.cluster.at("slurm.conf")})

    def is_ready(self):
        return os.path.exists(self.cluster.socket) and self.has_nodes({node: "up" for node in Cluster.nodes})

    def has_nodes(self, states):
        machines = (self.ask("machines") or {"machines": []})["machines"]
        return {m["name"]: (m["rack"], m["state"]) for m in machines} == {node: (Cluster.nodes[node], state) for node, state in states.items()}

    def submit(self, tasks, seconds):
        number = self.cluster.ask("sbatch", "--parsable", "-n", str(tasks), "-o", "/dev/null", "--comment=nomora:curve=memcached",
                                  "--wrap", f"exec sleep {seconds}")
        if not number:
            raise Wrong("sbatch fails")
        return number

    def agrees(self, number):
        """schedd has the job running on the nodes in its mark, which are those of Slurm."""
        job = self.cluster.job(number)
        words = job["mark"].split()
        if job.get("JobState") != "RUNNING" or len(words) != 2 or not words[0].startswith("slurm-"):
            return False
        machines = []
        for part in words[1].split(","):
            name, _, count = part.partition("*")
            machines += [name] * int(count or 1)
        if len(set(machines)) != int(job["NumNodes"]) or len(machines) != int(job["NumCPUs"]):
            raise Wrong(f"the mark is not Slurm's allocation: {job}")
        tasks = (self.ask(f"jobs/{words[0]}") or {"tasks": []})["tasks"]
        self.mark = words[0]
        return [task["machine"] for task in tasks if task["state"] == "running"] == machines

    def jobs(self):
        return [job["id"] for job in (self.ask("jobs") or {"jobs": [{"id": "unknown"}]})["jobs"]]

    def use(self):
        if not getattr(self, "long", None):
            self.long = self.submit(3, 600)
        wait_until(lambda: self.agrees(self.long), "the job runs, and schedd agrees", self)
        mark = self.mark
        self.process.send_signal(signal.SIGPIPE)  # as from a write to slurmctld or munged that has gone
        other = self.submit(1, 0.2)
        wait_until(lambda: self.cluster.job(other).get("JobState") == "COMPLETED", "a short job ends", self)
        wait_until(lambda: self.jobs() == [mark], "schedd has only the long job", self)
        for command, state in (("DRAIN", "draining"), ("RESUME", "up")):
            self.cluster.ask("scontrol", "update", "NodeName=h2", f"State={command}", "Reason=test")
            wait_until(lambda state=state: self.has_nodes({"h1": "up", "h2": state}), f"schedd has h2 {state}", self)
        self.agreed = mark

    def check(self):
        wait_until(lambda: self.agrees(self.long), "the job still runs, and schedd agrees", self)
        if self.mark != self.agreed:
            raise Wrong(f"the job was {self.agreed}, and is {self.mark}")
        self.cluster.ask("scancel", self.long)
        wait_until(lambda: not self.jobs(), "the job is cancelled, and gone from schedd", self)

    def after(self):
        """What the agent told schedd: the long job never left, and no node did."""
        self.schedd.terminate()
        self.schedd.wait(LIMIT_S)
        lines = [json.loads(line) for line in (nomora("schedd", "export", "--state", self.at("state")) or "").splitlines()[1:]]
        bad = [line for line in lines if line["event"] == "machine" and line["state"] == "removed"]
        states = [line["state"] for line in lines if line["event"] == "task" and line["job"] == self.agreed and line["task"] == "t0"]
        if bad or states.count("running") != 1:
            raise Wrong(f"removed: {bad}; states of the long job: {states}")

    def clean(self):
        if self.schedd:
            self.schedd.kill()
            self.schedd.wait()
        self.cluster.give_back()

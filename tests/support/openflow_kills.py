#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""openflow_kills.py NOMORA FOLDER NET.json KILLS SEED SWITCHES PREFIX JOB.json...

Updates of OpenFlow switches that are killed half done. Stands between the controller and the switches, with sockets in FOLDER:
after a random number of changes of flows it passes no more on, and kills the controller. Then packets between the hosts of
the plan's routes must arrive. The next job is the next update.

SWITCHES is the folder of Open vSwitch's sockets; hosts are the namespaces PREFIX-NAME and ping each other. Without one ('')
the switches are tables in here, and packets are walked through them."""
import json, os, random, select, signal, socket, struct, subprocess, sys

nomora, folder, net, kills, seed, switches, prefix = sys.argv[1:8]
jobs, kills, net = sys.argv[8:], int(kills), json.load(open(net))["topology"]
draw = random.Random(int(seed))
names, hosts = [s["name"] for s in net["switches"]], [h["name"] for h in net["hosts"]]
tables = {name: {} for name in names}  # (from, to, ARP): (cookie, port)
HELLO, FEATURES, FLOW_MOD, BARRIER, DELETE = 0, 5, 14, 20, 3
LAST_XID = 0xFFFFFFFF  # of no controller's message


class Switch:
    """One connection of the controller's, and for Open vSwitch the one behind it."""

    def __init__(self, name, link):
        self.name, self.link, self.bytes, self.behind = name, link, b"", None
        if switches:
            self.behind = socket.socket(socket.AF_UNIX)
            self.behind.connect(f"{switches}/{name}.mgmt")
        else:
            link.sendall(struct.pack("!BBHI", 4, HELLO, 8, 1))

    def messages(self):
        data = self.link.recv(65536)
        self.bytes += data
        while len(self.bytes) >= 8 and len(self.bytes) >= (length := struct.unpack("!H", self.bytes[2:4])[0]):
            yield self.bytes[:length]
            self.bytes = self.bytes[length:]

    def take(self, message):
        kind, xid = message[1], struct.unpack("!I", message[4:8])[0]
        if self.behind:
            self.behind.sendall(message)
        elif kind == FEATURES:
            self.link.sendall(struct.pack("!BBHIQIBB2xII", 4, 6, 32, xid, names.index(self.name), 0, 254, 0, 79, 0))
        elif kind == BARRIER:
            self.link.sendall(struct.pack("!BBHI", 4, 21, 8, xid))
        elif kind == FLOW_MOD:
            self.change(message)

    def change(self, message):
        cookie, mask = struct.unpack("!QQ", message[8:24])
        table = tables[self.name]
        if message[25] == DELETE:
            for match in [match for match, flow in table.items() if flow[0] & mask == cookie & mask]:
                del table[match]
        else:
            match = message[65], message[73], message[56:58] == b"\x08\x06"
            table[match] = cookie, struct.unpack("!I", message[92:96])[0]

    def close(self):
        """Waits until the switch has done all that was passed on."""
        if self.behind:
            self.behind.sendall(struct.pack("!BBHI", 4, BARRIER, 8, LAST_XID))
            answers = b""
            while struct.pack("!BBHI", 4, 21, 8, LAST_XID) not in answers:
                answers += self.behind.recv(65536)
            self.behind.close()
        self.link.close()


def listen():
    listeners = {}
    for name in names:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/{name}.mgmt")
        listener.listen()
        listeners[listener] = name
    return listeners


def update(listeners, job, most):
    """Passes messages on until `most` flow-mods have passed. Returns their number, and whether the controller was killed."""
    command = [nomora, "dataflow", "openflow", folder, "--timeout-ms", "60000", job]
    controller = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    connections, changes = [], 0
    while changes < most and controller.poll() is None:
        sockets = {c.link: c for c in connections} | {c.behind: c for c in connections if c.behind}
        for ready in select.select([*listeners, *sockets], [], [], 0.05)[0]:
            if ready in listeners:
                connections.append(Switch(listeners[ready], ready.accept()[0]))
            elif ready == sockets[ready].behind:
                sockets[ready].link.sendall(ready.recv(65536))
            else:
                for message in sockets[ready].messages():
                    if changes < most:
                        sockets[ready].take(message)
                        changes += message[1] == FLOW_MOD
    killed = controller.poll() is None
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    for connection in connections:
        connection.close()
    return changes, killed


def arrives(a, b, arp):
    links, at = net["links"], None
    for link in links:
        if hosts[a] in (link["a"], link["b"]):
            at = link["b"] if link["a"] == hosts[a] else link["a"]
    for _ in names:
        flow = tables[at].get((a + 1, b + 1, arp))
        if not flow or at not in (links[flow[1] - 1]["a"], links[flow[1] - 1]["b"]):
            return False
        link = links[flow[1] - 1]
        at = link["b"] if link["a"] == at else link["a"]
        if at == hosts[b]:
            return True
    return False


def exchange(a, b):
    if not switches:
        return all(arrives(*pair, arp) for pair in ((a, b), (b, a)) for arp in (False, True))
    ping = ["ip", "netns", "exec", f"{prefix}-{hosts[a]}", "ping", "-q", "-c", "1", "-W", "10", f"10.0.0.{b + 1}"]
    return subprocess.run(ping, stdout=subprocess.DEVNULL).returncode == 0


plan = json.loads(subprocess.check_output([nomora, "dataflow", "plan", "--json", "--random-runs", "0", jobs[0]]))
pairs = sorted({(hosts.index(r["from"]), hosts.index(r["to"])) for r in plan["routes"]})
listeners = listen()
update(listeners, jobs[0], sys.maxsize)
flows = 4 * sum(len(r["links"]) - 1 for r in plan["routes"])  # IPv4 and ARP, both directions
half_done = lost = 0
for i in range(kills):
    # From the first flow of the update to half of the deletions of the old flows
    changes, killed = update(listeners, jobs[(i + 1) % len(jobs)], draw.randint(1, flows + 8 * len(names)))
    half_done += killed
    for a, b in pairs:
        if not exchange(a, b):
            lost += 1
            print(f"# after {changes} changes of update {i}: {hosts[a]} and {hosts[b]} exchange nothing")
print(f"# {half_done} of {kills} updates killed half done, {lost} of {kills * len(pairs)} pairs of hosts without a way")
sys.exit(half_done != kills or lost > 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mesh_kills.py NOMORA FOLDER KILLS SEED: SIGKILL of the writer of a live matrix, of publisher, collector and NATS server at
random moments. After each, both matrices are whole (no torn value, no row older than before), and at the end rows arrive again."""
import glob, json, os, random, signal, subprocess, sys, threading, time

NOMORA, FOLDER, KILLS, SEED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
WRITTEN, COLLECTED = FOLDER + "/a", FOLDER + "/b"
PORTS = FOLDER + "/ports"
HOSTS = ["h%d" % i for i in range(1, 7)]
EPOCH = 1700000000
log = open(FOLDER + "/log", "ab")
processes = {}
port = None


def spawn(name, *command):
    processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def end(name):
    processes[name].kill()
    processes[name].wait()


def wait_for(condition, what):
    end_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end_at, "timed out: " + what
        time.sleep(0.02)


class Writer(threading.Thread):
    """Writes number after number: in every row p99 is twice p50 and max three times p50, and the time is of the same number."""

    def __init__(self):
        super().__init__(daemon=True)
        self.written, self.stopped = 0, False

    def run(self):
        number = 0
        while not self.stopped:
            number += 1
            with open(FOLDER + "/rows.csv", "w") as rows:
                print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=rows)
                for i in HOSTS:
                    for j in HOSTS:
                        print(i, j, number, 2 * number, 3 * number, 0, 10, EPOCH + number, sep=",", file=rows)
            spawn("writer", NOMORA, "mesh", "merge", rows.name, "--live", WRITTEN)
            if processes["writer"].wait() == 0:
                self.written = number


def start_server():
    for old in glob.glob(PORTS + "/*"):
        os.unlink(old)
    spawn("server", "nats-server", "-a", "127.0.0.1", "-p", str(port or -1), "--ports_file_dir", PORTS)


def listens():
    global port
    if processes["server"].poll() is not None:
        start_server()  # its port was taken
    for name in glob.glob(PORTS + "/*.ports"):
        try:
            port = int(json.load(open(name))["nats"][0].rsplit(":", 1)[1])
            return True
        except (ValueError, OSError):
            pass  # half written
    return False


def start(name):
    url = "nats://127.0.0.1:%s" % port
    if name == "server":
        start_server()
        wait_for(listens, "the NATS server listens")
    elif name == "publisher":
        spawn(name, NOMORA, "mesh", "publish", WRITTEN, "--server", url, "--interval", "0.01", "--all-every", "0.5")
    elif name == "collector":
        spawn(name, NOMORA, "mesh", "collect", COLLECTED, "--server", url, "--hosts", "64", "--pairs", "64")


def pairs(live):
    return json.loads(subprocess.run([NOMORA, "mesh", "export", live, "--json"], check=True, capture_output=True).stdout)["pairs"]


def check_whole(live, before):
    for pair in pairs(live):
        number, name = pair["rtt_p50_us"], pair["src"] + " " + pair["dst"]
        if pair["state"] == "never":
            continue  # its writer died while writing it
        whole = (2 * number, 3 * number, EPOCH + number)
        assert (pair["rtt_p99_us"], pair["rtt_max_us"], pair["updated_at"]) == whole, "torn: %s" % pair
        assert pair["updated_at"] >= before.get(name, 0), "older: %s, was %s" % (pair, before[name])
        before[name] = pair["updated_at"]


def arrives(since):
    return os.path.exists(COLLECTED) and max((pair["rtt_p50_us"] or 0 for pair in pairs(COLLECTED)), default=0) > since


def recover(writer, what):
    since = writer.written
    wait_for(lambda: arrives(since), what)


os.makedirs(PORTS)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
generator = random.Random(SEED)
writer, before = Writer(), {WRITTEN: {}, COLLECTED: {}}
try:
    start("server")
    writer.start()
    wait_for(lambda: writer.written, "rows are written")
    start("collector")
    start("publisher")
    recover(writer, "rows arrive")
    killed = dict.fromkeys(["writer", "server", "publisher", "collector"], 0)
    for _ in range(KILLS):
        part = generator.choice(list(killed))
        time.sleep(generator.uniform(0.05, 0.25))
        end(part)
        killed[part] += 1
        for live in before:
            check_whole(live, before[live])
        start(part)
    recover(writer, "rows arrive again")
    check_whole(COLLECTED, before[COLLECTED])
    print("%d kills: %s; %d numbers written" % (KILLS, killed, writer.written))
finally:
    writer.stopped = True
    if writer.is_alive():
        writer.join()
    for name in list(processes):
        end(name)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# TCP between two hosts with the default offloads of veth, measured by iperf3, in turns through a Linux bridge and through the injector at
# D = 0 and at D = 100 us: one JSON line for each. Needs root. Arguments: the folder of the programs, seconds per figure
# (3), rounds (3).
import json, os, shutil, statistics, subprocess, sys, time

bin = sys.argv[1]
seconds, rounds = (sys.argv[2:] or ["3"])[0], int((sys.argv[3:] or [3])[0])
if not shutil.which("iperf3"):
    print("iperf3 is not installed", file=sys.stderr)
    sys.exit(77)
names = {n: f"nomora-tcp-{os.getpid()}-{n}" for n in ("a", "b", "mid")}


def ip(*arguments):
    subprocess.run(("ip",) + arguments, check=True)


def bridge():
    ip("-n", names["mid"], "link", "add", "br0", "type", "bridge")
    for n in "ab":
        ip("-n", names["mid"], "link", "set", "inj-" + n, "master", "br0")
    ip("-n", names["mid"], "link", "set", "br0", "up")
    return lambda: ip("-n", names["mid"], "link", "del", "br0")


def injector(delay_us):
    process = subprocess.Popen(["ip", "netns", "exec", names["mid"], bin + "/nomora", "inject", "inj-a", "inj-b", "--delay-us",
                                str(delay_us), "--nice", "0"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end():
        process.terminate()
        process.wait(30)

    return end


def iperf():
    server = subprocess.Popen(["ip", "netns", "exec", names["b"], "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    answer = {}
    for _ in range(30):  # until the path and the server are there
        out = subprocess.run(["ip", "netns", "exec", names["a"], "iperf3", "-c", "10.77.0.2", "-t", seconds, "-J"],
                             capture_output=True, text=True).stdout
        answer = json.loads(out or "{}")
        if "sum_received" in answer.get("end", {}):
            break
        time.sleep(0.5)
    server.terminate()
    server.wait()
    return answer["end"]["sum_received"]["bits_per_second"] / 1e9, answer["end"]["sum_sent"]["retransmits"]


forwarders = {"bridge": bridge, "injector": lambda: injector(0), "injector, 100 us": lambda: injector(100)}
figures = {name: [] for name in forwarders}
try:
    for name in names.values():
        ip("netns", "add", name)
        subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                        "net.ipv6.conf.default.disable_ipv6=1"])
    for host, n in enumerate("ab", 1):
        ip("-n", names[n], "link", "add", "app0", "type", "veth", "peer", "name", "inj-" + n, "netns", names["mid"])
        ip("-n", names[n], "addr", "add", f"10.77.0.{host}/24", "dev", "app0")
        ip("-n", names[n], "link", "set", "app0", "up")
        ip("-n", names["mid"], "link", "set", "inj-" + n, "up")
    for _ in range(rounds):
        for name, begin in forwarders.items():
            end = begin()
            figures[name].append(iperf())
            end()
    for name, runs in figures.items():
        print(json.dumps({"schema": "nomora.benchmark/1", "benchmark": "injector_tcp", "forwarder": name,
                          "Gbps_median": round(statistics.median(r[0] for r in runs), 3),
                          "Gbps_best": round(max(r[0] for r in runs), 3), "retransmits": sum(r[1] for r in runs),
                          "over_bridge_median": round(statistics.median(r[0] / b[0] for r, b in zip(runs, figures["bridge"])), 3)}))
finally:
    for name in names.values():
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

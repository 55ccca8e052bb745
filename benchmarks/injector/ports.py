#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Forwarders between two veth interfaces, in turns: the injector at D = 0 with af_packet and with af_xdp, and
# a plain forwarding loop (forward.c) with DPDK's own net_af_packet. One JSON line per forwarder: frames of 60 bytes per second that arrive
# while a sender transmits as fast as it can, and the one-way time at 1000 frames per second, from the sender's clock
# reading before send() to the kernel's receive timestamp. The last three figures are medians of the ratio to af_packet
# in the same round. Needs root. Arguments: the folder of the programs,
# bench_injector_forward, seconds per figure (2), rounds (3).
import ctypes, json, os, socket, statistics, struct, subprocess, sys, tempfile, time

bin, loop = sys.argv[1:3]
seconds, rounds = float((sys.argv[3:] or [2])[0]), int((sys.argv[4:] or [3])[0])
prefix = f"nomora-bench-{os.getpid()}"
names = [f"{prefix}-{n}" for n in ("a", "b", "mid")]
frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x88\xb5".ljust(60, b"x")
scratch = tempfile.mkdtemp()
libc = ctypes.CDLL(None, use_errno=True)


def ip(*arguments):
    subprocess.run(("ip",) + arguments, check=True)


def packet_socket(namespace, protocol):
    with open("/var/run/netns/" + namespace) as file:
        if libc.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), namespace)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind(("app0", protocol))
    return s


def arrived():  # frames that app0 in b has received
    text = subprocess.run(["ip", "-n", names[1], "-j", "-s", "link", "show", "app0"], capture_output=True).stdout
    return json.loads(text)[0]["stats64"]["rx"]["packets"]


class Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = [("name", ctypes.c_void_p), ("name_bytes", ctypes.c_uint32), ("iov", ctypes.c_void_p),
                ("iov_count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_bytes", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("length", ctypes.c_uint)]


def rate(sender):
    data = ctypes.create_string_buffer(frame, len(frame))
    iov = (ctypes.c_size_t * 2)(ctypes.addressof(data), len(frame))
    messages = (Message * 64)(*[Message(iov=ctypes.addressof(iov), iov_count=1) for _ in range(64)])
    before, start = arrived(), time.monotonic()
    while time.monotonic() < start + seconds:
        libc.sendmmsg(sender.fileno(), messages, 64, 0)
    took = time.monotonic() - start
    time.sleep(0.3)
    return (arrived() - before) / took


def one_way_us(sender, receiver):
    times, begin = [], time.monotonic()
    for i in range(int(seconds * 1000)):
        time.sleep(max(0, begin + i / 1000 - time.monotonic()))
        sender.send(frame[:14] + struct.pack("!q", time.time_ns()) + frame[22:])
        try:
            while True:
                got, controls, _, _ = receiver.recvmsg(100, 256, socket.MSG_DONTWAIT)
                s, ns = struct.unpack("qq", controls[0][2])
                times.append((s * 10**9 + ns - struct.unpack("!q", got[14:22])[0]) / 1e3)
        except OSError:
            pass
    return times


def injector(driver):
    return ["ip", "netns", "exec", names[2], bin + "/nomora", "inject", "inj-a", "inj-b", "--driver", driver, "--nice", "0"]


plain = ["ip", "netns", "exec", names[2], loop, "-l", "0", "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m",
         "512", "--log-level=1", "--file-prefix", prefix, "--vdev=net_af_packet0,iface=inj-a",
         "--vdev=net_af_packet1,iface=inj-b"]
forwarders = {"af_packet": injector("af_packet"), "af_xdp": injector("af_xdp"), "dpdk_net_af_packet": plain}
figures = {name: ([], []) for name in forwarders}
try:
    for name in names:
        ip("netns", "add", name)
        subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                        "net.ipv6.conf.default.disable_ipv6=1"])
    for n, name in zip("ab", names):
        ip("-n", name, "link", "add", "app0", "type", "veth", "peer", "name", "inj-" + n, "netns", names[2])
        subprocess.run(["ip", "netns", "exec", name, "ethtool", "-K", "app0", "tx", "off", "tso", "off", "gso", "off"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ip("-n", name, "link", "set", "app0", "up")
        ip("-n", names[2], "link", "set", "inj-" + n, "up")
    sender = packet_socket(names[0], 0)
    for _ in range(rounds):
        for name, command in forwarders.items():
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(4)
            receiver = packet_socket(names[1], 0x88B5)
            receiver.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
            figures[name][1].append(sorted(one_way_us(sender, receiver)) or [float("nan")])
            receiver.close()
            figures[name][0].append(rate(sender))
            process.terminate()
            process.wait(30)
    own_rates, own_times = figures["af_packet"]
    for name, (rates, rounds_us) in figures.items():
        times = sorted(t for us in rounds_us for t in us)

        def over(percent):
            return statistics.median(us[len(us) * percent // 100] / own[len(own) * percent // 100]
                                     for us, own in zip(rounds_us, own_times))

        print(json.dumps({"schema": "nomora.benchmark/1", "benchmark": "injector_ports", "forwarder": name,
                          "kpps_median": round(statistics.median(rates) / 1e3, 1), "kpps_best": round(max(rates) / 1e3, 1),
                          "arrived": len(times), "p50_us": round(times[len(times) // 2], 1) if times else None,
                          "p99_us": round(times[len(times) * 99 // 100], 1) if times else None,
                          "kpps_ratio": round(statistics.median(r / own for r, own in zip(rates, own_rates)), 2),
                          "p50_ratio": round(over(50), 2), "p99_ratio": round(over(99), 2)}))
finally:
    for name in names:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Sends frames of many kinds from app0 in namespace PREFIX-a and compares what arrives at app0 in PREFIX-b, byte by
# byte, tags included: frames.py PREFIX kinds. With "kinds padded", frames of less than 60 bytes may arrive padded. Or sends COUNT equal frames from an interface and prints how many arrive
# at each host: frames.py PREFIX count NAMESPACE INTERFACE COUNT BYTES. Or sends frames from app0 in PREFIX-a at a rate,
# and prints "sending", then how many the kernel took, how many arrived in PREFIX-b, and the longest time on the way, ms: frames.py
# PREFIX flow PPS SECONDS.
import ctypes, select, socket, struct, sys, time

SOL_PACKET, AUXDATA, IGNORE_OUTGOING, ADD_MEMBERSHIP = 263, 8, 23, 1
TIMESTAMPNS, RCVBUFFORCE = 35, 33
TO, FROM = b"\x02\0\0\0\0\x0b", b"\x02\0\0\0\0\x0a"
DATA = bytes(range(256)) * 16

libc = ctypes.CDLL(None, use_errno=True)


def packet_socket(namespace, interface, receives):
    with open("/var/run/netns/" + namespace) as file:
        if libc.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), namespace)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    if receives:
        s.setsockopt(SOL_PACKET, AUXDATA, 1)
        s.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
        s.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 27)
        s.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iHH8s", socket.if_nametoindex(interface), 1, 0, b""))
    s.bind((interface, 3 if receives else 0))
    return s


def received(s, seconds, most=1 << 30):
    frames, end = [], time.monotonic() + seconds
    while len(frames) < most and select.select([s], [], [], max(0, end - time.monotonic()))[0]:
        frame, controls, _, _ = s.recvmsg(10000, 256)
        for level, kind, data in controls:
            if (level, kind) == (SOL_PACKET, AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                if status & 0x10:
                    frame = frame[:12] + struct.pack("!HH", tpid if status & 0x40 else 0x8100, tci) + frame[12:]
        frames.append(frame)
    return frames


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(payload, identification=1, offset=0, more=0, broken=0):
    head = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(payload), identification, more << 13 | offset // 8, 64, 17)
    addresses = b"\x0a\x4d\0\x01\x0a\x4d\0\x02"
    return head + struct.pack("!H", checksum(head + b"\0\0" + addresses) ^ broken) + addresses + payload


def udp(payload):
    return struct.pack("!HHHH", 1111, 11211, 8 + len(payload), 0) + payload


def fragments(name, size, identification):
    datagram = udp(DATA[:size])
    step = 304 if size < 1000 else 1480
    for at in range(0, len(datagram), step):
        more = at + step < len(datagram)
        yield f"{name} at {at}", TO + FROM + b"\x08\0" + ipv4(datagram[at : at + step], identification, at, more)


def kinds():
    small, full = b"\x08\0" + ipv4(udp(DATA[:72])), b"\x08\0" + ipv4(udp(DATA[:1472]))
    for name, tags in (
        ("no tag", ""), ("C-tag", "81006064"), ("priority tag", "8100e000"), ("S-tag", "88a800c8"),
        ("S- and C-tag", "88a800c881000064"), ("two C-tags", "810000c881000064"),
    ):
        yield name, TO + FROM + bytes.fromhex(tags) + small
        if len(tags) <= 8 and tags[:4] != "88a8":  # the kernel does not send longer ones
            yield name + ", full", TO + FROM + bytes.fromhex(tags) + full
    for size in (14, 15, 20, 42):
        yield f"runt of {size}", (TO + FROM + b"\x88\xb5" + DATA)[:size]
    for name, to, kind in (
        ("PAUSE", "0180c2000001", "8808"), ("LLDP", "0180c200000e", "88cc"), ("LACP", "0180c2000002", "8809"),
        ("STP", "0180c2000000", "0026"), ("802.1X", "0180c2000003", "888e"), ("PTP", "011b19000000", "88f7"),
        ("MPLS", "02000000000b", "8847"), ("RoCE", "02000000000b", "8915"), ("broadcast", "ffffffffffff", "0806"),
        ("multicast IPv6", "333300000001", "86dd"),
    ):
        yield name, bytes.fromhex(to) + FROM + bytes.fromhex(kind) + DATA[:46]
    yield "broken header checksum", TO + FROM + b"\x08\0" + ipv4(udp(DATA[:72]), broken=1)
    yield from fragments("fragment of 608", 600, 77)
    yield from fragments("fragment of 1708", 1700, 78)
    yield from fragments("fragment of 4008", 4000, 79)
    yield "lone fragment", TO + FROM + b"\x08\0" + ipv4(udp(DATA[:296]), 80, 0, 1)
    for at, more in ((0, 1), (304, 0)):
        head = struct.pack("!IHBB", 0x60000000, 8 + 304, 44, 64) + DATA[:32]
        yield f"IPv6 fragment at {at}", TO + FROM + b"\x86\xdd" + head + struct.pack("!BBHI", 17, 0, at | more, 9) + DATA[:304]


def flow(sender, receiver, pps, seconds):
    sent = arrived = failed = 0
    longest = 0
    receiver.setblocking(False)
    print("sending", flush=True)
    start = time.monotonic()
    while time.monotonic() < start + seconds + 1.5:
        if sent + failed < min(time.monotonic() - start, seconds) * pps:
            try:
                sender.send((TO + FROM + b"\x88\xb5" + struct.pack("!q", time.time_ns())).ljust(100, b"x"))
                sent += 1
            except OSError:  # no carrier
                failed += 1
        else:
            time.sleep(0.0002)
        try:
            while True:
                frame, controls, _, _ = receiver.recvmsg(200, 256)
                if frame[12:14] != b"\x88\xb5":
                    continue
                s, ns = next(struct.unpack("qq", data) for _, kind, data in controls if kind == TIMESTAMPNS)
                longest = max(longest, s * 10**9 + ns - struct.unpack("!q", frame[14:22])[0])
                arrived += 1
        except OSError:  # nothing there, or the interface is gone
            pass
    print(sent, arrived, longest // 10**6)


prefix = sys.argv[1]
places = {"a": ("a", "app0"), "b": tuple(sys.argv[3:5]) if sys.argv[2] == "kinds" and sys.argv[4:] else ("b", "app0")}
hosts = {name: packet_socket(f"{prefix}-{namespace}", interface, True) for name, (namespace, interface) in places.items()}
if sys.argv[2] == "kinds":
    sender, bad, count = packet_socket(prefix + "-a", "app0", False), [], 0
    least = 60 if sys.argv[3:] == ["padded"] else 0
    for name, frame in kinds():
        sender.send(frame)
        got, end = [], time.monotonic() + 2
        while not got and time.monotonic() < end:  # without what the hosts' kernels send
            got = [f for f in received(hosts["b"], 0.02) if f[6:12] == FROM]
        got += [f for f in received(hosts["b"], 0.02) if f[6:12] == FROM]
        count += 1
        if got != [frame] and got != [frame.ljust(least, b"\0")]:
            bad.append((name, frame[:30].hex(), [g[:30].hex() for g in got]))
    print(count, "frames")
    print(*bad, sep="\n")
    sys.exit(bool(bad))
if sys.argv[2] == "flow":
    hosts["b"].setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    flow(packet_socket(prefix + "-a", "app0", False), hosts["b"], float(sys.argv[3]), float(sys.argv[4]))
    sys.exit()
sender = packet_socket(f"{prefix}-{sys.argv[3]}", sys.argv[4], False)
for i in range(int(sys.argv[5])):
    sender.send((TO + FROM + b"\x88\xb5" + struct.pack("!I", i)).ljust(int(sys.argv[6]), b"x"))
print(*[len([f for f in received(hosts[name], 1) if f[12:14] == b"\x88\xb5"]) for name in "ab"])

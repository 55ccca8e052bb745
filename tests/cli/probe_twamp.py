#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TWAMP-Control and TWAMP-Test in open mode, written from the figures of RFC 4656 section 3 and RFC 5357 sections 3 and
4, over the kernel's sockets: a Control-Client with its Session-Sender against `nomora reflect --twamp`, and a Server
with its Session-Reflector for `nomora probe --twamp`.

  client SERVER OURS    one session with padding of 27 bytes, one with none, on one connection; prints what it measured
  refused SERVER OURS   what the server must refuse, and with which Accept value
  crowd SERVER OURS     more connections than one host may have
  slow SERVER OURS      a Set-Up-Response that never ends; prints after how many seconds the server gave up
  serve OURS PORTS REFUSE  a server: UDP port of its own for each session, PORTS = same or each; REFUSE = Accept value
"""
import json
import select
import socket
import struct
import sys
import time

NTP = 2208988800
PORT = 862


def ntp(at):
    return struct.pack("!II", int(at) + NTP, int(at % 1 * 2**32))


def seconds(raw):
    whole, part = struct.unpack("!II", raw)
    return whole - NTP + part / 2**32


def take(connection, count):
    got = b""
    while len(got) < count:
        piece = connection.recv(count - len(got))
        if not piece:
            raise EOFError(f"{len(got)} of {count} bytes")
        got += piece
    return got


def connect(server, ours):
    return socket.create_connection((server, PORT), 10, (ours, 0))


def greeting(connection):
    unused, modes, challenge, salt, count, zeros = struct.unpack("!12sI16s16sI12s", take(connection, 64))
    assert not any(unused + zeros), (unused, zeros)
    assert count >= 1024 and count & (count - 1) == 0, count
    return modes, challenge, salt


def set_up(connection, mode=1):
    connection.sendall(struct.pack("!I80s64s16s", mode, b"", b"", b""))
    zeros, accept, iv, started, more = struct.unpack("!15sB16s8s8s", take(connection, 48))
    assert not any(zeros + more), zeros
    return accept, started


def open_control(server, ours):
    connection = connect(server, ours)
    modes, challenge, salt = greeting(connection)
    assert modes == 1 and challenge != salt and any(challenge), modes
    accept, started = set_up(connection)
    assert accept == 0 and abs(seconds(started) - time.time()) < 3600, accept
    return connection


def request(connection, ours, server, port, padding=27, receiver_port=20000, changes=()):
    """Accept value, port and SID of the answer to a Request-TW-Session; `changes`: (offset, bytes) to overwrite."""
    raw = bytearray(struct.pack("!BBBBIIHH4s12s4s12s16sI8s8sI8s16s", 5, 4, 0, 0, 0, 0, port, receiver_port,
                                socket.inet_aton(ours), b"", socket.inet_aton(server), b"", b"", padding, ntp(time.time()),
                                struct.pack("!II", 2, 0), 0, b"", b""))
    assert len(raw) == 112
    for at, new in changes:
        raw[at:at + len(new)] = new
    connection.sendall(raw)
    accept, zero, port, sid, zeros, hmac = struct.unpack("!BBH16s12s16s", take(connection, 48))
    assert not any(zeros + hmac) and zero == 0
    return accept, port, sid


def start(connection):
    connection.sendall(struct.pack("!B15s16s", 2, b"", b""))
    accept, zeros, hmac = struct.unpack("!B15s16s", take(connection, 32))
    return accept


def stop(connection, sessions):
    connection.sendall(struct.pack("!BBHI8s16s", 3, 0, 0, sessions, b"", b""))


def measure(test, server, port, padding, count, gap):
    """Sends TWAMP-Test packets; checks each answer's fields (RFC 5357 section 4.2.1)."""
    answers = []
    for number in range(count):
        sent = struct.pack("!I8sBB", number, ntp(time.time()), 1, 1) + bytes(padding)
        test.sendto(sent, (server, port))
        ready, _, _ = select.select([test], [], [], 5)
        if not ready:
            continue
        raw, source = test.recvfrom(2048)
        arrived = time.time()
        assert source == (server, port), source
        assert len(raw) == max(41, len(sent)), (len(raw), len(sent))
        own, t3, _, t2, echoed, t1, error, _, ttl = struct.unpack("!I8s4s8sI8sHHB", raw[:41])
        assert echoed == number and t1 == sent[4:12] and error == 0x0101 and own == number, (echoed, number, own)
        assert seconds(t1) - 1e-3 <= seconds(t2) <= seconds(t3) <= arrived + 1e-3 and ttl == 255, ttl
        answers.append(arrived - seconds(t1) - (seconds(t3) - seconds(t2)))
        time.sleep(gap)
    return answers


def client(server, ours):
    connection = open_control(server, ours)
    result, sids = {}, set()
    for name, padding in (("padded", 27), ("short", 0)):
        test = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        test.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
        test.bind((ours, 0))
        accept, port, sid = request(connection, ours, server, test.getsockname()[1], padding)
        assert accept == 0 and port == PORT and sid[:4] == socket.inet_aton(server), (accept, port, sid)
        assert abs(seconds(sid[4:12]) - time.time()) < 60
        sids.add(sid)
        assert start(connection) == 0
        answers = measure(test, server, port, padding, 50, 0.02)
        stop(connection, 1)
        result[name] = {"sent": 50, "received": len(answers), "min_us": min(answers) * 1e6}
    assert len(sids) == 2
    connection.close()
    print(json.dumps(result))


def ended(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def refused(server, ours):
    for mode in (2, 4, 8, 3, 16, 32, 64):  # secure modes, and those of RFC 5618, 5938 and 6038
        connection = connect(server, ours)
        greeting(connection)
        accept, _ = set_up(connection, mode)
        assert accept == 3 and ended(connection), (mode, accept)
    connection = open_control(server, ours)
    for accept, changes in ((3, [(1, b"\6")]), (3, [(2, b"\1")]), (3, [(7, b"\1")]), (3, [(32, b"\1\2\3\4")]),
                            (3, [(84, b"\x80\0\0\0")]), (4, [(64, b"\0\1\0\0")]), (3, [(12, b"\0\0")])):
        answer = request(connection, ours, server, 50000, changes=changes)
        assert answer == (accept, 0, bytes(16)), (changes, answer)
    assert start(connection) == 1, "nothing to start"
    assert request(connection, ours, server, 50000, changes=[(16, bytes(32))])[0] == 0, "addresses of zeros"
    assert start(connection) == 0
    stop(connection, 2)
    assert ended(connection), "another number of sessions"
    for command in (1, 4, 7, 9):
        connection = open_control(server, ours)
        connection.sendall(bytes([command]) + bytes(31))
        assert ended(connection), command
    print("refused")


def crowd(server, ours):
    held = [open_control(server, ours) for _ in range(8)]
    for _ in range(20):
        more = connect(server, ours)
        assert greeting(more)[0] == 0 and ended(more)
    held.pop().close()
    time.sleep(0.2)
    held.append(open_control(server, ours))
    print("turned away")


def slow(server, ours):
    connection = connect(server, ours)
    greeting(connection)
    connection.settimeout(0.5)
    begun = time.time()
    for byte in struct.pack("!I", 1) + bytes(159):  # one byte less than a Set-Up-Response
        try:
            connection.send(bytes([byte]))
            if connection.recv(1) == b"":
                break
        except socket.timeout:
            continue
        except OSError:
            break
    print(int(time.time() - begun))


def serve(ours, ports, refuse):
    listener = socket.create_server((ours, PORT))
    print("ready", flush=True)
    connection, peer = listener.accept()
    connection.sendall(struct.pack("!12sI16s16sI12s", b"", 7, bytes(range(16)), bytes(range(16)), 1024, b""))
    mode, key, token, iv = struct.unpack("!I80s64s16s", take(connection, 164))
    assert mode == 1 and not any(key + token + iv), mode
    connection.sendall(struct.pack("!15sB16s8s8s", b"", 0, b"", ntp(time.time()), b""))
    sessions, seen, counts, asked = [], None, {}, []
    while True:
        command = take(connection, 1)[0]
        if command == 5:
            raw = bytes([5]) + take(connection, 111)
            _, version, c1, c2, slots, packets, sender_port, wanted, sender, z1, receiver, z2, sid, padding, begin, timeout, \
                type_p, z3, hmac = struct.unpack("!BBBBIIHH4s12s4s12s16sI8s8sI8s16s", raw)
            assert version == 4 and (c1, c2, slots, packets) == (0, 0, 0, 0), raw
            assert not any(z1 + z2 + sid + z3 + hmac) and socket.inet_ntoa(receiver) == ours
            assert socket.inet_ntoa(sender) == peer[0] and sender_port >= 49152
            asked.append({"padding": padding, "wanted": wanted, "type_p": type_p, "timeout_s": struct.unpack("!I", timeout[:4])[0]})
            if refuse:
                connection.sendall(struct.pack("!BBH16s12s16s", refuse, 0, 0, b"", b"", b""))
                continue
            if ports == "each" or not sessions:
                reflector = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                reflector.bind((ours, 0))
                reflector.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
            sessions.append((peer[0], sender_port))
            counts[peer[0], sender_port] = 0
            connection.sendall(struct.pack("!BBH16s12s16s", 0, 0, reflector.getsockname()[1], bytes([len(sessions)] * 16), b"", b""))
        elif command == 2:
            take(connection, 31)
            connection.sendall(struct.pack("!B15s16s", 0, b"", b""))
            break
    number, foreign = dict.fromkeys(sessions, 0), 0
    while True:
        ready, _, _ = select.select([connection, reflector], [], [], 60)
        if reflector in ready:
            raw, source = reflector.recvfrom(2048)
            at = time.time()
            if source not in counts:
                foreign += 1
                continue
            assert len(raw) == 14 + padding, len(raw)
            reflector.sendto((struct.pack("!I8sHH8s", number[source], ntp(time.time()), 0x0101, 0, ntp(at)) + raw[:14] + bytes(2) +
                              b"\xff" + bytes(padding))[:max(41, len(raw))], source)
            number[source] += 1
        elif connection in ready:
            command, accept, _, count, zeros, hmac = struct.unpack("!BBHI8s16s", take(connection, 32))
            assert (command, accept, count) == (3, 0, len(sessions)) and not any(zeros + hmac), (command, accept, count)
            break
        else:
            raise TimeoutError
    print(json.dumps({"asked": asked, "sessions": len(sessions), "reflected": list(number.values()), "foreign": foreign}))


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "serve":
        serve(words[0], words[1], int(words[2]))
    else:
        {"client": client, "refused": refused, "crowd": crowd, "slow": slow}[command](*words)

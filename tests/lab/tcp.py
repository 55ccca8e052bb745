#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Sends a stream over TCP, a datagram over UDP, and a super-datagram (UDP_SEGMENT), from namespace PREFIX-a to PREFIX-b:
# tcp.py PREFIX. Exits with 0 if all arrive unchanged.
import ctypes, random, socket, sys, threading

UDP_SEGMENT = 103

libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open("/var/run/netns/" + namespace) as file:
        if libc.setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), namespace)


enter(sys.argv[1] + "-b")
server, sink = socket.create_server(("10.77.0.2", 5000)), socket.socket(type=socket.SOCK_DGRAM)
sink.bind(("10.77.0.2", 5001))
sink.settimeout(5)
enter(sys.argv[1] + "-a")
data, arrived = random.randbytes(5_000_000), bytearray()


def read():
    connection = server.accept()[0]
    while block := connection.recv(1 << 20):
        arrived.extend(block)


reader = threading.Thread(target=read, daemon=True)
reader.start()
with socket.create_connection(("10.77.0.2", 5000), timeout=20) as stream:
    stream.sendall(data)
reader.join(20)
source = socket.socket(type=socket.SOCK_DGRAM)
source.sendto(data[:999], ("10.77.0.2", 5001))
one = sink.recv(2000)
source.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
source.sendto(data[:4500], ("10.77.0.2", 5001))
many = [sink.recv(2000) for _ in range(5)]
sys.exit(arrived != data or one != data[:999] or b"".join(many) != data[:4500])

# SPDX-License-Identifier: BSD-3-Clause
"""Holds each packet of netfilter's queue 0 of this network namespace for DELAY_US, without a busy CPU.

slow_forward.py DELAY_US   runs until it is ended; iptables -j NFQUEUE selects the packets
"""

import collections
import ctypes
import os
import select
import socket
import struct
import sys
import time

NETLINK_NETFILTER, QUEUE = 12, 3  # the subsystem
PACKET, VERDICT, CONFIG = 0, 1, 2  # its messages
REQUEST = 1
CONFIG_COMMAND, CONFIG_PARAMETERS = 1, 2  # attributes of CONFIG
BIND, COPY_HEADERS = 1, 1
ACCEPT = 1
HEADER = 1  # attribute of PACKET
VERDICT_HEADER = 2


def message(kind, attribute, payload):
    attributes = struct.pack("=HH", 4 + len(payload), attribute) + payload
    attributes += b"\0" * (-len(attributes) % 4)
    family = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0)  # queue 0
    return struct.pack("=IHHII", 16 + len(family) + len(attributes), QUEUE << 8 | kind, REQUEST, 0, 0) + family + attributes


def packet_ids(data):
    at = 0
    while at + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        place = at + 20
        while kind == QUEUE << 8 | PACKET and place + 4 <= at + length:
            size, attribute = struct.unpack_from("=HH", data, place)
            if attribute & 0x7FFF == HEADER:
                yield struct.unpack_from(">I", data, place + 4)[0]
            place += max(size + 3 & ~3, 4)
        at += max(length + 3 & ~3, 16)


def main():
    delay = float(sys.argv[1]) / 1e6
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: 1 ns
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    link.bind((0, 0))
    link.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
    link.send(message(CONFIG, CONFIG_COMMAND, struct.pack(">BBH", BIND, 0, socket.AF_INET)))
    link.send(message(CONFIG, CONFIG_PARAMETERS, struct.pack(">IB", 64, COPY_HEADERS)))
    held = collections.deque()
    while True:
        wait = None if not held else max(0, held[0][0] - time.monotonic())
        if select.select([link], [], [], wait)[0]:
            due = time.monotonic() + delay
            held.extend((due, number) for number in packet_ids(link.recv(1 << 18)))
        while held and held[0][0] <= time.monotonic():
            link.send(message(VERDICT, VERDICT_HEADER, struct.pack(">II", ACCEPT, held.popleft()[1])))


if __name__ == "__main__":
    main()

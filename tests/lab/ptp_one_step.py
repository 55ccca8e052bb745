#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A one-step PTP clock over Ethernet: ptp_one_step.py INTERFACE. Syncs every 20 ms, answers to delay requests and peer
delay requests; each delay request is first answered by a clock that is 1,000 s off and sends no Syncs."""
import socket
import struct
import sys
import time

SYNC, DELAY_REQUEST, PEER_REQUEST, PEER_RESPONSE, DELAY_RESPONSE = 0, 1, 2, 3, 9
GROUP, PEER_GROUP = bytes.fromhex("011b19000000"), bytes.fromhex("0180c200000e")
OURS, OTHER = bytes.fromhex("001b19fffe0000010001"), bytes.fromhex("001b19fffe0000020001")


def message(kind, source, sequence, stamp_ns, requester=b"", correction_ns=0):
    stamp = struct.pack(">HII", stamp_ns // 10**9 >> 32, stamp_ns // 10**9 & 0xFFFFFFFF, stamp_ns % 10**9)
    length = 44 + len(requester)
    header = struct.pack(">BBHBBHq4x", kind, 2, length, 0, 0, 0, correction_ns * 65536)
    return header + source + struct.pack(">HBb", sequence, 0, 0) + stamp + requester


def main():
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88F7))
    port.bind((sys.argv[1], 0x88F7))
    port.settimeout(0.02)
    mac = port.getsockname()[4]
    sequence, due = 0, 0.0

    def send(group, payload):
        port.send(group + mac + b"\x88\xf7" + payload)

    while True:
        if time.monotonic() >= due:
            due = time.monotonic() + 0.02
            sequence = (sequence + 1) % 65536
            send(GROUP, message(SYNC, OURS, sequence, time.time_ns()))
        try:
            frame, place = port.recvfrom(2048)
        except TimeoutError:
            continue
        arrived = time.time_ns()
        payload = frame[14:]
        if place[2] == socket.PACKET_OUTGOING or len(payload) < 44:
            continue
        asked, requester = struct.unpack(">H", payload[30:32])[0], payload[20:30]
        if payload[0] & 15 == DELAY_REQUEST:
            send(GROUP, message(DELAY_RESPONSE, OTHER, asked, arrived + 1000 * 10**9, requester))
            send(GROUP, message(DELAY_RESPONSE, OURS, asked, arrived, requester))
        elif payload[0] & 15 == PEER_REQUEST:
            answer = message(PEER_RESPONSE, OURS, asked, 0, requester, time.time_ns() - arrived)
            send(PEER_GROUP, answer)


if __name__ == "__main__":
    main()

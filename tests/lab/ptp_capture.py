#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PTP round trips of a capture in microseconds, sorted, one a line: an independent reader for tests/lab/ptp.sh.

Usage: ptp_capture.py FILE.pcap
Two-step clocks without corrections, which is what ptp4l sends with software stamps."""
import struct
import sys

SYNC, DELAY_REQUEST, PEER_REQUEST, PEER_RESPONSE, FOLLOW_UP, DELAY_RESPONSE, PEER_FOLLOW_UP = 0, 1, 2, 3, 8, 9, 10


def packets(path):
    data = open(path, "rb").read()
    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    at = 24
    while at < len(data):
        seconds, fraction, length, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + fraction * unit, data[at + 16:at + 16 + length]
        at += 16 + length


def payload(packet):
    ether_type = packet[12:14]
    if ether_type == b"\x88\xf7":
        return packet[14:]
    return packet[42:] if ether_type == b"\x08\x00" else packet[62:]


def stamp(message):
    return int.from_bytes(message[34:40], "big") * 10**9 + int.from_bytes(message[40:44], "big")


def round_trips(path):
    asked, responded, sync, sync_captured = {}, {}, None, {}
    for captured, packet in packets(path):
        message = payload(packet)
        kind, sequence = message[0] & 15, message[30:32]
        if kind in (DELAY_REQUEST, PEER_REQUEST):
            asked[sequence] = captured
        elif kind == SYNC:
            sync_captured[sequence] = captured
        elif kind == FOLLOW_UP and sequence in sync_captured:
            sync = sync_captured[sequence] - stamp(message)
        elif kind == DELAY_RESPONSE and sequence in asked and sync is not None:
            yield stamp(message) - asked.pop(sequence) + sync
        elif kind == PEER_RESPONSE and sequence in asked:
            responded[sequence] = captured - asked[sequence] + stamp(message)
        elif kind == PEER_FOLLOW_UP and sequence in responded:
            yield responded.pop(sequence) - stamp(message)


for nanoseconds in sorted(round_trips(sys.argv[1])):
    print(nanoseconds / 1000)

# SPDX-License-Identifier: BSD-3-Clause
"""request_parts.py CAPTURE DELAY_US...: see request_parts.sh. A pause of 0.1 s in the capture ends a delay's run."""
import collections
import json
import statistics
import struct
import sys

PAUSE_NS = 100_000_000
RUN_LEAST = 200  # frames; a shorter run is the filling of the cache
PARTS = ("request_held", "server", "answer_held", "client")
# interface (0: the server's side) and direction (1: in, 2: out) of a request's frames up to the next request's first
STATIONS = [(1, 1), (0, 2), (0, 1), (1, 2), (1, 1)]


def has_payload(frame):
    """True for an IPv4 TCP segment with data and without SYN, FIN and RST."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return False
    ip = 4 * (frame[14] & 15)
    total, = struct.unpack_from(">H", frame, 16)
    tcp = 14 + ip
    return total > ip + 4 * (frame[tcp + 12] >> 4) and not frame[tcp + 13] & 7


def direction(options):
    while len(options) >= 4:
        code, length = struct.unpack_from("<HH", options)
        if code == 2:
            return struct.unpack_from("<I", options, 4)[0] & 3
        if code == 0:
            break
        options = options[4 + (length + 3) // 4 * 4:]
    return 0


def read_frames(path):
    """(time in ns, interface, direction) of each frame with data."""
    with open(path, "rb") as file:
        while len(head := file.read(8)) == 8:
            kind, length = struct.unpack("<II", head)
            body = file.read(length - 8)
            if kind != 6 or len(body) < length - 8:
                continue
            interface, high, low, captured, _ = struct.unpack_from("<IIIII", body)
            if has_payload(body[20:20 + captured]):
                yield high << 32 | low, interface, direction(body[20 + (captured + 3) // 4 * 4:-4])


def split_runs(frames):
    runs, last = [], None
    for frame in frames:
        if last is None or frame[0] - last > PAUSE_NS:
            runs.append([])
        runs[-1].append(frame)
        last = frame[0]
    return [run for run in runs if len(run) >= RUN_LEAST]


def parts_of(run):
    run = run[len(run) // 5:]  # drop the warm-up
    parts = {name: [] for name in PARTS}
    at = 0
    while at + len(STATIONS) <= len(run):
        window = run[at:at + len(STATIONS)]
        if [frame[1:] for frame in window] != STATIONS:
            at += 1
            continue
        for name, begin, end in zip(PARTS, window, window[1:]):
            parts[name].append((end[0] - begin[0]) / 1e3)
        at += len(STATIONS) - 1
    return parts


def main():
    path, *delays = sys.argv[1:]
    runs = split_runs(read_frames(path))[-len(delays):]
    assert len(runs) == len(delays), f"{len(runs)} runs in the capture, not {len(delays)}"
    known = collections.defaultdict(lambda: {name: [] for name in PARTS})
    for delay, run in zip(delays, runs):
        for name, values in parts_of(run).items():
            known[float(delay)][name] += values
    for delay, parts in known.items():
        line = {"benchmark": "request_parts", "delay_us": delay, "requests": len(parts["server"])}
        for name, values in parts.items():
            line[name + "_us"] = {"mean": round(statistics.mean(values), 2), "median": round(statistics.median(values), 2)}
        line["request_mean_us"] = round(sum(statistics.mean(values) for values in parts.values()), 2)
        print(json.dumps(line))


main()

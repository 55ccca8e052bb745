#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""texts.py BIN SOURCE: what commands print for people. The whole text is that of tests/data/texts, and each of its figures
is one of the same command's --json, in other units or rounded. NOMORA_TEXTS=write writes the texts anew."""
import csv
import difflib
import json
import os
import re
import statistics
import subprocess
import sys

BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
TEXTS = os.path.join(SOURCE, "tests", "data", "texts")
FUZZ, CURVES = "tests/data/fuzz/", "curves/"
COMMANDS = {
    "predict-schedule": ["predict", FUZZ + "goal_1"],
    "predict-capture": ["predict", "tests/data/predict/redis.pcap"],
    "predict-runs": ["predict", "--runs", "2", FUZZ + "goal_1", FUZZ + "goal_1"],
    "predict-traces": ["predict", *(f"tests/data/predict/sweep3d-{rank}.txt.gz" for rank in range(4))],
    "rtt": ["rtt", FUZZ + "capture/probes.pcap"],
    "rtt-ptp": ["rtt", FUZZ + "capture/ptp4l-e2e-l2.pcap"],
    "fit": ["fit", "docs/sweeps/redis-1.csv", "--replicates", "0"],
    "fit-compare": ["fit", "--compare", CURVES + "memcached.json", CURVES + "strads.json"],
    "mesh-show": ["mesh", "show", FUZZ + "latency_matrix/mesh.csv"],
    "inject-check": ["inject-check", FUZZ + "pcapng/cut.pcapng"],
}
SCALES = (1, 100, 1000, 1e6, 1e9, 1e-3, 1e-6)


def run(arguments):
    ended = subprocess.run([os.path.join(BIN, "nomora"), *arguments], cwd=SOURCE, stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return ended.stdout, f"exit {ended.returncode} {ended.stderr}"


def numbers(value):
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    elif not isinstance(value, list):
        return []
    return [n for item in value for n in numbers(item)]


def run_times(answer):
    """Run times and performances of a prediction, worked out from its pieces; a message costs half a round trip."""
    values = []
    for delay_us in (0, *(digit * 10**power for power in range(4) for digit in (1, 2, 5))):
        for piece in answer["pieces"]:
            if piece["added_rtt_us"] <= delay_us:
                time_s = piece["run_time_s"] + piece["messages"] * (delay_us - piece["added_rtt_us"]) / 2 * 1e-6
        values += [time_s, answer["pieces"][0]["run_time_s"] / time_s, delay_us]
    return values


def strange_figures(text, answer):
    """Figures of at least three digits that are no number of the answer."""
    known = numbers(answer) + (run_times(answer) if "pieces" in answer else [])
    for host in (answer.get("capture") or {}).get("hosts", []):
        known.append(host["overtaken"] / host["overlapping"] if host["overlapping"] else 0)
    found = []
    text = re.sub(r"\d+\.\d+\.\d+\.\d+", "ADDRESS", text)
    for figure in re.findall(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?", text):
        digits = len(re.sub(r"e.*|\D", "", figure).lstrip("0"))
        if digits < 3:
            continue
        unit = 10 ** (int((figure.split("e") + ["0"])[1]) - len(figure.split("e")[0].partition(".")[2]))
        if not any(abs(float(figure) - n * scale) <= 0.51 * unit for n in known for scale in SCALES):
            found.append(figure)
    return found


def main():
    print(f"1..{2 * len(COMMANDS)}")
    for number, (name, arguments) in enumerate(COMMANDS.items()):
        path = os.path.join(TEXTS, name)
        text, end = run(arguments)
        if os.environ.get("NOMORA_TEXTS") == "write":
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            wanted = file.read()
        print(f"{'ok' if text == wanted and text else 'not ok'} {2 * number + 1} - {name}: the text", flush=True)
        for line in difflib.unified_diff(wanted.split("\n"), text.split("\n"), "expected", end, lineterm="", n=0):
            print("# " + line)
        answer, end = run([*arguments, "--json"])
        answer = json.loads(answer) if answer else {}
        if name == "fit":
            answer["curve"] = json.loads(run([*arguments, "-o", "-"])[0])
            with open(os.path.join(SOURCE, arguments[1])) as file:
                rows = [row for row in csv.DictReader(file) if row["metric"] == answer["curve"]["metric"]]
            answer["mean"] = statistics.mean(float(row["value"]) for row in rows if float(row["delay_us"]) == 0)
        strange = strange_figures(text, answer) if answer else [end]
        print(f"{'not ok' if strange else 'ok'} {2 * number + 2} - {name}: its figures are those of --json", flush=True)
        if strange:
            print("# " + " ".join(strange))


main()

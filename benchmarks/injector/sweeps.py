#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two sweeps of each plan compared: sweeps.py [--markdown] FOLDER PLAN...; reads FOLDER/PLAN-{1,2}.csv and their logs."""
import csv
import json
import math
import os
import statistics
import sys


def read_sweep(path):
    """{metric: {delay: [values]}} in the order of the metrics, a request's time in us."""
    metrics = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            scale = 1e3 if row["unit"] == "ms" else 1
            metrics.setdefault(row["metric"], {}).setdefault(float(row["delay_us"]), []).append(scale * float(row["value"]))
    return metrics


def read_log(path):
    """(stalled, rtt_off, accepted, disturbed, attempts) of the attempts whose rows count: percent, us, counts."""
    stalled, off, accepted, disturbed, attempts, last = [], [], 0, 0, 0, {}
    with open(path) as file:
        for line in file:
            event = json.loads(line)
            key = event.get("delay_us"), event.get("run"), event.get("attempt")
            if event["event"] == "attempt":
                attempts += 1
                last[key] = event
            elif event["event"] == "accepted":
                attempt = last[key]
                accepted += 1
                disturbed += event["disturbed"]
                stalled.append(attempt["injector"]["stall_us"] / attempt["elapsed_s"] / 1e4)
                if "rtt_us" in attempt:
                    off.append(abs(attempt["rtt_us"] - attempt["rtt_expected_us"]))
    return stalled, off, accepted, disturbed, attempts


# Two-sided 95 % quantiles of Student's t by degrees of freedom, from 1.
STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def compare(folder, plan):
    """One dictionary for each delay, and what the logs say."""
    sweeps = [read_sweep(f"{folder}/{plan}-{number}.csv") for number in (1, 2)]
    rate = next(iter(sweeps[0]))
    time = next(name for name in sweeps[0] if "latency_mean" in name or "time" in name)
    rows = []
    for delay in sorted(sweeps[0][rate]):
        one, two = (sweep[rate][delay] for sweep in sweeps)
        mean = statistics.mean(one)
        times = sweeps[0][time][delay] + sweeps[1][time][delay]
        rows.append({
            "delay_us": delay, "rates": (mean, statistics.mean(two)), "runs": (len(one), len(two)),
            "difference_percent": 100 * (statistics.mean(two) - mean) / mean,
            # how far the means may lie apart by the deviations that the sweeps state themselves, 95 %
            "allowed_percent": 100 * STUDENT[min(len(one) + len(two) - 2, len(STUDENT)) - 1] / mean * math.hypot(
                deviation(one) / math.sqrt(len(one)), deviation(two) / math.sqrt(len(two))),
            "run_percent": 100 * math.hypot(deviation(one), deviation(two)) / math.sqrt(2) / mean,
            "time_us": statistics.mean(times)})
    for row in rows:
        row["rise_us"] = row["time_us"] - rows[0]["time_us"]
    return rows, [read_log(f"{folder}/{plan}-{number}.csv.log") for number in (1, 2)]


def print_json(folder, plan, rows, logs):
    curves = {}
    if os.path.exists(f"{folder}/{plan}-compare.json"):
        with open(f"{folder}/{plan}-compare.json") as file:
            comparison = json.load(file)
        curves = {"curve_rms": round(comparison["rms_difference"], 5),
                  "curve_worst": round(comparison["greatest_difference"]["difference"], 5)}
    for row in rows:
        line = {"benchmark": "sweep", "plan": plan, "delay_us": row["delay_us"], "rate_per_s": row["rates"],
                "request_us": round(row["time_us"], 2),
                "rise_per_added": round(row["rise_us"] / (2 * row["delay_us"]), 4) if row["delay_us"] else None,
                "difference_percent": round(row["difference_percent"], 3),
                "run_deviation_percent": round(row["run_percent"], 3), "allowed_percent": round(row["allowed_percent"], 3),
                "agree": abs(row["difference_percent"]) <= row["allowed_percent"]}
        print(json.dumps(line), flush=True)
    print(json.dumps({
        "benchmark": "sweep_agreement", "plan": plan, "delays": len(rows),
        "agree": sum(abs(row["difference_percent"]) <= row["allowed_percent"] for row in rows),
        "worst_difference_percent": round(max(abs(row["difference_percent"]) for row in rows), 3),
        "median_run_deviation_percent": round(statistics.median(row["run_percent"] for row in rows), 3),
        "stalled_percent": round(statistics.median(logs[0][0] + logs[1][0]), 3),
        "runs": logs[0][2] + logs[1][2], "disturbed": logs[0][3] + logs[1][3], "attempts": logs[0][4] + logs[1][4]} | curves), flush=True)


def print_markdown(_, plan, rows, logs):
    print(f"## {plan}\n\n![curve](sweeps/{plan}.svg)\n")
    print("| D, µs | round trip added, µs | rate, first sweep | second sweep | deviation of a run | difference "
          "| mean request time, µs | rise | rise ÷ 2 D |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        ratio = f"{row['rise_us'] / (2 * row['delay_us']):.2f}" if row["delay_us"] else ""
        print(f"| {row['delay_us']:g} | {2 * row['delay_us']:g} | {row['rates'][0]:,.0f} | {row['rates'][1]:,.0f} "
              f"| {row['run_percent']:.1f} % | {row['difference_percent']:+.1f} % | {row['time_us']:.1f} "
              f"| {row['rise_us']:.1f} | {ratio} |")
    stalled, off = logs[0][0] + logs[1][0], logs[0][1] + logs[1][1]
    print(f"\n{logs[0][4] + logs[1][4]} attempts for {logs[0][2] + logs[1][2]} runs, {logs[0][3] + logs[1][3]} disturbed. "
          f"The injector stalled {statistics.median(stalled):.1f} % of the time (median run; worst {max(stalled):.1f} %). "
          f"Ping was off by {statistics.median(off):.0f} µs (median), {max(off):.0f} µs at most.\n")


def main():
    arguments = sys.argv[1:]
    markdown = "--markdown" in arguments
    folder, *plans = [word for word in arguments if word != "--markdown"]
    for plan in plans:
        rows, logs = compare(folder, plan)
        (print_markdown if markdown else print_json)(folder, plan, rows, logs)


main()

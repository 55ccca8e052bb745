#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two sweeps of each plan compared: sweeps.py FOLDER PLAN... prints a line of JSON for each delay and each plan;
sweeps.py --document FILE.md FOLDER PLAN... replaces the summary in FILE.md (between its lines 'summary:' and 'end of summary')
and everything after its line 'tables:', and copies rows and curves into the folder of that name beside it. Reads FOLDER/PLAN-{1,2}.{csv,csv.log,json,svg}
and FOLDER/PLAN-compare.json, which sweeps.sh leaves there."""
import csv
import json
import math
import os
import shutil
import statistics
import sys

# Two-sided 95 % quantiles of Student's t by degrees of freedom, from 1.
STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145]


def read_sweep(path):
    """{metric: {delay: [values]}} in the order of the metrics, a request's time in us; {metric: {delay: [rises]}}, each
    run's over those at delay 0 beside it; and when the first and last run began."""
    metrics, stamps, in_order = {}, [], {}
    with open(path) as file:
        for row in csv.DictReader(file):
            scale = 1e3 if row["unit"] == "ms" else 1
            metrics.setdefault(row["metric"], {}).setdefault(float(row["delay_us"]), []).append(scale * float(row["value"]))
            in_order.setdefault(row["metric"], []).append((float(row["delay_us"]), scale * float(row["value"])))
            stamps.append(row["started_at"])
    return metrics, {name: read_rises(runs) for name, runs in in_order.items()}, (min(stamps), max(stamps))


def read_rises(runs):
    """{delay: [value minus the mean of the values at delay 0 just before and just after it]}"""
    rises = {}
    for at, (delay, value) in enumerate(runs):
        before = next((other for zero, other in reversed(runs[:at]) if not zero), None)
        behind = next((other for zero, other in runs[at + 1:] if not zero), None)
        beside = [other for other in (before, behind) if other is not None]
        if delay and beside:
            rises.setdefault(delay, []).append(value - statistics.mean(beside))
    return rises


def read_log(path):
    """(stalled, rtt_off, accepted, disturbed, attempts, {delay: [processors in use]}) of the attempts whose rows count:
    percent, us, counts."""
    stalled, off, accepted, disturbed, attempts, used, last = [], [], 0, 0, 0, {}, {}
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
                injector = attempt["injector"]
                stalled.append((injector["stall_us"] - injector["transmit_stall_us"]) / injector.get("lcores", 1) /
                               attempt["elapsed_s"] / 1e4)
                if "processors_used" in attempt:
                    used.setdefault(attempt["delay_us"], []).append(attempt["processors_used"])
                if "rtt_us" in attempt:
                    off.append(abs(attempt["rtt_us"] - attempt["rtt_expected_us"]))
    return stalled, off, accepted, disturbed, attempts, used


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def level(delay, one, two, times, rises):
    """Compares two sweeps at one delay: the rates of both, the request times, and their rises."""
    mean = statistics.mean(one)
    # Welch: largest difference of the means that the sweeps' own deviations explain, 95 %
    errors = [deviation(values) ** 2 / len(values) for values in (one, two)]
    parts = sum(error ** 2 / (len(values) - 1) for error, values in zip(errors, (one, two)) if len(values) > 1)
    degrees = max(int(sum(errors) ** 2 / parts), 1) if parts else 1
    return {"delay_us": delay, "rates": (mean, statistics.mean(two)),
            "difference_percent": 100 * (statistics.mean(two) - mean) / mean,
            "allowed_percent": 100 * STUDENT[min(degrees, len(STUDENT)) - 1] * math.sqrt(sum(errors)) / mean,
            "run_percent": 100 * math.hypot(deviation(one), deviation(two)) / math.sqrt(2) / mean,
            "time_us": statistics.mean(times), "rise_us": statistics.mean(rises), "median_rise_us": statistics.median(rises),
            "rise_error_us": deviation(rises) / math.sqrt(len(rises))}


def compare(folder, plan):
    """A dictionary of the figures in a plan's files."""
    sweeps, rises, spans = zip(*(read_sweep(f"{folder}/{plan}-{number}.csv") for number in (1, 2)))
    rate = next(iter(sweeps[0]))
    time = next(name for name in sweeps[0] if "latency_mean" in name or "time" in name)
    rows = [level(delay, sweeps[0][rate][delay], sweeps[1][rate][delay], sweeps[0][time][delay] + sweeps[1][time][delay],
                  sum((rise[time].get(delay, [0.0]) for rise in rises), []))
            for delay in sorted(sweeps[0][rate])]
    logs = [read_log(f"{folder}/{plan}-{number}.csv.log") for number in (1, 2)]
    result = {"plan": plan, "rows": rows, "span": (min(span[0] for span in spans), max(span[1] for span in spans)),
              "passes": min(len(values) for sweep in sweeps for values in sweep[rate].values())}
    for row in rows:
        row["processors_used"] = [used for log in logs for used in log[5].get(row["delay_us"], [])]
    for at, name in enumerate(("stalled", "off", "runs", "disturbed", "attempts")):
        result[name] = logs[0][at] + logs[1][at]
    for name in ("compare", "1"):
        path = f"{folder}/{plan}-{name}.json"
        if os.path.exists(path):
            with open(path) as file:
                result["comparison" if name == "compare" else "curve"] = json.load(file)
    return result


def agrees(row):
    return abs(row["difference_percent"]) <= row["allowed_percent"]


def print_json(_, result):
    rows = result["rows"]
    for row in rows:
        print(json.dumps({
            "benchmark": "sweep", "plan": result["plan"], "delay_us": row["delay_us"], "rate_per_s": row["rates"],
            "request_us": round(row["time_us"], 2),
            "rise_per_added": round(row["rise_us"] / (2 * row["delay_us"]), 4) if row["delay_us"] else None,
            "rise_error_per_added": round(row["rise_error_us"] / (2 * row["delay_us"]), 4) if row["delay_us"] else None,
            "median_rise_per_added": round(row["median_rise_us"] / (2 * row["delay_us"]), 4) if row["delay_us"] else None,
            "difference_percent": round(row["difference_percent"], 3),
            "processors_used": round(statistics.median(row["processors_used"]), 3) if row["processors_used"] else None,
            "run_deviation_percent": round(row["run_percent"], 3), "allowed_percent": round(row["allowed_percent"], 3),
            "agree": agrees(row)}), flush=True)
    line = {"benchmark": "sweep_agreement", "plan": result["plan"], "delays": len(rows), "agree": sum(map(agrees, rows)),
            "worst_difference_percent": round(max(abs(row["difference_percent"]) for row in rows), 3),
            "median_run_deviation_percent": round(statistics.median(row["run_percent"] for row in rows), 3),
            "stalled_percent": round(statistics.median(result["stalled"]), 3),
            "runs": result["runs"], "disturbed": result["disturbed"], "attempts": result["attempts"]}
    if "comparison" in result:
        comparison = result["comparison"]
        line |= {"curves": comparison["verdict"], "curve_rms": round(comparison["rms_difference"], 5),
                 "curve_worst": round(comparison["greatest_difference"]["difference"], 5),
                 "half_widths": comparison.get("whole_curve", {}).get("worst")}
    print(json.dumps(line), flush=True)


def summary(results):
    yield ("| plan | metric at D = 0 | curve | the two curves | greatest difference | of the stated half-widths (allowed) "
           "| delays that agree by themselves | rise ÷ 2 D at the longest delay: mean, median |")
    yield "|---|---:|---|---|---:|---:|---:|---:|"
    for result in results:
        rows, comparison, curve = result["rows"], result["comparison"], result["curve"]
        greatest, whole, last = comparison["greatest_difference"], comparison["whole_curve"], rows[-1]
        yield (f"| {result['plan']} | {statistics.mean(rows[0]['rates']):,.0f} {curve['unit']} | `{curve['model']['equation']}` "
               f"| {comparison['verdict']} | {greatest['difference']:.3f} at {greatest['x_us']:g} µs "
               f"| {whole['worst']:.2f} ({whole['allowed']:.2f}) | {sum(map(agrees, rows))} of {len(rows)} "
               f"| {last['rise_us'] / (2 * last['delay_us']):.3f}, {last['median_rise_us'] / (2 * last['delay_us']):.3f} |")


def table(result, folder):
    stalled, off = result["stalled"], result["off"]
    yield f"\n## {result['plan']}\n\n![curve]({folder}/{result['plan']}.svg)\n"
    yield ("| D, µs | first sweep, 1/s | second, 1/s | difference | allowed | deviation of a run | processor in use "
           "| mean request time, µs | rise | rise ÷ 2 D | of the median |")
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        added = 2 * row["delay_us"]
        ratios = f"{row['rise_us'] / added:.2f} ± {row['rise_error_us'] / added:.2f} | {row['median_rise_us'] / added:.2f}" if added else "|"
        used = f"{100 * statistics.median(row['processors_used']):.0f} %" if row["processors_used"] else ""
        yield (f"| {row['delay_us']:g} | {row['rates'][0]:,.0f} | {row['rates'][1]:,.0f} | {row['difference_percent']:+.1f} % "
               f"| {row['allowed_percent']:.1f} % | {row['run_percent']:.1f} % | {used} | {row['time_us']:.1f} | {row['rise_us']:.1f} "
               f"| {ratios} |")
    yield (f"\n{result['passes']} passes a sweep, begun {result['span'][0]}, last run {result['span'][1]}. {result['attempts']} attempts "
           f"for {result['runs']} runs, {result['disturbed']} of which count as disturbed. The injector stalled "
           f"{statistics.median(stalled):.1f} % of the time (median run; worst {max(stalled):.1f} %). Ping was off by "
           f"{statistics.median(off):.0f} µs (median), {max(off):.0f} µs at most.")


def write_document(path, folder, results):
    """Replaces the summary and everything after the line 'tables:'; copies rows and first curves into its folder."""
    beside = os.path.splitext(path)[0]
    with open(path) as file:
        lines = file.read().splitlines()
    begin, end, tables = (next(at for at, line in enumerate(lines) if mark in line)
                          for mark in ("summary:", "end of summary", "tables:"))
    text = lines[:begin + 1] + [""] + list(summary(results)) + lines[end - 1:tables + 1]
    for result in results:
        plan = result["plan"]
        text += table(result, os.path.basename(beside))
        shutil.copy(f"{folder}/{plan}-1.svg", f"{beside}/{plan}.svg")
        for number in (1, 2):
            shutil.copy(f"{folder}/{plan}-{number}.csv", f"{beside}/{plan}-{number}.csv")
    with open(path, "w") as file:
        file.write("\n".join(text) + "\n")


def main():
    arguments = sys.argv[1:]
    document = arguments[1] if arguments[0] == "--document" else None
    folder, *plans = arguments[2:] if document else arguments
    results = [compare(folder, plan) for plan in plans]
    if document:
        write_document(document, folder, results)
    for result in [] if document else results:
        print_json(folder, result)


main()

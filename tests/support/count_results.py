#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the tests of `meson test` runs: count_results.py BUILD_FOLDER [LOG...].

LOG: a copy of meson-logs/testlog.json, by default that of the last run. Where a program ran again, its last run counts.

Prints "PASSED FAILED SKIPPED", then a line "skip NAME: REASON" for each skipped test, "fail NAME: REASON" for each
program that failed as a whole, and "again NAME: REASON" for each that failed first and passed when it ran again.

count_results.py --failed BUILD_FOLDER prints the names of the programs in which something failed.

A TAP program counts by its subtests, any other program by itself. A TAP program that crashed, timed out or printed no
plan (1..N), or another number of results than planned, is one more failure.
"""
import json
import re
import sys

RESULT = re.compile(r"(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s*#\s*(?:SKIP|TODO)\S*\s*(.*))?$", re.IGNORECASE)
PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*SKIP\S*\s*(.*))?$", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []

    def skip(self, name, reason):
        self.skipped += 1
        self.notes.append(f"skip {name}: {reason or 'no reason given'}")

    def fail(self, name, reason):
        self.failed += 1
        self.notes.append(f"fail {name}: {reason}")

    def add_program(self, test):
        if test["result"] == "SKIP":
            self.skip(test["name"], "the program says so")
        elif test["result"] in ("OK", "EXPECTEDFAIL"):
            self.passed += 1
        else:
            self.fail(test["name"], test["result"].lower())

    def add_tap(self, test):
        results = planned = bad = 0
        has_plan = False
        for line in test.get("stdout", "").splitlines():
            plan, result = PLAN.match(line), RESULT.match(line)
            if plan:
                has_plan, planned = True, int(plan[1])
                if planned == 0:
                    self.skip(test["name"], plan[2])
            elif result and "# skip" in line.lower():
                results += 1
                self.skip(f"{test['name']}: {result[2]}", result[3])
            elif result:
                results += 1
                bad += bool(result[1])
                self.passed += not result[1]
        self.failed += bad
        code = test.get("returncode", 0)
        if test["result"] in ("TIMEOUT", "INTERRUPT"):
            self.fail(test["name"], test["result"].lower())
        elif code < 0 or code > 1 or (code == 1 and bad == 0):
            self.fail(test["name"], f"exit code {code}")
        elif not has_plan:
            self.fail(test["name"], "printed no plan")
        elif results != planned:
            self.fail(test["name"], f"planned {planned} tests, ran {results}")
        elif bad == 0 and test["result"] not in ("OK", "SKIP"):
            self.fail(test["name"], test["result"].lower())


def count_one(test, tap_names):
    one = Count()
    if test["name"] in tap_names:
        one.add_tap(test)
    else:
        one.add_program(test)
    return one


def count(runs, tap_names):
    """The counts over several runs, each a list of test results."""
    total, last, failed_before = Count(), {}, set()
    for run in runs:
        for test in run:
            name = test["name"] = test["name"].split(" / ")[-1]
            if name in last and last[name].failed:
                failed_before.add(name)
            last[name] = count_one(test, tap_names)
    for name, one in last.items():
        total.passed += one.passed
        total.failed += one.failed
        total.skipped += one.skipped
        total.notes += one.notes
        if name in failed_before and not one.failed:
            total.notes.append(f"again {name}: failed beside others, passed alone")
    return total, [name for name, one in last.items() if one.failed]


def main():
    names_only = sys.argv[1] == "--failed"
    folder, *logs = sys.argv[1 + names_only :]
    with open(folder + "/meson-info/intro-tests.json") as file:
        tap_names = {test["name"] for test in json.load(file) if test["protocol"] == "tap"}
    runs = []
    for log in logs or [folder + "/meson-logs/testlog.json"]:
        with open(log) as file:
            runs.append([json.loads(line) for line in file])
    total, failed = count(runs, tap_names)
    if names_only:
        for name in failed:
            print(name)
        return
    print(total.passed, total.failed, total.skipped)
    print(*total.notes, sep="\n")


if __name__ == "__main__":
    main()

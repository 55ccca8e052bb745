#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the tests of the last `meson test` run: count_results.py BUILD_FOLDER.

Prints "PASSED FAILED SKIPPED", then a line "skip NAME: REASON" for each skipped test and "fail NAME: REASON" for
each program that failed as a whole.

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


def count(tests, tap_names):
    total = Count()
    for test in tests:
        test["name"] = test["name"].split(" / ")[-1]
        if test["name"] in tap_names:
            total.add_tap(test)
        else:
            total.add_program(test)
    return total


def main():
    folder = sys.argv[1]
    with open(folder + "/meson-info/intro-tests.json") as file:
        tap_names = {test["name"] for test in json.load(file) if test["protocol"] == "tap"}
    with open(folder + "/meson-logs/testlog.json") as file:
        total = count([json.loads(line) for line in file], tap_names)
    print(total.passed, total.failed, total.skipped)
    print(*total.notes, sep="\n")


if __name__ == "__main__":
    main()

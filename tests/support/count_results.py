#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up passed, failed and skipped tests of one `meson test` run: count_results.py MESON_LOGS_FOLDER.

A TAP program counts by its subtests, any other by itself. A program that failed counts once more where
none of its subtests says so (it crashed, or timed out).
"""
import sys
import xml.etree.ElementTree as tree


def count(suites):
    passed = failed = skipped = 0
    for suite in suites:
        cases = list(suite.iter("testcase"))
        bad = sum(1 for c in cases if c.find("failure") is not None or c.find("error") is not None)
        skip = sum(1 for c in cases if c.find("skipped") is not None)
        if not bad and (int(suite.get("failures", 0)) or int(suite.get("errors", 0))):
            bad = 1
        passed += max(len(cases) - bad - skip, 0)
        failed += bad
        skipped += skip
    return passed, failed, skipped


def main():
    root = tree.parse(sys.argv[1] + "/testlog.junit.xml").getroot()
    print(*count(root.iter("testsuite")))


main()

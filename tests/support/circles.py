#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds circles of references between the sources of a library or program: circles.py BUILD_FOLDER

Two files of a room that call each other cannot be read, tested or replaced one by one. Calls through pointers are not
seen. Prints TAP: a line for each library and program outside tests/ and benchmarks/.
"""
import collections
import pathlib
import subprocess
import sys


def references(objects):
    """The objects that each object refers to, by nm."""
    defined, wanted = {}, collections.defaultdict(set)
    lines = subprocess.run(["nm", "--extern-only", "--print-file-name", *objects], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        path, entry = line.split(":", 1)
        kind, symbol = entry.split()[-2:]
        if kind == "U":
            wanted[path].add(symbol)
        else:
            defined[symbol] = path
    return {path: {defined[symbol] for symbol in wanted[path] if symbol in defined} - {path} for path in objects}


def reached(start, graph):
    """All that can be reached from start by at least one step."""
    seen, waiting = set(), list(graph[start])
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting.extend(graph[at])
    return seen


def main():
    build = pathlib.Path(sys.argv[1])
    targets = [
        folder
        for folder in sorted(build.glob("**/*.p"))
        if folder.relative_to(build).parts[0] not in ("tests", "benchmarks") and any(folder.glob("*.o"))  # not of a room that is gone
    ]
    print(f"1..{len(targets)}")
    for number, folder in enumerate(targets, 1):
        graph = references([str(path) for path in sorted(folder.glob("*.o"))])
        circle = [pathlib.Path(path).name.removesuffix(".c.o") for path in graph if path in reached(path, graph)]
        name = folder.relative_to(build).with_suffix("")
        print(f"{'not ok' if circle else 'ok'} {number} - {name}")
        if circle:
            print("# these refer to each other: " + " ".join(circle))


if __name__ == "__main__":
    main()

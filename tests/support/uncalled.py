#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Public functions that no program needs: declared in a header of a room (not in *_priv.h), named in no source file but
their own outside of tests/ and benchmarks/. Each needs a fuzz target that calls it, or a reason below. Prints the others
and fails, also for a name of a function or type that two headers declare. Argument: the top folder. --list prints every
function with its reason.
"""
import collections
import os
import re
import sys

KEPT = {
    # tests and benchmarks build their worlds with these
    "flownet_solve": "a round whose proposals are all applied; programs decide each one",
    "latency_view_set": "one pair of latency_view_update()",
    "live_latency": "measurements without a matrix; programs have one",
    "structured_solve_fresh": "a solve that may not repair, to compare with one that did",
    "topology_jellyfish": "networks of one size and seed; programs parse them, topology_from_argument()",
    # state that no answer shows
    "agent_session_bytes": "benchmarks report the memory of a session",
    "flownet_job_limit": "numbers of jobs that ended are used again",
    "flownet_memory_bytes": "after a day of churn no more than a fresh start takes",
    "flownet_pending": "changes of one subject merge",
    "flownet_resting": "tasks that rest are left out and come back",
    "network_free_slots": "slots are conserved",
    "placer_rows_kept": "rows of jobs that ended are freed",
    "structured_unrouted": "units are conserved",
    # parts of a whole, compared one by one with a reference
    "lab_from_json": "the reader beside lab_to_json(), without namespaces",
    "topology_paths_compute_all": "the same paths whatever the number of threads",
    "routes_trace": "what the kernels' tables do between two changes",
    "sim_published_us": "the papers' quantiles",
}

WORD = re.compile(r"[A-Za-z_]\w*")
# A string ends on its line; comments and strings name no function.
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
TYPE = re.compile(r"^(?:struct|union|enum) (\w+) \{", re.M)
PROTOTYPE = re.compile(r"^(?!static|typedef|#|\s)[\w\s*]*?\b(\w+)\((?:[^(){};]|\([^()]*\))*\)[^;{}]*;", re.M)


def sources(top):
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "package", "demo-out"))]
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), top)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--list"]
    top = arguments[0] if arguments else "."
    texts = {path: NO_CODE.sub(" ", open(os.path.join(top, path), errors="replace").read()) for path in sources(top)}
    declared, types, status = {}, {}, 0
    for path, text in texts.items():
        if path.endswith(".h") and not path.endswith("_priv.h") and not path.startswith(("tests/", "benchmarks/")):
            for names, found in ((declared, PROTOTYPE.findall(text)), (types, TYPE.findall(text))):
                for name in found:
                    if names.setdefault(name, path) != path:
                        print(f"{path}: {name}: {names[name]} declares this name too: rename one of them")
                        status = 1
    users = collections.defaultdict(collections.Counter)
    for path, text in texts.items():
        for name in WORD.findall(text):
            if name in declared:
                users[name][path] += 1
    fuzzed = 0
    for name, header in sorted(declared.items(), key=lambda item: item[1::-1]):
        outside = [p for p in users[name] if not p.startswith(("tests/", "benchmarks/"))]
        own = re.compile(r"^\w[\w\s*]*\b%s\([^;]*?\)\s*\{" % name, re.M)
        # its prototype and its definition are no use
        if any(users[name][p] > 1 if p == header else not own.search(texts[p]) for p in outside):
            if name in KEPT:
                print(f"{name}: has a caller: delete its reason in tests/support/uncalled.py")
                status = 1
            continue
        is_fuzzed = any(p.startswith("tests/fuzz/") for p in users[name])
        fuzzed += is_fuzzed
        reason = KEPT.get(name) or ("a fuzz target calls it" if is_fuzzed else None)
        if "--list" in sys.argv:
            print(f"{header}: {name}: {reason or 'no reason'}")
        elif not reason:
            print(f"{header}: {name}() has no caller outside its file, tests and benchmarks: make it static, delete it, "
                  "or say why in tests/support/uncalled.py")
            status = 1
    for name in KEPT.keys() - declared.keys():
        print(f"{name}: is gone: delete its reason in tests/support/uncalled.py")
        status = 1
    if "--list" in sys.argv:
        print(f"{len(declared)} public functions; without a caller: {fuzzed} for fuzz targets, {len(KEPT)} for other reasons")
    return status


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our solver beside GLPK, CBC and HiGHS on the same instances in one run.

    peers.py BUILD_FOLDER [SEEDS] [SECONDS]

The model is problem (16) of the paper with co-location: built here from the scenario, sharing no code with ours. The peers
get all servers, GLPK our exact filter's. Exit 1 if two proved optima differ. Prints a JSON line for each solver.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

build, seeds, limit = Path(sys.argv[1]), int((sys.argv[2:3] or ["5"])[0]), float((sys.argv[3:4] or ["10"])[0])
nomora, peers = build / "bin/nomora", build / "benchmarks/recovery"
cbc = peers / "recovery_cbc"
try:
    import numpy as np
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp
except ImportError:
    milp = None

RECIPES = ["servers=500,apps=10,tasks=20,failed=8", "servers=500,apps=10,tasks=20,failed=8,demand=4",
           "servers=1000,apps=100,tasks=40,failed=20,dense"]


def model(s):
    """Rows of (coefficients, low, high); column 0 is p, then x[f][n], then y[f, g][n]."""
    failed_servers = set(s["failed_servers"])
    weights = sum(a["weight"] for a in s["applications"])
    home, lost, share, cpu = {}, [], {}, {}
    for a in s["applications"]:
        for t in a["tasks"]:
            key = (a["name"], t["name"])
            home[key] = None if t.get("failed") or t["server"] in failed_servers else t["server"]
            share[key] = a["weight"] / weights
            cpu[key] = t["cpu"]
            if home[key] is None:
                lost.append(key)
    servers = [x for x in s["servers"] if x["name"] not in failed_servers]
    column = {f: 1 + i * len(servers) for i, f in enumerate(lost)}
    base = {x["name"]: [0.0, 0.0] for x in servers}  # egress, ingress of surviving tasks' flows
    gain = {}  # (f, server name) -> load that stays local
    own = {f: [0.0, 0.0] for f in lost}
    pairs = {}
    for a in s["applications"]:
        for flow in a["flows"]:
            i, j = (a["name"], flow["from"]), (a["name"], flow["to"])
            restarts = home[i] is None or home[j] is None
            load = share[i] * (flow["MB"] - (0 if restarts else flow.get("sent_MB", 0)))
            if home[i] is None and home[j] is None:
                pairs[tuple(sorted((i, j)))] = pairs.get(tuple(sorted((i, j))), 0) + load
            elif home[i] is not None and home[i] == home[j]:
                continue
            if home[i] is None:
                own[i][0] += load
                if home[j] is not None:
                    gain[i, home[j]] = gain.get((i, home[j]), 0) + load
            else:
                base[home[i]][0] += load
            if home[j] is None:
                own[j][1] += load
                if home[i] is not None:
                    gain[j, home[i]] = gain.get((j, home[i]), 0) + load
            else:
                base[home[j]][1] += load
    first_y = 1 + len(lost) * len(servers)
    rows = []
    for n, x in enumerate(servers):
        for way, capacity in ((0, x["egress_MBps"]), (1, x["ingress_MBps"])):
            row = {0: -capacity}
            for f in lost:
                row[column[f] + n] = own[f][way] - gain.get((f, x["name"]), 0)
            for q, load in enumerate(pairs.values()):
                row[first_y + q * len(servers) + n] = -load
            rows.append((row, -1e30, -base[x["name"]][way]))
        used = sum(size for key, size in cpu.items() if home[key] == x["name"])
        rows.append(({column[f] + n: cpu[f] for f in lost}, -1e30, x["cpu"] - used))
    for f in lost:
        rows.append(({column[f] + n: 1 for n in range(len(servers))}, 1, 1))
    for q, (f, g) in enumerate(pairs):
        for n in range(len(servers)):
            for end in (f, g):
                rows.append(({first_y + q * len(servers) + n: 1, column[end] + n: -1}, -1e30, 0))
    return rows, first_y + len(pairs) * len(servers), first_y


def by_highs(rows, columns, first_y):
    data = [(r, c, v) for r, (row, _, _) in enumerate(rows) for c, v in row.items()]
    r, c, v = zip(*data)
    matrix = sparse.csr_matrix((v, (r, c)), shape=(len(rows), columns))
    integer = np.zeros(columns)
    integer[1:first_y] = 1
    high = np.ones(columns)
    high[0] = np.inf
    begin = time.monotonic()
    result = milp(np.eye(1, columns)[0], integrality=integer, bounds=Bounds(0, high),
                  constraints=LinearConstraint(matrix, [x[1] for x in rows], [x[2] for x in rows]),
                  options={"time_limit": limit, "mip_rel_gap": 1e-7})
    return "optimal" if result.status == 0 else "open", result.fun if result.fun is not None else float("nan"), time.monotonic() - begin


def write_mps(path, rows, columns, first_y):
    by_column = [[] for _ in range(columns)]
    for r, (row, _, _) in enumerate(rows):
        for c, v in row.items():
            by_column[c].append((r, v))
    with open(path, "w", encoding="ascii") as out:
        out.write("NAME recovery\nROWS\n N cost\n")
        out.writelines(f" {'E' if low == high else 'L'} r{r}\n" for r, (_, low, high) in enumerate(rows))
        out.write("COLUMNS\n x0 cost 1\n")
        for c, entries in enumerate(by_column):
            if c == 1:
                out.write(" M1 'MARKER' 'INTORG'\n")
            if c == first_y:
                out.write(" M2 'MARKER' 'INTEND'\n")
            out.writelines(f" x{c} r{r} {v:.15g}\n" for r, v in entries)
        if first_y == columns:
            out.write(" M2 'MARKER' 'INTEND'\n")
        out.write("RHS\n")
        out.writelines(f" rhs r{r} {high:.15g}\n" for r, (_, _, high) in enumerate(rows) if high)
        out.write("BOUNDS\n")
        out.writelines(f" UP b x{c} 1\n" for c in range(1, columns))
        out.write("ENDATA\n")


def by_program(program, path):
    words = subprocess.run([program, path, str(limit)], capture_output=True, text=True, check=False).stdout.split()
    return (words[-3], float(words[-2]), float(words[-1])) if len(words) >= 3 else ("failed", float("nan"), limit)


def ours(path):
    out = subprocess.run([nomora, "recover", "--json", path], capture_output=True, text=True, check=False).stdout
    answer = json.loads(out)
    return answer["status"], answer.get("p", float("nan")), answer["solve_ms"] / 1000


for recipe in RECIPES:
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        path, mps = f"{folder}/s.json", f"{folder}/s.mps"
        for seed in range(1, seeds + 1):
            subprocess.run([nomora, "recover", "--generate", f"{recipe},seed={seed}", "--scenario", path], check=True, stdout=subprocess.DEVNULL)
            runs = {"ours": ours(path), "glpk": by_program(peers / "recovery_glpk", path)}
            if milp or cbc.exists():
                with open(path, encoding="utf-8") as file:
                    parts = model(json.load(file))
                if milp:
                    runs["highs"] = by_highs(*parts)
                if cbc.exists():
                    write_mps(mps, *parts)
                    runs["cbc"] = by_program(cbc, mps)
            for name, run in runs.items():
                results.setdefault(name, []).append(run)
                if run[0] == "optimal" and abs(run[1] - runs["ours"][1]) > 1e-5 * runs["ours"][1]:
                    print(f"DISAGREE {recipe} seed {seed}: ours {runs['ours'][1]}, {name} {run[1]}", file=sys.stderr)
                    sys.exit(1)
    for name, list_ in results.items():
        times = sorted(r[2] for r in list_)
        print(json.dumps({"benchmark": "recovery_peers", "instances": recipe, "solver": name, "count": len(list_),
                          "proved": sum(r[0] == "optimal" for r in list_), "median_s": round(statistics.median(times), 5),
                          "worst_s": round(times[-1], 5), "limit_s": limit}), flush=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""predict_collectives.py NOMORA FOLDER: the run time of one collective by each algorithm of --collective against a schedule in
GOAL that is made here, from the algorithm's rounds as textbooks have them. Prints what differs."""
import json
import subprocess
import sys

NOMORA, FOLDER = sys.argv[1:3]
# No rendezvous: a schedule cannot say that a receive is asked for as soon as a long send was given to the network.
MODEL = ["--latency", "7", "--overhead", "2", "--gap", "3", "--eager", "1000000", "--longest", "1000", "--json"]
# call: name in the trace, its arguments before the communicator
CALLS = {
    "barrier": ("MPI_Barrier:0", 0), "bcast": ("MPI_Bcast:0:1:{n}:1,1,1:{root}", 1), "reduce": ("MPI_Reduce:0:1:2:{n}:1,1,1:3:{root}", 1),
    "allreduce": ("MPI_Allreduce:0:1:2:{n}:1,1,1:3", 0), "gather": ("MPI_Gather:0:1:{n}:1,1,1:2:{n}:1,1,1:{root}", 1),
    "scatter": ("MPI_Scatter:0:1:{n}:1,1,1:2:{n}:1,1,1:{root}", 1), "allgather": ("MPI_Allgather:0:1:{n}:1,1,1:2:{n}:1,1,1", 0),
    "alltoall": ("MPI_Alltoall:0:1:{n}:1,1,1:2:{n}:1,1,1", 0), "scan": ("MPI_Scan:0:1:2:{n}:1,1,1:3", 0),
}


def steps(ranks):
    step = 1
    while step < ranks:
        yield step
        step *= 2


def tree(ranks, size):
    """Rounds from the leaves up: (child, parent, bytes)."""
    return [[(r + s, r, size(min(s, ranks - r - s))) for r in range(0, ranks - s, 2 * s)] for s in steps(ranks)]


def down(rounds):
    return [[(to, of, b) for of, to, b in one] for one in reversed(rounds)]


def doubling(ranks, n):
    power = 1 << (ranks.bit_length() - 1)
    extra = [(power + i, i, n) for i in range(ranks - power)]
    return [extra] + [[(r, r ^ s, n) for r in range(power)] for s in steps(power)] + [[(to, of, b) for of, to, b in extra]]


ALGORITHMS = {
    ("barrier", "dissemination"): lambda p, n: [[(r, (r + s) % p, 0) for r in range(p)] for s in steps(p)],
    ("barrier", "doubling"): lambda p, n: doubling(p, 0),
    ("barrier", "tree"): lambda p, n: tree(p, lambda k: 0) + down(tree(p, lambda k: 0)),
    ("bcast", "tree"): lambda p, n: down(tree(p, lambda k: n)),
    ("bcast", "chain"): lambda p, n: [[(r, r + 1, n)] for r in range(p - 1)],
    ("bcast", "linear"): lambda p, n: [[(0, r, n) for r in range(1, p)]],
    ("reduce", "tree"): lambda p, n: tree(p, lambda k: n),
    ("reduce", "chain"): lambda p, n: [[(r, r - 1, n)] for r in range(p - 1, 0, -1)],
    ("reduce", "linear"): lambda p, n: [[(r, 0, n) for r in range(1, p)]],
    ("allreduce", "doubling"): doubling,
    ("allreduce", "ring"): lambda p, n: [[(r, (r + 1) % p, -(-n // p)) for r in range(p)]] * (2 * p - 2),
    ("allreduce", "tree"): lambda p, n: tree(p, lambda k: n) + down(tree(p, lambda k: n)),
    ("gather", "tree"): lambda p, n: tree(p, lambda k: k * n),
    ("gather", "linear"): lambda p, n: [[(r, 0, n) for r in range(1, p)]],
    ("scatter", "tree"): lambda p, n: down(tree(p, lambda k: k * n)),
    ("scatter", "linear"): lambda p, n: [[(0, r, n) for r in range(1, p)]],
    ("allgather", "dissemination"): lambda p, n: [[(r, (r + s) % p, min(s, p - s) * n) for r in range(p)] for s in steps(p)],
    ("allgather", "ring"): lambda p, n: [[(r, (r + 1) % p, n) for r in range(p)]] * (p - 1),
    ("alltoall", "pairwise"): lambda p, n: [[(r, (r + s) % p, n) for r in range(p)] for s in range(1, p)],
    ("alltoall", "linear"): lambda p, n: [[(r, (r + s) % p, n) for s in range(1, p) for r in range(p)]],
    ("scan", "chain"): lambda p, n: [[(r, r + 1, n)] for r in range(p - 1)],
}


def goal(ranks, rounds, root):
    """A rank's sends of a round follow its round before; its receives follow the sends, one after the other."""
    lines, last, count, tag = [[] for _ in range(ranks)], [[] for _ in range(ranks)], 0, 0
    for one in rounds:
        tag += 1
        sends, ends = [[] for _ in range(ranks)], [[] for _ in range(ranks)]
        for kind in "send", "recv":
            for of, to, size in one:
                of, to = (of + root) % ranks, (to + root) % ranks
                rank, other = (of, to) if kind == "send" else (to, of)
                count += 1
                label = f"l{count}"
                lines[rank].append(f"{label}: {kind} {size}b {'to' if kind == 'send' else 'from'} {other} tag {tag}")
                lines[rank] += [f"{label} requires {b}" for b in last[rank]]
                if kind == "recv":
                    lines[rank] += [f"{label} requires {s}" for s in sends[rank] + ends[rank][-1:]]
                else:
                    sends[rank].append(label)
                ends[rank].append(label)
        last = [ends[r] or last[r] for r in range(ranks)]
    text = f"num_ranks {ranks}\n"
    for rank in range(ranks):
        text += f"rank {rank} {{\n" + "".join(line + "\n" for line in lines[rank]) + "}\n"
    return text


def pieces(arguments):
    done = subprocess.run([NOMORA, "predict", *MODEL, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    return [(p["added_rtt_us"], p["run_time_s"], p["messages"]) for p in json.loads(done.stdout)["pieces"]]


def near(a, b):
    return not isinstance(a, str) and not isinstance(b, str) and len(a) == len(b) and \
        all(abs(x - y) <= 1e-9 * max(abs(x), abs(y)) for p, q in zip(a, b) for x, y in zip(p, q))


def check(call, algorithm, ranks, n, root):
    files = []
    for rank in range(ranks):
        files.append(f"{FOLDER}/rank-{rank}.txt")
        line = CALLS[call][0].format(n=n, root=root)
        with open(files[-1], "w") as out:
            out.write(f"MPI_Init:-:0\n{line}:7,{rank},{ranks}:1\nMPI_Finalize:1:-\n")
    with open(f"{FOLDER}/one.goal", "w") as out:
        out.write(goal(ranks, ALGORITHMS[call, algorithm](ranks, 0 if call == "barrier" else n), root))
    found, expected = pieces(["--collective", f"{call}={algorithm}", *files]), pieces([f"{FOLDER}/one.goal"])
    if not near(found, expected):
        print(f"{call}={algorithm}, {ranks} ranks, {n} bytes, root {root}: {found}, expected {expected}")


known = subprocess.run([NOMORA, "predict", "--collective", "none", "x"], capture_output=True, text=True).stderr.split("one of ")[1]
if set(known.strip().split(", ")) != {f"{call}={algorithm}" for call, algorithm in ALGORITHMS}:
    print(f"the algorithms are {known}")
for (call, algorithm) in ALGORITHMS:
    for ranks in 3, 6, 8:
        for n in 64, 20000:
            check(call, algorithm, ranks, n, 1 if CALLS[call][1] else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory.py ALLOCATOR BIN SOURCE: every command when memory runs out. The preloaded allocator (tests/support/fail_malloc.c)
fails one allocation at a time; the command must end by itself, with its usual answer or an exit code of its own and a
message. By default a few sites of each command; NOMORA_MEMORY=all tries every one, NOMORA_MEMORY=NAME those of one
command."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

ALLOCATOR, BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:4])
CHOSEN = os.environ.get("NOMORA_MEMORY", "")
SITES = 40  # per command, unless all are tried
# cairo draws with another font if that of its choice is out of memory; a text stream that runs out drops characters.
NOT_COMPARED = (".svg", ".png", ".html")
# doctor's figures differ from run to run; recover may prove less, in fewer nodes (tests/sched/memory looks at its answer).
FREE_ANSWERS = ("doctor", "recover")

FILES = {
    "cluster.json": '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 2},'
                    ' {"name": "h2", "rack": "r1", "slots": 2}, {"name": "h3", "rack": "r2", "slots": 2}]}\n',
    "jobs.jsonl": '{"id": "web", "curve": "memcached", "root": "server", "tasks": ["server", "c1", "c2"]}\n',
    "mesh.csv": "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
                "h1,h2,10,12,20,0,100,1795188663.25\nh1,h3,410,412,420,0,100,1795188663.25\n",
    "nodes.csv": "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
                 "n0,n2,10,12,20,0,100,1795188663.25\n",
    "data.csv": "y,x\n1,0\n0.9,1\n0.81,2\n0.73,3\n0.66,4\n",
    "plain.csv": "0,1\n100,0.9\n200,0.8\n300,0.7\n400,0.6\n500,0.5\n",
    "small.csv": "delay_us,direction,run,metric,unit,better,value\n0,both,0,rate,1/s,higher,50\n",
    "small.csv.log": '{"event":"plan","fingerprint":"x","file":"delays = 0 5 10\\n"}\n'
                     '{"event":"attempt","delay_us":0,"run":0,"attempt":1,"elapsed_s":1,"injector":{"packets":9}}\n'
                     '{"event":"accepted","delay_us":0,"run":0,"attempt":1}\n',
    "page.html": '<script type="application/json" id="nomora-page">{"schema": "nomora.page/1", "files": '
                 '[{"name": "a.csv", "text": "0,1\\n"}]}</script>\n',
    "steps.tsv": "2\tnomora sweep\tthe sweep\n",
    "small.dimacs": "p min 4 5\nn 1 2\nn 4 -2\na 1 2 0 2 1\na 1 3 0 1 2\na 2 3 0 1 1\na 2 4 0 1 3\na 3 4 0 2 1\n",
    "small.plan": "application = web\ndelays = 0 5 10\ninjector = none.sock\nserver-host = local\nclient-host = local\n"
                  "client = true\nmetric = qps 1/s higher json:qps\n",
}
CURVES, DATA = os.path.join(SOURCE, "curves"), os.path.join(SOURCE, "tests", "data")
PLACE = ["--cluster", "cluster.json", "--jobs", "jobs.jsonl", "--latency", "mesh.csv", "--curves", CURVES]

COMMANDS = {
    "help": ["--help"],
    "doctor": ["doctor", "--json"],
    "fit": ["fit", "plain.csv", "--replicates", "5", "-o", "curve.json", "--plot", "curve.svg", "--json"],
    "fit, text": ["fit", os.path.join(SOURCE, "docs/sweeps/redis-1.csv"), "--replicates", "0", "--model", "monotone"],
    "fit --expr": ["fit", "data.csv", "--expr", "exp(-x/s)", "--start", "s=5", "-o", "e.json", "--json"],
    "fit --compare": ["fit", "--compare", CURVES + "/memcached.json", CURVES + "/strads.json", "--json"],
    "mesh show": ["mesh", "show", "mesh.csv", "--cluster", "cluster.json", "--json"],
    "mesh draw": ["mesh", "draw", "mesh.csv", "--cluster", "cluster.json", "-o", "mesh.png"],
    "mesh merge": ["mesh", "merge", "mesh.csv", "mesh.csv", "-o", "merged.csv"],
    "place": ["place", *PLACE, "--verify", "--json", "--draw", "net.json"],
    "place, random": ["place", *PLACE, "--policy", "random", "--dump-dimacs", "net.dimacs"],
    "gain": ["gain", "--sacct", DATA + "/slurm/squeue.txt", "--latency", "mesh.csv", "--curves", CURVES, "--curve", "spark"],
    "gain, pods": ["gain", "--kubectl", DATA + "/k8s/pods.json", "--latency", "nodes.csv", "--curves", CURVES, "--json"],
    "solve": ["solve", "small.dimacs", "--verify", "--flow", "--json"],
    "solve, simplex": ["solve", "small.dimacs", "--algorithm", "simplex"],
    "sweep --dry-run": ["sweep", "small.plan", "--dry-run", "--json"],
    "sweep of a command": ["sweep", "-o", "out.csv", "--dry-run", "--server", "redis-server --bind {server}", "--", "redis-benchmark", "-h", "{server}"],
    "simulate": ["simulate", "--machines", "16", "--hours", "0.01", "--curves", CURVES, "--policy", "nomora", "-o", "simulated"],
    "tracegen": ["tracegen", "--machines", "8", "--hours", "0.01", "trace"],
    "tracegen --like": ["tracegen", "--like", DATA + "/fuzz/batch_csv_1", "trace"],
    "simulate --csv": ["simulate", "--csv", DATA + "/fuzz/batch_csv_1", "--curves", CURVES, "--hours", "0.01", "-o", "simulated"],
    "predict": ["predict", DATA + "/fuzz/goal_1", "--hosts", "a,b", "-o", "c.json", "--job", "j.jsonl", "--json"],
    "predict, capture": ["predict", DATA + "/predict/redis.pcap", "-o", "c.json", "--json"],
    "trace --calibrate": ["trace", "--calibrate", "model.json", "--", "sh", "-c", "cat '" + DATA + "/fuzz/loggps_2'"],
    "predict --model": ["predict", "--model", DATA + "/fuzz/loggps_1", DATA + "/fuzz/goal_1"],
    "predict, runs": ["predict", "--runs", "2", DATA + "/fuzz/goal_1", DATA + "/fuzz/goal_1", "--measured", "plain.csv", "-o", "c.json", "--json"],
    "predict, traces": ["predict", *(DATA + f"/predict/sweep3d-{rank}.txt.gz" for rank in range(4))],
    "recover": ["recover", DATA + "/fuzz/recovery_1", "--json"],
    "dataflow": ["dataflow", "plan", DATA + "/fuzz/dataflow_1", "--json"],
    "dataflow simulate": ["dataflow", "simulate", DATA + "/fuzz/dataflow_1", "--until", "9", "--fail", "host:h2@3-6", "--json"],
    "dataflow, graphml": ["dataflow", "plan", "-t", DATA + "/graphml/zoo.graphml", "--slots", "2", "--generate", "storm,jobs=1", "--json"],
    "dataflow, lldp": ["dataflow", "plan", "-t", DATA + "/lldp", "--slots", "4", "--generate", "storm,jobs=1", "--json"],
    "rtt": ["rtt", DATA + "/fuzz/capture/probes.pcap", "--json"],
    "inject-check": ["inject-check", DATA + "/fuzz/pcapng/cut.pcapng", "--json"],
    "report": ["report", "--curve", CURVES + "/memcached.json", "--latency", "mesh.csv", "--cluster", "cluster.json",
               "--steps", "steps.tsv", "-o", "report.html"],
    "report --sweep": ["report", "--sweep", "small.csv", "--attach", "steps.tsv", "-o", "report.html"],
    "report --extract": ["report", "--extract", "page.html", "-o", "files"],
    "setup": ["setup", "host", "--server", "nats://bus:4222", "--interface", "lo", "--address", "10.0.0.1/24", "--folder", "etc", "--files-only"],
    "load": ["load", "127.0.0.1:1", "--duration", "0.1"],
    "jobs": ["jobs", "--socket", "none.sock"],
}


def run(arguments, folder, **variables):
    """Runs a command in a folder beside that of its inputs."""
    os.makedirs(folder, exist_ok=True)
    environment = {**os.environ, "LD_PRELOAD": ALLOCATOR, **variables}
    with open(os.path.join(folder, "stdout"), "wb") as out, open(os.path.join(folder, "stderr"), "wb") as err:
        return subprocess.run([os.path.join(BIN, "nomora"), *arguments], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=out, stderr=err).returncode


def answer(folder):
    """The lines of what a command says and writes."""
    lines = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if name == "stderr" or name.endswith(NOT_COMPARED):
                continue
            with open(os.path.join(path, name), "rb") as file:
                lines[os.path.relpath(file.name, folder)] = file.read().split(b"\n")
    return lines


def differs(usual, again, found):
    """Names of the files that are not as usual. Lines that differ every time (durations) do not count."""
    names = []
    for name in usual.keys() | found.keys():
        one, two, other = (lines.get(name, []) for lines in (usual, again, found))
        if len(one) != len(other) or any(a == b != c for a, b, c in zip(one, two, other)):
            names.append(name)
    return names


def try_command(top, name, arguments):
    """The errors found: a command gives its usual answer or an error. And the number of sites."""
    arguments = [os.path.join("../..", a) if a in FILES else a for a in arguments]
    folder = tempfile.mkdtemp(dir=top)
    with tempfile.NamedTemporaryFile(dir=top) as count_file:
        usual_code = run(arguments, os.path.join(folder, "usual"), FAIL_MALLOC_COUNT=count_file.name)
        sites = int(count_file.read() or 0)
    if sites == 0:
        return [f"nothing was allocated: does the command line still fit? exit {usual_code}"], 0
    run(arguments, os.path.join(folder, "again"))
    step = 1 if CHOSEN else max(1, -(-sites // SITES))
    run(arguments, folder, FAIL_MALLOC_EACH=f"{sites}/{step}")
    usual, again = (answer(os.path.join(folder, run)) for run in ("usual", "again"))
    with open(os.path.join(folder, "statuses")) as file:
        codes = {int(site): os.waitstatus_to_exitcode(int(status)) for site, status in map(str.split, file)}
    wrong = [] if len(codes) == -(-sites // step) else [f"{len(codes)} runs for {sites} sites"]
    for site, code in codes.items():
        with open(os.path.join(folder, str(site), "stderr"), errors="replace") as file:
            message = file.read().strip()
        different = differs(usual, again, answer(os.path.join(folder, str(site)))) if code == 0 else []
        if code not in (0, 1, 2, 3):
            wrong.append(f"site {site}: exit {code} {message[-200:]}")
        # doctor's message is its findings, on standard output
        elif code != usual_code and not message and arguments[0] != "doctor":
            wrong.append(f"site {site}: exit {code} without a message")
        elif different and arguments[0] not in FREE_ANSWERS:
            wrong.append(f"site {site}: exit 0 with other {', '.join(different)} {message[-200:]}")
    shutil.rmtree(folder, ignore_errors=True)
    return wrong, sites


def main():
    names = [name for name in COMMANDS if CHOSEN in ("", "all", name)]
    top = tempfile.mkdtemp(prefix="nomora-memory-")
    for name, text in FILES.items():
        with open(os.path.join(top, name), "w") as file:
            file.write(text)
    print(f"1..{len(names)}")
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(lambda name: try_command(top, name, COMMANDS[name]), names)
            for number, (name, (wrong, sites)) in enumerate(zip(names, found), 1):
                print(f"{'not ok' if wrong else 'ok'} {number} - out of memory in nomora {name}: {sites} places", flush=True)
                for text in wrong:
                    print("# " + text.replace("\n", "\n# "), flush=True)
    finally:
        shutil.rmtree(top, ignore_errors=True)


main()

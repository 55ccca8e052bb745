#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory.py ALLOCATOR BIN SOURCE: every command when memory runs out. The preloaded allocator (tests/support/fail_malloc.c)
fails one allocation; the command must end by itself, with an exit code of its own and a message. By default a few sites
of each command; NOMORA_MEMORY=all tries every one, NOMORA_MEMORY=NAME those of one command."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

ALLOCATOR, BIN, SOURCE = (os.path.abspath(a) for a in sys.argv[1:4])
CHOSEN = os.environ.get("NOMORA_MEMORY", "")
SITES = 12  # per command, unless all are tried

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
    "simulate --csv": ["simulate", "--csv", DATA + "/fuzz/batch_csv_1", "--curves", CURVES, "--hours", "1", "-o", "simulated"],
    "predict": ["predict", DATA + "/fuzz/goal_1", "--hosts", "a,b", "-o", "c.json", "--job", "j.jsonl", "--json"],
    "predict, capture": ["predict", DATA + "/predict/redis.pcap", "-o", "c.json", "--json"],
    "trace --calibrate": ["trace", "--calibrate", "model.json", "--", "sh", "-c", "cat '" + DATA + "/fuzz/loggps_2'"],
    "predict --model": ["predict", "--model", DATA + "/fuzz/loggps_1", DATA + "/fuzz/goal_1"],
    "predict, runs": ["predict", "--runs", "2", DATA + "/fuzz/goal_1", DATA + "/fuzz/goal_1", "--measured", "plain.csv", "-o", "c.json", "--json"],
    "predict, traces": ["predict", *(DATA + f"/predict/sweep3d-{rank}.txt.gz" for rank in range(4))],
    "recover": ["recover", DATA + "/fuzz/recovery_1", "--json"],
    "dataflow": ["dataflow", "plan", DATA + "/fuzz/dataflow_1", "--json"],
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
    environment = {**os.environ, "LD_PRELOAD": ALLOCATOR, **variables}
    try:
        return subprocess.run([os.path.join(BIN, "nomora"), *arguments], cwd=folder, env=environment, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.cmd, "no end", b"", b"")


def fresh_folder(top):
    folder = tempfile.mkdtemp(dir=top)
    for name, text in FILES.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    return folder


def try_site(top, arguments, site, usual):
    """None, or the error found."""
    folder = fresh_folder(top)
    ended = run(arguments, folder, FAIL_MALLOC_SITE=str(site))
    shutil.rmtree(folder, ignore_errors=True)
    message = ended.stderr.decode(errors="replace").strip()
    if ended.returncode not in (0, 1, 2, 3):
        return f"site {site}: exit {ended.returncode} {message[-200:]}"
    # doctor's message is its findings, on standard output
    if ended.returncode != usual and not message and arguments[0] != "doctor":
        return f"site {site}: exit {ended.returncode} without a message"
    return None


def try_command(top, pool, name, arguments):
    folder = fresh_folder(top)
    count_file = os.path.join(folder, "sites")
    usual = run(arguments, folder, FAIL_MALLOC_COUNT=count_file)
    try:
        with open(count_file) as file:
            sites = int(file.read())
    except OSError:
        return [f"no sites were counted: exit {usual.returncode} {usual.stderr.decode(errors='replace')[-300:]}"], 0
    shutil.rmtree(folder, ignore_errors=True)
    if sites == 0:
        return ["nothing was allocated: does the command line still fit?"], 0
    chosen = range(1, sites + 1)
    if not CHOSEN and sites > SITES:
        chosen = sorted({1 + i * (sites - 1) // (SITES - 1) for i in range(SITES)})
    wrong = pool.map(lambda site: try_site(top, arguments, site, usual.returncode), chosen)
    return [text for text in wrong if text], sites


def main():
    names = [name for name in COMMANDS if CHOSEN in ("", "all", name)]
    top = tempfile.mkdtemp(prefix="nomora-memory-")
    print(f"1..{len(names)}")
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, name in enumerate(names, 1):
                wrong, sites = try_command(top, pool, name, COMMANDS[name])
                print(f"{'not ok' if wrong else 'ok'} {number} - out of memory in nomora {name}: {sites} places", flush=True)
                for text in wrong:
                    print("# " + text.replace("\n", "\n# "), flush=True)
    finally:
        shutil.rmtree(top, ignore_errors=True)


main()

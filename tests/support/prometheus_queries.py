#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prometheus_queries.py FOLDER TARGET TOKEN_FILE|- RULES DASHBOARD JOB: starts a real Prometheus in FOLDER that scrapes TARGET
(HOST:PORT), then runs every query of the dashboard until each has an answer, and looks that every rule can be evaluated."""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

FOLDER, TARGET, TOKEN, RULES, DASHBOARD, JOB = sys.argv[1:7]
DEADLINE_S = 90


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def config():
    scrape = {"job_name": JOB, "static_configs": [{"targets": [TARGET]}]}
    if TOKEN != "-":
        scrape["authorization"] = {"credentials_file": os.path.abspath(TOKEN)}
    path = os.path.join(FOLDER, "prometheus.yml")
    with open(path, "w") as file:  # JSON is YAML
        json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [os.path.abspath(RULES)],
                   "scrape_configs": [scrape]}, file)
    return path


def start():
    """Retries, as another program may take the port between its choice and its use."""
    path = config()
    for _ in range(5):
        port = free_port()
        log = open(os.path.join(FOLDER, "prometheus.log"), "w")
        process = subprocess.Popen(["prometheus", "--config.file=" + path, "--storage.tsdb.path=" + os.path.join(FOLDER, "data"),
                                    f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        with open(os.path.join(FOLDER, "prometheus.pid"), "w") as file:  # for the clean-up, should this script be killed
            print(process.pid, file=file)
        until = time.time() + DEADLINE_S
        while process.poll() is None and time.time() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10).read()
                return process, port
            except OSError:
                time.sleep(0.1)
        process.kill()
    raise AssertionError("prometheus does not start; see prometheus.log")


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return json.load(answer)


def queries():
    with open(DASHBOARD) as file:
        return [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]


process, port = start()
try:
    waiting, until = queries(), time.time() + DEADLINE_S
    count = len(waiting)
    while waiting and time.time() < until:
        waiting = [query for query in waiting
                   if not get(port, "/api/v1/query?query=" + urllib.parse.quote(query))["data"]["result"]]
        time.sleep(0.2)
    assert not waiting, f"no answer to {waiting}"
    rules = []
    while time.time() < until:
        rules = [rule for group in get(port, "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        if rules and all(rule["health"] != "unknown" for rule in rules):
            break
        time.sleep(0.2)
    bad = [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"]
    assert rules and not bad, f"rules that cannot be evaluated: {bad or 'all'}"
    print(f"{count} queries answered, {len(rules)} rules evaluated")
finally:
    process.kill()
    process.wait()

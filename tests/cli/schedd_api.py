# SPDX-License-Identifier: BSD-3-Clause
"""schedd's OpenAPI description against the running daemon: each operation is called, rightly and wrongly, and each
answer has a status and a body as described; what is described exists, and what exists is described."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import jsonschema

bin_folder, source = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="nomora-api.", dir="/tmp")  # the path of a unix socket must be short
number = 0


def check(name, good, told=""):
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {name}", *([] if good else ["\n# " + str(told)]), flush=True)


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(60)
    connection.sock.connect(folder + "/socket")
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type").split(";")[0], answer.read().decode()


def machines_since(version):
    answer = json.loads(ask("GET", f"/v1/machines?since={version}")[2])
    return [machine["name"] for machine in answer["machines"]], answer["version"], answer["whole"]


def answers():
    try:
        return ask("GET", "/healthz")[0] == 200
    except OSError:
        return False


machines = [{"name": f"h{m}", "rack": f"r{m // 2}", "slots": 4} for m in range(4)]
json.dump({"schema": "nomora.cluster/1", "machines": machines}, open(folder + "/cluster.json", "w"))
with open(folder + "/latency.csv", "w") as mesh:
    print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at", file=mesh)
    for a in range(4):
        for b in range(4):
            if a != b:
                print(f"h{a},h{b},20,20,20,0,100,{int(time.time())}", file=mesh)
command = [bin_folder + "/nomora-schedd", "schedd", "--state", folder + "/state", "--socket", folder + "/socket"]
command += ["--cluster", folder + "/cluster.json", "--curves", source + "/curves", "--latency", folder + "/latency.csv"]
command += ["--max-age", "0", "--network", "leafspine:2,1,4", "--recovery-hold-ms", "0"]
daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
try:
    limit = time.time() + 30
    while not answers() and time.time() < limit:
        time.sleep(0.05)
    status, _, text = ask("GET", "/v1/openapi.json")
    described = json.loads(text)
    errors = []
    for name, schema in described["components"]["schemas"].items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            errors.append(f"{name}: {error.message}")
    check("the description has valid schemas", status == 200 and not errors, errors)

    rows = re.findall(r'^\t\{"(\w+)", "([^"]+)", ', open(source + "/sched/schedd/api.c").read(), re.MULTILINE)
    operations = {
        (method.upper(), path) for path, item in described["paths"].items() for method in item if method != "parameters"
    }
    known = {(method, re.sub(r"/\{.*", "", path)) for method, path in operations}
    check("it has the routes of the daemon", known == set(rows), known ^ set(rows))

    called, seen = set(), set()

    def resolve(part):
        while "$ref" in part:
            name = part["$ref"].split("/")[1:]
            part = described
            for word in name:
                part = part[word]
        return part

    def calls(method, path, wanted, body=None, query="", **names):
        """The operation answers with this status, and with a body as described. Returns the body."""
        operation = described["paths"][path][method.lower()]
        status, kind, text = ask(method, path.format(**names) + query, body)
        called.add((method, path))
        seen.add((method, path, status))
        told = f"{status} {kind} {text[:300]}"
        response = resolve(operation["responses"].get(str(status), {"content": {}}))
        good, value = status == wanted and kind in response["content"], text
        if good and kind == "application/json":
            value = json.loads(text)
            schema = {**response["content"][kind]["schema"], "components": described["components"]}
            errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(value), key=str)
            good, told = not errors, f"{[error.message for error in errors]} {told}"
        check(f"{method} {path.format(**names)}{query}: {wanted}", good, told)
        return value

    job = {"id": "web", "curve": "memcached", "root": 0, "tasks": 3, "command": ["true"], "graph": [[0, 1, 1, 60], [0, 2, 1, 30, 5]]}
    calls("POST", "/v1/jobs", 200, json.dumps({**job, "id": "dry"}), "?dry_run=1")
    calls("POST", "/v1/jobs", 201, json.dumps(job), "?move=1&restart_s=2")
    calls("POST", "/v1/jobs", 200, json.dumps(job))
    calls("POST", "/v1/jobs", 409, json.dumps({**job, "tasks": 4}))
    calls("POST", "/v1/jobs", 400, json.dumps(job) + "\n{")
    calls("POST", "/v1/jobs", 400, json.dumps({**job, "id": "x", "curve": "none"}))
    calls("POST", "/v1/jobs", 400, "", "?restart_s=soon")
    decided = []
    limit = time.time() + 30
    while len(decided) < 3 and time.time() < limit:
        decided = json.loads(ask("GET", "/v1/decisions?after=0&wait=1")[2])["decisions"]
    calls("GET", "/v1/decisions", 200, query="?after=0")
    calls("GET", "/v1/jobs", 200)
    calls("GET", "/v1/jobs/{id}", 200, id="web")
    calls("GET", "/v1/jobs/{id}", 404, id="none")
    started = [{"event": "started", "job": "web", "task": d["task"], "machine": d["to"]} for d in decided]
    event = {"event": "started", "job": "web", "task": "t9"}
    calls("POST", "/v1/events", 200, "\n".join(map(json.dumps, started)))
    calls("POST", "/v1/events", 404, json.dumps(event))
    calls("POST", "/v1/events", 400, json.dumps({**event, "event": "dances"}))
    described_event = {"$ref": "#/components/schemas/Event", "components": described["components"]}
    check("an event is as described", all(jsonschema.Draft202012Validator(described_event).is_valid(e) for e in started))
    flows = [{"job": "web", "from": "t0", "to": "t1", "MB": 2.5}, {"job": "gone", "from": "t0", "to": "t1", "MB": 1}]
    taken = calls("POST", "/v1/flows", 200, "\n".join(map(json.dumps, flows)))
    check("a flow of an unknown job is not taken", taken == {"taken": 1}, taken)
    described_flow = {"$ref": "#/components/schemas/Flow", "components": described["components"]}
    check("a flow is as described", all(jsonschema.Draft202012Validator(described_flow).is_valid(f) for f in flows))
    calls("POST", "/v1/flows", 400, json.dumps({**flows[0], "MB": -1}))
    calls("GET", "/v1/explain/{job}/{task}", 200, job="web", task="t1")
    calls("GET", "/v1/explain/{job}/{task}", 404, job="web", task="t9")
    calls("POST", "/v1/what-if", 200, json.dumps({"changes": ["down h0"], "jobs": json.dumps({**job, "id": "y"}), "within_s": 10}))
    calls("GET", "/v1/recovery", 404)
    forecast = calls("POST", "/v1/what-if", 200, json.dumps({"changes": ["fail h0 " + decided[0]["to"]]}))
    check("a forecast has the recovery", forecast.get("recovery", {}).get("tasks"), forecast)
    calls("POST", "/v1/what-if", 404, json.dumps({"changes": ["down h9"]}))
    calls("POST", "/v1/what-if", 400, json.dumps({"changes": ["dance h0"]}))
    calls("POST", "/v1/changes", 200, json.dumps({"changes": ["drain h3"]}))
    calls("POST", "/v1/changes", 404, json.dumps({"changes": ["up h3", "drain h9"]}))
    calls("POST", "/v1/changes", 400, json.dumps({"changes": ["dance h3"]}))
    calls("GET", "/v1/machines", 200)
    calls("GET", "/v1/machines", 200, query="?rack=r1")
    calls("PUT", "/v1/machines/{name}", 200, '{"slots": 2, "rack": "r8", "pod": "p", "state": "draining"}', name="spare")
    calls("PUT", "/v1/machines/{name}", 404, '{"state": "up"}', name="none")
    calls("PUT", "/v1/machines/{name}", 400, '{"slots": -1}', name="spare")
    version = machines_since(0)[1]
    check("no machine has changed since the last answer", machines_since(version) == ([], version, False), machines_since(version))
    ask("PUT", "/v1/machines/h1", '{"slots": 5}')
    ask("POST", "/v1/changes", '{"changes": ["drain h2"]}')
    ask("POST", "/v1/changes", '{"changes": ["up h2"]}')
    check("those that have are in the next", machines_since(version)[0] == ["h1", "h2"] and not machines_since(version)[2], machines_since(version))
    check("a number of the future gives all machines", machines_since(10 ** 18)[2] and len(machines_since(10 ** 18)[0]) > 4)
    version = machines_since(version)[1]
    calls("DELETE", "/v1/machines/{name}", 200, name="spare")
    calls("DELETE", "/v1/machines/{name}", 404, name="spare")
    check("after a removal, the next answer has all machines", machines_since(version)[2] and "spare" not in machines_since(version)[0])
    calls("DELETE", "/v1/machines/{name}", 409, name=decided[0]["to"] if decided else "h0")
    calls("POST", "/v1/changes", 200, json.dumps({"changes": ["up h3", "fail " + decided[0]["to"]]}))
    limit = time.time() + 30
    while ask("GET", "/v1/recovery")[0] == 404 and time.time() < limit:
        time.sleep(0.01)
    calls("GET", "/v1/recovery", 200)
    calls("PUT", "/v1/curves/{name}", 200, open(source + "/curves/spark.json").read(), name="mine")
    calls("PUT", "/v1/curves/{name}", 400, "{}", name="mine")
    calls("GET", "/v1/curves", 200)
    calls("GET", "/v1/journal", 200, query="?after=0")
    calls("GET", "/v1/overview", 200)
    calls("GET", "/v1/openapi.json", 200)
    calls("GET", "/metrics", 200)
    calls("GET", "/healthz", 200)
    calls("GET", "/", 200)
    calls("DELETE", "/v1/jobs/{id}", 200, id="web")
    calls("DELETE", "/v1/jobs/{id}", 404, id="web")
    check("each operation was called", called == operations, operations - called)
finally:
    daemon.send_signal(signal.SIGTERM)
    daemon.wait()
    shutil.rmtree(folder)
print(f"1..{number}")

# SPDX-License-Identifier: BSD-3-Clause
"""A small client of a Kubernetes API server, for tests/k8s/run.sh. The address and the token are in $KUBE and $KUBE_TOKEN."""
import http.client, json, os, ssl, sys, threading, time

HOST, PORT = os.environ["KUBE"].split(":")
HEADERS = {"Authorization": "Bearer " + os.environ["KUBE_TOKEN"], "Content-Type": "application/json"}


def connect():
    return http.client.HTTPSConnection(HOST, int(PORT), context=ssl.create_default_context(cafile=os.environ["KUBE_CA"]), timeout=60)


def call(connection, method, path, body=None, kind=None):
    headers = dict(HEADERS, **({"Content-Type": kind} if kind else {}))
    connection.request(method, path, body if isinstance(body, (str, bytes, type(None))) else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {text.decode()[:300]}")
    return json.loads(text)


def create(path, objects, clients=8):
    """Posts the objects over several connections."""
    failed = []

    def work(part):
        try:
            connection = connect()
            for body in part:
                call(connection, "POST", path, body)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(objects[c::clients],)) for c in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(failed[0])


def node(number, racks):
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": {"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"rack{number % racks}"}},
            "status": {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, job=None, role="task"):
    curve = os.environ.get("KUBE_CURVE", "memcached")
    labels = {"app": name}
    if job:
        labels.update({"nomora.io/job": job, "nomora.io/role": role, "nomora.io/curve": curve})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]}}


def pods():
    return call(connect(), "GET", "/api/v1/namespaces/default/pods")["items"]


def bound(prefix):
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods()
            if p["metadata"]["name"].startswith(prefix) and p["spec"].get("nodeName")}


PODS = "/api/v1/namespaces/default/pods"


def main(verb, *words):
    if verb == "nodes":
        create("/api/v1/nodes", [node(n, int(words[1])) for n in range(int(words[0]))])
    elif verb == "root":
        create(PODS, [pod(words[0] + "-root", words[0], "root")], 1)
    elif verb == "tasks":  # JOB FIRST COUNT
        create(PODS, [pod(f"{words[0]}-{t}", words[0]) for t in range(int(words[1]), int(words[1]) + int(words[2]))])
    elif verb == "bound":
        print(json.dumps(bound(words[0])))
    elif verb == "delete":
        call(connect(), "DELETE", words[0], {"gracePeriodSeconds": 0})
    elif verb == "evict":
        call(connect(), "POST", f"{PODS}/{words[0]}/eviction",
             {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": words[0]}, "deleteOptions": {"gracePeriodSeconds": 0}})
    elif verb == "end":
        call(connect(), "PATCH", f"{PODS}/{words[0]}/status", {"status": {"phase": words[1]}}, "application/merge-patch+json")
    elif verb == "cordon":
        call(connect(), "PATCH", f"/api/v1/nodes/{words[0]}", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    elif verb == "reason":  # why the pod waits
        print(*[c["message"] for p in pods() if p["metadata"]["name"] == words[0] for c in p["status"].get("conditions", []) if "message" in c])
    elif verb == "rate":  # PREFIX COUNT JOB|-: pods a second, from the first request until all are bound
        name, count, job = words[0], int(words[1]), words[2].strip("-")
        began = time.monotonic()
        create(PODS, [pod(f"{name}-{t}", job) for t in range(count)])
        while len(bound(name + "-")) < count:
            if time.monotonic() - began > 300:
                raise SystemExit("not all are bound")
            time.sleep(0.05)
        print(f"{count / (time.monotonic() - began):.0f}")
    else:
        raise SystemExit("unknown verb " + verb)


main(*sys.argv[1:])

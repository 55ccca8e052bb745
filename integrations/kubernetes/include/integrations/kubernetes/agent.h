/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent between a Kubernetes API server and a running nomora schedd. It lists and watches nodes and pods, and
 * reports them to schedd. Nodes become machines. Pods become running tasks of their job once they are bound to a node;
 * when a pod has ended or was deleted or evicted, its slot is free again. The agent changes nothing in Kubernetes and
 * keeps no state: agent, schedd and API server can be restarted in any order.
 */
#ifndef INTEGRATIONS_KUBERNETES_AGENT_H
#define INTEGRATIONS_KUBERNETES_AGENT_H

#include <signal.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>

struct k8s_agent_options {
	const char *server;     /* https://HOST:PORT */
	const char *token_file; /* bearer token, read for each request; NULL: none */
	const char *ca_file;    /* certificates of CAs, PEM; NULL: those of the system */
	const char *schedd;     /* unix socket; NULL: the client's default */
	double resync_s;        /* seconds between full comparisons with schedd if nothing changes */
};

/* Runs until *stop is set. Returns 0 or -errno with err set. */
int k8s_agent_run(const struct k8s_agent_options *options, const volatile sig_atomic_t *stop, struct error *err);

/*
 * The running jobs in the output of `kubectl get pods -A -o json`, a List or PodList of the API v1. Pure function.
 *
 * Pods with the label nomora.io/job are a job, as for nomora-k8s-agent(1): nomora.io/curve is the name of its curve,
 * nomora.io/role=root its root. The other pods are a job with the pods of the same controller (the owner with
 * "controller": true, such as a ReplicaSet, a StatefulSet or a Job). A job without a root has the first of its pods by
 * name as its root. Pods that have ended or have no node are left out, as are pods of a DaemonSet or of a node, which
 * cannot run elsewhere, and pods without a controller.
 */

struct k8s_running_report {
	uint64_t bound_to_node; /* pods left out: of a DaemonSet or a node */
	uint64_t alone;         /* pods left out: without a label for nomora and without a controller */
};

/*
 * Returns id -> {"curve", "root", "tasks": {POD: NODE}}; "curve" is absent without a label. The caller json_decref()s
 * the result. NULL with err set if the list is not one of pods; `name` is for messages.
 */
json_t *k8s_running_jobs(const char *name, const json_t *list, struct k8s_running_report *report, struct error *err);

#endif

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

#endif

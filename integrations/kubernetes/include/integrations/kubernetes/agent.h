/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent between a Kubernetes API server and a running nomora schedd: lists and watches nodes and pods, and reports
 * them to schedd. Nodes become machines; the pods of a job that are bound to nodes become its running tasks, and their
 * slots are free again when they have ended, were deleted or evicted. It changes nothing in Kubernetes and keeps no
 * state: agent, schedd and API server can be restarted in any order.
 */
#ifndef INTEGRATIONS_KUBERNETES_AGENT_H
#define INTEGRATIONS_KUBERNETES_AGENT_H

#include <signal.h>

#include <base/error.h>

struct k8s_agent_options {
	const char *server;     /* https://HOST:PORT */
	const char *token_file; /* bearer token, read for each request; NULL: none */
	const char *ca_file;    /* PEM; NULL: those of the system */
	const char *schedd;     /* unix socket; NULL: the client's default */
	double resync_s;        /* seconds between comparisons with schedd when nothing changes */
};

/* Runs until *stop is set. 0 or -errno with err set. */
int k8s_agent_run(const struct k8s_agent_options *options, const volatile sig_atomic_t *stop, struct error *err);

#endif

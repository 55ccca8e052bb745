/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the scheduler extender, and their rating. */
#ifndef EXTENDER_EXTENDER_PRIV_H
#define EXTENDER_EXTENDER_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <sched/live/live.h>

/* Reads a request: ExtenderArgs or ExtenderPreemptionArgs of k8s.io/kube-scheduler/extender/v1, as JSON. */

struct extender_request {
	json_t *root;        /* the parsed request */
	const json_t *nodes; /* items of the NodeList; NULL: the request has only names of nodes */
	json_t *victims;     /* of a preemption: the MetaVictims of each node; otherwise NULL */
	const char **names;  /* names of the nodes, borrowed from `root` or `victims` */
	size_t count;
	char *job;         /* "namespace/name"; NULL: the pod requests no placement */
	const char *curve; /* name of the curve, borrowed from `root`; NULL if `job` is NULL */
	bool is_root;
};

/* Returns 0, or -errno with err set. The caller calls extender_request_free() in either case. */
int extender_request_read(struct extender_request *request, const char *body, size_t bytes, struct error *err);
/* The same for ExtenderPreemptionArgs. */
int extender_request_read_preemption(struct extender_request *request, const char *body, size_t bytes,
				     struct error *err);
void extender_request_free(struct extender_request *request);

/* Rates nodes by the predicted performance of tasks. */

/*
 * One node of a request. performance: predicted, 0..1, with two special values:
 * - NAN: the node is not a candidate
 * - 0: the node is not reachable from the root or, in a request for a root, was not compared (rate_roots())
 */
struct rated {
	int64_t machine; /* the node's machine number; -1: schedd does not know the node, or `closed` */
	bool closed;     /* the machine is draining or down */
	bool full;       /* all slots of the machine are in use */
	double performance;
};

/* Finds a node. evicting: pods on the node end before the new pod starts, so that it is not full. */
struct rated rate_find(const struct live *live, const char *name, bool evicting);

/*
 * Rates candidates for a root. Compares the first RACK_LOOKED_AT candidates of the best rack; all other candidates get
 * 0. The performance of a node is the mean predicted performance of tasks on the compared candidates if the root is on
 * this node. A task on the node itself counts as 1. Full nodes are no candidates.
 */
void rate_roots(const struct live *live, const struct curve *curve, struct rated *rated, size_t count);
void rate_tasks(const struct live *live, const struct curve *curve, int64_t root, struct rated *rated, size_t count);

#endif

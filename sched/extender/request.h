/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a request: ExtenderArgs or ExtenderPreemptionArgs of k8s.io/kube-scheduler/extender/v1, as JSON. */
#ifndef SCHED_EXTENDER_REQUEST_H
#define SCHED_EXTENDER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <base/error.h>

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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates nodes by the predicted performance of tasks. */
#ifndef SCHED_EXTENDER_RATE_H
#define SCHED_EXTENDER_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sched/live/live.h>

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

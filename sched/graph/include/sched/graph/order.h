/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges the machines of a job's tasks, so that tasks that talk to each other are near each other. The set of the
 * machines stays the same: only which task ("rank") is where.
 *
 * Minimises the sum of weight * cost over the edges between tasks that have machines. The given order and a greedy one
 * (not for more than some 1,700 tasks) are each improved by exchanges of two tasks until none helps; the better one is
 * improved again after some random exchanges, 120 times. A limit of work ends the search after some 50 ms. The result
 * is never worse than the given order. Deterministic.
 */
#ifndef SCHED_GRAPH_ORDER_H
#define SCHED_GRAPH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <model/jobs.h>

/* Returns the cost of an edge between tasks on two machines, which may be the same; > 0. */
typedef double graph_cost(void *context, uint32_t from, uint32_t to);

struct graph_order {
	const struct job_graph *graph;
	int32_t *machine;    /* [tasks] changed; < 0: the task has none, and its edges do not count */
	const bool *movable; /* [tasks] tasks with a machine that may be exchanged with each other */
	graph_cost *cost;    /* taken as the mean of both directions */
	void *context;
};

struct graph_sum {
	double weight;      /* sum of the weights of the edges between tasks that have machines */
	double cost;        /* sum of weight * cost of these edges */
	double performance; /* sum of weight * 100 / cost; cost is 100 / performance */
};

/*
 * Returns 0 or -ENOMEM; machine[] is then unchanged. Sets *given, unless it is NULL, to the sums of the order before.
 */
int graph_order(const struct graph_order *order, struct graph_sum *given);
/*
 * Returns a sum of costs that no order of the tasks on these machines can fall below, or 0 if it would take too long to
 * compute. Sets *sum to the sums of this order. Returns NAN if out of memory.
 */
double graph_bound(const struct graph_order *order, struct graph_sum *sum);

#endif

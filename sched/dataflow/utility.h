/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The utility that the paper's annealer maximises: the sum over all jobs' sinks of the least bandwidth from their
 * sources. Incremental: the flows on each link are counted as tasks and routes change, and an evaluation computes
 * only the new job and those running jobs that have a flow on a link whose count has changed. Private.
 *
 * The paper does not define available bandwidth: here it is a link's capacity divided by its number of flows.
 */
#ifndef SCHED_DATAFLOW_UTILITY_H
#define SCHED_DATAFLOW_UTILITY_H

#include "decision.h"

#define UTILITY_NO_PAIR UINT32_MAX

struct utility {
	struct decision *decision;
	uint32_t *flows_on;    /* by link */
	uint32_t *known_on;    /* by link: number of flows at the last evaluation */
	double *share;         /* by link and direction: bandwidth of a flow at the last evaluation, MB/s */
	double *running_share; /* the same with only the flows of the running jobs */
	uint32_t *changed;     /* links whose count changed since then, each once */
	bool *is_changed;      /* by link */
	uint32_t changed_count;
	/*
	 * By flow of the new job: the index of its pair in decision->pairs, or UTILITY_NO_PAIR if both tasks are on one
	 * host or the pair is one of the network's.
	 */
	uint32_t *chosen;
	/* For each running job: its utility, whether that must be computed again, and the routes of its flows. */
	double *of_job;
	bool *stale;
	/* The routes of job j begin at routes + first_route[j]; NULL: both tasks on one host. */
	const struct network_route **routes;
	uint32_t *first_route;
	/* Running jobs on link l: jobs_on[first_on[l]] .. jobs_on[first_on[l + 1] - 1], possibly repeated. */
	uint32_t *first_on, *jobs_on;
	double *width, *reach, *least; /* work space: by flow, by task, by task */
};

/* Returns 0 or -ENOMEM; utility_end() is necessary in either case. */
int utility_begin(struct utility *utility, struct decision *decision);
void utility_end(struct utility *utility);

/* Counts all flows again, after the decision's placement has changed as a whole. */
void utility_start(struct utility *utility);

/* As decision_lift() and decision_put() for a task of the new job; they also update the counts of its flows. */
void utility_lift(struct utility *utility, uint32_t task);
void utility_put(struct utility *utility, uint32_t task, uint32_t host);

/* Adds (direction 1) or subtracts (-1) the new job's flows over a pair of decision->pairs. */
void utility_count_pair(struct utility *utility, uint32_t pair, int direction);

/* Return the bandwidth of a flow on the route's busiest link, counting all flows, or only those of the running jobs. */
double utility_bandwidth(struct utility *utility, const struct network_route *route);
double utility_running_bandwidth(const struct utility *utility, const struct network_route *route);

double utility_evaluate(struct utility *utility);

#endif

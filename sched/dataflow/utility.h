/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The utility that the paper's annealer maximises: the sum, over the sinks of all jobs, of the least bandwidth between
 * the sink and its sources. It is computed incrementally: the number of flows on each link is updated whenever tasks or
 * routes change, and an evaluation computes only the new job and those running jobs that have a flow on a link whose
 * number of flows has changed. Private.
 *
 * The paper does not define available bandwidth: here it is a link's capacity divided by its number of flows, MB/s.
 */
#ifndef SCHED_DATAFLOW_UTILITY_H
#define SCHED_DATAFLOW_UTILITY_H

#include "decision.h"

#define UTILITY_NO_PAIR UINT32_MAX

struct utility {
	struct decision *decision;
	uint32_t *flows_on;    /* by link */
	uint32_t *known_on;    /* by link: number of flows for which share[] was computed */
	double *share;         /* by link and direction: bandwidth of each flow, MB/s */
	double *running_share; /* by link and direction: bandwidth of each flow if only the running jobs' flows existed,
				  MB/s */
	uint32_t *changed;     /* links whose flows_on[] may differ from known_on[], each once */
	bool *is_changed;      /* by link */
	uint32_t changed_count;
	/*
	 * By flow of the new job: the index of its pair of hosts in decision->pairs, or UTILITY_NO_PAIR if both tasks
	 * are on one host or running jobs use the pair.
	 */
	uint32_t *chosen;
	/* By running job: its utility, and whether this must be computed again. */
	double *of_job;
	bool *stale;
	/*
	 * Routes of the running jobs' flows; those of job j begin at routes + first_route[j]. NULL: both tasks of the
	 * flow are on one host.
	 */
	const struct network_route **routes;
	uint32_t *first_route;
	/*
	 * The running jobs with flows on link l, possibly repeated: jobs_on[first_on[l]] .. jobs_on[first_on[l + 1] -
	 * 1].
	 */
	uint32_t *first_on, *jobs_on;
	double *width, *reach, *least; /* work space: by flow, by task, by task */
};

/* Returns 0 or -ENOMEM; utility_end() is necessary in either case. */
int utility_begin(struct utility *utility, struct decision *decision);
void utility_end(struct utility *utility);

/* Counts all flows again; to be called after a change of the decision's whole placement. */
void utility_start(struct utility *utility);

/* Call decision_lift() or decision_put() for a task of the new job, and update the numbers of flows. */
void utility_lift(struct utility *utility, uint32_t task);
void utility_put(struct utility *utility, uint32_t task, uint32_t host);

/*
 * Adds (direction 1) or subtracts (-1) the new job's flows between a pair of hosts (index in decision->pairs) to the
 * numbers of flows.
 */
void utility_count_pair(struct utility *utility, uint32_t pair, int direction);

/*
 * Return the least bandwidth of a flow on the links of a route, MB/s: with all flows, or with only those of the running
 * jobs.
 */
double utility_bandwidth(struct utility *utility, const struct network_route *route);
double utility_running_bandwidth(const struct utility *utility, const struct network_route *route);

double utility_evaluate(struct utility *utility);

#endif

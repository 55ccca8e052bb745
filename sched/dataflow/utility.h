/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The utility that the engine of Alkaff and Gupta's paper maximises. The value of a sink is the least bandwidth from
 * the sources that reach it; the utility is the sum over the sinks of all jobs. The paper does not define the available
 * bandwidth of a link: here it is the link's capacity divided by its number of flows, MB/s.
 *
 * The utility is computed incrementally. The number of flows on each link is updated whenever tasks or routes change.
 * An evaluation then computes only the new job, and the running jobs with a flow on a link whose number of flows has
 * changed. Private.
 */
#ifndef SCHED_DATAFLOW_UTILITY_H
#define SCHED_DATAFLOW_UTILITY_H

#include "decision.h"

#define UTILITY_NO_PAIR UINT32_MAX

struct utility {
	struct decision *decision;
	uint32_t *flows_on;    /* by link: number of flows */
	uint32_t *known_on;    /* by link: number of flows when share[] was last computed */
	double *share;         /* by link and direction: bandwidth of each flow, MB/s */
	double *running_share; /* like share[], but without the new job's flows */
	uint32_t *changed;     /* list of the links whose flows_on[] may differ from known_on[] */
	bool *is_changed;      /* by link: it is in changed[] */
	uint32_t changed_count;
	/*
	 * By flow of the new job: the index of its pair of hosts in decision->pairs, or UTILITY_NO_PAIR if both tasks
	 * are on one host or running jobs use the pair.
	 */
	uint32_t *chosen;
	double *of_job; /* by running job: its utility */
	bool *stale;    /* by running job: its utility must be computed again */
	/*
	 * Routes of the running jobs' flows: routes[first_route[j] + f] is the route of flow f of job j. NULL: both
	 * tasks of the flow are on one host.
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

/* Counts all flows again. Call it after the whole placement has changed. */
void utility_start(struct utility *utility);

/* Like decision_lift() and decision_put(), but they also update the numbers of flows. */
void utility_lift(struct utility *utility, uint32_t task);
void utility_put(struct utility *utility, uint32_t task, uint32_t host);

/*
 * Adds the new job's flows between two hosts to the numbers of flows (direction 1), or subtracts them (-1). pair: index
 * in decision->pairs.
 */
void utility_count_pair(struct utility *utility, uint32_t pair, int direction);

/*
 * Returns the least bandwidth of the links of a route, MB/s. utility_running_bandwidth() does not count the new job's
 * flows.
 */
double utility_bandwidth(struct utility *utility, const struct network_route *route);
double utility_running_bandwidth(const struct utility *utility, const struct network_route *route);

double utility_evaluate(struct utility *utility);

#endif

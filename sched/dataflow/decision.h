/* SPDX-License-Identifier: BSD-3-Clause */
/* A placement and routes under construction for one new job. Private. */
#ifndef SCHED_DATAFLOW_DECISION_H
#define SCHED_DATAFLOW_DECISION_H

#include <base/hash_table.h>
#include <base/rng.h>
#include <sched/dataflow/engine.h>

#include "network_priv.h"

/*
 * How to choose a route from the candidates of a pair of hosts when it is first needed.
 *
 * - ROUTES_RANDOM: a random one
 * - ROUTES_EQUAL_COST: a random one of those with the fewest links
 * - ROUTES_LEAST_USED: of those with the fewest links, the one whose most used link has the fewest flows of running
 *   jobs per MB/s of capacity
 */
enum decision_routing { ROUTES_RANDOM, ROUTES_EQUAL_COST, ROUTES_LEAST_USED };

struct value {
	/*
	 * greater is better. Engine completion: -(sum of weight / rate over all sources). Other engines: all_MBps. If
	 * latency counts, minus latency_cost().
	 */
	double goal;
	double all_MBps, own_MBps;
	double carried_MBps; /* sum of the loads of all links if each source of the job sends 1 MB/s; less is better */
};

struct decision {
	struct network *network;
	struct dataflow_job *job; /* job->hosts[] is the current placement */
	const struct dataflow_graph *graph;
	const struct engine_options *options;
	enum decision_routing routing;
	bool completion; /* true: minimises the sum of weight / rate (engine completion); false: maximises the sum of
			    rates */
	struct rng rng;
	bool *pinned;    /* by task: the task had a host before and stays there, or another task leads its
			    slot (dataflow_slot_leader()) and moves it */
	uint32_t *taken; /* by node: number of slots that this job's tasks take, pinned ones included */
	uint32_t *hosts; /* nodes that are hosts */
	uint32_t host_count;
	uint32_t *link_users; /* by link: number of running jobs' flows over it */
	struct hash_table pair_table;
	struct network_pair *pairs; /* pairs of hosts whose routes are chosen by this decision */
	uint32_t pair_count;
	size_t pair_capacity;
	struct running_loads running;
	/*
	 * The last evaluation: loads, rates (MB/s) and bottlenecks of the sources. The job's sources come first, then
	 * the sources of running jobs whose rates the job may change.
	 */
	struct loads loads;
	double *rates;
	uint32_t *bottlenecks;
	uint64_t evaluations, evaluations_maximum;
	uint32_t unreached[2]; /* if code is -EHOSTUNREACH: the two hosts without a route between them */
	int code; /* 0; after an error -ENOMEM or -EHOSTUNREACH: the engine then ends and does not place the job */
};

struct engine {
	const char *name;
	enum decision_routing routing;
	uint32_t evaluations; /* default limit of the number of evaluations */
	bool completion;
	void (*place)(struct decision *decision);
};

void engine_place_rate(struct decision *decision);
void engine_place_both(struct decision *decision);
void engine_place_application(struct decision *decision);
void engine_place_routing(struct decision *decision);
void engine_place_random(struct decision *decision);
void engine_place_storm(struct decision *decision);
void engine_place_flink(struct decision *decision);
void engine_place_rstorm(struct decision *decision);

uint32_t decision_free_slots(const struct decision *decision, uint32_t host);

/*
 * decision_lift() removes a task from its host; the task must not be pinned. decision_lift_all() removes all tasks that
 * are not pinned. decision_put() places a task without a host; the host must have a free slot. The other tasks of the
 * task's slot are lifted and put with it.
 */
void decision_lift(struct decision *decision, uint32_t task);
void decision_lift_all(struct decision *decision);
void decision_put(struct decision *decision, uint32_t task, uint32_t host);

/* Returns a random host with a free slot; there must be one. */
uint32_t decision_random_host(struct decision *decision);

/*
 * Returns the entry of a pair of hosts, which has the pair's route. If running jobs use the pair, this is the network's
 * entry, otherwise the decision's own entry, which is created if necessary. Returns NULL with decision->code set if the
 * hosts are not connected or memory is short.
 */
struct network_pair *decision_pair(struct decision *decision, uint32_t a, uint32_t b);
/* Returns true if running jobs use the pair of hosts, so that its route cannot be chosen. */
bool decision_pair_is_fixed(const struct decision *decision, uint32_t a, uint32_t b);

/* Evaluates the placement and its routes. */
struct value decision_evaluate(struct decision *decision);
bool value_better(const struct value *a, const struct value *b);

/* Returns true if the evaluations or the time are used up, or after an error. */
bool decision_done(const struct decision *decision);

/*
 * The utility that the engine of Alkaff and Gupta's paper maximises. The value of a sink is the least bandwidth from
 * the sources that reach it; the utility is the sum over the sinks of all jobs. The paper does not define the available
 * bandwidth of a link: here it is the link's capacity divided by its number of flows, MB/s.
 *
 * The utility is computed incrementally. The number of flows on each link is updated whenever tasks or routes change.
 * An evaluation then computes only the new job, and the running jobs with a flow on a link whose number of flows has
 * changed.
 */

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses hosts for the tasks of a new dataflow job and routes for its data. Running jobs keep their hosts and routes.
 *
 * Engines:
 * - rate: ours: local search on the rates that all sources sustain together (sched/flows), running jobs included
 * - completion: the same search for the least sum of weight / rate over the sources: the least total time if the
 *   sources are of equal size (the greatest sum of rates starves sources on busy links)
 * - both: the paper's nested simulated annealing over placement and routes (Alkaff and Gupta, algorithms 1 to 3)
 * - application: the paper's annealing over only the placement; a random route for each pair of hosts
 * - routing: the paper's annealing over only the routes; a random placement
 * - random: a random free slot for each task, a random route for each pair
 * - storm: Storm's default: tasks in order, round robin over the hosts with free slots; equal-cost routes at random
 * - flink: spread out evenly: each task on the host with the most free slots; equal-cost routes at random
 * - rstorm: R-Storm: tasks in breadth-first order of the graph, each in the nearest free slot; equal-cost routes at
 *   random
 */
#ifndef SCHED_DATAFLOW_ENGINE_H
#define SCHED_DATAFLOW_ENGINE_H

#include <stdbool.h>

#include <base/ns.h>
#include <sched/dataflow/network.h>

struct dataflow_latency;

/*
 * Errors of the paper's printed pseudo-code. The paper's engines reproduce all or one of them on request
 * (engine_anneal.c). With ENGINE_LITERAL_SUM, and so also with ENGINE_LITERAL_ALL, every state has utility 0.
 */
enum engine_literal {
	ENGINE_CORRECTED,
	ENGINE_LITERAL_ALL,
	ENGINE_LITERAL_SUM,    /* computeUtil never adds sinkUtil to util */
	ENGINE_LITERAL_TRUTH,  /* transition() returns a probability where a truth value is needed */
	ENGINE_LITERAL_ALIAS,  /* states are changed in place: rejected steps are not undone, and the state in which a
				  run ends counts as its best state */
	ENGINE_LITERAL_PATHS,  /* a sink's bandwidth is the least of all k paths between the sink's host and its root's
				  host */
	ENGINE_LITERAL_ROUTES, /* the routes chosen by the routing level are dropped when genState returns */
	ENGINE_LITERAL_LOCAL,  /* a sink on the host of its roots is infinitely fast */
};
extern const char *const engine_literal_names[]; /* names of the values from ENGINE_LITERAL_ALL on; ends with NULL */

struct engine_options {
	uint64_t seed;
	uint32_t evaluations; /* maximum; 0: the engine's default */
	uint32_t starts;      /* engines rate and completion: number of local searches; the first begins with R-Storm's
				 placement, the others with random ones */
	double local_MBps;    /* maximum rate of a source, MB/s, also if all its data stays on one host; > 0 */
	struct ns (*now)(void); /* clock of `deadline` and of the measured times; may be NULL */
	struct ns deadline; /* time of now() at which the search ends and the best answer so far is returned; v == 0:
			       none */
	/*
	 * If not NULL, engines rate and completion multiply the job's rates by its performance at measured latency; the
	 * job must then be one of the scenario of `latency`.
	 */
	const struct dataflow_latency *latency;
	/* The paper's unpublished parameters. */
	double temperature;   /* initial, in the utility's unit, MB/s */
	uint32_t steps;       /* maxStep of the application level */
	uint32_t route_steps; /* maxStep of the routing level */
	uint32_t repeats;     /* runs of the annealing, "5" in algorithm 1 */
	enum engine_literal literal;
	bool direct; /* true: a sink's bandwidth is that of the route between the sink's host and its root's host, as
			printed; false: the least on the flows from the root to the sink */
};

/*
 * Returns the defaults: seed 1, 8 starts, local_MBps 10,000, temperature 100, 100 steps, 10 route steps, 5 repeats,
 * ENGINE_CORRECTED, not direct.
 */
struct engine_options engine_defaults(void);

struct engine;
const struct engine *engine_find(const char *name);   /* NULL if unknown */
const char *engine_name(size_t index);                /* NULL if there is no engine with this index */
bool engine_seeks_rates(const struct engine *engine); /* true: the engine searches by the rates that sources sustain
							 (rate, completion) */

/* The number of the route (network_route()) chosen for the hosts low < high, which exchange data and had no route. */
struct engine_route {
	uint32_t low, high, number;
};

struct engine_answer {
	struct engine_route *routes;
	uint32_t route_count;
	uint64_t evaluations;
	double own_MBps; /* sum of the predicted rates of the job's sources, at most local_MBps each */
	double all_MBps; /* sum of the predicted rates of the sources of this and all running jobs, each at most
			    local_MBps */
};

/*
 * Sets job->hosts of the tasks that are DATAFLOW_NOWHERE; tasks that have a host stay there. Returns 0; or, with err
 * set and job->hosts unchanged, -ENOSPC (too few free slots), -EHOSTUNREACH (the hosts of two tasks are not connected)
 * or -ENOMEM. The network does not change; to start the job, pass the answer to engine_start(). The caller frees the
 * answer by engine_answer_clear().
 */
int engine_place(const struct engine *engine, struct network *network, struct dataflow_job *job,
		 const struct dataflow_graph *graph, const struct engine_options *options, struct engine_answer *answer,
		 struct error *err);
int engine_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		 const struct engine_answer *answer, struct error *err);
void engine_answer_clear(struct engine_answer *answer);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses hosts for the tasks of a new dataflow job and routes for its data. Running jobs keep their hosts and routes.
 *
 * Engines:
 * - rate: ours. Local search for the greatest sum of the max-min fair rates (sched/flows) of all jobs' sources.
 * - completion: ours. The same search for the least sum of weight / rate over all sources, which is the least total
 *   time if the sources are of equal size. (Engine rate may starve sources on busy links.)
 * - both: the engine of Alkaff and Gupta's paper: nested simulated annealing of placement and routes, algorithms 1-3.
 * - application: the paper's annealing of the placement alone; a random route for each pair of hosts.
 * - routing: the paper's annealing of the routes alone; a random placement.
 * - random: a random free slot for each task, a random route for each pair.
 * - storm: Storm's default. Places tasks in order, round robin over the hosts with free slots.
 * - flink: Flink's even spread. Places each task on the host with the most free slots.
 * - rstorm: R-Storm. Places tasks in breadth-first order of the graph, each as near as possible to a reference host.
 *
 * storm, flink and rstorm draw each route at random from those with the fewest links.
 */
#ifndef SCHED_DATAFLOW_ENGINE_H
#define SCHED_DATAFLOW_ENGINE_H

#include <stdbool.h>

#include <base/ns.h>
#include <sched/dataflow/network.h>

struct dataflow_latency;

/* Flows that share the bandwidth of a link when the paper's engines choose a route (the paper's path). */
enum engine_available {
	ENGINE_AVAILABLE_RUNNING, /* those of running jobs */
	ENGINE_AVAILABLE_ALL,     /* also those of the job that is placed */
};
extern const char *const engine_available_names[]; /* ends with NULL */

enum { ENGINE_LATE_EVALUATIONS = 3 };

struct engine_options {
	uint64_t seed;
	uint32_t evaluations; /* maximum number of placements to evaluate; 0: the engine's default */
	uint32_t starts;      /* maximum number of local searches of engines rate and completion; the first begins
				 with R-Storm's placement, the others with random placements */
	double local_MBps;    /* maximum rate of a source, MB/s, also if all its data stays on one host; > 0. It becomes
				 the limit of all sources on the network (network_rates()) */
	struct ns (*now)(void); /* clock of `deadline` and of the measured times; may be NULL */
	/*
	 * When now() reaches it, the search ends with the best answer so far; v == 0: no limit. After the deadline,
	 * engine_place() makes at most ENGINE_LATE_EVALUATIONS evaluations, so that each job gets a placement.
	 */
	struct ns deadline;
	/*
	 * If not NULL, engines rate and completion multiply the job's rates by the job's performance at the measured
	 * latency. The job must then belong to the scenario that was given to dataflow_latency_open().
	 */
	const struct dataflow_latency *latency;
	/* Parameters of the paper's engines. */
	double temperature;   /* initial temperature, in MB/s like the utility; not published */
	uint32_t steps;       /* steps of the placement: the paper's maxStep; not published */
	uint32_t route_steps; /* steps of the routes: the paper's maxStep; not published */
	uint32_t repeats;     /* runs of the annealing: 5 in the paper's algorithm 1 */
	enum engine_available available;
	bool direct; /* how to measure the bandwidth from a root (source) to a sink. true: on the route between their
			hosts, as printed in the paper; false: the least bandwidth on the flows between them */
};

/*
 * Returns the defaults: seed 1, 8 starts, local_MBps 10,000, temperature 100, 100 steps, 10 route steps, 5 repeats,
 * ENGINE_AVAILABLE_RUNNING, not direct.
 */
struct engine_options engine_defaults(void);

struct engine;
const struct engine *engine_find(const char *name);   /* NULL if unknown */
const char *engine_name(size_t index);                /* NULL if there is no engine with this index */
bool engine_seeks_rates(const struct engine *engine); /* true for rate and completion */

/* A new route for a pair of hosts that had none: route `number` (see network_route()) between nodes low < high. */
struct engine_route {
	uint32_t low, high, number;
};

struct engine_answer {
	struct engine_route *routes;
	uint32_t route_count;
	uint64_t evaluations;
	double own_MBps; /* sum of the predicted rates of the job's sources */
	double all_MBps; /* sum of the predicted rates of the sources of this and all running jobs */
};

/*
 * Chooses hosts for the tasks whose job->hosts[] is DATAFLOW_NOWHERE; the other tasks stay. The network does not
 * change: to start the job, pass the answer to engine_start(). The caller frees the answer by engine_answer_clear().
 *
 * Returns 0; or, with err set and job->hosts unchanged:
 * - -ENOSPC: too few free slots
 * - -EHOSTUNREACH: the hosts of two tasks are not connected
 * - -ENOMEM
 */
int engine_place(const struct engine *engine, struct network *network, struct dataflow_job *job,
		 const struct dataflow_graph *graph, const struct engine_options *options, struct engine_answer *answer,
		 struct error *err);
/* Starts the placed job with the routes of the answer. Returns as network_start() does. */
int engine_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		 const struct engine_answer *answer, struct error *err);
void engine_answer_clear(struct engine_answer *answer);

#endif

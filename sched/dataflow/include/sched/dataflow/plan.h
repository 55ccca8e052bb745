/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans a whole scenario. First starts the jobs all of whose tasks have hosts. Then places and starts the other jobs
 * with an engine, one by one, in the order of the file. At the end, computes the rates that the sources of all jobs
 * sustain together.
 */
#ifndef SCHED_DATAFLOW_PLAN_H
#define SCHED_DATAFLOW_PLAN_H

#include <sched/dataflow/engine.h>

struct plan_job {
	struct dataflow_job *job; /* of the scenario; hosts[] is the placement */
	struct dataflow_graph *graph;
	bool placed_here; /* placed by the engine; false: all its tasks had hosts in the scenario */
	uint64_t evaluations;
	double seconds; /* duration of placing and starting the job by engine_options.now(), s; 0 if now is NULL */
	double *MBps;   /* by source: rate, MB/s */
	uint32_t *bottleneck; /* by source: resource that limits it, or MAX_MIN_OFFERED */
	double total_MBps;    /* sum of MBps[] */
	double random_MBps;   /* mean of total_MBps over random placements of the jobs that the engine placed; NAN: not
				 computed */
};

struct dataflow_plan {
	struct network *network;
	struct plan_job *jobs; /* in the order of the scenario */
	uint32_t job_count;
	bool *waiting; /* by task, the jobs one after the other: whether it had no host in the scenario */
};

/*
 * Places the jobs of the scenario, which is borrowed, and sets their hosts[]. random_runs: number of random placements
 * for random_MBps; 0: does not compute it; fewer, or none, if there is no time for them before the deadline. Returns
 * NULL with err set for the errors of engine_place() and dataflow_graph_create().
 */
struct dataflow_plan *dataflow_plan_create(struct dataflow *dataflow, const struct engine *engine,
					   const struct engine_options *options,
					   const struct topology_paths_options *paths, uint32_t random_runs,
					   struct error *err);
/* Computes the rates of all jobs for the present routes and states of links. Returns 0 or -ENOMEM. */
int dataflow_plan_read_rates(struct dataflow_plan *plan);
/*
 * Sets the hosts of the tasks that the plan placed to DATAFLOW_NOWHERE, so that another engine can place them. Call it
 * before destroying the plan.
 */
void dataflow_plan_forget(struct dataflow_plan *plan);
void dataflow_plan_destroy(struct dataflow_plan *plan); /* NULL is legal */

#endif

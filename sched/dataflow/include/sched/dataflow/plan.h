/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans a whole scenario: starts the jobs that have hosts, places the others with an engine, one after the other in the
 * order of the file, and computes the rates that all sustain together.
 */
#ifndef SCHED_DATAFLOW_PLAN_H
#define SCHED_DATAFLOW_PLAN_H

#include <sched/dataflow/engine.h>

struct plan_job {
	struct dataflow_job *job; /* of the scenario; hosts[] is the placement */
	struct dataflow_graph *graph;
	bool placed_here; /* placed by the engine; false: all its tasks had hosts in the scenario */
	uint64_t evaluations;
	double seconds; /* of the decision, wall clock; 0 without a clock */
	/* By source. */
	double *MBps;
	uint32_t *bottleneck; /* resource, or MAX_MIN_OFFERED */
	double total_MBps;    /* over the sources, each at most local_MBps */
	double random_MBps;   /* the expected total over random placements of the jobs placed here; NAN if not requested
			       */
};

struct dataflow_plan {
	struct network *network;
	struct plan_job *jobs; /* in the order of the scenario */
	uint32_t job_count;
	bool *waiting; /* by task, over all jobs in order: it had no host in the scenario */
};

/*
 * Places the scenario's jobs and sets their hosts[]. random_MBps of a job is the mean over `random_runs` random
 * placements (0: not computed). Returns NULL with err set for the errors of engine_place() and dataflow_graph_create().
 * The scenario is borrowed.
 */
struct dataflow_plan *dataflow_plan_create(struct dataflow *dataflow, const struct engine *engine,
					   const struct engine_options *options,
					   const struct topology_paths_options *paths, uint32_t random_runs,
					   struct error *err);
/*
 * Removes the hosts of the tasks placed here, so that another engine can place them. Call it before destroying the
 * plan.
 */
void dataflow_plan_forget(struct dataflow_plan *plan);
void dataflow_plan_destroy(struct dataflow_plan *plan); /* NULL is legal */

#endif

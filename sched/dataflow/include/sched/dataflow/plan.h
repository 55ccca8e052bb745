/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans a whole scenario: starts the jobs all of whose tasks have hosts, then places the others with an engine, one
 * after the other in the order of the file, and computes the rates that the sources of all jobs sustain together.
 */
#ifndef SCHED_DATAFLOW_PLAN_H
#define SCHED_DATAFLOW_PLAN_H

#include <sched/dataflow/engine.h>

struct plan_job {
	struct dataflow_job *job; /* of the scenario; hosts[] is the placement */
	struct dataflow_graph *graph;
	bool placed_here; /* placed by the engine; false: all its tasks had hosts in the scenario */
	uint64_t evaluations;
	double seconds; /* time that placing and starting the job took, wall clock; 0 if engine_options.now is NULL */
	/* By source. */
	double *MBps;
	uint32_t *bottleneck; /* resource, or MAX_MIN_OFFERED */
	double total_MBps;    /* sum over the job's sources, each counted with at most local_MBps */
	double random_MBps;   /* mean of total_MBps over random placements of all jobs placed here; NAN: not computed */
};

struct dataflow_plan {
	struct network *network;
	struct plan_job *jobs; /* in the order of the scenario */
	uint32_t job_count;
	bool *waiting; /* by task, job by job in the order of jobs[]: the task had no host in the scenario */
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
 * Sets the hosts of the tasks that the plan placed to DATAFLOW_NOWHERE, so that another engine can place them. Call it
 * before destroying the plan.
 */
void dataflow_plan_forget(struct dataflow_plan *plan);
void dataflow_plan_destroy(struct dataflow_plan *plan); /* NULL is legal */

#endif

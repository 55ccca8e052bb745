/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans a whole scenario. First starts the jobs all of whose tasks have hosts. Then places and starts the other jobs
 * with an engine, one by one, in the order of the file. At the end, computes the rates that the sources of all jobs
 * sustain together.
 */
#ifndef SCHED_DATAFLOW_PLAN_H
#define SCHED_DATAFLOW_PLAN_H

#include <stdio.h>

#include <jansson.h>

#include <model/latency_matrix.h>
#include <sched/dataflow/engine.h>
#include <sched/dataflow/graph.h>

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

/* A plan as text, as JSON and as a picture. */

/* What a report contains. All pointers are borrowed. */
struct dataflow_plan_report {
	const struct dataflow_plan *plan;
	const char *engine;
	const struct dataflow_latency *latency; /* for the jobs' performance; NULL: not in the report */
	const struct dataflow_advice *advice;   /* moves; NULL: not in the report */
	double bound_MBps; /* dataflow_bound() of all jobs together, MB/s; NAN: not in the report */
};

void dataflow_plan_print(const struct dataflow_plan_report *report, FILE *out);
/* Returns the report as nomora.dataflow-plan/1, or NULL if out of memory. */
json_t *dataflow_plan_to_json(const struct dataflow_plan_report *report);
/*
 * Returns a Kubernetes Pod with a node affinity to the job's hosts, by the label kubernetes.io/hostname: the form that
 * Flink (kubernetes.pod-template-file) and Spark (spark.kubernetes.executor.podTemplateFile) take. NULL if out of
 * memory.
 */
json_t *dataflow_plan_to_pod(const struct dataflow_plan *plan, const struct plan_job *job);
/* Draws the network with the load of its links. Returns 0, or -errno with err set. */
int dataflow_plan_plot(const struct dataflow_plan *plan, const char *engine, const char *path, struct error *err);

/*
 * Advice on moves of single tasks. For each task of a running job, finds the host with which the sum of all rates would
 * be greatest, and computes the increase. The jobs continue unchanged. To evaluate a move, chooses new routes for the
 * task's job; all other jobs keep their routes. Tasks that share a slot move together, as the task that leads it.
 */

struct dataflow_move {
	const struct plan_job *job;
	uint32_t task, from, to; /* task: number in the job; from, to: nodes */
	double gain_MBps;        /* increase of the sum of the rates of all jobs' sources */
	double own_gain_MBps;    /* increase of the sum of the rates of this job's sources */
};

struct dataflow_advice {
	struct dataflow_move *moves; /* at most one per task, only with a gain > 0; largest gain first */
	size_t count;
};

/*
 * Advises on those of the plan's jobs that were already running when it was made. The engine chooses the moves. The
 * plan does not change. Returns 0, or -errno with err set; in either case the caller calls dataflow_advice_clear().
 */
int dataflow_advise(struct dataflow_plan *plan, const struct engine *engine, const struct engine_options *options,
		    struct dataflow_advice *advice, struct error *err);
void dataflow_advice_clear(struct dataflow_advice *advice);

/*
 * The effect of measured latency on a placement. A job's curve gives the performance, 0..1, for the round trip between
 * the hosts of a flow's two tasks. The job's performance is the mean over its flows. (NoMora, section 5.2, does the
 * same for the flows to the root.) A job without a curve has performance 1. Engines rate and completion multiply a
 * job's rates by its performance.
 *
 * The round trip between two hosts is the larger of those measured in the two directions. If neither was measured, it
 * is the largest one in the matrix. If one of the job's pairs was probed without an answer, the job's performance is
 * 0. Within a host, the round trip is 1 us.
 */

struct dataflow_latency;

struct dataflow_latency_options {
	const char *matrix; /* file of the latency matrix; "-" = stdin */
	enum latency_statistic statistic;
	const char *curves; /* folder of the curves, NAME.json */
	const char *curve; /* name of the curve for jobs that do not name a curve; NULL: such jobs have performance 1 */
};

/*
 * Reads the matrix and the curves for the jobs of a scenario, which is borrowed. Returns NULL with err set if a file is
 * bad, a host of the network is not in the matrix, a curve does not exist, or memory is short.
 */
struct dataflow_latency *dataflow_latency_open(const struct dataflow *dataflow,
					       const struct dataflow_latency_options *options, struct error *err);
void dataflow_latency_close(struct dataflow_latency *latency); /* NULL is legal */

/* Returns the performance of one of the scenario's jobs, all of whose tasks must have hosts. */
double dataflow_latency_performance(const struct dataflow_latency *latency, const struct dataflow_job *job,
				    const struct dataflow_graph *graph);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of measured latency on a placement: a job's performance, 0..1, is the mean over its flows of the
 * performance that its curve gives for the round trip between the hosts of the flow's tasks (as in NoMora, section 5.2,
 * but for every flow, not only those to the root). A job without a curve has performance 1. Engines rate and completion
 * multiply a job's rates by its performance.
 *
 * The round trip of a pair of hosts is the larger of its two directions, or the largest of the matrix if neither was
 * measured. If a direction was probed without an answer, the job's performance is 0. Within a host the round trip is 1
 * us.
 */
#ifndef SCHED_DATAFLOW_LATENCY_H
#define SCHED_DATAFLOW_LATENCY_H

#include <model/latency_matrix.h>
#include <sched/dataflow/graph.h>

struct dataflow_latency;

struct dataflow_latency_options {
	const char *matrix; /* file of the latency matrix; "-" = stdin */
	enum latency_statistic statistic;
	const char *curves; /* folder of the curves, NAME.json */
	const char *curve;  /* name of the curve of jobs that name none; NULL: those have performance 1 */
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

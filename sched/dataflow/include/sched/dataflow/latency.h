/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of measured latency on a placement: a job's performance, 0..1, is the mean of its curve's p over its
 * flows, at the round trip between the two tasks' hosts (as in NoMora, section 5.2, but for every flow instead of those
 * to the root). A job that names no curve has performance 1. Engines rate and completion multiply a job's rates by its
 * performance.
 *
 * A pair's round trip is the larger of both directions; a pair that was not measured has the largest one of the matrix;
 * where a pair was probed without an answer, the job's performance is 0. On one host it is 1 us.
 */
#ifndef SCHED_DATAFLOW_LATENCY_H
#define SCHED_DATAFLOW_LATENCY_H

#include <model/latency_matrix.h>
#include <sched/dataflow/graph.h>

struct dataflow_latency;

struct dataflow_latency_options {
	const char *matrix; /* file, "-" = stdin */
	enum latency_statistic statistic;
	const char *curves; /* folder of NAME.json */
	const char *curve;  /* of jobs that name none; NULL: none */
};

/*
 * Reads the matrix and the curves for the jobs of a scenario, which is borrowed. NULL with err set: a file is bad, a
 * host of the network is not in the matrix, no such curve, out of memory.
 */
struct dataflow_latency *dataflow_latency_open(const struct dataflow *dataflow,
					       const struct dataflow_latency_options *options, struct error *err);
void dataflow_latency_close(struct dataflow_latency *latency); /* NULL is legal */

/* Performance of one of the scenario's jobs, all of whose tasks have hosts. */
double dataflow_latency_performance(const struct dataflow_latency *latency, const struct dataflow_job *job,
				    const struct dataflow_graph *graph);

#endif

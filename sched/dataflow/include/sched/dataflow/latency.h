/* SPDX-License-Identifier: BSD-3-Clause */
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
#ifndef SCHED_DATAFLOW_LATENCY_H
#define SCHED_DATAFLOW_LATENCY_H

#include <model/latency_matrix.h>
#include <sched/dataflow/graph.h>

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

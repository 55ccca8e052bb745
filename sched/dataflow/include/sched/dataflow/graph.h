/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dataflow job as tasks and flows, with the amount of each source's data that a flow carries.
 *
 * A source is a task of a component without incoming edges. When source s emits 1 MB/s and all others nothing, task t
 * receives received[t][s] MB/s and flow f carries carried[f][s] MB/s. These are the solution of
 *
 * 	received = emitted + sum over edges of share * selectivity * received(sender)
 *
 * where `share` is the part of the sender's data that the flow to this task carries (dataflow_edge_flows()). A solution
 * exists if every cycle of edges passes on less data than it receives. The caller owns the data. Pure.
 */
#ifndef SCHED_DATAFLOW_GRAPH_H
#define SCHED_DATAFLOW_GRAPH_H

#include <stdint.h>

#include <base/error.h>
#include <model/dataflow.h>

struct dataflow_flow {
	uint32_t from, to; /* tasks */
};

/*
 * A sparse matrix with a column for each source: the entries of a row are source[i], rate[i] for i = first[row] ..
 * first[row + 1] - 1.
 */
struct dataflow_by_source {
	uint32_t *first;
	uint32_t *source;
	double *rate; /* MB/s if the source emits 1 MB/s and all others nothing */
};

struct dataflow_graph {
	uint32_t task_count, flow_count, source_count;
	uint32_t *sources;                  /* tasks */
	struct dataflow_flow *flows;        /* ordered by sending task */
	uint32_t *out;                      /* [task_count + 1]: the flows from task t are out[t] .. out[t + 1] - 1 */
	struct dataflow_by_source carried;  /* rows: flows */
	struct dataflow_by_source received; /* rows: tasks; the row of a source has rate 1 for the source itself */
	double *sink_share; /* [source_count]: MB/s that all sinks receive when the source emits 1 MB/s */
};

/*
 * Returns NULL with err set: -EINVAL if the gain of a cycle (data passed on per data received) is 1 or more, -E2BIG if
 * there are too many flows, or -ENOMEM.
 */
struct dataflow_graph *dataflow_graph_create(const struct dataflow_job *job, struct error *err);
void dataflow_graph_destroy(struct dataflow_graph *graph); /* NULL is legal */

/*
 * Lists the flows from one sending task along one edge. shares[]: by flow, the part of the sender's data on this edge
 * that the flow carries; 1 if each receiver gets a copy. flows[] and shares[] need space for all tasks of the receiving
 * component. Returns the number of flows.
 */
uint32_t dataflow_edge_flows(const struct dataflow_job *job, const struct dataflow_edge *edge, uint32_t sender,
			     struct dataflow_flow *flows, double *shares);

#endif

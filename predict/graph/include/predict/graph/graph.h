/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The execution graph of a distributed run, and its run time as a function of latency. A node is a point in
 * time on a rank. An edge leads to a later node; its length is a time and a number of network latencies, and the later
 * node comes at least that long after the earlier one. The run time T(L) at latency L is the longest path: convex and
 * piecewise linear in L, and its slope is the number of messages on that path (Shen et al., "LLAMP: Assessing Network
 * Latency Tolerance of HPC Applications with Linear Programming", SC'24, where a linear program finds it).
 *
 * Times are ns; L is the time of a message's first byte from one host to another, one way. A node has at most two
 * incoming edges, whose other ends were added before it, so that the order of the nodes is a topological one. A node
 * without edges is at time 0. 32 bytes a node, 16 more during runtime_find(). One thread.
 */
#ifndef PREDICT_GRAPH_H
#define PREDICT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

/* Node 0 exists from the start, at time 0. It is also what a function that adds nodes returns when out of memory. */
enum { EXECUTION_START = 0 };

struct execution_edge {
	uint32_t from;
	uint16_t messages; /* latencies on the edge: 0 within a host */
	double ns;         /* >= 0 */
};

struct execution_node {
	double ns[2];
	uint32_t from[2];
	uint32_t rank;
	uint16_t messages[2];
};

struct execution_graph {
	struct execution_node *nodes;
	size_t count, capacity;
	uint32_t ranks;
};

/* Returns 0, or -ENOMEM. execution_graph_free() is legal after both, and on a zeroed graph. */
int execution_graph_init(struct execution_graph *graph, uint32_t ranks);
void execution_graph_free(struct execution_graph *graph);

/* Adds a node with two edges, or with one. Returns its number, or EXECUTION_START if there is no memory for it. */
uint32_t execution_add(struct execution_graph *graph, uint32_t rank, struct execution_edge a, struct execution_edge b);
uint32_t execution_after(struct execution_graph *graph, uint32_t rank, uint32_t from, double ns);

/* Adds nodes for the last of several moments; `count` may be 0. Returns that node, or EXECUTION_START as above. */
uint32_t execution_last(struct execution_graph *graph, uint32_t rank, const uint32_t *moments, size_t count);

/*
 * The LogGPS model of a message: Alexandrov et al., "LogGP: Incorporating Long Messages into the LogP Model", SPAA'95;
 * Ino et al., "LogGPS: A Parallel Computational Model for Synchronization Analysis", PPoPP'01.
 */
struct loggps {
	double latency_ns;    /* L */
	double overhead_ns;   /* o: of the CPU, for each message at each end */
	double gap_ns;        /* G: per byte after the first */
	uint64_t eager_bytes; /* S: longer messages wait until the receiver has asked for them (rendezvous) */
	/* Number of each rank's host: messages within a host have no latency. NULL: each rank has a host of its own. */
	const uint32_t *hosts;
	uint32_t host_count; /* length of `hosts` */
};

/* Fails if `hosts` is not a list of all ranks. Returns 0, or -EINVAL with err set. */
int loggps_check(const struct loggps *model, uint32_t ranks, struct error *err);

static inline bool loggps_is_remote(const struct loggps *model, uint32_t from, uint32_t to)
{
	return from != to && (!model->hosts || model->hosts[from] != model->hosts[to]);
}

static inline double loggps_bytes_ns(const struct loggps *model, uint64_t bytes)
{
	return bytes > 1 ? model->gap_ns * (double)(bytes - 1) : 0;
}

#endif

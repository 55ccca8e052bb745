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
 * without edges is at time 0. 32 bytes a node, 16 to 64 more during runtime_find(). One thread.
 */
#ifndef PREDICT_GRAPH_H
#define PREDICT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/hash_table.h>

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

/* Adds a node for the later of two moments. Returns it, or EXECUTION_START as above. */
uint32_t execution_later(struct execution_graph *graph, uint32_t rank, uint32_t a, uint32_t b);

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

/*
 * Matching of sends and receives as MPI does it: of one sender, receiver, tag and communicator, the first send belongs
 * to the first receive, and so on (MPI 4.0, section 3.5: non-overtaking). Also the nodes that a matched message adds to
 * an execution graph. One thread. A zeroed matcher is empty.
 */

struct envelope {
	uint32_t from, to; /* ranks */
	int64_t tag;
	uint32_t communicator;
};

struct matcher {
	struct hash_table table; /* hash of an envelope to its channel */
	struct match_channel *channels;
	size_t channel_count, channel_capacity;
	struct match_entry *entries; /* waiting sends or receives; unused ones are in a list */
	size_t entry_count, entry_capacity;
	uint32_t unused;
};

/*
 * Brings in one end of a message, of which `item` is the caller's number (below UINT32_MAX). Returns 1 and in *other
 * the number of the other end that waited, 0 if this end now waits, or -ENOMEM.
 */
int matcher_meet(struct matcher *matcher, struct envelope envelope, bool send, uint32_t item, uint32_t *other);
void matcher_free(struct matcher *matcher);

struct message_ends {
	uint32_t sender_done; /* the sender may use its buffer again */
	uint32_t arrived;     /* the last byte is at the receiver, which has asked for it */
};

/*
 * Adds the nodes of a message. sent: the sender's CPU has given it to the network; posted: the receiver has asked for
 * it. Up to model->eager_bytes, the sender is done at `sent`. A longer one is a rendezvous: a request to the receiver,
 * its answer once the receive is posted, then the bytes; three latencies.
 * A message within a host has none. Returns 0 or -ENOMEM.
 */
int message_transfer(struct execution_graph *graph, const struct loggps *model, const struct envelope *envelope,
		     uint64_t bytes, uint32_t sent, uint32_t posted, struct message_ends *ends);

/*
 * The run time T(L) of an execution graph over an interval of latencies, exactly: its straight pieces, and the messages
 * on the longest path by pair of ranks. Two longest paths a piece; no linear program.
 */

/* A straight piece: T(L) = constant_ns + messages * L from from_ns on, up to the next piece. */
struct runtime_piece {
	double from_ns;
	double constant_ns;
	double messages;
};

struct runtime {
	struct runtime_piece *pieces; /* by rising from_ns; messages rises too */
	size_t count, capacity;
	double low_ns, high_ns; /* the interval of L */
	uint64_t longest_paths; /* how many were computed */
};

/* Finds all pieces for L in low_ns..high_ns. Returns 0 or -errno with err set. runtime_free() is legal after both. */
int runtime_find(const struct execution_graph *graph, double low_ns, double high_ns, struct runtime *runtime,
		 struct error *err);
void runtime_free(struct runtime *runtime);

/* T(L), ns, for L in the interval. O(log pieces). */
double runtime_at(const struct runtime *runtime, double latency_ns);

/*
 * The tolerance: the largest L in the interval at which T(L) is at most `times` (>= 1) the T at low_ns. *beyond tells
 * that even high_ns is tolerated.
 */
double runtime_tolerance(const struct runtime *runtime, double times, bool *beyond);

/* Messages from one rank to another on the longest path. */
struct runtime_pair {
	uint32_t from, to;
	uint64_t messages;
};

/*
 * Lists the pairs of ranks with messages on the longest path at latency L (just above L, where two paths are equally
 * long), by from, then to. Returns the array, which the caller frees, and *count; NULL with err set if out of memory.
 */
struct runtime_pair *runtime_pairs(const struct execution_graph *graph, double latency_ns, size_t *count,
				   struct error *err);
/* Sorts pairs by from, then to, and merges equal ones; returns how many are left. */
size_t runtime_pairs_merge(struct runtime_pair *pairs, size_t count);

#endif

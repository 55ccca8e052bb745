/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run time T(L) of an execution graph over an interval of latencies, exactly: its straight pieces, and the messages
 * on the longest path by pair of ranks. Two longest paths a piece; no linear program.
 */
#ifndef PREDICT_RUNTIME_H
#define PREDICT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <predict/graph/graph.h>

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
 * The tolerance: the largest L in the interval at which T(L) is at most `times` (>= 1) the T at low_ns. *beyond (may be
 * NULL) tells that even high_ns is tolerated.
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

#endif

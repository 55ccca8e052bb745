/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the cost-scaling solver (Goldberg 1997; partial augmentation as in Kiraly & Kovacs 2012). Costs are
 * multiplied by node_count + 1; a flow is epsilon-optimal when no residual arc has a reduced cost under -epsilon, and
 * optimal when it is so for epsilon = 1. A phase turns an (alpha epsilon)-optimal flow into an epsilon-optimal one.
 */
#ifndef MCF_SCALING_PRIV_H
#define MCF_SCALING_PRIV_H

#include "mcf_priv.h"

enum { SCALING_ALPHA = 12 };

/* An arc of the residual network, both directions of each arc; sorted by tail. 16 bytes: a scan reads nothing else. */
struct residual {
	int32_t head;
	int32_t room; /* what may still go along it */
	int64_t cost; /* scaled; of the other direction its negative */
};

struct scaling {
	const struct mcf_problem *problem;
	int32_t node_count;
	int32_t *first; /* [nodes + 1] */
	struct residual *arcs;
	int32_t *reverse; /* [residual arcs] */
	int32_t *forward; /* [problem arcs] its residual arc, -1 for a loop */
	int64_t *price;   /* [nodes] scaled potential */
	int64_t *excess;  /* [nodes] */
	int32_t *next;    /* [nodes] arc at which the search for an admissible one goes on */
	int32_t *queue;   /* [nodes] active nodes, circular */
	bool *queued;     /* [nodes] */
	int32_t queue_begin, queue_count;
	int32_t *rank;                        /* [nodes] of the global update, in epsilons; and of the proof */
	int32_t *bucket_next, *bucket_before; /* [nodes] lists of equal rank */
	int32_t *bucket;                      /* [bucket_count] */
	int32_t bucket_count;
	int64_t epsilon, largest_cost;
	uint64_t pushes, relabels, phases;
	int64_t relabels_since_update;
	bool infeasible, out_of_range;
};

/* scaling_refine.c: one phase. Sets infeasible or out_of_range when it cannot be ended. */
void scaling_refine(struct scaling *scaling);

/* scaling_update.c: lowers prices by distance from the deficits. False when an active node cannot reach any. */
bool scaling_global_update(struct scaling *scaling);
/* Can every active node reach a deficit? rank[v] = 1 where v cannot: then it is a cut that proves infeasibility. */
bool scaling_deficits_reachable(struct scaling *scaling);

static inline int64_t scaling_reduced(const struct scaling *scaling, int32_t tail, const struct residual *arc)
{
	return arc->cost + scaling->price[tail] - scaling->price[arc->head];
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the cost-scaling solver (Goldberg 1997; partial augmentation as in Kiraly & Kovacs 2012). Costs are
 * multiplied by node_count + 1. A flow is epsilon-optimal if no residual arc has a reduced cost under -epsilon; it is
 * optimal if this holds for epsilon = 1. A phase turns an (alpha epsilon)-optimal flow into an epsilon-optimal one.
 *
 * Three parts go beyond the textbook's push-relabel, only for speed: global updates (update.c), price refinement
 * (price_refinement.c) and speculative arc fixing (arc_fixing.c). Arcs whose reduced cost is far from 0 hardly ever
 * change their flow again, so they are fixed: a phase does not scan them. The next phase looks at all arcs again. After
 * the last phase the fixed arcs are checked; if one is violated, the phase is repeated with all arcs. Without fixing
 * the solver takes 1.2 to 1.8 times as long (transport, grids, random arcs).
 */
#ifndef MCF_SCALING_PRIV_H
#define MCF_SCALING_PRIV_H

#include <sched/mcf/scaling.h>

#include "mcf_priv.h"

enum { SCALING_ALPHA = 12 };

/*
 * An arc of the residual network, which has both directions of each arc, sorted by tail. 16 bytes: a scan reads nothing
 * else.
 */
struct residual {
	int32_t head;
	int32_t residual; /* residual capacity */
	int64_t cost;     /* scaled; the arc in the other direction has the negative of it */
};

struct scaling {
	const struct mcf_problem *problem;
	int32_t node_count;
	int32_t *first; /* [nodes + 1] */
	int32_t *end;   /* [nodes] arcs first[v] .. end[v] - 1 are scanned, arcs end[v] .. first[v + 1] - 1 are fixed */
	struct residual *arcs;
	int32_t *reverse; /* [residual arcs] */
	/* [residual arcs] residual capacity of the arc plus that of its reverse, which is far away in memory */
	int32_t *whole;
	int32_t *origin;      /* [residual arcs] the problem's arc; -1: it is the reverse of one */
	int64_t *price;       /* [nodes] scaled potential */
	int64_t *trial_price; /* [nodes] prices that scaling_refine_prices() tries */
	int32_t *parent;      /* [nodes] arc that lowered the trial price last */
	int32_t *parent_tail; /* [nodes] tail of that arc */
	int64_t *excess;      /* [nodes] */
	int32_t *next;        /* [nodes] cursor of the search for an admissible arc */
	int32_t *queue;       /* [nodes] active nodes, circular */
	bool *queued;         /* [nodes] */
	int32_t queue_begin, queue_count;
	/* [nodes] distance to a deficit in the global update, in epsilons; 0 or 1 in the proof of infeasibility */
	int32_t *rank;
	int32_t *bucket_next, *bucket_before; /* [nodes] lists of equal rank */
	int32_t *bucket;                      /* [bucket_count] */
	int32_t bucket_count;
	int32_t buckets_used; /* buckets from this index on have been empty since the last update */
	int64_t epsilon, largest_cost;
	uint64_t pushes, relabels, phases;
	int64_t scans; /* number of arcs that phases have scanned */
	struct mcf_watcher watcher;
	int64_t relabels_since_update, relabels_per_update;
	bool has_fixed; /* some arcs are fixed */
	bool infeasible, out_of_range;
};

/* refine.c: one phase with the current epsilon. Sets infeasible or out_of_range if it cannot be completed. */
void scaling_refine(struct scaling *scaling);

/*
 * arc_fixing.c: makes the flow epsilon-optimal by saturating arcs, and fixes the arcs whose reduced cost is above
 * `limit` or below -`limit`.
 */
void scaling_begin_phase(struct scaling *scaling, int64_t limit);
/* Releases all fixed arcs: phases scan them again. */
void scaling_release_fixed(struct scaling *scaling);
/*
 * price_refinement.c: called between phases. Looks for prices that prove the flow optimal, and saturates negative
 * cycles. Takes no longer than the last phase, which scanned `phase_scans` arcs, plus the beginning of a phase. The
 * flow stays feasible. Returns true if the new prices prove optimality. Otherwise returns false: the prices are either
 * unchanged or new ones that only few arcs violate.
 */
bool scaling_refine_prices(struct scaling *scaling, int64_t phase_scans);

/* True if every residual arc's reduced cost is at least -epsilon. */
bool scaling_is_optimal(const struct scaling *scaling);

static inline void scaling_push(struct scaling *scaling, int32_t tail, int32_t arc, int32_t amount)
{
	struct residual *a = &scaling->arcs[arc];

	a->residual -= amount;
	scaling->arcs[scaling->reverse[arc]].residual += amount;
	scaling->excess[tail] -= amount;
	scaling->excess[a->head] += amount;
	scaling->pushes++;
}

/*
 * update.c: lowers prices by the nodes' distances from the deficits. Returns false if an active node cannot reach a
 * deficit.
 */
bool scaling_global_update(struct scaling *scaling);
/*
 * True if every active node can reach a deficit; if not, the nodes with rank[v] = 1 are a cut that proves
 * infeasibility.
 */
bool scaling_deficits_reachable(struct scaling *scaling);

static inline void scaling_report(const struct scaling *scaling)
{
	mcf_report(&scaling->watcher, (struct mcf_statistics){.algorithm = "scaling",
							      .pushes = scaling->pushes,
							      .relabels = scaling->relabels,
							      .phases = scaling->phases});
}

/* True if the reverse arc has residual capacity. */
static inline bool scaling_has_way_back(const struct scaling *scaling, int32_t arc)
{
	return scaling->arcs[arc].residual < scaling->whole[arc];
}

/* Returns cost - price[head], or INT64_MAX for a full arc. Branch-free, as the branch would be unpredictable. */
static inline int64_t scaling_seen(const int64_t *price, const struct residual *arc)
{
	int64_t full = -(int64_t)(arc->residual == 0);

	return ((arc->cost - price[arc->head]) & ~full) | (INT64_MAX & full);
}

static inline int64_t scaling_reduced(const struct scaling *scaling, int32_t tail, const struct residual *arc)
{
	return arc->cost + scaling->price[tail] - scaling->price[arc->head];
}

#endif

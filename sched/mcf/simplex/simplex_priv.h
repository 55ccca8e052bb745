/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the network simplex: simplex.c (set-up and answer), start.c (first pivots), patience.c (whether to go on),
 * pivot.c (pricing and pivots) and tree.c (the spanning tree).
 *
 * An arc is priced in its residual orientation: an arc whose flow is at its capacity is stored reversed, with its cost
 * negated ("flipped"). So every arc outside the basis has flow 0 in stored orientation and is attractive (worth a
 * pivot) exactly when its reduced cost is negative. A basic arc has reduced cost 0 and is never chosen. So pricing need
 * not read state[]. An arc that can never carry flow through the network (capacity 0, a loop) is parked: both stored
 * ends are the root and its stored cost is 0.
 *
 * Node 0 of the tree is the root; node v of the problem is v + 1. A tree arc is stored with the lower of its nodes, as
 * the residual capacity towards the parent (up) and from the parent (down). Strongly feasible: up > 0 at every node.
 * The tree is threaded in preorder both ways, so that a subtree is the run of the thread from its top to its last node.
 * Only differences of potentials matter, so while the simplex pivots, the potentials may drift and even wrap around.
 * The answer has each potential minus the root's.
 */
#ifndef MCF_SIMPLEX_PRIV_H
#define MCF_SIMPLEX_PRIV_H

#include <sched/mcf/simplex.h>

#include "mcf_priv.h"

enum { TREE_ROOT = 0, NO_NODE = -1 };
/*
 * Values of tree_node.arc for artificial arcs: ARTIFICIAL_UP leads to the root and costs 0, ARTIFICIAL_DOWN comes from
 * the root and costs `artificial_cost`.
 */
enum { ARTIFICIAL_UP = -1, ARTIFICIAL_DOWN = -2 };
enum arc_state { ARC_FLIPPED = 1, ARC_BASIC = 2, ARC_PARKED = 4 };

/*
 * Time in units of one visited node, measured: SIMPLEX_WORK_PIVOT is the time of a pivot without the nodes that it
 * visits; pricing SIMPLEX_ARCS_A_NODE arcs takes one unit.
 */
enum { SIMPLEX_WORK_PIVOT = 16, SIMPLEX_ARCS_A_NODE = 4 };

#define CAPACITY_UNLIMITED (INT64_C(1) << 62)

/* The fields that a walk towards the root reads. */
struct tree_node {
	int32_t parent;
	int32_t arc;      /* to the parent; ARTIFICIAL_* */
	int32_t size;     /* nodes of its subtree, itself included */
	int32_t last;     /* last node of the subtree in the preorder */
	int64_t up, down; /* residual capacity of the arc towards and from the parent */
};

/* The preorder, circular through the root: the fields that a walk over a subtree reads. */
struct tree_link {
	int32_t next, before;
};

struct simplex {
	const struct mcf_problem *problem;
	int32_t node_count, arc_count;
	/* [arcs] index at which each of the problem's arcs is stored; the next five arrays have this index */
	int32_t *position;
	int32_t *tail, *head; /* tree nodes, in the orientation in which the arc is priced */
	int32_t *capacity;
	int64_t *cost;
	uint8_t *state;         /* enum arc_state */
	struct tree_node *tree; /* [nodes + 1], as are the next three */
	struct tree_link *link;
	int64_t *potential;
	int32_t *scratch;
	int64_t artificial_cost; /* cost of an artificial arc from the root: more than any path of real arcs */
	int32_t cursor;          /* index of the arc at which pricing continues */
	uint64_t pivots;
	int64_t work;          /* work of this solve, about the number of nodes touched, in SIMPLEX_* units */
	int64_t patience;      /* simplex_is_slow() is called once `work` exceeds this; INT64_MAX: never */
	int32_t look;          /* index of the next check in patience.c */
	int64_t missing_first; /* units on artificial arcs before the first pivot */
	bool given_up;
	struct mcf_watcher watcher;
};

struct entering_arc {
	int32_t arc;
	int64_t reduced; /* < 0 */
};

/* tree.c */
/* Makes every node a child of the root, by the artificial arc that its excess needs. */
void tree_build(struct simplex *simplex, const int64_t *excess);
/*
 * Cuts off the subtree of `out`, makes `in` its top, and attaches it by a tree arc. `above` has the new parent of `in`,
 * and the number and the residual capacities of that arc. The subtree's potentials rise by `change` relative to the
 * others. `apex` is the lowest node above both the old and the new place.
 */
void tree_move(struct simplex *simplex, int32_t in, int32_t out, struct tree_node above, int32_t apex, int64_t change);

/* pivot.c */
/* Reverses a stored arc: its flow goes from 0 to capacity or back. */
void simplex_flip(struct simplex *simplex, int32_t arc);
/* Lets the arc enter the basis if it is attractive. */
void simplex_enter(struct simplex *simplex, int32_t arc);
/* Pivots until no arc is attractive. */
void simplex_optimise(struct simplex *simplex);

/* start.c: makes the pivots that are worth making before any pricing. */
void simplex_start(struct simplex *simplex);

/* patience.c */
int64_t simplex_missing_units(const struct simplex *simplex); /* on artificial arcs from the root */
/* Makes the solve stop when another algorithm is likely to be faster. */
void simplex_be_impatient(struct simplex *simplex);
bool simplex_is_slow(struct simplex *simplex);

static inline int64_t simplex_reduced_cost(const struct simplex *simplex, int32_t arc)
{
	return (int64_t)((uint64_t)simplex->cost[arc] + (uint64_t)simplex->potential[simplex->tail[arc]] -
			 (uint64_t)simplex->potential[simplex->head[arc]]);
}

#endif

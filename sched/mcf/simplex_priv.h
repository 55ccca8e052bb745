/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the network simplex, shared by its three files: simplex.c (network, warm start), simplex_pivot.c
 * (pricing, pivots) and simplex_tree.c (the spanning tree).
 *
 * An arc is priced in its residual orientation: when it stands at its capacity it is stored turned round with its
 * cost negated ("flipped"). So every arc outside the basis carries nothing in stored orientation, may be entered
 * along it, and is attractive exactly when its reduced cost is negative; a basic arc has reduced cost 0 and is never
 * picked: pricing needs no state at all. An arc that can never carry more (capacity 0, a loop) is parked: both
 * stored ends are the root and its stored cost is 0.
 *
 * Node 0 of the tree is the root; node v of the problem is v + 1. A tree arc lives with the node below it, as the
 * room left towards the parent (up) and from the parent (down). Strongly feasible: room_up > 0 at every node. The
 * tree is threaded in preorder, so that a subtree is a run of the thread that begins at its top (size known); what a
 * walk over a subtree reads, thread and potential, lies in arrays of its own.
 */
#ifndef MCF_SIMPLEX_PRIV_H
#define MCF_SIMPLEX_PRIV_H

#include <mcf/simplex.h>

#include "mcf_priv.h"

enum { TREE_ROOT = 0, NO_NODE = -1 };
/* Artificial arcs to and from the root, as values of tree_node.arc: cost 0, and `artificial_cost`. */
enum { ARTIFICIAL_UP = -1, ARTIFICIAL_DOWN = -2 };
enum arc_state { ARC_FLIPPED = 1, ARC_BASIC = 2, ARC_PARKED = 4 };

#define ROOM_UNLIMITED (INT64_C(1) << 62)

struct priced_arc {
	int32_t tail, head;
	int64_t cost;
};

struct tree_node {
	int32_t parent;
	int32_t size; /* nodes of its subtree, itself included */
	int64_t room_up, room_down;
	int32_t arc;    /* to the parent; ARTIFICIAL_* */
	int32_t before; /* node whose thread leads here */
};

struct mcf_simplex {
	int32_t node_count, arc_count;
	int32_t node_room, arc_room;
	int32_t *position;               /* of an arc as the caller counts; all that follows is by position */
	int32_t *tail, *head, *capacity; /* the network as given; problem nodes */
	int64_t *cost;
	struct priced_arc *priced;
	uint8_t *state;         /* enum arc_state */
	int64_t *supply;        /* by problem node */
	struct tree_node *tree; /* by tree node, as is the rest */
	int32_t *thread;        /* preorder, from the root round to the root */
	int64_t *potential;
	int64_t *balance;         /* supply less what flipped arcs send away at full capacity */
	int32_t *child, *sibling; /* scratch of tree_rebuild() */
	int64_t largest_cost;     /* |cost|, of any arc so far */
	int64_t artificial_cost;  /* outweighs any path of real arcs */
	mcf_wide baseline_cost;   /* of the flipped arcs at capacity */
	int64_t total_cost;
	int32_t loop_count;
	int32_t cursor; /* where pricing goes on */
	uint64_t pivots;
	enum mcf_status status;
};

/* simplex_tree.c */
/* Thread and sizes from the parents alone. */
void tree_rebuild(struct mcf_simplex *simplex);
/* Makes `node` a child of the root by the artificial arc that `excess`, what its subtree must send, needs. */
void tree_hang(struct mcf_simplex *simplex, int32_t node, int64_t excess);
/* Potentials of the whole tree, parents first. */
void tree_price(struct mcf_simplex *simplex);
/* Cost of the arc above `node` in the direction node -> parent. */
int64_t tree_cost_up(const struct mcf_simplex *simplex, int32_t node);

/* Flow along the stored orientation of the basic arc above `node`. */
static inline int64_t tree_stored_flow(const struct mcf_simplex *simplex, int32_t node)
{
	const struct tree_node *n = &simplex->tree[node];

	return simplex->priced[n->arc].tail == node ? n->room_down : n->room_up;
}

/* simplex_pivot.c: pivots until no arc is attractive. */
void simplex_optimise(struct mcf_simplex *simplex);
/* Turns a stored arc round: its baseline flow goes from 0 to capacity or back. */
void simplex_flip(struct mcf_simplex *simplex, int32_t arc);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the network simplex, shared by its files: simplex.c (the network and its changes), solve.c (a solve, the
 * answer), start.c (its first pivots), patience.c (whether to go on), pivot.c (the pivot), price*.c (pricing) and
 * tree.c (the spanning tree).
 *
 * An arc is priced in its residual orientation: when it stands at its capacity it is stored turned round with its
 * cost negated ("flipped"). So every arc outside the basis carries nothing in stored orientation, may be entered
 * along it, and is attractive exactly when its reduced cost is negative; a basic arc has reduced cost 0 and is never
 * picked: pricing needs no state at all. An arc that can never carry more (capacity 0, a loop) is parked: both
 * stored ends are the root and its stored cost is 0.
 *
 * Node 0 of the tree is the root; node v of the problem is v + 1. A tree arc lives with the node below it, as the
 * room left towards the parent (up) and from the parent (down). Strongly feasible: room_up > 0 at every node. The
 * tree is threaded in preorder both ways, so that a subtree is the run of the thread from its top to its last node.
 *
 * Narrow: where potentials and costs are sure to fit 32 bits, a solve works on 32-bit copies of them; pricing reads
 * half as much, and twice as many fit a vector. Only differences of potentials count while it pivots: they may drift,
 * even round the end of the numbers; at its end the root's is made 0 again.
 */
#ifndef MCF_SIMPLEX_PRIV_H
#define MCF_SIMPLEX_PRIV_H

#include <sched/mcf/simplex.h>

#include "mcf_priv.h"

enum { TREE_ROOT = 0, NO_NODE = -1 };
/* Artificial arcs to and from the root, as values of tree_node.arc: cost 0, and `artificial_cost`. */
enum { ARTIFICIAL_UP = -1, ARTIFICIAL_DOWN = -2 };
enum arc_state { ARC_FLIPPED = 1, ARC_BASIC = 2, ARC_PARKED = 4 };

/* What a pivot costs besides the nodes it touches, and how many priced arcs cost as much as a node: measured. */
enum { SIMPLEX_WORK_PIVOT = 16, SIMPLEX_ARCS_A_NODE = 4 };

#define ROOM_UNLIMITED (INT64_C(1) << 62)
/* Potentials span less than twice the artificial cost, so reduced costs stay under three times that. */
#define ARTIFICIAL_COST_NARROW (INT32_MAX / 3)

/* What walks towards the root read. */
struct tree_node {
	int32_t parent;
	int32_t arc;  /* to the parent; ARTIFICIAL_* */
	int32_t size; /* nodes of its subtree, itself included */
	int32_t last; /* of them in the preorder */
	int64_t room_up, room_down;
};

/* The preorder, from the root round to the root; what walks over subtrees read. */
struct tree_link {
	int32_t next, before;
};

/* Arcs as they are priced. */
struct priced_arcs {
	int32_t *tail, *head; /* tree nodes */
	int64_t *cost;
	int32_t *narrow_cost; /* valid while a narrow solve runs */
};

struct mcf_simplex {
	int32_t node_count, arc_count;
	int32_t node_room, arc_room;
	int32_t *position;               /* of an arc as the caller counts; all that follows is by position */
	int32_t *tail, *head, *capacity; /* the network as given; problem nodes */
	int64_t *cost;
	struct priced_arcs priced;
	uint8_t *state;         /* enum arc_state */
	int64_t *supply;        /* by problem node */
	struct tree_node *tree; /* by tree node, as is the rest */
	struct tree_link *link;
	int64_t *potential;
	int32_t *narrow_potential; /* valid while a narrow solve runs */
	int64_t *balance;          /* supply less what flipped arcs send away at full capacity */
	int32_t *child, *sibling;  /* scratch of tree_rebuild() and simplex_start() */
	int64_t largest_cost;      /* |cost|, of any arc so far */
	int64_t artificial_cost;   /* outweighs any path of real arcs */
	mcf_wide baseline_cost;    /* of the flipped arcs at capacity */
	int64_t total_cost;
	int32_t loop_count;
	int32_t cursor;     /* where pricing goes on */
	int32_t trial_arcs; /* ... so many arcs */
	bool narrow;
	bool gathers; /* a narrow solve prices by vectors, as was quicker on the first ... */
	bool fresh;   /* all nodes hang from the root still, as created */
	uint64_t pivots;
	int64_t work;          /* about the nodes touched in this solve, in SIMPLEX_* units */
	int64_t patience;      /* at so much work simplex_is_slow() is asked; INT64_MAX: never */
	int32_t look;          /* which look that will be */
	int64_t missing_first; /* units over artificial arcs before the first pivot */
	bool given_up;
	struct mcf_watcher watcher;
	enum mcf_status status;
};

struct entering_arc {
	int32_t arc;
	int64_t reduced; /* < 0 */
};

/* simplex.c: the largest cost, as arcs come in. */
void simplex_note_cost(struct mcf_simplex *simplex, int64_t cost);

/* The tree node that the basic arc hangs from: whichever end has it. */
static inline int32_t simplex_basic_node(const struct mcf_simplex *simplex, int32_t arc)
{
	int32_t tail = simplex->priced.tail[arc];

	return simplex->tree[tail].arc == arc ? tail : simplex->priced.head[arc];
}

/* tree.c */
/* Preorder and sizes from the parents alone. */
void tree_rebuild(struct mcf_simplex *simplex);
/* Makes `node` a child of the root by the artificial arc that `excess`, what its subtree must send, needs. */
void tree_hang(struct mcf_simplex *simplex, int32_t node, int64_t excess);
/* Potentials of the whole tree, parents first. */
void tree_price(struct mcf_simplex *simplex);
/* Cost of the arc above `node` in the direction node -> parent. */
int64_t tree_cost_up(const struct mcf_simplex *simplex, int32_t node);
/*
 * Cuts off the subtree of `out` and hangs it by its node `in` from above.parent; its potentials rise by `change`
 * against the others. `apex`: the lowest node that is above both places.
 */
void tree_move(struct mcf_simplex *simplex, int32_t in, int32_t out, struct tree_node above, int32_t apex,
	       int64_t change);

/* Flow along the stored orientation of the basic arc above `node`. */
static inline int64_t tree_stored_flow(const struct mcf_simplex *simplex, int32_t node)
{
	const struct tree_node *n = &simplex->tree[node];

	return simplex->priced.tail[n->arc] == node ? n->room_down : n->room_up;
}

/* price.c: the most attractive arc of the next block that has one; false when there is none at all. */
bool simplex_price(struct mcf_simplex *simplex, int32_t block, struct entering_arc *best);

/* patience.c: units that still come over artificial arcs from the root. */
int64_t simplex_missing_units(const struct mcf_simplex *simplex);
/* The solve is to be given up where another algorithm is likely to be faster. */
void simplex_be_impatient(struct mcf_simplex *simplex);
bool simplex_is_slow(struct mcf_simplex *simplex);

/* price.c: arcs that could be entered now. */
int32_t simplex_attractive_arcs(const struct mcf_simplex *simplex);

/* start.c: pivots worth making before any pricing. */
void simplex_start(struct mcf_simplex *simplex);

/* pivot.c: the arc enters the basis if it is attractive. */
void simplex_enter(struct mcf_simplex *simplex, int32_t arc);
/* Pivots until no arc is attractive. */
void simplex_optimise(struct mcf_simplex *simplex);
/* Turns a stored arc round: its baseline flow goes from 0 to capacity or back. */
void simplex_flip(struct mcf_simplex *simplex, int32_t arc);

#endif

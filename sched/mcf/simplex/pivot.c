/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pivots of the network simplex: the hot path. The leaving arc is the last that blocks the cycle, seen from its apex
 * in the cycle's direction (Cunningham's rule), which keeps the tree strongly feasible.
 */
#include "simplex_price_priv.h"

enum { PIVOTS_PER_REPORT = 1000 };
/* Arcs priced at a time: about the square root of all (Kiraly & Kovacs 2012), but not more than stay near. */
enum { BLOCK_LEAST = 20, BLOCK_MOST = 1024 };

/* What the entering arc closes: down from its tail's side, up from its head's, to where both sides meet. */
struct cycle {
	int32_t apex;
	int32_t leaving; /* the arc above it leaves; NO_NODE: the entering arc goes from bound to bound */
	bool on_tail_side;
	int64_t delta;
};

void simplex_flip(struct mcf_simplex *simplex, int32_t arc)
{
	struct priced_arcs *priced = &simplex->priced;
	int32_t tail = priced->tail[arc], head = priced->head[arc];
	int64_t amount = simplex->capacity[arc];

	/* The baseline now sends `amount` along the old stored orientation. */
	simplex->balance[tail] -= amount;
	simplex->balance[head] += amount;
	simplex->baseline_cost += (mcf_wide)priced->cost[arc] * amount;
	priced->tail[arc] = head;
	priced->head[arc] = tail;
	priced->cost[arc] = -priced->cost[arc];
	if (simplex->narrow)
		priced->narrow_cost[arc] = -priced->narrow_cost[arc];
	simplex->state[arc] ^= ARC_FLIPPED;
}

/* A side of the cycle while it is walked: where, and the node above which there is least room so far. */
struct side {
	int32_t node, tightest;
	int64_t room;
};

/* Of equal rooms the lowest on the tail's side and the highest on the head's are the last in the cycle's direction. */
static inline void climb_tail(const struct tree_node *tree, struct side *side)
{
	const struct tree_node *n = &tree[side->node];

	if (n->room_down < side->room) {
		side->room = n->room_down;
		side->tightest = side->node;
	}
	side->node = n->parent;
}

static inline void climb_head(const struct tree_node *tree, struct side *side)
{
	const struct tree_node *n = &tree[side->node];

	if (n->room_up <= side->room) {
		side->room = n->room_up;
		side->tightest = side->node;
	}
	side->node = n->parent;
}

static struct cycle find_cycle(struct mcf_simplex *simplex, int32_t arc)
{
	const struct tree_node *tree = simplex->tree;
	struct side tail = {simplex->priced.tail[arc], NO_NODE, simplex->capacity[arc]};
	struct side head = {simplex->priced.head[arc], NO_NODE, simplex->capacity[arc]};

	/* The node with the smaller subtree cannot be above the other. */
	while (tail.node != head.node) {
		if (tree[tail.node].size < tree[head.node].size)
			climb_tail(tree, &tail);
		else
			climb_head(tree, &head);
		simplex->work++;
	}
	if (head.tightest != NO_NODE && head.room <= tail.room)
		return (struct cycle){tail.node, head.tightest, false, head.room};
	return (struct cycle){tail.node, tail.tightest, true, tail.room};
}

static void push_along(struct mcf_simplex *simplex, int32_t arc, const struct cycle *cycle)
{
	struct tree_node *tree = simplex->tree;

	for (int32_t v = simplex->priced.tail[arc]; v != cycle->apex; v = tree[v].parent) {
		tree[v].room_down -= cycle->delta;
		tree[v].room_up += cycle->delta;
	}
	for (int32_t v = simplex->priced.head[arc]; v != cycle->apex; v = tree[v].parent) {
		tree[v].room_up -= cycle->delta;
		tree[v].room_down += cycle->delta;
	}
}

/* Takes the arc above the leaving node out of the basis, at the bound that it blocks at. */
static void drop_leaving(struct mcf_simplex *simplex, const struct cycle *cycle)
{
	int32_t arc = simplex->tree[cycle->leaving].arc;

	if (arc < 0)
		return;
	simplex->state[arc] &= (uint8_t)~ARC_BASIC;
	/* Room ran out downwards on the tail side, upwards on the head side: saturated if that is how it is stored. */
	if ((simplex->priced.tail[arc] == cycle->leaving) != cycle->on_tail_side)
		simplex_flip(simplex, arc);
}

static void pivot(struct mcf_simplex *simplex, const struct entering_arc *in)
{
	struct cycle cycle = find_cycle(simplex, in->arc);
	int32_t tail = simplex->priced.tail[in->arc], head = simplex->priced.head[in->arc];
	int64_t left = simplex->capacity[in->arc] - cycle.delta;
	struct tree_node above;

	simplex->pivots++;
	simplex->work += SIMPLEX_WORK_PIVOT;
	if (cycle.delta > 0)
		push_along(simplex, in->arc, &cycle);
	if (cycle.leaving == NO_NODE) {
		simplex_flip(simplex, in->arc);
		return;
	}
	drop_leaving(simplex, &cycle);
	simplex->state[in->arc] |= ARC_BASIC;
	if (cycle.on_tail_side)
		above = (struct tree_node){.parent = head, .arc = in->arc, .room_up = left, .room_down = cycle.delta};
	else
		above = (struct tree_node){.parent = tail, .arc = in->arc, .room_up = cycle.delta, .room_down = left};
	tree_move(simplex, cycle.on_tail_side ? tail : head, cycle.leaving, above, cycle.apex,
		  cycle.on_tail_side ? -in->reduced : in->reduced);
}

void simplex_enter(struct mcf_simplex *simplex, int32_t arc)
{
	struct entering_arc in = {.arc = arc};

	if (simplex->narrow)
		simplex_price_narrow(simplex, arc, arc + 1, &in);
	else
		simplex_price_wide(simplex, arc, arc + 1, &in);
	if (in.reduced < 0)
		pivot(simplex, &in);
}

static int32_t block_size(int32_t arc_count)
{
	int32_t size = BLOCK_LEAST;

	while (size < BLOCK_MOST && (int64_t)size * size < arc_count)
		size++;
	return size;
}

static void enter_narrow(struct mcf_simplex *simplex)
{
	for (int32_t v = 0; v <= simplex->node_count; v++)
		simplex->narrow_potential[v] = (int32_t)simplex->potential[v];
	for (int32_t a = 0; a < simplex->arc_count; a++)
		simplex->priced.narrow_cost[a] = (int32_t)simplex->priced.cost[a];
}

/* The root's potential is 0 again. */
static void settle_potentials(struct mcf_simplex *simplex)
{
	int64_t *potential = simplex->potential, root = potential[TREE_ROOT];
	const int32_t *narrow = simplex->narrow_potential;

	for (int32_t v = 0; v <= simplex->node_count; v++)
		potential[v] = simplex->narrow ? (int32_t)((uint32_t)narrow[v] - (uint32_t)narrow[TREE_ROOT])
					       : (int64_t)((uint64_t)potential[v] - (uint64_t)root);
	simplex->narrow = false;
}

void simplex_optimise(struct mcf_simplex *simplex)
{
	int32_t block = block_size(simplex->arc_count);
	struct entering_arc in = {0};

	simplex->narrow = simplex->artificial_cost <= ARTIFICIAL_COST_NARROW;
	if (simplex->narrow) {
		enter_narrow(simplex);
		simplex_choose_pricing(simplex);
	}
	if (simplex->cursor >= simplex->arc_count)
		simplex->cursor = 0;
	if (simplex->fresh)
		simplex_start(simplex);
	simplex->work = 0; /* that of the start says nothing of what follows */
	simplex->fresh = false;
	while (!simplex->given_up && simplex_price(simplex, block, &in)) {
		pivot(simplex, &in);
		if (simplex->pivots % PIVOTS_PER_REPORT == 0)
			mcf_report(&simplex->watcher,
				   (struct mcf_statistics){.algorithm = "simplex", .pivots = simplex->pivots});
		if (simplex->work > simplex->patience)
			simplex->given_up = simplex_is_slow(simplex);
	}
	settle_potentials(simplex);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pricing and pivots of the network simplex: the hot path. Block search takes the most attractive arc of the first
 * block that has one, going round the arcs; the leaving arc is the last that blocks the cycle, seen from its apex
 * in the cycle's direction (Cunningham's rule), which keeps the tree strongly feasible.
 */
#include "simplex_priv.h"

struct entering {
	int32_t arc;
	int64_t reduced; /* < 0 */
};

struct leaving {
	int32_t node; /* the arc above it leaves; NO_NODE: the entering arc goes from bound to bound */
	bool on_tail_side;
	int64_t delta;
};

/* The most attractive of arcs begin..end-1; true when there is one. */
static inline bool price_range(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering *best)
{
	const struct priced_arc *priced = simplex->priced;
	const int64_t *potential = simplex->potential;
	int64_t least = best->reduced;

	for (int32_t a = begin; a < end; a++) {
		int64_t reduced = priced[a].cost + potential[priced[a].tail] - potential[priced[a].head];

		if (reduced < least) {
			least = reduced;
			best->arc = a;
		}
	}
	best->reduced = least;
	return least < 0;
}

static bool price_block(struct mcf_simplex *simplex, int32_t block, struct entering *best)
{
	int32_t cursor = simplex->cursor, left = simplex->arc_count;

	best->reduced = 0;
	while (left > 0) {
		int32_t size = block < left ? block : left;
		int32_t first = simplex->arc_count - cursor < size ? simplex->arc_count - cursor : size;
		bool found = price_range(simplex, cursor, cursor + first, best);

		cursor += first;
		if (first < size) {
			found = price_range(simplex, 0, size - first, best);
			cursor = size - first;
		}
		if (cursor == simplex->arc_count)
			cursor = 0;
		left -= size;
		if (found) {
			simplex->cursor = cursor;
			return true;
		}
	}
	return false;
}

void simplex_flip(struct mcf_simplex *simplex, int32_t arc)
{
	struct priced_arc *priced = &simplex->priced[arc];
	int32_t tail = priced->tail;
	int64_t amount = simplex->capacity[arc];

	/* The baseline now sends `amount` along the old stored orientation. */
	simplex->balance[tail] -= amount;
	simplex->balance[priced->head] += amount;
	simplex->baseline_cost += (mcf_wide)priced->cost * amount;
	priced->tail = priced->head;
	priced->head = tail;
	priced->cost = -priced->cost;
	simplex->state[arc] ^= ARC_FLIPPED;
}

static int32_t find_apex(const struct tree_node *tree, int32_t a, int32_t b)
{
	while (tree[a].depth > tree[b].depth)
		a = tree[a].parent;
	while (tree[b].depth > tree[a].depth)
		b = tree[b].parent;
	while (a != b) {
		a = tree[a].parent;
		b = tree[b].parent;
	}
	return a;
}

static struct leaving find_leaving(const struct mcf_simplex *simplex, int32_t arc, int32_t apex)
{
	const struct tree_node *tree = simplex->tree;
	struct leaving leaving = {NO_NODE, false, simplex->capacity[arc]};

	for (int32_t v = simplex->priced[arc].tail; v != apex; v = tree[v].parent) {
		if (tree[v].room_down < leaving.delta)
			leaving = (struct leaving){v, true, tree[v].room_down};
	}
	for (int32_t v = simplex->priced[arc].head; v != apex; v = tree[v].parent) {
		if (tree[v].room_up <= leaving.delta)
			leaving = (struct leaving){v, false, tree[v].room_up};
	}
	return leaving;
}

static void push_along_cycle(struct mcf_simplex *simplex, int32_t arc, int32_t apex, int64_t delta)
{
	struct tree_node *tree = simplex->tree;

	if (delta == 0)
		return;
	for (int32_t v = simplex->priced[arc].tail; v != apex; v = tree[v].parent) {
		tree[v].room_down -= delta;
		tree[v].room_up += delta;
	}
	for (int32_t v = simplex->priced[arc].head; v != apex; v = tree[v].parent) {
		tree[v].room_up -= delta;
		tree[v].room_down += delta;
	}
}

/* Takes the arc above leaving->node out of the basis, at the bound that it blocks at. */
static void drop_leaving(struct mcf_simplex *simplex, const struct leaving *leaving)
{
	int32_t arc = simplex->tree[leaving->node].arc;

	if (arc < 0)
		return;
	simplex->state[arc] &= (uint8_t)~ARC_BASIC;
	/* Room ran out downwards on the tail side, upwards on the head side: saturated if that is how it is stored. */
	if ((simplex->priced[arc].tail == leaving->node) != leaving->on_tail_side)
		simplex_flip(simplex, arc);
}

/* Hangs the subtree above which an arc left from the entering arc instead: turns the path inside it round. */
static void turn_subtree(struct mcf_simplex *simplex, int32_t arc, const struct leaving *leaving)
{
	struct tree_node *tree = simplex->tree;
	const struct priced_arc *in = &simplex->priced[arc];
	int32_t node = leaving->on_tail_side ? in->tail : in->head;
	int32_t parent = leaving->on_tail_side ? in->head : in->tail;
	int64_t left = simplex->capacity[arc] - leaving->delta;
	int64_t up = leaving->on_tail_side ? left : leaving->delta;
	int64_t down = leaving->on_tail_side ? leaving->delta : left;

	for (;;) {
		struct tree_node old = tree[node];

		tree_unlink(tree, node);
		tree_link(tree, node, parent);
		tree[node].arc = arc;
		tree[node].room_up = up;
		tree[node].room_down = down;
		if (node == leaving->node)
			return;
		parent = node;
		node = old.parent;
		arc = old.arc;
		up = old.room_down;
		down = old.room_up;
	}
}

/* Potentials and depths below and including `top` after it got a new parent. */
static void update_subtree(struct mcf_simplex *simplex, int32_t top, int64_t change)
{
	struct tree_node *tree = simplex->tree;
	int64_t *potential = simplex->potential;
	int32_t node = top;

	for (;;) {
		potential[node] += change;
		tree[node].depth = tree[tree[node].parent].depth + 1;
		if (tree[node].child != NO_NODE) {
			node = tree[node].child;
			continue;
		}
		while (node != top && tree[node].next == NO_NODE)
			node = tree[node].parent;
		if (node == top)
			return;
		node = tree[node].next;
	}
}

static void pivot(struct mcf_simplex *simplex, const struct entering *in)
{
	const struct priced_arc *priced = &simplex->priced[in->arc];
	int32_t apex = find_apex(simplex->tree, priced->tail, priced->head);
	struct leaving leaving = find_leaving(simplex, in->arc, apex);

	push_along_cycle(simplex, in->arc, apex, leaving.delta);
	simplex->pivots++;
	if (leaving.node == NO_NODE) {
		simplex_flip(simplex, in->arc);
		return;
	}
	drop_leaving(simplex, &leaving);
	simplex->state[in->arc] |= ARC_BASIC;
	turn_subtree(simplex, in->arc, &leaving);
	if (leaving.on_tail_side)
		update_subtree(simplex, priced->tail, -in->reduced);
	else
		update_subtree(simplex, priced->head, in->reduced);
}

static int32_t block_size(int32_t arc_count)
{
	int32_t size = 20;

	while ((int64_t)size * size < arc_count)
		size++;
	return size;
}

void simplex_optimise(struct mcf_simplex *simplex)
{
	int32_t block = block_size(simplex->arc_count);
	struct entering in = {0};

	if (simplex->cursor >= simplex->arc_count)
		simplex->cursor = 0;
	while (price_block(simplex, block, &in))
		pivot(simplex, &in);
}

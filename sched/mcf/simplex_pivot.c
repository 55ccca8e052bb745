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

/* The node with the smaller subtree cannot be above the other. */
static int32_t find_apex(const struct tree_node *tree, int32_t a, int32_t b)
{
	while (a != b) {
		if (tree[a].size < tree[b].size)
			a = tree[a].parent;
		else
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

static void join_thread(struct mcf_simplex *simplex, int32_t before, int32_t after)
{
	simplex->thread[before] = after;
	simplex->tree[after].before = before;
}

static void add_sizes(struct tree_node *tree, int32_t from, int32_t apex, int32_t amount)
{
	for (int32_t v = from; v != apex; v = tree[v].parent)
		tree[v].size += amount;
}

/* A run of the old preorder that moves as a whole: its last node, and what followed that. */
struct run {
	int32_t last, behind;
};

/* Walks `count` nodes of the thread from `node` and adds `change` to their potentials. */
static struct run shift_run(struct mcf_simplex *simplex, int32_t node, int32_t count, int64_t change)
{
	const int32_t *thread = simplex->thread;
	int64_t *potential = simplex->potential;

	for (;;) {
		potential[node] += change;
		if (--count == 0)
			return (struct run){node, thread[node]};
		node = thread[node];
	}
}

/* The same up to the node before `stop`; returns that one and takes the number of nodes off *count. */
static int32_t shift_until(struct mcf_simplex *simplex, int32_t node, int32_t stop, int64_t change, int32_t *count)
{
	const int32_t *thread = simplex->thread;
	int64_t *potential = simplex->potential;

	for (;;) {
		potential[node] += change;
		--*count;
		if (thread[node] == stop)
			return node;
		node = thread[node];
	}
}

/*
 * The subtree of `out`, cut off above it, gets `in` as its top, which hangs by `above`: the path in ... out turns
 * round. In the new preorder there follow for each node of that path its old subtree without that of the node
 * before it: the nodes before that child, then those behind it. One walk moves the thread and the potentials.
 */
static struct run turn_subtree(struct mcf_simplex *simplex, int32_t in, int32_t out, struct tree_node above,
			       int64_t change)
{
	struct tree_node *tree = simplex->tree;
	int32_t total = tree[out].size, node = in, inner = 0;
	struct run run = shift_run(simplex, in, tree[in].size, change);

	for (;;) {
		struct tree_node old = tree[node];
		int32_t child = node, last, count;

		tree[node].parent = above.parent;
		tree[node].arc = above.arc;
		tree[node].room_up = above.room_up;
		tree[node].room_down = above.room_down;
		tree[node].size = total - inner;
		if (node == out)
			return run;
		above = (struct tree_node){
			.parent = node, .arc = old.arc, .room_up = old.room_down, .room_down = old.room_up};
		inner = old.size;
		node = old.parent;
		count = tree[node].size - inner;
		last = shift_until(simplex, node, child, change, &count);
		join_thread(simplex, run.last, node);
		run.last = last;
		if (count > 0) {
			int32_t behind = run.behind;

			run = shift_run(simplex, behind, count, change);
			join_thread(simplex, last, behind);
		}
	}
}

/* Moves the subtree below the leaving arc to the entering arc's other end. */
static void change_tree(struct mcf_simplex *simplex, const struct entering *in, const struct leaving *leaving,
			int32_t apex)
{
	struct tree_node *tree = simplex->tree;
	const struct priced_arc *priced = &simplex->priced[in->arc];
	int32_t node = leaving->on_tail_side ? priced->tail : priced->head;
	int32_t parent = leaving->on_tail_side ? priced->head : priced->tail;
	int32_t out = leaving->node, old_parent = tree[out].parent, old_before = tree[out].before,
		size = tree[out].size;
	int64_t left = simplex->capacity[in->arc] - leaving->delta;
	struct tree_node above = {.parent = parent,
				  .arc = in->arc,
				  .room_up = leaving->on_tail_side ? left : leaving->delta,
				  .room_down = leaving->on_tail_side ? leaving->delta : left};
	struct run run = turn_subtree(simplex, node, out, above, leaving->on_tail_side ? -in->reduced : in->reduced);

	join_thread(simplex, old_before, run.behind);
	join_thread(simplex, run.last, simplex->thread[parent]);
	join_thread(simplex, parent, node);
	add_sizes(tree, old_parent, apex, -size);
	add_sizes(tree, parent, apex, size);
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
	change_tree(simplex, in, &leaving, apex);
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

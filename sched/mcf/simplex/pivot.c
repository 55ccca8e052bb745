/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pivots of the network simplex: the hot path. Pricing searches the arcs block by block, cyclically. The leaving arc is
 * the last blocking arc in the cycle's direction, starting from the apex (Cunningham's rule). This keeps the tree
 * strongly feasible.
 */
#include "simplex_priv.h"

enum { PIVOTS_PER_REPORT = 1000 };
/*
 * Arcs are priced block by block. A block has about the square root of the number of all arcs (Kiraly & Kovacs 2012),
 * within these limits; BLOCK_MOST arcs still fit into the cache.
 */
enum { BLOCK_LEAST = 20, BLOCK_MOST = 1024 };

/*
 * The cycle that the entering arc closes. Its direction is from the apex down to the arc's tail, and from the arc's
 * head up to the apex.
 */
struct cycle {
	int32_t apex;
	/*
	 * the tree arc between this node and its parent leaves the basis; NO_NODE: no arc leaves, the entering arc goes
	 * to its other bound
	 */
	int32_t leaving;
	bool on_tail_side;
	int64_t delta;
};

void simplex_flip(struct simplex *simplex, int32_t arc)
{
	int32_t tail = simplex->tail[arc];

	simplex->tail[arc] = simplex->head[arc];
	simplex->head[arc] = tail;
	simplex->cost[arc] = -simplex->cost[arc];
	simplex->state[arc] ^= ARC_FLIPPED;
}

/*
 * The state of walking up one side of the cycle: the current node, and the node whose arc has the least residual
 * capacity so far.
 */
struct side {
	int32_t node, tightest;
	int64_t capacity;
};

/*
 * Of arcs with equal residual capacity, the last in the cycle's direction is chosen: on the tail's side the lowest in
 * the tree, on the head's side the highest.
 */
static inline void climb_tail(const struct tree_node *tree, struct side *side)
{
	const struct tree_node *n = &tree[side->node];

	if (n->down < side->capacity) {
		side->capacity = n->down;
		side->tightest = side->node;
	}
	side->node = n->parent;
}

static inline void climb_head(const struct tree_node *tree, struct side *side)
{
	const struct tree_node *n = &tree[side->node];

	if (n->up <= side->capacity) {
		side->capacity = n->up;
		side->tightest = side->node;
	}
	side->node = n->parent;
}

static struct cycle find_cycle(struct simplex *simplex, int32_t arc)
{
	const struct tree_node *tree = simplex->tree;
	struct side tail = {simplex->tail[arc], NO_NODE, simplex->capacity[arc]};
	struct side head = {simplex->head[arc], NO_NODE, simplex->capacity[arc]};

	/* The node with the smaller subtree cannot be above the other. */
	while (tail.node != head.node) {
		if (tree[tail.node].size < tree[head.node].size)
			climb_tail(tree, &tail);
		else
			climb_head(tree, &head);
		simplex->work++;
	}
	if (head.tightest != NO_NODE && head.capacity <= tail.capacity)
		return (struct cycle){tail.node, head.tightest, false, head.capacity};
	return (struct cycle){tail.node, tail.tightest, true, tail.capacity};
}

static void push_along(struct simplex *simplex, int32_t arc, const struct cycle *cycle)
{
	struct tree_node *tree = simplex->tree;

	for (int32_t v = simplex->tail[arc]; v != cycle->apex; v = tree[v].parent) {
		tree[v].down -= cycle->delta;
		tree[v].up += cycle->delta;
	}
	for (int32_t v = simplex->head[arc]; v != cycle->apex; v = tree[v].parent) {
		tree[v].up -= cycle->delta;
		tree[v].down += cycle->delta;
	}
}

/* Removes the arc between cycle->leaving and its parent from the basis, at the bound that it reaches first. */
static void drop_leaving(struct simplex *simplex, const struct cycle *cycle)
{
	int32_t arc = simplex->tree[cycle->leaving].arc;

	if (arc < 0)
		return;
	simplex->state[arc] &= (uint8_t)~ARC_BASIC;
	/* The flow goes down on the tail's side and up on the head's side. An arc stored in that direction is full. */
	if ((simplex->tail[arc] == cycle->leaving) != cycle->on_tail_side)
		simplex_flip(simplex, arc);
}

static void pivot(struct simplex *simplex, const struct entering_arc *in)
{
	struct cycle cycle = find_cycle(simplex, in->arc);
	int32_t tail = simplex->tail[in->arc], head = simplex->head[in->arc];
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
		above = (struct tree_node){.parent = head, .arc = in->arc, .up = left, .down = cycle.delta};
	else
		above = (struct tree_node){.parent = tail, .arc = in->arc, .up = cycle.delta, .down = left};
	tree_move(simplex, cycle.on_tail_side ? tail : head, cycle.leaving, above, cycle.apex,
		  cycle.on_tail_side ? -in->reduced : in->reduced);
}

void simplex_enter(struct simplex *simplex, int32_t arc)
{
	struct entering_arc in = {arc, simplex_reduced_cost(simplex, arc)};

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

static void price_range(const struct simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best)
{
	for (int32_t a = begin; a < end; a++) {
		int64_t reduced = simplex_reduced_cost(simplex, a);

		if (reduced < best->reduced)
			*best = (struct entering_arc){a, reduced};
	}
}

/* Finds the most attractive arc of the next block that has one. Returns false if no arc is attractive. */
static bool price(struct simplex *simplex, int32_t block, struct entering_arc *best)
{
	int32_t cursor = simplex->cursor, left = simplex->arc_count;

	best->reduced = 0;
	while (left > 0) {
		int32_t size = block < left ? block : left;
		int32_t first = simplex->arc_count - cursor < size ? simplex->arc_count - cursor : size;

		price_range(simplex, cursor, cursor + first, best);
		cursor += first;
		if (first < size) {
			price_range(simplex, 0, size - first, best);
			cursor = size - first;
		}
		if (cursor == simplex->arc_count)
			cursor = 0;
		left -= size;
		if (best->reduced < 0) {
			simplex->work += (simplex->arc_count - left) / SIMPLEX_ARCS_A_NODE;
			simplex->cursor = cursor;
			return true;
		}
	}
	return false;
}

void simplex_optimise(struct simplex *simplex)
{
	int32_t block = block_size(simplex->arc_count);
	struct entering_arc in = {0};

	simplex->work = 0; /* the work at the start predicts nothing */
	while (!simplex->given_up && price(simplex, block, &in)) {
		pivot(simplex, &in);
		if (simplex->pivots % PIVOTS_PER_REPORT == 0)
			mcf_report(&simplex->watcher,
				   (struct mcf_statistics){.algorithm = "simplex", .pivots = simplex->pivots});
		if (simplex->work > simplex->patience)
			simplex->given_up = simplex_is_slow(simplex);
	}
}

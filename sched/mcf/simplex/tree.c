/* SPDX-License-Identifier: BSD-3-Clause */
/* The spanning tree of the network simplex: preorder, sizes, potentials, and how a pivot moves a subtree. */
#include "simplex_priv.h"

static void join(struct tree_link *link, int32_t before, int32_t next)
{
	link[before].next = next;
	link[next].before = before;
}

void tree_rebuild(struct mcf_simplex *simplex)
{
	struct tree_node *tree = simplex->tree;
	struct tree_link *link = simplex->link;
	int32_t *child = simplex->child, *sibling = simplex->sibling, node = TREE_ROOT, before;

	for (int32_t v = 0; v <= simplex->node_count; v++) {
		child[v] = NO_NODE;
		tree[v].size = 1;
	}
	for (int32_t v = simplex->node_count; v > 0; v--) {
		sibling[v] = child[tree[v].parent];
		child[tree[v].parent] = v;
	}
	do {
		before = node;
		if (child[node] != NO_NODE) {
			node = child[node];
		} else {
			for (; node != TREE_ROOT && sibling[node] == NO_NODE; node = tree[node].parent)
				tree[node].last = before;
			tree[node].last = before;
			if (node != TREE_ROOT)
				node = sibling[node];
		}
		join(link, before, node);
	} while (node != TREE_ROOT);
	for (int32_t v = link[TREE_ROOT].before; v != TREE_ROOT; v = link[v].before)
		tree[tree[v].parent].size += tree[v].size;
}

void tree_hang(struct mcf_simplex *simplex, int32_t node, int64_t excess)
{
	struct tree_node *n = &simplex->tree[node];

	n->parent = TREE_ROOT;
	n->arc = excess >= 0 ? ARTIFICIAL_UP : ARTIFICIAL_DOWN;
	n->room_up = excess >= 0 ? ROOM_UNLIMITED : -excess;
	n->room_down = excess >= 0 ? excess : ROOM_UNLIMITED;
}

int64_t tree_cost_up(const struct mcf_simplex *simplex, int32_t node)
{
	int32_t arc = simplex->tree[node].arc;

	if (arc < 0)
		return arc == ARTIFICIAL_UP ? 0 : -simplex->artificial_cost;
	return simplex->priced.tail[arc] == node ? simplex->priced.cost[arc] : -simplex->priced.cost[arc];
}

void tree_price(struct mcf_simplex *simplex)
{
	simplex->potential[TREE_ROOT] = 0;
	/* Reduced cost 0: cost up + potential[node] - potential[parent] = 0. */
	for (int32_t v = simplex->link[TREE_ROOT].next; v != TREE_ROOT; v = simplex->link[v].next)
		simplex->potential[v] = simplex->potential[simplex->tree[v].parent] - tree_cost_up(simplex, v);
}

/*
 * The path in ... out turns round, so that `in` is the top. In the new preorder there follow for each node of that
 * path its old subtree without that of the node before it: the nodes before that child, then those behind it. Returns
 * the subtree's last node; *behind is what followed the subtree.
 */
static int32_t turn_subtree(struct mcf_simplex *simplex, int32_t in, int32_t out, struct tree_node above,
			    int32_t *behind)
{
	struct tree_node *tree = simplex->tree;
	struct tree_link *link = simplex->link;
	int32_t total = tree[out].size, node = in, inner = 0, last = tree[in].last, inner_before = link[in].before;

	*behind = link[last].next;
	for (;;) {
		struct tree_node old = tree[node];
		int32_t before;

		above.size = total - inner;
		tree[node] = above;
		if (node == out)
			break;
		above = (struct tree_node){
			.parent = node, .arc = old.arc, .room_up = old.room_down, .room_down = old.room_up};
		inner = old.size;
		node = old.parent;
		before = link[node].before;
		join(link, last, node);
		last = inner_before;
		inner_before = before;
		if (tree[node].last != old.last) {
			join(link, last, *behind);
			last = tree[node].last;
			*behind = link[last].next;
		}
	}
	for (node = out; node != in; node = tree[node].parent)
		tree[node].last = last;
	tree[in].last = last;
	return last;
}

/* Adds `change` to the potentials of a run, from both ends: two chains of loads that do not wait for each other. */
static inline __attribute__((always_inline)) void shift_run(const struct mcf_simplex *simplex, int32_t first,
							    int32_t last, int64_t change, bool narrow)
{
	const struct tree_link *link = simplex->link;
	uint32_t *narrow_potential = (uint32_t *)simplex->narrow_potential;
	uint64_t *potential = (uint64_t *)simplex->potential;

	for (;;) {
		if (narrow)
			narrow_potential[first] += (uint32_t)change;
		else
			potential[first] += (uint64_t)change;
		if (first == last)
			return;
		if (narrow)
			narrow_potential[last] += (uint32_t)change;
		else
			potential[last] += (uint64_t)change;
		first = link[first].next;
		if (first == last)
			return;
		last = link[last].before;
	}
}

static void shift_potentials(struct mcf_simplex *simplex, int32_t top, int32_t last, int64_t change)
{
	int32_t size = simplex->tree[top].size;

	/* Only differences count: whichever part is smaller moves. */
	if (size > simplex->node_count / 2) {
		int32_t first = simplex->link[last].next;

		last = simplex->link[top].before;
		top = first;
		change = -change;
		size = simplex->node_count + 1 - size;
	}
	simplex->work += size;
	if (simplex->narrow)
		shift_run(simplex, top, last, change, true);
	else
		shift_run(simplex, top, last, change, false);
}

static void add_sizes(struct tree_node *tree, int32_t from, int32_t apex, int32_t amount)
{
	for (int32_t v = from; v != apex; v = tree[v].parent)
		tree[v].size += amount;
}

void tree_move(struct mcf_simplex *simplex, int32_t in, int32_t out, struct tree_node above, int32_t apex,
	       int64_t change)
{
	struct tree_node *tree = simplex->tree;
	struct tree_link *link = simplex->link;
	int32_t parent = above.parent, old_parent = tree[out].parent, old_before = link[out].before,
		old_last = tree[out].last, last, behind;

	add_sizes(tree, old_parent, apex, -tree[out].size);
	add_sizes(tree, parent, apex, tree[out].size);
	last = turn_subtree(simplex, in, out, above, &behind);
	join(link, old_before, behind);
	for (int32_t v = old_parent; v != NO_NODE && tree[v].last == old_last; v = tree[v].parent)
		tree[v].last = old_before;
	join(link, last, link[parent].next);
	join(link, parent, in);
	for (int32_t v = parent; v != NO_NODE && tree[v].last == parent; v = tree[v].parent)
		tree[v].last = last;
	shift_potentials(simplex, in, last, change);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The spanning tree of the network simplex: preorder, sizes, potentials, and how a pivot moves a subtree. */
#include "simplex_priv.h"

static void join(struct tree_link *link, int32_t before, int32_t next)
{
	link[before].next = next;
	link[next].before = before;
}

/*
 * Makes the node a child of the root by an artificial arc. Its potential is the arc's cost: 0 up, artificial_cost down.
 */
static void hang(struct simplex *simplex, int32_t node, int64_t excess)
{
	bool up = excess >= 0;

	simplex->tree[node] = (struct tree_node){.parent = TREE_ROOT,
						 .arc = up ? ARTIFICIAL_UP : ARTIFICIAL_DOWN,
						 .size = 1,
						 .last = node,
						 .up = up ? CAPACITY_UNLIMITED : -excess,
						 .down = up ? excess : CAPACITY_UNLIMITED};
	simplex->potential[node] = up ? 0 : simplex->artificial_cost;
}

void tree_build(struct simplex *simplex, const int64_t *excess)
{
	int32_t last = simplex->node_count;

	simplex->tree[TREE_ROOT] =
		(struct tree_node){.parent = NO_NODE, .arc = ARTIFICIAL_UP, .size = last + 1, .last = last};
	simplex->potential[TREE_ROOT] = 0;
	for (int32_t v = 1; v <= last; v++) {
		hang(simplex, v, excess[v]);
		join(simplex->link, v - 1, v);
	}
	join(simplex->link, last, TREE_ROOT);
	simplex->missing_first = simplex_missing_units(simplex);
}

/*
 * Reverses the path from `in` up to `out`, so that `in` becomes the top. In the new preorder, each node of the path is
 * followed by its old subtree without the part that contains the preceding node of the path. Returns the subtree's last
 * node; *behind is the node that followed the subtree.
 */
static int32_t turn_subtree(struct simplex *simplex, int32_t in, int32_t out, struct tree_node above, int32_t *behind)
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
		above = (struct tree_node){.parent = node, .arc = old.arc, .up = old.down, .down = old.up};
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

/*
 * Adds `change` to the potentials of the run first .. last. Works from both ends: two chains of loads that do not wait
 * for each other.
 */
static void shift_run(const struct simplex *simplex, int32_t first, int32_t last, int64_t change)
{
	const struct tree_link *link = simplex->link;
	uint64_t *potential = (uint64_t *)simplex->potential;

	for (;;) {
		potential[first] += (uint64_t)change;
		if (first == last)
			return;
		potential[last] += (uint64_t)change;
		first = link[first].next;
		if (first == last)
			return;
		last = link[last].before;
	}
}

static void shift_potentials(struct simplex *simplex, int32_t top, int32_t last, int64_t change)
{
	int32_t size = simplex->tree[top].size;

	/*
	 * Only differences of potentials matter. So either the subtree's potentials change by `change`, or those of all
	 * other nodes by -`change`, whichever are fewer.
	 */
	if (size > simplex->node_count / 2) {
		int32_t first = simplex->link[last].next;

		last = simplex->link[top].before;
		top = first;
		change = -change;
		size = simplex->node_count + 1 - size;
	}
	simplex->work += size;
	shift_run(simplex, top, last, change);
}

static void add_sizes(struct tree_node *tree, int32_t from, int32_t apex, int32_t amount)
{
	for (int32_t v = from; v != apex; v = tree[v].parent)
		tree[v].size += amount;
}

void tree_move(struct simplex *simplex, int32_t in, int32_t out, struct tree_node above, int32_t apex, int64_t change)
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

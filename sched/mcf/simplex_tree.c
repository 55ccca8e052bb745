/* SPDX-License-Identifier: BSD-3-Clause */
#include "simplex_priv.h"

void tree_link(struct tree_node *tree, int32_t node, int32_t parent)
{
	int32_t first = tree[parent].child;

	tree[node].parent = parent;
	tree[node].previous = NO_NODE;
	tree[node].next = first;
	if (first != NO_NODE)
		tree[first].previous = node;
	tree[parent].child = node;
}

void tree_unlink(struct tree_node *tree, int32_t node)
{
	struct tree_node *n = &tree[node];

	if (n->previous != NO_NODE)
		tree[n->previous].next = n->next;
	else
		tree[n->parent].child = n->next;
	if (n->next != NO_NODE)
		tree[n->next].previous = n->previous;
}

int32_t tree_order(struct mcf_simplex *simplex)
{
	const struct tree_node *tree = simplex->tree;
	int32_t *order = simplex->order, count = 0;
	int32_t node = TREE_ROOT;

	for (;;) {
		order[count++] = node;
		if (tree[node].child != NO_NODE) {
			node = tree[node].child;
			continue;
		}
		while (node != TREE_ROOT && tree[node].next == NO_NODE)
			node = tree[node].parent;
		if (node == TREE_ROOT)
			return count;
		node = tree[node].next;
	}
}

void tree_hang(struct mcf_simplex *simplex, int32_t node, int64_t excess)
{
	struct tree_node *n = &simplex->tree[node];

	tree_link(simplex->tree, node, TREE_ROOT);
	n->arc = excess >= 0 ? ARTIFICIAL_UP : ARTIFICIAL_DOWN;
	n->room_up = excess >= 0 ? ROOM_UNLIMITED : -excess;
	n->room_down = excess >= 0 ? excess : ROOM_UNLIMITED;
}

int64_t tree_cost_up(const struct mcf_simplex *simplex, int32_t node)
{
	int32_t arc = simplex->tree[node].arc;

	if (arc < 0)
		return arc == ARTIFICIAL_UP ? 0 : -simplex->artificial_cost;
	return simplex->priced[arc].tail == node ? simplex->priced[arc].cost : -simplex->priced[arc].cost;
}

void tree_price(struct mcf_simplex *simplex, int32_t count)
{
	struct tree_node *tree = simplex->tree;

	simplex->potential[TREE_ROOT] = 0;
	tree[TREE_ROOT].depth = 0;
	for (int32_t i = 1; i < count; i++) {
		int32_t node = simplex->order[i], parent = tree[node].parent;

		/* Reduced cost 0: cost up + potential[node] - potential[parent] = 0. */
		simplex->potential[node] = simplex->potential[parent] - tree_cost_up(simplex, node);
		tree[node].depth = tree[parent].depth + 1;
	}
}

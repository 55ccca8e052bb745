/* SPDX-License-Identifier: BSD-3-Clause */
#include "simplex_priv.h"

void tree_rebuild(struct mcf_simplex *simplex)
{
	struct tree_node *tree = simplex->tree;
	int32_t *child = simplex->child, *sibling = simplex->sibling, node = TREE_ROOT, last;

	for (int32_t v = 0; v <= simplex->node_count; v++) {
		child[v] = NO_NODE;
		tree[v].size = 1;
	}
	for (int32_t v = simplex->node_count; v > 0; v--) {
		sibling[v] = child[tree[v].parent];
		child[tree[v].parent] = v;
	}
	for (;;) {
		last = node;
		if (child[node] != NO_NODE) {
			node = child[node];
		} else {
			while (node != TREE_ROOT && sibling[node] == NO_NODE)
				node = tree[node].parent;
			if (node != TREE_ROOT)
				node = sibling[node];
		}
		simplex->thread[last] = node;
		tree[node].before = last;
		if (node == TREE_ROOT)
			break;
	}
	for (int32_t v = tree[TREE_ROOT].before; v != TREE_ROOT; v = tree[v].before)
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
	return simplex->priced[arc].tail == node ? simplex->priced[arc].cost : -simplex->priced[arc].cost;
}

void tree_price(struct mcf_simplex *simplex)
{
	simplex->potential[TREE_ROOT] = 0;
	/* Reduced cost 0: cost up + potential[node] - potential[parent] = 0. */
	for (int32_t v = simplex->thread[TREE_ROOT]; v != TREE_ROOT; v = simplex->thread[v])
		simplex->potential[v] = simplex->potential[simplex->tree[v].parent] - tree_cost_up(simplex, v);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the small network from the groups that collapse_group.c found. */
#include <stdlib.h>
#include <string.h>

#include "collapse_priv.h"

/* What the members of the group in hand have at a head. */
struct share {
	int64_t dearest;
	int32_t group, count;
};

/* Arcs by tail. Files mostly list them so already: then no arc is moved and reading `out` streams. */
static bool sort_arcs(struct collapse *collapse)
{
	const struct mcf_problem *large = collapse->large;
	size_t nodes = (size_t)large->node_count;
	int32_t *at;

	collapse->first = calloc(nodes + 2, sizeof *collapse->first);
	collapse->arcs_in = calloc(nodes + 1, sizeof *collapse->arcs_in);
	collapse->out = malloc(((size_t)large->arc_count + 1) * sizeof *collapse->out);
	at = malloc((nodes + 1) * sizeof *at);
	if (!collapse->first || !collapse->arcs_in || !collapse->out || !at) {
		free(at);
		return false;
	}
	for (int32_t a = 0; a < large->arc_count; a++) {
		collapse->first[large->tail[a] + 1]++;
		collapse->arcs_in[large->head[a]]++;
	}
	for (size_t v = 0; v < nodes; v++)
		collapse->first[v + 1] += collapse->first[v];
	memcpy(at, collapse->first, nodes * sizeof *at);
	for (int32_t a = 0; a < large->arc_count; a++)
		collapse->out[at[large->tail[a]]++] = a;
	collapse->out[large->arc_count] = 0; /* may be looked at for a node without arcs, never used */
	free(at);
	return true;
}

static bool add_private(struct collapse *collapse, struct private_arc private)
{
	if (collapse->private_count == collapse->private_room) {
		int32_t room = collapse->private_room ? collapse->private_room * 2 : 1024;
		struct private_arc *grown = realloc(collapse->privates, (size_t)room * sizeof *grown);

		if (!grown)
			return false;
		collapse->privates = grown;
		collapse->private_room = room;
	}
	collapse->privates[collapse->private_count++] = private;
	return true;
}

static int compare_privates(const void *left, const void *right)
{
	const struct private_arc *a = left, *b = right;

	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return (a->arc > b->arc) - (a->arc < b->arc);
}

/* Counts, for every head, the group's members that have it and the dearest of their arcs. */
static void share_heads(const struct collapse *collapse, int32_t group, struct share *shares)
{
	for (int32_t k = collapse->group_first[group]; k < collapse->group_first[group + 1]; k++) {
		int32_t node = collapse->members[k];

		for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
			struct share *share = &shares[collapse_head(collapse, collapse->out[i])];
			int64_t cost = collapse_cost(collapse, collapse->out[i]);

			if (share->group != group)
				*share = (struct share){cost, group, 0};
			share->count++;
			share->dearest = cost > share->dearest ? cost : share->dearest;
		}
	}
}

/* Lists the private arcs of a member; returns how many, or -1 when out of memory. */
static int32_t find_privates(struct collapse *collapse, int32_t group, int32_t node, const struct share *shares)
{
	int32_t size = collapse->group_first[group + 1] - collapse->group_first[group], count = 0;

	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		int32_t arc = collapse->out[i], head = collapse_head(collapse, arc);
		int64_t cost = collapse_cost(collapse, arc);

		if (shares[head].count == size && shares[head].dearest == cost)
			continue;
		if (!add_private(collapse, (struct private_arc){group, node, arc, -1, head, cost}))
			return -1;
		count++;
	}
	return count;
}

static void add_arc(struct collapse *collapse, int32_t tail, int32_t head, int64_t capacity, int64_t cost,
		    int32_t origin)
{
	int32_t arc = collapse->small.arc_count++;

	collapse->tail[arc] = tail;
	collapse->head[arc] = head;
	collapse->capacity[arc] = (int32_t)capacity;
	collapse->cost[arc] = cost;
	collapse->origin[arc] = origin;
}

/* Arcs of a group: the common ones, the private ones of members with one, and members with more as nodes. */
static bool build_group(struct collapse *collapse, int32_t group, struct share *shares)
{
	const struct mcf_problem *large = collapse->large;
	int32_t begin = collapse->group_first[group], end = collapse->group_first[group + 1], from, representative;
	int32_t group_node = collapse->group_node[group];
	int64_t total = 0;

	share_heads(collapse, group, shares);
	from = collapse->private_count;
	for (int32_t k = begin; k < end; k++) {
		int32_t node = collapse->members[k], count = find_privates(collapse, group, node, shares);

		if (count < 0)
			return false;
		total += large->supply[node];
		if (count < 2)
			continue;
		collapse->kind[node] = NODE_CHAINED;
		collapse->small_node[node] = collapse->small.node_count++;
		collapse->supply[collapse->small_node[node]] = large->supply[node];
	}
	representative = collapse->members[begin];
	collapse->common_first[group] = collapse->small.arc_count;
	for (int32_t i = collapse->first[representative]; i < collapse->first[representative + 1]; i++) {
		int32_t arc = collapse->out[i], head = collapse_head(collapse, arc);

		if (shares[head].count == end - begin)
			add_arc(collapse, group_node, collapse->small_node[head], total, shares[head].dearest, arc);
	}
	collapse->common_first[group + 1] = collapse->small.arc_count;
	for (int32_t k = begin; k < end; k++) {
		int32_t node = collapse->members[k];

		if (collapse->kind[node] == NODE_CHAINED) /* wider than its supply, so never saturated */
			add_arc(collapse, collapse->small_node[node], group_node, INT32_MAX, 0, -1);
		else
			collapse->supply[group_node] += large->supply[node];
	}
	if (collapse->private_count > from)
		qsort(collapse->privates + from, (size_t)(collapse->private_count - from), sizeof *collapse->privates,
		      compare_privates);
	for (int32_t i = from; i < collapse->private_count; i++) {
		struct private_arc *private = &collapse->privates[i], *before = private - 1;
		int32_t head = collapse->small_node[private->head], tail = collapse->small_node[private->member];
		int64_t supply = large->supply[private->member];

		/* Members of a group that run on one machine at one cost share an arc. */
		if (tail == group_node && i > from && before->head == private->head && before->cost == private->cost &&
		    collapse->small_node[before->member] == group_node) {
			private->small_arc = before->small_arc;
			collapse->capacity[private->small_arc] += (int32_t)supply;
			continue;
		}
		private->small_arc = collapse->small.arc_count;
		add_arc(collapse, tail, head, tail == group_node ? supply : large->capacity[private->arc],
			private->cost, -1);
	}
	return true;
}

/* Kept nodes first, in their order; then groups; chained members as their groups are built. */
static bool number_nodes(struct collapse *collapse)
{
	const struct mcf_problem *large = collapse->large;
	int32_t nodes = large->node_count;

	collapse->small_node = malloc(((size_t)nodes + 1) * sizeof *collapse->small_node);
	collapse->group_node = malloc(((size_t)collapse->group_count + 1) * sizeof *collapse->group_node);
	collapse->supply = calloc((size_t)nodes + (size_t)collapse->group_count + 1, sizeof *collapse->supply);
	if (!collapse->small_node || !collapse->group_node || !collapse->supply)
		return false;
	for (int32_t v = 0; v < nodes; v++) {
		collapse->small_node[v] = -1;
		if (collapse->kind[v] != NODE_KEPT)
			continue;
		collapse->small_node[v] = collapse->small.node_count++;
		collapse->supply[collapse->small_node[v]] = large->supply[v];
	}
	for (int32_t g = 0; g < collapse->group_count; g++) {
		collapse->group_node[g] = collapse->small.node_count++;
		for (int32_t k = collapse->group_first[g]; k < collapse->group_first[g + 1]; k++)
			collapse->small_node[collapse->members[k]] = collapse->group_node[g];
	}
	return true;
}

static bool build_small(struct collapse *collapse)
{
	const struct mcf_problem *large = collapse->large;
	/* Links add one arc a chained member, whose private arcs are its own still and which gives up a common one. */
	size_t arcs = (size_t)large->arc_count + (size_t)large->node_count + 1, nodes = (size_t)large->node_count + 1;
	struct share *shares = malloc(nodes * sizeof *shares);
	bool complete;

	collapse->tail = malloc(arcs * sizeof *collapse->tail);
	collapse->head = malloc(arcs * sizeof *collapse->head);
	collapse->capacity = malloc(arcs * sizeof *collapse->capacity);
	collapse->cost = malloc(arcs * sizeof *collapse->cost);
	collapse->origin = malloc(arcs * sizeof *collapse->origin);
	collapse->common_first = calloc((size_t)collapse->group_count + 2, sizeof *collapse->common_first);
	complete = shares && collapse->tail && collapse->head && collapse->capacity && collapse->cost &&
		   collapse->origin && collapse->common_first && number_nodes(collapse);
	for (size_t v = 0; complete && v < nodes; v++)
		shares[v].group = -1;
	for (int32_t v = 0; complete && v < large->node_count; v++) {
		if (collapse->kind[v] != NODE_KEPT)
			continue;
		for (int32_t i = collapse->first[v]; i < collapse->first[v + 1]; i++) {
			int32_t arc = collapse->out[i];

			add_arc(collapse, collapse->small_node[v], collapse->small_node[collapse_head(collapse, arc)],
				large->capacity[arc], collapse_cost(collapse, arc), arc);
		}
	}
	for (int32_t g = 0; complete && g < collapse->group_count; g++)
		complete = build_group(collapse, g, shares);
	free(shares);
	collapse->small = (struct mcf_problem){.node_count = collapse->small.node_count,
					       .arc_count = collapse->small.arc_count,
					       .tail = collapse->tail,
					       .head = collapse->head,
					       .capacity = collapse->capacity,
					       .cost = collapse->cost,
					       .supply = collapse->supply};
	return complete;
}

struct collapse *collapse_create(const struct mcf_problem *problem)
{
	struct collapse *collapse = calloc(1, sizeof *collapse);
	size_t nodes = (size_t)problem->node_count + 1;

	if (!collapse)
		return NULL;
	collapse->large = problem;
	collapse->kind = calloc(nodes, sizeof *collapse->kind);
	collapse->through = malloc(nodes * sizeof *collapse->through);
	collapse->group = malloc(nodes * sizeof *collapse->group);
	if (!collapse->kind || !collapse->through || !collapse->group)
		goto out;
	memset(collapse->through, 0xff, nodes * sizeof *collapse->through);
	memset(collapse->group, 0xff, nodes * sizeof *collapse->group);
	if (sort_arcs(collapse) && collapse_find_groups(collapse) && build_small(collapse))
		return collapse;
out:
	collapse_destroy(collapse);
	return NULL;
}

void collapse_destroy(struct collapse *collapse)
{
	if (!collapse)
		return;
	free(collapse->first);
	free(collapse->out);
	free(collapse->arcs_in);
	free(collapse->kind);
	free(collapse->through);
	free(collapse->group);
	free(collapse->group_first);
	free(collapse->members);
	free(collapse->privates);
	free(collapse->small_node);
	free(collapse->group_node);
	free(collapse->common_first);
	free(collapse->origin);
	free(collapse->tail);
	free(collapse->head);
	free(collapse->capacity);
	free(collapse->cost);
	free(collapse->supply);
	free(collapse);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the small network from the groups that aggregate_group.c found. */
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "reduce_priv.h"

/* For one head: the arcs from the members of the current group to it. */
struct share {
	int64_t dearest;
	int32_t group, count;
};

static bool add_private(struct aggregation *aggregation, struct private_arc private)
{
	struct private_arc *grown = array_grow(aggregation->privates, (size_t)aggregation->private_count,
					       &aggregation->private_capacity, sizeof *grown);

	if (!grown)
		return false;
	aggregation->privates = grown;
	aggregation->privates[aggregation->private_count++] = private;
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

/* For every head, counts the members with an arc to it, and finds the largest cost of these arcs. */
static void share_heads(const struct aggregation *aggregation, int32_t group, struct share *shares)
{
	for (int32_t k = aggregation->group_first[group]; k < aggregation->group_first[group + 1]; k++) {
		int32_t node = aggregation->members[k];

		for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
			struct share *share = &shares[aggregation_head(aggregation, aggregation->out[i])];
			int64_t cost = aggregation_cost(aggregation, aggregation->out[i]);

			if (share->group != group)
				*share = (struct share){cost, group, 0};
			share->count++;
			share->dearest = cost > share->dearest ? cost : share->dearest;
		}
	}
}

/* Lists the private arcs of a member. Returns their number, or -1 if out of memory. */
static int32_t find_privates(struct aggregation *aggregation, int32_t group, int32_t node, const struct share *shares)
{
	int32_t size = aggregation->group_first[group + 1] - aggregation->group_first[group], count = 0;

	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		int32_t arc = aggregation->out[i], head = aggregation_head(aggregation, arc);
		int64_t cost = aggregation_cost(aggregation, arc);

		if (shares[head].count == size && shares[head].dearest == cost)
			continue;
		if (!add_private(aggregation, (struct private_arc){group, node, arc, -1, head, cost}))
			return -1;
		count++;
	}
	return count;
}

static void add_arc(struct aggregation *aggregation, int32_t tail, int32_t head, int64_t capacity, int64_t cost,
		    int32_t origin)
{
	int32_t arc = aggregation->small.arc_count++;

	aggregation->tail[arc] = tail;
	aggregation->head[arc] = head;
	aggregation->capacity[arc] = (int32_t)capacity;
	aggregation->cost[arc] = cost;
	aggregation->origin[arc] = origin;
}

/*
 * Finds the private arcs of each member; a member with two or more remains a node of the small network. Adds the
 * members' supplies to *supply.
 */
static bool find_group_privates(struct aggregation *aggregation, int32_t group, const struct share *shares,
				int64_t *supply)
{
	for (int32_t k = aggregation->group_first[group]; k < aggregation->group_first[group + 1]; k++) {
		int32_t node = aggregation->members[k], count = find_privates(aggregation, group, node, shares);

		if (count < 0)
			return false;
		*supply += aggregation->large->supply[node];
		if (count < 2)
			continue;
		aggregation->kind[node] = NODE_CHAINED;
		aggregation->small_node[node] = aggregation->small.node_count++;
		aggregation->supply[aggregation->small_node[node]] = aggregation->large->supply[node];
	}
	return true;
}

static void add_common_arcs(struct aggregation *aggregation, int32_t group, const struct share *shares, int64_t supply)
{
	int32_t first = aggregation->group_first[group], representative = aggregation->members[first];

	aggregation->common_first[group] = aggregation->small.arc_count;
	for (int32_t i = aggregation->first[representative]; i < aggregation->first[representative + 1]; i++) {
		int32_t arc = aggregation->out[i], head = aggregation_head(aggregation, arc);

		if (shares[head].count == aggregation->group_first[group + 1] - first)
			add_arc(aggregation, aggregation->group_node[group], aggregation->small_node[head], supply,
				shares[head].dearest, arc);
	}
	aggregation->common_first[group + 1] = aggregation->small.arc_count;
}

/* Adds privates[from..private_count-1], the group's private arcs. Members with equal head and cost share an arc. */
static void add_private_arcs(struct aggregation *aggregation, int32_t group_node, int32_t from)
{
	for (int32_t i = from; i < aggregation->private_count; i++) {
		struct private_arc *private = &aggregation->privates[i], *before = private - 1;
		int32_t head = aggregation->small_node[private->head], tail = aggregation->small_node[private->member];
		int64_t supply = aggregation->large->supply[private->member];

		if (tail == group_node && i > from && before->head == private->head && before->cost == private->cost &&
		    aggregation->small_node[before->member] == group_node) {
			private->small_arc = before->small_arc;
			aggregation->capacity[private->small_arc] += (int32_t)supply;
			continue;
		}
		private->small_arc = aggregation->small.arc_count;
		add_arc(aggregation, tail, head,
			tail == group_node ? supply : aggregation->large->capacity[private->arc], private->cost, -1);
	}
}

/* Adds a group's arcs: its common arcs, the links of members that stay nodes, and the private arcs. */
static bool build_group(struct aggregation *aggregation, int32_t group, struct share *shares)
{
	int32_t group_node = aggregation->group_node[group], from = aggregation->private_count;
	int64_t supply = 0;

	share_heads(aggregation, group, shares);
	if (!find_group_privates(aggregation, group, shares, &supply))
		return false;
	add_common_arcs(aggregation, group, shares, supply);
	for (int32_t k = aggregation->group_first[group]; k < aggregation->group_first[group + 1]; k++) {
		int32_t node = aggregation->members[k];

		/* the arc to the group (the link) is wider than the member's supply, so it is never saturated */
		if (aggregation->kind[node] == NODE_CHAINED)
			add_arc(aggregation, aggregation->small_node[node], group_node, INT32_MAX, 0, -1);
		else
			aggregation->supply[group_node] += aggregation->large->supply[node];
	}
	if (aggregation->private_count > from)
		qsort(aggregation->privates + from, (size_t)(aggregation->private_count - from),
		      sizeof *aggregation->privates, compare_privates);
	add_private_arcs(aggregation, group_node, from);
	return true;
}

/*
 * Numbers the kept nodes first, in their order, then the groups. Chained members get a number when their group is
 * built.
 */
static bool number_nodes(struct aggregation *aggregation)
{
	const struct mcf_problem *large = aggregation->large;
	int32_t nodes = large->node_count;

	aggregation->small_node = malloc(((size_t)nodes + 1) * sizeof *aggregation->small_node);
	aggregation->group_node = malloc(((size_t)aggregation->group_count + 1) * sizeof *aggregation->group_node);
	aggregation->supply = calloc((size_t)nodes + (size_t)aggregation->group_count + 1, sizeof *aggregation->supply);
	if (!aggregation->small_node || !aggregation->group_node || !aggregation->supply)
		return false;
	for (int32_t v = 0; v < nodes; v++) {
		aggregation->small_node[v] = -1;
		if (aggregation->kind[v] != NODE_KEPT)
			continue;
		aggregation->small_node[v] = aggregation->small.node_count++;
		aggregation->supply[aggregation->small_node[v]] = large->supply[v];
	}
	for (int32_t g = 0; g < aggregation->group_count; g++) {
		aggregation->group_node[g] = aggregation->small.node_count++;
		for (int32_t k = aggregation->group_first[g]; k < aggregation->group_first[g + 1]; k++)
			aggregation->small_node[aggregation->members[k]] = aggregation->group_node[g];
	}
	return true;
}

static bool build_small(struct aggregation *aggregation)
{
	const struct mcf_problem *large = aggregation->large;
	/*
	 * An upper bound of the small network's number of arcs: those of the large network, and at most one link per
	 * node.
	 */
	size_t arcs = (size_t)large->arc_count + (size_t)large->node_count + 1, nodes = (size_t)large->node_count + 1;
	struct share *shares = malloc(nodes * sizeof *shares);
	bool complete;

	aggregation->tail = malloc(arcs * sizeof *aggregation->tail);
	aggregation->head = malloc(arcs * sizeof *aggregation->head);
	aggregation->capacity = malloc(arcs * sizeof *aggregation->capacity);
	aggregation->cost = malloc(arcs * sizeof *aggregation->cost);
	aggregation->origin = malloc(arcs * sizeof *aggregation->origin);
	aggregation->common_first = calloc((size_t)aggregation->group_count + 2, sizeof *aggregation->common_first);
	complete = shares && aggregation->tail && aggregation->head && aggregation->capacity && aggregation->cost &&
		   aggregation->origin && aggregation->common_first && number_nodes(aggregation);
	for (size_t v = 0; complete && v < nodes; v++)
		shares[v].group = -1;
	for (int32_t v = 0; complete && v < large->node_count; v++) {
		if (aggregation->kind[v] != NODE_KEPT)
			continue;
		for (int32_t i = aggregation->first[v]; i < aggregation->first[v + 1]; i++) {
			int32_t arc = aggregation->out[i];

			add_arc(aggregation, aggregation->small_node[v],
				aggregation->small_node[aggregation_head(aggregation, arc)], large->capacity[arc],
				aggregation_cost(aggregation, arc), arc);
		}
	}
	for (int32_t g = 0; complete && g < aggregation->group_count; g++)
		complete = build_group(aggregation, g, shares);
	free(shares);
	aggregation->small = (struct mcf_problem){.node_count = aggregation->small.node_count,
						  .arc_count = aggregation->small.arc_count,
						  .tail = aggregation->tail,
						  .head = aggregation->head,
						  .capacity = aggregation->capacity,
						  .cost = aggregation->cost,
						  .supply = aggregation->supply};
	return complete;
}

struct aggregation *aggregation_create(const struct mcf_problem *problem)
{
	struct aggregation *aggregation = calloc(1, sizeof *aggregation);
	size_t nodes = (size_t)problem->node_count + 1;

	if (!aggregation)
		return NULL;
	aggregation->large = problem;
	aggregation->kind = calloc(nodes, sizeof *aggregation->kind);
	aggregation->through = malloc(nodes * sizeof *aggregation->through);
	aggregation->group = malloc(nodes * sizeof *aggregation->group);
	if (!aggregation->kind || !aggregation->through || !aggregation->group)
		goto out;
	memset(aggregation->through, 0xff, nodes * sizeof *aggregation->through);
	memset(aggregation->group, 0xff, nodes * sizeof *aggregation->group);
	if (mcf_arcs_by_tail(problem, &aggregation->first, &aggregation->out, &aggregation->arcs_in) &&
	    aggregation_find_groups(aggregation) && build_small(aggregation))
		return aggregation;
out:
	aggregation_destroy(aggregation);
	return NULL;
}

void aggregation_destroy(struct aggregation *aggregation)
{
	if (!aggregation)
		return;
	free(aggregation->first);
	free(aggregation->out);
	free(aggregation->arcs_in);
	free(aggregation->kind);
	free(aggregation->through);
	free(aggregation->group);
	free(aggregation->group_first);
	free(aggregation->members);
	free(aggregation->privates);
	free(aggregation->small_node);
	free(aggregation->group_node);
	free(aggregation->common_first);
	free(aggregation->origin);
	free(aggregation->tail);
	free(aggregation->head);
	free(aggregation->capacity);
	free(aggregation->cost);
	free(aggregation->supply);
	free(aggregation);
}

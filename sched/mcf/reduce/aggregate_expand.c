/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the answer of the small network to one of the large network: assigns flow on the arcs of groups to their
 * members, and potentials to every node.
 */
#include <stdlib.h>
#include <string.h>

#include "reduce_priv.h"

struct expander {
	const struct aggregation *aggregation;
	const struct mcf_solution *small;
	struct mcf_solution *large;
	int32_t *left; /* [small arcs] flow not yet assigned to a large arc */
	int64_t *need; /* [large nodes] units of a member not yet assigned to an arc */
};

/* Adds flow to an arc. If its head is contracted, the flow continues on the head's arc. */
static void give(const struct expander *expander, int32_t arc, int32_t amount)
{
	int32_t through = expander->aggregation->through[expander->aggregation->large->head[arc]];

	expander->large->flow[arc] += amount;
	if (through >= 0)
		expander->large->flow[through] += amount;
}

static void give_kept(const struct expander *expander)
{
	const struct aggregation *aggregation = expander->aggregation;
	int32_t end = aggregation->group_count ? aggregation->common_first[0] : aggregation->small.arc_count;

	for (int32_t a = 0; a < end; a++) {
		if (expander->left[a] > 0)
			give(expander, aggregation->origin[a], expander->left[a]);
	}
}

static void give_privates(const struct expander *expander)
{
	const struct aggregation *aggregation = expander->aggregation;

	for (int32_t i = 0; i < aggregation->private_count; i++) {
		const struct private_arc *private = &aggregation->privates[i];
		int32_t *left = &expander->left[private->small_arc];
		int64_t need = expander->need[private->member];
		int32_t amount = *left < need ? *left : (int32_t)need;

		if (amount == 0)
			continue;
		give(expander, private->arc, amount);
		*left -= amount;
		expander->need[private->member] -= amount;
	}
}

/* Returns the member's arc to `head`. Every member of the group must have one. */
static int32_t find_arc(const struct aggregation *aggregation, int32_t node, int32_t head)
{
	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		if (aggregation_head(aggregation, aggregation->out[i]) == head)
			return aggregation->out[i];
	}
	return -1;
}

static void give_common(const struct expander *expander, int32_t group)
{
	const struct aggregation *aggregation = expander->aggregation;
	int32_t arc = aggregation->common_first[group], end = aggregation->common_first[group + 1];

	for (int32_t k = aggregation->group_first[group]; k < aggregation->group_first[group + 1]; k++) {
		int32_t node = aggregation->members[k];

		while (expander->need[node] > 0) {
			int32_t amount;

			while (arc < end && expander->left[arc] == 0)
				arc++;
			if (arc == end)
				return; /* unreachable: flow is conserved at the group */
			amount = expander->need[node] < expander->left[arc] ? (int32_t)expander->need[node]
									    : expander->left[arc];
			give(expander,
			     find_arc(aggregation, node, aggregation_head(aggregation, aggregation->origin[arc])),
			     amount);
			expander->left[arc] -= amount;
			expander->need[node] -= amount;
		}
	}
}

static void spread_potentials(const struct expander *expander, bool costs_count)
{
	const struct aggregation *aggregation = expander->aggregation;
	const struct mcf_problem *large = aggregation->large;
	int64_t *potential = expander->large->potential;

	for (int32_t v = 0; v < large->node_count; v++) {
		if (aggregation->kind[v] != NODE_CONTRACTED)
			potential[v] = expander->small->potential[aggregation->small_node[v]];
	}
	for (int32_t v = 0; v < large->node_count; v++) {
		if (aggregation->kind[v] == NODE_CONTRACTED)
			potential[v] = potential[large->head[aggregation->through[v]]] -
				       (costs_count ? large->cost[aggregation->through[v]] : 0);
	}
}

/*
 * Raises the potentials of members that have arcs wider than their supply: these arcs may have residual capacity
 * although the group's arc is saturated.
 */
static void raise_loose(const struct expander *expander)
{
	const struct aggregation *aggregation = expander->aggregation;
	const struct mcf_problem *large = aggregation->large;
	int64_t *potential = expander->large->potential;

	for (int32_t k = 0; k < aggregation->group_first[aggregation->group_count]; k++) {
		int32_t node = aggregation->members[k];

		for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
			int32_t arc = aggregation->out[i];
			int64_t bound = potential[large->head[arc]] - large->cost[arc];

			if (expander->large->flow[arc] < large->capacity[arc] && bound > potential[node])
				potential[node] = bound;
		}
	}
}

/*
 * Sets Farkas' y of each member to the least y of its heads. A member's part of the proof is y * supply minus the sum
 * of (y - y[head]) * capacity over its arcs to heads with lower y. It is largest at this y, because each of the arcs
 * alone is as wide as the supply. So no member's part is less than its share of the group's part.
 */
static void lower_members(const struct expander *expander)
{
	const struct aggregation *aggregation = expander->aggregation;
	int64_t *potential = expander->large->potential;

	for (int32_t k = 0; k < aggregation->group_first[aggregation->group_count]; k++) {
		int32_t node = aggregation->members[k];
		int64_t least = INT64_MAX;

		for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
			int64_t there = potential[aggregation->large->head[aggregation->out[i]]];

			least = there < least ? there : least;
		}
		if (least != INT64_MAX)
			potential[node] = least;
	}
}

enum mcf_status aggregation_expand(const struct aggregation *aggregation, const struct mcf_solution *small,
				   struct mcf_solution *large)
{
	size_t small_arcs = (size_t)aggregation->small.arc_count, nodes = (size_t)aggregation->large->node_count;
	struct expander expander = {.aggregation = aggregation, .small = small, .large = large};
	enum mcf_status status = MCF_NO_MEMORY;

	if (small->status != MCF_OPTIMAL && small->status != MCF_INFEASIBLE)
		return small->status;
	spread_potentials(&expander, small->status == MCF_OPTIMAL);
	if (small->status == MCF_INFEASIBLE) {
		lower_members(&expander);
		return MCF_INFEASIBLE;
	}
	expander.left = malloc((small_arcs + 1) * sizeof *expander.left);
	expander.need = malloc((nodes + 1) * sizeof *expander.need);
	if (!expander.left || !expander.need)
		goto out;
	memcpy(expander.left, small->flow, small_arcs * sizeof *expander.left);
	memcpy(expander.need, aggregation->large->supply, nodes * sizeof *expander.need);
	memset(large->flow, 0, (size_t)aggregation->large->arc_count * sizeof *large->flow);
	give_kept(&expander);
	give_privates(&expander);
	for (int32_t g = 0; g < aggregation->group_count; g++)
		give_common(&expander, g);
	if (aggregation->loose)
		raise_loose(&expander);
	status = MCF_OPTIMAL;
out:
	free(expander.left);
	free(expander.need);
	return status;
}

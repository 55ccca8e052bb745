/* SPDX-License-Identifier: BSD-3-Clause */
/* From the small network's answer to the large one's: units to their owners, potentials to every node. */
#include <stdlib.h>
#include <string.h>

#include "collapse_priv.h"

struct expander {
	const struct collapse *collapse;
	const struct mcf_solution *small;
	struct mcf_solution *large;
	int32_t *left; /* [small arcs] flow not given to a large arc yet */
	int64_t *need; /* [large nodes] units of a member that have no arc yet */
};

/* A contracted head passes on what it gets. */
static void give(const struct expander *expander, int32_t arc, int32_t amount)
{
	int32_t through = expander->collapse->through[expander->collapse->large->head[arc]];

	expander->large->flow[arc] += amount;
	if (through >= 0)
		expander->large->flow[through] += amount;
}

static void give_kept(const struct expander *expander)
{
	const struct collapse *collapse = expander->collapse;
	int32_t end = collapse->group_count ? collapse->common_first[0] : collapse->small.arc_count;

	for (int32_t a = 0; a < end; a++) {
		if (expander->left[a] > 0)
			give(expander, collapse->origin[a], expander->left[a]);
	}
}

static void give_privates(const struct expander *expander)
{
	const struct collapse *collapse = expander->collapse;

	for (int32_t i = 0; i < collapse->private_count; i++) {
		const struct private_arc *private = &collapse->privates[i];
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

/* The member's arc to a head that the whole group has. */
static int32_t find_arc(const struct collapse *collapse, int32_t node, int32_t head)
{
	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		if (collapse_head(collapse, collapse->out[i]) == head)
			return collapse->out[i];
	}
	return -1;
}

static void give_common(const struct expander *expander, int32_t group)
{
	const struct collapse *collapse = expander->collapse;
	int32_t arc = collapse->common_first[group], end = collapse->common_first[group + 1];

	for (int32_t k = collapse->group_first[group]; k < collapse->group_first[group + 1]; k++) {
		int32_t node = collapse->members[k];

		while (expander->need[node] > 0) {
			int32_t amount;

			while (arc < end && expander->left[arc] == 0)
				arc++;
			if (arc == end)
				return; /* cannot be: what goes into a group goes out of it */
			amount = expander->need[node] < expander->left[arc] ? (int32_t)expander->need[node]
									    : expander->left[arc];
			give(expander, find_arc(collapse, node, collapse_head(collapse, collapse->origin[arc])),
			     amount);
			expander->left[arc] -= amount;
			expander->need[node] -= amount;
		}
	}
}

static void spread_potentials(const struct expander *expander, bool costs_count)
{
	const struct collapse *collapse = expander->collapse;
	const struct mcf_problem *large = collapse->large;
	int64_t *potential = expander->large->potential;

	for (int32_t v = 0; v < large->node_count; v++) {
		if (collapse->kind[v] != NODE_CONTRACTED)
			potential[v] = expander->small->potential[collapse->small_node[v]];
	}
	for (int32_t v = 0; v < large->node_count; v++) {
		if (collapse->kind[v] == NODE_CONTRACTED)
			potential[v] = potential[large->head[collapse->through[v]]] -
				       (costs_count ? large->cost[collapse->through[v]] : 0);
	}
}

/* Where arcs are wider than the supply a saturated group arc is not a saturated member's arc. */
static void raise_loose(const struct expander *expander)
{
	const struct collapse *collapse = expander->collapse;
	const struct mcf_problem *large = collapse->large;
	int64_t *potential = expander->large->potential;

	for (int32_t k = 0; k < collapse->group_first[collapse->group_count]; k++) {
		int32_t node = collapse->members[k];

		for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
			int32_t arc = collapse->out[i];
			int64_t bound = potential[large->head[arc]] - large->cost[arc];

			if (expander->large->flow[arc] < large->capacity[arc] && bound > potential[node])
				potential[node] = bound;
		}
	}
}

/*
 * Farkas' y of a member: what it weighs, y * supply less the sum of (y - y[head]) * capacity over arcs that lead down,
 * is most at the least y of its heads, as each of its arcs alone is as wide as its supply. So no member's part of the
 * proof is less than its share of the group's.
 */
static void lower_members(const struct expander *expander)
{
	const struct collapse *collapse = expander->collapse;
	int64_t *potential = expander->large->potential;

	for (int32_t k = 0; k < collapse->group_first[collapse->group_count]; k++) {
		int32_t node = collapse->members[k];
		int64_t least = INT64_MAX;

		for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
			int64_t there = potential[collapse->large->head[collapse->out[i]]];

			least = there < least ? there : least;
		}
		if (least != INT64_MAX)
			potential[node] = least;
	}
}

enum mcf_status collapse_expand(const struct collapse *collapse, const struct mcf_solution *small,
				struct mcf_solution *large)
{
	size_t small_arcs = (size_t)collapse->small.arc_count, nodes = (size_t)collapse->large->node_count;
	struct expander expander = {.collapse = collapse, .small = small, .large = large};
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
	memcpy(expander.need, collapse->large->supply, nodes * sizeof *expander.need);
	memset(large->flow, 0, (size_t)collapse->large->arc_count * sizeof *large->flow);
	give_kept(&expander);
	give_privates(&expander);
	for (int32_t g = 0; g < collapse->group_count; g++)
		give_common(&expander, g);
	if (collapse->loose)
		raise_loose(&expander);
	status = MCF_OPTIMAL;
out:
	free(expander.left);
	free(expander.need);
	return status;
}

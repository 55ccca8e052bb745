/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "reduce_priv.h"

static enum mcf_status open_shape(const struct mcf_problem *problem, struct shape *shape)
{
	size_t nodes = (size_t)problem->node_count + 2;

	*shape = (struct shape){.problem = problem, .sink = -1, .aggregator = -1};
	shape->role = calloc(nodes, sizeof *shape->role);
	shape->id = malloc(nodes * sizeof *shape->id);
	shape->block = malloc(nodes * sizeof *shape->block);
	shape->by_block = malloc(nodes * sizeof *shape->by_block);
	shape->column_node = malloc(nodes * sizeof *shape->column_node);
	if (!mcf_arcs_by_tail(problem, &shape->first, &shape->out, &shape->arcs_in) || !shape->role || !shape->id ||
	    !shape->block || !shape->by_block || !shape->column_node)
		return MCF_NO_MEMORY;
	memset(shape->block, 0xff, nodes * sizeof *shape->block);
	memset(shape->by_block, 0xff, nodes * sizeof *shape->by_block);
	return MCF_OPTIMAL;
}

void shape_free(struct shape *shape)
{
	free(shape->first);
	free(shape->out);
	free(shape->arcs_in);
	free(shape->role);
	free(shape->id);
	free(shape->block);
	free(shape->by_block);
	free(shape->column_node);
}

static bool find_ends(struct shape *shape)
{
	const struct mcf_problem *problem = shape->problem;

	for (int32_t v = 0; v < problem->node_count; v++) {
		int32_t arcs_out = shape->first[v + 1] - shape->first[v];

		if (problem->supply[v] < 0) {
			if (shape->sink >= 0 || arcs_out > 0)
				return false;
			shape->sink = v;
			shape->role[v] = ROLE_SINK;
		} else if (problem->supply[v] > 0) {
			if (shape->arcs_in[v] > 0 || problem->supply[v] > INT32_MAX)
				return false;
			shape->id[v] = shape->group_count++;
			shape->role[v] = ROLE_GROUP;
			shape->supply += problem->supply[v];
		} else if (arcs_out == 0 || shape->arcs_in[v] == 0) {
			shape->role[v] = ROLE_IDLE;
		}
	}
	return shape->sink >= 0 && shape->supply <= INT32_MAX;
}

static void find_columns(struct shape *shape)
{
	const struct mcf_problem *problem = shape->problem;

	for (int32_t v = 0; v < problem->node_count; v++) {
		int32_t arc = shape->first[v] < problem->arc_count ? shape->out[shape->first[v]] : -1;

		if (shape->role[v] != ROLE_NONE || shape->first[v + 1] - shape->first[v] != 1 ||
		    problem->head[arc] != shape->sink || problem->cost[arc] != 0)
			continue;
		shape->role[v] = ROLE_COLUMN;
		shape->column_capacity += problem->capacity[arc];
		shape->column_node[shape->column_count] = v;
		shape->id[v] = shape->column_count++;
	}
}

static int64_t column_capacity(const struct shape *shape, int32_t node)
{
	return shape->problem->capacity[shape->out[shape->first[node]]];
}

/* Returns the capacity of a column, or the total capacity of a block's columns. */
static int64_t width(const struct shape *shape, int32_t node)
{
	int64_t sum = 0;

	if (shape->role[node] == ROLE_COLUMN)
		return column_capacity(shape, node);
	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++)
		sum += column_capacity(shape, shape->problem->head[shape->out[i]]);
	return sum;
}

/*
 * True if all arcs out of `node` have cost 0 and at least the capacity of their heads, and lead to nodes of this role
 * that no other node has claimed.
 */
static bool spans(const struct shape *shape, int32_t node, enum role role)
{
	const struct mcf_problem *problem = shape->problem;

	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
		int32_t arc = shape->out[i], head = problem->head[arc];

		if (shape->role[head] != role || problem->cost[arc] != 0 || shape->by_block[head] >= 0 ||
		    problem->capacity[arc] < width(shape, head))
			return false;
	}
	return true;
}

static bool claim(struct shape *shape, int32_t node, enum role role)
{
	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
		int32_t arc = shape->out[i], head = shape->problem->head[arc];

		if (shape->by_block[head] >= 0) /* two arcs from the same node */
			return false;
		shape->by_block[head] = arc;
		if (role == ROLE_COLUMN)
			shape->block[head] = shape->id[node];
	}
	return true;
}

/* All nodes without a role must be blocks, except one, which may be the aggregator. Returns false if they are not. */
static bool find_blocks(struct shape *shape)
{
	const struct mcf_problem *problem = shape->problem;

	for (int32_t v = 0; v < problem->node_count; v++) {
		if (shape->role[v] != ROLE_NONE || !spans(shape, v, ROLE_COLUMN))
			continue;
		shape->id[v] = shape->block_count++;
		if (!claim(shape, v, ROLE_COLUMN))
			return false;
	}
	for (int32_t c = 0; c < shape->column_count; c++) {
		if (shape->block[shape->column_node[c]] >= 0)
			shape->role[problem->tail[shape->by_block[shape->column_node[c]]]] = ROLE_BLOCK;
	}
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (shape->role[v] != ROLE_NONE)
			continue;
		if (shape->aggregator >= 0 || !spans(shape, v, ROLE_BLOCK) || !claim(shape, v, ROLE_BLOCK))
			return false;
		shape->aggregator = v;
	}
	if (shape->aggregator >= 0)
		shape->role[shape->aggregator] = ROLE_AGGREGATOR;
	return true;
}

/*
 * Gives each column without a block a block of its own. Returns false if there is an aggregator, and a column with
 * capacity that it does not reach.
 */
static bool find_strays(struct shape *shape)
{
	for (int32_t v = 0; v < shape->problem->node_count && shape->aggregator >= 0; v++) {
		bool reached = shape->by_block[v] >= 0;

		if (shape->role[v] == ROLE_BLOCK && !reached && width(shape, v) > 0)
			return false;
		if (shape->role[v] == ROLE_COLUMN && !reached && column_capacity(shape, v) > 0)
			return false;
	}
	for (int32_t c = 0; c < shape->column_count; c++) {
		if (shape->block[shape->column_node[c]] < 0)
			shape->block[shape->column_node[c]] = shape->block_count++;
	}
	return true;
}

static bool groups_fit(const struct shape *shape)
{
	const struct mcf_problem *problem = shape->problem;

	for (int32_t v = 0; v < problem->node_count; v++) {
		int32_t sinks = 0, aggregators = 0;

		for (int32_t i = shape->first[v]; i < shape->first[v + 1] && shape->role[v] == ROLE_GROUP; i++) {
			int32_t arc = shape->out[i];
			enum role role = shape->role[problem->head[arc]];
			bool wide = problem->capacity[arc] >= problem->supply[v];

			if (problem->cost[arc] < 0 || problem->cost[arc] > STRUCTURED_COST_MAXIMUM ||
			    role == ROLE_GROUP)
				return false;
			if ((role == ROLE_BLOCK || role == ROLE_AGGREGATOR) && !wide)
				return false;
			sinks += role == ROLE_SINK;
			aggregators += role == ROLE_AGGREGATOR;
		}
		if (sinks > 1 || aggregators > 1)
			return false;
	}
	return true;
}

enum mcf_status shape_find(const struct mcf_problem *problem, struct shape *shape)
{
	enum mcf_status status = open_shape(problem, shape);

	if (status != MCF_OPTIMAL)
		return status;
	if (!find_ends(shape))
		return MCF_UNSUITED;
	find_columns(shape);
	if (shape->column_count == 0 || shape->column_capacity > INT32_MAX || !find_blocks(shape) ||
	    !find_strays(shape) || !groups_fit(shape))
		return MCF_UNSUITED;
	return MCF_OPTIMAL;
}

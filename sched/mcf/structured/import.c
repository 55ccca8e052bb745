/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Imports an answer from the network simplex. If there are more units than slots and rows reach over the whole cluster,
 * a change of the aggregator's price displaces units far away, and those displace others: searches scan the same arcs
 * hundreds of times; the simplex does not. So a solve that has scanned too much is stopped, the simplex solves the
 * exported network, and its flow and prices are imported; later repairs start from these.
 *
 * The simplex's prices satisfy the invariants except at nodes without flow, whose prices may be chosen. An empty column
 * gets the price 0. The aggregator gets the least price of the open columns, which is also its own price if flow passes
 * it. Each group gets the least price that its arcs with residual capacity allow.
 */
#include <stdlib.h>

#include <sched/mcf/simplex.h>

#include "structured_priv.h"

struct reader {
	struct structured *state;
	const struct mcf_solution *solution;
	int32_t arc;        /* the next arc to read, in the order of the export */
	int32_t *left;      /* [column_count] flow from the block to the column that is not yet assigned to a group */
	int32_t *exhausted; /* [block_count] block members before this index have left[] = 0 */
};

static int32_t next_flow(struct reader *reader)
{
	return reader->solution->flow[reader->arc++];
}

static void place_units(struct reader *reader, int32_t group, int32_t arc, int32_t column, int32_t units)
{
	if (units == 0)
		return;
	flow_add(reader->state, group, column, reader->state->groups[group].arcs[arc].cost, units);
	column_fill(reader->state, column, units);
}

/*
 * Places the units of the group's `arc`, which leads to a block, on columns that get flow from the block. All these
 * columns have the same price.
 */
static void place_over_block(struct reader *reader, int32_t group, int32_t arc, int32_t units)
{
	int32_t number = ~reader->state->groups[group].arcs[arc].target;
	const struct block *block = &reader->state->blocks[number];

	for (int32_t *i = &reader->exhausted[number]; units > 0 && *i < block->member_count;) {
		int32_t column = block->members[*i], taken = least(units, reader->left[column]);

		place_units(reader, group, arc, column, taken);
		reader->left[column] -= taken;
		units -= taken;
		*i += reader->left[column] == 0;
	}
}

/*
 * Reads a group's flow. Units on the aggregator become deferred: they get the remaining slots, which all have the
 * aggregator's price.
 */
static void read_group(struct reader *reader, int32_t group)
{
	struct structured *state = reader->state;
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count; i++) {
		int32_t units = next_flow(reader);

		if (g->arcs[i].target < 0)
			place_over_block(reader, group, i, units);
		else
			place_units(reader, group, i, g->arcs[i].target, units);
	}
	g->excess = 0;
	if (g->aggregator_cost != ARC_ABSENT)
		group_add_deferred(state, group, next_flow(reader));
	if (g->unscheduled_capacity > 0)
		g->unscheduled_flow = next_flow(reader);
	if (export_has_unrouted(g))
		g->unrouted = next_flow(reader);
	if (g->unscheduled_flow > 0 || g->unrouted > 0)
		group_waits(state, group);
}

/* Reads the last arcs of the export. A column's price is the sink's potential less its own. */
static void read_columns(struct reader *reader, int32_t first_column, int64_t sink)
{
	struct structured *state = reader->state;
	int32_t aggregator_price = UNROUTED_COST;

	for (int32_t i = 0; i < state->column_count; i++) {
		int64_t price = sink - reader->solution->potential[first_column + i];

		if (state->column_blocks[i] == NONE)
			continue;
		reader->left[i] = next_flow(reader);
		if (next_flow(reader) == 0)
			price = 0;
		if (state->capacities[i] == 0)
			continue;
		state->prices[i] = (int32_t)price;
		aggregator_price = least(aggregator_price, state->prices[i]);
	}
	state->aggregator_price = aggregator_price;
	for (int32_t i = 0; i < state->block_count; i++)
		block_exact_floor(state, i);
}

static void read_answer(struct reader *reader, const struct mcf_problem *problem)
{
	struct structured *state = reader->state;
	int32_t sink = problem->node_count - 1, columns = 0;

	for (int32_t i = 0; i < state->column_count; i++)
		columns += state->column_blocks[i] != NONE;
	reader->arc = problem->arc_count - 2 * columns;
	read_columns(reader, state->group_count, reader->solution->potential[sink]);
	reader->arc = 0;
	for (int32_t i = 0; i < state->group_count; i++)
		if (state->groups[i].supply > 0)
			read_group(reader, i);
	for (int32_t i = 0; i < state->group_count; i++)
		group_reprice(state, i);
}

void import_simplex(struct structured *state)
{
	struct structured_export network;
	struct reader reader = {.state = state};

	start_forget(state, 0);
	if (structured_export(state, &network)) {
		state->no_memory = true;
		return;
	}
	reader.solution = &network.solution;
	reader.left = calloc((size_t)state->column_count + 1, sizeof(*reader.left));
	reader.exhausted = calloc((size_t)state->block_count + 1, sizeof(*reader.exhausted));
	state->no_memory = !reader.left || !reader.exhausted;
	if (!state->no_memory) {
		enum mcf_status status = mcf_simplex_algorithm(&network.problem, &network.solution);

		state->no_memory = status == MCF_NO_MEMORY;
		state->stalled = status != MCF_OPTIMAL && !state->no_memory;
		if (status == MCF_OPTIMAL)
			read_answer(&reader, &network.problem);
	}
	free(reader.left);
	free(reader.exhausted);
	structured_export_free(&network);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports the state as a plain problem with its answer, for the certificate and for the simplex. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcf_priv.h"
#include "structured_priv.h"

struct writer {
	const struct structured *state;
	int32_t *tail, *head, *capacity;
	int64_t *cost;
	struct mcf_solution *solution;
	int32_t arc;
	int32_t first_column, first_block, aggregator, sink;
	int32_t *column_flow; /* [columns] flow from the block to the column */
	int64_t *block_flow;  /* [blocks] flow from the aggregator to the block */
	bool *block_used;     /* [blocks] true if some group has an arc to the block */
	bool aggregator_used;
};

/* True if the group may need an arc for unrouted units; the export has this arc for such groups only. */
bool export_has_unrouted(const struct group *group)
{
	return group->unscheduled_capacity < group->supply || group->unrouted > 0;
}

static void write_arc(struct writer *w, int32_t tail, int32_t head, int32_t capacity, int32_t cost, int32_t flow)
{
	w->tail[w->arc] = tail;
	w->head[w->arc] = head;
	w->capacity[w->arc] = capacity;
	w->cost[w->arc] = cost;
	w->solution->flow[w->arc] = flow;
	w->arc++;
}

static int64_t count_arcs(const struct structured *state)
{
	int64_t count = (int64_t)state->block_count + 2 * (int64_t)state->column_count;

	for (int32_t i = 0; i < state->group_count; i++)
		count += state->groups[i].arc_count + 3;
	return count;
}

static int32_t find_arc(const struct group *g, int32_t target, int32_t cost)
{
	for (int32_t i = 0; i < g->arc_count && g->arcs[i].cost <= cost; i++)
		if (g->arcs[i].target == target && g->arcs[i].cost == cost)
			return i;
	return NONE;
}

/*
 * Assigns the share's units to the group's own arc to the column, up to this arc's capacity, and the others to the
 * group's arc to the block or to the aggregator. flow[] is the flow of the group's arcs. Returns the number of units
 * that use the aggregator.
 */
static int32_t write_share(struct writer *w, const struct group *g, const struct structured_share *share, int32_t *flow)
{
	int32_t block = w->state->column_blocks[share->column], own = find_arc(g, share->column, share->cost);
	int32_t direct = own == NONE ? 0 : least(share->units, arc_capacity(g, share->column, share->cost)),
		rest = share->units - direct;

	if (direct > 0)
		flow[own] = direct;
	if (rest == 0)
		return 0;
	int32_t over = find_arc(g, ~block, share->cost);

	w->column_flow[share->column] += rest;
	if (over != NONE) {
		flow[over] += rest;
		return 0;
	}
	w->block_flow[block] += rest;
	return rest;
}

/*
 * Writes the group's arcs. Units that went over a block or the aggregator are assigned to the group's arc to it and to
 * the arcs from there to the column.
 */
static void write_group(struct writer *w, int32_t group)
{
	const struct structured *state = w->state;
	const struct group *g = &state->groups[group];
	int32_t first = w->arc, over_aggregator = 0;

	for (int32_t i = 0; i < g->arc_count; i++) {
		const struct arc *arc = &g->arcs[i];
		int32_t head = arc->target >= 0 ? w->first_column + arc->target : w->first_block + ~arc->target;

		write_arc(w, group, head, arc_capacity(g, arc->target, arc->cost), arc->cost, 0);
		if (arc->target < 0)
			w->block_used[~arc->target] = true;
	}
	for (int32_t i = 0; i < g->share_count; i++)
		over_aggregator += write_share(w, g, &g->shares[i], w->solution->flow + first);
	w->aggregator_used |= g->aggregator_cost != ARC_ABSENT;
	if (g->aggregator_cost != ARC_ABSENT)
		write_arc(w, group, w->aggregator, INT32_MAX, g->aggregator_cost, over_aggregator);
	if (g->unscheduled_capacity > 0)
		write_arc(w, group, w->sink, g->unscheduled_capacity, g->unscheduled_cost, g->unscheduled_flow);
	if (export_has_unrouted(g))
		write_arc(w, group, w->sink, INT32_MAX, UNROUTED_COST, g->unrouted);
}

/*
 * Shared arcs that no group can use get capacity 0: otherwise they would join all columns to one large tree in the
 * simplex, in which each pivot moves most nodes.
 */
static void write_shared(struct writer *w)
{
	const struct structured *state = w->state;
	int64_t *potential = w->solution->potential;

	for (int32_t i = 0; i < state->block_count; i++) {
		int32_t flow = w->block_flow[i] > INT32_MAX ? INT32_MAX : (int32_t)w->block_flow[i];

		potential[w->first_block + i] = -(int64_t)block_least_price(state, i);
		write_arc(w, w->aggregator, w->first_block + i, w->aggregator_used ? INT32_MAX : 0, 0, flow);
	}
	for (int32_t i = 0; i < state->column_count; i++) {
		potential[w->first_column + i] = -(int64_t)state->prices[i];
		int32_t block = state->column_blocks[i];

		if (block == NONE)
			continue;
		write_arc(w, w->first_block + block, w->first_column + i,
			  w->aggregator_used || w->block_used[block] ? INT32_MAX : 0, 0, w->column_flow[i]);
		write_arc(w, w->first_column + i, w->sink, state->capacities[i], 0,
			  state->capacities[i] - state->free_slots[i]);
	}
	potential[w->aggregator] = -(int64_t)state->aggregator_price;
}

static int allocate(struct structured_export *out, struct writer *w, int32_t nodes, int64_t arcs)
{
	if (arcs > INT32_MAX / 4)
		return -ERANGE;
	out->arrays = malloc(sizeof(int32_t) * 3 * (size_t)arcs + 1);
	out->numbers = calloc((size_t)(arcs + nodes), sizeof(int64_t));
	w->column_flow = calloc((size_t)w->state->column_count + 1, sizeof(*w->column_flow));
	w->block_flow = calloc((size_t)w->state->block_count + 1, sizeof(*w->block_flow));
	w->block_used = calloc((size_t)w->state->block_count + 1, sizeof(*w->block_used));
	if (!out->arrays || !out->numbers || !w->column_flow || !w->block_flow || !w->block_used ||
	    mcf_solution_reserve(&out->solution, nodes, (int32_t)arcs) != MCF_OPTIMAL)
		return -ENOMEM;
	w->tail = out->arrays;
	w->head = w->tail + arcs;
	w->capacity = w->head + arcs;
	w->cost = out->numbers;
	memset(out->solution.potential, 0, sizeof(int64_t) * (size_t)nodes);
	return 0;
}

static void write_all(struct structured_export *out, struct writer *w, int32_t nodes, int64_t room)
{
	const struct structured *state = w->state;
	int64_t *supply = out->numbers + room;
	mcf_wide total = 0;

	for (int32_t i = 0; i < state->group_count; i++) {
		if (state->groups[i].supply == 0)
			continue;
		supply[i] = state->groups[i].supply;
		supply[w->sink] -= supply[i];
		out->solution.potential[i] = -(int64_t)state->groups[i].price;
		write_group(w, i);
	}
	write_shared(w);
	for (int32_t i = 0; i < w->arc; i++)
		total += (mcf_wide)w->cost[i] * out->solution.flow[i];
	out->solution.status = MCF_OPTIMAL;
	out->solution.cost = (int64_t)total;
	out->solution.statistics = (struct mcf_statistics){.algorithm = "structured", .phases = state->effort.searches};
	out->problem = (struct mcf_problem){.node_count = nodes,
					    .arc_count = w->arc,
					    .tail = w->tail,
					    .head = w->head,
					    .capacity = w->capacity,
					    .cost = w->cost,
					    .supply = supply};
}

int structured_export(const struct structured *state, struct structured_export *out)
{
	struct writer w = {.state = state, .solution = &out->solution};
	int64_t arcs = count_arcs(state);
	int32_t nodes = state->group_count + state->column_count + state->block_count + 2;

	memset(out, 0, sizeof(*out));
	w.first_column = state->group_count;
	w.first_block = w.first_column + state->column_count;
	w.aggregator = w.first_block + state->block_count;
	w.sink = w.aggregator + 1;
	int failed = allocate(out, &w, nodes, arcs);

	if (!failed)
		write_all(out, &w, nodes, arcs);
	else
		structured_export_free(out);
	free(w.column_flow);
	free(w.block_flow);
	free(w.block_used);
	return failed;
}

void structured_export_free(struct structured_export *out)
{
	free(out->arrays);
	free(out->numbers);
	mcf_solution_free(&out->solution);
	memset(out, 0, sizeof(*out));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* One round: excess is pushed, holes are filled, the market is settled. */
#include <string.h>

#include "structured_priv.h"

static void push_excess(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	g->in_excess_list = false;
	while (g->excess > 0 && !state_halted(state)) {
		int32_t excess = g->excess;

		search_group_forward(state, group);
		g->excess -= search_augment(state, g->excess);
		for (int32_t sent = 1; sent > 0 && g->excess > 0; g->excess -= sent)
			sent = flood_from_group(state, group, g->excess);
		state->stalled = g->excess >= excess;
	}
}

void push_all(struct structured *state)
{
	for (int32_t i = 0; i < state->excess_list.count && !state_halted(state); i++)
		push_excess(state, state->excess_list.ids[i]);
	state->excess_list.count = 0;
}

static void repair(struct structured *state)
{
	push_all(state);
	if ((state->hole_list.count > 0 || state->market_price > 0) && !state->referenced)
		references_build(state);
	holes_fill(state);
	market_settle(state);
}

/*
 * Where the market's price is looked for first. With more units than slots it ends up not far below what waiting costs:
 * a quarter below the dearest was near enough wherever it was measured, and a wrong guess costs little.
 */
static int32_t first_price(const struct structured *state)
{
	int64_t units = 0, slots = 0;
	int32_t dearest = 0;

	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		units += g->supply;
		if (g->supply > 0 && g->unscheduled_capacity > 0 && g->unscheduled_cost > dearest)
			dearest = g->unscheduled_cost;
	}
	for (int32_t i = 0; i < state->column_count; i++)
		slots += state->columns[i].capacity;
	return units > slots && slots > 0 ? dearest - dearest / 4 : 0;
}

static int64_t count_arcs(const struct structured *state)
{
	int64_t count = 0;

	for (int32_t i = 0; i < state->group_count; i++)
		count += state->groups[i].arc_count;
	return count;
}

static enum mcf_status fill_result(struct structured *state, struct structured_result *result)
{
	*result = (struct structured_result){.cost = state->column_cost,
					     .searches = state->searches,
					     .scans = state->scans,
					     .augmentations = state->augmentations,
					     .handed_over = state->scan_limit == UINT64_MAX};
	state->arc_total = 0;
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		state->arc_total += g->arc_count;
		result->unscheduled += g->unscheduled_flow;
		result->unrouted += g->unrouted;
		result->cost += (int64_t)g->unscheduled_flow * g->unscheduled_cost;
	}
	result->status = state->no_memory       ? MCF_NO_MEMORY
			 : state->stalled       ? MCF_STALLED
			 : result->unrouted > 0 ? MCF_INFEASIBLE
						: MCF_OPTIMAL;
	return result->status;
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	state->searches = state->scans = state->augmentations = 0;
	state->scan_limit = state->patience * (uint64_t)state->arc_total;
	if (!state->solved && !state_failed(state)) {
		state->scan_limit = state->patience * (uint64_t)count_arcs(state) / 2;
		start_fresh(state, first_price(state));
	}
	if (!state_failed(state))
		repair(state);
	if (!state_failed(state) && state_halted(state)) {
		state->scan_limit = UINT64_MAX;
		import_simplex(state);
		if (!state_failed(state))
			repair(state);
	}
	if (state->search.queue.no_memory)
		state->no_memory = true;
	return fill_result(state, result);
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The aggregator as a market. Searches sell to it and buy from it at one price, as if it had slots without end; here
 * what was sold is bound to slots.
 *
 * Too few: its price rises to where the next unit has a way out, found backward from all of those. Nearly all columns
 * and groups are tied to the market at no reduced cost, so that a search from there would see most of the network.
 *
 * Too many at a price above 0: it falls, step by step, until somebody comes, or to 0, where slots may stay free. These
 * searches come from the other end, forward from all units that wait, and meet the market: those they pass keep so much
 * of the difference as they are nearer to that end, everybody else's price moves with the market's. They are a hundred
 * times smaller, and at each price a flood brings in all that wait for it, so that a price too high costs little.
 */
#include "structured_search.h"

/* A free slot's column; all of them have the market's price. NONE when there is none. */
static int32_t market_free_column(struct structured *state)
{
	struct id_list *list = &state->free_list;

	while (list->count > 0) {
		int32_t column = list->ids[list->count - 1];

		if (state->free_slots[column] > 0)
			return column;
		state->column_lists[column] &= (uint8_t)~IN_FREE_LIST;
		list->count--;
	}
	return NONE;
}

/* Units that were sold get arcs to `column`, whose slots the caller accounts for; there are at least `units` of them.
 */
void market_bind(struct structured *state, int32_t column, int32_t units)
{
	struct id_list *list = &state->pending_list;

	while (units > 0 && list->count > 0) {
		int32_t group = list->ids[list->count - 1];
		struct group *g = &state->groups[group];
		int32_t taken = g->pending < units ? g->pending : units;

		if (taken > 0) {
			group_add_pending(state, group, -taken);
			flow_add(state, group, column, g->aggregator_cost, taken);
			units -= taken;
		}
		if (g->pending == 0) {
			g->in_pending_list = false;
			list->count--;
		}
	}
}

static void bind_free(struct structured *state)
{
	while (state->total_pending > 0 && state->total_free > 0) {
		int32_t column = market_free_column(state);

		if (column == NONE)
			return;
		int32_t free = state->free_slots[column];
		int32_t units = state->total_pending < free ? (int32_t)state->total_pending : free;

		market_bind(state, column, units);
		column_fill(state, column, units);
	}
}

/* The running search, from units that wait or ways out, comes to the market at `node`; it goes on to others no farther.
 */
void market_meet(struct structured *state, int32_t node, int32_t distance)
{
	struct search *search = &state->search;

	if (distance >= search->best)
		return;
	if (distance < search->best - 1) {
		search->best = distance + 1;
		state->meeting_list.count = 0;
	}
	list_push(state, &state->meeting_list, node);
}

/* More units sold than slots. False when neither the price nor a unit has moved. */
static bool market_raise(struct structured *state)
{
	int64_t before = state->total_pending;

	search_market_backward(state);
	if (state->meeting_list.count == 0)
		return false;
	for (int32_t i = 0; i < state->meeting_list.count && state->total_pending > 0; i++)
		flood_outward(state, state->meeting_list.ids[i], (int32_t)state->total_pending);
	if (state->total_pending == before) /* so long a way that no flood goes along it */
		outlet_augment(state, state->meeting_list.ids[0], (int32_t)state->total_pending);
	return state->search.best > 0 || state->total_pending < before;
}

/* The market's price and those of all who are tied to it; what the last search has found to be nearer stays behind. */
static void lower_prices(struct structured *state, int32_t by)
{
	state->market_price -= by;
	prices_shift(state, -by);
	search_move_prices(state, 1);
}

/* More slots than units at a market price above 0: to where some that wait come in, or to 0. */
static bool market_lower(struct structured *state)
{
	int64_t before = state->total_free - state->total_pending, left = before;

	search_from_waiting(state, state->market_price);
	if (state_halted(state))
		return false;
	lower_prices(state, state->search.best);
	for (int32_t came = 1; came > 0 && left > 0 && !state_halted(state);
	     left = state->total_free - state->total_pending)
		came = flood_inward(state, (int32_t)left);
	/* So long a way that no flood goes along it. */
	for (int32_t i = 0; i < state->meeting_list.count && left == before && left > 0; i++) {
		meeting_augment(state, state->meeting_list.ids[i], (int32_t)left);
		left = state->total_free - state->total_pending;
	}
	return left < before || state->market_price == 0;
}

void market_settle(struct structured *state)
{
	while (!state_halted(state)) {
		bind_free(state);
		if (state->total_pending == 0 && (state->total_free == 0 || state->market_price == 0))
			return;
		if (state->total_pending > 0 && !state->referenced)
			references_build(state);
		bool moved = state->total_pending > 0 ? market_raise(state) : market_lower(state);

		state->stalled |= !moved && !state_halted(state);
	}
}

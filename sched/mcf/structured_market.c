/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The aggregator as a market. Searches sell to it and buy from it at one price, as if it had slots without end; here
 * what was sold is bound to slots.
 *
 * Too few: its price leaps to where about half as many units as it lacks slots for have a way out. Whoever was passed
 * on the way is pulled off and pushed again, which is local; where nobody was passed the paths found are used. Nearly
 * all columns and groups are tied to the market at no reduced cost, so that each such search sees most of the network.
 *
 * Too many at a price above 0: it falls, step by step, until somebody comes, or to 0, where slots may stay free. These
 * searches come from the other end, forward from all units that wait, and meet the market: those they pass keep so much
 * of the difference as they are nearer to that end, everybody else's price moves with the market's. They are a hundred
 * times smaller, so that a leap too far costs little.
 */
#include <string.h>

#include "structured_search.h"

/* A free slot's column; all of them have the market's price. NONE when there is none. */
static int32_t market_free_column(struct structured *state)
{
	struct id_list *list = &state->free_list;

	while (list->count > 0) {
		int32_t column = list->ids[list->count - 1];

		if (state->columns[column].free > 0)
			return column;
		state->columns[column].in_free_list = false;
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
		int32_t free = state->columns[column].free;
		int32_t units = state->total_pending < free ? (int32_t)state->total_pending : free;

		market_bind(state, column, units);
		column_fill(state, column, units);
	}
}

/* The running search, of units that wait, comes to the market at `group`; it goes on to others that are no farther. */
void market_meet(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;

	if (distance >= search->best)
		return;
	if (distance < search->best - 1) {
		search->best = distance + 1;
		state->meeting_list.count = 0;
	}
	list_push(state, &state->meeting_list, group);
}

/*
 * The running search, from the market, comes to a way out at `group` for so many units. It goes on to the least
 * distance within which enough have one; beyond the window, to the first.
 */
void market_leave(struct structured *state, int32_t group, int32_t distance, int64_t units)
{
	struct search *search = &state->search;
	struct leap *leap = &search->leap;

	if (units <= 0 || distance >= search->best)
		return;
	list_push(state, &state->meeting_list, group);
	if (distance >= LEAP_WINDOW) {
		search->best = distance + 1;
		return;
	}
	leap->exits[distance] += units;
	leap->found += units;
	if (leap->found >= leap->wanted)
		search->best = least(search->best, LEAP_WINDOW);
	while (search->best > 1 && search->best <= LEAP_WINDOW &&
	       leap->found - leap->exits[search->best - 1] >= leap->wanted)
		leap->found -= leap->exits[--search->best];
}

/* Fewer than wanted: as far as the last one, so that nobody is passed without need. */
static void leap_search(struct structured *state)
{
	struct search *search = &state->search;
	struct leap *leap = &search->leap;

	leap->wanted = (state->total_pending + 1) / 2;
	leap->found = 0;
	memset(leap->exits, 0, sizeof(leap->exits));
	search_from_market(state);
	search->best--;
	if (leap->found == 0)
		return;
	search->best = least(search->best, LEAP_WINDOW - 1);
	while (leap->exits[search->best] == 0)
		search->best--;
}

/* Those of the last search for whom waiting has come to be cheaper; false when there are none. */
static bool pull_passed(struct structured *state)
{
	const struct search *search = &state->search;
	bool passed = false;

	for (int32_t i = 0; i < search->visited_count; i++) {
		if (search->visited[i] >= 0)
			continue;
		int32_t group = ~search->visited[i];
		const struct group *g = &state->groups[group];
		bool room = g->unscheduled_flow < g->unscheduled_capacity;

		if (g->price <= (room ? g->unscheduled_cost : UNROUTED_COST))
			continue;
		group_reprice(state, group);
		passed = true;
	}
	return passed;
}

/* Units of a group whose price is that of waiting leave columns at the market's price to those sold; `units` at most.
 */
static void leave_columns(struct structured *state, int32_t group, int64_t units)
{
	struct group *g = &state->groups[group];

	if (g->unscheduled_cost != g->price)
		return;
	for (int32_t i = g->share_count - 1; i >= 0; i--) {
		struct structured_share share = g->shares[i];
		int32_t room = g->unscheduled_capacity - g->unscheduled_flow;
		int32_t taken = least(share.units, room);

		taken = units < taken ? (int32_t)units : taken;
		if (taken <= 0)
			return;
		if (state->prices[share.column] != state->market_price || share.cost + state->market_price != g->price)
			continue;
		flow_take(state, group, share.column, share.cost, taken);
		g->unscheduled_flow += taken;
		market_bind(state, share.column, taken);
		units -= taken;
	}
}

/* More units sold than slots. False when neither the price nor a unit has moved. */
static bool market_raise(struct structured *state)
{
	int64_t before = state->total_pending;

	leap_search(state);
	if (state->meeting_list.count == 0)
		return false;
	search_move_prices(state, 1);
	state->market_price += state->search.best;
	if (pull_passed(state)) {
		push_all(state);
		holes_fill(state);
		return true;
	}
	for (int32_t i = 0; i < state->meeting_list.count && state->total_pending > 0; i++)
		meeting_augment(state, state->meeting_list.ids[i], (int32_t)state->total_pending);
	for (int32_t i = 0; i < state->meeting_list.count && state->total_pending > 0; i++)
		leave_columns(state, state->meeting_list.ids[i], state->total_pending);
	return state->search.best > 0 || state->total_pending < before;
}

/* The market's price and those of all who are tied to it; what the last search has found to be nearer stays behind. */
static void lower_prices(struct structured *state, int32_t by)
{
	state->market_price -= by;
	for (int32_t i = 0; i < state->column_count; i++)
		state->prices[i] -= state->prices[i] == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].floor -= state->blocks[i].floor == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->group_count; i++) {
		if (state->groups[i].supply == 0)
			continue; /* it has no price */
		state->groups[i].price -= by;
		group_bid(state, i);
	}
	search_move_prices(state, 1);
}

/* More slots than units at a market price above 0: to where some that wait come in, or to 0. */
static bool market_lower(struct structured *state)
{
	int64_t before = state->total_free - state->total_pending, left = before;

	search_from_waiting(state, state->market_price);
	lower_prices(state, state->search.best);
	for (int32_t i = 0; i < state->meeting_list.count && left > 0; i++) {
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
		if (!state->referenced)
			references_build(state);
		bool moved = state->total_pending > 0 ? market_raise(state) : market_lower(state);

		state->stalled |= !moved;
	}
}

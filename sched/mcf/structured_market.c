/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The aggregator as a market. Searches sell to it and buy from it at one price, as if it had slots without end; here
 * what was sold is bound to slots. Too few: its price rises until somebody lets go (searches from the aggregator). Too
 * many at a price above 0: it falls until somebody comes, or to 0, where slots may stay free.
 */
#include <stdlib.h>

#include "structured_priv.h"

/* A free slot's column; all of them have the market's price. NONE when there is none. */
int32_t market_free_column(struct structured *state)
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

static int64_t flood_raise(struct structured *state)
{
	int64_t total = 0;

	for (int64_t sent = 1; sent > 0 && state->total_pending > 0; total += sent)
		sent = flood_from_market(state);
	return total;
}

static int64_t flood_fall(struct structured *state)
{
	int64_t total = 0;

	for (int64_t sent = 1; sent > 0 && state->total_free > state->total_pending && state->market_price > 0;
	     total += sent)
		sent = flood_from_waiting(state);
	return total;
}

/* To the next way out, which is taken: nearer by a unit at least. */
static void market_step(struct structured *state)
{
	if (state->total_pending > 0) {
		search_market_forward(state, 0, INT32_MAX);
		search_augment(state, (int32_t)state->total_pending);
		flood_raise(state);
	} else {
		market_lower(state, 0, state->market_price);
		flood_fall(state);
	}
}

/* False when neither the price nor a unit has moved. */
static bool market_leap(struct structured *state, int64_t boost, int32_t limit)
{
	bool raise = state->total_pending > 0,
	     moved = raise ? leap_raise(state, boost, limit) : leap_fall(state, boost, limit);

	bind_free(state);
	if (raise && state->total_pending > 0)
		return flood_from_market(state) > 0 || moved;
	if (!raise && state->total_free > 0 && state->market_price > 0)
		return flood_from_waiting(state) > 0 || moved;
	return true;
}

/*
 * Leaps may overshoot, but never beyond a price that has been seen to be too high or too low. They may also fall short:
 * a large group that waits counts in full, though few of its units may find a way. Then the next one is for more units.
 * The last word is the single steps', which always get nearer.
 */
void market_settle(struct structured *state)
{
	enum { LEAPS = 24, BOOST_MOST = 1 << 12 };
	int64_t boost = 1;
	int32_t low = -1, high = INT32_MAX;

	for (int32_t leaps = 0; !state_halted(state); leaps++) {
		bind_free(state);
		int64_t before = state->total_pending - state->total_free;
		int32_t price = state->market_price;

		if (state->total_pending == 0 && (state->total_free == 0 || price == 0))
			return;
		if (before > 0)
			low = price;
		else
			high = price;
		int32_t limit = before > 0 ? high - price : low < 0 ? price : price - low;

		if (boost > 1 && low >= 0 && high < INT32_MAX)
			limit = (limit + 1) / 2;
		bool step = leaps >= LEAPS || !market_leap(state, boost, limit);

		if (state_halted(state))
			return;
		if (step)
			market_step(state);
		int64_t after = state->total_pending - state->total_free;

		state->stalled = step && llabs(after) >= llabs(before) && state->market_price == price;

		if ((before > 0) != (after > 0))
			boost = 1;
		else if (llabs(after) > llabs(before) / 2 && boost < BOOST_MOST)
			boost *= 2;
	}
}

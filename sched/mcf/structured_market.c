/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The aggregator as a market. Searches sell to it and buy from it at one price, as if it had slots without end; here
 * what was sold is bound to slots. Too few: its price rises until somebody lets go (searches from the aggregator). Too
 * many at a price above 0: it falls until somebody comes, or to 0, where slots may stay free.
 */
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
			int32_t arc = flow_derived(state, group, column, g->aggregator_cost);

			if (arc < 0)
				return;
			group_add_pending(state, group, -taken);
			flow_add(state, group, arc, taken);
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

static void market_raise(struct structured *state)
{
	search_market_forward(state, 0);
	search_augment(state, (int32_t)state->total_pending);
	for (int64_t sent = 1; sent > 0 && state->total_pending > 0;)
		sent = flood_from_market(state);
}

static void market_fall(struct structured *state)
{
	market_lower(state, 0);
	for (int64_t sent = 1; sent > 0 && state->total_free > state->total_pending && state->market_price > 0;)
		sent = flood_from_waiting(state);
}

/* Leaps first; they may overshoot both ways, so the last word is the single steps', which always get nearer. */
void market_settle(struct structured *state)
{
	enum { LEAPS = 8 };
	int32_t leaps = 0;

	while (!state->no_memory) {
		bind_free(state);
		if (state->total_pending > 0) {
			if (leaps++ >= LEAPS || !leap_raise(state))
				market_raise(state);
		} else if (state->total_free > 0 && state->market_price > 0) {
			if (leaps++ >= LEAPS || !leap_fall(state))
				market_fall(state);
		} else
			return;
	}
}

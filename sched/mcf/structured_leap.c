/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Far moves of the market's price. Step by step, from one unit's way out to the next, every step is a search over most
 * of the network. A leap is one such search, on to where as many units have a way out as the market has too many (or
 * slots have a taker as it has too few); prices move by what is left of that distance. Whoever was passed on the way
 * now has a better way out than the one it is on: it is pulled off and pushed again, which is local.
 */
#include <string.h>

#include "structured_priv.h"

void leap_begin(struct structured *state, int64_t wanted)
{
	struct search *search = &state->search;

	search->leap.wanted = wanted;
	search->leap.found = 0;
	memset(search->leap.exits, 0, sizeof(search->leap.exits));
	if (search->best >= LEAP_WINDOW)
		search->best = LEAP_WINDOW - 1;
}

void leap_note(struct search *search, int32_t distance, int64_t units)
{
	struct leap *leap = &search->leap;

	if (units == 0 || distance > search->best)
		return;
	leap->exits[distance] += units;
	leap->found += units;
	while (search->best > 0 && leap->found - leap->exits[search->best] >= leap->wanted) {
		leap->found -= leap->exits[search->best];
		search->best--;
	}
}

/*
 * Units of the group that come to where waiting is cheaper: all at its price. Some sit on columns dearer than the
 * market and would be replaced, but they would be pulled all the same: counting them keeps the leap from passing many.
 */
void leap_note_group(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t exit = distance + g->unscheduled_cost - g->price, room = g->unscheduled_capacity - g->unscheduled_flow;
	int64_t units = g->pending;

	if (room <= 0 || exit > search->best)
		return;
	for (int32_t i = 0; i < g->share_count; i++) {
		const struct structured_share *share = &g->shares[i];

		if (share->cost + state->prices[share->column] == g->price)
			units += share->units;
	}
	leap_note(search, exit, units < room ? units : room);
}

/* Fewer ways out than wanted: as far as the last one, so that nobody is passed without need. */
void leap_last_exit(struct search *search)
{
	while (search->best > 0 && search->leap.exits[search->best] == 0)
		search->best--;
}

static void leap_settle(struct structured *state)
{
	if (!state->referenced)
		references_build(state);
	push_all(state);
	holes_fill(state);
}

/* More units sold than slots. False when the price hasn't moved: what is left are ties. */
bool leap_raise(struct structured *state, int64_t boost, int32_t limit)
{
	search_market_forward(state, state->total_pending * boost, limit);
	if (state->search.best == 0)
		return false;
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		if (g->supply > 0 &&
		    ((g->unscheduled_flow < g->unscheduled_capacity && g->price > g->unscheduled_cost) ||
		     g->price > UNROUTED_COST))
			group_reprice(state, i);
	}
	leap_settle(state);
	return true;
}

/* More slots than units at a market price above 0. */
bool leap_fall(struct structured *state, int64_t boost, int32_t limit)
{
	market_lower(state, state->total_free * boost, limit);
	if (state->search.best == 0)
		return false;
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		if (g->supply > 0 && ((g->unscheduled_flow > 0 && g->price < g->unscheduled_cost) ||
				      (g->unrouted > 0 && g->price < UNROUTED_COST)))
			group_reprice(state, i);
	}
	leap_settle(state);
	return true;
}

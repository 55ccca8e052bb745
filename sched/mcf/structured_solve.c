/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round: excess is pushed, holes are filled, the market is settled. That repairs the last answer; where the repair
 * has taken longer than starts from nothing do, there is one.
 */
#include "structured_priv.h"

enum {
	REPAIR_SCRATCHES = 8, /* a repair may look at as many arcs as so many starts from nothing */
	PAUSE_MOST = 16,      /* solves without an attempt to repair, after attempts that were given up */
	PEAK_PART = 16,       /* of its lead over the market's price, which the remembered one loses */
	HEADROOM_PART = 32,   /* of what lies between the remembered price and the dearest way to wait */
	LEAP_PART = 16,       /* of what lies between that price and a price that was too low */
	AGAIN_SCANS = 2,      /* times what the last solve from nothing has looked at: begin elsewhere */
};

static void push_excess(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	while (g->excess > 0 && !state_halted(state)) {
		int32_t excess = g->excess;

		search_group_forward(state, group);
		g->excess -= search_augment(state, g->excess);
		if (g->excess > 0 && state->flood.deep)
			g->excess -= dive_from_group(state, group, g->excess);
		else if (g->excess > 0)
			g->excess -= flood_from_group(state, group, g->excess);
		state->stalled = g->excess >= excess;
	}
}

static void push_all(struct structured *state)
{
	for (int32_t i = 0; i < state->excess_list.count; i++) {
		state->groups[state->excess_list.ids[i]].in_excess_list = false;
		push_excess(state, state->excess_list.ids[i]);
	}
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

/* The dearest way to wait, or 0 with slots for all units, which the market then has at that price. */
static int32_t dearest_wait(const struct structured *state)
{
	int64_t units = 0, slots = state->total_capacity;
	int32_t dearest = 0;

	for (int32_t i = 0; i < state->group_count; i++) {
		if (!group_has_supply(state, i))
			continue;
		const struct group *g = &state->groups[i];

		units += g->supply;
		if (g->unscheduled_capacity > 0 && g->unscheduled_cost > dearest)
			dearest = g->unscheduled_cost;
	}
	return units > slots && slots > 0 ? dearest : 0;
}

/*
 * Where the market's price is looked for first. With more units than slots it ends up not far below what waiting costs:
 * a quarter below the dearest was near enough wherever it was measured. Once it is known, a little above where it was:
 * a short fall sees far less of the network than a rise does; a long one brings back unit after unit.
 */
static int32_t first_price(const struct structured *state, int32_t dearest)
{
	if (state->peak_price > 0 && state->peak_price < dearest)
		return state->peak_price + (dearest - state->peak_price) / HEADROOM_PART;
	return dearest - dearest / 4;
}

/* Where to begin after an attempt that was given up: as far as its price fell, or above where slots were lacking. */
static int32_t next_price(const struct structured *state, int32_t dearest)
{
	int32_t price = state->market_price;

	if (state->total_free > state->total_pending || price >= dearest)
		return least(price, dearest);
	return price + (dearest - price) / LEAP_PART;
}

/* Prices of the market at which nobody comes or goes span a range: its upper end is remembered for a while. */
static void note_price(struct structured *state)
{
	int32_t below = state->peak_price - state->market_price;

	if (below <= 0)
		state->peak_price = state->market_price;
	else if (state->market_price > 0)
		state->peak_price -= (below + PEAK_PART - 1) / PEAK_PART;
}

/* Of most groups no unit waits, and none has begun to. */
static void count_waiting(struct structured *state)
{
	struct waiting *all = &state->waiting;

	for (int32_t i = 0; i < state->uncounted_list.count; i++) {
		int32_t group = state->uncounted_list.ids[i];
		struct group *g = &state->groups[group];
		struct waiting *counted = &state->counted[group];
		struct waiting waiting = {g->unscheduled_flow, g->unrouted,
					  (int64_t)g->unscheduled_flow * g->unscheduled_cost};

		all->unscheduled += waiting.unscheduled - counted->unscheduled;
		all->unrouted += waiting.unrouted - counted->unrouted;
		all->cost += waiting.cost - counted->cost;
		*counted = waiting;
		g->in_uncounted_list = false;
	}
	state->uncounted_list.count = 0;
}

static enum mcf_status fill_result(struct structured *state, struct structured_result *result)
{
	count_waiting(state);
	*result = (struct structured_result){.cost = state->column_cost + state->waiting.cost,
					     .unscheduled = state->waiting.unscheduled,
					     .unrouted = state->waiting.unrouted,
					     .searches = state->searches,
					     .scans = state->scans,
					     .augmentations = state->augmentations,
					     .started_over = state->started_over,
					     .handed_over = state->scan_limit == UINT64_MAX};
	result->status = state->no_memory       ? MCF_NO_MEMORY
			 : state->stalled       ? MCF_STALLED
			 : result->unrouted > 0 ? MCF_INFEASIBLE
						: MCF_OPTIMAL;
	return result->status;
}

/* True when it is done. Attempts that are given up one after the other come ever more rarely. */
static bool attempt_repair(struct structured *state)
{
	uint64_t most = REPAIR_SCRATCHES * state->scratch_scans;

	if (state->skip > 0) {
		state->skip--;
		return false;
	}
	state->scan_limit = state->patience * (uint64_t)state->arc_total;
	if (most < state->repair_scans)
		most = state->repair_scans;
	if (most < state->scan_limit)
		state->scan_limit = most;
	repair(state);
	if (state_failed(state) || !state_halted(state)) {
		state->pause = 0;
		return true;
	}
	state->skip = state->pause;
	state->pause = least(2 * state->pause + 1, PAUSE_MOST);
	return false;
}

/* True when it is done, or has failed. */
static bool attempt_from(struct structured *state, int32_t market_price, uint64_t scans)
{
	uint64_t before = state->scans;

	state->scan_limit = before + scans;
	start_fresh(state, market_price);
	state->flood.deep = market_price == 0; /* slots for all: most that is passed has a way out */
	if (!state_failed(state))
		repair(state);
	state->flood.deep = false;
	if (!state_failed(state) && state_halted(state))
		return false;
	uint64_t twice = 2 * state->scratch_scans;

	state->scratch_scans = state->scans - before;
	if (twice > 0 && twice < state->scratch_scans)
		state->scratch_scans = twice;
	return true;
}

static void solve_from_nothing(struct structured *state)
{
	uint64_t most = state->patience * (uint64_t)state->arc_total;
	uint64_t few = AGAIN_SCANS * state->scratch_scans;
	int32_t dearest = dearest_wait(state), price = first_price(state, dearest);

	for (; few > 0 && few < most; few *= 2) {
		if (attempt_from(state, price, few))
			return;
		price = next_price(state, dearest);
	}
	if (attempt_from(state, price, most))
		return;
	state->scan_limit = UINT64_MAX;
	import_simplex(state);
	if (!state_failed(state))
		repair(state);
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	bool repairs = state->solved;

	state->searches = state->scans = state->augmentations = 0;
	state->scan_limit = 0;
	state->started_over = false;
	if (!state_failed(state) && !(repairs && attempt_repair(state))) {
		state->started_over = repairs;
		solve_from_nothing(state);
	}
	if (state->search.queue.no_memory)
		state->no_memory = true;
	note_price(state);
	return fill_result(state, result);
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round: excess is pushed, holes are filled, the market is settled. That repairs the last answer; where the repair
 * has taken longer than starts from nothing do, or is expected to, there is one.
 */
#include "structured_priv.h"

enum {
	START_BETTER = 4,     /* times the arcs that a start looks at, which it does faster, and a repair leaves it */
	REPAIR_SCRATCHES = 8, /* a repair may look at as many arcs as so many starts from nothing */
	REFERENCE_SCANS = 8,  /* what listing an arc by its target is worth */
	REPAIR_PART = 256,    /* of all arcs it looks at for each unit that is to be placed, where slots are short */
	PAUSE_MOST = 16,      /* solves without an attempt to repair, after attempts that were given up */
	PEAK_PART = 16,       /* of its lead over the market's price, which the remembered one loses */
	HEADROOM_PART = 32,   /* of what lies between the remembered price and the dearest way to wait */
	LEAP_PART = 8,        /* of what lies between that price and a price that was too low */
	FEW_LEFT_PART = 512,  /* of all slots: fewer than these left is a start at nearly too low a price */
	MANY_LEFT_PART = 32,  /* of all slots: more than these left is a start at too high a price */
	START_PART = 4,       /* of what lies between that price and the answer's: by so much it is lowered */
};

static void push_excess(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	while (g->excess > 0 && !state_halted(state)) {
		int32_t excess = g->excess;

		search_group_forward(state, group);
		if (state_halted(state))
			return;
		g->excess -= search_augment(state, g->excess);
		if (g->excess > 0 && state->flood.deep)
			g->excess -= dive_from_group(state, group, g->excess);
		else if (g->excess > 0)
			g->excess -= flood_from_group(state, group, g->excess);
		state->stalled = g->excess >= excess && !state_halted(state);
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

/* When all excess is somewhere. */
static void settle(struct structured *state)
{
	if (state->hole_list.count > 0 && !state->referenced)
		references_build(state);
	holes_fill(state);
	market_settle(state);
}

static void repair(struct structured *state)
{
	push_all(state);
	settle(state);
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
 * a quarter below the dearest was near enough wherever it was measured. Once it is known, a little above where it was,
 * and no lower than where a start has gone well: where slots run short each search sees most of the network, while a
 * slot too many costs little.
 */
static int32_t first_price(const struct structured *state, int32_t dearest)
{
	int32_t price = dearest - dearest / 4;

	if (state->peak_price > 0 && state->peak_price < dearest)
		price = state->peak_price + (dearest - state->peak_price) / HEADROOM_PART;
	return state->start_price > price && state->start_price < dearest ? state->start_price : price;
}

/* A start at that price has gone well, and left so many slots for units that first had to wait. */
static void note_start(struct structured *state, int32_t price, int32_t dearest, int64_t left)
{
	state->start_price = price;
	if (left < state->total_capacity / FEW_LEFT_PART)
		state->start_price += (dearest - price) / HEADROOM_PART;
	else if (left > state->total_capacity / MANY_LEFT_PART)
		state->start_price -= (price - state->market_price + START_PART - 1) / START_PART;
}

/* Where to begin after an attempt that was given up: as far as its price fell, or above where slots were lacking. */
static int32_t next_price(const struct structured *state, int32_t dearest)
{
	int32_t price = state->market_price;

	if (state->total_free > state->total_pending || price >= dearest)
		return least(price, dearest);
	return price + (dearest - price + LEAP_PART - 1) / LEAP_PART;
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

/* With more units than slots, and a start from nothing that is likely to be done sooner. */
static bool start_is_better(const struct structured *state)
{
	uint64_t units = 0;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		units += (uint64_t)state->groups[state->excess_list.ids[i]].excess;
	uint64_t arcs = (uint64_t)state->arc_total, scans = units * (arcs / REPAIR_PART);

	if (!state->referenced)
		scans += REFERENCE_SCANS * arcs;
	return state->market_price > 0 && scans > state->repair_scans && scans > START_BETTER * state->scratch_scans;
}

/* True when it is done. Attempts that are given up one after the other come ever more rarely. */
static bool attempt_repair(struct structured *state)
{
	uint64_t most = REPAIR_SCRATCHES * state->scratch_scans;

	if (start_is_better(state))
		return false;
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

enum attempt {
	ATTEMPT_ENDED, /* done, or failed */
	ATTEMPT_SHORT, /* slots are lacking at that price */
	ATTEMPT_LONG,  /* given up */
};

static enum attempt attempt_from(struct structured *state, int32_t market_price, int32_t dearest, uint64_t scans)
{
	uint64_t before = state->scans;

	state->scan_limit = before + scans;
	start_fresh(state, market_price);
	state->flood.deep = market_price == 0; /* slots for all: most that is passed has a way out */
	if (!state_failed(state))
		push_all(state);
	state->flood.deep = false;
	int64_t left = state->total_free - state->total_pending;

	if (left < 0 && market_price < dearest && !state->referenced && !state_halted(state))
		return ATTEMPT_SHORT; /* to begin at a higher price takes less than all references */
	if (!state_halted(state))
		settle(state);
	if (!state_failed(state) && state_halted(state))
		return ATTEMPT_LONG;
	note_start(state, market_price, dearest, left);
	uint64_t twice = 2 * state->scratch_scans;

	state->scratch_scans = state->scans - before;
	if (twice > 0 && twice < state->scratch_scans)
		state->scratch_scans = twice;
	return ATTEMPT_ENDED;
}

/* Attempts at one price after the other; the first that is done in about what the last one took will do. */
static void solve_from_nothing(struct structured *state)
{
	uint64_t most = state->patience * (uint64_t)state->arc_total;
	uint64_t scans = state->scratch_scans > 0 ? state->scratch_scans + state->scratch_scans / 2 : most;
	int32_t dearest = dearest_wait(state), price = first_price(state, dearest);

	for (;;) {
		enum attempt attempt = attempt_from(state, price, dearest, scans < most ? scans : most);

		if (attempt == ATTEMPT_ENDED)
			return;
		if (attempt == ATTEMPT_LONG && scans >= most)
			break;
		if (attempt == ATTEMPT_LONG)
			scans += scans / 2 + 1;
		price = next_price(state, dearest);
	}
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

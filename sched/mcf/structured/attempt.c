/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts from nothing. With more units than slots they need a guess of the aggregator's price. Below the price at which
 * as many units want slots as there are, slots run out while units are pushed, and each search sees most of the
 * network; above it some units wait that come in afterwards, by blocking flows, at little cost each. So attempts start
 * at a price that is rather too high and are given up once slots run out or they scan much more than the last start
 * did; good prices are remembered. If attempts take too long, the simplex is faster. With slots for all units the price
 * is 0.
 *
 * Without the remembered start_price, rounds with wide rows scan 6.6 times as many arcs. An upper bound of the price,
 * where no more units want their cheapest slots than there are, was no better: 1.04 times fewer scans there at 5 % too
 * few slots, 2.6 times more at 25 %.
 */
#include "structured_priv.h"

enum {
	HEADROOM_PART = 32,      /* of the distance from the remembered price to the most expensive way to wait */
	FIRST_HEADROOM_PART = 8, /* the same after the first start, which predicts the next ones badly */
	FEW_LEFT_PART = 128,     /* of all slots: fewer left means that the price was nearly too low */
	MANY_LEFT_PART = 32,     /* of all slots: more left means that the price was too high */
	START_PART = 2,   /* of the distance from that price to the answer's: a price that was too high falls by this */
	UNIT_SCANS = 32,  /* scans per slot that the very first attempt is allowed, with too few slots */
	ATTEMPT_PART = 4, /* of all arcs: every attempt may scan as many */
	SIMPLEX_PASSES = 32, /* over all arcs: the cost of the simplex; an attempt given up beyond it is the last */
	FIRST_PASSES = 8,    /* the same in the first start, which may be far from the price */
};

/* A quarter below the most expensive way to wait: near enough wherever slots are a little short. */
static int32_t usual_price(int32_t dearest)
{
	return dearest - dearest / 4;
}

/* Cost of the most expensive way to wait, or 0 with slots for all units: then the price is 0. */
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
 * The price of the first attempt. Once the aggregator's price is known, a little above it, and no lower than where a
 * start went well: where slots run short each search sees most of the network, while a slot too many costs little.
 */
static int32_t first_price(const struct structured *state, int32_t dearest)
{
	int32_t price = usual_price(dearest);

	return state->effort.start_price > price && state->effort.start_price < dearest ? state->effort.start_price
											: price;
}

/* Remembers a price at which a start went well; `left` slots were left for units that had to wait at first. */
static void note_start(struct structured *state, int32_t price, int32_t dearest, int64_t left)
{
	state->effort.start_price = price;
	if (left > state->total_capacity / MANY_LEFT_PART)
		state->effort.start_price -= (price - state->aggregator_price + START_PART - 1) / START_PART;
	else if (state->effort.start_scans == 0)
		state->effort.start_price += (dearest - price) / FIRST_HEADROOM_PART;
	else if (left < state->total_capacity / FEW_LEFT_PART)
		state->effort.start_price += (dearest - price) / HEADROOM_PART;
}

/* The price after an abandoned attempt: the lowest price that it reached, or higher where slots ran short. */
static int32_t next_price(const struct structured *state, int32_t dearest)
{
	int32_t price = state->aggregator_price;

	if (state->total_free > state->total_deferred || price >= dearest)
		return least(price, dearest);
	return price + (dearest - price + 1) / 2;
}

enum attempt {
	ATTEMPT_ENDED, /* done, or failed */
	ATTEMPT_SHORT, /* slots run short at that price */
	ATTEMPT_LONG,  /* given up */
};

static enum attempt attempt_from(struct structured *state, int32_t aggregator_price, int32_t dearest, uint64_t scans)
{
	uint64_t before = state->effort.scans;

	state->effort.scan_limit = before + scans;
	start_fresh(state, aggregator_price);
	state->effort.start_is_loose =
		aggregator_price == 0; /* slots for all: most nodes on the way have a path to the sink */
	if (!state_failed(state))
		push_all(state);
	state->effort.start_is_loose = false;
	int64_t left = state->total_free - state->total_deferred;

	if (left < 0 && aggregator_price < dearest && !state->referenced && !state_halted(state))
		return ATTEMPT_SHORT; /* a start at a higher price takes less than listing all references */
	if (!state_halted(state))
		aggregator_settle(state);
	if (!state_failed(state) && state_halted(state))
		return ATTEMPT_LONG;
	note_start(state, aggregator_price, dearest, left);
	uint64_t twice = 2 * state->effort.start_scans;

	state->effort.start_scans = state->effort.scans - before;
	if (twice > 0 && twice < state->effort.start_scans)
		state->effort.start_scans = twice;
	return ATTEMPT_ENDED;
}

/*
 * Scans that the first attempt is allowed: somewhat more than the last start took, but no more than the simplex would
 * cost. With slots for all units there is one price only, and nothing else to try.
 */
static uint64_t first_scans(const struct structured *state, int32_t dearest, uint64_t passes)
{
	uint64_t least_scans = (uint64_t)state->arc_total / ATTEMPT_PART;
	uint64_t scans = UNIT_SCANS * (uint64_t)state->total_capacity, bound = scans > passes ? scans : passes;

	if (dearest == 0)
		return UINT64_MAX;
	if (state->effort.start_scans > 0)
		scans = state->effort.start_scans + state->effort.start_scans / 2;
	if (scans > bound)
		scans = bound;
	return scans < least_scans ? least_scans : scans;
}

/* Attempts at one price after the other; the first that takes about as long as the last start is accepted. */
void start_solve(struct structured *state)
{
	uint64_t arcs = (uint64_t)state->arc_total, most = state->effort.pass_limit * arcs;
	uint64_t passes = (state->effort.start_scans > 0 ? SIMPLEX_PASSES : FIRST_PASSES) * arcs;
	int32_t dearest = dearest_wait(state), price = first_price(state, dearest);
	uint64_t scans = first_scans(state, dearest, passes);

	for (;;) {
		enum attempt attempt = attempt_from(state, price, dearest, scans < most ? scans : most);

		if (attempt == ATTEMPT_ENDED)
			return;
		if (attempt == ATTEMPT_LONG && (scans >= most || state->effort.scans >= passes))
			break;
		if (attempt == ATTEMPT_LONG)
			scans += scans / 2 + 1;
		price = next_price(state, dearest);
	}
	if (state->gives_up) {
		state->given_up = true;
		return;
	}
	state->effort.scan_limit = UINT64_MAX;
	state->effort.start_scans = SIMPLEX_PASSES * arcs;
	import_simplex(state);
	if (!state_failed(state))
		repair(state);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A solve from scratch. If there are more units than slots, the solve needs a guess of the aggregator's price. If the
 * guess is below the price at which demand equals the slots, slots run out while units are pushed, and each search
 * visits most of the network. If the guess is above that price, some units wait; blocking flows place them afterwards,
 * with little work for each. So attempts start at a price that is slightly too high, and are abandoned once slots run
 * out or once they scan much more than the last solve from scratch did. The price for the next solve is remembered
 * (start_price). If attempts take too long, the simplex is faster. If there are slots for all units, the price is 0.
 *
 * Without the remembered start_price, rounds with wide rows (groups with arcs all over the cluster, see
 * bench_structured) scan 6.6 times as many arcs. Starting from an upper bound of the price, at which there are slots
 * for all units that want one, is no better: in such rounds it takes 1.04 times fewer scans with 5 % too few slots, but
 * 2.6 times more with 25 % too few.
 */
#include "structured_priv.h"

enum {
	/* if few slots are left: the next price is higher by 1/32 of its distance to the highest cost of waiting */
	HEADROOM_PART = 32,
	/*
	 * after the first solve from scratch, unless many slots are left: higher by 1/8 of that distance, as this solve
	 * is a bad guide for the next
	 */
	FIRST_HEADROOM_PART = 8,
	FEW_LEFT_PART = 128, /* "few": less than 1/128 of all slots, so the price was nearly too low */
	MANY_LEFT_PART = 32, /* "many": more than 1/32 of all slots, so the price was too high */
	/* if many slots are left: the next price is lower by half of its distance to the answer's price */
	START_PART = 2,
	/*
	 * scans per slot that the first attempt may take if there was no solve from scratch yet; also part of its upper
	 * limit (first_scans())
	 */
	UNIT_SCANS = 32,
	ATTEMPT_PART = 4, /* every attempt may scan at least 1/4 of all arcs */
	/* time of the simplex in passes over all arcs: after this number of passes, there is no further attempt */
	SIMPLEX_PASSES = 32,
	FIRST_PASSES = 8, /* as SIMPLEX_PASSES, for the first solve from scratch, whose price may be far off */
};

/*
 * Returns a price a quarter below the most expensive cost of waiting, which is near the answer's price if there are
 * slightly too few slots.
 */
static int32_t usual_price(int32_t dearest)
{
	return dearest - dearest / 4;
}

/*
 * Returns the most expensive cost of waiting, or 0 if there are slots for all units, as the aggregator's price is then
 * 0.
 */
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
 * Returns the price of the first attempt: start_price if that is above usual_price() and below the highest cost of
 * waiting, otherwise usual_price(). A price too high is better than one too low: if slots run out, each search visits
 * most of the network, while a slot left free costs little.
 */
static int32_t first_price(const struct structured *state, int32_t dearest)
{
	int32_t price = usual_price(dearest);

	return state->effort.start_price > price && state->effort.start_price < dearest ? state->effort.start_price
											: price;
}

/*
 * Computes start_price for the next solve from `price`, with which an attempt succeeded. `left` slots were free after
 * the searches.
 */
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

/*
 * Returns the price after an abandoned attempt: the price that this attempt reached, or a higher one if slots ran
 * short.
 */
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
	ATTEMPT_LONG,  /* too many scans */
};

static enum attempt attempt_from(struct structured *state, int32_t aggregator_price, int32_t dearest, uint64_t scans)
{
	uint64_t before = state->effort.scans;

	state->effort.scan_limit = before + scans;
	start_fresh(state, aggregator_price);
	state->effort.start_is_loose =
		aggregator_price == 0; /* there are slots for all units, so most nodes have a path to the sink */
	if (!state_failed(state))
		push_all(state);
	state->effort.start_is_loose = false;
	int64_t left = state->total_free - state->total_deferred;

	if (left < 0 && aggregator_price < dearest && !state->referenced && !state_halted(state))
		return ATTEMPT_SHORT; /* a solve from scratch at a higher price takes less time than listing all
					 references */
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
 * Returns the number of scans that the first attempt is allowed: 1.5 times as many as the last solve from scratch took,
 * or UNIT_SCANS per slot if there was none. The upper limit is the simplex's time or UNIT_SCANS per slot, whichever is
 * more. If there are slots for all units, the number is unlimited, because there is only one price to try.
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

/*
 * Makes attempts with one price after another until an attempt ends within its limit of scans. If the attempts together
 * take longer than the simplex, hands over to the simplex, or gives up if the caller has asked for that.
 */
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

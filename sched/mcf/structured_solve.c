/* SPDX-License-Identifier: BSD-3-Clause */
/* One round: excess is pushed, holes are filled, the market is settled. */
#include <string.h>

#include "structured_priv.h"

static void push_excess(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	g->in_excess_list = false;
	while (g->excess > 0 && !state->no_memory) {
		search_group_forward(state, group);
		g->excess -= search_augment(state, g->excess);
		for (int32_t sent = 1; sent > 0 && g->excess > 0; g->excess -= sent)
			sent = flood_from_group(state, group, g->excess);
	}
}

static void push_all(struct structured *state)
{
	for (int32_t i = 0; i < state->excess_list.count; i++)
		push_excess(state, state->excess_list.ids[i]);
	state->excess_list.count = 0;
}

static void repair(struct structured *state)
{
	push_all(state);
	if ((state->hole_list.count > 0 || state->market_price > 0) && !state->referenced)
		references_build(state);
	for (int32_t i = 0; i < state->hole_list.count; i++) {
		int32_t column = state->hole_list.ids[i];

		state->columns[column].in_hole_list = false;
		hole_fill(state, column);
	}
	state->hole_list.count = 0;
	market_settle(state);
	state_drop_dead(state);
}

/* Units to place, slots for them, and a market price at which nobody wants one. */
static void weigh(const struct structured *state, int64_t *units, int64_t *slots, int32_t *dearest)
{
	*units = *slots = *dearest = 0;
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		*units += g->supply;
		if (g->supply > 0 && g->unscheduled_capacity > 0 && g->unscheduled_cost > *dearest)
			*dearest = g->unscheduled_cost;
	}
	for (int32_t i = 0; i < state->column_count; i++)
		*slots += state->columns[i].capacity;
}

/*
 * More units than slots: the market's price decides who waits. From 0 it would climb in hundreds of small steps, each a
 * search over everything; so it is guessed, the market taken at its word, and the guess mended by what is then out of
 * balance (regula falsi, Illinois). The last few units are left to market_settle().
 */
static void start_oversubscribed(struct structured *state, int64_t units, int64_t slots, int32_t dearest)
{
	enum { TRIALS = 12 };
	double low = 0, high = dearest, low_balance = (double)(units - slots), high_balance = -(double)slots;
	int64_t close = units / 400;

	for (int32_t trial = 0; trial < TRIALS && !state->no_memory; trial++) {
		double share = low_balance / (low_balance - high_balance);
		double guess = low + (high - low) * (share < 0.1 ? 0.1 : share > 0.9 ? 0.9 : share);

		start_fresh(state, (int32_t)guess);
		push_all(state);
		int64_t balance = state->total_pending - state->total_free;

		if ((balance <= close && balance >= -close) || high - low <= 2)
			return;
		if (balance > 0) {
			low = guess;
			low_balance = (double)balance;
			high_balance /= 2;
		} else {
			high = guess;
			high_balance = (double)balance;
			low_balance /= 2;
		}
	}
}

static void start(struct structured *state)
{
	int64_t units, slots;
	int32_t dearest;

	weigh(state, &units, &slots, &dearest);
	if (units > slots && slots > 0)
		start_oversubscribed(state, units, slots, dearest);
	else
		start_fresh(state, 0);
}

static enum mcf_status fill_result(const struct structured *state, struct structured_result *result)
{
	*result = (struct structured_result){.cost = state->column_cost,
					     .searches = state->searches,
					     .scans = state->scans,
					     .augmentations = state->augmentations};
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		result->unscheduled += g->unscheduled_flow;
		result->unrouted += g->unrouted;
		result->cost += (int64_t)g->unscheduled_flow * g->unscheduled_cost;
	}
	result->status = state->no_memory ? MCF_NO_MEMORY : result->unrouted > 0 ? MCF_INFEASIBLE : MCF_OPTIMAL;
	return result->status;
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	state->searches = state->scans = state->augmentations = 0;
	if (!state->solved && !state->no_memory)
		start(state);
	if (!state->no_memory)
		repair(state);
	if (state->search.queue.no_memory)
		state->no_memory = true;
	return fill_result(state, result);
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}

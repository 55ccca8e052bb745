/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round: excess is pushed, holes are filled, the market is settled. That repairs the last answer; where the repair
 * has taken longer than starts from nothing do, or is expected to, there is one (attempt.c).
 */
#include "structured_priv.h"

enum {
	START_BETTER = 4,       /* times the arcs that a start looks at, which it does faster, and a repair leaves it */
	REPAIR_SCRATCHES = 8,   /* a repair may look at as many arcs as so many starts from nothing */
	REFERENCE_SCANS = 8,    /* what listing an arc by its target is worth */
	REPAIR_PART = 2048,     /* of all arcs it looks at for each unit that is to be placed, where slots are short */
	REPAIR_PAUSE_MOST = 16, /* solves without an attempt to repair, after attempts that were given up */
};

/* Begins no search past that many arcs looked at. */
static void push_until(struct structured *state, int32_t group, uint64_t scans)
{
	struct group *g = &state->groups[group];

	while (g->excess > 0 && state->scans <= scans && !state_halted(state)) {
		int32_t excess = g->excess;

		search_group_forward(state, group);
		if (state_halted(state))
			return;
		g->excess -= path_augment(state, g->excess);
		if (g->excess > 0)
			g->excess -= blocking_from_group(state, group, g->excess);
		state->stalled = g->excess >= excess && !state_halted(state);
	}
}

void push_excess(struct structured *state, int32_t group)
{
	push_until(state, group, UINT64_MAX);
}

static int64_t excess_units(const struct structured *state)
{
	int64_t units = 0;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		units += state->groups[state->excess_list.ids[i]].excess;
	return units;
}

/*
 * Pushes what all groups of the list have. What is left where slots are few are some large jobs that all have to get
 * through the same full racks: to let a dozen units of one out means to look at all of those, as it does for each.
 */
static void push_together(struct structured *state)
{
	int64_t left = excess_units(state);

	while (left > 0 && !state_halted(state)) {
		int64_t before = left;
		int32_t sent;

		search_from_excess(state);
		if (state_halted(state))
			return;
		left -= path_augment(state, INT32_MAX);
		do {
			sent = blocking_from_excess(state);
			left -= sent;
		} while (sent > 0 && left > 0 && !state_halted(state));
		state->stalled = left >= before && !state_halted(state);
	}
}

void push_all(struct structured *state)
{
	uint64_t passes = state->single_passes * (uint64_t)state->arc_total;
	uint64_t scans = state->start_is_loose ? state->scans + passes : UINT64_MAX;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		push_until(state, state->excess_list.ids[i], scans);
	push_together(state);
	for (int32_t i = 0; i < state->excess_list.count; i++)
		state->groups[state->excess_list.ids[i]].in_excess_list = false;
	state->excess_list.count = 0;
}

void repair(struct structured *state)
{
	push_all(state);
	aggregator_settle(state);
}

static void count_waiting(const struct structured *state, struct structured_result *result)
{
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		result->unscheduled += g->unscheduled_flow;
		result->unrouted += g->unrouted;
		result->cost += (int64_t)g->unscheduled_flow * g->unscheduled_cost;
	}
}

static enum mcf_status fill_result(struct structured *state, struct structured_result *result)
{
	*result = (struct structured_result){.cost = state->column_cost,
					     .searches = state->searches,
					     .scans = state->scans,
					     .augmentations = state->augmentations,
					     .started_over = state->started_over,
					     .handed_over = state->scan_limit == UINT64_MAX};
	count_waiting(state, result);
	result->status = state->no_memory       ? MCF_NO_MEMORY
			 : state->stalled       ? MCF_STALLED
			 : state->given_up      ? MCF_UNSUITED
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
	return state->aggregator_price > 0 && scans > state->repair_scans && scans > START_BETTER * state->start_scans;
}

/* True when it is done. Attempts that are given up one after the other come ever more rarely. */
static bool attempt_repair(struct structured *state)
{
	uint64_t most = REPAIR_SCRATCHES * state->start_scans;

	if (start_is_better(state))
		return false;
	if (state->repair_skips > 0) {
		state->repair_skips--;
		return false;
	}
	state->scan_limit = state->pass_limit * (uint64_t)state->arc_total;
	if (most < state->repair_scans)
		most = state->repair_scans;
	if (most < state->scan_limit)
		state->scan_limit = most;
	repair(state);
	if (state_failed(state) || !state_halted(state)) {
		state->repair_pause = 0;
		return true;
	}
	state->repair_skips = state->repair_pause;
	state->repair_pause = least(2 * state->repair_pause + 1, REPAIR_PAUSE_MOST);
	return false;
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	bool repairs = state->solved;

	state->searches = state->scans = state->augmentations = 0;
	state->scan_limit = 0;
	state->started_over = false;
	if (!state_failed(state) && !(repairs && attempt_repair(state))) {
		state->started_over = repairs;
		start_solve(state);
	}
	if (state->search.queue.no_memory)
		state->no_memory = true;
	start_note_price(state);
	return fill_result(state, result);
}

void structured_give_up_after(struct structured *state, uint32_t passes)
{
	state->gives_up = true;
	state->pass_limit = passes;
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A solve repairs the last answer, or solves from scratch if that is expected to take less time (attempt.c). Without
 * this choice, start_is_better(), rounds with wide rows (see attempt.c) and too few slots scan 2.9 times as many arcs.
 * Without pauses between attempts to repair, a state whose repairs all fail would take the time of 9 solves from
 * scratch per solve, instead of 1.5.
 */
#include "structured_priv.h"

enum {
	/* a repair is tried if it is expected to take up to this many times the scans of a solve from scratch */
	START_BETTER = 4,
	REPAIR_SCRATCHES = 8, /* a repair is allowed this many times the scans of the last solve from scratch */
	REFERENCE_SCANS = 8,  /* cost of listing an arc by its target, in scans */
	/* estimate: with too few slots, a repair scans 1/2048 of all arcs for each unit to be placed */
	REPAIR_PART = 2048,
	REPAIR_PAUSE_MOST = 16, /* maximum number of solves without an attempt to repair, after abandoned repairs */
};

/* Sums up the waiting units and their cost. Removes groups without waiting units from the list. */
static void count_waiting(struct structured *state, struct structured_result *result)
{
	struct id_list *list = &state->waiting_list;
	int32_t left = 0;

	for (int32_t i = 0; i < list->count; i++) {
		struct group *g = &state->groups[list->ids[i]];

		result->unscheduled += g->unscheduled_flow;
		result->unrouted += g->unrouted;
		result->cost += (int64_t)g->unscheduled_flow * g->unscheduled_cost;
		g->in_waiting_list = g->unscheduled_flow > 0 || g->unrouted > 0;
		if (g->in_waiting_list)
			list->ids[left++] = list->ids[i];
	}
	list->count = left;
}

static enum mcf_status fill_result(struct structured *state, struct structured_result *result)
{
	*result = (struct structured_result){.cost = state->column_cost,
					     .searches = state->effort.searches,
					     .scans = state->effort.scans + state->effort.price_scans,
					     .augmentations = state->effort.augmentations,
					     .started_over = state->effort.started_over,
					     .handed_over = state->effort.scan_limit == UINT64_MAX};
	state->effort.price_scans = 0;
	count_waiting(state, result);
	result->status = state->no_memory       ? MCF_NO_MEMORY
			 : state->stalled       ? MCF_STALLED
			 : state->given_up      ? MCF_UNSUITED
			 : result->unrouted > 0 ? MCF_INFEASIBLE
						: MCF_OPTIMAL;
	return result->status;
}

/*
 * True if a solve from scratch is expected to be faster than a repair. This is possible only if there are more units
 * than slots.
 */
static bool start_is_better(const struct structured *state)
{
	uint64_t units = 0;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		units += (uint64_t)state->groups[state->excess_list.ids[i]].excess;
	uint64_t arcs = (uint64_t)state->arc_total, scans = units * (arcs / REPAIR_PART);

	if (!state->referenced)
		scans += REFERENCE_SCANS * arcs;
	return state->aggregator_price > 0 && scans > state->effort.repair_scans &&
	       scans > START_BETTER * state->effort.start_scans;
}

/*
 * Returns false if the caller must solve from scratch: because that is expected to be faster, because the repair took
 * too long, or because recent repairs did. After consecutive failures, repairs are attempted less and less often.
 */
static bool attempt_repair(struct structured *state)
{
	uint64_t most = REPAIR_SCRATCHES * state->effort.start_scans;

	if (start_is_better(state))
		return false;
	if (state->effort.repair_skips > 0) {
		state->effort.repair_skips--;
		return false;
	}
	state->effort.scan_limit = state->effort.pass_limit * (uint64_t)state->arc_total;
	if (most < state->effort.repair_scans)
		most = state->effort.repair_scans;
	if (most < state->effort.scan_limit)
		state->effort.scan_limit = most;
	repair(state);
	if (state_failed(state) || !state_halted(state)) {
		state->effort.repair_pause = 0;
		return true;
	}
	state->effort.repair_skips = state->effort.repair_pause;
	state->effort.repair_pause = least(2 * state->effort.repair_pause + 1, REPAIR_PAUSE_MOST);
	return false;
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	bool repairs = state->solved;

	state->effort.searches = state->effort.scans = state->effort.augmentations = 0;
	state->effort.scan_limit = 0;
	state->effort.started_over = false;
	if (!state_failed(state) && !(repairs && attempt_repair(state))) {
		state->effort.started_over = repairs;
		start_solve(state);
	}
	if (state->search.queue.no_memory)
		state->no_memory = true;
	return fill_result(state, result);
}

void structured_give_up_after(struct structured *state, uint32_t passes)
{
	state->gives_up = true;
	state->effort.pass_limit = passes;
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}

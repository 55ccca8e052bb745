/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The aggregator's part of a solve, once no excess is left: fills the deficits, then sets the aggregator's price.
 * Searches send units over the aggregator at one price, as if its slots were unlimited. These deferred units are
 * assigned to slots here.
 *
 * If there are more deferred units than slots, the price rises until some unit can wait instead (structured_priv.h). A
 * backward search from all arcs for waiting finds that unit.
 *
 * If slots are left over and the price is above 0, it falls step by step until a waiting unit takes a slot, or to 0. At
 * price 0, slots may remain free. Searches run forward from all waiting units until they meet the aggregator: the price
 * of a node that they pass falls by less, according to its distance; every other price falls with the aggregator's.
 * These searches are a hundred times smaller than the backward ones, and at each price a blocking flow places all units
 * that wait at that price, so a price that was too high costs little.
 */
#include "structured_search.h"

/* Returns the column of a free slot, or NONE if there is none. All free slots have the aggregator's price. */
static int32_t free_slot_column(struct structured *state)
{
	struct id_list *list = &state->free_list;

	while (list->count > 0) {
		int32_t column = list->ids[list->count - 1];

		if (state->free_slots[column] > 0)
			return column;
		state->column_lists[column] &= (uint8_t)~IN_FREE_LIST;
		list->count--;
	}
	return NONE;
}

static void bind_free(struct structured *state)
{
	while (state->total_deferred > 0 && state->total_free > 0) {
		int32_t column = free_slot_column(state);

		if (column == NONE)
			return;
		int32_t free = state->free_slots[column];
		int32_t units = state->total_deferred < free ? (int32_t)state->total_deferred : free;

		flow_bind(state, column, units);
		column_fill(state, column, units);
	}
}

int32_t structured_lower_price(struct structured *state, int32_t column)
{
	uint64_t before = state->effort.scans;

	if (!state->solved || column < 0 || column >= state->column_count || state->capacities[column] == 0 ||
	    state->free_slots[column] > 0 || state->prices[column] <= state->aggregator_price)
		return structured_column_price(state, column);
	if (!state->referenced)
		references_build(state);
	state->effort.scan_limit = UINT64_MAX;
	search_from_deficit(state, column);
	if (!state_halted(state))
		search_move_prices(state, -1);
	state->effort.price_scans += state->effort.scans - before;
	return state->prices[column];
}

static void deficit_fill(struct structured *state, int32_t column)
{
	const int32_t *slots = &state->free_slots[column];

	while (*slots > 0 && state->capacities[column] > 0 && state->prices[column] > state->aggregator_price &&
	       !state_halted(state)) {
		int32_t before = *slots;

		search_from_deficit(state, column);
		if (state_halted(state))
			return;
		search_move_prices(state, -1);
		if (state->search.target.node != NONE)
			path_augment(state, *slots);
		state->stalled = *slots >= before && state->prices[column] > state->aggregator_price;
	}
	state->slot_epoch += *slots > 0; /* the column's free slots now have the aggregator's price */
}

static void deficits_fill(struct structured *state)
{
	for (int32_t i = 0; i < state->deficit_list.count; i++) {
		int32_t column = state->deficit_list.ids[i];

		state->column_lists[column] &= (uint8_t)~IN_DEFICIT_LIST;
		deficit_fill(state, column);
	}
	state->deficit_list.count = 0;
}

/*
 * Adds `by` to all prices, except those of nodes that the last search found nearer than its targets: these prices
 * change by as much less as the node is nearer.
 */
static void shift_prices(struct structured *state, int32_t by)
{
	state->aggregator_price += by;
	for (int32_t i = 0; i < state->column_count; i++)
		state->prices[i] += state->prices[i] == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].floor += state->blocks[i].floor == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->group_count; i++) {
		if (state->groups[i].supply == 0)
			continue; /* it has no price */
		state->groups[i].price += by;
		group_note_price(state, i);
	}
	search_move_prices(state, by > 0 ? -1 : 1);
}

/*
 * Raises the aggregator's price, and makes deferred units wait. There must be deferred units but no free slots. Returns
 * false if neither the price nor a unit has moved.
 */
static bool price_raise(struct structured *state)
{
	const struct id_list *meetings = &state->meeting_list;
	int64_t before = state->total_deferred;

	blocking_begin(state, BLOCKING_OUTWARD);
	search_to_aggregator(state);
	if (meetings->count == 0)
		return false;
	if (state->search.best > 0)
		shift_prices(state, state->search.best);
	for (int32_t i = 0; i < meetings->count && state->total_deferred > 0; i++)
		blocking_outward(state, meetings->ids[i], (int32_t)state->total_deferred);
	if (state->total_deferred == before) /* the path was too long for the blocking flow */
		path_augment_outward(state, meetings->ids[0], (int32_t)state->total_deferred);
	return state->search.best > 0 || state->total_deferred < before;
}

/*
 * Lowers the aggregator's price, which must be above 0, until waiting units take slots, or to 0. There must be more
 * free slots than deferred units. Returns false if the price is still above 0 and no unit has taken a slot.
 */
static bool price_lower(struct structured *state)
{
	const struct id_list *meetings = &state->meeting_list;
	int64_t before = state->total_free - state->total_deferred, left = before;

	search_from_waiting(state, state->aggregator_price);
	if (state_halted(state))
		return false;
	shift_prices(state, -state->search.best);
	for (int32_t came = 1; came > 0 && left > 0 && !state_halted(state);
	     left = state->total_free - state->total_deferred)
		came = blocking_inward(state, (int32_t)left);
	/* paths that were too long for the blocking flow */
	for (int32_t i = 0; i < meetings->count && left == before && left > 0; i++) {
		path_augment_inward(state, meetings->ids[i], (int32_t)left);
		left = state->total_free - state->total_deferred;
	}
	return left < before || state->aggregator_price == 0;
}

void aggregator_settle(struct structured *state)
{
	if (state->deficit_list.count > 0 && !state->referenced)
		references_build(state);
	deficits_fill(state);
	while (!state_halted(state)) {
		bind_free(state);
		if (state->total_deferred == 0 && (state->total_free == 0 || state->aggregator_price == 0))
			return;
		if (state->total_deferred > 0 && !state->referenced)
			references_build(state);
		bool moved = state->total_deferred > 0 ? price_raise(state) : price_lower(state);

		state->stalled |= !moved && !state_halted(state);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repair pushes all excess to the sink; then aggregator_settle() fills deficits, binds deferred units and sets the
 * aggregator's price.
 */
#include <stdlib.h>
#include <string.h>

#include "structured_priv.h"

/* Pushes the group's excess, search by search. Starts no further search once effort.scans exceeds `scans`. */
static void push_until(struct structured *state, int32_t group, uint64_t scans)
{
	struct group *g = &state->groups[group];

	while (g->excess > 0 && state->effort.scans <= scans && !state_halted(state)) {
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

static int64_t excess_units(const struct structured *state)
{
	int64_t units = 0;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		units += state->groups[state->excess_list.ids[i]].excess;
	return units;
}

/*
 * Pushes the excess of all groups in the list at the same time. When slots are few, some large groups still have excess
 * whose units all have to pass through the same full blocks. If this excess were pushed group by group, each search
 * would scan all of these blocks to place a dozen units. A solve from scratch in a cluster that is 95 % full takes 187
 * ms; without this, 305.
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
	uint64_t passes = state->effort.single_passes * (uint64_t)state->arc_total;
	uint64_t scans = state->effort.start_is_loose ? state->effort.scans + passes : UINT64_MAX;

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

/*
 * The initial flow of a solve from scratch. Every column has the aggregator's price, so each group's best arcs are its
 * cheapest. Units that already run at the end of such an arc stay there, so that no unit moves without need. Then free
 * slots at the end of such arcs are assigned, first to the groups with the largest regret (see order_by_regret()). The
 * remaining units are excess for the searches.
 */

static void forget_group(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->limited_count; i++)
		limited_change(state, group, i, -g->running[i].flow, 0);
	g->share_count = 0;
	g->deferred = g->unrouted = g->unscheduled_flow = 0;
	g->excess = g->supply;
}

static void forget_lists(struct structured *state)
{
	for (int32_t i = 0; i < state->excess_list.count; i++)
		state->groups[state->excess_list.ids[i]].in_excess_list = false;
	for (int32_t i = 0; i < state->deferred_list.count; i++)
		state->groups[state->deferred_list.ids[i]].in_deferred_list = false;
	state->excess_list.count = state->deferred_list.count = state->deficit_list.count = state->free_list.count = 0;
}

/* Frees all slots and sets their price to the aggregator's. */
static void free_columns(struct structured *state, int32_t aggregator_price)
{
	struct id_list *list = &state->free_list;

	if (!list_reserve(list, state->column_count)) {
		state->no_memory = true;
		return;
	}
	for (int32_t i = 0; i < state->column_count; i++) {
		int32_t slots = state->capacities[i];

		state->columns[i].entry_count = 0;
		state->prices[i] = slots > 0 ? aggregator_price : PRICE_CLOSED;
		state->free_slots[i] = slots;
		state->total_free += slots;
		state->column_lists[i] = slots > 0 ? IN_FREE_LIST : 0;
		if (slots > 0)
			list->ids[list->count++] = i;
	}
	state->slot_epoch++;
}

void start_forget(struct structured *state, int32_t aggregator_price)
{
	state->solved = true;
	state->aggregator_price = aggregator_price;
	state->total_free = state->total_deferred = state->column_cost = 0;
	forget_lists(state);
	free_columns(state, aggregator_price);
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].floor = aggregator_price;
	for (int32_t i = 0; i < state->group_count; i++) {
		if (!group_has_supply(state, i))
			continue;
		forget_group(state, i);
		group_changed(state, i);
	}
}

static void take_slots(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units)
{
	struct group *g = &state->groups[group];

	units = least(units, least(state->free_slots[column], g->excess));
	if (units <= 0)
		return;
	flow_add(state, group, column, cost, units);
	column_fill(state, column, units);
	g->excess -= units;
}

/*
 * Sets the group's price to the cost of its cheapest unlimited arc plus the aggregator's price, or to its cost of
 * waiting if that is less. Running units keep their slots if their cost plus the aggregator's price is at most this
 * price.
 */
static void keep_running(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	int32_t price = UNROUTED_COST - state->aggregator_price;

	if (g->unscheduled_capacity > 0)
		price = g->unscheduled_cost - state->aggregator_price;
	if (g->aggregator_cost != ARC_ABSENT && g->aggregator_cost < price)
		price = g->aggregator_cost;
	for (int32_t i = 0; i < g->arc_count && g->arcs[i].cost < price; i++)
		if (g->arcs[i].target < 0 || (state->prices[g->arcs[i].target] != PRICE_CLOSED &&
					      !arc_is_limited(g, g->arcs[i].target, g->arcs[i].cost)))
			price = g->arcs[i].cost;
	g->price = price + state->aggregator_price;
	group_note_price(state, group);
	for (int32_t i = 0; i < g->running_count && g->excess > 0; i++)
		if (g->running[i].cost <= price)
			take_slots(state, group, g->running[i].column, g->running[i].cost, g->running[i].units);
}

/*
 * Assigns the group's excess to free slots of a block, over an arc of this cost. Every column must still have the
 * aggregator's price.
 */
static void take_block(struct structured *state, int32_t group, int32_t block, int32_t cost)
{
	struct group *g = &state->groups[group];

	while (g->excess > 0) {
		int32_t column = block_free_slot(state, block);

		if (column == NONE)
			return;
		take_slots(state, group, column, cost, g->excess);
	}
}

static void take_cheapest(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count && g->arcs[i].cost <= g->price - state->aggregator_price && g->excess > 0;
	     i++) {
		if (g->arcs[i].target >= 0)
			take_slots(state, group, g->arcs[i].target, g->arcs[i].cost, arc_residual(g, i));
		else
			take_block(state, group, ~g->arcs[i].target, g->arcs[i].cost);
	}
}

/* Lowers the group's price if a limited arc with residual capacity is cheaper than all its other arcs. */
static void check_price(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count && g->arcs[i].cost < g->price - state->aggregator_price; i++) {
		if (g->arcs[i].target >= 0 && arc_has_residual(g, i)) {
			group_reprice(state, group);
			return;
		}
	}
}

static int compare_keys(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * Lists the groups with excess, the one with the largest regret first. The regret is the group's cost over the
 * aggregator minus the group's price. Returns NULL if out of memory.
 */
static int64_t *order_by_regret(struct structured *state, int32_t *count)
{
	int64_t *order = malloc(sizeof(*order) * (size_t)(state->group_count + 1));

	*count = 0;
	if (!order)
		return NULL;
	for (int32_t i = 0; i < state->group_count; i++) {
		if (!group_has_supply(state, i))
			continue;
		const struct group *g = &state->groups[i];
		int64_t way_out = g->aggregator_cost == ARC_ABSENT ? UNROUTED_COST : g->aggregator_cost;

		if (g->excess > 0)
			order[(*count)++] = -(way_out - g->price) * (INT64_C(1) << 31) + i;
	}
	qsort(order, (size_t)*count, sizeof(*order), compare_keys);
	return order;
}

void start_fresh(struct structured *state, int32_t aggregator_price)
{
	int32_t count;

	start_forget(state, aggregator_price);
	for (int32_t i = 0; i < state->group_count; i++)
		if (group_has_supply(state, i))
			keep_running(state, i);
	int64_t *order = order_by_regret(state, &count);

	if (!order) {
		state->no_memory = true;
		return;
	}
	for (int32_t i = 0; i < count; i++)
		take_cheapest(state, (int32_t)(order[i] & INT32_MAX));
	for (int32_t i = 0; i < count; i++) {
		int32_t group = (int32_t)(order[i] & INT32_MAX);
		int32_t left = state->groups[group].excess;

		state->groups[group].excess = 0;
		group_add_excess(state, group, left);
	}
	free(order);
	for (int32_t i = 0; i < state->group_count; i++)
		if (group_has_supply(state, i))
			check_price(state, i);
}

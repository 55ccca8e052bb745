/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The initial flow of a solve from scratch. Every column has the aggregator's price, so each group's best arcs are its
 * cheapest. Units that already run at the end of such an arc stay there, so that no unit moves without need. Then free
 * slots at the end of such arcs are assigned, first to the groups with the largest regret (see order_by_regret()). The
 * remaining units are excess for the searches.
 */
#include <stdlib.h>
#include <string.h>

#include "structured_priv.h"

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

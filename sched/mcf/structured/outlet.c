/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backward from all ways to wait at once, to the market when it has sold more than there are slots. Nearly all columns
 * and groups are tied to the market at no reduced cost, so that a search from there would see most of the network; this
 * one sees those that are nearer to a way out than the market is. Everybody else's price rises with the market's.
 */
#include "structured_search.h"

static int32_t waiting_cost(const struct group *g)
{
	return g->unscheduled_flow < g->unscheduled_capacity ? g->unscheduled_cost : UNROUTED_COST;
}

/* Everybody's price, but the market's. */
void prices_shift(struct structured *state, int32_t by)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->prices[i] += state->prices[i] == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].floor += state->blocks[i].floor == PRICE_CLOSED ? 0 : by;
	for (int32_t i = 0; i < state->group_count; i++) {
		if (state->groups[i].supply == 0)
			continue; /* it has no price */
		state->groups[i].price += by;
		group_bid(state, i);
	}
}

/* What is nearer to a way out than the source rises by no more than that. */
static void raise_others(struct structured *state)
{
	if (state->search.best == 0)
		return;
	prices_shift(state, state->search.best);
	search_move_prices(state, -1);
}

void search_market_backward(struct structured *state)
{
	flood_outward_begin(state);
	search_begin(state, TO_MARKET, INT32_MAX);
	for (int32_t i = 0; i < state->group_count; i++)
		if (state->groups[i].supply > 0)
			backward_root(state, i, waiting_cost(&state->groups[i]) - state->groups[i].price);
	search_run_layers(state, &backward);
	if (state->meeting_list.count == 0)
		return;
	state->search.best--;
	raise_others(state);
	state->market_price += state->search.best;
}

/* Least room from the group on, at most `units`; none where the last path has taken it all. */
static int32_t way_room(const struct structured *state, int32_t group, int32_t units)
{
	for (;;) {
		const struct group *g = &state->groups[group];
		int32_t column = g->parent_column;

		if (column == NONE) {
			if (waiting_cost(g) != g->price)
				return 0;
			return g->price == UNROUTED_COST ? units
							 : least(units, g->unscheduled_capacity - g->unscheduled_flow);
		}
		if (g->parent >= 0)
			units = least(units, arc_room_at(g, column, g->parent));
		group = state->columns[column].parent_group;
		units = least(units, flow_units(&state->groups[group], column, state->columns[column].parent_arc));
	}
}

/* The group, which has so many units in hand, lets them go along the path. */
static void way_apply(struct structured *state, int32_t group, int32_t units)
{
	for (;;) {
		struct group *g = &state->groups[group];
		int32_t column = g->parent_column;

		if (column == NONE) {
			group_changed(state, group);
			*(g->price == UNROUTED_COST ? &g->unrouted : &g->unscheduled_flow) += units;
			return;
		}
		flow_add(state, group, column, g->parent < 0 ? ~g->parent : g->parent, units);
		group = state->columns[column].parent_group;
		flow_take(state, group, column, state->columns[column].parent_arc, units);
	}
}

/* Units that were sold get the column's slots, and its own go on along the path; or a group's units do. */
int32_t outlet_augment(struct structured *state, int32_t node, int32_t units)
{
	int32_t group = node >= 0 ? state->columns[node].parent_group : ~node;
	int32_t cost = node >= 0 ? state->columns[node].parent_arc : 0;

	units = least(units, node >= 0 ? flow_units(&state->groups[group], node, cost) : state->groups[group].pending);
	units = way_room(state, group, units);
	if (units <= 0)
		return 0;
	state->augmentations++;
	if (node >= 0) {
		flow_take(state, group, node, cost, units);
		market_bind(state, node, units);
	} else {
		group_add_pending(state, group, -units);
	}
	way_apply(state, group, units);
	return units;
}

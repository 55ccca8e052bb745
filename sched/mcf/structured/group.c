/* SPDX-License-Identifier: BSD-3-Clause */
/* A group's price and supply. */
#include <errno.h>

#include "structured_priv.h"

/*
 * Returns the least cost to the sink over arcs with residual capacity. Arcs are in ascending order of cost, so the loop
 * ends at the first that cannot be cheaper.
 */
static int32_t group_least_price(struct structured *state, const struct group *group)
{
	int32_t best = UNROUTED_COST;

	if (group->unscheduled_flow < group->unscheduled_capacity)
		best = group->unscheduled_cost;
	if (group->aggregator_cost != ARC_ABSENT && group->aggregator_cost + state->aggregator_price < best)
		best = group->aggregator_cost + state->aggregator_price;
	for (int32_t i = 0; i < group->arc_count; i++) {
		const struct arc *arc = &group->arcs[i];
		int32_t price;

		if (arc->cost + state->aggregator_price >= best)
			break;
		if (arc->target >= 0) {
			price = state->prices[arc->target];
			if (arc->cost + price >= best || !arc_has_residual(group, i))
				continue;
		} else {
			price = state->blocks[~arc->target].floor;
			if (arc->cost + price < best)
				price = block_exact_floor(state, ~arc->target);
		}
		if (arc->cost + price < best)
			best = arc->cost + price;
	}
	return best;
}

void group_reprice(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	int32_t pulled = 0;

	if (!state->solved || g->supply == 0)
		return;
	g->price = group_least_price(state, g);
	group_note_price(state, group);
	for (int32_t i = g->share_count - 1; i >= 0; i--) {
		struct structured_share share = g->shares[i];

		if (share.cost + state->prices[share.column] <= g->price)
			continue;
		flow_take(state, group, share.column, share.cost, share.units);
		column_free(state, share.column, share.units);
		pulled += share.units;
	}
	if (g->unscheduled_flow > 0 && g->unscheduled_cost > g->price) {
		pulled += g->unscheduled_flow;
		g->unscheduled_flow = 0;
	}
	if (g->unrouted > 0 && UNROUTED_COST > g->price) {
		pulled += g->unrouted;
		g->unrouted = 0;
	}
	if (g->deferred > 0 && g->aggregator_cost + state->aggregator_price > g->price) {
		pulled += g->deferred;
		group_add_deferred(state, group, -g->deferred);
	}
	if (pulled > 0) {
		group_add_excess(state, group, pulled);
		group_changed(state, group);
	}
}

static int32_t take_some(int32_t *from, int32_t units)
{
	int32_t taken = *from < units ? *from : units;

	*from -= taken;
	return units - taken;
}

/* Returns the group's most expensive share, or any share if `all` is true, as all units will leave. */
static struct structured_share share_to_leave(const struct group *g, bool all)
{
	struct structured_share share = g->shares[g->share_count - 1];

	for (int32_t i = g->share_count - 2; i >= 0 && !all; i--)
		if (g->shares[i].cost > share.cost)
			share = g->shares[i];
	return share;
}

/*
 * Removes `units` units, in this order: excess, unrouted, unscheduled, deferred, then the most expensive shares. `all`
 * is true if no unit will be left.
 */
static void withdraw(struct structured *state, int32_t group, int32_t units, bool all)
{
	struct group *g = &state->groups[group];

	units = take_some(&g->excess, units);
	units = take_some(&g->unrouted, units);
	units = take_some(&g->unscheduled_flow, units);
	if (g->deferred > 0) {
		int32_t taken = g->deferred < units ? g->deferred : units;

		group_add_deferred(state, group, -taken);
		units -= taken;
	}
	while (units > 0 && g->share_count > 0) {
		struct structured_share share = share_to_leave(g, all);
		int32_t taken = least(share.units, units);

		flow_take(state, group, share.column, share.cost, taken);
		column_free(state, share.column, taken);
		units -= taken;
	}
	group_changed(state, group);
}

int structured_set_supply(struct structured *state, int32_t group, int32_t supply)
{
	if (group < 0 || group >= state->group_count || !state->groups[group].exists || supply < 0)
		return -EINVAL;
	struct group *g = &state->groups[group];
	int32_t old = g->supply;

	g->supply = supply;
	group_note_price(state, group);
	if (!state->solved || supply == old)
		return 0;
	if (supply < old) {
		withdraw(state, group, old - supply, supply == 0);
		group_reprice(state, group); /* a cheap limited arc that was full may have residual capacity now */
	} else {
		group_add_excess(state, group, supply - old);
		group_changed(state, group);
		if (old == 0)
			group_reprice(state, group);
	}
	return state->no_memory ? -ENOMEM : 0;
}

/*
 * Returns the cost of one of the group's units on `column`, preferably of a unit on a limited arc; ARC_ABSENT if the
 * group has no unit there.
 */
static int32_t cost_of_unit(const struct structured *state, int32_t group, int32_t column)
{
	const struct column *c = &state->columns[column];
	int32_t found = ARC_ABSENT;

	for (int32_t i = 0; i < c->entry_count; i++) {
		if (c->entries[i].group != group)
			continue;
		found = c->entries[i].cost;
		if (arc_is_limited(&state->groups[group], column, found))
			break;
	}
	return found;
}

/* Reduces the capacity of the running arc with this column and cost by one unit. */
static void forget_unit(struct structured *state, int32_t group, int32_t column, int32_t cost)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->running_count; i++) {
		if (g->running[i].column == column && g->running[i].cost == cost) {
			if (i < g->limited_count)
				limited_change(state, group, i, 0, -(g->running[i].units > 0));
			else
				g->running[i].units -= g->running[i].units > 0;
			return;
		}
	}
}

int structured_end_unit(struct structured *state, int32_t group, int32_t column)
{
	if (group < 0 || group >= state->group_count || column < 0 || column >= state->column_count)
		return -EINVAL;
	struct group *g = &state->groups[group];
	int32_t cost = cost_of_unit(state, group, column);

	if (cost == ARC_ABSENT)
		return -EINVAL;
	flow_take(state, group, column, cost, 1);
	forget_unit(state, group, column, cost);
	g->supply--;
	group_note_price(state, group);
	column_free(state, column, 1);
	return state->no_memory ? -ENOMEM : 0;
}

int structured_remove_group(struct structured *state, int32_t group)
{
	if (group < 0 || group >= state->group_count || !state->groups[group].exists)
		return -EINVAL;
	struct group *g = &state->groups[group];

	if (state->solved)
		withdraw(state, group, g->supply, true);
	if (state->referenced)
		references_unlink(state, group);
	group_free_arrays(state, group);
	state->arc_total -= g->arc_count;
	g->share_count = g->arc_count = 0;
	g->running_count = g->limited_count = 0;
	g->supply = 0;
	group_note_price(state, group);
	g->exists = false;
	return state->no_memory ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A group's price and supply. */
#include <errno.h>

#include "structured_priv.h"

/* Least cost to the sink over what has room. Arcs ascend, so the first that cannot be cheaper ends the search. */
static int32_t group_least_price(struct structured *state, const struct group *group)
{
	int32_t best = UNROUTED_COST;

	if (group->unscheduled_flow < group->unscheduled_capacity)
		best = group->unscheduled_cost;
	if (group->aggregator_cost != STRUCTURED_NO_ARC && group->aggregator_cost + state->market_price < best)
		best = group->aggregator_cost + state->market_price;
	for (int32_t i = 0; i < group->arc_fixed; i++) {
		const struct arc *arc = &group->arcs[i];
		int32_t price;

		if (arc->cost + state->market_price >= best)
			break;
		if (arc->target >= 0) {
			price = state->prices[arc->target];
			if (arc->cost + price >= best || !arc_has_room(group, i))
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
	group_bid(state, group);
	for (int32_t i = g->share_count - 1; i >= 0; i--) {
		struct share share = g->shares[i];
		int32_t units = g->uses[share.arc].flow;

		if (share.cost + state->prices[share.column] <= g->price)
			continue;
		flow_take(state, group, share.arc, units);
		column_free(state, share.column, units);
		pulled += units;
	}
	if (g->unscheduled_flow > 0 && g->unscheduled_cost > g->price) {
		pulled += g->unscheduled_flow;
		g->unscheduled_flow = 0;
	}
	if (g->unrouted > 0 && UNROUTED_COST > g->price) {
		pulled += g->unrouted;
		g->unrouted = 0;
	}
	if (g->pending > 0 && g->aggregator_cost + state->market_price > g->price) {
		pulled += g->pending;
		group_add_pending(state, group, -g->pending);
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

static void withdraw(struct structured *state, int32_t group, int32_t units)
{
	struct group *g = &state->groups[group];

	units = take_some(&g->excess, units);
	units = take_some(&g->unrouted, units);
	units = take_some(&g->unscheduled_flow, units);
	if (g->pending > 0) {
		int32_t taken = g->pending < units ? g->pending : units;

		group_add_pending(state, group, -taken);
		units -= taken;
	}
	for (int32_t arc = g->arc_count - 1; arc >= 0 && units > 0; arc--) {
		int32_t column = g->arcs[arc].target;
		int32_t taken = g->uses[arc].flow < units ? g->uses[arc].flow : units;

		if (taken == 0)
			continue;
		flow_take(state, group, arc, taken);
		column_free(state, column, taken);
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
	group_bid(state, group);
	if (!state->solved || supply == old)
		return 0;
	if (supply < old) {
		withdraw(state, group, old - supply);
		group_reprice(state, group); /* a cheap running arc that was full may have room now */
	} else {
		group_add_excess(state, group, supply - old);
		group_changed(state, group);
		if (old == 0)
			group_reprice(state, group);
	}
	return state->no_memory ? -ENOMEM : 0;
}

/* The arc with flow to `column`, a running one first. */
static int32_t arc_with_unit(const struct structured *state, int32_t group, int32_t column)
{
	const struct column *c = &state->columns[column];
	int32_t found = NONE;

	for (int32_t i = 0; i < c->entry_count; i++) {
		if (c->entries[i].group != group)
			continue;
		found = c->entries[i].arc;
		if (state->groups[group].uses[found].capacity > 0)
			break;
	}
	return found;
}

int structured_end_unit(struct structured *state, int32_t group, int32_t column)
{
	if (group < 0 || group >= state->group_count || column < 0 || column >= state->column_count)
		return -EINVAL;
	struct group *g = &state->groups[group];
	int32_t arc = arc_with_unit(state, group, column);

	if (arc == NONE)
		return -EINVAL;
	flow_take(state, group, arc, 1);
	if (g->uses[arc].capacity > 0)
		g->uses[arc].capacity--;
	else if (g->uses[arc].capacity < NONE)
		g->uses[arc].capacity++;
	g->supply--;
	group_bid(state, group);
	column_free(state, column, 1);
	return state->no_memory ? -ENOMEM : 0;
}

int structured_remove_group(struct structured *state, int32_t group)
{
	if (group < 0 || group >= state->group_count || !state->groups[group].exists)
		return -EINVAL;
	struct group *g = &state->groups[group];

	if (state->solved)
		withdraw(state, group, g->supply);
	if (state->referenced)
		references_unlink(state, group);
	arena_release(&state->arena, g->arcs, g->arc_room, sizeof(*g->arcs));
	arena_release(&state->arena, g->uses, g->use_room, sizeof(*g->uses));
	arena_release(&state->arena, g->shares, g->share_room, sizeof(*g->shares));
	g->arcs = NULL;
	g->uses = NULL;
	g->shares = NULL;
	g->share_count = g->share_room = 0;
	g->arc_fixed = g->arc_count = g->arc_room = g->use_room = g->dead = 0;
	g->supply = 0;
	group_bid(state, group);
	g->exists = false;
	return state->no_memory ? -ENOMEM : 0;
}

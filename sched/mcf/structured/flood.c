/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many units at once, along arcs of reduced cost 0 only (a search has made the nearest way out free): Dinic's blocking
 * flow. Breadth first from the roots to the first layer with exits, then depth first along the layers, every node
 * passing over each of its arcs once. Large jobs would need a search for every other unit without it.
 *
 * Inward, from all units that wait for a price that the market has fallen to, waiting is no exit.
 *
 * Outward, for units that the market has sold without having slots, the layers are those of the search from all ways to
 * wait (outlet.c). A step of the market's price lets a few units go, each of which would need a search.
 */
#include "structured_search.h"

static int32_t flood_group(struct structured *state, int32_t group, int32_t wanted);

static bool group_has_exit(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];
	int32_t column;

	if (!state->flood.inward && g->unscheduled_flow < g->unscheduled_capacity && g->unscheduled_cost == g->price)
		return true;
	if (g->aggregator_cost != ARC_ABSENT && g->aggregator_cost + state->market_price == g->price)
		return true;
	return group_exit(state, group, g->price - state->market_price + 1, &column) != NONE;
}

static void reach_group(struct structured *state, int32_t group, int32_t level)
{
	struct flood *flood = &state->flood;
	struct group *g = &state->groups[group];

	if (g->flood == flood->stamp)
		return;
	g->flood = flood->stamp;
	g->level = level;
	g->flood_arc = 0;
	state->search.visited[state->search.visited_count++] = ~group;
	if (flood->exit_level == INT32_MAX && group_has_exit(state, group))
		flood->exit_level = level;
}

static void reach_column(struct structured *state, int32_t column, int32_t level)
{
	struct flood *flood = &state->flood;
	struct column *c = &state->columns[column];

	if (c->flood == flood->stamp)
		return;
	c->flood = flood->stamp;
	c->level = level;
	c->flood_entry = 0;
	state->search.visited[state->search.visited_count++] = column;
	if (state->free_slots[column] > 0 && flood->exit_level == INT32_MAX)
		flood->exit_level = level;
}

/* A block's arcs cost nothing to its cheapest columns; the floor is made exact once a flood. */
static void reach_block(struct structured *state, int32_t block, int32_t price, int32_t level)
{
	struct flood *flood = &state->flood;
	struct block *b = &state->blocks[block];

	if (b->floor > price || b->flood == flood->stamp)
		return;
	if (b->exact != flood->stamp) {
		b->exact = flood->stamp;
		block_exact_floor(state, block);
		state->scans += (uint64_t)b->member_count;
		if (b->floor > price)
			return;
	}
	b->flood = flood->stamp;
	b->level = level;
	b->flood_member = 0;
	state->search.visited[state->search.visited_count++] = block + NODE_BLOCK;
}

static void spread_block(struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];

	for (int32_t i = 0; i < b->member_count; i++)
		if (state->prices[b->members[i]] == b->floor)
			reach_column(state, b->members[i], b->level + 1);
	state->scans += (uint64_t)b->member_count;
}

static void spread_group(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];
	const struct near_scope scope = {
		.prices = state->prices, .base = -g->price, .market_price = state->market_price, .below = 1};
	int32_t near[SEARCH_SPAN], seen = SEARCH_SPAN;

	for (int32_t first = 0; first < g->arc_count && seen == SEARCH_SPAN; first += SEARCH_SPAN) {
		int32_t span = least(g->arc_count - first, SEARCH_SPAN);
		int32_t count = near_arcs(g->arcs + first, span, &scope, near, &seen);

		for (int32_t i = 0; i < count; i++) {
			const struct arc *arc = &g->arcs[first + near[i]];
			int32_t price = g->price - arc->cost;

			if (arc->target < 0)
				reach_block(state, ~arc->target, price, g->level + 1);
			else if (state->prices[arc->target] == price && arc_has_room(g, first + near[i]))
				reach_column(state, arc->target, g->level + 1);
		}
		state->scans += (uint64_t)seen;
	}
}

static void spread_column(struct structured *state, int32_t column)
{
	const struct column *c = &state->columns[column];
	int32_t price = state->prices[column];

	for (int32_t i = 0; i < c->entry_count; i++)
		if (c->entries[i].cost + price == state->bids[c->entries[i].group])
			reach_group(state, c->entries[i].group, c->level + 1);
	state->scans += (uint64_t)c->entry_count;
}

/* Layers up to the first with an exit; false when there is none. The roots are reached already. */
static bool flood_layers(struct structured *state)
{
	const struct flood *flood = &state->flood;
	const int32_t *nodes = state->search.visited;

	for (int32_t i = 0; i < state->search.visited_count; i++) {
		int32_t node = nodes[i];
		int32_t level = node < 0             ? state->groups[~node].level
				: node >= NODE_BLOCK ? state->blocks[node - NODE_BLOCK].level
						     : state->columns[node].level;

		if (level >= flood->exit_level || level > FLOOD_DEPTH_MAXIMUM || state_halted(state))
			break;
		if (node < 0)
			spread_group(state, ~node);
		else if (node >= NODE_BLOCK)
			spread_block(state, node - NODE_BLOCK);
		else
			spread_column(state, node);
	}
	return flood->exit_level <= FLOOD_DEPTH_MAXIMUM;
}

/* Makes room for up to `wanted` units on the column; the caller puts them there at once. */
static int32_t flood_column(struct structured *state, int32_t column, int32_t wanted)
{
	struct column *c = &state->columns[column];
	int32_t made = least(state->free_slots[column], wanted);

	if (made > 0)
		column_fill(state, column, made);
	if (c->level == state->flood.exit_level)
		return made;
	while (made < wanted && c->flood_entry < c->entry_count) {
		struct entry entry = c->entries[c->flood_entry];
		const struct group *g = &state->groups[entry.group];
		int32_t sent = 0;

		state->scans++;
		if (g->flood == state->flood.stamp && g->level > c->level &&
		    entry.cost + state->prices[column] == g->price)
			sent = flood_group(state, entry.group, least(wanted - made, flow_units(g, column, entry.cost)));
		if (sent == 0) {
			c->flood_entry++;
			continue;
		}
		/* When the arc is empty the last entry takes its place and is next. */
		flow_take(state, entry.group, column, entry.cost, sent);
		made += sent;
	}
	return made;
}

int32_t flood_exits(struct structured *state, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t sent = 0, column, exit;

	if (!state->flood.inward && g->unscheduled_flow < g->unscheduled_capacity && g->unscheduled_cost == g->price) {
		sent = least(wanted, g->unscheduled_capacity - g->unscheduled_flow);
		g->unscheduled_flow += sent;
		group_changed(state, group);
	}
	while (sent < wanted &&
	       (exit = group_exit(state, group, g->price - state->market_price + 1, &column)) != NONE) {
		int32_t units = least(wanted - sent, least(state->free_slots[column], arc_room(g, exit)));

		column_fill(state, column, units);
		flow_add(state, group, column, g->arcs[exit].cost, units);
		sent += units;
	}
	if (sent < wanted && g->aggregator_cost != ARC_ABSENT && g->aggregator_cost + state->market_price == g->price) {
		group_add_pending(state, group, wanted - sent);
		group_changed(state, group);
		sent = wanted;
	}
	return sent;
}

/* The group's own way to wait, where it costs the group's price. */
static int32_t flood_wait(struct structured *state, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];

	if (g->price == UNROUTED_COST) {
		g->unrouted += wanted;
	} else if (g->price == g->unscheduled_cost) {
		wanted = least(wanted, g->unscheduled_capacity - g->unscheduled_flow);
		g->unscheduled_flow += wanted;
	} else {
		return 0;
	}
	group_changed(state, group);
	return wanted;
}

static bool column_is_next(const struct structured *state, int32_t column, int32_t price, int32_t level)
{
	const struct column *c = &state->columns[column];

	return state->prices[column] == price && c->flood == state->flood.stamp && c->level > level;
}

/* Over an arc to a block; later groups go on where this one found no more room. */
static int32_t flood_block(struct structured *state, int32_t group, int32_t arc, int32_t wanted)
{
	int32_t block = ~state->groups[group].arcs[arc].target, sent = 0;
	struct block *b = &state->blocks[block];

	if (b->level == state->flood.exit_level)
		return 0;
	for (; b->flood_member < b->member_count; b->flood_member++) {
		int32_t column = b->members[b->flood_member];

		state->scans++;
		if (!column_is_next(state, column, b->floor, b->level))
			continue;
		int32_t made = flood_column(state, column, wanted - sent);

		if (made > 0)
			flow_add(state, group, column, state->groups[group].arcs[arc].cost, made);
		sent += made;
		if (sent == wanted)
			break;
	}
	return sent;
}

static bool block_is_next(const struct structured *state, int32_t block, int32_t price, int32_t level)
{
	const struct block *b = &state->blocks[block];

	return b->flood == state->flood.stamp && b->level > level && b->floor == price;
}

static int32_t flood_group(struct structured *state, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t sent = 0;

	if (g->level == state->flood.exit_level)
		return flood_exits(state, group, wanted);
	if (state->flood.outward)
		sent = flood_wait(state, group, wanted);
	if (sent == wanted)
		return sent;
	for (; g->flood_arc < g->arc_count; g->flood_arc++) {
		const struct arc *arc = &g->arcs[g->flood_arc];

		if (arc->cost + state->market_price > g->price)
			break;
		state->scans++;
		if (arc->target < 0) {
			if (block_is_next(state, ~arc->target, g->price - arc->cost, g->level))
				sent += flood_block(state, group, g->flood_arc, wanted - sent);
		} else if (column_is_next(state, arc->target, g->price - arc->cost, g->level) &&
			   arc_has_room(g, g->flood_arc)) {
			int32_t column = arc->target;
			int32_t made = flood_column(state, column, least(wanted - sent, arc_room(g, g->flood_arc)));

			if (made > 0)
				flow_add(state, group, column, arc->cost, made);
			sent += made;
		}
		if (sent == wanted)
			return sent;
	}
	return sent;
}

/* The stamp has come round: marks of 2^32 floods ago would look fresh. */
static void forget_floods(struct structured *state)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->columns[i].flood = 0;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].flood = state->blocks[i].exact = 0;
	for (int32_t i = 0; i < state->group_count; i++)
		state->groups[i].flood = 0;
	state->flood.stamp = 1;
}

void flood_begin(struct structured *state)
{
	if (++state->flood.stamp == 0)
		forget_floods(state);
	state->flood.exit_level = INT32_MAX;
	state->flood.outward = state->flood.inward = false;
	state->search.visited_count = 0;
	state->augmentations++;
}

int32_t flood_from_group(struct structured *state, int32_t group, int32_t units)
{
	flood_begin(state);
	reach_group(state, group, 0);
	return flood_layers(state) ? flood_group(state, group, units) : 0;
}

int32_t flood_from_excess(struct structured *state)
{
	const struct id_list *list = &state->excess_list;
	int32_t sent = 0;

	flood_begin(state);
	for (int32_t i = 0; i < list->count; i++)
		if (state->groups[list->ids[i]].excess > 0)
			reach_group(state, list->ids[i], 0);
	if (!flood_layers(state))
		return 0;
	for (int32_t i = 0; i < list->count; i++) {
		struct group *g = &state->groups[list->ids[i]];
		int32_t out = g->excess > 0 ? flood_group(state, list->ids[i], g->excess) : 0;

		g->excess -= out;
		sent += out;
	}
	return sent;
}

/* What waits at the group for its price; NULL: nothing does. */
static int32_t *tight_waiting(struct group *g)
{
	if (g->unrouted > 0)
		return g->price == UNROUTED_COST ? &g->unrouted : NULL;
	return g->unscheduled_flow > 0 && g->price == g->unscheduled_cost ? &g->unscheduled_flow : NULL;
}

int32_t flood_inward(struct structured *state, int32_t units)
{
	int32_t sent = 0;

	flood_begin(state);
	state->flood.inward = true;
	for (int32_t i = 0; i < state->group_count; i++)
		if (group_has_supply(state, i) && tight_waiting(&state->groups[i]))
			reach_group(state, i, 0);
	int32_t roots = state->search.visited_count;

	if (!flood_layers(state))
		return 0;
	for (int32_t i = 0; i < roots && sent < units; i++) {
		int32_t group = ~state->search.visited[i];
		int32_t *waiting = tight_waiting(&state->groups[group]);
		int32_t came = flood_group(state, group, least(units - sent, *waiting));

		*waiting -= came;
		sent += came;
	}
	return sent;
}

void flood_outward_begin(struct structured *state)
{
	flood_begin(state);
	state->flood.outward = true;
}

static void mark_group(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	int32_t column = g->parent_column;

	g->flood = state->flood.stamp;
	g->flood_arc = 0;
	if (column == NONE)
		g->level = 0;
	else if (g->parent >= 0)
		g->level = state->columns[column].level - 1;
	else
		g->level = state->blocks[state->column_blocks[column]].level - 1;
}

void flood_mark(struct structured *state, int32_t node)
{
	if (node < 0) {
		mark_group(state, ~node);
	} else if (node >= NODE_BLOCK) {
		struct block *b = &state->blocks[node - NODE_BLOCK];

		b->flood = state->flood.stamp;
		b->level = state->columns[b->parent_column].level - 1;
		b->flood_member = 0;
	} else {
		struct column *c = &state->columns[node];

		c->flood = state->flood.stamp;
		c->level = state->groups[c->parent_group].level - 1;
		c->flood_entry = 0;
	}
}

int32_t flood_outward(struct structured *state, int32_t node, int32_t units)
{
	int32_t level = node >= 0 ? state->columns[node].level : state->groups[~node].level, sent;

	if (level < -FLOOD_DEPTH_MAXIMUM)
		return 0;
	if (node >= 0) {
		sent = flood_column(state, node, units);
		market_bind(state, node, sent);
	} else {
		sent = flood_group(state, ~node, least(units, state->groups[~node].pending));
		group_add_pending(state, ~node, -sent);
	}
	return sent;
}

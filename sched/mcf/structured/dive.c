/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flood does, without layers: depth first along arcs of reduced cost 0, for a start from nothing with slots
 * for all. There most of what is passed has a way out, and to look for the shortest first would be to see everything
 * twice. The ways are longer and move more units than need be: few where all are placed anew, a quarter in a repair.
 *
 * A node on the way is closed, and stays so where nothing more gets through: it is left once in a dive, but for units.
 */
#include "structured_search.h"

enum { OPEN, CLOSED };

static int32_t dive_group(struct structured *state, int32_t group, int32_t wanted, int32_t depth);

static bool is_open(const struct structured *state, uint32_t flood, int32_t level)
{
	return flood != state->flood.stamp || level == OPEN;
}

/* Makes room for up to `wanted` units on the column; the caller puts them there at once. */
static int32_t dive_column(struct structured *state, int32_t column, int32_t wanted, int32_t depth)
{
	struct column *c = &state->columns[column];
	int32_t made = least(state->free_slots[column], wanted);

	if (c->flood != state->flood.stamp)
		c->flood_entry = 0;
	c->flood = state->flood.stamp;
	c->level = CLOSED;
	if (made > 0)
		column_fill(state, column, made);
	while (made < wanted && c->flood_entry < c->entry_count) {
		struct entry entry = c->entries[c->flood_entry];
		const struct group *g = &state->groups[entry.group];
		int32_t sent = 0;

		state->scans++;
		if (entry.cost + state->prices[column] == state->bids[entry.group] &&
		    is_open(state, g->flood, g->level))
			sent = dive_group(state, entry.group, least(wanted - made, flow_units(g, column, entry.cost)),
					  depth + 1);
		if (sent == 0) {
			c->flood_entry++;
			continue;
		}
		/* When the arc is empty the last entry takes its place and is next. */
		flow_take(state, entry.group, column, entry.cost, sent);
		made += sent;
	}
	c->level = made < wanted ? CLOSED : OPEN;
	return made;
}

static int32_t dive_arc(struct structured *state, int32_t group, int32_t cost, int32_t column, int32_t wanted,
			int32_t depth)
{
	const struct column *c = &state->columns[column];

	if (!is_open(state, c->flood, c->level))
		return 0;
	int32_t made = dive_column(state, column, wanted, depth + 1);

	if (made > 0)
		flow_add(state, group, column, cost, made);
	return made;
}

/* Over an arc to a block; later groups go on where this one found no more room. */
static int32_t dive_block(struct structured *state, int32_t group, int32_t arc, int32_t wanted, int32_t depth)
{
	const struct group *g = &state->groups[group];
	int32_t cost = g->arcs[arc].cost, sent = 0;
	struct block *b = &state->blocks[~g->arcs[arc].target];

	if (b->floor > g->price - cost)
		return 0;
	if (b->exact != state->flood.stamp) {
		b->exact = state->flood.stamp;
		b->flood_member = 0;
		block_exact_floor(state, ~g->arcs[arc].target);
		state->scans += (uint64_t)b->member_count;
	}
	if (b->floor > g->price - cost)
		return 0;
	for (; b->flood_member < b->member_count; b->flood_member++) {
		int32_t column = b->members[b->flood_member];

		state->scans++;
		if (state->prices[column] == b->floor)
			sent += dive_arc(state, group, cost, column, wanted - sent, depth);
		if (sent == wanted)
			break;
	}
	return sent;
}

static int32_t dive_arcs(struct structured *state, int32_t group, int32_t wanted, int32_t depth)
{
	struct group *g = &state->groups[group];
	int32_t sent = 0;

	for (; g->flood_arc < g->arc_count; g->flood_arc++) {
		struct arc arc = g->arcs[g->flood_arc];

		if (arc.cost + state->market_price > g->price)
			break;
		state->scans++;
		if (arc.target < 0)
			sent += dive_block(state, group, g->flood_arc, wanted - sent, depth);
		else if (state->prices[arc.target] == g->price - arc.cost && arc_has_room(g, g->flood_arc))
			sent += dive_arc(state, group, arc.cost, arc.target,
					 least(wanted - sent, arc_room(g, g->flood_arc)), depth);
		if (sent == wanted)
			break;
	}
	return sent;
}

/* How many of the units get out. */
static int32_t dive_group(struct structured *state, int32_t group, int32_t wanted, int32_t depth)
{
	struct group *g = &state->groups[group];

	if (g->flood != state->flood.stamp)
		g->flood_arc = 0;
	g->flood = state->flood.stamp;
	g->level = CLOSED;
	int32_t sent = flood_exits(state, group, wanted);

	if (sent < wanted && depth < FLOOD_DEPTH_MAXIMUM)
		sent += dive_arcs(state, group, wanted - sent, depth);
	g->level = sent < wanted ? CLOSED : OPEN;
	return sent;
}

int32_t dive_from_group(struct structured *state, int32_t group, int32_t units)
{
	flood_begin(state);
	return dive_group(state, group, units, 0);
}

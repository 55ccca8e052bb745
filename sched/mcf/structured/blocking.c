/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking flow (Dinic): sends many units at once along arcs of reduced cost 0, depth first. Without it, the units of a
 * large group would need many searches. Each arc of a node is scanned once, by the node's cursor visit.next. To prevent
 * cycles, the walk may enter only some nodes:
 *
 *   BLOCKING_LAYERED    nodes get layers, breadth first from the roots to the first layer with a path to the sink; each
 *                       step of the walk leads to a deeper layer. The paths are shortest paths, which move few units.
 *   BLOCKING_UNLAYERED  any node that is not closed. A node is closed while it is on the path, and remains closed once
 *                       nothing more can be sent through it. Used when a solve starts from scratch and there are
 *                       slots for all units: most nodes then have a path to the sink, and layers would scan
 *                       everything twice. On a cluster that is 99 % full such a solve takes half the time. In a
 *                       repair the longer paths would move a quarter more units.
 *   BLOCKING_INWARD     in layers. Used after the aggregator's price has fallen, to give slots to waiting units: starts
 *                       from the groups with waiting units whose cost of waiting equals the group's price. The arc for
 *                       waiting does not count as a path to the sink.
 *   BLOCKING_OUTWARD    for deferred units without slots, in the layers of the backward search from all arcs for
 *                       waiting (search_mark()). After each step of the aggregator's price, a few units begin to wait;
 *                       without the blocking flow, each of them would need a search.
 *
 * Measured at 12,500 machines: without BLOCKING_UNLAYERED, 1,094 ms instead of 587 at 99 % full; without
 * BLOCKING_OUTWARD and its layers, rounds with 5 % too few slots take 30 / 160 ms (p50 / p99) instead of 26 / 91. At
 * 2,500 machines without BLOCKING_INWARD, rounds with wide rows scan 2.7 times as many arcs.
 */
#include "structured_priv.h"

enum { OPEN, CLOSED }; /* values of visit.level in BLOCKING_UNLAYERED */

/* Maximum number of nodes in a path: the walk is recursive. */
enum { DEPTH_MOST = 400 };

static int32_t augment_group(struct structured *state, int32_t group, int32_t wanted);

static bool may_enter(const struct structured *state, const struct visit *visit, int32_t level)
{
	if (state->blocking.kind == BLOCKING_UNLAYERED)
		return visit->stamp != state->blocking.stamp || visit->level == OPEN;
	return visit->stamp == state->blocking.stamp && visit->level > level;
}

static void enter(const struct structured *state, struct visit *visit)
{
	if (state->blocking.kind != BLOCKING_UNLAYERED)
		return;
	visit->next = visit->stamp == state->blocking.stamp ? visit->next : 0;
	visit->stamp = state->blocking.stamp;
	visit->level = CLOSED;
}

static void leave(const struct structured *state, struct visit *visit, bool blocked)
{
	if (state->blocking.kind == BLOCKING_UNLAYERED)
		visit->level = blocked ? CLOSED : OPEN;
}

static bool waiting_is_tight(const struct structured *state, const struct group *g)
{
	return state->blocking.kind != BLOCKING_INWARD && g->unscheduled_flow < g->unscheduled_capacity &&
	       g->unscheduled_cost == g->price;
}

static bool aggregator_is_tight(const struct structured *state, const struct group *g)
{
	return g->aggregator_cost != ARC_ABSENT && g->aggregator_cost + state->aggregator_price == g->price;
}

/*
 * True if the arc to the block and on to the cheapest columns has reduced cost 0. `price` is the price of the arc's
 * tail minus the arc's cost. Computes the block's exact floor once per blocking flow.
 */
static bool block_is_tight(struct structured *state, int32_t block, int32_t price)
{
	struct block *b = &state->blocks[block];

	if (b->floor <= price && b->exact != state->blocking.stamp) {
		b->exact = state->blocking.stamp;
		block_exact_floor(state, block);
		state->effort.scans += (uint64_t)b->member_count;
	}
	return b->floor <= price;
}

/* Marks the node as reached. Returns false if it was reached before. */
static bool reach(struct structured *state, struct visit *visit, int32_t node, int32_t level)
{
	if (visit->stamp == state->blocking.stamp)
		return false;
	*visit = (struct visit){state->blocking.stamp, level, 0};
	state->search.visited[state->search.visited_count++] = node;
	return true;
}

static void reach_group(struct structured *state, int32_t group, int32_t level)
{
	const struct group *g = &state->groups[group];
	int32_t column;

	if (reach(state, &state->groups[group].visit, ~group, level) && state->blocking.sink_level == INT32_MAX &&
	    (waiting_is_tight(state, g) || aggregator_is_tight(state, g) ||
	     group_free_slot(state, group, g->price - state->aggregator_price + 1, &column) != NONE))
		state->blocking.sink_level = level;
}

static void reach_column(struct structured *state, int32_t column, int32_t level)
{
	if (reach(state, &state->columns[column].visit, column, level) && state->free_slots[column] > 0 &&
	    state->blocking.sink_level == INT32_MAX)
		state->blocking.sink_level = level;
}

static void expand_block(struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];

	for (int32_t i = 0; i < b->member_count; i++)
		if (state->prices[b->members[i]] == b->floor)
			reach_column(state, b->members[i], b->visit.level + 1);
	state->effort.scans += (uint64_t)b->member_count;
}

static void expand_group(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];
	int32_t i = 0, level = g->visit.level + 1;

	for (; i < g->arc_count && g->arcs[i].cost + state->aggregator_price <= g->price; i++) {
		struct arc arc = g->arcs[i];

		if (arc.target < 0) {
			if (state->blocks[~arc.target].visit.stamp != state->blocking.stamp &&
			    block_is_tight(state, ~arc.target, g->price - arc.cost))
				reach(state, &state->blocks[~arc.target].visit, ~arc.target + NODE_BLOCK, level);
		} else if (state->prices[arc.target] == g->price - arc.cost && arc_has_residual(g, i)) {
			reach_column(state, arc.target, level);
		}
	}
	state->effort.scans += (uint64_t)i;
}

static void expand_column(struct structured *state, int32_t column)
{
	const struct column *c = &state->columns[column];
	int32_t price = state->prices[column];

	for (int32_t i = 0; i < c->entry_count; i++)
		if (c->entries[i].cost + price == state->group_prices[c->entries[i].group])
			reach_group(state, c->entries[i].group, c->visit.level + 1);
	state->effort.scans += (uint64_t)c->entry_count;
}

/*
 * Builds the layers up to the first that has a path to the sink. Returns false if no layer has one. The caller has
 * marked the roots as reached.
 */
static bool build_layers(struct structured *state)
{
	const struct blocking *blocking = &state->blocking;

	for (int32_t i = 0; i < state->search.visited_count; i++) {
		int32_t node = state->search.visited[i], level = node_visit(state, node)->level;

		if (level >= blocking->sink_level || level > DEPTH_MOST || state_halted(state))
			break;
		if (node < 0)
			expand_group(state, ~node);
		else if (node >= NODE_BLOCK)
			expand_block(state, node - NODE_BLOCK);
		else
			expand_column(state, node);
	}
	return blocking->sink_level <= DEPTH_MOST;
}

/*
 * Gets slots for up to `wanted` units on the column: takes free slots, and sends units of other groups elsewhere.
 * Returns the number of slots; the caller must fill them at once.
 */
static int32_t augment_column(struct structured *state, int32_t column, int32_t wanted)
{
	struct column *c = &state->columns[column];
	int32_t made = least(state->free_slots[column], wanted);

	enter(state, &c->visit);
	if (made > 0)
		column_fill(state, column, made);
	if (c->visit.level == state->blocking.sink_level)
		return made;
	while (made < wanted && c->visit.next < c->entry_count) {
		struct entry entry = c->entries[c->visit.next];
		const struct group *g = &state->groups[entry.group];
		int32_t sent = 0;

		state->effort.scans++;
		if (entry.cost + state->prices[column] == state->group_prices[entry.group] &&
		    may_enter(state, &g->visit, c->visit.level))
			sent = augment_group(state, entry.group,
					     least(wanted - made, flow_units(g, column, entry.cost)));
		if (sent == 0) {
			c->visit.next++;
			continue;
		}
		/* If the entry becomes empty, the last entry takes its place, and is the next to be scanned. */
		flow_take(state, entry.group, column, entry.cost, sent);
		made += sent;
	}
	leave(state, &c->visit, made < wanted);
	return made;
}

static int32_t augment_arc(struct structured *state, int32_t group, int32_t cost, int32_t column, int32_t wanted)
{
	int32_t made = augment_column(state, column, wanted);

	if (made > 0)
		flow_add(state, group, column, cost, made);
	return made;
}

/*
 * Sends units over an arc to a block. The cursor of the block stays at the last column that was scanned, so that the
 * next group continues there.
 */
static int32_t augment_block(struct structured *state, int32_t group, struct arc arc, int32_t wanted)
{
	struct block *b = &state->blocks[~arc.target];
	const struct group *g = &state->groups[group];
	int32_t sent = 0, level = b->visit.level;

	if (state->blocking.kind != BLOCKING_UNLAYERED) {
		if (!may_enter(state, &b->visit, g->visit.level) || b->floor != g->price - arc.cost ||
		    level == state->blocking.sink_level)
			return 0;
	} else {
		if (!block_is_tight(state, ~arc.target, g->price - arc.cost))
			return 0;
		enter(state, &b->visit);
	}
	for (; b->visit.next < b->member_count; b->visit.next++) {
		int32_t column = b->members[b->visit.next];

		state->effort.scans++;
		if (state->prices[column] == b->floor && may_enter(state, &state->columns[column].visit, level))
			sent += augment_arc(state, group, arc.cost, column, wanted - sent);
		if (sent == wanted)
			break;
	}
	return sent;
}

/*
 * Sends up to `wanted` units along those of the group's own paths to the sink (waiting, free slots, the aggregator)
 * whose cost equals the group's price. Returns the number of units sent.
 */
static int32_t augment_sink(struct structured *state, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t sent = 0, column, exit;

	if (waiting_is_tight(state, g)) {
		sent = least(wanted, g->unscheduled_capacity - g->unscheduled_flow);
		g->unscheduled_flow += sent;
		group_waits(state, group);
	}
	while (sent < wanted &&
	       (exit = group_free_slot(state, group, g->price - state->aggregator_price + 1, &column)) != NONE) {
		int32_t units = least(wanted - sent, least(state->free_slots[column], arc_residual(g, exit)));

		column_fill(state, column, units);
		flow_add(state, group, column, g->arcs[exit].cost, units);
		sent += units;
	}
	if (sent < wanted && aggregator_is_tight(state, g)) {
		group_add_deferred(state, group, wanted - sent);
		group_changed(state, group);
		sent = wanted;
	}
	return sent;
}

static int32_t augment_arcs(struct structured *state, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t sent = 0;

	for (; g->visit.next < g->arc_count; g->visit.next++) {
		struct arc arc = g->arcs[g->visit.next];

		if (arc.cost + state->aggregator_price > g->price)
			break;
		state->effort.scans++;
		if (arc.target < 0)
			sent += augment_block(state, group, arc, wanted - sent);
		else if (state->prices[arc.target] == g->price - arc.cost && arc_has_residual(g, g->visit.next) &&
			 may_enter(state, &state->columns[arc.target].visit, g->visit.level))
			sent += augment_arc(state, group, arc.cost, arc.target,
					    least(wanted - sent, arc_residual(g, g->visit.next)));
		if (sent == wanted)
			break;
	}
	return sent;
}

/* Returns the number of units that reach the sink. */
static int32_t augment_group(struct structured *state, int32_t group, int32_t wanted)
{
	struct blocking *blocking = &state->blocking;
	struct group *g = &state->groups[group];
	int32_t sent = 0;

	enter(state, &g->visit);
	if (blocking->kind == BLOCKING_UNLAYERED || g->visit.level == blocking->sink_level)
		sent = augment_sink(state, group, wanted);
	else if (blocking->kind == BLOCKING_OUTWARD)
		sent = group_wait(state, group, wanted);
	if (sent < wanted && g->visit.level != blocking->sink_level && blocking->depth < DEPTH_MOST) {
		blocking->depth += 2; /* the group and the column after it */
		sent += augment_arcs(state, group, wanted - sent);
		blocking->depth -= 2;
	}
	leave(state, &g->visit, sent < wanted);
	return sent;
}

/* Call it when the stamp wraps around: marks from 2^32 blocking flows ago would look current. */
static void forget_visits(struct structured *state)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->columns[i].visit.stamp = 0;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].visit.stamp = state->blocks[i].exact = 0;
	for (int32_t i = 0; i < state->group_count; i++)
		state->groups[i].visit.stamp = 0;
	state->blocking.stamp = 1;
}

void blocking_begin(struct structured *state, enum blocking_kind kind)
{
	if (++state->blocking.stamp == 0)
		forget_visits(state);
	state->blocking.kind = kind;
	state->blocking.sink_level = INT32_MAX;
	state->search.visited_count = 0;
	state->effort.augmentations++;
}

int32_t blocking_from_group(struct structured *state, int32_t group, int32_t units)
{
	blocking_begin(state, state->effort.start_is_loose ? BLOCKING_UNLAYERED : BLOCKING_LAYERED);
	if (state->effort.start_is_loose)
		return augment_group(state, group, units);
	reach_group(state, group, 0);
	return build_layers(state) ? augment_group(state, group, units) : 0;
}

int32_t blocking_from_excess(struct structured *state)
{
	const struct id_list *list = &state->excess_list;
	int32_t sent = 0;

	blocking_begin(state, BLOCKING_LAYERED);
	for (int32_t i = 0; i < list->count; i++)
		if (state->groups[list->ids[i]].excess > 0)
			reach_group(state, list->ids[i], 0);
	if (!build_layers(state))
		return 0;
	for (int32_t i = 0; i < list->count; i++) {
		struct group *g = &state->groups[list->ids[i]];
		int32_t out = g->excess > 0 ? augment_group(state, list->ids[i], g->excess) : 0;

		g->excess -= out;
		sent += out;
	}
	return sent;
}

/*
 * Returns the counter of the group's waiting units whose cost of waiting equals the group's price, or NULL if there are
 * none.
 */
static int32_t *tight_waiting(struct group *g)
{
	if (g->unrouted > 0)
		return g->price == UNROUTED_COST ? &g->unrouted : NULL;
	return g->unscheduled_flow > 0 && g->price == g->unscheduled_cost ? &g->unscheduled_flow : NULL;
}

int32_t blocking_inward(struct structured *state, int32_t units)
{
	int32_t sent = 0;

	blocking_begin(state, BLOCKING_INWARD);
	for (int32_t i = 0; i < state->group_count; i++)
		if (group_has_supply(state, i) && tight_waiting(&state->groups[i]))
			reach_group(state, i, 0);
	int32_t roots = state->search.visited_count;

	if (!build_layers(state))
		return 0;
	for (int32_t i = 0; i < roots && sent < units; i++) {
		int32_t group = ~state->search.visited[i];
		int32_t *waiting = tight_waiting(&state->groups[group]);
		int32_t came = augment_group(state, group, least(units - sent, *waiting));

		*waiting -= came;
		sent += came;
	}
	return sent;
}

int32_t blocking_outward(struct structured *state, int32_t node, int32_t units)
{
	if (node_visit(state, node)->level < -DEPTH_MOST)
		return 0;
	if (node >= 0) {
		units = augment_column(state, node, units);
		flow_bind(state, node, units);
	} else {
		units = augment_group(state, ~node, least(units, state->groups[~node].deferred));
		group_add_deferred(state, ~node, -units);
	}
	return units;
}

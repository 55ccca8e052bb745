/* SPDX-License-Identifier: BSD-3-Clause */
/* A group's price and supply. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

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

/*
 * Running units have arcs of limited capacity. These arcs are removed before a change of the row and added after it;
 * all other arcs of the row are unlimited. If an unlimited arc to the column, its block or the aggregator costs no
 * more, an entry of `running` has no arc of its own; it only records which units need not move.
 */

enum { SORT_INSERTION = 24 };

/* Moves arcs first..end-1 of the group down to index `to`. */
static void close_up(struct group *g, int32_t first, int32_t end, int32_t to)
{
	memmove(g->arcs + to, g->arcs + first, (size_t)(end - first) * sizeof(*g->arcs));
	memmove(g->links + to, g->links + first, (size_t)(end - first) * sizeof(*g->links));
}

/*
 * Removes the limited arcs from the group; `running` has its limited entries in the order of the arcs. If an entry's
 * units are NONE, the arc's reference stays with the column: the new arc takes it over.
 */
static void take_out(struct structured *state, struct group *g)
{
	int32_t next = 0, kept = 0; /* the first arc after the last one removed, and its new index */

	for (int32_t i = 0; i < g->limited_count; i++) {
		const struct running *running = &g->running[i];
		int32_t arc = running->arc;

		if (state->referenced && running->units != NONE)
			reference_unlink(state, running->column, g->links[arc].place);
		if (i > 0)
			close_up(g, next, arc, kept);
		kept += arc - next;
		next = arc + 1;
	}
	if (next > 0)
		close_up(g, next, g->arc_count, kept);
	g->arc_count -= g->limited_count;
}

void running_drop(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	take_out(state, g);
	g->limited_count = g->running_count = 0;
}

/*
 * For each column in `running`, sets unplaced[] to 1 + the least cost of the group's unlimited arcs to the column, its
 * block or the aggregator.
 */
static void note_costs(struct structured *state, const struct group *g, const struct structured_running *running,
		       int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		state->scratch.unplaced[running[i].column] = NONE;
	for (int32_t i = 0; i < g->arc_count; i++) {
		int32_t target = g->arcs[i].target;

		if (target < 0)
			state->blocks[~target].row_cost = g->arcs[i].cost;
		else if (state->scratch.unplaced[target] != 0 && !g->links[i].limited)
			state->scratch.unplaced[target] = g->arcs[i].cost + 1;
	}
	for (int32_t i = 0; i < count; i++) {
		int32_t *unplaced = &state->scratch.unplaced[running[i].column],
			block = state->column_blocks[running[i].column];
		int32_t cost = *unplaced > 0 ? *unplaced - 1 : INT32_MAX - 1;

		if (g->aggregator_cost != ARC_ABSENT)
			cost = least(cost, g->aggregator_cost);
		if (block != NONE)
			cost = least(cost, state->blocks[block].row_cost);
		*unplaced = cost + 1;
	}
	for (int32_t i = 0; i < g->arc_count; i++)
		if (g->arcs[i].target < 0)
			state->blocks[~g->arcs[i].target].row_cost = INT32_MAX;
}

/* Number of entries of `running` with arcs of their own, and number of the others. */
struct split {
	int32_t limited, others;
};

/* The key for sorting by cost, then column. */
static uint64_t running_key(const struct running *running)
{
	return (uint64_t)(uint32_t)running->cost << 32 | (uint32_t)running->column;
}

/* A counting sort by one byte of the keys, stable. */
static void sort_by_byte(const struct running *from, int32_t count, int shift, struct running *to)
{
	int32_t starts[257] = {0};

	for (int32_t i = 0; i < count; i++)
		starts[(running_key(&from[i]) >> shift & 255) + 1]++;
	for (int byte = 0; byte < 255; byte++)
		starts[byte + 1] += starts[byte];
	for (int32_t i = 0; i < count; i++)
		to[starts[running_key(&from[i]) >> shift & 255]++] = from[i];
}

/*
 * Uses an insertion sort for few items, otherwise a radix sort; `spare` must have space for `count` items. With qsort()
 * a round in which all costs are new takes 1.2 times as long.
 */
static void sort_by_key(struct running *items, int32_t count, struct running *spare)
{
	struct running *from = items, *to = spare;
	uint64_t used = 0;

	if (count <= SORT_INSERTION) {
		for (int32_t i = 1; i < count; i++) {
			struct running moved = items[i];
			int32_t place = i;

			for (; place > 0 && running_key(&items[place - 1]) > running_key(&moved); place--)
				items[place] = items[place - 1];
			items[place] = moved;
		}
		return;
	}
	for (int32_t i = 0; i < count; i++)
		used |= running_key(&items[i]);
	for (int shift = 0; shift < 64; shift += 8) {
		if ((used >> shift & 255) == 0)
			continue;
		sort_by_byte(from, count, shift, to);
		struct running *sorted = to;

		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, (size_t)count * sizeof(*items));
}

/* Sorts the items by cost and column, and joins those with equal cost and column. Returns the number of items left. */
static int32_t sort_running(struct running *running, int32_t count, struct running *spare)
{
	int32_t kept = 0;

	sort_by_key(running, count, spare);
	for (int32_t i = 1; i < count; i++) {
		if (running_key(&running[i]) == running_key(&running[kept]))
			running[kept].units += running[i].units;
		else
			running[++kept] = running[i];
	}
	return count > 0 ? kept + 1 : 0;
}

/*
 * Inserts the limited arcs, starting with the most expensive. On entry, running[i].arc is the index of the arc's
 * reference, or NONE if it has none; on return, the index of the arc.
 */
static void insert_arcs(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	int32_t from = g->arc_count, to = g->arc_count + g->limited_count;

	g->arc_count = to;
	for (int32_t i = g->limited_count - 1; i >= 0; i--) {
		struct running running = g->running[i];
		bool full = running.flow >= running.units;
		int32_t back = running.arc;

		for (; from > 0 && g->arcs[from - 1].cost > running.cost; from--) {
			g->arcs[--to] = g->arcs[from - 1];
			g->links[to] = g->links[from - 1];
		}
		if (state->referenced && back == NONE)
			back = reference_link(state, group, running.column, full ? REFERENCE_FULL : running.cost);
		g->arcs[--to] = (struct arc){running.column, running.cost};
		g->running[i].arc = to;
		g->links[to] = (struct link){.place = back, .limited = 1, .full = full};
	}
}

/*
 * Builds items from the `count` entries of the caller's `running`; items with arcs of their own come first. Returns the
 * number of items with and without such arcs. `items` must have space for 2 * `count` items.
 */
static struct split build_items(struct structured *state, const struct group *g,
				const struct structured_running *running, int32_t count, struct running *items)
{
	int32_t limited = 0, remembered = count;
	struct split split;

	note_costs(state, g, running, count);
	for (int32_t i = 0; i < count; i++) {
		const struct structured_running *from = &running[i];
		int32_t plain = state->scratch.unplaced[from->column] - 1;

		if (plain <= from->cost)
			items[--remembered] = (struct running){from->column, plain, from->units, 0, NONE};
		else
			items[limited++] = (struct running){from->column, from->cost, from->units, 0, NONE};
	}
	for (int32_t i = 0; i < count; i++)
		state->scratch.unplaced[running[i].column] = 0;
	split.limited = sort_running(items, limited, items + count);
	split.others = sort_running(items + remembered, count - remembered, items + count);
	memmove(items + split.limited, items + remembered, (size_t)split.others * sizeof(*items));
	return split;
}

/*
 * Reserves space for `count` items in the scratch space, in `running` and among the arcs. Returns false if out of
 * memory.
 */
static bool reserve(struct structured *state, struct group *g, int32_t count)
{
	struct row_scratch *scratch = &state->scratch;
	struct running *fresh = array_reserve(scratch->running, 2 * (size_t)count + 1, &scratch->running_capacity,
					      sizeof(*fresh)),
		       *items = items_grow(state, g->running, &allocated_of(state, g)->running, count + 1,
					   sizeof(*items));

	scratch->running = fresh ? fresh : scratch->running;
	g->running = items ? items : g->running;
	if (!fresh || !items || !group_reserve_arcs(state, g, g->arc_count + count))
		state->no_memory = true;
	return !state->no_memory;
}

/* Copies the items in the scratch space to the group and inserts their arcs. */
static void take_items(struct structured *state, int32_t group, struct split split)
{
	struct group *g = &state->groups[group];

	memcpy(g->running, state->scratch.running, (size_t)(split.limited + split.others) * sizeof(*g->running));
	g->limited_count = split.limited;
	g->running_count = split.limited + split.others;
	insert_arcs(state, group);
}

bool running_add(struct structured *state, int32_t group, const struct structured_running *running, int32_t count)
{
	struct group *g = &state->groups[group];

	if (count == 0)
		return true;
	if (!reserve(state, g, count))
		return false;
	take_items(state, group, build_items(state, g, running, count, state->scratch.running));
	return !state->no_memory;
}

/*
 * One step of merging two lists that are in ascending order of cost, then column. If the heads of both lists have the
 * same cost and column, takes both. Otherwise takes the lesser head, and sets the other member of the pair to NULL.
 */
static void next_pair(struct running **old, const struct running *old_end, struct running **fresh,
		      const struct running *fresh_end, struct running *pair[2])
{
	uint64_t old_key = *old == old_end ? UINT64_MAX : running_key(*old),
		 fresh_key = *fresh == fresh_end ? UINT64_MAX : running_key(*fresh);

	pair[0] = old_key <= fresh_key ? (*old)++ : NULL;
	pair[1] = old_key >= fresh_key ? (*fresh)++ : NULL;
}

/* Marks the columns whose limited arcs change. */
static void mark_changed(struct structured *state, const struct group *g, struct running *fresh, int32_t count)
{
	struct running *old = g->running, *old_end = old + g->limited_count, *end = fresh + count, *pair[2];

	while (old < old_end || fresh < end) {
		next_pair(&old, old_end, &fresh, end, pair);
		if (!pair[0] || !pair[1] || pair[0]->units != pair[1]->units)
			state->scratch.unplaced[pair[pair[0] ? 0 : 1]->column] = 1;
	}
}

/*
 * Copies flow and reference from the old limited arcs to the new ones on columns that are not marked. Then clears the
 * marks.
 */
static void keep_unchanged(struct structured *state, const struct group *g, struct running *fresh, int32_t count)
{
	struct running *old = g->running, *old_end = old + g->limited_count, *end = fresh + count, *pair[2];

	while (old < old_end || fresh < end) {
		next_pair(&old, old_end, &fresh, end, pair);
		if (!pair[0] || !pair[1] || state->scratch.unplaced[pair[0]->column])
			continue;
		pair[1]->flow = pair[0]->flow;
		pair[1]->arc = g->links[pair[0]->arc].place;
		pair[0]->units = NONE;
	}
	for (old = g->running; old < old_end; old++)
		state->scratch.unplaced[old->column] = 0;
	for (fresh = end - count; fresh < end; fresh++)
		state->scratch.unplaced[fresh->column] = 0;
}

bool running_exchange(struct structured *state, int32_t group, const struct structured_running *running, int32_t count,
		      int32_t *detached)
{
	struct group *g = &state->groups[group];

	if (!reserve(state, g, count))
		return false;
	struct running *fresh = state->scratch.running;
	struct split split = build_items(state, g, running, count, fresh);

	mark_changed(state, g, fresh, split.limited);
	for (int32_t i = g->share_count - 1; i >= 0; i--)
		if (state->scratch.unplaced[g->shares[i].column])
			flow_detach(state, group, i, detached);
	keep_unchanged(state, g, fresh, split.limited);
	take_out(state, g);
	take_items(state, group, split);
	return !state->no_memory;
}

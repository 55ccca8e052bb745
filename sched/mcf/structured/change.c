/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces the arcs of some blocks in a row. The group's arcs are scanned once; arcs that stay keep their place,
 * reference and flow. The reference of an arc that only gets another cost keeps its place as well.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <base/array.h>

#include "structured_priv.h"

enum {
	CHANGE_MOST_ARCS = INT32_MAX / 8,
	CACHE_LINE = 64,
};

/* 0, -EINVAL or -ERANGE. Without branches: errors are rare. */
static int block_arcs_check(const struct structured *state, const struct block_arcs *arcs)
{
	const int32_t *column_blocks = state->column_blocks;
	uint32_t column_count = (uint32_t)state->column_count;
	bool dear = arcs->cost != ARC_ABSENT && !row_cost_legal(arcs->cost), wrong = false;

	if (arcs->block < 0 || arcs->block >= state->block_count || arcs->column_count < 0 ||
	    (arcs->column_count > 0 && column_count == 0))
		return -EINVAL;
	for (int32_t i = 0; i < arcs->column_count; i++) {
		uint32_t column = (uint32_t)arcs->columns[i].target;
		bool outside = column >= column_count;

		wrong |= outside | (column_blocks[outside ? 0 : column] != arcs->block);
		dear |= (uint32_t)arcs->columns[i].cost > STRUCTURED_COST_MAXIMUM;
	}
	return wrong ? -EINVAL : dear ? -ERANGE : 0;
}

/* 0, -EINVAL or -ERANGE; *arc_count is the number of arcs in the change. */
static int change_check(const struct structured *state, const struct structured_row_change *change, int32_t *arc_count)
{
	int64_t count = (int64_t)change->running_count + change->block_count;
	bool dear = false;

	if (change->block_count < 0 || change->running_count < 0)
		return -EINVAL;
	for (int32_t b = 0; b < change->block_count; b++) {
		int failed = block_arcs_check(state, &change->blocks[b]);

		if (failed == -EINVAL)
			return failed;
		dear |= failed != 0;
		count += change->blocks[b].column_count;
	}
	for (int32_t i = 0; i < change->running_count; i++) {
		const struct structured_running *running = &change->running[i];

		if (running->column < 0 || running->column >= state->column_count || running->units < 0)
			return -EINVAL;
		dear |= !row_cost_legal(running->cost);
	}
	if (count > CHANGE_MOST_ARCS)
		return -EINVAL;
	*arc_count = (int32_t)count;
	return dear ? -ERANGE : 0;
}

/* The cost below which a block's columns get arcs of their own: that of the cheapest shortcut. */
static int32_t column_limit(const struct group *group, const struct block_arcs *arcs)
{
	int32_t limit = group->aggregator_cost == ARC_ABSENT ? INT32_MAX : group->aggregator_cost;

	return arcs->cost != ARC_ABSENT && arcs->cost < limit ? arcs->cost : limit;
}

/* Sets row_cost of the blocks that change to the wanted arc's cost or ARC_ABSENT, and wanted[] of their columns. */
static void note_wanted(struct structured *state, const struct group *group, const struct structured_row_change *change)
{
	int32_t aggregator_cost = group->aggregator_cost == ARC_ABSENT ? INT32_MAX : group->aggregator_cost;

	int32_t *wanted = state->scratch.wanted;

	for (int32_t b = 0; b < change->block_count; b++) {
		const struct block_arcs *arcs = &change->blocks[b];
		struct block *block = &state->blocks[arcs->block];
		int32_t limit = column_limit(group, arcs), members = block->member_count;

		block->row_cost = arcs->cost != ARC_ABSENT && arcs->cost < aggregator_cost ? arcs->cost : ARC_ABSENT;
		for (int32_t i = 0; i < members; i++)
			wanted[block->members[i]] = NONE;
		for (int32_t i = 0; i < arcs->column_count; i++)
			wanted[arcs->columns[i].target] =
				arcs->columns[i].cost < limit ? arcs->columns[i].cost + 1 : NONE;
	}
}

static void forget_wanted(struct structured *state, const struct structured_row_change *change)
{
	int32_t *wanted = state->scratch.wanted;

	for (int32_t b = 0; b < change->block_count; b++) {
		struct block *block = &state->blocks[change->blocks[b].block];
		int32_t members = block->member_count;

		block->row_cost = INT32_MAX;
		for (int32_t i = 0; i < members; i++)
			wanted[block->members[i]] = 0;
	}
}

/*
 * Moves the arcs that leave to the scratch, the others close up; returns the number that left. An arc to a column that
 * is gone leaves as well: a row that had it would be set again when the column comes back. The cost of an arc that
 * stays is no longer wanted. Without branches on what stays, which are unpredictable.
 */
static int32_t part_group(struct structured *state, struct group *g)
{
	struct parted_arc *left = state->scratch.left;
	int32_t kept = 0, left_count = 0, count = g->arc_count;

	for (int32_t i = 0; i < count; i++) {
		struct arc arc = g->arcs[i];
		struct link link = g->links[i];
		int32_t *wanted =
			arc.target >= 0 ? &state->scratch.wanted[arc.target] : &state->blocks[~arc.target].row_cost;
		bool changes = *wanted != (arc.target >= 0 ? 0 : INT32_MAX);
		bool stays = *wanted == arc.cost + (arc.target >= 0);

		*wanted = stays ? NONE : *wanted;
		left[left_count] = (struct parted_arc){arc.target, link.place};
		g->arcs[kept] = arc;
		g->links[kept] = link;
		left_count += changes & !stays;
		kept += !changes | stays;
	}
	g->arc_count = kept;
	return left_count;
}

/* The wanted cost of the arc to the target, or ARC_ABSENT; clears it. */
static int32_t take_wanted(struct structured *state, int32_t target)
{
	int32_t *wanted = target >= 0 ? &state->scratch.wanted[target] : &state->blocks[~target].row_cost;
	int32_t cost = target < 0 ? *wanted : *wanted > 0 ? *wanted - 1 : ARC_ABSENT;

	*wanted = target < 0 ? ARC_ABSENT : NONE;
	return cost;
}

/* Unlinks the reference of an arc that left, or gives it the new cost. */
static void change_reference(struct structured *state, const struct parted_arc *left, int32_t cost)
{
	if (cost != ARC_ABSENT)
		reference_list_of(state, left->target)->items[left->back].cost = cost;
	else
		reference_unlink(state, left->target, left->back);
}

/* Lists the arcs that left and return at another cost, with their references; returns the number. */
static int32_t collect_repriced(struct structured *state, int32_t leaving)
{
	const struct parted_arc *left = state->scratch.left;
	struct row_arc *arcs = state->scratch.arcs;
	bool referenced = state->referenced;
	int32_t count = 0;

	for (int32_t i = 0; i < leaving && referenced; i++)
		__builtin_prefetch(&reference_list_of(state, left[i].target)->items[left[i].back], 1);
	for (int32_t i = 0; i < leaving; i++) {
		struct parted_arc arc = left[i];
		int32_t cost = take_wanted(state, arc.target);

		if (referenced)
			change_reference(state, &arc, cost);
		arcs[count] = (struct row_arc){arc.target, cost, arc.back};
		count += cost != ARC_ABSENT;
	}
	return count;
}

/* Appends the new arcs to `count` arcs in the scratch; returns the total. */
static int32_t collect_coming(struct structured *state, int32_t group, const struct structured_row_change *change,
			      int32_t count)
{
	struct row_arc *arcs = state->scratch.arcs;
	const int32_t *wanted = state->scratch.wanted;
	int32_t first = count;

	for (int32_t b = 0; b < change->block_count; b++) {
		const struct block_arcs *from = &change->blocks[b];
		int32_t cost = take_wanted(state, ~from->block);

		if (cost != ARC_ABSENT)
			arcs[count++] = (struct row_arc){~from->block, cost, NONE};
		for (int32_t i = 0; i < from->column_count; i++) {
			int32_t column = from->columns[i].target;

			arcs[count].target = column;
			count += wanted[column] > 0;
		}
	}
	for (int32_t i = first; i < count && state->referenced; i++)
		reference_fetch(state, arcs[i].target, NONE);
	for (int32_t i = first; i < count; i++) {
		if (arcs[i].target >= 0)
			arcs[i].cost = wanted[arcs[i].target] - 1;
		arcs[i].back = state->referenced ? reference_link(state, group, arcs[i].target, arcs[i].cost) : NONE;
	}
	return count;
}

/* Moves arcs first..end-1 up by `places`. */
static void move_up(struct group *g, int32_t first, int32_t end, int32_t places)
{
	memmove(g->arcs + first + places, g->arcs + first, (size_t)(end - first) * sizeof(*g->arcs));
	memmove(g->links + first + places, g->links + first, (size_t)(end - first) * sizeof(*g->links));
}

/*
 * Merges `coming`, which ascends, into the group's arcs, from the most expensive on: arcs before all of them are not
 * touched. Costs are few: arcs of equal cost are inserted together.
 */
static void merge_arcs(struct group *g, const struct row_arc *coming, int32_t count)
{
	int32_t kept = g->arc_count;

	g->arc_count = kept + count;
	while (count > 0) {
		int32_t cost = coming[count - 1].cost, place = group_first_arc(g, 0, kept, cost + 1);

		move_up(g, place, kept, count);
		for (; count > 0 && coming[count - 1].cost == cost; count--) {
			g->arcs[place + count - 1] = (struct arc){coming[count - 1].target, cost};
			g->links[place + count - 1] = (struct link){.place = coming[count - 1].back};
		}
		kept = place;
	}
}

/* Marks the columns with limited arcs, old and new: their capacity may change. */
static void mark_running(struct structured *state, const struct group *g, const struct structured_row_change *change)
{
	for (int32_t i = 0; i < g->limited_count; i++)
		state->scratch.unplaced[g->running[i].column] = 1;
	for (int32_t i = 0; i < change->running_count; i++)
		state->scratch.unplaced[change->running[i].column] = 1;
}

static void forget_running(struct structured *state, const struct group *g, const struct structured_row_change *change)
{
	for (int32_t i = 0; i < g->limited_count; i++)
		state->scratch.unplaced[g->running[i].column] = 0;
	for (int32_t i = 0; i < change->running_count; i++)
		state->scratch.unplaced[change->running[i].column] = 0;
}

/* Cost of the cheapest unlimited arc or shortcut to the column after the change; ARC_ABSENT if there is none. */
static int32_t wanted_cost(const struct structured *state, const struct group *g, int32_t column)
{
	int32_t shortcut = state->blocks[state->column_blocks[column]].row_cost;

	if (state->scratch.wanted[column] > 0)
		return state->scratch.wanted[column] - 1;
	return shortcut == ARC_ABSENT ? g->aggregator_cost : shortcut;
}

static bool share_is_alone(const struct group *g, int32_t place)
{
	int32_t column = g->shares[place].column;

	return (place == 0 || g->shares[place - 1].column != column) &&
	       (place == g->share_count - 1 || g->shares[place + 1].column != column);
}

/*
 * Units whose arcs may change stay on their columns: with the new cost where it is known, detached otherwise. Returns
 * the number of detached shares.
 */
static int32_t detach_flow(struct structured *state, int32_t group, const struct structured_row_change *change)
{
	const struct group *g = &state->groups[group];
	int32_t count = 0;

	mark_running(state, g, change);
	for (int32_t i = g->share_count - 1; i >= 0; i--) {
		const struct structured_share *share = &g->shares[i];
		bool limited = state->scratch.unplaced[share->column] != 0;

		if (!limited && state->scratch.wanted[share->column] == 0)
			continue;
		int32_t cost = limited ? ARC_ABSENT : wanted_cost(state, g, share->column);

		if (cost == share->cost)
			continue;
		if (cost != ARC_ABSENT && share_is_alone(g, i))
			flow_reprice(state, group, i, cost);
		else
			row_detach_share(state, group, i, count++);
	}
	forget_running(state, g, change);
	return count;
}

static int install_change(struct structured *state, int32_t group, const struct structured_row_change *change,
			  int32_t arc_count)
{
	struct group *g = &state->groups[group];

	int32_t most = g->arc_count + arc_count;

	struct parted_arc *left = array_reserve(state->scratch.left, (size_t)g->arc_count + 1,
						&state->scratch.left_capacity, sizeof(*left));

	state->scratch.left = left ? left : state->scratch.left;
	if (!left || row_reserve_scratch(state, most + arc_count, g->share_count))
		return -ENOMEM;
	struct row_arc *coming = state->scratch.arcs + most;
	bool was_changed = g->in_changed_list;

	for (int32_t i = 0; i < g->share_count; i++)
		__builtin_prefetch(state->columns[g->shares[i].column].entries, 1);
	note_wanted(state, g, change);
	int32_t held_count = detach_flow(state, group, change);

	state->arc_total -= g->arc_count;
	running_drop(state, group);
	int32_t count = collect_repriced(state, part_group(state, g));

	count = collect_coming(state, group, change, count);
	forget_wanted(state, change);
	row_sort_arcs(state->scratch.arcs, count, coming);
	if (!group_reserve_arcs(state, g, g->arc_count, g->arc_count + count))
		return -ENOMEM;
	merge_arcs(g, coming, count);
	if (!running_add(state, group, change->running, change->running_count))
		return -ENOMEM;
	state->arc_total += g->arc_count;
	row_attach_flow(state, group, held_count, was_changed);
	return 0;
}

int structured_change_row(struct structured *state, int32_t group, const struct structured_row_change *change)
{
	int32_t arc_count;

	if (group < 0 || group >= state->group_count || !state->groups[group].exists)
		return -EINVAL;
	int failed = change_check(state, change, &arc_count);

	if (!failed)
		failed = install_change(state, group, change, arc_count);
	if (failed)
		return failed;
	group_reprice(state, group);
	return state->no_memory ? -ENOMEM : 0;
}

void structured_fetch(const struct structured *state, int32_t group)
{
	if (group >= 0 && group < state->group_count) {
		__builtin_prefetch(&state->groups[group], 1);
		__builtin_prefetch((const char *)&state->groups[group] + CACHE_LINE, 1);
	}
}

void structured_fetch_columns(const struct structured *state, int32_t group)
{
	enum { MOST_SHARES = 24 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < least(g->share_count, MOST_SHARES); i++)
		__builtin_prefetch(&state->columns[g->shares[i].column], 1);
}

/* The first lines only: the hardware prefetcher continues. */
void structured_fetch_arcs(const struct structured *state, int32_t group)
{
	enum { LINES = 8 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];

	for (int line = 0; line < LINES; line++)
		__builtin_prefetch((const char *)g->arcs + (ptrdiff_t)line * CACHE_LINE);
	for (int line = 0; line < LINES / 2; line++)
		__builtin_prefetch((const char *)g->links + (ptrdiff_t)line * CACHE_LINE);
	structured_fetch_shares(state, group);
}

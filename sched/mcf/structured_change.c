/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few blocks' arcs of a row for others. The group's arcs are walked once; the arcs to these blocks leave, the new
 * ones, sorted, are merged in. A reference whose arc only costs something else now stays at its place.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "structured_priv.h"

enum { CHANGE_MOST_ARCS = INT32_MAX / 8, CACHE_LINE = 64 };

/* 0, -EINVAL or -ERANGE; *arc_count is how many arcs the change names. */
static int change_check(const struct structured *state, const struct structured_row_change *change, int32_t *arc_count)
{
	int64_t count = (int64_t)change->running_count + change->block_count;
	bool dear = false;

	if (change->block_count < 0 || change->running_count < 0)
		return -EINVAL;
	for (int32_t b = 0; b < change->block_count; b++) {
		const struct structured_block_arcs *arcs = &change->blocks[b];

		if (arcs->block < 0 || arcs->block >= state->block_count || arcs->column_count < 0)
			return -EINVAL;
		dear |= arcs->cost != STRUCTURED_NO_ARC && !row_cost_legal(arcs->cost);
		for (int32_t i = 0; i < arcs->column_count; i++) {
			int32_t column = arcs->columns[i].target;

			if (column < 0 || column >= state->column_count || state->columns[column].block != arcs->block)
				return -EINVAL;
			dear |= !row_cost_legal(arcs->columns[i].cost);
		}
		count += arcs->column_count;
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

/* The new arcs of unlimited capacity, but for those that a shortcut matches, into the scratch; how many. */
static int32_t collect_new(struct structured *state, const struct group *group,
			   const struct structured_row_change *change)
{
	int32_t aggregator_cost = group->aggregator_cost == STRUCTURED_NO_ARC ? INT32_MAX : group->aggregator_cost;
	struct row_arc *arcs = state->row_arcs;
	int32_t count = 0;

	for (int32_t b = 0; b < change->block_count; b++) {
		const struct structured_block_arcs *from = &change->blocks[b];
		int32_t limit = aggregator_cost;

		if (from->cost != STRUCTURED_NO_ARC && from->cost < limit) {
			arcs[count++] = (struct row_arc){~from->block, from->cost, NONE, NONE};
			limit = from->cost;
		}
		for (int32_t i = 0; i < from->column_count; i++) {
			arcs[count] = (struct row_arc){from->columns[i].target, from->columns[i].cost, NONE, NONE};
			count += from->columns[i].cost < limit;
		}
	}
	return count;
}

/* Blocks of the change have another row_cost than INT32_MAX, their columns a mark. */
static void mark_blocks(struct structured *state, const struct structured_row_change *change, bool mark)
{
	for (int32_t b = 0; b < change->block_count; b++) {
		struct block *block = &state->blocks[change->blocks[b].block];

		block->row_cost = mark ? 0 : INT32_MAX;
		for (int32_t i = 0; i < block->member_count; i++)
			state->column_leaves[block->members[i]] = mark;
	}
}

/* An arc to a column that is gone leaves as well: a row that had it would be told again when it comes back. */
static bool arc_leaves(const struct structured *state, int32_t target)
{
	return target >= 0 ? state->column_leaves[target] : state->blocks[~target].row_cost != INT32_MAX;
}

/* Where the old arc to a target is noted, as place + 1. */
static int32_t *old_place(struct structured *state, int32_t target)
{
	return target >= 0 ? &state->held[target] : &state->blocks[~target].row_cost;
}

/*
 * Arcs that leave, limited ones among them, into row_places; the others are noted by their targets. How many. Those
 * that stay forget how many units run there.
 */
static int32_t note_leaving(struct structured *state, const struct group *group)
{
	const struct arc *arcs = group->arcs;
	struct use *uses = group->uses;
	int32_t *places = state->row_places;
	int32_t count = 0;

	for (int32_t i = 0; i < group->arc_fixed; i++) {
		places[count] = i;
		if (uses[i].capacity >= 0 || arc_leaves(state, arcs[i].target))
			count++;
		else
			uses[i].capacity = NONE;
	}
	for (int32_t i = 0; i < count; i++) {
		int32_t target = arcs[places[i]].target;

		if (uses[places[i]].capacity < 0)
			*old_place(state, target) = places[i] + 1;
		if (state->referenced)
			reference_fetch(state, target, uses[places[i]].back);
	}
	return count;
}

/* The new arc to a target that the group led to before takes over the reference of the old one. */
static void take_references(struct structured *state, const struct group *group, struct row_arc *added, int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		int32_t *place = old_place(state, added[i].target);

		if (*place == 0)
			continue;
		added[i].back = group->uses[*place - 1].back;
		if (added[i].cost != group->arcs[*place - 1].cost)
			reference_reprice(state, &added[i]);
		*place = 0;
	}
}

/* The references of the `left_count` arcs in row_places pass to those in `added`; what is then over goes or comes. */
static void change_references(struct structured *state, int32_t group, struct row_arc *added, int32_t count,
			      int32_t left_count)
{
	const struct group *g = &state->groups[group];

	if (state->referenced)
		take_references(state, g, added, count);
	for (int32_t i = 0; i < left_count; i++) {
		const struct use *use = &g->uses[state->row_places[i]];
		int32_t target = g->arcs[state->row_places[i]].target;
		bool over = use->capacity >= 0;

		if (!over) {
			over = *old_place(state, target) != 0;
			*old_place(state, target) = 0;
		}
		if (over && state->referenced)
			reference_unlink(state, target, use->back);
	}
	for (int32_t i = 0; i < count && state->referenced; i++)
		if (added[i].back == NONE)
			added[i].back = reference_link(state, group, &added[i]);
}

/* Arcs first..end-1 of the group, which stay, and those of `added` from *next on that come before them, to `to`. */
static struct row_arc *merge_run(const struct group *group, int32_t first, int32_t end, const struct row_arc *added,
				 int32_t added_count, int32_t *next, struct row_arc *to)
{
	const struct arc *arcs = group->arcs;

	while (first < end) {
		while (*next < added_count && added[*next].cost < arcs[first].cost)
			*to++ = added[(*next)++];
		int32_t before = *next < added_count ? added[*next].cost : INT32_MAX;

		for (; first < end && arcs[first].cost <= before; first++)
			*to++ = (struct row_arc){arcs[first].target, arcs[first].cost, group->uses[first].capacity,
						 group->uses[first].back};
	}
	return to;
}

/* The group's arcs but for those in row_places, with `added`, both ascending, into `to`; how many. */
static int32_t merge_arcs(const struct structured *state, const struct group *group, int32_t left_count,
			  const struct row_arc *added, int32_t added_count, struct row_arc *to)
{
	struct row_arc *end = to;
	int32_t next = 0, first = 0;

	for (int32_t i = 0; i < left_count; i++) {
		end = merge_run(group, first, state->row_places[i], added, added_count, &next, end);
		first = state->row_places[i] + 1;
	}
	end = merge_run(group, first, group->arc_fixed, added, added_count, &next, end);
	memcpy(end, added + next, (size_t)(added_count - next) * sizeof(*to));
	return (int32_t)(end - to) + added_count - next;
}

static int install_change(struct structured *state, int32_t group, const struct structured_row_change *change,
			  int32_t arc_count)
{
	struct group *g = &state->groups[group];

	if (!list_reserve((void **)&state->row_places, &state->row_place_room, g->arc_fixed + 1,
			  sizeof(*state->row_places)) ||
	    row_reserve_scratch(state, 3 * arc_count + g->arc_fixed, g->arc_count))
		return -ENOMEM;
	bool was_changed = g->in_changed_list;
	int32_t held_count = state->solved ? row_detach_flow(state, group) : 0;
	int32_t added_count = collect_new(state, g, change);
	struct row_arc *added = state->row_arcs + arc_count, *fresh = added + arc_count;

	row_sort_arcs(state->row_arcs, added_count, added);
	mark_blocks(state, change, true);
	int32_t left_count = note_leaving(state, g);

	change_references(state, group, added, added_count, left_count);
	mark_blocks(state, change, false);
	int32_t count = merge_arcs(state, g, left_count, added, added_count, fresh);

	count = row_add_running(state, group, fresh, count, change->running, change->running_count);
	return row_replace_arcs(state, group, fresh, count, held_count, was_changed);
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

/* The first few lines: the processor sees where it goes from there. */
void structured_fetch_arcs(const struct structured *state, int32_t group)
{
	enum { LINES = 8 };

	if (group < 0 || group >= state->group_count)
		return;
	for (int line = 0; line < LINES; line++) {
		__builtin_prefetch((const char *)state->groups[group].arcs + (ptrdiff_t)line * CACHE_LINE);
		__builtin_prefetch((const char *)state->groups[group].uses + (ptrdiff_t)line * CACHE_LINE);
	}
}

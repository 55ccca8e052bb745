/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Installs rows of arcs, in ascending order of cost. Flow stays on its columns at the cost of the new arcs; units whose
 * arcs became too expensive become excess.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "structured_priv.h"

enum { SORT_INSERTION = 16, SORT_SPAN = 2048 };

bool row_cost_legal(int32_t cost)
{
	return cost >= 0 && cost <= STRUCTURED_COST_MAXIMUM;
}

/* Checks the numbers and reserves the tables for every id in the row. Returns 0, -EINVAL, -ERANGE or -ENOMEM. */
static int row_check(struct structured *state, const struct structured_row *row)
{
	int32_t column_top = NONE, block_top = NONE;
	bool dear = false, wrong = row->column_count < 0 || row->block_count < 0 || row->running_count < 0;

	for (int32_t i = 0; i < row->column_count; i++) {
		wrong |= row->columns[i].target < 0;
		dear |= !row_cost_legal(row->columns[i].cost);
		column_top = row->columns[i].target > column_top ? row->columns[i].target : column_top;
	}
	for (int32_t i = 0; i < row->block_count; i++) {
		wrong |= row->blocks[i].target < 0;
		dear |= !row_cost_legal(row->blocks[i].cost);
		block_top = row->blocks[i].target > block_top ? row->blocks[i].target : block_top;
	}
	for (int32_t i = 0; i < row->running_count; i++) {
		wrong |= row->running[i].column < 0 || row->running[i].units < 0;
		dear |= !row_cost_legal(row->running[i].cost);
		column_top = row->running[i].column > column_top ? row->running[i].column : column_top;
	}
	dear |= row->aggregator_cost != ARC_ABSENT && !row_cost_legal(row->aggregator_cost);
	dear |= row->unscheduled_cost != ARC_ABSENT && !row_cost_legal(row->unscheduled_cost);
	wrong |= row->unscheduled_cost != ARC_ABSENT && row->unscheduled_capacity < 0;
	wrong |= column_top > INT32_MAX / 4 || block_top > INT32_MAX / 4;
	wrong |= (int64_t)row->column_count + row->block_count + row->running_count > ROW_MOST_ARCS;
	if (wrong)
		return -EINVAL;
	if (dear)
		return -ERANGE;
	if (state_reserve_columns(state, column_top + 1) || state_reserve_blocks(state, block_top + 1))
		return -ENOMEM;
	return 0;
}

static int compare_arcs(const void *left, const void *right)
{
	const struct row_arc *a = left, *b = right;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return a->target < b->target ? -1 : a->target > b->target;
}

/*
 * Sorts by cost. The sort is stable for few arcs and for a small span of costs, the usual case with a threshold on
 * costs. With qsort() alone a first solve takes 1.35 times as long, rounds with wide rows 1.2 times.
 */
static void sort_arcs(const struct row_arc *from, int32_t count, struct row_arc *to)
{
	int32_t least = INT32_MAX, most = 0, starts[SORT_SPAN + 1];

	for (int32_t i = 0; i < count; i++) {
		least = from[i].cost < least ? from[i].cost : least;
		most = from[i].cost > most ? from[i].cost : most;
	}
	if (count <= SORT_INSERTION) {
		for (int32_t i = 0; i < count; i++) {
			int32_t place = i;

			for (; place > 0 && to[place - 1].cost > from[i].cost; place--)
				to[place] = to[place - 1];
			to[place] = from[i];
		}
		return;
	}
	if (most - least >= SORT_SPAN) {
		memcpy(to, from, (size_t)count * sizeof(*to));
		qsort(to, (size_t)count, sizeof(*to), compare_arcs);
		return;
	}
	memset(starts, 0, (size_t)(most - least + 2) * sizeof(*starts));
	for (int32_t i = 0; i < count; i++)
		starts[from[i].cost - least + 1]++;
	for (int32_t i = 0; i < most - least; i++)
		starts[i + 1] += starts[i];
	for (int32_t i = 0; i < count; i++)
		to[starts[from[i].cost - least]++] = from[i];
}

/*
 * Returns the cost of the cheaper shortcut to the column: over its block or over the aggregator. Reads row_cost, which
 * the caller must have set for all blocks of the row.
 */
static int32_t noted_cost(const struct structured *state, int32_t column, int32_t aggregator_cost)
{
	int32_t block = state->column_blocks[column];

	return block != NONE && state->blocks[block].row_cost < aggregator_cost ? state->blocks[block].row_cost
										: aggregator_cost;
}

/* Lists the arcs that cost less than every shortcut to their target. Returns their number. */
static int32_t collect_arcs(struct structured *state, const struct structured_row *row)
{
	struct row_arc *arcs = state->scratch.arcs;
	int32_t count = 0, aggregator_cost = row->aggregator_cost == ARC_ABSENT ? INT32_MAX : row->aggregator_cost;

	for (int32_t i = 0; i < row->block_count; i++) {
		const struct arc *from = &row->blocks[i];

		if (from->cost < aggregator_cost)
			arcs[count++] = (struct row_arc){~from->target, from->cost, NONE};
		state->blocks[from->target].row_cost = from->cost;
	}
	for (int32_t i = 0; i < row->column_count; i++) {
		const struct arc *from = &row->columns[i];

		arcs[count] = (struct row_arc){from->target, from->cost, NONE};
		count += from->cost < noted_cost(state, from->target, aggregator_cost);
	}
	for (int32_t i = 0; i < row->block_count; i++)
		state->blocks[row->blocks[i].target].row_cost = INT32_MAX;
	return count;
}

/*
 * True if a change of this part of a row removes the arc to `target`. An arc to a removed column is always removed. Do
 * not call it for ROW_RUNNING, which removes no unlimited arc.
 */
static inline bool arc_leaves(const struct structured *state, int32_t target, enum row_part part)
{
	int32_t block = target < 0 ? ~target : state->column_blocks[target];

	return part == ROW_WHOLE || block == NONE || state->blocks[block].changes;
}

static void mark_running(struct structured *state, const struct group *g, int32_t limited,
			 const struct structured_running *running, int32_t count, int32_t mark)
{
	for (int32_t i = 0; i < limited; i++)
		state->scratch.unplaced[g->running[i].column] = mark;
	for (int32_t i = 0; i < count; i++)
		state->scratch.unplaced[running[i].column] = mark;
}

/*
 * Drops the group's running arcs, then detaches the shares that the change may affect, and returns their number. In
 * this order, the flow of the running arcs needs no update.
 */
static int32_t detach_flow(struct structured *state, int32_t group, enum row_part part,
			   const struct structured_running *running, int32_t running_count)
{
	const struct group *g = &state->groups[group];
	int32_t count = 0, limited = g->limited_count;

	for (int32_t i = 0; i < g->share_count; i++)
		__builtin_prefetch(state->columns[g->shares[i].column].entries, 1);
	mark_running(state, g, limited, running, running_count, 1);
	running_drop(state, group);
	for (int32_t i = g->share_count - 1; i >= 0; i--) {
		int32_t column = g->shares[i].column;

		if (!state->scratch.unplaced[column] && !arc_leaves(state, column, part))
			continue;
		flow_detach(state, group, i, &count);
	}
	mark_running(state, g, limited, running, running_count, 0);
	return count;
}

static int32_t shortcut_cost(const struct structured *state, const struct group *group, int32_t column)
{
	int32_t cost = group->aggregator_cost == ARC_ABSENT ? INT32_MAX : group->aggregator_cost;

	for (int32_t i = 0; i < group->arc_count && group->arcs[i].cost < cost; i++)
		if (group->arcs[i].target == ~state->column_blocks[column])
			return group->arcs[i].cost;
	return cost;
}

/*
 * Assigns the units of the `held_count` detached shares to the group's cheapest arcs to their columns. If a unit has no
 * arc to its column any more, it becomes excess.
 */
static void attach_flow(struct structured *state, int32_t group, int32_t held_count)
{
	const struct group *g = &state->groups[group];
	int32_t left = 0, limited = 0;

	for (int32_t i = 0; i < held_count; i++) {
		state->scratch.unplaced[state->scratch.detached[i].column] += state->scratch.detached[i].units;
		left += state->scratch.detached[i].units;
	}
	for (int32_t arc = 0; left > 0 && arc < g->arc_count; arc++) {
		int32_t target = g->arcs[arc].target;

		if (target < 0 || state->scratch.unplaced[target] == 0 || !arc_has_residual(g, arc))
			continue;
		while (limited < g->limited_count && g->running[limited].arc < arc)
			limited++;
		bool own = limited < g->limited_count && g->running[limited].arc == arc;
		int32_t room = own ? g->running[limited].units - g->running[limited].flow : INT32_MAX;
		int32_t units = least(room, state->scratch.unplaced[target]);

		state->scratch.unplaced[target] -= units;
		left -= units;
		flow_attach(state, group, target, g->arcs[arc].cost, units, own ? limited : NONE);
	}
	for (int32_t i = 0; i < held_count; i++) {
		int32_t column = state->scratch.detached[i].column, units = state->scratch.unplaced[column];

		if (units == 0)
			continue;
		state->scratch.unplaced[column] = 0;
		int32_t cost = shortcut_cost(state, g, column);

		if (cost != INT32_MAX) {
			flow_attach(state, group, column, cost, units, limited_find(g, column, cost));
			continue;
		}
		column_free(state, column, units);
		group_add_excess(state, group, units);
	}
	if (held_count > 0)
		flow_drop_detached(state, group);
}

/*
 * Assigns excess units to the group's limited arcs with residual capacity, where the caller says that these units run.
 * If such an arc stayed unused, it would lower the group's price, and every unit at a higher cost would have to leave
 * its column and return.
 */
static void attach_excess(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->limited_count && g->excess > 0; i++) {
		struct running running = g->running[i];
		int32_t units =
			least(g->excess, least(running.units - running.flow, state->free_slots[running.column]));

		if (units <= 0)
			continue;
		column_fill(state, running.column, units);
		flow_add(state, group, running.column, running.cost, units);
		g->excess -= units;
	}
}

int row_reserve(struct structured *state, int32_t group, int32_t arcs)
{
	const struct group *g = &state->groups[group];
	struct row_scratch *scratch = &state->scratch;
	struct row_arc *both = array_reserve(scratch->arcs, 2 * (size_t)arcs + (size_t)g->arc_count + 1,
					     &scratch->arc_capacity, sizeof(*both));
	struct structured_share *detached = array_reserve(scratch->detached, (size_t)g->share_count,
							  &scratch->detached_capacity, sizeof(*detached));

	scratch->arcs = both ? both : scratch->arcs;
	scratch->detached = detached ? detached : scratch->detached;
	return both && detached ? 0 : -ENOMEM;
}

static inline struct wanted *wanted_of(struct structured *state, int32_t target)
{
	return target >= 0 ? &state->scratch.wanted[target] : &state->blocks[~target].wanted;
}

/*
 * Moves the arcs that the change removes to `left`, closes the gaps, and returns the number of arcs moved. An arc that
 * is also among the new ones, at the same cost, stays, and its entry in wanted[] is cleared. Branch-free, as it is
 * unpredictable which arcs stay.
 */
static int32_t part_arcs(struct structured *state, struct group *g, enum row_part part, struct row_arc *left)
{
	int32_t kept = 0, left_count = 0, count = g->arc_count;

	for (int32_t i = 0; i < count; i++) {
		struct arc arc = g->arcs[i];
		struct link link = g->links[i];
		struct wanted *wanted;

		g->arcs[kept] = arc;
		g->links[kept] = link;
		if (!arc_leaves(state, arc.target, part)) {
			kept++;
			continue;
		}
		wanted = wanted_of(state, arc.target);
		bool same = wanted->cost == arc.cost;

		wanted->cost = same ? NONE : wanted->cost;
		left[left_count] = (struct row_arc){arc.target, arc.cost, link.place};
		left_count += !same;
		kept += same;
	}
	g->arc_count = kept;
	return left_count;
}

/*
 * Updates the references of the `count` removed arcs in `left`. If a new arc has the same target, it takes over the
 * reference, which gets the new cost; the other references are unlinked.
 */
static void relink_left(struct structured *state, const struct row_arc *left, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		reference_fetch(state, left[i].target, left[i].back);
	for (int32_t i = 0; i < count; i++) {
		struct wanted *wanted = wanted_of(state, left[i].target);

		if (wanted->cost != NONE) {
			wanted->back = left[i].back;
			reference_list_of(state, left[i].target)->items[left[i].back].cost = wanted->cost;
		} else {
			reference_unlink(state, left[i].target, left[i].back);
		}
	}
}

/*
 * Keeps in the scratch space only the arcs that the group does not have yet, and links references for them. Returns the
 * number of these arcs.
 */
static int32_t link_coming(struct structured *state, int32_t group, int32_t count)
{
	struct row_arc *arcs = state->scratch.arcs;
	int32_t kept = 0;

	for (int32_t i = 0; i < count; i++) {
		struct wanted *wanted = wanted_of(state, arcs[i].target);

		arcs[kept] = (struct row_arc){arcs[i].target, arcs[i].cost, wanted->back};
		kept += wanted->cost != NONE;
		*wanted = (struct wanted){NONE, NONE};
	}
	for (int32_t i = 0; i < kept && state->referenced; i++)
		if (arcs[i].back == NONE)
			reference_fetch(state, arcs[i].target, NONE);
	for (int32_t i = 0; i < kept && state->referenced; i++)
		if (arcs[i].back == NONE)
			arcs[i].back = reference_link(state, group, arcs[i].target, arcs[i].cost);
	return kept;
}

/* Moves arcs first..end-1 up by `places`. */
static void move_up(struct group *g, int32_t first, int32_t end, int32_t places)
{
	memmove(g->arcs + first + places, g->arcs + first, (size_t)(end - first) * sizeof(*g->arcs));
	memmove(g->links + first + places, g->links + first, (size_t)(end - first) * sizeof(*g->links));
}

/*
 * Merges `coming`, which is in ascending order of cost, into the group's arcs, starting with the most expensive: arcs
 * that are cheaper than all of `coming` are not touched. There are few different costs, so arcs of equal cost are
 * inserted together.
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

/*
 * Replaces the arcs that the change removes by the `count` arcs in the scratch space. Returns false if out of memory.
 */
static bool replace_arcs(struct structured *state, int32_t group, enum row_part part, int32_t count)
{
	struct row_arc *arcs = state->scratch.arcs, *sorted = arcs + count;
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < count; i++)
		wanted_of(state, arcs[i].target)->cost = arcs[i].cost;
	int32_t leaving = part_arcs(state, g, part, sorted);

	if (state->referenced)
		relink_left(state, sorted, leaving);
	count = link_coming(state, group, count);
	sort_arcs(arcs, count, sorted);
	if (!group_reserve_arcs(state, g, g->arc_count + count))
		return false;
	merge_arcs(g, sorted, count);
	return true;
}

int row_install(struct structured *state, int32_t group, enum row_part part, int32_t count,
		const struct structured_running *running, int32_t running_count)
{
	struct group *g = &state->groups[group];
	int32_t excess = g->excess, detached = 0;
	bool was_changed = g->in_changed_list, done;

	state->arc_total -= g->arc_count;
	if (part == ROW_RUNNING) {
		done = running_exchange(state, group, running, running_count, &detached);
	} else {
		detached = detach_flow(state, group, part, running, running_count);
		done = replace_arcs(state, group, part, count) && running_add(state, group, running, running_count);
	}
	if (!done)
		return -ENOMEM;
	state->arc_total += g->arc_count;
	g->slot_epoch = state->slot_epoch - 1;
	attach_flow(state, group, detached);
	if (!was_changed && g->in_changed_list && g->excess == excess) {
		/* No unit has moved: the answer is unchanged. */
		g->in_changed_list = false;
		state->changed_list.count--;
	}
	attach_excess(state, group);
	return 0;
}

static void set_unscheduled(struct structured *state, int32_t group, int32_t cost, int32_t capacity)
{
	struct group *g = &state->groups[group];

	g->unscheduled_cost = cost == ARC_ABSENT ? 0 : cost;
	g->unscheduled_capacity = cost == ARC_ABSENT ? 0 : capacity;
	if (g->unscheduled_flow > g->unscheduled_capacity) {
		group_add_excess(state, group, g->unscheduled_flow - g->unscheduled_capacity);
		g->unscheduled_flow = g->unscheduled_capacity;
		group_changed(state, group);
	}
}

static bool group_exists(const struct structured *state, int32_t group)
{
	return group >= 0 && group < state->group_count && state->groups[group].exists;
}

int structured_set_row(struct structured *state, int32_t group, const struct structured_row *row)
{
	if (group < 0 || group > INT32_MAX / 4)
		return -EINVAL;
	int failed = row_check(state, row);

	if (failed)
		return failed;
	if (state_reserve_groups(state, group + 1))
		return -ENOMEM;
	state->groups[group].exists = true;
	state->groups[group].aggregator_cost = row->aggregator_cost;
	if (row_reserve(state, group, row->column_count + row->block_count) ||
	    row_install(state, group, ROW_WHOLE, collect_arcs(state, row), row->running, row->running_count))
		return -ENOMEM;
	set_unscheduled(state, group, row->unscheduled_cost, row->unscheduled_capacity);
	group_reprice(state, group);
	return state->no_memory ? -ENOMEM : 0;
}

int structured_set_unscheduled(struct structured *state, int32_t group, int32_t cost, int32_t capacity)
{
	if (!group_exists(state, group))
		return -EINVAL;
	if (cost != ARC_ABSENT && !row_cost_legal(cost))
		return -ERANGE;
	if (cost != ARC_ABSENT && capacity < 0)
		return -EINVAL;
	set_unscheduled(state, group, cost, capacity);
	group_reprice(state, group);
	return state->no_memory ? -ENOMEM : 0;
}

/* Replaces the running arcs and keeps the unlimited ones. */
int structured_set_running(struct structured *state, int32_t group, const struct structured_running *running,
			   int32_t count)
{
	const struct structured_row row = {.aggregator_cost = ARC_ABSENT,
					   .unscheduled_cost = ARC_ABSENT,
					   .running = running,
					   .running_count = count};

	if (!group_exists(state, group) || count < 0)
		return -EINVAL;
	int failed = row_check(state, &row);

	if (failed)
		return failed;
	if (row_reserve(state, group, 0) || row_install(state, group, ROW_RUNNING, 0, running, count))
		return -ENOMEM;
	group_reprice(state, group);
	return state->no_memory ? -ENOMEM : 0;
}

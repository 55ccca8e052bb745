/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of arcs: installed in ascending order; flow stays on its columns at the cost of the new arcs, and units whose
 * arcs became too expensive turn into excess.
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

/* Checks the numbers and reserves the tables for every id in the row. 0, -EINVAL, -ERANGE or -ENOMEM. */
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

void row_sort_arcs(const struct row_arc *from, int32_t count, struct row_arc *to)
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

/* Cost of the cheapest shortcut to the column; row_cost of the blocks has been set. */
static int32_t noted_cost(const struct structured *state, int32_t column, int32_t aggregator_cost)
{
	int32_t block = state->column_blocks[column];

	return block != NONE && state->blocks[block].row_cost < aggregator_cost ? state->blocks[block].row_cost
										: aggregator_cost;
}

/* Lists the arcs that cost less than every shortcut to their target; returns the number. */
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

void row_detach_share(struct structured *state, int32_t group, int32_t place, int32_t count)
{
	state->scratch.detached[count] = state->groups[group].shares[place];
	flow_take(state, group, state->scratch.detached[count].column, state->scratch.detached[count].cost,
		  state->scratch.detached[count].units);
}

/* Detaches all shares of the group; returns the number. */
static int32_t detach_flow(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];
	int32_t count = 0;

	while (g->share_count > 0)
		row_detach_share(state, group, g->share_count - 1, count++);
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

/* Each detached unit takes the cheapest arc to its column; without one it becomes excess. */
static void attach_flow(struct structured *state, int32_t group, int32_t held_count)
{
	const struct group *g = &state->groups[group];
	int32_t left = 0;

	for (int32_t i = 0; i < held_count; i++) {
		state->scratch.unplaced[state->scratch.detached[i].column] += state->scratch.detached[i].units;
		left += state->scratch.detached[i].units;
	}
	for (int32_t arc = 0; left > 0 && arc < g->arc_count; arc++) {
		int32_t target = g->arcs[arc].target;

		if (target < 0 || state->scratch.unplaced[target] == 0 || !arc_has_residual(g, arc))
			continue;
		int32_t units = least(arc_residual(g, arc), state->scratch.unplaced[target]);

		state->scratch.unplaced[target] -= units;
		left -= units;
		flow_add(state, group, target, g->arcs[arc].cost, units);
	}
	for (int32_t i = 0; i < held_count; i++) {
		int32_t column = state->scratch.detached[i].column, units = state->scratch.unplaced[column];

		if (units == 0)
			continue;
		state->scratch.unplaced[column] = 0;
		int32_t cost = shortcut_cost(state, g, column);

		if (cost != INT32_MAX) {
			flow_add(state, group, column, cost, units);
			continue;
		}
		column_free(state, column, units);
		group_add_excess(state, group, units);
	}
}

void row_attach_flow(struct structured *state, int32_t group, int32_t held_count, bool was_changed)
{
	struct group *g = &state->groups[group];
	int32_t excess = g->excess;

	g->slot_epoch = state->slot_epoch - 1;
	attach_flow(state, group, held_count);
	if (!was_changed && g->in_changed_list && g->excess == excess) {
		/* No unit has moved: the answer is unchanged. */
		g->in_changed_list = false;
		state->changed_list.count--;
	}
}

int row_reserve_scratch(struct structured *state, int32_t arcs, int32_t unplaced)
{
	struct row_arc *row_arcs =
		array_reserve(state->scratch.arcs, (size_t)arcs, &state->scratch.arc_capacity, sizeof(*row_arcs));
	struct structured_share *row_detached = array_reserve(state->scratch.detached, (size_t)unplaced,
							      &state->scratch.detached_capacity, sizeof(*row_detached));

	state->scratch.arcs = row_arcs ? row_arcs : state->scratch.arcs;
	state->scratch.detached = row_detached ? row_detached : state->scratch.detached;
	return row_arcs && row_detached ? 0 : -ENOMEM;
}

static int install_arcs(struct structured *state, int32_t group, const struct structured_row *row)
{
	struct group *g = &state->groups[group];
	int64_t wanted = (int64_t)row->column_count + row->block_count + 1;

	if (wanted + row->running_count > INT32_MAX / 4)
		return -EINVAL;
	if (row_reserve_scratch(state, (int32_t)wanted * 2, g->share_count))
		return -ENOMEM;
	bool was_changed = g->in_changed_list;
	int32_t held_count = detach_flow(state, group), count = collect_arcs(state, row);

	state->arc_total -= g->arc_count;
	struct row_arc *fresh = state->scratch.arcs + wanted;

	row_sort_arcs(state->scratch.arcs, count, fresh);
	running_drop(state, group);
	if (state->referenced)
		references_replace(state, group, fresh, count);
	g->arc_count = 0;
	if (!group_reserve_arcs(state, g, 0, count + row->running_count))
		return -ENOMEM;
	for (int32_t i = 0; i < count; i++) {
		g->arcs[i] = (struct arc){fresh[i].target, fresh[i].cost};
		g->links[i] = (struct link){.place = fresh[i].back};
	}
	g->arc_count = count;
	if (!running_add(state, group, row->running, row->running_count))
		return -ENOMEM;
	state->arc_total += g->arc_count;
	row_attach_flow(state, group, held_count, was_changed);
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
	failed = install_arcs(state, group, row);
	if (failed)
		return failed;
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

static int install_running(struct structured *state, int32_t group, const struct structured_running *running,
			   int32_t running_count)
{
	struct group *g = &state->groups[group];

	if (running_count == 0 && g->limited_count == 0) {
		g->running_count = 0; /* entries without limited arcs */
		return 0;
	}
	if (running_count > INT32_MAX / 4 || row_reserve_scratch(state, 0, g->share_count))
		return -ENOMEM;
	bool was_changed = g->in_changed_list;
	int32_t held_count = detach_flow(state, group);

	state->arc_total -= g->arc_count;
	running_drop(state, group);
	if (!running_add(state, group, running, running_count))
		return -ENOMEM;
	state->arc_total += g->arc_count;
	row_attach_flow(state, group, held_count, was_changed);
	return 0;
}

/* Keeps the unlimited arcs. */
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

	if (!failed)
		failed = install_running(state, group, running, count);
	if (failed)
		return failed;
	group_reprice(state, group);
	return state->no_memory ? -ENOMEM : 0;
}

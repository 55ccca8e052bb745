/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds, resizes and closes columns. Units beyond a column's capacity become excess. */
#include <errno.h>
#include <stddef.h>

#include "structured_priv.h"

static int block_add_member(struct structured *state, int32_t block, int32_t column)
{
	struct block *b = &state->blocks[block];

	if (b->member_count == b->member_allocated) {
		int32_t *members =
			items_grow(state, b->members, &b->member_allocated, b->member_count + 1, sizeof(*members));

		if (!members)
			return -ENOMEM;
		b->members = members;
	}
	b->members[b->member_count++] = column;
	return 0;
}

static void block_drop_member(struct structured *state, int32_t block, int32_t column)
{
	struct block *b = &state->blocks[block];

	for (int32_t i = 0; i < b->member_count; i++) {
		if (b->members[i] == column) {
			b->members[i] = b->members[--b->member_count];
			return;
		}
	}
}

/*
 * Takes the units beyond `capacity` off the column, starting with the last entry; they become excess. Lists the groups
 * of these units in `moved`, and returns the length of this list.
 */
static int32_t column_evict(struct structured *state, int32_t column, int32_t capacity, int32_t *moved)
{
	const struct column *c = &state->columns[column];
	int32_t used = state->capacities[column] - state->free_slots[column], count = 0;

	while (used > capacity) {
		struct entry last = c->entries[c->entry_count - 1];
		int32_t units = least(flow_units(&state->groups[last.group], column, last.cost), used - capacity);

		flow_take(state, last.group, column, last.cost, units);
		group_add_excess(state, last.group, units);
		moved[count++] = last.group;
		state->free_slots[column] += units;
		state->total_free += units;
		used -= units;
	}
	return count;
}

static int32_t price_least(const struct structured *state, const struct reference_list *list, int32_t price)
{
	for (int32_t i = 0; i < list->count; i++) {
		const struct reference *reference = &list->items[i];

		if (reference->group == NONE)
			continue;
		int32_t bid = state->group_prices[reference->group] - reference->cost;

		price = bid > price ? bid : price;
	}
	return price;
}

/*
 * Opens a closed column at the least price at which no reduced cost violates I1. If that is above the aggregator's
 * price, the column's slots are deficits.
 */
static void column_open(struct structured *state, int32_t column)
{
	int32_t number = state->column_blocks[column], price = state->aggregator_price;
	struct block *block = &state->blocks[number];

	if (!state->referenced)
		references_build(state);
	if (state->referenced) {
		price = price_least(state, &state->column_references[column], price);
		price = price_least(state, &state->block_references[number], price);
	}
	state->prices[column] = price;
	if (price < block->floor || block->member_count == 1)
		block->floor = price;
}

/*
 * Sets the column's capacity. Groups whose units were evicted get a new price at the end: their limited arcs to the
 * column, full before, may now have residual capacity and be the cheapest.
 */
static int column_resize(struct structured *state, int32_t column, int32_t capacity)
{
	int32_t old = state->capacities[column];

	if (!list_reserve(&state->moved_groups, state->columns[column].entry_count))
		return -ENOMEM;
	int32_t moved = column_evict(state, column, capacity, state->moved_groups.ids);

	state->free_slots[column] -= old;
	state->total_free -= old;
	state->total_capacity += capacity - old;
	state->capacities[column] = capacity;
	if (old == 0 && capacity > 0)
		column_open(state, column);
	column_free(state, column, capacity);
	if (capacity == 0)
		state->prices[column] = PRICE_CLOSED;
	for (int32_t i = 0; i < moved; i++)
		group_reprice(state, state->moved_groups.ids[i]);
	return state->no_memory ? -ENOMEM : 0;
}

int structured_set_column(struct structured *state, int32_t column, int32_t block, int32_t capacity)
{
	if (column < 0 || column > INT32_MAX / 4 || block < 0 || block > INT32_MAX / 4 || capacity < 0)
		return -EINVAL;
	if (state_reserve_columns(state, column + 1) || state_reserve_blocks(state, block + 1))
		return -ENOMEM;
	int32_t *known = &state->column_blocks[column];

	if (*known != NONE && *known != block)
		return -EINVAL;
	if (*known == NONE) {
		if (block_add_member(state, block, column))
			return -ENOMEM;
		*known = block;
		state->capacities[column] = state->free_slots[column] = 0;
	}
	if (capacity == state->capacities[column])
		return 0;
	if (state->solved)
		return column_resize(state, column, capacity);
	/* Before the first solve the column is empty; that solve builds the lists and totals. */
	state->total_capacity += capacity - state->capacities[column];
	state->capacities[column] = state->free_slots[column] = capacity;
	state->prices[column] = capacity > 0 ? state->aggregator_price : PRICE_CLOSED;
	return 0;
}

int structured_remove_column(struct structured *state, int32_t column)
{
	if (column < 0 || column >= state->column_count || state->column_blocks[column] == NONE)
		return -EINVAL;
	int failed = column_resize(state, column, 0);

	if (failed)
		return failed;
	block_drop_member(state, state->column_blocks[column], column);
	state->column_blocks[column] = NONE;
	return 0;
}

/*
 * Replaces the arcs of some blocks in a row, and prefetches a group that is about to change. Without the prefetches a
 * round of the flow network takes 1.10 to 1.13 times as long (bench_round 12500, 2 %).
 */

enum { CACHE_LINE = 64 };

/* Checks the arcs of one block. Returns 0, -EINVAL or -ERANGE. Branch-free, as errors are rare. */
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

/* Checks the change. Returns 0, -EINVAL or -ERANGE; *arc_count is the change's number of arcs. */
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
	if (count > ROW_MOST_ARCS)
		return -EINVAL;
	*arc_count = (int32_t)count;
	return dear ? -ERANGE : 0;
}

/*
 * Appends those of the block's new arcs that cost less than the shortcuts to the same target (the block or the
 * aggregator). Returns the new number of arcs.
 */
static int32_t collect_block(struct structured *state, const struct block_arcs *from, int32_t aggregator_cost,
			     int32_t count)
{
	struct row_arc *arcs = state->scratch.arcs;
	int32_t limit = aggregator_cost == ARC_ABSENT ? INT32_MAX : aggregator_cost;

	if (from->cost != ARC_ABSENT && from->cost < limit) {
		arcs[count++] = (struct row_arc){~from->block, from->cost, NONE};
		limit = from->cost;
	}
	for (int32_t i = 0; i < from->column_count; i++) {
		arcs[count] = (struct row_arc){from->columns[i].target, from->columns[i].cost, NONE};
		count += from->columns[i].cost < limit;
	}
	return count;
}

int structured_change_row(struct structured *state, int32_t group, const struct structured_row_change *change)
{
	int32_t arc_count;

	if (group < 0 || group >= state->group_count || !state->groups[group].exists)
		return -EINVAL;
	int failed = change_check(state, change, &arc_count);

	if (failed)
		return failed;
	if (row_reserve(state, group, arc_count))
		return -ENOMEM;
	arc_count = 0;
	for (int32_t b = 0; b < change->block_count; b++)
		arc_count = collect_block(state, &change->blocks[b], state->groups[group].aggregator_cost, arc_count);
	for (int32_t b = 0; b < change->block_count; b++)
		state->blocks[change->blocks[b].block].changes = true;
	failed = row_install(state, group, ROW_BLOCKS, arc_count, change->running, change->running_count);
	for (int32_t b = 0; b < change->block_count; b++)
		state->blocks[change->blocks[b].block].changes = false;
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

/* Fetches only the first cache lines; the hardware prefetcher continues. */
void structured_fetch_arcs(const struct structured *state, int32_t group)
{
	enum { LINES = 8 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];

	for (int line = 0; line < LINES; line++)
		__builtin_prefetch((const void *)((uintptr_t)g->arcs + (uintptr_t)line * CACHE_LINE)); /* may be NULL */
	for (int line = 0; line < LINES / 2; line++)
		__builtin_prefetch((const void *)((uintptr_t)g->links + (uintptr_t)line * CACHE_LINE));
	structured_fetch_shares(state, group);
}

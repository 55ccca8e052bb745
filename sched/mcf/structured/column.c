/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds, resizes and closes columns. Units beyond a column's capacity become excess. */
#include <errno.h>

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

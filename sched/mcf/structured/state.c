/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, growth and columns of the structured solver. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "structured_priv.h"

void list_push(struct structured *state, struct id_list *list, int32_t id)
{
	if (list->count == list->room &&
	    !list_reserve((void **)&list->ids, &list->room, list->count + 1, sizeof(*list->ids))) {
		state->no_memory = true;
		return;
	}
	list->ids[list->count++] = id;
}

/* The search's list of settled nodes has room for every node. */
static bool reserve_visited(struct structured *state)
{
	struct search *search = &state->search;

	const struct table table = {(void **)&search->visited, sizeof(*search->visited)};

	return tables_reserve(&table, 1, &search->visited_room,
			      state->group_room + state->column_room + state->block_room);
}

static void fill(int32_t *items, int32_t count, int32_t item)
{
	for (int32_t i = 0; i < count; i++)
		items[i] = item;
}

int state_reserve_columns(struct structured *state, int32_t count)
{
	struct table tables[] = {{(void **)&state->held, sizeof(*state->held)},
				 {(void **)&state->wanted, sizeof(*state->wanted)},
				 {(void **)&state->prices, sizeof(*state->prices)},
				 {(void **)&state->column_blocks, sizeof(*state->column_blocks)},
				 {(void **)&state->column_labels, sizeof(*state->column_labels)},
				 {(void **)&state->capacities, sizeof(*state->capacities)},
				 {(void **)&state->free_slots, sizeof(*state->free_slots)},
				 {(void **)&state->entry_rooms, sizeof(*state->entry_rooms)},
				 {(void **)&state->column_lists, sizeof(*state->column_lists)},
				 {(void **)&state->columns, sizeof(*state->columns)},
				 {(void **)&state->column_references, sizeof(*state->column_references)}};

	if (count <= state->column_count)
		return 0;
	if (!tables_reserve(tables, state->referenced ? 11 : 10, &state->column_room, count) || !reserve_visited(state))
		return -ENOMEM;
	fill(state->column_blocks + state->column_count, count - state->column_count, NONE);
	fill(state->prices + state->column_count, count - state->column_count, PRICE_CLOSED);
	fill(state->wanted + state->column_count, count - state->column_count, NONE);
	for (uint64_t *label = state->column_labels + state->column_count; label < state->column_labels + count;
	     label++)
		*label = UINT64_MAX;
	state->column_count = count;
	return 0;
}

int state_reserve_blocks(struct structured *state, int32_t count)
{
	struct table tables[] = {{(void **)&state->blocks, sizeof(*state->blocks)},
				 {(void **)&state->block_references, sizeof(*state->block_references)}};

	if (count <= state->block_count)
		return 0;
	if (!tables_reserve(tables, state->referenced ? 2 : 1, &state->block_room, count) || !reserve_visited(state))
		return -ENOMEM;
	for (int32_t i = state->block_count; i < count; i++)
		state->blocks[i].row_cost = INT32_MAX;
	state->block_count = count;
	return 0;
}

static bool reserve_groups(struct structured *state, int32_t count)
{
	struct table tables[] = {{(void **)&state->bids, sizeof(*state->bids)},
				 {(void **)&state->group_labels, sizeof(*state->group_labels)},
				 {(void **)&state->rooms, sizeof(*state->rooms)},
				 {(void **)&state->groups, sizeof(*state->groups)}};

	return tables_reserve(tables, 4, &state->group_room, count) && reserve_visited(state);
}

int state_reserve_groups(struct structured *state, int32_t count)
{
	if (count <= state->group_count)
		return 0;
	if (!reserve_groups(state, count))
		return -ENOMEM;
	for (int32_t i = state->group_count; i < count; i++) {
		state->bids[i] = BIDS_NOTHING;
		state->group_labels[i] = UINT64_MAX;
	}
	state->group_count = count;
	return 0;
}

struct structured *structured_create(int32_t group_hint, int32_t column_hint, int32_t block_hint)
{
	struct structured *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	queue_clear(&state->search.queue);
	state->patience = PATIENCE;
	state->repair_scans = REPAIR_SCANS;
	state->alone_passes = ALONE_PASSES;
	/* There always is a column 0: searches read its price beside an arc to a block. */
	if ((group_hint > 0 && !reserve_groups(state, group_hint)) ||
	    state_reserve_columns(state, column_hint > 0 ? column_hint : 1) ||
	    (block_hint > 0 && state_reserve_blocks(state, block_hint))) {
		structured_destroy(state);
		errno = ENOMEM;
		return NULL;
	}
	return state;
}

void structured_destroy(struct structured *state)
{
	if (!state)
		return;
	arena_free(&state->arena);
	queue_free(&state->search.queue);
	zeroed_free(state->search.visited);
	zeroed_free(state->excess_list.ids);
	zeroed_free(state->pending_list.ids);
	zeroed_free(state->hole_list.ids);
	zeroed_free(state->free_list.ids);
	zeroed_free(state->changed_list.ids);
	zeroed_free(state->meeting_list.ids);
	zeroed_free(state->groups);
	zeroed_free(state->bids);
	zeroed_free(state->rooms);
	zeroed_free(state->group_labels);
	zeroed_free(state->columns);
	zeroed_free(state->prices);
	zeroed_free(state->capacities);
	zeroed_free(state->free_slots);
	zeroed_free(state->entry_rooms);
	zeroed_free(state->column_lists);
	zeroed_free(state->column_blocks);
	zeroed_free(state->column_labels);
	zeroed_free(state->blocks);
	zeroed_free(state->column_references);
	zeroed_free(state->block_references);
	zeroed_free(state->held);
	zeroed_free(state->wanted);
	zeroed_free(state->row_arcs);
	zeroed_free(state->row_left);
	zeroed_free(state->row_held);
	zeroed_free(state->moved_groups);
	free(state);
}

int32_t block_least_price(const struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];
	int32_t price = PRICE_CLOSED;

	for (int32_t i = 0; i < b->member_count; i++)
		price = least(price, state->prices[b->members[i]]);
	return price;
}

int32_t block_exact_floor(struct structured *state, int32_t block)
{
	state->blocks[block].floor = block_least_price(state, block);
	return state->blocks[block].floor;
}

static int block_add_member(struct structured *state, int32_t block, int32_t column)
{
	struct block *b = &state->blocks[block];

	if (b->member_count == b->member_room) {
		int32_t *members = arena_grow(&state->arena, b->members, &b->member_room, b->member_count,
					      b->member_count + 1, sizeof(*members));

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

/* Units beyond `capacity` leave, the last to come first; their groups are noted in `moved` and counted. */
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
		int32_t bid = state->bids[reference->group] - reference->cost;

		price = bid > price ? bid : price;
	}
	return price;
}

/* A closed column opens at the least price that no group would jump at; its slots are holes if that is over the market.
 */
static void column_open(struct structured *state, int32_t column)
{
	int32_t number = state->column_blocks[column], price = state->market_price;
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

/* A running arc that was full and cheap has room again once a unit is evicted, hence the new prices at the end. */
static int column_resize(struct structured *state, int32_t column, int32_t capacity)
{
	int32_t old = state->capacities[column];

	if (!list_reserve((void **)&state->moved_groups, &state->moved_group_room, state->columns[column].entry_count,
			  sizeof(*state->moved_groups)))
		return -ENOMEM;
	int32_t moved = column_evict(state, column, capacity, state->moved_groups);

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
		group_reprice(state, state->moved_groups[i]);
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
		state->wanted[column] = 0;
		state->capacities[column] = state->free_slots[column] = 0;
	}
	if (capacity == state->capacities[column])
		return 0;
	if (state->solved)
		return column_resize(state, column, capacity);
	/* Nothing is on it; lists and totals are made when the first solve starts. */
	state->total_capacity += capacity - state->capacities[column];
	state->capacities[column] = state->free_slots[column] = capacity;
	state->prices[column] = capacity > 0 ? state->market_price : PRICE_CLOSED;
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
	state->wanted[column] = NONE;
	return 0;
}

uint64_t structured_memory_bytes(const struct structured *state)
{
	const struct search *search = &state->search;

	return sizeof(*state) + state->arena.total_bytes +
	       (uint64_t)state->group_room * (sizeof(struct group) + sizeof(struct rooms) + sizeof(*state->bids) +
					      sizeof(*state->group_labels)) +
	       (uint64_t)state->column_room *
		       (sizeof(struct column) + (state->referenced ? sizeof(struct reference_list) : 0) +
			sizeof(*state->held) + sizeof(*state->prices) + sizeof(*state->column_labels) +
			sizeof(*state->capacities) + sizeof(*state->free_slots) + sizeof(*state->entry_rooms) +
			sizeof(*state->column_lists) + sizeof(*state->column_blocks) + sizeof(*state->wanted)) +
	       (uint64_t)state->block_room *
		       (sizeof(struct block) + (state->referenced ? sizeof(struct reference_list) : 0)) +
	       (uint64_t)search->visited_room * sizeof(*search->visited) +
	       (uint64_t)search->queue.item_room * sizeof(struct queue_item);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the structured solver: its tables, which grow together by kind of node, and its lists. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "structured_priv.h"
#include "queue_priv.h"

struct table {
	size_t offset, item_bytes;
};

#define TABLE(field)                                                                                                   \
	{                                                                                                              \
		offsetof(struct structured, field), sizeof(*((struct structured *)NULL)->field)                        \
	}

static const struct table column_tables[] = {TABLE(scratch.unplaced), TABLE(scratch.wanted),   TABLE(prices),
					     TABLE(column_blocks),    TABLE(column_labels),    TABLE(capacities),
					     TABLE(free_slots),       TABLE(entry_allocated),  TABLE(column_lists),
					     TABLE(columns),          TABLE(column_references)};
static const struct table block_tables[] = {TABLE(blocks), TABLE(block_references)};
static const struct table group_tables[] = {TABLE(group_prices), TABLE(group_labels), TABLE(allocated), TABLE(groups)};

enum {
	COLUMN_TABLES = sizeof(column_tables) / sizeof(*column_tables),
	BLOCK_TABLES = sizeof(block_tables) / sizeof(*block_tables),
	GROUP_TABLES = sizeof(group_tables) / sizeof(*group_tables),
};

/* Minimum size, in bytes, of an array of a single node: shorter arrays would grow often. */
enum { ITEMS_FIRST_BYTES = 64 };

static void **table_items(struct structured *state, const struct table *table)
{
	return (void **)(void *)((char *)state + table->offset);
}

/*
 * Reserves `needed` items in each table, growing by at least half; new items are 0. Returns false if out of memory.
 * Uses calloc(), so that pages of a large table cost nothing before they are used.
 */
static bool tables_reserve(struct structured *state, const struct table *tables, int32_t count, int32_t *room,
			   int32_t needed)
{
	/* cannot overflow, because ids end at INT32_MAX / 4 */
	int32_t wanted = *room + *room / 2 > needed ? *room + *room / 2 : needed;

	for (int32_t i = 0; i < count && needed > *room; i++) {
		void **items = table_items(state, &tables[i]), *larger = calloc((size_t)wanted, tables[i].item_bytes);

		if (!larger)
			return false;
		if (*items)
			memcpy(larger, *items, (size_t)*room * tables[i].item_bytes);
		free(*items);
		*items = larger;
	}
	*room = needed > *room ? wanted : *room;
	return true;
}

static void tables_free(struct structured *state, const struct table *tables, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		free(*table_items(state, &tables[i]));
}

static uint64_t tables_bytes(const struct table *tables, int32_t count, int32_t room)
{
	uint64_t bytes = 0;

	for (int32_t i = 0; i < count; i++)
		bytes += (uint64_t)room * tables[i].item_bytes;
	return bytes;
}

bool list_reserve(struct id_list *list, int32_t needed)
{
	int32_t *ids = array_reserve(list->ids, (size_t)needed, &list->capacity, sizeof(*ids));

	list->ids = ids ? ids : list->ids;
	return ids != NULL;
}

void list_push(struct structured *state, struct id_list *list, int32_t id)
{
	if (!list_reserve(list, list->count + 1))
		state->no_memory = true;
	else
		list->ids[list->count++] = id;
}

/* Makes search.visited large enough for all nodes. */
static bool reserve_visited(struct structured *state)
{
	struct search *search = &state->search;
	size_t nodes =
		(size_t)state->group_allocated + (size_t)state->column_allocated + (size_t)state->block_allocated;
	int32_t *visited = array_reserve(search->visited, nodes, &search->visited_capacity, sizeof(*visited));

	search->visited = visited ? visited : search->visited;
	return visited != NULL;
}

int state_reserve_columns(struct structured *state, int32_t count)
{
	if (count <= state->column_count)
		return 0;
	if (!tables_reserve(state, column_tables, COLUMN_TABLES, &state->column_allocated, count) ||
	    !reserve_visited(state))
		return -ENOMEM;
	for (int32_t i = state->column_count; i < count; i++) {
		state->column_blocks[i] = NONE;
		state->scratch.wanted[i] = (struct wanted){NONE, NONE};
		state->prices[i] = PRICE_CLOSED;
		state->column_labels[i] = UINT64_MAX;
	}
	state->column_count = count;
	return 0;
}

int state_reserve_blocks(struct structured *state, int32_t count)
{
	if (count <= state->block_count)
		return 0;
	if (!tables_reserve(state, block_tables, BLOCK_TABLES, &state->block_allocated, count) ||
	    !reserve_visited(state))
		return -ENOMEM;
	for (int32_t i = state->block_count; i < count; i++) {
		state->blocks[i].row_cost = INT32_MAX;
		state->blocks[i].wanted = (struct wanted){NONE, NONE};
	}
	state->block_count = count;
	return 0;
}

static bool reserve_groups(struct structured *state, int32_t count)
{
	return tables_reserve(state, group_tables, GROUP_TABLES, &state->group_allocated, count) &&
	       reserve_visited(state);
}

int state_reserve_groups(struct structured *state, int32_t count)
{
	if (count <= state->group_count)
		return 0;
	if (!reserve_groups(state, count))
		return -ENOMEM;
	for (int32_t i = state->group_count; i < count; i++) {
		state->group_prices[i] = PRICE_NO_SUPPLY;
		state->group_labels[i] = UINT64_MAX;
	}
	state->group_count = count;
	return 0;
}

void *items_grow(struct structured *state, void *items, int32_t *room, int32_t needed, size_t item_bytes)
{
	/* cannot overflow, because ids end at INT32_MAX / 4 */
	int32_t wanted = 2 * *room > needed ? 2 * *room : needed;
	int32_t first = ITEMS_FIRST_BYTES / (int32_t)item_bytes;

	if (needed <= *room)
		return items;
	wanted = wanted < first ? first : wanted;
	void *larger = realloc(items, (size_t)wanted * item_bytes);

	if (larger) {
		state->array_bytes += (size_t)(wanted - *room) * item_bytes;
		*room = wanted;
	}
	return larger;
}

bool group_reserve_arcs(struct structured *state, struct group *g, int32_t needed)
{
	struct allocated *allocated = allocated_of(state, g);
	struct arc *arcs = items_grow(state, g->arcs, &allocated->arcs, needed, sizeof(*arcs));
	struct link *links = items_grow(state, g->links, &allocated->links, needed, sizeof(*links));

	g->arcs = arcs ? arcs : g->arcs;
	g->links = links ? links : g->links;
	if (needed > allocated->arcs || needed > allocated->links)
		state->no_memory = true;
	return !state->no_memory;
}

void group_free_arrays(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	struct allocated *allocated = &state->allocated[group];

	free(g->arcs);
	free(g->links);
	free(g->shares);
	free(g->running);
	g->arcs = NULL;
	g->links = NULL;
	g->shares = NULL;
	g->running = NULL;
	state->array_bytes -=
		(size_t)allocated->arcs * sizeof(*g->arcs) + (size_t)allocated->links * sizeof(*g->links) +
		(size_t)allocated->shares * sizeof(*g->shares) + (size_t)allocated->running * sizeof(*g->running);
	*allocated = (struct allocated){0};
}

struct structured *structured_create(int32_t group_hint, int32_t column_hint, int32_t block_hint)
{
	struct structured *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	queue_clear(&state->search.queue);
	state->effort.pass_limit = PASS_LIMIT;
	state->effort.repair_scans = REPAIR_SCANS;
	state->effort.single_passes = SINGLE_PASSES;
	/* Column 0 always exists, so that the columns' tables are never NULL. */
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
	struct id_list *lists[] = {&state->excess_list,  &state->deferred_list, &state->deficit_list,
				   &state->free_list,    &state->changed_list,  &state->meeting_list,
				   &state->moved_groups, &state->waiting_list};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->ids);
	for (int32_t i = 0; i < state->group_count; i++)
		group_free_arrays(state, i);
	for (int32_t i = 0; i < state->column_count; i++) {
		free(state->columns[i].entries);
		free(state->column_references[i].items);
	}
	for (int32_t i = 0; i < state->block_count; i++) {
		free(state->blocks[i].members);
		free(state->block_references[i].items);
	}
	tables_free(state, column_tables, COLUMN_TABLES);
	tables_free(state, block_tables, BLOCK_TABLES);
	tables_free(state, group_tables, GROUP_TABLES);
	free(state->search.queue.items);
	free(state->search.visited);
	free(state->scratch.arcs);
	free(state->scratch.detached);
	free(state->scratch.running);
	free(state);
}

uint64_t structured_memory_bytes(const struct structured *state)
{
	const struct search *search = &state->search;

	return sizeof(*state) + state->array_bytes +
	       tables_bytes(column_tables, COLUMN_TABLES, state->column_allocated) +
	       tables_bytes(block_tables, BLOCK_TABLES, state->block_allocated) +
	       tables_bytes(group_tables, GROUP_TABLES, state->group_allocated) +
	       search->visited_capacity * sizeof(*search->visited) +
	       search->queue.capacity * sizeof(*search->queue.items);
}

void queue_clear(struct queue *queue)
{
	memset(queue->bits, 0, sizeof(queue->bits));
	queue->base = 0;
	queue->word = 0;
	queue->item_count = 0;
	queue->beyond = -1;
}

bool queue_grow(struct queue *queue)
{
	struct queue_item *items =
		array_grow(queue->items, (size_t)queue->item_count, &queue->capacity, sizeof(*items));

	queue->no_memory |= !items;
	queue->items = items ? items : queue->items;
	return items != NULL;
}

/*
 * Moves the queue's window to the least key in the overflow list, and the items within the new window into buckets.
 * Returns false if the list is empty.
 */
bool queue_spread(struct queue *queue)
{
	int32_t least = INT32_MAX, next, item = queue->beyond;

	if (item < 0)
		return false;
	for (int32_t i = item; i >= 0; i = queue->items[i].next)
		if (queue->items[i].key < least)
			least = queue->items[i].key;
	queue->base = least;
	queue->word = 0;
	queue->beyond = -1;
	for (; item >= 0; item = next) {
		int32_t slot = queue->items[item].key - least;

		next = queue->items[item].next;
		if (slot >= QUEUE_WINDOW) {
			queue->items[item].next = queue->beyond;
			queue->beyond = item;
			continue;
		}
		queue_append(queue, item, slot);
	}
	return true;
}

/*
 * Lists of arcs by their targets (references), for backward searches. A solve from scratch does not need them: the
 * lists are built when the first deficit, opened column or deferred unit without a slot needs them, and maintained from
 * then on. A reference stores the arc's cost, not its index, and never moves in its list: so arcs may move in their
 * row, and other references may leave the list, without an update.
 */

int32_t reference_link(struct structured *state, int32_t group, int32_t target, int32_t cost)
{
	struct reference_list *list = reference_list_of(state, target);
	int32_t place = list->spare - 1;

	if (place >= 0) {
		list->spare = list->items[place].cost;
	} else {
		if (list->count == list->room) {
			struct reference *items =
				items_grow(state, list->items, &list->room, list->count + 1, sizeof(*items));

			if (!items) {
				state->no_memory = true;
				return NONE;
			}
			list->items = items;
		}
		place = list->count++;
	}
	list->items[place] = (struct reference){group, cost};
	return place;
}

void references_unlink(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count; i++)
		reference_unlink(state, g->arcs[i].target, g->links[i].place);
}

void reference_fetch(const struct structured *state, int32_t target, int32_t back)
{
	const struct reference_list *list = reference_list_of(state, target);
	int32_t place = back != NONE ? back : list->spare > 0 ? list->spare - 1 : list->count;

	if (place < list->room)
		__builtin_prefetch(&list->items[place], 1);
}

/* Allocates every list at once: growing lists item by item would copy them and miss the cache. */
static bool reserve_lists(struct structured *state)
{
	int32_t nodes = state->column_count + state->block_count;
	int32_t *counts = calloc((size_t)nodes + 1, sizeof(*counts));

	if (!counts)
		return false;
	for (int32_t group = 0; group < state->group_count; group++) {
		const struct group *g = &state->groups[group];

		for (int32_t i = 0; i < g->arc_count; i++)
			counts[g->arcs[i].target >= 0 ? g->arcs[i].target : state->column_count + ~g->arcs[i].target]++;
	}
	for (int32_t node = 0; node < nodes; node++) {
		struct reference_list *list = node < state->column_count
						      ? &state->column_references[node]
						      : &state->block_references[node - state->column_count];
		struct reference *items = items_grow(state, list->items, &list->room, counts[node], sizeof(*items));

		if (counts[node] > 0 && !items) {
			free(counts);
			return false;
		}
		list->items = items;
	}
	free(counts);
	return true;
}

/* Appends the group's arcs to the lists, which must be large enough. */
static void name_arcs(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count; i++) {
		struct arc arc = g->arcs[i];
		struct reference_list *list = reference_list_of(state, arc.target);

		g->links[i].place = list->count;
		list->items[list->count++] = (struct reference){group, g->links[i].full ? REFERENCE_FULL : arc.cost};
	}
}

void references_build(struct structured *state)
{
	state->referenced = true;
	if (!reserve_lists(state)) {
		state->no_memory = true;
		return;
	}
	for (int32_t group = 0; group < state->group_count; group++)
		name_arcs(state, group);
}

int structured_prepare(struct structured *state)
{
	if (!state->referenced)
		references_build(state);
	return state->no_memory ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arcs listed by their targets, for backward searches. A start from nothing does without: the lists are built when the
 * first deficit or opened column needs them, and kept from then on. A reference stores the arc's cost, not its place,
 * and keeps its own place in the list: arcs may move, and others may leave, without touching it.
 */
#include <errno.h>
#include <stdlib.h>

#include "structured_priv.h"

int32_t reference_link(struct structured *state, int32_t group, int32_t target, int32_t cost)
{
	struct reference_list *list = reference_list_of(state, target);
	int32_t place = list->spare - 1;

	if (place >= 0) {
		list->spare = list->items[place].cost;
	} else {
		if (list->count == list->room) {
			struct reference *items = arena_grow(&state->arena, list->items, &list->room, list->count,
							     list->count + 1, sizeof(*items));

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

/* Blocks before columns: the order in which rows are collected and arcs of equal cost kept. */
static int64_t arc_rank(int32_t target, int32_t cost)
{
	return (((int64_t)cost * 2 + (target >= 0)) << 32) + (target < 0 ? ~target : target);
}

static void fetch_list(struct structured *state, int32_t target)
{
	__builtin_prefetch(reference_list_of(state, target), 1);
}

void reference_fetch(const struct structured *state, int32_t target, int32_t back)
{
	const struct reference_list *list = reference_list_of(state, target);
	int32_t place = back != NONE ? back : list->spare > 0 ? list->spare - 1 : list->count;

	if (place < list->room)
		__builtin_prefetch(&list->items[place], 1);
}

/*
 * Arcs that leave keep their place in the old row, arcs that join have none in the new one. The lists are far apart in
 * memory: all are prefetched while the rows are compared, then all items, before any is written.
 */
static void compare_rows(struct structured *state, struct group *g, struct row_arc *fresh, int32_t count)
{
	int32_t i = 0, k = 0;

	for (int32_t n = 0; n < count; n++)
		fresh[n].back = NONE;
	while (i < g->arc_count && k < count) {
		int64_t old = arc_rank(g->arcs[i].target, g->arcs[i].cost);
		int64_t new = arc_rank(fresh[k].target, fresh[k].cost);

		if (old == new) {
			fresh[k++].back = g->links[i].place;
			g->links[i++].place = NONE;
		} else if (old < new) {
			fetch_list(state, g->arcs[i++].target);
		} else {
			fetch_list(state, fresh[k++].target);
		}
	}
	while (i < g->arc_count)
		fetch_list(state, g->arcs[i++].target);
	while (k < count)
		fetch_list(state, fresh[k++].target);
}

/* If arcs of equal cost come in another order, more references than necessary are replaced. */
void references_replace(struct structured *state, int32_t group, struct row_arc *fresh, int32_t count)
{
	struct group *g = &state->groups[group];

	compare_rows(state, g, fresh, count);
	for (int32_t i = 0; i < g->arc_count; i++)
		if (g->links[i].place != NONE)
			reference_fetch(state, g->arcs[i].target, g->links[i].place);
	for (int32_t k = 0; k < count; k++)
		if (fresh[k].back == NONE)
			reference_fetch(state, fresh[k].target, NONE);
	for (int32_t i = 0; i < g->arc_count; i++)
		if (g->links[i].place != NONE)
			reference_unlink(state, g->arcs[i].target, g->links[i].place);
	for (int32_t k = 0; k < count; k++)
		if (fresh[k].back == NONE)
			fresh[k].back = reference_link(state, group, fresh[k].target, fresh[k].cost);
}

/* Allocates every list at once: growing them one by one copies and misses the cache. */
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
		struct reference *items =
			arena_grow(&state->arena, list->items, &list->room, 0, counts[node], sizeof(*items));

		if (counts[node] > 0 && !items) {
			free(counts);
			return false;
		}
		list->items = items;
	}
	free(counts);
	return true;
}

/* Appends the group's arcs to the lists, which are large enough. */
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

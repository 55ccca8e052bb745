/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of arcs by their targets (references), for backward searches. A solve from scratch does not need them: the
 * lists are built when the first deficit, opened column or deferred unit without a slot needs them, and maintained from
 * then on. A reference stores the arc's cost, not its index, and never moves in its list: so arcs may move in their
 * row, and other references may leave the list, without an update.
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

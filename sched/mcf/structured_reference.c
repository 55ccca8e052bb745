/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arcs seen from their targets, for the searches that go backward. A solve from scratch does without: the lists are
 * built when the first hole or opened column asks for them, and kept from then on. A reference names the arc by its
 * cost, not its place, and stays at its place in the list: arcs may shift, and others may leave, without a look at it.
 */
#include "structured_priv.h"

static struct reference_list *target_list(struct structured *state, const struct arc *arc)
{
	return arc->target >= 0 ? &state->column_references[arc->target] : &state->block_references[~arc->target];
}

void reference_link(struct structured *state, int32_t group, struct arc *arc)
{
	struct reference_list *list = target_list(state, arc);
	int32_t place = list->spare - 1;

	if (place >= 0) {
		list->spare = list->items[place].cost;
	} else {
		if (list->count == list->room) {
			struct reference *items = arena_grow(&state->arena, list->items, &list->room, list->count,
							     list->count + 1, sizeof(*items));

			if (!items) {
				state->no_memory = true;
				return;
			}
			list->items = items;
		}
		place = list->count++;
	}
	arc->back = place;
	list->items[place] = (struct reference){group, arc->cost};
}

void reference_unlink(struct structured *state, const struct arc *arc)
{
	struct reference_list *list = target_list(state, arc);

	list->items[arc->back] = (struct reference){NONE, list->spare};
	list->spare = arc->back + 1;
}

void references_link(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_fixed; i++)
		reference_link(state, group, &g->arcs[i]);
}

void references_unlink(struct structured *state, int32_t group)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_fixed; i++)
		reference_unlink(state, &g->arcs[i]);
}

/* Blocks before columns, limited arcs last: the order in which rows are collected, and arcs of equal cost kept. */
static int64_t arc_rank(const struct arc *arc)
{
	int64_t kind = arc->target < 0 ? 0 : arc->capacity < 0 ? 1 : 2;

	return (((int64_t)arc->cost * 4 + kind) << 32) + (arc->target < 0 ? ~arc->target : arc->target);
}

/* A row whose arcs come in another order is told apart less well, but never wrongly. */
void references_replace(struct structured *state, int32_t group, struct arc *fresh, int32_t count)
{
	const struct group *g = &state->groups[group];
	int32_t i = 0, k = 0;

	while (i < g->arc_fixed && k < count) {
		int64_t old = arc_rank(&g->arcs[i]), new = arc_rank(&fresh[k]);

		if (old == new)
			fresh[k++].back = g->arcs[i++].back;
		else if (old < new)
			reference_unlink(state, &g->arcs[i++]);
		else
			reference_link(state, group, &fresh[k++]);
	}
	while (i < g->arc_fixed)
		reference_unlink(state, &g->arcs[i++]);
	while (k < count)
		reference_link(state, group, &fresh[k++]);
}

int32_t reference_arc(const struct group *group, int32_t target, int32_t cost)
{
	int32_t low = 0, high = group->arc_fixed;

	while (low < high) {
		int32_t middle = low + (high - low) / 2;

		if (group->arcs[middle].cost < cost)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < group->arc_fixed && group->arcs[low].cost == cost; low++)
		if (group->arcs[low].target == target && (target < 0 || arc_has_room(&group->arcs[low])))
			return low;
	return NONE;
}

void references_build(struct structured *state)
{
	state->referenced = true;
	for (int32_t group = 0; group < state->group_count; group++)
		references_link(state, group);
}

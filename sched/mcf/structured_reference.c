/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arcs seen from their targets, for the searches that go backward. A solve from scratch does without: the lists are
 * built when the first hole or opened column asks for them, and kept from then on.
 */
#include "structured_priv.h"

static struct reference_list *target_list(struct structured *state, const struct arc *arc)
{
	return arc->target >= 0 ? &state->column_references[arc->target] : &state->block_references[~arc->target];
}

void references_link(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_fixed; i++) {
		struct reference_list *list = target_list(state, &g->arcs[i]);

		if (list->count == list->room) {
			struct reference *items = arena_grow(&state->arena, list->items, &list->room, list->count,
							     list->count + 1, sizeof(*items));

			if (!items) {
				state->no_memory = true;
				return;
			}
			list->items = items;
		}
		g->arcs[i].back = list->count;
		list->items[list->count++] = (struct reference){group, i, g->arcs[i].cost};
	}
}

void references_unlink(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_fixed; i++) {
		struct reference_list *list = target_list(state, &g->arcs[i]);
		struct reference last = list->items[--list->count];

		list->items[g->arcs[i].back] = last;
		state->groups[last.group].arcs[last.arc].back = g->arcs[i].back;
	}
}

void references_build(struct structured *state)
{
	state->referenced = true;
	for (int32_t group = 0; group < state->group_count; group++)
		references_link(state, group);
}

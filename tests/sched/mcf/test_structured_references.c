/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arcs of an operating cluster, indexed by target: each is listed once, at its cost, and no other. A stale entry
 * would not change the optimum, but searches would keep visiting it, and lists would grow with every change.
 */
#include <criterion/criterion.h>

#include "structured_priv.h"
#include "structured_world.h"

static int32_t count_named(const struct reference_list *lists, int32_t count)
{
	int32_t named = 0;

	for (int32_t i = 0; i < count; i++)
		for (int32_t place = 0; place < lists[i].count; place++)
			named += lists[i].items[place].group != NONE;
	return named;
}

static void check_references(const struct structured *state, int32_t event)
{
	int32_t arcs = 0;

	for (int32_t group = 0; group < state->group_count; group++) {
		const struct group *g = &state->groups[group];

		for (int32_t i = 0; i < g->arc_count; i++) {
			int32_t target = g->arcs[i].target, cost = g->arcs[i].cost;
			const struct reference_list *list =
				target >= 0 ? &state->column_references[target] : &state->block_references[~target];
			const struct reference *named = &list->items[g->links[i].place];

			cr_assert(g->links[i].place >= 0 && g->links[i].place < list->count, "event %d", event);
			cr_assert_eq(named->group, group, "event %d: arc %d of group %d is named as of %d", event, i,
				     group, named->group);
			cr_assert_eq(named->cost, arc_has_residual(g, i) ? cost : REFERENCE_FULL,
				     "event %d: arc %d of group %d", event, i, group);
			cr_assert_eq(g->links[i].limited, arc_is_limited(g, target, cost), "event %d", event);
			cr_assert_eq(arc_has_residual(g, i), arc_residual_at(g, target, cost) > 0,
				     "event %d: arc %d of group %d", event, i, group);
		}
		arcs += g->arc_count;
	}
	cr_assert_eq(count_named(state->column_references, state->column_count) +
			     count_named(state->block_references, state->block_count),
		     arcs, "event %d: arcs that left are still named", event);
}

Test(structured_references, each_arc_is_named_once)
{
	int32_t checked = 0;

	for (uint64_t seed = 401; seed <= 420; seed++) {
		struct world world;

		world_create(&world, seed, 90);
		for (int32_t event = 0; event < 200; event++) {
			cr_assert(world_solve(&world, false));
			if (event % 7 == 0)
				world_adopt(&world);
			world_event(&world);
			if (world.state->referenced) {
				check_references(world.state, event);
				checked++;
			}
		}
		cr_assert_str_eq(world.text, "");
		world_destroy(&world);
	}
	cr_assert_gt(checked, 2000);
}

Test(structured_references, prepared_they_are_named_before_anything_changes)
{
	for (uint64_t seed = 421; seed <= 430; seed++) {
		struct world world;

		world_create(&world, seed, 90);
		for (int32_t event = 0; event < 100; event++) {
			cr_assert(world_solve(&world, false));
			cr_assert_eq(structured_prepare(world.state), 0);
			check_references(world.state, event);
			world_event(&world);
			check_references(world.state, event);
		}
		cr_assert_str_eq(world.text, "");
		world_destroy(&world);
	}
}

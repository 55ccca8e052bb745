/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves that are handed over to the network simplex: its answer needs no repair, and later repairs start from it. */
#include <criterion/criterion.h>

#include "structured_priv.h"
#include "structured_world.h"

/* After the import, the solve only has to assign the units of blocks and the aggregator to free slots. */
static void import_many(uint64_t first_seed, int32_t count, int32_t slots_percent)
{
	for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)count; seed++) {
		struct world world;

		world_create(&world, seed, slots_percent);
		import_simplex(world.state);
		cr_assert(world_solve(&world, false), "seed %llu: no answer", (unsigned long long)seed);
		cr_assert(world_check(&world), "seed %llu: %s", (unsigned long long)seed, world.text);
		cr_assert_eq(world.result.searches, 0, "seed %llu: repaired", (unsigned long long)seed);
		world_destroy(&world);
	}
}

/* Most rounds repair an answer that the simplex computed some rounds before. */
static void walk(uint64_t seed, int32_t events, int32_t slots_percent, int32_t *handed_over)
{
	struct world world;

	world_create(&world, seed, slots_percent);
	for (int32_t event = 0; event < events; event++) {
		world.state->effort.pass_limit = event % 4 == 0 ? 0 : PASS_LIMIT;
		world.state->effort.repair_skips = world.state->effort.repair_pause = 0;
		cr_assert(world_solve(&world, event % 16 == 0), "seed %llu, event %d: no answer",
			  (unsigned long long)seed, event);
		cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event, world.text);
		*handed_over += world.result.handed_over;
		if (event % 7 == 0)
			world_adopt(&world);
		world_event(&world);
	}
	world_destroy(&world);
}

static void walk_many(uint64_t first_seed, int32_t slots_percent)
{
	int32_t handed_over = 0;

	for (uint64_t seed = first_seed; seed < first_seed + 12; seed++)
		walk(seed, 300, slots_percent, &handed_over);
	cr_expect_gt(handed_over, 12 * 300 / 20);
}

/* If the caller has another method: the solve fails instead of calling the simplex. */
Test(structured_import, given_up)
{
	struct world world;

	world_create_wide(&world, 1, 70);
	structured_give_up_after(world.state, 0);
	cr_expect_eq(structured_solve(world.state, &world.result), MCF_UNSUITED);
	cr_expect_not(world.result.handed_over);
	world_destroy(&world);
}

Test(structured_import, loose)
{
	import_many(1, 1000, 200);
}

Test(structured_import, tight)
{
	import_many(100001, 1000, 100);
}

Test(structured_import, oversubscribed)
{
	import_many(200001, 1000, 50);
}

Test(structured_import, hardly_any_slot)
{
	import_many(300001, 1000, 5);
}

Test(structured_import, rounds_after_it)
{
	walk_many(1, 180);
	walk_many(101, 100);
	walk_many(201, 55);
	walk_many(301, 20);
}

/* A root's single arc leads to the aggregator at cost 0; the answer reports it like any other arc. */
Test(structured_import, free_aggregator)
{
	struct structured *state = structured_create(0, 0, 0);
	struct structured_row row = {.aggregator_cost = 0, .unscheduled_cost = 100, .unscheduled_capacity = 10};
	struct structured_result result;

	for (int32_t column = 0; column < 2; column++)
		cr_assert_eq(structured_set_column(state, column, 0, 1), 0);
	for (int32_t group = 0; group < 2; group++) {
		row.unscheduled_cost -= group; /* so that the second group's unit waits */
		cr_assert_eq(structured_set_row(state, group, &row), 0);
		cr_assert_eq(structured_set_supply(state, group, 2), 0);
	}
	import_simplex(state);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_expect_eq(result.searches, 0, "repaired");
	cr_expect_eq(structured_unscheduled(state, 0), 0);
	cr_expect_eq(structured_unscheduled(state, 1), 2);
	structured_destroy(state);
}

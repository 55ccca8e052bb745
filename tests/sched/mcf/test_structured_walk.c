/* SPDX-License-Identifier: BSD-3-Clause */
/* An operating cluster: after every single event the repaired answer is an optimum with a valid certificate. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "structured_world.h"

static void walk(uint64_t seed, int32_t events, int32_t slots_percent)
{
	struct world world;

	world_create(&world, seed, slots_percent);
	for (int32_t event = 0; event < events; event++) {
		cr_assert(world_solve(&world, false), "seed %llu, event %d: no answer", (unsigned long long)seed,
			  event);
		cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event, world.text);
		if (event % 7 == 0)
			world_adopt(&world);
		for (int32_t burst = event % 11 == 0 ? 5 : 1; burst > 0; burst--)
			world_event(&world);
	}
	int64_t repaired = world.result.cost;

	world_solve(&world, false);
	repaired = world.result.cost;
	world_solve(&world, true);
	cr_assert_eq(world.result.cost, repaired);
	cr_assert(world_check(&world), "seed %llu, fresh: %s", (unsigned long long)seed, world.text);
	world_destroy(&world);
}

Test(structured_walk, loose)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		walk(seed, 300, 180);
}

Test(structured_walk, tight)
{
	for (uint64_t seed = 101; seed <= 112; seed++)
		walk(seed, 300, 100);
}

Test(structured_walk, oversubscribed)
{
	for (uint64_t seed = 201; seed <= 212; seed++)
		walk(seed, 300, 55);
}

Test(structured_walk, far_oversubscribed)
{
	for (uint64_t seed = 301; seed <= 312; seed++)
		walk(seed, 300, 20);
}

/* Lowering prices between solves changes no answer, and the certificate remains valid. */
Test(structured_walk, with_lowered_prices)
{
	for (uint64_t seed = 401; seed <= 424; seed++) {
		struct world world;

		world_create(&world, seed, seed % 2 == 0 ? 180 : 95);
		for (int32_t event = 0; event < 200; event++) {
			cr_assert(world_solve(&world, false));
			for (int32_t column = event % 3; column < world.column_count; column += 3) {
				int32_t before = structured_column_price(world.state, column);

				cr_assert_leq(structured_lower_price(world.state, column), before);
			}
			cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event,
				  world.text);
			world_event(&world);
			structured_lower_price(world.state, event % world.column_count); /* with changes pending */
		}
		world_destroy(&world);
	}
}

Test(structured_walk, long_one)
{
	walk(999, 1500, 95);
}

/* Run with NOMORA_WALKS=1000 before merging a change of the solver. */
Test(structured_walk, other_seeds)
{
	static const int32_t slots_percents[] = {180, 105, 100, 95, 55, 20};
	const char *wanted = getenv("NOMORA_WALKS");
	uint64_t walks = wanted ? strtoull(wanted, NULL, 10) : 3;

	for (uint64_t i = 0; i < walks; i++)
		walk(10000 + i, 200, slots_percents[i % 6]);
}

/* Mostly more units than slots, and rows over the whole cluster: nearly every event changes the aggregator's price. */
Test(structured_walk, wide_oversubscribed)
{
	enum { WALKS = 24, EVENTS = 250 };
	int32_t oversubscribed = 0;

	for (uint64_t seed = 401; seed < 401 + WALKS; seed++) {
		struct world world;

		world_create_wide(&world, seed, 25);
		for (int32_t event = 0; event < EVENTS; event++) {
			cr_assert(world_solve(&world, false), "seed %llu, event %d: no answer",
				  (unsigned long long)seed, event);
			cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event,
				  world.text);
			oversubscribed += world.result.unscheduled + world.result.unrouted > 0;
			if (event % 3 == 0)
				world_adopt(&world);
			for (int32_t burst = event % 5 == 0 ? 4 : 1; burst > 0; burst--)
				world_event(&world);
		}
		world_destroy(&world);
	}
	cr_expect_gt(oversubscribed, WALKS * EVENTS * 3 / 5);
}

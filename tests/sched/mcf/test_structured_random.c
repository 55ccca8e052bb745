/* SPDX-License-Identifier: BSD-3-Clause */
/* Thousands of small networks from scratch: the simplex's optimum, a valid certificate, consistent shares. */
#include <criterion/criterion.h>

#include "structured_world.h"

static void solve_many(uint64_t first_seed, int32_t count, int32_t slots_percent)
{
	for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)count; seed++) {
		struct world world;

		world_create(&world, seed, slots_percent);
		cr_assert(world_solve(&world, true), "seed %llu: no answer", (unsigned long long)seed);
		cr_assert(world_check(&world), "seed %llu: %s", (unsigned long long)seed, world.text);
		world_destroy(&world);
	}
}

Test(structured_random, loose)
{
	solve_many(1, 3000, 200);
}

Test(structured_random, tight)
{
	solve_many(100001, 3000, 100);
}

Test(structured_random, oversubscribed)
{
	solve_many(200001, 3000, 50);
}

Test(structured_random, hardly_any_slot)
{
	solve_many(300001, 3000, 5);
}

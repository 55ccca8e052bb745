/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs and solves from scratch that are abandoned half-way, and the solves after them: the answer is optimal all the
 * same.
 */
#include <criterion/criterion.h>

#include "structured_priv.h"
#include "structured_world.h"

struct walk {
	int32_t started_over, repaired;
};

/* Each attempt may scan only a few arcs; the number differs from event to event. */
static void walk(struct world *world, uint64_t seed, int32_t events, struct walk *walked)
{
	for (int32_t event = 0; event < events; event++) {
		struct structured *state = world->state;
		bool solved = state->solved;

		state->effort.repair_scans = rng_below(&world->rng, 600);
		state->effort.start_scans = rng_below(&world->rng, 60);
		state->effort.repair_skips = event % 5 == 0;
		cr_assert(world_solve(world, false), "seed %llu, event %d: no answer", (unsigned long long)seed, event);
		cr_assert(world_check(world), "seed %llu, event %d: %s", (unsigned long long)seed, event, world->text);
		walked->started_over += world->result.started_over;
		walked->repaired += solved && !world->result.started_over;
		cr_assert(!solved || event % 5 > 0 || world->result.started_over);
		if (event % 7 == 0)
			world_adopt(world);
		world_event(world);
	}
}

static void walk_many(uint64_t first_seed, int32_t slots_percent, bool wide)
{
	enum { WALKS = 12, EVENTS = 300 };
	struct walk walked = {0};

	for (uint64_t seed = first_seed; seed < first_seed + WALKS; seed++) {
		struct world world;

		world_create_either(&world, seed, slots_percent, wide);
		walk(&world, seed, EVENTS, &walked);
		world_destroy(&world);
	}
	cr_expect_geq(walked.started_over, WALKS * (EVENTS / 5 - 1));
	cr_expect_gt(walked.repaired, WALKS * EVENTS / 10);
}

Test(structured_restart, loose)
{
	walk_many(1, 180, false);
}

Test(structured_restart, tight)
{
	walk_many(101, 100, false);
}

Test(structured_restart, oversubscribed)
{
	walk_many(201, 55, false);
	walk_many(301, 20, false);
}

Test(structured_restart, oversubscribed_over_the_whole_cluster)
{
	walk_many(401, 80, true);
	walk_many(501, 55, true);
	walk_many(601, 20, true);
}

/*
 * Solves from scratch that push the common part of all groups at once, from the first unit on or after some single
 * units.
 */
static void push_together_many(uint64_t first_seed, int32_t slots_percent, bool wide)
{
	for (uint64_t seed = first_seed; seed < first_seed + 12; seed++) {
		struct world world;

		world_create_either(&world, seed, slots_percent, wide);
		for (int32_t event = 0; event < 200; event++) {
			world.state->effort.single_passes = (uint64_t)(event % 3);
			cr_assert(world_solve(&world, true), "seed %llu, event %d: no answer", (unsigned long long)seed,
				  event);
			cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event,
				  world.text);
			if (event % 7 == 0)
				world_adopt(&world);
			world_event(&world);
		}
		world_destroy(&world);
	}
}

Test(structured_restart, together)
{
	push_together_many(701, 180, false);
	push_together_many(801, 105, false);
	push_together_many(901, 105, true);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs and starts from nothing that are given up half-way, and what follows them: the optimum all the same. */
#include <criterion/criterion.h>

#include "structured_priv.h"
#include "structured_world.h"

struct walk {
	int32_t started_over, repaired;
};

/* Attempts may look at a few arcs only, a number that differs from event to event. */
static void walk(struct world *world, uint64_t seed, int32_t events, struct walk *walked)
{
	for (int32_t event = 0; event < events; event++) {
		struct structured *state = world->state;
		bool solved = state->solved;

		state->repair_scans = rng_below(&world->rng, 600);
		state->scratch_scans = rng_below(&world->rng, 60);
		state->skip = event % 5 == 0;
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

		if (wide)
			world_create_wide(&world, seed, slots_percent);
		else
			world_create(&world, seed, slots_percent);
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

/* Nothing of a few hundred excess units is left to a start from nothing; more than a part of all units is. */
Test(structured_restart, many_units_at_once)
{
	enum { GROUPS = 40, UNITS = 100 };
	struct structured *state = structured_create(GROUPS, 1, 1);
	struct structured_result result;

	for (int32_t column = 0; column < GROUPS; column++)
		cr_assert_eq(structured_set_column(state, column, column / 8, UNITS), 0);
	for (int32_t group = 0; group < GROUPS; group++) {
		const struct structured_arc arc = {group, 1};
		const struct structured_row row = {.aggregator_cost = 5,
						   .unscheduled_cost = STRUCTURED_NO_ARC,
						   .column_count = 1,
						   .columns = &arc};

		cr_assert_eq(structured_set_row(state, group, &row), 0);
		cr_assert_eq(structured_set_supply(state, group, UNITS), 0);
	}
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	for (int32_t moved = 9; moved <= 11; moved += 2) {
		for (int32_t group = 0; group < moved; group++) {
			const struct structured_arc arc = {(group + 20 + moved) % GROUPS, moved};
			const struct structured_row row = {.aggregator_cost = 50,
							   .unscheduled_cost = STRUCTURED_NO_ARC,
							   .column_count = 1,
							   .columns = &arc};

			cr_assert_eq(structured_set_row(state, group, &row), 0);
		}
		cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
		cr_expect_eq(result.started_over, moved > 10, "%d", moved);
	}
	structured_destroy(state);
}

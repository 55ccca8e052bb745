/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units return to their previous columns: the cost stays the same, the certificate holds, and no unit is missing on the
 * columns of an optimal answer.
 */
#include <errno.h>

#include <criterion/criterion.h>

#include "structured_world.h"

enum { HOMES_MOST = WORLD_GROUPS * WORLD_COLUMNS };

struct homes {
	struct structured_placement items[HOMES_MOST];
	int32_t count;
};

/* Where everybody is. */
static void read_homes(const struct world *world, struct homes *homes)
{
	homes->count = 0;
	for (int32_t g = 0; g < world->group_count; g++) {
		struct structured_share shares[WORLD_COLUMNS];
		int32_t count = world->groups[g].exists ? structured_read(world->state, g, shares, WORLD_COLUMNS) : 0;

		for (int32_t i = 0; i < count; i++)
			homes->items[homes->count++] =
				(struct structured_placement){g, shares[i].column, shares[i].units};
	}
}

/* Random columns, some of them twice, group by group. */
static void draw_homes(struct world *world, struct homes *homes)
{
	homes->count = 0;
	for (int32_t g = 0; g < world->group_count; g++) {
		int32_t count = world->groups[g].exists ? (int32_t)rng_below(&world->rng, WORLD_COLUMNS) : 0;

		for (int32_t i = 0; i < count; i++) {
			int32_t column = (int32_t)rng_below(&world->rng, (uint64_t)world->column_count);

			homes->items[homes->count++] =
				(struct structured_placement){g, column, 1 + (int32_t)rng_below(&world->rng, 3)};
		}
	}
}

static int32_t units_at(const struct world *world, const struct structured_placement *home)
{
	struct structured_share shares[WORLD_COLUMNS];
	int32_t count = structured_read(world->state, home->group, shares, WORLD_COLUMNS);

	for (int32_t i = 0; i < count; i++)
		if (shares[i].column == home->column)
			return shares[i].units;
	return 0;
}

static int32_t missing(const struct world *world, const struct homes *homes)
{
	int32_t units = 0;

	for (int32_t i = 0; i < homes->count; i++) {
		int32_t there = units_at(world, &homes->items[i]);

		units += homes->items[i].units > there ? homes->items[i].units - there : 0;
	}
	return units;
}

static void bring_home(struct world *world, const struct homes *homes, uint64_t seed)
{
	int64_t cost = world->result.cost;

	cr_assert_eq(structured_restore_placement(world->state, homes->items, homes->count), 0);
	cr_assert(world_solve(world, false), "seed %llu", (unsigned long long)seed);
	cr_assert_eq(world->result.cost, cost, "seed %llu", (unsigned long long)seed);
	cr_assert(world_check(world), "seed %llu: %s", (unsigned long long)seed, world->text);
}

/* Returns the number of units that moved away and returned. */
static int32_t go_and_come_back(struct world *world, uint64_t seed)
{
	struct homes answer, others;
	int32_t moved;

	cr_assert(world_solve(world, false), "seed %llu", (unsigned long long)seed);
	if (world->result.status != MCF_OPTIMAL)
		return 0;
	read_homes(world, &answer);
	draw_homes(world, &others);
	bring_home(world, &others, seed);
	moved = missing(world, &answer);
	bring_home(world, &answer, seed);
	cr_assert_eq(missing(world, &answer), 0, "seed %llu: %d of %d did not come back", (unsigned long long)seed,
		     missing(world, &answer), moved);
	return moved;
}

static void walk_many(uint64_t first_seed, int32_t slots_percent, bool wide)
{
	enum { WALKS = 60, EVENTS = 20 };
	int32_t moved = 0;

	for (uint64_t seed = first_seed; seed < first_seed + WALKS; seed++) {
		struct world world;

		world_create_either(&world, seed, slots_percent, wide);
		for (int event = 0; event < EVENTS; event++) {
			moved += go_and_come_back(&world, seed);
			if (event % 3 == 0)
				world_adopt(&world);
			world_event(&world);
		}
		world_destroy(&world);
	}
	cr_assert_gt(moved, WALKS, "there were others to come back from");
}

Test(structured_placement, loose)
{
	walk_many(1, 180, false);
}

Test(structured_placement, tight)
{
	walk_many(101, 100, false);
}

Test(structured_placement, oversubscribed)
{
	walk_many(201, 55, false);
}

Test(structured_placement, over_the_whole_cluster)
{
	walk_many(301, 120, true);
	walk_many(401, 80, true);
}

Test(structured_placement, refuses_what_is_not_there)
{
	struct structured *state = structured_create(1, 1, 1);
	struct structured_row row = {
		.aggregator_cost = 5, .unscheduled_cost = 9, .unscheduled_capacity = 1, .column_count = 0};
	struct structured_placement home = {0, 0, 1};
	struct structured_result result;

	structured_set_column(state, 0, 0, 1);
	cr_assert_eq(structured_set_row(state, 0, &row), 0);
	structured_set_supply(state, 0, 1);
	cr_assert_eq(structured_restore_placement(state, &home, 1), -EINVAL, "before the first solve");
	structured_solve(state, &result);
	cr_assert_eq(structured_restore_placement(state, &home, 1), 0);
	cr_assert_eq(structured_restore_placement(state, &(struct structured_placement){1, 0, 1}, 1), -EINVAL);
	cr_assert_eq(structured_restore_placement(state, &(struct structured_placement){0, 1, 1}, 1), -EINVAL);
	cr_assert_eq(structured_restore_placement(state, &(struct structured_placement){0, 0, -1}, 1), -EINVAL);
	structured_destroy(state);
}

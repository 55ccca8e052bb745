/* SPDX-License-Identifier: BSD-3-Clause */
/* More units than slots: many are deferred at the same time, and the aggregator's price rises to their waiting cost. */
#include <criterion/criterion.h>

#include <sched/mcf/verify.h>

#include "structured_world.h"

enum { LINKS = 300, WAIT = 2000, FIRST_WAIT = 1000 };

static bool certified(const struct structured *state)
{
	struct structured_export out;
	struct mcf_verdict verdict;

	cr_assert_eq(structured_export(state, &out), 0);
	bool right = mcf_verify(&out.problem, &out.solution, &verdict);

	structured_export_free(&out);
	return right;
}

/*
 * A column `group` with one slot, and the group's row: its units wait at this cost, and `runs` of them run on that
 * column.
 */
static void add_group(struct structured *state, int32_t group, const struct arc *arcs, int32_t arc_count,
		      int32_t unscheduled_cost, int32_t runs)
{
	const struct structured_running running = {group, 100, runs};
	const struct structured_row row = {.aggregator_cost = ARC_ABSENT,
					   .unscheduled_cost = unscheduled_cost,
					   .unscheduled_capacity = INT32_MAX,
					   .columns = arcs,
					   .column_count = arc_count,
					   .running = &running,
					   .running_count = runs > 0};

	cr_assert_eq(structured_set_column(state, group, 0, 1), 0);
	cr_assert_eq(structured_set_row(state, group, &row), 0);
	cr_assert_eq(structured_set_supply(state, group, 1), 0);
}

/* Each unit prefers the next unit's column, and only the last one can wait cheaply. */
Test(structured_oversubscribed, one_more_unit_moves_all_the_others_by_one)
{
	struct structured *state = structured_create(LINKS + 1, LINKS, 1);
	struct structured_result result;
	struct structured_share share;
	const struct structured_row anywhere = {
		.aggregator_cost = 500, .unscheduled_cost = WAIT, .unscheduled_capacity = 1};

	for (int32_t link = 0; link < LINKS; link++) {
		const struct arc arcs[] = {{link, 100}, {link + 1, 99}};
		bool last = link == LINKS - 1;

		add_group(state, link, arcs, last ? 1 : 2, last ? FIRST_WAIT : WAIT, 1);
	}
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 100 * LINKS);
	cr_assert_eq(structured_set_row(state, LINKS, &anywhere), 0);
	cr_assert_eq(structured_set_supply(state, LINKS, 1), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_expect_eq(result.cost, 500 + 99 * (LINKS - 1) + FIRST_WAIT);
	cr_expect_eq(structured_unscheduled(state, LINKS - 1), 1);
	cr_expect_eq(structured_read(state, LINKS, &share, 1), 1);
	cr_expect_eq(share.column, 0);
	cr_expect(certified(state));
	structured_destroy(state);
}

/*
 * The only free slot is at the other end of a chain of units, each of which can move by one. A group of two units with
 * one slot waits at such a cost that the search for the aggregator's price starts far too high.
 */
Test(structured_oversubscribed, one_that_waits_comes_in_where_all_the_others_move_by_one)
{
	enum { FREE = LINKS, DEAR = LINKS + 1 };
	static const struct arc entry = {0, 100}, own = {DEAR, 100};
	struct structured *state = structured_create(LINKS + 2, LINKS + 2, 1);
	struct structured_result result;
	struct structured_share share;

	for (int32_t link = 0; link < LINKS; link++) {
		const struct arc arcs[] = {{link, 100}, {link + 1, 100}};

		add_group(state, link, arcs, 2, FIRST_WAIT, 1);
	}
	add_group(state, LINKS, &entry, 1, FIRST_WAIT, 0);
	add_group(state, DEAR, &own, 1, 4 * FIRST_WAIT, 0);
	cr_assert_eq(structured_set_supply(state, DEAR, 2), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_expect_eq(result.cost, 100 * (LINKS + 2) + 4 * FIRST_WAIT);
	cr_expect_eq(structured_unscheduled(state, LINKS), 0);
	cr_expect_eq(structured_read(state, LINKS - 1, &share, 1), 1);
	cr_expect_eq(share.column, FREE);
	cr_expect(certified(state));
	structured_destroy(state);
}

/* Jobs of many units come and go where slots are few: `times` as many units as the world has slots for. */
static int32_t surges(uint64_t seed, bool wide, int32_t times)
{
	enum { EVENTS = 200 };
	struct world world;
	int64_t before = 0;
	int32_t moved = 0;

	if (wide)
		world_create_wide(&world, seed, 60);
	else
		world_create(&world, seed, 60);
	world.supply_top *= times;
	world.always_routable |= seed % 3 > 0;
	for (int32_t event = 0; event < EVENTS; event++) {
		cr_assert(world_solve(&world, false), "seed %llu, event %d: no answer", (unsigned long long)seed,
			  event);
		cr_assert(world_check(&world), "seed %llu, event %d: %s", (unsigned long long)seed, event, world.text);
		int64_t waiting = world.result.unscheduled + world.result.unrouted;

		moved += waiting > before + 2 || waiting + 2 < before;
		before = waiting;
		if (event % 4 == 0)
			world_adopt(&world);
		for (int32_t burst = event % 6 == 0 ? 6 : 1; burst > 0; burst--)
			world_event(&world);
	}
	world_destroy(&world);
	return moved;
}

Test(structured_oversubscribed, surges)
{
	int32_t moved = 0;

	for (uint64_t seed = 1; seed <= 10; seed++)
		moved += surges(seed, false, 4);
	for (uint64_t seed = 11; seed <= 20; seed++)
		moved += surges(seed, true, 4);
	cr_expect_gt(moved, 20 * 200 / 8, "%d", moved);
}

Test(structured_oversubscribed, surges_of_a_few_units)
{
	for (uint64_t seed = 31; seed <= 40; seed++)
		surges(seed, seed % 2 == 0, 1);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Cached rows, updated after random changes, compared with rows computed pair by pair. */
#include <criterion/criterion.h>

#include <math.h>

#include "place_world.h"

enum { EVENTS = 4000 };

struct thresholds {
	int32_t machine, rack;
};

static void check_row(const struct test_world *world, const struct cost_row *row, int curve, const bool *absent,
		      struct thresholds limit)
{
	const struct cluster *cluster = world->cluster;
	int32_t rack_cost[64] = {0}, cluster_cost = 0;
	uint32_t machines = 0, racks = 0;

	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		int32_t cost = (int32_t)curve_cost(world->curves[curve],
						   (double)latency_view_get(world->view, row->root, m, NULL));
		uint32_t rack = cluster->machines[m].rack;
		bool chosen = false;

		if (!absent[m]) {
			rack_cost[rack] = cost > rack_cost[rack] ? cost : rack_cost[rack];
			cluster_cost = cost > cluster_cost ? cost : cluster_cost;
		}
		for (uint32_t i = 0; i < row->machine_count; i++) {
			if (row->machines[i].target != (int32_t)m)
				continue;
			chosen = true;
			cr_assert_eq(row->machines[i].cost, cost);
		}
		cr_assert_eq(chosen, !absent[m] && cost <= limit.machine);
		cr_assert_eq(cost_row_machine(row, rack, m), chosen ? cost : COST_ABSENT);
		machines += chosen;
	}
	cr_assert_eq(machines, row->machine_count, "an arc twice");
	for (uint32_t r = 0; r < cluster->rack_count; r++) {
		bool chosen = racks < row->rack_count && row->racks[racks].target == (int32_t)r;

		cr_assert_eq(chosen, rack_cost[r] > 0 && rack_cost[r] <= limit.rack);
		if (chosen)
			cr_assert_eq(row->racks[racks++].cost, rack_cost[r]);
	}
	cr_assert_eq(racks, row->rack_count);
	cr_assert_eq(row->cluster_cost, cluster_cost ? cluster_cost : COST_ABSENT);
}

/* A row at its last check. */
struct seen {
	uint64_t version;
	int32_t cluster_cost;
	int32_t rack_cost[6], machine_cost[42]; /* ARC_ABSENT: none */
};

static void take_down(const struct test_world *world, const struct cost_row *row, struct seen *seen)
{
	seen->version = row->version;
	seen->cluster_cost = row->cluster_cost;
	for (uint32_t m = 0; m < 42; m++)
		seen->machine_cost[m] = ARC_ABSENT;
	for (uint32_t r = 0; r < 6; r++) {
		struct block_arcs arcs = cost_row_rack(row, r);

		cr_assert_eq(arcs.block, (int32_t)r);
		seen->rack_cost[r] = arcs.cost;
		for (int32_t i = 0; i < arcs.column_count; i++) {
			cr_assert_eq(world->cluster->machines[arcs.columns[i].target].rack, r);
			seen->machine_cost[arcs.columns[i].target] = arcs.columns[i].cost;
		}
	}
}

/* Racks and machines that the row does not list as changed must be unchanged. Returns true if it lists any. */
static bool check_change(const struct test_world *world, const struct cost_row *row, struct seen *seen)
{
	struct seen now;
	bool named[6] = {false}, told;

	take_down(world, row, &now);
	for (uint32_t m = 0, arcs = 0; m < 42; m++) {
		arcs += now.machine_cost[m] != ARC_ABSENT;
		cr_assert(m < 41 || arcs == row->machine_count, "an arc outside of its rack's span");
	}
	told = seen->version != 0 && row->version != seen->version && row->mended_from == seen->version;
	for (uint32_t i = 0; told && i < row->changed_count; i++)
		named[row->changed[i]] = true;
	for (uint32_t m = 0; m < 42 && (told || row->version == seen->version); m++) {
		uint32_t rack = world->cluster->machines[m].rack;

		cr_assert(named[rack] || (now.machine_cost[m] == seen->machine_cost[m] &&
					  now.rack_cost[rack] == seen->rack_cost[rack]));
		cr_assert_eq(now.cluster_cost, seen->cluster_cost);
	}
	*seen = now;
	return told;
}

/* Passes the changes to the rows. */
static void update(struct cost_rows *rows, struct latency_view *view)
{
	struct cost_moved moved = latency_view_moved(view);

	cost_rows_latency_moved(rows, &moved);
	latency_view_moved_clear(view);
}

static void walk(uint64_t seed, struct thresholds limit)
{
	struct test_world world;
	struct cost_rows_settings settings = {limit.machine, limit.rack};
	struct cost_rows *rows;
	bool absent[64] = {false};
	struct seen *seen = calloc(TEST_CURVES * 42, sizeof *seen);
	int told = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	test_world_make(&world, 3, 2, 7, 2);
	test_world_random_curves(&world, &rng);
	rows = cost_rows_create(world.layout, cost_source_from_view(world.view), settings);
	for (int k = 0; k < TEST_CURVES; k++)
		cr_assert_eq(cost_rows_add_curve(rows, world.curves[k], LATENCY_REFERENCE_ABSOLUTE), k);
	for (int event = 0; event < EVENTS; event++) {
		uint32_t a = (uint32_t)rng_below(&rng, 42), b = (uint32_t)rng_below(&rng, 42);
		int curve = (int)rng_below(&rng, TEST_CURVES);

		if (rng_below(&rng, 10) == 0) {
			absent[a] = !absent[a];
			cost_rows_set_present(rows, a, !absent[a]);
		} else {
			/* Few distinct values, in whole microseconds: maxima are often shared, and often removed. */
			float rtt_us = rng_below(&rng, 5) == 0 ? -1 : (float)(rng_below(&rng, 40) * 10 + 1);

			cr_assert_eq(latency_view_set(world.view, a, b, rtt_us), 0);
			update(rows, world.view);
		}
		for (int asked = 0; asked < 2; asked++) {
			uint32_t root = asked == 0 ? b : (a + b) % 42;
			const struct cost_row *row = cost_rows_get(rows, curve, root);

			check_row(&world, row, curve, absent, limit);
			told += check_change(&world, row, &seen[curve * 42 + (int)root]);
		}
	}
	cr_expect_gt(told, EVENTS / 8, "what changed is named");
	free(seen);
	cr_expect_gt(cost_rows_work(rows)->updated, EVENTS / 4, "rows are updated, not recomputed");
	cr_expect_gt(cost_rows_work(rows)->hits, 0);
	cost_rows_destroy(rows);
	test_world_free(&world);
}

Test(cost_rows, papers_thresholds)
{
	walk(1, (struct thresholds){105, 110});
}

Test(cost_rows, wide_thresholds)
{
	walk(2, (struct thresholds){1000, 1000});
}

Test(cost_rows, no_thresholds)
{
	walk(3, (struct thresholds){0, 150});
}

Test(cost_rows, dense_rows_hold_every_machine)
{
	struct policy_settings settings;
	struct test_world world;
	uint16_t cost[12];
	struct rng rng;

	rng_seed(&rng, 4);
	test_world_make(&world, 1, 2, 6, 2);
	test_world_random_curves(&world, &rng);
	for (uint32_t m = 0; m < 12; m++)
		latency_view_set(world.view, 3, m, (float)(m * 13));
	policy_settings_default(&settings);
	test_world_start(&world, "nomora", &settings);
	for (uint32_t m = 0; m < 12; m++)
		cost[m] = (uint16_t)curve_cost(world.curves[0], m * 13);
	test_world_add_job(&world, 0, 0, 1);
	for (uint32_t m = 0; m < 12; m++)
		cr_expect_eq(placer_latency_cost(world.placer, 0, 3, m), cost[m]);
	test_world_free(&world);
}

Test(cost_rows, a_rack_costs_what_its_machines_do_one_by_one)
{
	struct cost_rows_settings thresholds = {105, 110};
	struct test_world world;
	struct cost_rows *rows;
	uint16_t cost[32];
	struct rng rng;

	rng_seed(&rng, 6);
	test_world_make(&world, 1, 3, 20, 2);
	test_world_random_curves(&world, &rng);
	for (int pair = 0; pair < 300; pair++)
		latency_view_set(world.view, (uint32_t)rng_below(&rng, 60), (uint32_t)rng_below(&rng, 60),
				 (float)rng_below(&rng, 300));
	latency_view_set(world.view, 25, 25, 250); /* a machine to itself */
	rows = cost_rows_create(world.layout, cost_source_from_view(world.view), thresholds);
	cr_assert_eq(cost_rows_add_curve(rows, world.curves[0], LATENCY_REFERENCE_ABSOLUTE), 0);
	cost_rows_set_present(rows, 30, false);
	cost_rows_rack(rows, 0, 25, 1, cost);
	for (uint32_t i = 0; i < 20; i++)
		cr_expect_eq(cost[i], i == 10 ? COST_ABSENT : cost_rows_at(rows, 0, 25, 20 + i), "machine %u", 20 + i);
	for (uint32_t i = 20; i < 32; i++)
		cr_expect_eq(cost[i], COST_ABSENT);
	cost_rows_destroy(rows);
	test_world_free(&world);
}

/* One machine as a row with few arcs sees it. */
struct sight {
	int32_t cost; /* COST_ABSENT: the root cannot reach it */
	int32_t rack_cost;
	bool partial;
};

static void look(const struct test_world *world, uint32_t root, struct thresholds limit, struct sight seen[60])
{
	bool partial[3] = {false}, any = false;
	int32_t most[3] = {0};

	for (uint32_t m = 0; m < 60; m++) {
		float rtt_us = latency_view_get(world->view, root, m, NULL);
		uint32_t rack = m / 20;

		seen[m].cost = rtt_us == INFINITY ? COST_ABSENT : (int32_t)curve_cost(world->curves[0], (double)rtt_us);
		partial[rack] |= rtt_us == INFINITY;
		any |= rtt_us == INFINITY;
		if (rtt_us != INFINITY && seen[m].cost > most[rack])
			most[rack] = seen[m].cost;
	}
	for (uint32_t m = 0; m < 60; m++) {
		bool has_arc = !partial[m / 20] && most[m / 20] > 0 && (any || most[m / 20] <= limit.rack);

		seen[m].rack_cost = has_arc ? most[m / 20] : COST_ABSENT;
		seen[m].partial = partial[m / 20];
	}
}

static bool keeps(const struct sight *seen, int32_t limit, bool cut)
{
	if (seen->partial)
		return seen->cost <= COST_MAXIMUM;
	return seen->cost <= limit && !(cut && seen->rack_cost <= limit && seen->cost == seen->rack_cost);
}

static uint32_t count_kept(const struct sight seen[60], int32_t limit, bool cut, bool partial)
{
	uint32_t count = 0;

	for (uint32_t m = 0; m < 60; m++)
		count += keeps(&seen[m], limit, cut) && (partial || !seen[m].partial);
	return count;
}

/* Rows with more than 1 to 30 arcs keep the cheapest ones that the arcs to racks do not replace, as many as may be. */
Test(cost_rows, a_long_row_is_cut)
{
	struct rng rng;
	int cuts = 0;

	rng_seed(&rng, 8);
	for (int round = 0; round < 300; round++) {
		struct thresholds limit = {round % 3 == 0 ? 150 : 1000, round % 2 == 0 ? 200 : 1000};
		struct cost_rows_settings settings = {limit.machine, limit.rack, 1 + (uint32_t)rng_below(&rng, 30)};
		struct test_world world;
		struct sight seen[60];
		struct cost_rows *rows;
		const struct cost_row *row;
		int32_t least = limit.machine;
		bool cut;

		test_world_make(&world, 1, 3, 20, 2);
		test_world_random_curves(&world, &rng);
		for (uint32_t m = 0; m < 60; m++)
			cr_assert_eq(latency_view_set(world.view, 7, m,
						      round % 4 == 0 && rng_below(&rng, 40) == 0
							      ? INFINITY
							      : (float)rng_below(&rng, 400)),
				     0);
		rows = cost_rows_create(world.layout, cost_source_from_view(world.view), settings);
		cr_assert_eq(cost_rows_add_curve(rows, world.curves[0], LATENCY_REFERENCE_ABSOLUTE), 0);
		row = cost_rows_get(rows, 0, 7);
		look(&world, 7, limit, seen);
		cut = count_kept(seen, limit.machine, false, true) > settings.machine_arcs;
		if (cut && count_kept(seen, limit.machine, true, true) > settings.machine_arcs)
			while (least > 0 && count_kept(seen, least, true, false) > settings.machine_arcs)
				least--;
		cr_expect_eq(row->machine_limit, least, "round %d: limit %d, expected %d", round, row->machine_limit,
			     least);
		for (uint32_t m = 0; m < 60; m++)
			cr_expect_eq(cost_row_machine(row, m / 20, m),
				     keeps(&seen[m], least, cut) ? seen[m].cost : COST_ABSENT, "round %d, machine %u",
				     round, m);
		cuts += cut;
		cost_rows_destroy(rows);
		test_world_free(&world);
	}
	cr_expect_gt(cuts, 100);
}

Test(cost_rows, a_row_goes_with_the_last_root)
{
	struct cost_rows_settings thresholds = {105, 110};
	struct test_world world;
	struct cost_rows *rows;
	uint64_t version;
	struct rng rng;

	rng_seed(&rng, 5);
	test_world_make(&world, 1, 2, 6, 2);
	test_world_random_curves(&world, &rng);
	rows = cost_rows_create(world.layout, cost_source_from_view(world.view), thresholds);
	cr_assert_eq(cost_rows_add_curve(rows, world.curves[0], LATENCY_REFERENCE_ABSOLUTE), 0);
	cr_assert_eq(cost_rows_add_curve(rows, world.curves[1], LATENCY_REFERENCE_ABSOLUTE), 1);
	for (int job = 0; job < 2; job++)
		cost_rows_root_came(rows, 0, 3);
	cost_rows_root_came(rows, 1, 3);
	version = cost_rows_get(rows, 0, 3)->version;
	cost_rows_get(rows, 1, 3);
	cost_rows_root_left(rows, 0, 3);
	cr_expect_eq(cost_rows_kept(rows), 2, "another job has its root there");
	cr_expect_eq(cost_rows_get(rows, 0, 3)->version, version);
	cost_rows_root_left(rows, 0, 3);
	cr_expect_eq(cost_rows_kept(rows), 1, "the other curve's row stays");
	cr_expect_neq(cost_rows_get(rows, 0, 3)->version, version, "recomputed");
	cost_rows_destroy(rows);
	test_world_free(&world);
}

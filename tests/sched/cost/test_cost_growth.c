/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster that grows from 4 racks to over 128: bit sets of racks get a second and a third word while they hold marks.
 * Cached rows are compared with costs computed pair by pair, round trips with the measurements.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "cost_priv.h"
#include "place_world.h"

enum { RACKS = 140, PER_RACK = 2, MACHINES = RACKS * PER_RACK, ROOTS = 6, MEASUREMENTS = 12 };

struct growing {
	struct test_world world;
	struct cost_rows *rows;
	float out_us[MACHINES][MACHINES]; /* < 0: not measured */
	struct rng rng;
};

static const struct cost_rows_settings settings = {.machine_threshold = 105, .rack_threshold = 110};

static void add_machine(struct growing *growing, uint32_t number)
{
	struct test_world *world = &growing->world;
	char name[24], rack[24], pod[24];
	int64_t machine;

	snprintf(name, sizeof name, "m%u", number);
	snprintf(rack, sizeof rack, "r%u", number / PER_RACK);
	snprintf(pod, sizeof pod, "p%u", number / PER_RACK % 3);
	machine = cluster_add_machine(world->cluster, name, rack, pod, 1, NULL);
	cr_assert_eq(machine, number);
	cr_assert_eq(cost_layout_add(world->layout, number), 0);
	cr_assert_eq(latency_view_grow(world->view), 0);
	cr_assert_eq(cost_rows_grow(growing->rows), 0);
	cost_rows_set_present(growing->rows, number, true);
}

static void measure(struct growing *growing)
{
	uint32_t count = growing->world.cluster->machine_count, a = (uint32_t)rng_below(&growing->rng, count),
		 b = (uint32_t)rng_below(&growing->rng, 2) ? (uint32_t)rng_below(&growing->rng, ROOTS)
							   : (uint32_t)rng_below(&growing->rng, count);
	float rtt_us = 10 * (float)rng_below(&growing->rng, 11); /* entries of the curves: nothing is rounded */

	growing->out_us[a][b] = rtt_us;
	cr_assert_eq(latency_view_set(growing->world.view, a, b, rtt_us), 0);
}

static void check_view(const struct growing *growing)
{
	uint32_t count = growing->world.cluster->machine_count;

	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++) {
			float there = growing->out_us[a][b], back = growing->out_us[b][a];
			enum latency_origin origin;
			float found = latency_view_get(growing->world.view, a, b, &origin);

			cr_assert_eq(origin == LATENCY_ORIGIN_MEASURED, there >= 0 || back >= 0);
			if (origin == LATENCY_ORIGIN_MEASURED)
				cr_assert_eq(found, there > back ? there : back);
		}
}

static void check_row(const struct growing *growing, const struct cost_row *row, int curve)
{
	const struct cluster *cluster = growing->world.cluster;
	int32_t rack_cost[RACKS] = {0}, cluster_cost = 0;

	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		uint32_t rack = cluster->machines[m].rack;
		int32_t cost = (int32_t)curve_cost(growing->world.curves[curve],
						   (double)latency_view_get(growing->world.view, row->root, m, NULL));

		cr_assert_eq(cost_row_machine(row, rack, m), cost <= 105 ? cost : COST_ABSENT, "machine %u", m);
		rack_cost[rack] = cost > rack_cost[rack] ? cost : rack_cost[rack];
		cluster_cost = cost > cluster_cost ? cost : cluster_cost;
	}
	for (uint32_t r = 0; r < cluster->rack_count; r++)
		cr_assert_eq(cost_row_rack_cost(row, r), rack_cost[r] <= 110 ? rack_cost[r] : COST_ABSENT,
			     "rack %u of %u: %d, not %d", r, cluster->rack_count, cost_row_rack_cost(row, r),
			     rack_cost[r]);
	cr_assert_eq(row->cluster_cost, cluster_cost, "%u racks, root %u: %d, not %d", cluster->rack_count, row->root,
		     row->cluster_cost, cluster_cost);
}

static void check_rows(const struct growing *growing)
{
	for (uint32_t root = 0; root < ROOTS; root++)
		for (int curve = 0; curve < TEST_CURVES; curve++)
			check_row(growing, cost_rows_get(growing->rows, curve, root), curve);
}

static void pass_on(struct growing *growing)
{
	struct cost_moved moved = latency_view_moved(growing->world.view);

	cost_rows_latency_moved(growing->rows, &moved);
	latency_view_moved_clear(growing->world.view);
}

/* Rounds differ in what is pending while the cluster grows: marks of the view, marks of the rows, or none. */
static void grow(uint64_t seed)
{
	static struct growing growing;

	rng_seed(&growing.rng, seed);
	test_world_make(&growing.world, 1, 4, PER_RACK, 1);
	test_world_random_curves(&growing.world, &growing.rng);
	growing.world.cluster->default_rtt = (struct cluster_default_rtt){1, 20, 60, 90};
	growing.rows = cost_rows_create(growing.world.layout, cost_source_from_view(growing.world.view), settings);
	for (int curve = 0; curve < TEST_CURVES; curve++)
		cr_assert_eq(cost_rows_add_curve(growing.rows, growing.world.curves[curve], LATENCY_REFERENCE_ABSOLUTE),
			     curve);
	for (uint32_t a = 0; a < MACHINES; a++)
		for (uint32_t b = 0; b < MACHINES; b++)
			growing.out_us[a][b] = -1;
	check_rows(&growing);
	for (uint32_t number = growing.world.cluster->machine_count; number < MACHINES; number++) {
		bool widens = number % PER_RACK == 0 && number / PER_RACK % 64 == 0;

		for (int i = 0; i < MEASUREMENTS; i++)
			measure(&growing);
		if ((number + seed) % 3 == 0 || (widens && seed % 2))
			pass_on(&growing);
		add_machine(&growing, number);
		if (number % 8 == 0 || widens) {
			pass_on(&growing);
			check_rows(&growing);
		}
	}
	pass_on(&growing);
	check_rows(&growing);
	check_view(&growing);
	cost_rows_destroy(growing.rows);
	test_world_free(&growing.world);
}

Test(cost_growth, marks_survive_more_racks_in_the_view)
{
	grow(2);
}

Test(cost_growth, marks_survive_more_racks_in_the_rows)
{
	grow(3);
}

/* The square of a small map becomes a hash table, which grows in turn. */
Test(pair_map, holds_every_pair_while_it_grows)
{
	enum { LIMIT = 2200, STEP = 55, PER_STEP = 60 };
	static float wanted[LIMIT][LIMIT];
	struct pair_map map;
	struct rng rng;

	rng_seed(&rng, 5);
	for (uint32_t a = 0; a < LIMIT; a++)
		for (uint32_t b = 0; b < LIMIT; b++)
			wanted[a][b] = -1;
	cr_assert_eq(pair_map_init(&map, STEP), 0);
	for (uint32_t limit = STEP; limit <= LIMIT; limit += STEP) {
		cr_assert_eq(pair_map_grow(&map, limit), 0);
		cr_assert_geq(map.limit, limit);
		for (int i = 0; i < PER_STEP; i++) {
			uint32_t a = (uint32_t)rng_below(&rng, limit), b = (uint32_t)rng_below(&rng, limit);
			float value = (float)rng_uniform(&rng);

			cr_assert_eq(pair_map_set(&map, a, b, value), 0);
			wanted[a][b] = wanted[b][a] = value;
			cr_assert_eq(pair_map_get(&map, b, a), value);
		}
	}
	cr_assert_null(pair_map_row(&map, 0), "it is a hash table by now");
	for (uint32_t a = 0; a < LIMIT; a++)
		for (uint32_t b = 0; b < LIMIT; b++)
			cr_assert_eq(pair_map_get(&map, a, b), wanted[a][b]);
	pair_map_free(&map);
	cr_assert_eq(pair_map_init(&map, PAIR_MAP_SQUARE_LIMIT + 1), 0);
	cr_expect_eq(pair_map_get(&map, 3, 4), -1);
	cr_expect_null(pair_map_row(&map, 0));
	pair_map_free(&map);
	cr_assert_eq(pair_map_init(&map, PAIR_MAP_SQUARE_LIMIT), 0);
	cr_expect_eq(pair_map_set(&map, 3, 4, 7), 0);
	cr_expect_eq(pair_map_row(&map, 4)[3], 7);
	pair_map_free(&map);
}

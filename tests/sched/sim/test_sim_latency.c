/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of latencies compared with brute force over all pairs. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sched/sim/latency.h>

static struct cluster *cluster;
static struct cost_layout *layout;
static struct sim_latency_settings settings;
static struct sim_latency latency;

static void make(uint32_t machines, uint32_t machines_per_rack, uint32_t racks_per_pod)
{
	struct error err = {0};

	cluster = cluster_create();
	for (uint32_t m = 0; m < machines; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", m / machines_per_rack);
		snprintf(pod, sizeof pod, "p%u", m / machines_per_rack / racks_per_pod);
		cr_assert_geq(cluster_add_machine(cluster, name, rack, pod, 1, &err), 0, "%s", err.text);
	}
	layout = cost_layout_create(cluster);
	cr_assert_not_null(layout);
}

static void teardown(void)
{
	sim_latency_end(&latency);
	cost_layout_destroy(layout);
	cluster_destroy(cluster);
}

TestSuite(sim_latency, .fini = teardown);

static void next_second(struct sim_latency *which)
{
	bool moved = false;

	cr_assert_eq(sim_latency_next_second(which, 0, &moved), 0);
	cr_assert(moved);
}

static float rtt_us(uint32_t a, uint32_t b)
{
	return latency.now.rtt_us[sim_latency_cell(&latency, a, b)];
}

Test(sim_latency, pairs_are_symmetric_and_within_their_level)
{
	make(90, 10, 3);
	sim_latency_settings_default(&settings);
	settings.spread = settings.drift = settings.noise = 0;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	for (uint32_t a = 0; a < 90; a++) {
		for (uint32_t b = 0; b < 90; b++) {
			bool rack = a / 10 == b / 10, pod = a / 30 == b / 30;
			double level = rack ? 70 : pod ? 200 : 520, low = rack ? 0.5 : 0.8, high = rack ? 1 : 1.2;

			cr_expect_eq(rtt_us(a, b), rtt_us(b, a));
			if (a == b)
				cr_expect_eq(rtt_us(a, b), 1);
			else
				cr_expect(rtt_us(a, b) >= low * level && rtt_us(a, b) <= high * level, "%u %u %g", a, b,
					  (double)rtt_us(a, b));
		}
	}
}

Test(sim_latency, recorded_levels_vary_by_drift_and_noise)
{
	float near_us = 40, far_us = 160;
	struct rtt_series levels[] = {{&near_us, 1, 80}, {&far_us, 1, 80}};
	struct rtt_series_set set = {.items = {levels, levels, levels}, .counts = {2, 1, 2}};
	double before;

	make(90, 10, 3);
	sim_latency_settings_default(&settings);
	settings.drift = settings.noise = 0;
	settings.recorded = &set;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	for (uint32_t b = 1; b < 90; b++) { /* as they are */
		uint32_t cell = sim_latency_cell(&latency, 0, b), series = cell / SIM_LATENCY_SCALES;
		double level = b < 10 || b >= 30 ? levels[series % SIM_LATENCY_SERIES % 2].us[0] : near_us;
		int distance = b < 10 ? 0 : b < 30 ? 1 : 2;

		cr_expect_float_eq(rtt_us(0, b), level * latency.scale[distance][cell % SIM_LATENCY_SCALES], 1e-3);
	}
	sim_latency_end(&latency);
	set.relative = true;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	cr_expect_float_eq(latency.now.rtt_us[2 * SIM_LATENCY_CLASS_CELLS], 520 * 40 / 80 * latency.scale[2][0], 1e-3);
	before = latency.now.rtt_us[0];
	next_second(&latency);
	cr_expect_eq(latency.now.rtt_us[0], before);
	sim_latency_end(&latency);
	settings.noise = 0.1;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	before = latency.now.rtt_us[0];
	next_second(&latency);
	cr_expect_neq(latency.now.rtt_us[0], before);
}

/* Two values for each of the 42 series of a distance: series k begins with value 2 k, and the values repeat. */
Test(sim_latency, a_recorded_series_is_followed_second_by_second)
{
	enum { VALUES = 2 * SIM_LATENCY_SERIES };
	float us[VALUES];
	struct rtt_series recorded = {us, VALUES, 100};
	struct rtt_series_set set = {.items = {&recorded, &recorded, &recorded}, .counts = {1, 1, 1}};

	for (int i = 0; i < VALUES; i++)
		us[i] = (float)(100 + i);
	make(90, 10, 3);
	sim_latency_settings_default(&settings);
	settings.drift = settings.noise = 0;
	settings.recorded = &set;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	for (int second = 0; second <= VALUES; second++) {
		for (int k = 0; k < SIM_LATENCY_SERIES; k++)
			cr_assert_float_eq(latency.now.rtt_us[k * SIM_LATENCY_SCALES],
					   (100 + (2 * k + second) % VALUES) * latency.scale[0][0], 1e-3,
					   "series %d, second %d", k, second);
		next_second(&latency);
	}
}

/* A part of a row, from any column on, is that of the whole row; nothing behind it is written. */
static void expect_part_of_row(const struct cost_source *source, uint32_t root, const float *row, struct rng *rng)
{
	uint32_t first = (uint32_t)rng_below(rng, layout->column_count);
	uint32_t count = (uint32_t)rng_below(rng, layout->column_count - first + 1);
	float part[2049];

	part[count] = 7;
	source->row(source->context, root, first, count, part);
	cr_expect_arr_eq(part, row + first, count * sizeof *part);
	cr_expect_eq(part[count], 7);
}

/* Rows and nearest machines of 1,000 random clusters, seconds and roots. */
Test(sim_latency, rows_and_nearest_machines_equal_brute_force)
{
	struct rng rng;

	rng_seed(&rng, 3);
	for (int round = 0; round < 1000; round++) {
		uint32_t machines = 2 + (uint32_t)rng_below(&rng, 60), root = (uint32_t)rng_below(&rng, machines);
		bool present[64];
		float row[2048], least = INFINITY;
		struct cost_source source;

		make(machines, 1 + (uint32_t)rng_below(&rng, 12), 1 + (uint32_t)rng_below(&rng, 4));
		sim_latency_settings_default(&settings);
		settings.seed = rng_next(&rng);
		settings.noise = 0.5;
		settings.spike_chance = 0.1;
		settings.age_s = (uint32_t)rng_below(&rng, 4);
		settings.error = round % 2 ? 0.3 : 0;
		for (int d = 0; d < SIM_DISTANCES; d++)
			settings.level_us[d] = 20 + 300 * rng_uniform(&rng);
		cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
		for (uint64_t second = rng_below(&rng, 5); second > 0; second--)
			next_second(&latency);
		for (uint32_t m = 0; m < machines; m++)
			present[m] = false;
		for (int change = 0; change < 100; change++) { /* some before the first query, some after it */
			uint32_t m = (uint32_t)rng_below(&rng, machines);

			present[m] = !present[m];
			sim_latency_set_present(&latency, m, present[m]);
			if (change % 10 == 5)
				sim_latency_nearest_us(&latency, root);
		}
		source = sim_latency_source(&latency);
		cr_assert_leq(layout->column_count, 2048);
		source.row(source.context, root, 0, layout->column_count, row);
		for (uint32_t c = 0; c < layout->column_count; c++) {
			uint32_t machine = layout->machine_of_column[c];

			if (machine == COST_NO_MACHINE) {
				cr_expect_lt(row[c], 0);
				continue;
			}
			cr_expect_eq(row[c], sim_latency_believed_us(&latency, root, machine));
			if (machine != root && present[machine])
				least = fminf(least, rtt_us(root, machine));
		}
		cr_expect_eq(sim_latency_nearest_us(&latency, root), least);
		expect_part_of_row(&source, root, row, &rng);
		teardown();
		layout = NULL;
		cluster = NULL;
	}
}

/* The policy knows the round trips of age_s seconds ago, with an error; those that count do not depend on either. */
Test(sim_latency, the_believed_round_trips_are_old_and_have_an_error)
{
	enum { SECONDS = 200, AGE = 10 };
	static float true_us[SECONDS];
	struct sim_latency exact = {0};
	double sum = 0, squares = 0;

	make(90, 10, 3);
	sim_latency_settings_default(&settings);
	cr_assert_eq(sim_latency_start(&exact, &settings, layout, NULL), 0);
	settings.age_s = AGE;
	settings.error = 0.1;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	for (int second = 0; second < SECONDS; second++) {
		double error;

		true_us[second] = rtt_us(3, 47);
		cr_assert_eq(true_us[second], sim_latency_rtt_us(&exact, 3, 47));
		error = log(
			(double)(sim_latency_believed_us(&latency, 3, 47) / true_us[second < AGE ? 0 : second - AGE]));
		sum += error;
		squares += error * error;
		next_second(&latency);
		next_second(&exact);
	}
	cr_expect_float_eq(sum / SECONDS, 0, 0.03, "%g", sum / SECONDS);
	cr_expect_float_eq(sqrt(squares / SECONDS), 0.1, 0.02, "%g", sqrt(squares / SECONDS));
	sim_latency_end(&exact);
}

static void expect_same_row(const struct cost_row *a, const struct cost_row *b)
{
	cr_assert_eq(a->cluster_cost, b->cluster_cost, "%d, expected %d", a->cluster_cost, b->cluster_cost);
	cr_assert_eq(a->machine_count, b->machine_count);
	cr_assert_eq(a->rack_count, b->rack_count, "%u racks, expected %u", a->rack_count, b->rack_count);
	cr_assert_arr_eq(a->machines, b->machines, a->machine_count * sizeof *a->machines);
	cr_assert_arr_eq(a->racks, b->racks, a->rack_count * sizeof *a->racks);
}

/*
 * Rows of costs computed by distance bounds, compared with those computed from every machine, while machines come and
 * go.
 */
Test(sim_latency, rows_of_costs_equal_those_of_every_machine)
{
	struct error err = {0};
	struct curve *curve = curve_load(SOURCE_ROOT "/curves/memcached.json", &err);
	struct rng rng;

	cr_assert(curve, "%s", err.text);
	rng_seed(&rng, 4);
	for (int round = 0; round < 1000; round++) {
		uint32_t machines = 2 + (uint32_t)rng_below(&rng, 60);
		struct cost_rows_settings thresholds = {(int32_t)(100 + rng_below(&rng, 100)),
							(int32_t)(100 + rng_below(&rng, 200)), 0, COST_LOOKUP_NEAREST};
		struct cost_source plain;
		struct cost_rows *fast, *slow;

		make(machines, 1 + (uint32_t)rng_below(&rng, 12), 1 + (uint32_t)rng_below(&rng, 4));
		sim_latency_settings_default(&settings);
		settings.seed = rng_next(&rng);
		settings.error = round % 2 ? 0.3 : 0;
		for (int d = 0; d < SIM_DISTANCES; d++)
			settings.level_us[d] = 20 + 300 * rng_uniform(&rng);
		cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
		plain = sim_latency_source(&latency);
		fast = cost_rows_create(layout, plain, thresholds);
		plain.extremes = NULL;
		plain.coarse = false;
		slow = cost_rows_create(layout, plain, thresholds);
		cr_assert(fast && slow);
		cost_rows_add_curve(fast, curve, LATENCY_REFERENCE_ABSOLUTE);
		cost_rows_add_curve(slow, curve, LATENCY_REFERENCE_ABSOLUTE);
		for (uint32_t m = 0; m < machines; m++)
			sim_latency_set_present(&latency, m, true);
		for (int step = 0; step < 60; step++) {
			uint32_t m = (uint32_t)rng_below(&rng, machines);
			bool present = !latency.present[m];

			if (step % 3 == 0) {
				next_second(&latency);
				cost_rows_all_moved(fast);
				cost_rows_all_moved(slow);
			} else if (step % 3 == 1) {
				sim_latency_set_present(&latency, m, present);
				cost_rows_set_present(fast, m, present);
				cost_rows_set_present(slow, m, present);
			}
			expect_same_row(cost_rows_get(fast, 0, m), cost_rows_get(slow, 0, m));
		}
		cost_rows_destroy(fast);
		cost_rows_destroy(slow);
		teardown();
		layout = NULL;
		cluster = NULL;
	}
	curve_destroy(curve);
}

/*
 * The mean over many seconds is the level; the values of single seconds vary by the noise; a seed gives the same
 * series.
 */
Test(sim_latency, series_have_the_given_level_and_noise)
{
	double sum = 0, squares = 0, last;
	struct sim_latency again;
	int seconds = 20000;

	make(4, 2, 1);
	sim_latency_settings_default(&settings);
	settings.spread = settings.drift = 0;
	settings.noise = 0.2;
	cr_assert_eq(sim_latency_start(&latency, &settings, layout, NULL), 0);
	cr_assert_eq(sim_latency_start(&again, &settings, layout, NULL), 0);
	last = log((double)latency.now.rtt_us[0]);
	for (int s = 0; s < seconds; s++) {
		double now;

		next_second(&latency);
		next_second(&again);
		cr_assert_eq(latency.now.rtt_us[100], again.now.rtt_us[100]);
		now = log((double)latency.now.rtt_us[0]);
		sum += now;
		squares += (now - last) * (now - last);
		last = now;
	}
	sim_latency_end(&again);
	cr_expect_float_eq(sum / seconds, log(70 * (0.5 + 0.5 * 0.5 / SIM_LATENCY_SCALES)), 0.01);
	cr_expect_float_eq(sqrt(squares / seconds / 2), 0.2, 0.01);
}

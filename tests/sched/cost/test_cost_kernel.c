/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kernel that this processor can run gives exactly the same costs as the definition. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/rng.h>
#include <sched/cost/kernel.h>

enum { COLUMNS = 48, ROUNDS = 400 };

static struct curve *make_curve(size_t count, double fall, double baseline_rtt_us)
{
	double *p = malloc(count * sizeof *p);
	struct error err = {0};
	struct curve *curve;

	for (size_t i = 0; i < count; i++)
		p[i] = 1 - fall * (double)i;
	curve = curve_from_table("test", p, count, &err);
	cr_assert_not_null(curve, "%s", err.text);
	curve->baseline_rtt_us = baseline_rtt_us;
	free(p);
	return curve;
}

/*
 * The definition: the nearest table entry, with 1 / p to two decimals or two digits; or interpolation at the nearest
 * quarter of a microsecond.
 */
static uint16_t cost_of(const struct curve *curve, enum cost_lookup lookup, float x_us)
{
	char text[16];

	if (lookup == COST_LOOKUP_NEAREST)
		return (uint16_t)lround(100 / curve_eval_nearest(curve, (double)x_us));
	if (lookup == COST_LOOKUP_TWO_DIGITS) {
		/* Halves are rounded up. */
		snprintf(text, sizeof text, "%.1e", nextafter(1 / curve_eval_nearest(curve, (double)x_us), 10));
		return (uint16_t)lround(100 * strtod(text, NULL));
	}
	return (uint16_t)curve_cost(curve, floor((double)x_us * COST_STEPS_PER_US + 0.5) / COST_STEPS_PER_US);
}

static enum cost_lookup lookup;

static void check_columns(const struct cost_table *table, const struct curve *curve, enum latency_reference reference,
			  const float *rtt_us, int columns)
{
	uint16_t expected[COLUMNS], largest = 0, smallest = COST_ABSENT;

	for (int c = 0; c < columns; c++) {
		/* In float, as in the computation of costs: the nearest step, halves rounded up. */
		float x_us = reference == LATENCY_REFERENCE_ADDED && !isnan(curve->baseline_rtt_us)
				     ? rtt_us[c] - (float)curve->baseline_rtt_us
				     : rtt_us[c];

		expected[c] = rtt_us[c] < 0 ? COST_ABSENT : cost_of(curve, lookup, x_us > 0 || isnan(x_us) ? x_us : 0);
		if (expected[c] == COST_ABSENT)
			continue;
		largest = expected[c] > largest ? expected[c] : largest;
		smallest = expected[c] < smallest ? expected[c] : smallest;
	}
	for (const struct cost_kernel *kernel = cost_kernels; kernel->name; kernel++) {
		uint16_t cost[COLUMNS], maximum, minimum;

		if (!kernel->usable())
			continue;
		kernel->rack(table, rtt_us, (uint32_t)columns, cost, &maximum, &minimum);
		for (int c = 0; c < columns; c++) {
			cr_assert_eq(cost[c], expected[c], "%s: %.9g us costs %u, not %u", kernel->name,
				     (double)rtt_us[c], cost[c], expected[c]);
			cr_assert_eq(cost_table_at(table, rtt_us[c]), expected[c]);
		}
		cr_assert_eq(maximum, largest ? largest : COST_ABSENT, "%s: maximum %u, not %u", kernel->name, maximum,
			     largest);
		cr_assert_eq(minimum, smallest, "%s: minimum %u, not %u", kernel->name, minimum, smallest);
	}
}

/* Racks of one, two and three vectors. */
static void check_rack(const struct cost_table *table, const struct curve *curve, enum latency_reference reference,
		       const float *rtt_us)
{
	for (int columns = COLUMNS / 3; columns <= COLUMNS; columns += COLUMNS / 3)
		check_columns(table, curve, reference, rtt_us, columns);
}

static void try_lookup(size_t count, double fall, double baseline_rtt_us, enum latency_reference reference)
{
	struct curve *curve = make_curve(count, fall, baseline_rtt_us);
	struct cost_table *table = cost_table_create(curve, reference, lookup);
	float rtt_us[COLUMNS];
	struct rng rng;

	rng_seed(&rng, count);
	for (int round = 0; round < ROUNDS; round++) {
		for (int c = 0; c < COLUMNS; c++) {
			static const float special[] = {-1, 0, 5, 15, 25, 35, 1e9f, INFINITY, NAN, 1e-30f};
			/* Whole microseconds, for which float and double agree on the nearest step. */
			rtt_us[c] = rng_below(&rng, 8) == 0 ? special[rng_below(&rng, 10)]
							    : (float)rng_below(&rng, 12 * count + 50);
		}
		check_rack(table, curve, reference, rtt_us);
	}
	for (int c = 0; c < COLUMNS; c++)
		rtt_us[c] = -1;
	check_rack(table, curve, reference, rtt_us);
	cost_table_destroy(table);
	curve_destroy(curve);
}

static void try_curve(size_t count, double fall, double baseline_rtt_us, enum latency_reference reference)
{
	lookup = COST_LOOKUP_NEAREST;
	try_lookup(count, fall, baseline_rtt_us, reference);
	lookup = COST_LOOKUP_TWO_DIGITS;
	try_lookup(count, fall, baseline_rtt_us, reference);
	lookup = COST_LOOKUP_INTERPOLATED;
	try_lookup(count, fall, baseline_rtt_us, reference);
}

Test(cost_kernel, small_table)
{
	try_curve(1, 0, NAN, LATENCY_REFERENCE_ABSOLUTE);
	try_curve(60, 0.01, NAN, LATENCY_REFERENCE_ABSOLUTE);
	try_curve(101, 0.008, NAN, LATENCY_REFERENCE_ADDED);
}

Test(cost_kernel, large_table)
{
	try_curve(1000, 0.0009, 32, LATENCY_REFERENCE_ADDED);
	try_curve(1000, 0.0009, 32, LATENCY_REFERENCE_ABSOLUTE);
}

Test(cost_kernel, papers_costs)
{
	/* NoMora 5.2: performance 1 costs 100, 0.1 costs 1000, the maximum. */
	struct curve *curve = make_curve(20, 0.1, NAN);
	struct cost_table *table = cost_table_create(curve, LATENCY_REFERENCE_ABSOLUTE, COST_LOOKUP_NEAREST);

	cr_expect_eq(cost_table_at(table, 0), 100);
	cr_expect_eq(cost_table_at(table, 50), 200);
	cr_expect_eq(cost_table_at(table, 90), 1000);
	cr_expect_eq(cost_table_at(table, 150), 1000, "performance under 0.1 counts as 0.1");
	cr_expect_eq(cost_table_at(table, 14), 111);
	cr_expect_eq(cost_table_at(table, 15), 125, "the nearest step, halves up");
	cost_table_destroy(table);
	curve_destroy(curve);
}

Test(cost_kernel, interpolated_costs_have_no_cliffs)
{
	static const double p[] = {1, 0.84, 0.7};
	struct error err = {0};
	struct curve *curve = curve_from_table("steep", p, 3, &err);
	struct cost_table *table = cost_table_create(curve, LATENCY_REFERENCE_ABSOLUTE, COST_LOOKUP_INTERPOLATED);

	cr_expect_eq(cost_table_at(table, 0), 100);
	cr_expect_eq(cost_table_at(table, 4.9F), lround(100 / (1 - 0.016 * 5)), "at the nearest quarter");
	cr_expect_eq(cost_table_at(table, 5.1F), cost_table_at(table, 4.9F));
	cr_expect_eq(cost_table_at(table, 15), lround(100 / 0.77));
	cr_expect_eq(cost_table_at(table, 20), lround(100 / 0.7));
	cr_expect_eq(cost_table_at(table, 500), lround(100 / 0.7));
	cost_table_destroy(table);
	curve_destroy(curve);
}

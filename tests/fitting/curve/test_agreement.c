/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include <base/quantile.h>
#include <base/rng.h>
#include <fitting/curve/agreement.h>
#include <fitting/curve/fit.h>

enum { PAIRS = 60, PASSES = 4, LEVELS_MAXIMUM = 32 };

/* A closed loop with one request: its time is the unloaded service time plus the added round trip. */
struct world {
	double request_us; /* without delay */
	double run_noise;  /* relative deviation from run to run */
	double drift;      /* relative deviation of the request's time without delay from pass to pass */
	double speed;      /* speed of the machine during the sweep, 1 = normal */
	int levels;        /* number of levels between 0 and 500 us per direction */
	bool numbered;     /* runs are numbered by pass; otherwise no two levels have a run of the same number */
};

static struct curve *measure(const struct world *world, uint64_t seed)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct observations observations;
	struct fit_settings settings;
	struct error err = {0};
	struct sweep *sweep;
	struct curve *curve;
	struct fit fit;
	struct rng rng;

	rng_seed(&rng, seed);
	fputs("delay_us,direction,run,metric,unit,better,value\n", out);
	for (int pass = 0; pass < PASSES; pass++) {
		double empty_us = world->request_us * (1 + world->drift * rng_normal(&rng));

		for (int level = 0; level < world->levels; level++) {
			double part = (double)level / (world->levels - 1), delay_us = 500 * part * part;

			fprintf(out, "%.17g,both,%d,m,1/s,higher,%.17g\n", delay_us,
				world->numbered ? pass : world->levels * pass + level,
				world->speed * 1e6 / (empty_us + 2 * delay_us) *
					(1 + world->run_noise * rng_normal(&rng)));
		}
	}
	fclose(out);
	sweep = sweep_read(file_lines_from_memory("world", text, bytes, &err), &err);
	cr_assert(sweep, "%s", err.text);
	free(text);
	fit_settings_default(&settings);
	settings.seed = seed;
	cr_assert_eq(observations_prepare(sweep, &(struct observation_settings){0}, &observations, &err), 0, "%s",
		     err.text);
	cr_assert_eq(observations.block_count, world->numbered ? PASSES : 0);
	cr_assert_eq(fit_observations(&observations, &settings, &fit, &err), 0, "%s", err.text);
	sweep_destroy(sweep);
	curve = fit.curve;
	fit.curve = NULL;
	fit_free(&fit);
	return curve;
}

/* Returns how many of PAIRS agree; *within is the share of points that do. */
static int count_agreeing(const struct world *one, const struct world *other, double *within)
{
	size_t points = 0, agreeing_points = 0;
	int agreeing = 0;

	for (int i = 0; i < PAIRS; i++) {
		struct curve *first = measure(one, (uint64_t)(2 * i + 1)),
			     *second = measure(other, (uint64_t)(2 * i + 2));
		struct agreement agreement;

		agreement_judge(first, second, &agreement);
		cr_assert_neq(agreement.verdict, AGREEMENT_UNKNOWN);
		cr_assert_eq(agreement.points, 100, "all but x = 0");
		agreeing += agreement.verdict == AGREEMENT_AGREES;
		points += agreement.points;
		agreeing_points += agreement.within;
		curve_destroy(first);
		curve_destroy(second);
	}
	*within = (double)agreeing_points / (double)points;
	return agreeing;
}

/* 95 % of 60 are 57; the standard deviation of the count is 1.7. */
Test(agreement, two_sweeps_of_one_truth_agree_as_often_as_they_say, .timeout = 120)
{
	static const struct world quiet = {60, 0.02, 0, 1, 8, true}, slower = {60, 0.02, 0, 0.8, 8, true};
	double within;
	int agreeing = count_agreeing(&quiet, &quiet, &within);

	cr_assert(agreeing >= 52, "%d of %d agree", agreeing, PAIRS);
	cr_assert(within > 0.90, "%.3f of the points", within);
	agreeing = count_agreeing(&quiet, &slower, &within);
	cr_assert(agreeing >= 52, "%d of %d agree when one is slower throughout", agreeing, PAIRS);
}

Test(agreement, two_truths_differ, .timeout = 120)
{
	static const struct world one = {60, 0.01, 0, 1, 8, true}, other = {72, 0.01, 0, 1, 8, true};
	double within;
	int agreeing = count_agreeing(&one, &other, &within);

	cr_assert(agreeing <= 3, "%d of %d agree", agreeing, PAIRS);
}

/* With numbered passes, the stated deviation includes the drift between passes; chance alone would not cover it. */
Test(agreement, drift_between_passes_is_stated, .timeout = 120)
{
	static const struct world drifting = {60, 0.005, 0.1, 1, 24, true}, blind = {60, 0.005, 0.1, 1, 24, false};
	double within;
	int agreeing = count_agreeing(&drifting, &drifting, &within), unaware = count_agreeing(&blind, &blind, &within);

	cr_assert(agreeing >= 51, "%d of %d agree", agreeing, PAIRS);
	cr_assert(unaware <= agreeing - 5, "%d of %d agree without passes, %d with them", unaware, PAIRS, agreeing);
}

Test(agreement, a_curve_without_band_is_exact_and_two_have_no_verdict)
{
	static const struct world world = {60, 0.02, 0, 1, 8, true};
	static const double flat[] = {1, 0.99, 0.98, 0.97, 0.96};
	struct curve *measured = measure(&world, 7), *table = curve_from_table("flat", flat, 5, NULL);
	struct agreement agreement;

	agreement_judge(measured, table, &agreement);
	cr_assert_eq(agreement.verdict, AGREEMENT_DIFFERS);
	cr_assert_eq(agreement.points, 4, "of the shorter table, but x = 0");
	agreement_judge(table, table, &agreement);
	cr_assert_eq(agreement.verdict, AGREEMENT_UNKNOWN);
	agreement_judge(measured, measured, &agreement);
	cr_assert_eq(agreement.verdict, AGREEMENT_AGREES);
	cr_assert_eq(agreement.worst, 0);
	measured->band_whole_factor = NAN;
	agreement_judge(measured, measured, &agreement);
	cr_assert(agreement.allowed > 1.3 && agreement.allowed < 1.5, "8 levels, Sidak: 2.73 / 1.96, not %.3f",
		  agreement.allowed);
	curve_destroy(measured);
	curve_destroy(table);
}

static struct curve *table_of(const double *table, size_t count, double half_width)
{
	struct curve *curve = curve_from_table("hand", table, count, NULL);

	if (half_width > 0) {
		curve->band_low = calloc(count, sizeof *curve->band_low);
		curve->band_high = calloc(count, sizeof *curve->band_high);
		for (size_t i = 0; i < count; i++) {
			curve->band_low[i] = table[i] - (i > 0) * half_width;
			curve->band_high[i] = table[i] + (i > 0) * half_width;
		}
		curve->band_whole_factor = 1.5;
	}
	return curve;
}

/* At each point 0.05 are allowed: sqrt(0.03^2 + 0.04^2). The differences are 0.02, 0.05, 0.07 and 0.06. */
Test(agreement, a_verdict_counts_the_points_and_keeps_the_worst)
{
	static const double one[] = {1, 0.92, 0.90, 0.80, 0.70}, other[] = {1, 0.90, 0.95, 0.87, 0.76, 0.5};
	struct curve *first = table_of(one, 5, 0.03), *second = table_of(other, 6, 0.04);
	struct agreement_point point = agreement_at(first, second, 3);
	struct agreement agreement;

	cr_expect_eq(agreement_points(first, second), 5);
	cr_expect_eq(agreement_points(second, first), 5);
	cr_expect_eq(point.x_us, 30);
	cr_expect_eq(point.first, 0.80);
	cr_expect_eq(point.second, 0.87);
	cr_expect_float_eq(point.allowed, 0.05, 1e-12);
	second->band_high[2] += 1e-6; /* no rounding error decides at the second point */
	agreement_judge(first, second, &agreement);
	cr_expect_eq(agreement.points, 4);
	cr_expect_eq(agreement.within, 2);
	cr_expect_float_eq(agreement.worst, 1.4, 1e-9);
	cr_expect_eq(agreement.worst_at_us, 30);
	cr_expect_eq(agreement.allowed, 1.5);
	cr_expect_eq(agreement.verdict, AGREEMENT_AGREES, "1.4 of 1.5");
	cr_expect_str_eq(agreement_name(agreement.verdict), "agree");
	first->band_whole_factor = second->band_whole_factor = 1.3;
	agreement_judge(first, second, &agreement);
	cr_expect_eq(agreement.verdict, AGREEMENT_DIFFERS);
	cr_expect_str_eq(agreement_name(agreement.verdict), "differ");
	second->band_whole_factor = 0.5;
	first->band_whole_factor = 0.7;
	agreement_judge(first, second, &agreement);
	cr_expect_eq(agreement.allowed, 1, "at least the pointwise band");
	cr_expect_str_eq(agreement_name(AGREEMENT_UNKNOWN), "unknown");
	curve_destroy(first);
	curve_destroy(second);
}

/* The differences are 0, 0.1, -0.2 and, where the shorter curve keeps its last value, -0.1. */
Test(agreement, the_largest_difference_is_over_the_longer_table)
{
	static const double one[] = {1, 0.9, 0.6}, other[] = {1, 0.8, 0.8, 0.7};
	struct curve *first = table_of(one, 3, 0), *second = table_of(other, 4, 0);

	for (int swapped = 0; swapped < 2; swapped++) {
		struct agreement_difference most =
			swapped ? agreement_difference_of(second, first) : agreement_difference_of(first, second);

		cr_expect_eq(most.x_us, 20);
		cr_expect_float_eq(most.difference, 0.2, 1e-12);
		cr_expect_eq(most.first, swapped ? 0.8 : 0.6);
		cr_expect_eq(most.second, swapped ? 0.6 : 0.8);
		cr_expect_float_eq(most.rms, sqrt((0.01 + 0.04 + 0.01) / 4), 1e-12);
	}
	curve_destroy(first);
	curve_destroy(second);
}

static void set_baseline(struct curve *curve, double value, double deviation, long runs)
{
	curve->baseline_value = value;
	curve->baseline_deviation = deviation;
	curve->level_count = 1;
	curve->levels = calloc(1, sizeof *curve->levels);
	curve->levels[0].runs = runs;
}

/* Welch's test: variances of the means 0.02^2 / 4 and 0.05^2 / 5, with 3 and 4 degrees of freedom. */
Test(agreement, baselines_differ_with_their_noise)
{
	static const double table[] = {1, 0.9};
	struct curve *first = table_of(table, 2, 0), *second = table_of(table, 2, 0);
	struct agreement_baselines baselines = agreement_baselines_of(first, second);
	double dof = 6e-4 * 6e-4 / (1e-4 * 1e-4 / 3 + 5e-4 * 5e-4 / 4);

	cr_expect(isnan(baselines.noise_percent), "curves without runs");
	set_baseline(first, 100, 2, 4);
	set_baseline(second, 110, 5.5, 5);
	baselines = agreement_baselines_of(first, second);
	cr_expect_float_eq(baselines.percent, 10, 1e-9);
	cr_expect(dof > 5.46 && dof < 5.47);
	cr_expect_float_eq(baselines.noise_percent, 100 * quantile_student(0.05, dof) * sqrt(6e-4), 1e-9);
	cr_expect(baselines.noise_percent > 6.1 && baselines.noise_percent < 6.2,
		  "t is 2.57 with 5 degrees and 2.45 "
		  "with 6: %g",
		  baselines.noise_percent);
	first->levels[0].runs = 1;
	cr_expect(isnan(agreement_baselines_of(first, second).noise_percent), "one run has no deviation");
	first->levels[0].runs = 2;
	cr_expect(!isnan(agreement_baselines_of(first, second).noise_percent));
	curve_destroy(first);
	curve_destroy(second);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

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
	sweep = sweep_from_memory("world", text, bytes, &err);
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

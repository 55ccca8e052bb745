/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coverage and width of the 95 % band and of the threshold's interval, for random steps (1, then a lower constant),
 * hinges, smooth curves without a threshold, and flat curves, with several noises, numbers of delay levels and of runs
 * at each. One JSON line per case.
 *
 *   band_study [DRAWS]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/rng.h>
#include <fitting/curve/fit.h>

#include "refit_truth.h"

enum { LEVELS_MAXIMUM = 20 };
enum shape { STEP, HINGE, SMOOTH, FLAT, SHAPES };

static const char *const shape_names[SHAPES] = {"step", "hinge", "smooth", "flat"};
static const double noises[] = {0.005, 0.02, 0.05};
static const int level_counts[] = {6, 8, 12, 20}, run_counts[] = {3, 10};
static const double first_us = 10, last_us = 1000;

struct design {
	enum shape shape;
	double noise;
	int levels, runs;
};

struct tally {
	long points, covered;
	double width;
	long intervals, right_intervals; /* of thresholds that the truth has */
	double interval_width;
};

/* Delays in a geometric series, after 0. */
static void fill_levels(double *levels, int count)
{
	levels[0] = 0;
	for (int i = 1; i < count; i++)
		levels[i] = first_us * pow(last_us / first_us, (double)(i - 1) / (count - 2));
}

/* Thresholds are between the first and the last delay that is not 0. */
static struct truth draw_truth(enum shape shape, struct rng *rng)
{
	struct truth truth = truth_random(shape == HINGE ? CURVE_FORM_HINGE : CURVE_FORM_NONE, rng);

	if (shape == STEP)
		truth = (struct truth){.form = CURVE_FORM_JUMP,
				       .shape = TRUTH_LINE,
				       .threshold_us = 15 * pow(20, rng_uniform(rng)),
				       .jump = 0.2 + 0.6 * rng_uniform(rng),
				       .scale_us = 1};
	if (shape == FLAT)
		truth.fall = 0;
	return truth;
}

static void count(const struct truth *truth, const struct curve *curve, struct tally *tally)
{
	const struct curve_threshold *threshold = &curve->threshold;

	for (size_t i = 0; i < curve->table_count; i++) {
		double p = truth_at(truth, CURVE_STEP_US * (double)i);

		tally->points++;
		tally->covered += curve->band_low[i] <= p + 1e-12 && p <= curve->band_high[i] + 1e-12;
		tally->width += curve->band_high[i] - curve->band_low[i];
	}
	if (truth->form == CURVE_FORM_NONE || !threshold->has_interval)
		return;
	tally->intervals++;
	tally->right_intervals += threshold->low_us <= truth->threshold_us && truth->threshold_us <= threshold->high_us;
	tally->interval_width += threshold->high_us - threshold->low_us;
}

static void one_draw(const struct design *design, uint64_t seed, struct tally *tally)
{
	double levels[LEVELS_MAXIMUM];
	struct error err = {0};
	struct observations observations;
	struct fit_settings settings;
	struct sweep *sweep;
	struct truth truth;
	struct rng rng;
	struct fit fit;

	rng_seed(&rng, seed);
	truth = draw_truth(design->shape, &rng);
	fill_levels(levels, design->levels);
	sweep = truth_draw(&truth, levels, design->levels, design->runs, design->noise, false, &rng);
	fit_settings_default(&settings);
	settings.seed = seed;
	if (observations_prepare(sweep, &(struct observation_settings){0}, &observations, &err) != 0 ||
	    fit_observations(&observations, &settings, &fit, &err) != 0) {
		fprintf(stderr, "%s: %s\n", shape_names[design->shape], err.text);
		exit(1);
	}
	count(&truth, fit.curve, tally);
	fit_free(&fit);
	sweep_destroy(sweep);
}

static void run_case(const struct design *design, int draws)
{
	struct tally tally = {0};

	for (int draw = 0; draw < draws; draw++)
		one_draw(design, (uint64_t)(1000000 * (design->shape + 1) + draw), &tally);
	printf("{\"benchmark\": \"band_study\", \"shape\": \"%s\", \"levels\": %d, \"runs\": %d, \"noise\": %g, "
	       "\"draws\": %d, \"coverage\": %.3f, \"width\": %.4f",
	       shape_names[design->shape], design->levels, design->runs, design->noise, draws,
	       (double)tally.covered / (double)tally.points, tally.width / (double)tally.points);
	if (tally.intervals)
		printf(", \"intervals\": %ld, \"interval_coverage\": %.3f, \"interval_width_us\": %.1f",
		       tally.intervals, (double)tally.right_intervals / (double)tally.intervals,
		       tally.interval_width / (double)tally.intervals);
	printf("}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int draws = argc > 1 ? atoi(argv[1]) : 100;

	for (int shape = 0; shape < SHAPES; shape++)
		for (size_t i = 0; i < sizeof level_counts / sizeof *level_counts; i++)
			for (size_t j = 0; j < sizeof run_counts / sizeof *run_counts; j++)
				for (size_t k = 0; k < sizeof noises / sizeof *noises; k++)
					run_case(&(struct design){(enum shape)shape, noises[k], level_counts[i],
								  run_counts[j]},
						 draws);
	return 0;
}

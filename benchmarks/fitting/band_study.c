/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coverage and width of the 95 % band and of the threshold's interval, for random steps (1, then a lower constant),
 * hinges, smooth curves without a threshold, and flat curves, with several noises, numbers of delay levels and of runs
 * at each. Beside the width is that of an oracle, which knows the equation and the noise, but not the parameters. One
 * JSON line per case.
 *
 *   band_study [DRAWS]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/rng.h>
#include <fitting/curve/fit.h>
#include <fitting/linear/linear.h>

#include "refit_truth.h"

enum { LEVELS_MAXIMUM = 20, RUNS_MAXIMUM = 10, PARAMETERS = 4 };
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
	double width, oracle_width;
	/* Of thresholds that the truth has: all; and those that are reported with the truth's form. */
	long intervals, right_intervals, of_form, right_of_form;
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

static double derivative(const struct truth *truth, double *parameter, double x_us)
{
	double value = *parameter, step = 1e-4 * (fabs(value) + 1e-3), above;

	*parameter = value + step;
	above = truth_at(truth, x_us);
	*parameter = value - step;
	above = (above - truth_at(truth, x_us)) / (2 * step);
	*parameter = value;
	return above;
}

/*
 * Derivatives of the truth by its parameters: height, jump or fall, threshold, scale. A jump has none by its threshold
 * (oracle_add() cares for it), a flat curve none but by its height.
 */
static void gradient(const struct truth *from, enum shape shape, double x_us, double *g)
{
	struct truth truth = *from;

	g[0] = 1;
	g[1] = shape == FLAT ? 0 : derivative(&truth, shape == STEP ? &truth.jump : &truth.fall, x_us);
	g[2] = shape == HINGE ? derivative(&truth, &truth.threshold_us, x_us) : 0;
	g[3] = shape == STEP || shape == FLAT ? 0 : derivative(&truth, &truth.scale_us, x_us);
}

/*
 * Adds the widths of an oracle's 95 % intervals, to first order in the noise. Between the two levels at both sides of a
 * jump, no data says where it is, so there the interval has both heights.
 */
static void oracle_add(const struct design *design, const struct truth *truth, const double *levels, size_t points,
		       struct tally *tally)
{
	static struct linear_workspace *workspace;
	double matrix[PARAMETERS * LEVELS_MAXIMUM * RUNS_MAXIMUM], response[LEVELS_MAXIMUM * RUNS_MAXIMUM] = {0};
	size_t rows = (size_t)(design->levels * design->runs);
	struct linear_result result;
	double g[PARAMETERS], before = 0, after = INFINITY;

	if (!workspace && !(workspace = linear_workspace_create(LEVELS_MAXIMUM * RUNS_MAXIMUM, PARAMETERS)))
		exit(1);
	for (size_t row = 0; row < rows; row++) {
		double x = levels[row / (size_t)design->runs];

		gradient(truth, design->shape, x, g);
		for (size_t j = 0; j < PARAMETERS; j++)
			matrix[row + j * rows] = g[j];
		if (x < truth->threshold_us)
			before = x;
		else
			after = fmin(after, x);
	}
	linear_fit(workspace, &(struct linear_problem){rows, PARAMETERS, matrix, 0, response, NULL, true}, &result);
	for (size_t i = 0; i < points; i++) {
		double x = CURVE_STEP_US * (double)i, variance = 0;

		gradient(truth, design->shape, x, g);
		for (size_t j = 0; j < PARAMETERS; j++)
			for (size_t k = 0; k < PARAMETERS; k++) {
				double c = result.covariance_absolute[j * PARAMETERS + k];

				variance += isfinite(c) ? g[j] * c * g[k] : 0;
			}
		tally->oracle_width += 2 * 1.96 * design->noise * sqrt(fmax(variance, 0)) +
				       (design->shape == STEP && x > before && x < after ? truth->jump : 0);
	}
}

static void count(const struct truth *truth, const struct curve *curve, struct tally *tally)
{
	const struct curve_threshold *threshold = &curve->threshold;
	bool right;

	for (size_t i = 0; i < curve->table_count; i++) {
		double p = truth_at(truth, CURVE_STEP_US * (double)i);

		tally->points++;
		tally->covered += curve->band_low[i] <= p + 1e-12 && p <= curve->band_high[i] + 1e-12;
		tally->width += curve->band_high[i] - curve->band_low[i];
	}
	if (truth->form == CURVE_FORM_NONE || !threshold->has_interval)
		return;
	right = threshold->low_us <= truth->threshold_us && truth->threshold_us <= threshold->high_us;
	tally->intervals++;
	tally->right_intervals += right;
	tally->of_form += threshold->form == truth->form;
	tally->right_of_form += threshold->form == truth->form && right;
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
	oracle_add(design, &truth, levels, fit.curve->table_count, tally);
	fit_free(&fit);
	sweep_destroy(sweep);
}

static void run_case(const struct design *design, int draws)
{
	struct tally tally = {0};

	for (int draw = 0; draw < draws; draw++)
		one_draw(design, (uint64_t)(1000000 * (design->shape + 1) + draw), &tally);
	printf("{\"benchmark\": \"band_study\", \"shape\": \"%s\", \"levels\": %d, \"runs\": %d, \"noise\": %g, "
	       "\"draws\": %d, \"coverage\": %.3f, \"width\": %.4f, \"oracle_width\": %.4f",
	       shape_names[design->shape], design->levels, design->runs, design->noise, draws,
	       (double)tally.covered / (double)tally.points, tally.width / (double)tally.points,
	       tally.oracle_width / (double)tally.points);
	if (tally.intervals)
		printf(", \"intervals\": %ld, \"interval_coverage\": %.3f, \"of_form\": %ld, "
		       "\"of_form_coverage\": %.3f, \"interval_width_us\": %.1f",
		       tally.intervals, (double)tally.right_intervals / (double)tally.intervals, tally.of_form,
		       (double)tally.right_of_form / (double)tally.of_form,
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws sweeps from the paper's four curves and from random curves (with a jump, with a corner, without a threshold)
 * and fits each. Counts how often the threshold's form is right (over all fits, and over those that claim 95 %
 * certainty), how often the 95 % band covers the truth, and whether the curve is monotone and positive. One JSON line
 * per curve, and one for the paper's four together.
 *
 *   refit_study [DRAWS [NOISE_PERCENT [END_US [RAW [GRADED]]]]]
 *
 * RAW 1: values are not normalised, and the sweep has its own baseline. GRADED 1: the levels are quadratically spaced,
 * as for a threshold search; 0: evenly spaced; 2: the default eight levels and three runs of 'nomora sweep'.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/rng.h>
#include <fitting/curve/fit.h>

#include "refit_truth.h"

enum { LEVELS = 46, REPEATS = 10, SMALL_LEVELS = 8, SMALL_REPEATS = 3 };

/* Probability from which the study counts an answer as certain. */
static const double sure_from = 0.95;
static const double small_us[SMALL_LEVELS] = {0, 10, 20, 40, 100, 200, 400, 1000};

struct study {
	int draws;
	double noise, end_us;
	int raw, graded;
};

struct tally {
	long fits, forms[CURVE_FORMS], families[FIT_FAMILY_COUNT];
	long right, sure, sure_right; /* of the form */
	long points, covered, broken, threshold_covered;
	long sloped, sloped_covered; /* points beyond the threshold only: before it, curve and band are exactly 1 */
	double worst_error, error_squares, width, seconds;
};

static struct sweep *draw_sweep(const struct study *study, const struct truth *truth, struct rng *rng)
{
	double levels[LEVELS];

	if (study->graded == 2)
		return truth_draw(truth, small_us, SMALL_LEVELS, SMALL_REPEATS, study->noise, study->raw, rng);
	for (int level = 0; level < LEVELS; level++) {
		double part = (double)level / (LEVELS - 1);

		levels[level] = study->end_us * (study->graded ? part * part : part);
	}
	return truth_draw(truth, levels, LEVELS, REPEATS, study->noise, study->raw, rng);
}

static void count_curve(const struct truth *truth, const struct curve *curve, struct tally *tally)
{
	bool broken = false;

	for (size_t i = 0; i < curve->table_count; i++) {
		double x = CURVE_STEP_US * (double)i, p = truth_at(truth, x), error = curve->table[i] - p;

		broken |= !(curve->table[i] > 0) || (i > 0 && curve->table[i] > curve->table[i - 1]);
		tally->points++;
		tally->covered += curve->band_low[i] <= p + 1e-12 && p <= curve->band_high[i] + 1e-12;
		if (x >= truth->threshold_us) {
			tally->sloped++;
			tally->sloped_covered += curve->band_low[i] <= p && p <= curve->band_high[i];
		}
		tally->width += curve->band_high[i] - curve->band_low[i];
		tally->error_squares += error * error;
		if (fabs(x - truth->threshold_us) > 15)
			tally->worst_error = fmax(tally->worst_error, fabs(error));
	}
	tally->broken += broken;
}

static void count_form(const struct truth *truth, const struct fit *fit, struct tally *tally)
{
	enum curve_form form = fit->curve->threshold.form;
	bool sure = fit->form_probability[form] >= sure_from;

	tally->fits++;
	tally->forms[form]++;
	tally->right += form == truth->form;
	tally->sure += sure;
	tally->sure_right += sure && form == truth->form;
	tally->threshold_covered += fit->curve->threshold.has_interval &&
				    fit->curve->threshold.low_us <= truth->threshold_us &&
				    truth->threshold_us <= fit->curve->threshold.high_us;
}

static void one_draw(const struct study *study, const char *name, const struct truth *truth, uint64_t seed,
		     struct tally *tally)
{
	struct error err = {0};
	struct observations observations;
	struct fit_settings settings;
	struct fit fit;
	struct rng rng;
	struct sweep *sweep;
	struct ns start;

	rng_seed(&rng, seed);
	sweep = draw_sweep(study, truth, &rng);
	fit_settings_default(&settings);
	settings.seed = seed;
	start = ns_now_monotonic();
	if (observations_prepare(sweep, &(struct observation_settings){0}, &observations, &err) != 0 ||
	    fit_observations(&observations, &settings, &fit, &err) != 0) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		exit(1);
	}
	tally->seconds += ns_to_s(ns_sub(ns_now_monotonic(), start));
	count_form(truth, &fit, tally);
	tally->families[fit.candidates[0].family]++;
	count_curve(truth, fit.curve, tally);
	fit_free(&fit);
	sweep_destroy(sweep);
}

static void print_tally(const struct study *study, const char *name, const struct tally *tally)
{
	double fits = (double)tally->fits;

	printf("{\"benchmark\": \"refit_study\", \"curve\": \"%s\", \"noise\": %g, \"end_us\": %g, \"raw\": %d, "
	       "\"graded\": %d, "
	       "\"fits\": %ld, \"right_form\": %.4f, \"sure\": %.4f, \"right_when_sure\": %.4f, "
	       "\"jump\": %.4f, \"hinge\": %.4f, \"none\": %.4f, \"threshold_coverage\": %.4f, "
	       "\"coverage\": %.4f, "
	       "\"coverage_beyond\": %.4f, \"broken\": %ld, "
	       "\"rms_error\": %.5f, \"worst_error\": %.4f, \"band_width\": %.4f, \"ms_per_fit\": %.2f, \"models\": {",
	       name, study->noise, study->end_us, study->raw, study->graded, tally->fits, (double)tally->right / fits,
	       (double)tally->sure / fits, (double)tally->sure_right / (double)(tally->sure ? tally->sure : 1),
	       (double)tally->forms[CURVE_FORM_JUMP] / fits, (double)tally->forms[CURVE_FORM_HINGE] / fits,
	       (double)tally->forms[CURVE_FORM_NONE] / fits,
	       (double)tally->threshold_covered / (double)(tally->fits > tally->forms[CURVE_FORM_NONE]
								   ? tally->fits - tally->forms[CURVE_FORM_NONE]
								   : 1),
	       (double)tally->covered / (double)tally->points, (double)tally->sloped_covered / (double)tally->sloped,
	       tally->broken, sqrt(tally->error_squares / (double)tally->points), tally->worst_error,
	       tally->width / (double)tally->points, 1e3 * tally->seconds / (double)tally->fits);
	for (int i = 0, first = 1; i < FIT_FAMILY_COUNT; i++)
		if (tally->families[i]) {
			printf("%s\"%s\": %ld", first ? "" : ", ", fit_family_name((enum fit_family)i),
			       tally->families[i]);
			first = 0;
		}
	printf("}}\n");
	fflush(stdout);
}

static void add(struct tally *sum, const struct tally *one)
{
	sum->fits += one->fits;
	for (int i = 0; i < CURVE_FORMS; i++)
		sum->forms[i] += one->forms[i];
	sum->right += one->right;
	sum->sure += one->sure;
	sum->sure_right += one->sure_right;
	for (int i = 0; i < FIT_FAMILY_COUNT; i++)
		sum->families[i] += one->families[i];
	sum->points += one->points;
	sum->covered += one->covered;
	sum->threshold_covered += one->threshold_covered;
	sum->sloped += one->sloped;
	sum->sloped_covered += one->sloped_covered;
	sum->broken += one->broken;
	sum->worst_error = fmax(sum->worst_error, one->worst_error);
	sum->error_squares += one->error_squares;
	sum->width += one->width;
	sum->seconds += one->seconds;
}

int main(int argc, char **argv)
{
	struct study study = {.draws = argc > 1 ? atoi(argv[1]) : 50,
			      .noise = argc > 2 ? atof(argv[2]) / 100 : 0.01,
			      .end_us = argc > 3 ? atof(argv[3]) : 1000,
			      .raw = argc > 4 ? atoi(argv[4]) : 0,
			      .graded = argc > 5 ? atoi(argv[5]) : 0};
	static const char *const random_names[CURVE_FORMS] = {"random_none", "random_jump", "random_hinge"};
	struct tally all = {0};

	for (int curve = 0; curve < PAPERS_CURVES; curve++) {
		struct tally tally = {0};

		for (int draw = 0; draw < study.draws; draw++)
			one_draw(&study, papers_names[curve], &papers_truths[curve],
				 (uint64_t)(1000 * curve + draw + 1), &tally);
		print_tally(&study, papers_names[curve], &tally);
		add(&all, &tally);
	}
	print_tally(&study, "papers", &all);
	for (int form = 0; form < CURVE_FORMS; form++) {
		struct tally tally = {0};

		for (int draw = 0; draw < study.draws; draw++) {
			uint64_t seed = (uint64_t)(100000 * (form + 1) + draw);
			struct truth truth;
			struct rng rng;

			rng_seed(&rng, seed);
			truth = truth_random((enum curve_form)form, &rng);
			one_draw(&study, random_names[form], &truth, seed + 50000, &tally);
		}
		print_tally(&study, random_names[form], &tally);
	}
	return 0;
}

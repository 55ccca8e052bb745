/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws sweeps from the paper's four curves, fits each, and counts: is the threshold's form right, does the 95 % band
 * cover the truth, is the curve monotone and positive. One JSON line a curve and one for all.
 *
 *   refit_study [DRAWS [NOISE_PERCENT [END_US [RAW [GRADED]]]]]
 *
 * RAW 1: unnormalised, with a baseline of its own. GRADED 1: levels grow apart as the square, as one measures who
 * looks for a threshold; 0: evenly spaced; 2: the eight levels and three runs of 'nomora sweep' left to itself.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/rng.h>
#include <fitting/fit.h>

enum { LEVELS = 46, REPEATS = 10, SMALL_LEVELS = 8, SMALL_REPEATS = 3, CURVES = 4 };

static const double small_us[SMALL_LEVELS] = {0, 10, 20, 40, 100, 200, 400, 1000};

struct truth {
	const char *name;
	double threshold_us;
	double b[4];
};

/* NoMora, equations 2 to 5. */
static const struct truth truths[CURVES] = {
	{"memcached", 40, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}},
	{"strads", 20, {1.009, -2.095e-3, 2.571e-6, -1.232e-9}},
	{"spark", 200, {1.0199, -1.161e-4, 0, 0}},
	{"tensorflow", 40, {1.005, -5.146e-4, 5.837e-7, -3.46e-10}},
};

struct study {
	int draws;
	double noise, end_us;
	int raw, graded;
};

struct tally {
	long fits, jump, hinge, none, families[FIT_FAMILY_COUNT];
	long points, covered, broken, threshold_covered;
	long sloped, sloped_covered; /* points beyond the threshold: before it a curve is 1 and so is its band */
	double worst_error, error_squares, width, seconds;
};

static double truth_at(const struct truth *truth, double x)
{
	if (x < truth->threshold_us)
		return 1;
	return truth->b[0] + x * (truth->b[1] + x * (truth->b[2] + x * truth->b[3]));
}

static struct sweep *draw_sweep(const struct study *study, const struct truth *truth, struct rng *rng)
{
	struct sweep *sweep = calloc(1, sizeof *sweep);

	if (!sweep || !(sweep->rows = calloc(LEVELS * REPEATS, sizeof *sweep->rows)) || !(sweep->file = strdup("draw")))
		exit(1);
	sweep->plain = !study->raw;
	sweep->metric_count = 1;
	strcpy(sweep->metrics[0].name, "performance");
	strcpy(sweep->metrics[0].unit, "1/s");
	for (int level = 0; level < (study->graded == 2 ? SMALL_LEVELS : LEVELS); level++) {
		double part = (double)level / (LEVELS - 1);
		double x = study->graded == 2 ? small_us[level] : study->end_us * (study->graded ? part * part : part);

		for (int run = 0; run < (study->graded == 2 ? SMALL_REPEATS : REPEATS); run++) {
			struct sweep_row *row = &sweep->rows[sweep->count++];
			double p = truth_at(truth, x) + study->noise * rng_normal(rng);

			row->delay_us = study->raw ? x / 2 : x;
			row->run = run;
			row->runs = 1;
			row->value = study->raw ? 52000 * p : p;
			row->line = (long)sweep->count + 1;
		}
	}
	return sweep;
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

static void one_draw(const struct study *study, const struct truth *truth, uint64_t seed, struct tally *tally)
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
		fprintf(stderr, "%s: %s\n", truth->name, err.text);
		exit(1);
	}
	tally->seconds += ns_to_s(ns_sub(ns_now_monotonic(), start));
	tally->fits++;
	tally->jump += fit.curve->threshold.form == CURVE_FORM_JUMP;
	tally->hinge += fit.curve->threshold.form == CURVE_FORM_HINGE;
	tally->none += fit.curve->threshold.form == CURVE_FORM_NONE;
	tally->families[fit.candidates[0].family]++;
	tally->threshold_covered += fit.curve->threshold.has_interval &&
				    fit.curve->threshold.low_us <= truth->threshold_us &&
				    truth->threshold_us <= fit.curve->threshold.high_us;
	count_curve(truth, fit.curve, tally);
	fit_free(&fit);
	sweep_destroy(sweep);
}

static void print_tally(const struct study *study, const char *name, const struct tally *tally)
{
	printf("{\"benchmark\": \"refit_study\", \"curve\": \"%s\", \"noise\": %g, \"end_us\": %g, \"raw\": %d, "
	       "\"graded\": %d, "
	       "\"fits\": %ld, \"jump\": %.4f, \"hinge\": %.4f, \"none\": %.4f, \"threshold_coverage\": %.4f, "
	       "\"coverage\": %.4f, "
	       "\"coverage_beyond\": %.4f, \"broken\": %ld, "
	       "\"rms_error\": %.5f, \"worst_error\": %.4f, \"band_width\": %.4f, \"ms_per_fit\": %.2f, \"models\": {",
	       name, study->noise, study->end_us, study->raw, study->graded, tally->fits,
	       (double)tally->jump / (double)tally->fits, (double)tally->hinge / (double)tally->fits,
	       (double)tally->none / (double)tally->fits,
	       (double)tally->threshold_covered / (double)(tally->fits > tally->none ? tally->fits - tally->none : 1),
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
	sum->jump += one->jump;
	sum->hinge += one->hinge;
	sum->none += one->none;
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
	struct tally all = {0};

	for (int curve = 0; curve < CURVES; curve++) {
		struct tally tally = {0};

		for (int draw = 0; draw < study.draws; draw++)
			one_draw(&study, &truths[curve], (uint64_t)(1000 * curve + draw + 1), &tally);
		print_tally(&study, truths[curve].name, &tally);
		add(&all, &tally);
	}
	print_tally(&study, "all", &all);
	return 0;
}

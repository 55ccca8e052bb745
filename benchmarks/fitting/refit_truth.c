/* SPDX-License-Identifier: BSD-3-Clause */
#include "refit_truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct truth papers_truths[PAPERS_CURVES] = {
	{CURVE_FORM_JUMP, TRUTH_CUBIC, 40, 0, 0, 0, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}},
	{CURVE_FORM_JUMP, TRUTH_CUBIC, 20, 0, 0, 0, {1.009, -2.095e-3, 2.571e-6, -1.232e-9}},
	{CURVE_FORM_JUMP, TRUTH_CUBIC, 200, 0, 0, 0, {1.0199, -1.161e-4, 0, 0}},
	{CURVE_FORM_JUMP, TRUTH_CUBIC, 40, 0, 0, 0, {1.005, -5.146e-4, 5.837e-7, -3.46e-10}},
};
const char *const papers_names[PAPERS_CURVES] = {"memcached", "strads", "spark", "tensorflow"};

static double log_uniform(struct rng *rng, double low, double high)
{
	return low * pow(high / low, rng_uniform(rng));
}

struct truth truth_random(enum curve_form form, struct rng *rng)
{
	struct truth truth = {.form = form};

	truth.shape = (enum truth_shape)(TRUTH_LINE + rng_below(rng, TRUTH_SHAPES - TRUTH_LINE));
	truth.threshold_us = form == CURVE_FORM_NONE ? 0 : log_uniform(rng, 15, 400);
	truth.jump = form == CURVE_FORM_JUMP ? log_uniform(rng, 0.003, 0.1) : 0;
	truth.fall = log_uniform(rng, 0.05, 0.85);
	truth.scale_us = log_uniform(rng, 100, 2000);
	return truth;
}

/* Rises from 0 at u = 0 to 1 at u = 1000 us. */
static double shape_at(const struct truth *truth, double u)
{
	double s = truth->scale_us;

	switch (truth->shape) {
	case TRUTH_EXPONENTIAL:
		return expm1(-u / s) / expm1(-1000 / s);
	case TRUTH_RATIONAL:
		return u / (u + s) * (1000 + s) / 1000;
	case TRUTH_LOG:
		return log1p(u / s) / log1p(1000 / s);
	default:
		return u / 1000;
	}
}

double truth_at(const struct truth *truth, double x)
{
	const double *b = truth->b;

	if (x < truth->threshold_us)
		return 1;
	if (truth->shape == TRUTH_CUBIC)
		return b[0] + x * (b[1] + x * (b[2] + x * b[3]));
	return 1 - truth->jump - truth->fall * shape_at(truth, x - truth->threshold_us);
}

struct sweep *truth_draw(const struct truth *truth, const double *levels_us, int levels, int runs, double noise,
			 bool raw, struct rng *rng)
{
	struct sweep *sweep = calloc(1, sizeof *sweep);

	if (!sweep || !(sweep->rows = calloc((size_t)(levels * runs), sizeof *sweep->rows)) ||
	    !(sweep->file = strdup("draw")))
		exit(1);
	sweep->plain = !raw;
	sweep->metric_count = 1;
	strcpy(sweep->metrics[0].name, "performance");
	strcpy(sweep->metrics[0].unit, "1/s");
	for (int level = 0; level < levels; level++)
		for (int run = 0; run < runs; run++) {
			struct sweep_row *row = &sweep->rows[sweep->count++];
			double p = truth_at(truth, levels_us[level]) + noise * rng_normal(rng);

			row->delay_us = raw ? levels_us[level] / 2 : levels_us[level];
			row->run = run;
			row->runs = 1;
			row->value = raw ? 52000 * p : p;
			row->line = (long)sweep->count + 1;
		}
	return sweep;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/quantile.h>
#include <fitting/expression/expression.h>

/*
 * The performance at the smallest x must be within these limits. It is 1 apart from noise, unless the data are in
 * percent or another unit.
 */
static const double first_least = 0.5, first_most = 2;
/* A formula that rises by more than this above its value at 0 does not describe a cost of latency. */
static const double rise_most = 0.1;

/* Evaluates the formula. Its predictors (all set to x), scratch and gradient are one allocation. */
struct evaluator {
	const struct expression_curve_source *source;
	double *x, *scratch, *gradient, *at_zero;
	double zero; /* value of the formula at x = 0 */
};

static int evaluator_create(const struct expression_curve_source *source, struct evaluator *evaluator)
{
	size_t parameters = source->result->parameters;
	double *block = calloc(source->predictors + expression_scratch(source->model) + 2 * parameters, sizeof *block);

	*evaluator = (struct evaluator){.source = source, .x = block};
	if (!block)
		return -ENOMEM;
	evaluator->gradient = block + source->predictors;
	evaluator->at_zero = evaluator->gradient + parameters;
	evaluator->scratch = evaluator->at_zero + parameters;
	evaluator->zero = expression_evaluate(source->model, evaluator->x, source->result->values, evaluator->at_zero,
					      evaluator->scratch);
	return 0;
}

/* Returns the value relative to the value at 0; *variance: its variance, by the delta method. */
static double evaluate(struct evaluator *evaluator, double x_us, double *variance)
{
	const struct nonlinear_result *result = evaluator->source->result;
	size_t n = result->parameters;
	double value, sum = 0;

	for (size_t k = 0; k < evaluator->source->predictors; k++)
		evaluator->x[k] = x_us;
	value = expression_evaluate(evaluator->source->model, evaluator->x, result->values, evaluator->gradient,
				    evaluator->scratch) /
		evaluator->zero;
	for (size_t i = 0; i < n; i++)
		evaluator->gradient[i] = (evaluator->gradient[i] - value * evaluator->at_zero[i]) / evaluator->zero;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			sum += evaluator->gradient[i] * result->covariance[i * n + j] * evaluator->gradient[j];
	*variance = sum;
	return value;
}

static int check_source(const struct expression_curve_source *source, const struct evaluator *evaluator,
			struct error *err)
{
	if (!(source->y[0] >= first_least && source->y[0] <= first_most))
		return error_set(err, EINVAL,
				 "a curve needs performance relative to the baseline: expected about 1 at the smallest "
				 "x (%g), found %g",
				 source->x_us[0], source->y[0]);
	if (!(source->x_us[0] >= 0))
		return error_set(err, EINVAL, "a curve needs added round trips of at least 0 us, found %g",
				 source->x_us[0]);
	if (!(isfinite(evaluator->zero) && evaluator->zero > 0))
		return error_set(err, EINVAL, "a curve needs a formula above 0 at x = 0, this one is %g there",
				 evaluator->zero);
	return 0;
}

static int fill_table(struct evaluator *evaluator, struct curve *curve, struct error *err)
{
	double quantile = evaluator->source->result->dof > 0 ? quantile_student(0.05, evaluator->source->result->dof)
							     : (double)INFINITY;
	bool has_band = true;

	curve->table_count = (size_t)fmin(floor(curve->domain_high_us / CURVE_STEP_US + 0.5) + 1, CURVE_TABLE_MAXIMUM);
	curve->table = calloc(curve->table_count, sizeof *curve->table);
	curve->band_low = calloc(curve->table_count, sizeof *curve->band_low);
	curve->band_high = calloc(curve->table_count, sizeof *curve->band_high);
	if (!curve->table || !curve->band_low || !curve->band_high)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < curve->table_count; i++) {
		double x_us = fmin(CURVE_STEP_US * (double)i, curve->domain_high_us), variance, half;
		double p = evaluate(evaluator, x_us, &variance);

		if (!isfinite(p) || p > 1 + rise_most)
			return error_set(err, EINVAL,
					 "the formula is %g at %g us, relative to its value at 0: expected 1 or less",
					 p, x_us);
		half = quantile * sqrt(fmax(variance, 0));
		has_band = has_band && isfinite(half);
		curve->table[i] = p;
		curve->band_low[i] = p - half;
		curve->band_high[i] = p + half;
	}
	curve->band_confidence = 0.95;
	if (!has_band) {
		free(curve->band_low);
		free(curve->band_high);
		curve->band_low = curve->band_high = NULL;
	}
	return 0;
}

static int fill_levels(struct evaluator *evaluator, struct curve *curve)
{
	const struct expression_curve_source *source = evaluator->source;

	curve->level_count = source->result->observations;
	curve->levels = calloc(curve->level_count, sizeof *curve->levels);
	if (!curve->levels)
		return -ENOMEM;
	for (size_t i = 0; i < curve->level_count; i++) {
		double variance;

		curve->levels[i] = (struct curve_level){
			.x_us = source->x_us[i],
			.measured = source->y[i] / evaluator->zero,
			.deviation = source->deviation ? source->deviation[i] / evaluator->zero : 0,
			.fitted = evaluate(evaluator, source->x_us[i], &variance),
			.runs = 1,
		};
	}
	return 0;
}

static int fill_coefficients(const struct expression_curve_source *source, struct curve *curve)
{
	const struct nonlinear_result *result = source->result;
	size_t n = result->parameters;
	bool known = true;

	curve->coefficients = calloc(n ? n : 1, sizeof *curve->coefficients);
	curve->covariance = calloc(n ? n * n : 1, sizeof *curve->covariance);
	if (!curve->coefficients || !curve->covariance)
		return -ENOMEM;
	curve->coefficient_count = n;
	for (size_t k = 0; k < n; k++) {
		double error = result->standard_errors[k];

		snprintf(curve->coefficients[k].name, sizeof curve->coefficients[k].name, "%s",
			 source->parameter_names[k]);
		curve->coefficients[k].value = result->values[k];
		curve->coefficients[k].standard_error = isfinite(error) ? error : (double)NAN;
	}
	for (size_t i = 0; i < n * n; i++) {
		curve->covariance[i] = result->covariance[i];
		known = known && isfinite(result->covariance[i]);
	}
	if (!known) {
		free(curve->covariance);
		curve->covariance = NULL;
	}
	return 0;
}

static int fill_texts(const struct expression_curve_source *source, double zero, struct curve *curve)
{
	int rc = fabs(zero - 1) < 1e-12 ? asprintf(&curve->equation, "p(x) = %s", source->formula)
					: asprintf(&curve->equation, "p(x) = (%s) / %.6g", source->formula, zero);

	if (rc < 0)
		curve->equation = NULL;
	curve->application = strdup(source->application);
	curve->metric = strdup(source->metric.name);
	curve->unit = strdup(source->metric.unit);
	curve->model = strdup("formula");
	curve->note = strdup("a formula given by the user");
	return curve->equation && curve->application && curve->metric && curve->unit && curve->model && curve->note
		       ? 0
		       : -ENOMEM;
}

static void fill_goodness(const struct expression_curve_source *source, struct curve *curve)
{
	const struct nonlinear_result *result = source->result;

	curve->goodness = (struct curve_goodness){
		.known = true,
		.points = (long)result->observations,
		.parameters = (long)result->parameters,
		.chi_square = result->rss,
		.r_squared = source->r_squared,
		.aicc = result->aicc,
		.bic = result->bic,
	};
	for (size_t i = 0; i < curve->level_count; i++)
		curve->goodness.rss += pow(curve->levels[i].measured - curve->levels[i].fitted, 2);
}

struct curve *expression_curve_create(const struct expression_curve_source *source, struct error *err)
{
	struct curve *curve = curve_create();
	struct evaluator evaluator;
	double height; /* the levels are relative to the fitted value at x = 0 */
	int rc = evaluator_create(source, &evaluator);

	if (!curve || rc != 0)
		rc = error_set(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = check_source(source, &evaluator, err);
	if (rc == 0) {
		curve->better = source->metric.better;
		height = curve->better == SWEEP_LOWER ? 1 / evaluator.zero : evaluator.zero;
		curve->baseline_value = source->baseline_value * height;
		curve->baseline_deviation = source->baseline_deviation * height;
		curve->baseline_rtt_us = source->baseline_rtt_us;
		curve->disturbed_runs = source->disturbed_runs;
		curve->domain_high_us = source->x_us[source->result->observations - 1];
		rc = fill_table(&evaluator, curve, err);
	}
	if (rc == 0 && (fill_levels(&evaluator, curve) != 0 || fill_coefficients(source, curve) != 0 ||
			fill_texts(source, evaluator.zero, curve) != 0))
		rc = error_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		fill_goodness(source, curve);
		rc = curve_prepare(curve, err);
	}
	free(evaluator.x);
	if (rc == 0)
		return curve;
	curve_destroy(curve);
	return NULL;
}

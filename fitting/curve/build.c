/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a struct curve from the chosen candidate: table, band, coefficients in µs with covariance, equation. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fitting/linear/linear.h>

#include "fit_priv.h"

enum {
	BAND_POINTS_MAXIMUM = 401, /* a longer table's band is interpolated */
	SEARCHED_MAXIMUM = 2,
	REPORTED_MAXIMUM = COLUMNS_MAXIMUM + SEARCHED_MAXIMUM,
};

/* Returns the index of the baseline's coefficient, or -1 if the model has none. */
static int baseline_column(const struct problem *problem, const struct fit_candidate *candidate)
{
	if (problem->baseline_known)
		return -1;
	return candidate->form == CURVE_FORM_NONE ? -1 : (int)candidate->coefficient_count - 1;
}

/*
 * Returns the covariance of the free parameters (coefficients and shape constants), by QR (linear_fit()) of the curve's
 * derivatives at the levels of delay. The caller multiplies it by the noise variance and frees it. It is NULL if
 * the design is rank-deficient. Returns 0 or -ENOMEM.
 */
static int free_covariance(const struct problem *problem, const struct fit_candidate *candidate, size_t size,
			   double **covariance)
{
	struct linear_workspace *workspace = linear_workspace_create(problem->count, size);
	double *matrix = malloc(problem->count * size * sizeof *matrix), row[COLUMNS_MAXIMUM + 1];
	struct profile profile = candidate_profile(candidate);
	struct linear_result result;
	struct linear_problem linear = {.rows = problem->count,
					.columns = size,
					.matrix = matrix,
					.response = problem->y,
					.weights = problem->weight};
	int code = workspace && matrix ? 0 : -ENOMEM;

	*covariance = NULL;
	for (size_t i = 0; code == 0 && i < problem->count; i++) {
		profile_row(problem, &profile, problem->x[i], row);
		for (size_t k = 0; k < candidate->coefficient_count; k++)
			matrix[k * problem->count + i] = row[k];
		for (size_t k = candidate->coefficient_count; k < size; k++) {
			struct profile up = profile, down = profile;
			double *shape = &up.shape[k - candidate->coefficient_count];
			double step = *shape * 1e-4;

			*shape += step;
			down.shape[k - candidate->coefficient_count] -= step;
			matrix[k * problem->count + i] =
				(profile_value(problem, &up, candidate->coefficients, problem->x[i]) -
				 profile_value(problem, &down, candidate->coefficients, problem->x[i])) /
				(2 * step);
		}
	}
	if (code == 0 && linear_fit(workspace, &linear, &result) == LINEAR_OK) {
		*covariance = malloc(size * size * sizeof **covariance);
		if (*covariance)
			memcpy(*covariance, result.covariance_absolute, size * size * sizeof **covariance);
		code = *covariance ? 0 : -ENOMEM;
	}
	free(matrix);
	linear_workspace_destroy(workspace);
	return code;
}

/* covariance := J covariance J'. */
static void transform(double *covariance, const double *jacobian, size_t size)
{
	double half[REPORTED_MAXIMUM * REPORTED_MAXIMUM] = {0};

	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j++)
			for (size_t k = 0; k < size; k++)
				half[i * size + j] += jacobian[i * size + k] * covariance[k * size + j];
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j++) {
			covariance[i * size + j] = 0;
			for (size_t k = 0; k < size; k++)
				covariance[i * size + j] += half[i * size + k] * jacobian[j * size + k];
		}
}

/*
 * Fills `plain` with the coefficients of the normalised curve in powers of µs, and jacobian[i][j] with d plain[i] / d
 * fitted[j], where `fitted` are the candidate's coefficients and shape constants. To normalise, divides by the height
 * of the baseline. A known baseline has the height 1. Otherwise the height is the baseline's coefficient if there is a
 * threshold, and the curve's value at 0 if there is none.
 */
static void to_plain(const struct problem *problem, const struct fit_candidate *candidate, size_t size, double *plain,
		     double *jacobian)
{
	struct profile profile = candidate_profile(candidate);
	size_t n = candidate->coefficient_count,
	       powers = candidate->family <= FIT_POLYNOMIAL_5 || candidate->family == FIT_SPLINE;
	int baseline = baseline_column(problem, candidate);
	double at_zero[COLUMNS_MAXIMUM + 1] = {0}, height = 1;
	struct candidate_curve curve = {problem, profile, candidate->coefficients, {0}};

	if (!problem->baseline_known) {
		height = candidate_curve_baseline(&curve);
		profile_row(problem, &profile, 0, at_zero);
	}
	memset(jacobian, 0, size * size * sizeof *jacobian);
	for (size_t k = 0; k < n; k++) {
		/* In a hinge, coefficient 0 is the factor of the first power; in the other forms it is the constant. */
		double power = powers ? (double)k + (candidate->form == CURVE_FORM_HINGE) : 0, factor;

		if (candidate->family == FIT_SPLINE)
			power = fmin(power, 3);
		factor = (int)k == baseline ? 1 : 1 / (pow(problem->end_us, power) * height);
		plain[k] = candidate->coefficients[k] * factor;
		jacobian[k * size + k] = factor;
		if ((int)k == baseline || problem->baseline_known)
			continue;
		for (size_t j = 0; j < n; j++)
			jacobian[k * size + j] -= plain[k] * at_zero[j] / height;
	}
	for (size_t k = n; k < size; k++) {
		plain[k] = candidate->shape[k - n];
		jacobian[k * size + k] = 1;
	}
}

static void name_coefficients(const struct problem *problem, const struct fit_candidate *candidate, struct curve *curve)
{
	int baseline = baseline_column(problem, candidate);

	for (size_t k = 0; k < curve->coefficient_count; k++) {
		char *name = curve->coefficients[k].name;
		size_t bytes = sizeof curve->coefficients[k].name;

		if (k >= candidate->coefficient_count)
			snprintf(name, bytes, "%s", k == candidate->coefficient_count ? "s" : "h");
		else if ((int)k == baseline)
			snprintf(name, bytes, "baseline");
		else
			snprintf(name, bytes, "b%zu", k + (candidate->form == CURVE_FORM_HINGE));
	}
}

static int fill_coefficients(const struct problem *problem, const struct fit_candidate *candidate, struct noise noise,
			     struct curve *curve)
{
	size_t size = candidate->coefficient_count + family_shapes(candidate->family);
	double plain[REPORTED_MAXIMUM], jacobian[REPORTED_MAXIMUM * REPORTED_MAXIMUM];
	int code;

	if (candidate->family == FIT_MONOTONE)
		return 0;
	curve->coefficients = calloc(size, sizeof *curve->coefficients);
	if (!curve->coefficients)
		return -ENOMEM;
	curve->coefficient_count = size;
	to_plain(problem, candidate, size, plain, jacobian);
	name_coefficients(problem, candidate, curve);
	code = free_covariance(problem, candidate, size, &curve->covariance);
	if (curve->covariance) {
		transform(curve->covariance, jacobian, size);
		for (size_t i = 0; i < size * size; i++)
			curve->covariance[i] *= noise.scale * noise.scale;
	}
	for (size_t k = 0; k < size; k++) {
		curve->coefficients[k].value = plain[k];
		curve->coefficients[k].standard_error =
			curve->covariance ? sqrt(fmax(curve->covariance[k * size + k], 0)) : NAN;
	}
	return code;
}

/*
 * The baseline is the metric at the fitted curve's height at delay 0, not the mean of the runs there: everything is
 * relative to it, so that a measurement is its value divided by the one baseline that is stored.
 */
static void fill_baseline(const struct candidate_curve *shape, struct observations *observations, struct curve *curve)
{
	double height = candidate_curve_baseline(shape);

	for (size_t i = 0; i < observations->outlier_count; i++)
		observations->outliers[i].normalised /= height;
	if (curve->better == SWEEP_LOWER)
		height = 1 / height;
	curve->baseline_value = observations->baseline_value * height;
	curve->baseline_deviation = observations->baseline_deviation * height;
}

static int fill_levels(const struct fit *fit, const struct candidate_curve *shape, struct curve *curve)
{
	const struct observations *observations = &fit->observations;
	double baseline = candidate_curve_baseline(shape), mean = 0, weight = 0, about_mean = 0;

	curve->levels = calloc(observations->count, sizeof *curve->levels);
	if (!curve->levels)
		return -ENOMEM;
	curve->level_count = observations->count;
	for (size_t i = 0; i < observations->count; i++) {
		const struct observation_level *level = &observations->levels[i];

		curve->levels[i] = (struct curve_level){
			.x_us = level->x_us,
			.measured = level->mean / baseline,
			.deviation = level->deviation / baseline,
			.fitted = candidate_curve_value(shape, level->x_us) / baseline,
			.runs = level->runs,
			.outliers = level->outliers,
		};
		mean += level->weight * level->mean;
		weight += level->weight;
	}
	mean /= weight;
	for (size_t i = 0; i < observations->count; i++) {
		about_mean += observations->levels[i].weight * pow(observations->levels[i].mean - mean, 2);
		curve->goodness.rss +=
			(double)curve->levels[i].runs * pow(curve->levels[i].measured - curve->levels[i].fitted, 2);
	}
	curve->goodness.known = true;
	curve->goodness.points = observations->runs;
	curve->goodness.parameters = (long)fit->candidates[0].parameters;
	curve->goodness.chi_square = fit->candidates[0].rss;
	curve->goodness.r_squared = 1 - fit->candidates[0].rss / (about_mean + observations->scatter);
	curve->goodness.aicc = fit->candidates[0].aicc;
	curve->goodness.bic = fit->candidates[0].bic;
	return 0;
}

/* Interpolates the simulated band linearly to the table's points, and widens it where it does not contain the curve. */
static void spread_band(const double *x, const double *low, const double *high, size_t points, struct curve *curve)
{
	size_t at = 0;

	for (size_t i = 0; i < curve->table_count; i++) {
		double here = CURVE_STEP_US * (double)i, part = 0;

		while (at + 2 < points && x[at + 1] < here)
			at++;
		if (points > 1)
			part = fmin(fmax((here - x[at]) / (x[at + 1] - x[at]), 0), 1);
		curve->band_low[i] = low[at] + (points > 1 ? part * (low[at + 1] - low[at]) : 0);
		curve->band_high[i] = high[at] + (points > 1 ? part * (high[at + 1] - high[at]) : 0);
		curve->band_low[i] = fmin(curve->band_low[i], curve->table[i]);
		curve->band_high[i] = fmax(curve->band_high[i], curve->table[i]);
	}
}

static int fill_band(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		     struct noise noise, const struct candidate_curve *shape, struct curve *curve)
{
	size_t points = curve->table_count < BAND_POINTS_MAXIMUM ? curve->table_count : BAND_POINTS_MAXIMUM;
	double *x = malloc(4 * points * sizeof *x);
	struct band band = {0};
	int rc;

	if (settings->replicates < 1 || !x) {
		free(x);
		return settings->replicates < 1 ? 0 : -ENOMEM;
	}
	band.centre = x + points;
	band.low = x + 2 * points;
	band.high = x + 3 * points;
	for (size_t i = 0; i < points; i++)
		x[i] = fmin(problem->end_us, points > 1 ? CURVE_STEP_US * (double)(curve->table_count - 1) * (double)i /
								  (double)(points - 1)
							: 0);
	candidate_curve_fill(shape, x, points, x + points);
	rc = simulate_band(problem, settings, fit, noise, x, points, &band, &curve->threshold);
	if (rc == -EDOM) {
		free(x);
		return 0;
	}
	curve->band_low = malloc(curve->table_count * sizeof *curve->band_low);
	curve->band_high = malloc(curve->table_count * sizeof *curve->band_high);
	if (rc == 0 && (!curve->band_low || !curve->band_high))
		rc = -ENOMEM;
	if (rc == 0)
		spread_band(x, band.low, band.high, points, curve);
	curve->band_confidence = 0.95;
	curve->band_whole_factor = band.whole_factor;
	free(x);
	return rc;
}

static int fill_table(const struct problem *problem, const struct candidate_curve *shape, struct curve *curve)
{
	double *x;

	curve->table_count = (size_t)floor(problem->end_us / CURVE_STEP_US + 0.5) + 1;
	if (curve->table_count > CURVE_TABLE_MAXIMUM)
		curve->table_count = CURVE_TABLE_MAXIMUM;
	curve->table = malloc(curve->table_count * sizeof *curve->table);
	x = malloc(curve->table_count * sizeof *x);
	if (curve->table && x) {
		for (size_t i = 0; i < curve->table_count; i++)
			x[i] = fmin(CURVE_STEP_US * (double)i, problem->end_us);
		candidate_curve_fill(shape, x, curve->table_count, curve->table);
	}
	free(x);
	return curve->table && x ? 0 : -ENOMEM;
}

static int fill_texts(const struct problem *problem, const struct fit_settings *settings, const struct fit *fit,
		      struct curve *curve)
{
	const struct fit_candidate *chosen = &fit->candidates[0];

	curve->application = strdup(settings->application ? settings->application : "application");
	curve->metric = strdup(fit->observations.metric.name);
	curve->unit = strdup(fit->observations.metric.unit);
	curve->model = strdup(fit_family_name(chosen->family));
	curve->equation = equation_text(problem, chosen, curve);
	curve->note = strdup(fit->reason);
	return curve->application && curve->metric && curve->unit && curve->model && curve->equation && curve->note
		       ? 0
		       : -ENOMEM;
}

int build_curve(const struct problem *problem, const struct fit_settings *settings, struct fit *fit, struct error *err)
{
	const struct fit_candidate *chosen = &fit->candidates[0];
	struct noise noise = fit_noise(problem, settings, fit);
	struct candidate_curve shape = {
		.problem = problem, .profile = candidate_profile(chosen), .coefficients = chosen->coefficients};
	double *storage = malloc(8 * problem->count * sizeof *storage);
	struct curve *curve = curve_create();
	int rc = storage && curve ? 0 : -ENOMEM;

	if (rc == 0 && chosen->family == FIT_MONOTONE)
		isotonic_fit(problem, problem->y, &shape.isotonic, storage);
	if (rc == 0) {
		curve->better = fit->observations.metric.better;
		fill_baseline(&shape, &fit->observations, curve);
		curve->baseline_rtt_us = isnan(settings->baseline_rtt_us) ? fit->observations.baseline_rtt_us
									  : settings->baseline_rtt_us;
		curve->disturbed_runs = fit->observations.disturbed;
		curve->domain_high_us = problem->end_us;
		curve->threshold.form = chosen->form;
		memcpy(curve->threshold.probability, fit->form_probability, sizeof fit->form_probability);
		curve->threshold.at_us = chosen->form == CURVE_FORM_NONE ? NAN : chosen->threshold_us;
		rc = fill_table(problem, &shape, curve);
	}
	if (rc == 0)
		rc = blocks_widen_noise(problem, settings, fit, &noise);
	if (rc == 0)
		rc = fill_coefficients(problem, chosen, noise, curve);
	if (rc == 0)
		rc = fill_levels(fit, &shape, curve);
	if (rc == 0)
		rc = fill_band(problem, settings, fit, noise, &shape, curve);
	if (rc == 0)
		rc = advise_measurements(problem, noise, fit);
	if (rc == 0)
		rc = fill_texts(problem, settings, fit, curve);
	if (rc == 0)
		rc = flat_replace(settings, fit, curve);
	free(storage);
	if (rc == 0 && curve_prepare(curve, err) == 0) {
		fit->curve = curve;
		return 0;
	}
	curve_destroy(curve);
	return rc ? error_set(err, -rc, "out of memory") : -EINVAL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monotone family (isotonic regression (PAVA), joined by a monotone interpolant), and the values of any candidate.
 */
#include <math.h>
#include <string.h>

#include <fitting/observations/observations.h>

#include "fit_priv.h"

/* Makes two knots per pool, so that the curve is flat from the pool's first level to its last. */
static void make_knots(const double *x, const double *fitted, size_t count, struct isotonic *isotonic)
{
	size_t to;

	isotonic->count = 0;
	for (size_t from = 0; from < count; from = to) {
		for (to = from; to < count && fitted[to] == fitted[from]; to++)
			;
		isotonic->x[isotonic->count] = x[from];
		isotonic->y[isotonic->count++] = fmax(fitted[from], FIT_LEAST);
		if (to - from == 1)
			continue;
		isotonic->x[isotonic->count] = x[to - 1];
		isotonic->y[isotonic->count++] = fmax(fitted[from], FIT_LEAST);
	}
	monotone_slopes(isotonic->x, isotonic->y, isotonic->count, isotonic->slopes);
}

void isotonic_fit(const struct problem *problem, const double *y, struct isotonic *isotonic, double *storage)
{
	size_t n = problem->count;
	double *fitted = storage;

	isotonic->x = storage + n;
	isotonic->y = storage + 2 * n;
	isotonic->slopes = storage + 3 * n;
	/* isotonic_regression() uses the knots' storage as scratch; make_knots() fills it afterwards. */
	isotonic_regression(y, problem->weight, n, fitted, isotonic->x);
	make_knots(problem->x, fitted, n, isotonic);
}

double isotonic_value(const struct isotonic *isotonic, double x)
{
	return monotone_interpolate(isotonic->x, isotonic->y, isotonic->slopes, isotonic->count, x);
}

/* Leaves out each inner level in turn, from copies of the arrays. */
double isotonic_cross_validate(const struct problem *problem, double *storage)
{
	size_t n = problem->count;
	double sum = 0, total = 0;
	double *x = storage + 5 * n, *y = x + n, *weight = y + n;

	for (size_t out = 1; out + 1 < n; out++) {
		struct problem rest = {.count = n - 1, .x = x, .y = y, .weight = weight};
		struct isotonic isotonic;
		double error;

		for (size_t i = 0, to = 0; i < n; i++) {
			if (i == out)
				continue;
			x[to] = problem->x[i];
			y[to] = problem->y[i];
			weight[to++] = problem->weight[i];
		}
		isotonic_fit(&rest, y, &isotonic, storage);
		error = problem->y[out] - isotonic_value(&isotonic, problem->x[out]);
		sum += problem->weight[out] * error * error;
		total += problem->weight[out];
	}
	return total > 0 ? sqrt(sum / total) : NAN;
}

struct profile candidate_profile(const struct fit_candidate *candidate)
{
	return (struct profile){candidate->family,
				candidate->form,
				candidate->threshold_us,
				{candidate->shape[0], candidate->shape[1]}};
}

double candidate_curve_value(const struct candidate_curve *curve, double x)
{
	if (curve->profile.family == FIT_MONOTONE)
		return isotonic_value(&curve->isotonic, x);
	return profile_value(curve->problem, &curve->profile, curve->coefficients, x);
}

double candidate_curve_baseline(const struct candidate_curve *curve)
{
	double height = curve->problem->baseline_known ? 1 : candidate_curve_value(curve, 0);

	return height > FIT_LEAST ? height : 1;
}

void candidate_curve_fill(const struct candidate_curve *curve, const double *x, size_t count, double *p)
{
	double baseline = candidate_curve_baseline(curve), lowest = INFINITY;

	for (size_t i = 0; i < count; i++) {
		/* Enforce the constraint at every x: the fit did so only at some points, and up to rounding errors. */
		lowest = fmin(lowest, candidate_curve_value(curve, x[i]) / baseline);
		lowest = fmax(lowest, FIT_LEAST);
		p[i] = lowest;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotone family: pooled adjacent violators, joined by a monotone interpolant. And a candidate's values. */
#include <math.h>
#include <string.h>

#include <fitting/observations/monotone.h>

#include "fit_priv.h"

/* A pool is flat from its first level to its last. */
static void make_knots(const double *x, const double *fitted, size_t count, struct pooled *pooled)
{
	size_t to;

	pooled->count = 0;
	for (size_t from = 0; from < count; from = to) {
		for (to = from; to < count && fitted[to] == fitted[from]; to++)
			;
		pooled->x[pooled->count] = x[from];
		pooled->y[pooled->count++] = fmax(fitted[from], FIT_LEAST);
		if (to - from == 1)
			continue;
		pooled->x[pooled->count] = x[to - 1];
		pooled->y[pooled->count++] = fmax(fitted[from], FIT_LEAST);
	}
	monotone_slopes(pooled->x, pooled->y, pooled->count, pooled->slopes);
}

void pooled_fit(const struct problem *problem, const double *y, struct pooled *pooled, double *storage)
{
	size_t n = problem->count;
	double *fitted = storage;

	pooled->x = storage + n;
	pooled->y = storage + 2 * n;
	pooled->slopes = storage + 3 * n;
	/* The knots' place serves as the pools' stack: it is filled afterwards. */
	monotone_pool(y, problem->weight, n, fitted, pooled->x);
	make_knots(problem->x, fitted, n, pooled);
}

double pooled_value(const struct pooled *pooled, double x)
{
	return monotone_interpolate(pooled->x, pooled->y, pooled->slopes, pooled->count, x);
}

/* Each level but the ends is left out by making a problem without it: the arrays are moved up by one. */
double pooled_cross_validate(const struct problem *problem, double *storage)
{
	size_t n = problem->count;
	double sum = 0, total = 0;
	double *x = storage + 5 * n, *y = x + n, *weight = y + n;

	for (size_t out = 1; out + 1 < n; out++) {
		struct problem rest = {.count = n - 1, .x = x, .y = y, .weight = weight};
		struct pooled pooled;
		double error;

		for (size_t i = 0, to = 0; i < n; i++) {
			if (i == out)
				continue;
			x[to] = problem->x[i];
			y[to] = problem->y[i];
			weight[to++] = problem->weight[i];
		}
		pooled_fit(&rest, y, &pooled, storage);
		error = problem->y[out] - pooled_value(&pooled, problem->x[out]);
		sum += problem->weight[out] * error * error;
		total += problem->weight[out];
	}
	return total > 0 ? sqrt(sum / total) : NAN;
}

struct member candidate_member(const struct fit_candidate *candidate)
{
	return (struct member){candidate->family,
			       candidate->form,
			       candidate->threshold_us,
			       {candidate->shape[0], candidate->shape[1]}};
}

double candidate_curve_value(const struct candidate_curve *curve, double x)
{
	if (curve->member.family == FIT_MONOTONE)
		return pooled_value(&curve->pooled, x);
	return member_value(curve->problem, &curve->member, curve->coefficients, x);
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
		/* The law holds on the grid of its rows: between them and in the last bits it is made to hold here. */
		lowest = fmin(lowest, candidate_curve_value(curve, x[i]) / baseline);
		lowest = fmax(lowest, FIT_LEAST);
		p[i] = lowest;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The families of curves as rows of a linear design. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/array.h>

#include "fit_priv.h"

static const char *const family_names[FIT_FAMILY_COUNT] = {
	"polynomial-1", "polynomial-2", "polynomial-3", "polynomial-4", "polynomial-5", "log",
	"exponential",  "rational",     "hill",         "spline",       "monotone",
};

const char *fit_family_name(enum fit_family family)
{
	return family_names[family];
}

int fit_family_parse(const char *name, int *family)
{
	if (strcmp(name, "auto") == 0) {
		*family = FIT_AUTO;
		return 0;
	}
	if (strcmp(name, "polynomial") == 0) {
		*family = FIT_ANY_POLYNOMIAL;
		return 0;
	}
	for (int i = 0; i < FIT_FAMILY_COUNT; i++)
		if (strcmp(name, family_names[i]) == 0) {
			*family = i;
			return 0;
		}
	return -EINVAL;
}

/* Returns the number of basis functions besides the constant. */
static size_t basis_size(const struct problem *problem, enum fit_family family)
{
	if (family <= FIT_POLYNOMIAL_5)
		return (size_t)(family - FIT_POLYNOMIAL_1) + 1;
	return family == FIT_SPLINE ? 3 + problem->knot_count : 1;
}

size_t family_shapes(enum fit_family family)
{
	switch (family) {
	case FIT_LOG:
	case FIT_EXPONENTIAL:
	case FIT_RATIONAL:
		return 1;
	case FIT_HILL:
		return 2;
	default:
		return 0;
	}
}

/*
 * Without a threshold or with a jump, the columns are a constant and the basis. A hinge has no constant, since its
 * curve starts at the baseline's height. In a jump and a hinge, the height of an unknown baseline adds a column.
 */
size_t profile_columns(const struct problem *problem, const struct profile *profile)
{
	return basis_size(problem, profile->family) + (profile->form != CURVE_FORM_HINGE) +
	       (profile->form != CURVE_FORM_NONE && !problem->baseline_known);
}

size_t profile_parameters(const struct problem *problem, const struct profile *profile)
{
	return profile_columns(problem, profile) + family_shapes(profile->family) + (profile->form != CURVE_FORM_NONE);
}

/* Fills `basis` with the basis functions at u >= 0, without the constant. */
static void fill_basis(const struct problem *problem, const struct profile *profile, double u, double *basis)
{
	double t = u / problem->end_us, power = t;

	switch (profile->family) {
	case FIT_LOG:
		basis[0] = log1p(u / profile->shape[0]);
		return;
	case FIT_EXPONENTIAL:
		basis[0] = exp(-u / profile->shape[0]);
		return;
	case FIT_RATIONAL:
		basis[0] = 1 / (1 + u / profile->shape[0]);
		return;
	case FIT_HILL:
		basis[0] = u > 0 ? 1 / (1 + pow(u / profile->shape[0], profile->shape[1])) : 1;
		return;
	case FIT_SPLINE:
		basis[0] = t;
		basis[1] = t * t;
		basis[2] = t * t * t;
		for (size_t k = 0; k < problem->knot_count; k++) {
			double past = t - problem->knots[k];

			basis[3 + k] = past > 0 ? past * past * past : 0;
		}
		return;
	default:
		break;
	}
	for (size_t k = 0; k < basis_size(problem, profile->family); k++) {
		basis[k] = power;
		power *= t;
	}
}

double profile_origin_us(const struct problem *problem, const struct profile *profile)
{
	size_t at;

	if (profile->form == CURVE_FORM_NONE || family_shapes(profile->family) == 0)
		return 0;
	if (profile->form == CURVE_FORM_HINGE)
		return profile->threshold_us;
	SEARCH_LOWER_BOUND(at, 0, problem->count, problem->x[at] < profile->threshold_us);
	return at < problem->count ? problem->x[at] : profile->threshold_us;
}

double profile_row(const struct problem *problem, const struct profile *profile, double x, double *row)
{
	size_t columns = profile_columns(problem, profile), basis = basis_size(problem, profile->family);
	double at_start[COLUMNS_MAXIMUM];
	bool flat = profile->form != CURVE_FORM_NONE && x < profile->threshold_us;

	memset(row, 0, columns * sizeof *row);
	switch (profile->form) {
	case CURVE_FORM_NONE:
		row[0] = 1;
		fill_basis(problem, profile, x, row + 1);
		return 0;
	case CURVE_FORM_JUMP:
		/* The columns are in the order: constant, basis, baseline. */
		if (flat) {
			if (!problem->baseline_known)
				row[columns - 1] = 1;
			return problem->baseline_known ? 1 : 0;
		}
		row[0] = 1;
		fill_basis(problem, profile, fmax(x - profile_origin_us(problem, profile), 0), row + 1);
		return 0;
	case CURVE_FORM_HINGE:
		break;
	}
	if (!problem->baseline_known)
		row[columns - 1] = 1;
	if (!flat) {
		fill_basis(problem, profile, x - profile->threshold_us, row);
		fill_basis(problem, profile, 0, at_start);
		for (size_t k = 0; k < basis; k++)
			row[k] -= at_start[k];
	}
	return problem->baseline_known ? 1 : 0;
}

double profile_value(const struct problem *problem, const struct profile *profile, const double *coefficients, double x)
{
	double row[COLUMNS_MAXIMUM + 1];
	double value = profile_row(problem, profile, x, row);

	for (size_t k = 0; k < profile_columns(problem, profile); k++)
		value += row[k] * coefficients[k];
	return value;
}

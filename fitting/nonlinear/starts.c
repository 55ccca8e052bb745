/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further starts. Usually all nonlinear parameters of a user's start are wrong by the same power of ten (a rate in the
 * wrong unit). So the first further starts multiply all nonlinear parameters by one power of ten, and compute the
 * linear parameters by least squares.
 */
#include "nonlinear_priv.h"

#include <math.h>

static const double common_factors[] = {1, 0.1, 10, 0.01, 100, 1e-3, 1e3};
enum { COMMON_FACTORS = sizeof common_factors / sizeof common_factors[0] };

static bool is_linear(const struct objective *o, size_t j)
{
	return o->problem->linear && o->problem->linear[o->index[j]];
}

static bool has_linear(const struct objective *o)
{
	for (size_t j = 0; j < o->free; j++)
		if (is_linear(o, j))
			return true;
	return false;
}

/*
 * Multiplies by a random factor between 1/100 and 100, and changes the sign one time in eight; 0 becomes a normal
 * random number.
 */
static double scatter(struct rng *rng, double value)
{
	double factor = pow(10, 4 * rng_uniform(rng) - 2);

	if (value == 0)
		return rng_normal(rng);
	return rng_below(rng, 8) == 0 ? -value * factor : value * factor;
}

void nonlinear_further_start(struct trust_region *region, struct rng *rng, int start, const double *given,
			     double *values)
{
	const struct objective *o = region->objective;
	bool linear = has_linear(o);
	/* without linear parameters, the factor 1 would repeat the given start: skip it */
	int common = linear ? start - 1 : start;

	for (size_t j = 0; j < o->free; j++) {
		double value = given[j];

		if (!is_linear(o, j))
			value = common < COMMON_FACTORS ? value * common_factors[common] : scatter(rng, value);
		values[j] = objective_clip(o, j, value);
	}
	if (linear)
		trust_region_solve_linear(region, values);
}

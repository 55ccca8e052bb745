/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of the normal and Student's t distributions, and of samples; a likelihood ratio. Pure. */
#ifndef BASE_QUANTILE_H
#define BASE_QUANTILE_H

#include <math.h>
#include <stddef.h>

/*
 * The z below which a standard normal variable lies with probability p (0 < p < 1): Acklam's rational approximation and
 * one step of Halley's method, relative error under 1e-14. -INFINITY for p = 0, INFINITY for 1.
 */
double quantile_normal(double p);

/*
 * The t for which a variable lies outside -t..t with probability `outside` (0 < outside < 1), for dof >= 1 degrees of
 * freedom; dof INFINITY is the normal distribution. Hill, "Algorithm 396: Student's t-quantiles", CACM 13 (1970): exact
 * for dof 1, 2 and INFINITY, else to 5e-4.
 */
double quantile_student(double outside, double dof);

/* Sorts the values, none NAN, in ascending order. */
void quantile_sort(double *values, size_t count);

/* Median of `count` values, none NAN; NAN for count 0. Sorts the values. */
double quantile_median(double *values, size_t count);

/*
 * Tells what stands out from chance. "Some trials fail more often than normal" is compared with "they fail as often as
 * all others" by the logarithm of the ratio of the two binomial likelihoods, each at its most likely rate (Neyman and
 * Pearson 1933). If c candidates are compared, chance alone exceeds log(c / a) for one of them with a probability of at
 * most about a (Wilks 1938, Bonferroni).
 *
 * bad: trials that failed, of all `trials`; normal: share of failures without a fault, over 0 and below 1. Returns the
 * logarithm of the likelihood ratio, or 0 if the trials do not fail more often than normal.
 */
static inline double likelihood_of_excess(double bad, double trials, double normal)
{
	double good = trials - bad, excess = trials > 0 ? bad / trials / normal : 0;

	if (excess <= 1)
		return 0;
	return bad * log(excess) + (good > 0 ? good * log((1 - bad / trials) / (1 - normal)) : 0);
}

#endif

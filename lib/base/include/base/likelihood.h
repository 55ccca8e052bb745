/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells what stands out from chance. "Some trials fail more often than normal" is compared with "they fail as often as
 * all others" by the logarithm of the ratio of the two binomial likelihoods, each at its most likely rate (Neyman and
 * Pearson 1933). If c candidates are compared, chance alone exceeds log(c / a) for one of them with a probability of at
 * most about a (Wilks 1938, Bonferroni).
 */
#ifndef BASE_LIKELIHOOD_H
#define BASE_LIKELIHOOD_H

#include <math.h>

/*
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/quantile.h>
#include <base/rng.h>

Test(likelihood, what_is_normal_or_better_is_no_evidence)
{
	cr_assert_eq(likelihood_of_excess(0, 100, 0.01), 0);
	cr_assert_eq(likelihood_of_excess(1, 100, 0.01), 0);
	cr_assert_eq(likelihood_of_excess(0, 0, 0.01), 0);
}

Test(likelihood, is_the_ratio_of_two_binomial_likelihoods)
{
	cr_assert_float_eq(likelihood_of_excess(3, 4, 0.25), 3 * log(0.75 / 0.25) + log(0.25 / 0.75), 1e-12);
	cr_assert_float_eq(likelihood_of_excess(4, 4, 0.25), 4 * log(4), 1e-12);
}

/* The law in the header, with some reserve: the approximation is coarse for few failures. */
Test(likelihood, chance_exceeds_it_as_rarely_as_it_says)
{
	const int worlds = 200000, trials = 200;
	const double normal = 0.02, alarm = 0.01;
	int alarms = 0;
	struct rng rng;

	rng_seed(&rng, 5);
	for (int world = 0; world < worlds; world++) {
		int bad = 0;

		for (int i = 0; i < trials; i++)
			bad += rng_uniform(&rng) < normal;
		alarms += likelihood_of_excess(bad, trials, normal) > log(1 / alarm);
	}
	cr_assert_lt(alarms, alarm * worlds, "%d", alarms);
	cr_assert_gt(alarms, 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <base/rng.h>

Test(rng, first_words_of_seed_zero_are_those_of_the_reference)
{
	/* splitmix64(0) gives these four words (Vigna's published test vector of splitmix64) */
	struct rng rng;

	rng_seed(&rng, 0);
	cr_assert_eq(rng.s[0], UINT64_C(0xe220a8397b1dcdaf));
	cr_assert_eq(rng.s[1], UINT64_C(0x6e789e6aa1b965f4));
	cr_assert_eq(rng.s[2], UINT64_C(0x06c45d188009454f));
	cr_assert_eq(rng.s[3], UINT64_C(0xf88bb8a8724c81ec));
}

Test(rng, generator_follows_the_recurrence_of_xoshiro256plusplus)
{
	/* from state 1, 2, 3, 4: the well-known first outputs of xoshiro256++ */
	static const uint64_t expected[] = {UINT64_C(41943041), UINT64_C(58720359), UINT64_C(3588806011781223),
					    UINT64_C(3591011842654386)};
	struct rng rng = {.s = {1, 2, 3, 4}};

	for (int i = 0; i < 4; i++)
		cr_assert_eq(rng_next(&rng), expected[i]);
}

Test(rng, bounded_draws_are_uniform)
{
	struct rng rng;
	int counts[7] = {0};
	double chi2 = 0;

	rng_seed(&rng, 42);
	for (int i = 0; i < 70000; i++)
		counts[rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		chi2 += (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000.0;
	cr_assert_lt(chi2, 22.5, "chi2 with 6 degrees of freedom: %g", chi2); /* p = 0.001 */
	cr_assert_eq(rng_below(&rng, 1), 0);
}

/* Four words map to three values: without rejection, one value would be twice as likely. */
Test(rng, a_bound_near_the_whole_range_is_drawn_evenly)
{
	const uint64_t bound = UINT64_C(3) << 62;
	struct rng rng;
	int thirds = 0;

	rng_seed(&rng, 43);
	for (int i = 0; i < 30000; i++) {
		uint64_t drawn = rng_below(&rng, bound);

		cr_assert_lt(drawn, bound);
		thirds += drawn % 3 == 0;
	}
	cr_assert(thirds > 9500 && thirds < 10500, "%d of 30000", thirds);
}

Test(rng, normal_and_exponential_have_their_moments)
{
	enum { N = 200000 };
	struct rng rng;
	double sum = 0, squares = 0, fourth = 0, exponential = 0;

	rng_seed(&rng, 7);
	for (int i = 0; i < N; i++) {
		double x = rng_normal(&rng);

		sum += x;
		squares += x * x;
		fourth += x * x * x * x;
		exponential += rng_exponential(&rng);
	}
	cr_assert_lt(fabs(sum / N), 0.01);
	cr_assert_lt(fabs(squares / N - 1), 0.015);
	cr_assert_lt(fabs(fourth / N - 3), 0.15);
	cr_assert_lt(fabs(exponential / N - 1), 0.01);
}

Test(rng, every_order_comes_out_of_a_shuffle_equally_often)
{
	struct rng rng;
	int counts[27] = {0}, orders = 0;
	double chi2 = 0;

	rng_seed(&rng, 8);
	for (int i = 0; i < 60000; i++) {
		int items[] = {0, 1, 2};

		rng_shuffle(&rng, items, 3, sizeof items[0]);
		counts[items[0] * 9 + items[1] * 3 + items[2]]++;
	}
	for (int i = 0; i < 27; i++) {
		orders += counts[i] > 0;
		chi2 += counts[i] ? (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000.0 : 0;
	}
	cr_assert_eq(orders, 6);
	cr_assert_lt(chi2, 20.5, "chi2 with 5 degrees of freedom: %g", chi2); /* p = 0.001 */
}

Test(rng, shuffle_keeps_every_element)
{
	struct rng rng;
	int items[100], seen[100] = {0}, moved = 0;

	rng_seed(&rng, 3);
	for (int i = 0; i < 100; i++)
		items[i] = i;
	rng_shuffle(&rng, items, 100, sizeof items[0]);
	for (int i = 0; i < 100; i++) {
		seen[items[i]]++;
		moved += items[i] != i;
	}
	for (int i = 0; i < 100; i++)
		cr_assert_eq(seen[i], 1);
	cr_assert_gt(moved, 80);
}

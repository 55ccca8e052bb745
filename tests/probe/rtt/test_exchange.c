/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/rtt/exchange.h>

Test(exchange, delay_and_offset_of_the_textbook)
{
	/* RFC 5905: the answerer is 100 ahead, 30 there, 50 back, 7 inside. */
	struct exchange exchange = {{1000}, {1130}, {1137}, {1087}};

	cr_assert_eq(exchange_delay(&exchange).v, 80);
	cr_assert_eq(exchange_residence(&exchange).v, 7);
	cr_assert_eq(exchange_offset(&exchange).v, 90, "100 less half of the asymmetry of 20");
}

Test(exchange, delay_does_not_depend_on_the_other_clock)
{
	struct rng rng;

	rng_seed(&rng, 3);
	for (int i = 0; i < 10000; i++) {
		int64_t there = (int64_t)rng_below(&rng, 1000000), inside = (int64_t)rng_below(&rng, 1000000);
		int64_t back = (int64_t)rng_below(&rng, 1000000);
		int64_t offset = (int64_t)rng_below(&rng, INT64_C(1) << 62) - (INT64_C(1) << 61);
		int64_t t1 = (int64_t)rng_below(&rng, INT64_C(1) << 61);
		struct exchange exchange = {
			{t1}, {t1 + there + offset}, {t1 + there + inside + offset}, {t1 + there + inside + back}};
		int64_t error = exchange_offset(&exchange).v - offset;

		cr_assert_eq(exchange_delay(&exchange).v, there + back);
		cr_assert_eq(exchange_residence(&exchange).v, inside);
		cr_assert(2 * (error < 0 ? -error : error) <= there + back + 1, "error %ld", error);
	}
}

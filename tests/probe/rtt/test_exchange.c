/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/rtt/session.h>

static struct exchange exchange_of(int64_t t1, int64_t t2, int64_t t3, int64_t t4)
{
	return (struct exchange){stamp_at(CLOCK_COUNTER, t1), stamp_at(CLOCK_PEER, t2), stamp_at(CLOCK_PEER, t3),
				 stamp_at(CLOCK_COUNTER, t4)};
}

Test(exchange, delay_and_offset_of_the_textbook)
{
	/* RFC 5905: the answering clock is 100 ahead; 30 there, 50 back, 7 inside. */
	struct exchange exchange = exchange_of(1000, 1130, 1137, 1087);
	struct exchange_times times;

	cr_assert_eq(exchange_measure(&exchange, &times), EXCHANGE_MEASURED);
	cr_assert_eq(times.rtt.v, 80);
	cr_assert_eq(times.residence.v, 7);
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
		struct exchange exchange =
			exchange_of(t1, t1 + there + offset, t1 + there + inside + offset, t1 + there + inside + back);
		int64_t error = exchange_offset(&exchange).v - offset;
		struct exchange_times times;

		cr_assert_eq(exchange_measure(&exchange, &times), EXCHANGE_MEASURED);
		cr_assert_eq(times.rtt.v, there + back);
		cr_assert_eq(times.residence.v, inside);
		cr_assert(2 * (error < 0 ? -error : error) <= there + back + 1, "error %ld", error);
	}
}

Test(exchange, impossible_stamps_are_no_sample)
{
	struct exchange backward = exchange_of(1000, 1130, 1129, 1087), longer = exchange_of(1000, 1130, 1218, 1087);
	struct exchange at_once = exchange_of(1000, 1130, 1217, 1087);
	struct exchange_times times;

	cr_assert_eq(exchange_measure(&backward, &times), EXCHANGE_IMPOSSIBLE, "answered before it was asked");
	cr_assert_eq(exchange_measure(&longer, &times), EXCHANGE_IMPOSSIBLE, "longer inside than the whole");
	cr_assert_eq(exchange_measure(&at_once, &times), EXCHANGE_MEASURED);
	cr_assert_eq(times.rtt.v, 0);
}

Test(exchange, stamps_of_two_clocks_are_not_subtracted)
{
	struct exchange exchange = exchange_of(1000, 1130, 1137, 1087);
	struct exchange_times times;

	exchange.t4.clock = CLOCK_WALL;
	cr_assert_eq(exchange_measure(&exchange, &times), EXCHANGE_INCOMPARABLE);
	exchange.t4.clock = CLOCK_COUNTER;
	exchange.t2.clock = CLOCK_NIC;
	cr_assert_eq(exchange_measure(&exchange, &times), EXCHANGE_INCOMPARABLE);
	exchange.t2.clock = CLOCK_PEER;
	exchange.t1.valid = false;
	cr_assert_eq(exchange_measure(&exchange, &times), EXCHANGE_INCOMPARABLE, "a missing stamp is not 0");
}

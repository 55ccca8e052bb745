/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <probe/ptp/message.h>

/* Our clock is 1,000 ns behind; 30 ns there, 10 ns back, 7 ns of residence; the NIC stamps 2 ns nearer to the wire. */
enum { LEFT = 100, THERE = 1130, AGAIN = 1137, BACK = 147 };

static struct ptp_moment moment(int64_t software, int64_t hardware)
{
	return (struct ptp_moment){{stamp_at(CLOCK_WALL, software), stamp_at(CLOCK_NIC, hardware)}};
}

static void take(struct ptp_exchange *exchange, enum ptp_type type, bool two_step, int64_t stamp, int64_t correction,
		 uint16_t sequence)
{
	struct ptp_message message = {
		.type = type, .two_step = two_step, .sequence = sequence, .stamp = {stamp}, .correction = {correction}};
	struct ptp_moment arrived = moment(BACK, BACK - 2);

	ptp_exchange_take(exchange, &message, &arrived);
}

static void check(const struct ptp_exchange *exchange, bool delay_only)
{
	struct ptp_sample sample;

	cr_assert(ptp_exchange_sample(exchange, PTP_SOFTWARE, &sample));
	cr_assert_eq(sample.round_trip.v, 40);
	cr_assert_eq(sample.delay_only, delay_only);
	if (!delay_only)
		cr_assert(sample.out.v == 1030 && sample.back.v == -990 && sample.offset.v == -1010);
	cr_assert(ptp_exchange_sample(exchange, PTP_HARDWARE, &sample));
	cr_assert_eq(sample.round_trip.v, 36);
}

Test(ptp_exchange, peer_delay)
{
	struct ptp_exchange two_step = {.sequence = 7, .left = moment(LEFT, LEFT + 2)}, one_step = two_step;
	struct ptp_exchange sums = two_step; /* two-step, with the residence time in the correction fields */
	struct ptp_sample sample;

	take(&two_step, PTP_PEER_RESPONSE, true, THERE, 0, 7);
	cr_assert_not(ptp_exchange_is_whole(&two_step), "its follow-up is to come");
	take(&two_step, PTP_PEER_FOLLOW_UP, false, AGAIN + 50, 0, 8);
	cr_assert_not(ptp_exchange_sample(&two_step, PTP_SOFTWARE, &sample), "that of another");
	take(&two_step, PTP_PEER_FOLLOW_UP, false, AGAIN, 0, 7);
	check(&two_step, false);
	take(&one_step, PTP_PEER_RESPONSE, false, 0, 7, 7);
	check(&one_step, true);
	take(&sums, PTP_PEER_RESPONSE, true, 0, 3, 7);
	take(&sums, PTP_PEER_FOLLOW_UP, false, 0, 4, 7);
	check(&sums, true);
}

Test(ptp_exchange, delay_request)
{
	struct ptp_exchange exchange = {.mechanism = PTP_E2E, .sequence = 7, .left = moment(LEFT, LEFT + 2)};

	take(&exchange, PTP_SYNC, true, 0, 2, 90);
	take(&exchange, PTP_DELAY_RESPONSE, false, THERE + 5, 5, 7); /* transparent clocks took 5 and 3 */
	cr_assert_not(ptp_exchange_is_whole(&exchange));
	take(&exchange, PTP_FOLLOW_UP, false, AGAIN - 3, 1, 90);
	check(&exchange, false);
}

Test(ptp_exchange, a_missing_stamp_or_two_clocks_make_no_sample)
{
	struct ptp_exchange exchange = {.sequence = 7, .left = moment(LEFT, LEFT)};
	struct ptp_sample sample;

	take(&exchange, PTP_PEER_RESPONSE, false, 0, 7, 7);
	exchange.left.by[PTP_HARDWARE].valid = false;
	cr_assert_not(ptp_exchange_sample(&exchange, PTP_HARDWARE, &sample));
	exchange.left.by[PTP_SOFTWARE].clock = CLOCK_COUNTER;
	cr_assert_not(ptp_exchange_sample(&exchange, PTP_SOFTWARE, &sample));
}

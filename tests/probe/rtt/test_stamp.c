/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/rng.h>
#include <probe/rtt/stamp.h>

/* 2026-11-20 15:31:03.5 UTC; NTP counts 2208988800 seconds more. */
static const struct ns moment = {INT64_C(1795188663500000000)};

Test(stamp, request_has_the_layout_of_rfc_8762)
{
	struct stamp_request request = {0x01020304, moment, {true, STAMP_NTP, 5, 9}, 0xabcd};
	uint32_t seconds = (uint32_t)(INT64_C(1795188663) + INT64_C(2208988800));
	uint8_t bytes[STAMP_BYTES];
	uint8_t expected[STAMP_BYTES] = {1, 2, 3,    4, seconds >> 24, seconds >> 16, seconds >> 8, seconds, 0x80, 0,
					 0, 0, 0x85, 9, 0xab,          0xcd};

	stamp_write_request(&request, bytes);
	cr_assert_arr_eq(bytes, expected, STAMP_BYTES);
	request.error.format = STAMP_PTP;
	stamp_write_request(&request, bytes);
	cr_assert_eq(bytes[12], 0xc5, "the Z bit says PTP");
	cr_assert_eq(bytes[7], (uint8_t)1795188663);
	cr_assert_eq((uint32_t)bytes[8] << 24 | bytes[9] << 16 | bytes[10] << 8 | bytes[11], 500000000U);
}

Test(stamp, reply_has_the_layout_of_rfc_8762)
{
	struct stamp_reply reply = {.sequence = 7,
				    .sent_at = moment,
				    .error = {false, STAMP_PTP, 0, 1},
				    .session = 0x1234,
				    .received_at = moment,
				    .request_sequence = 0x0a0b0c0d,
				    .request_sent_at = moment,
				    .request_error = {true, STAMP_NTP, 2, 3},
				    .request_ttl = 254};
	uint8_t bytes[STAMP_BYTES];

	stamp_write_reply(&reply, bytes);
	cr_assert_eq(bytes[3], 7);
	cr_assert_eq(bytes[12], 0x40);
	cr_assert_eq(bytes[14] << 8 | bytes[15], 0x1234);
	cr_assert_eq(memcmp(bytes + 4, bytes + 16, 8), 0, "t3 and t2 in one format");
	cr_assert_eq(bytes[24], 0x0a);
	cr_assert_eq(bytes[36], 0x82);
	cr_assert_eq(bytes[37], 3);
	cr_assert_eq(bytes[38] | bytes[39], 0, "must be zero");
	cr_assert_eq(bytes[40], 254);
	cr_assert_eq(bytes[41] | bytes[42] | bytes[43], 0, "must be zero");
}

Test(stamp, what_is_written_reads_back_to_the_nanosecond)
{
	struct rng rng;
	uint8_t bytes[STAMP_BYTES];

	rng_seed(&rng, 11);
	for (int i = 0; i < 20000; i++) {
		struct stamp_reply in = {.sequence = (uint32_t)rng_next(&rng),
					 .sent_at = {(int64_t)rng_below(&rng, UINT64_C(4000000000) * NS_PER_S)},
					 .error = {i & 1, i & 2 ? STAMP_NTP : STAMP_PTP, i % 64, 1 + i % 255},
					 .session = (uint16_t)i,
					 .received_at = {(int64_t)rng_below(&rng, UINT64_C(4000000000) * NS_PER_S)},
					 .request_sequence = (uint32_t)rng_next(&rng),
					 .request_sent_at = {(int64_t)rng_below(&rng, UINT64_C(4000000000) * NS_PER_S)},
					 .request_error = {i & 4, i & 8 ? STAMP_NTP : STAMP_PTP, 63, 255},
					 .request_ttl = (uint8_t)i};
		struct stamp_reply out;

		if (in.sent_at.v < INT64_C(1100000000) * NS_PER_S ||
		    in.received_at.v < INT64_C(1100000000) * NS_PER_S ||
		    in.request_sent_at.v < INT64_C(1100000000) * NS_PER_S)
			continue; /* before the NTP era that can be represented */
		stamp_write_reply(&in, bytes);
		cr_assert_eq(stamp_read_reply(bytes, sizeof bytes, &out), 0);
		cr_assert(in.sequence == out.sequence && in.request_sequence == out.request_sequence &&
			  in.session == out.session && in.request_ttl == out.request_ttl);
		cr_assert_eq(in.sent_at.v, out.sent_at.v);
		cr_assert_eq(in.received_at.v, out.received_at.v);
		cr_assert_eq(in.request_sent_at.v, out.request_sent_at.v);
		cr_assert(out.error.scale == in.error.scale && out.error.multiplier == in.error.multiplier);
	}
}

Test(stamp, times_at_the_edges_of_seconds_and_eras)
{
	static const int64_t moments_ns[] = {-500000000,
					     -1,
					     0,
					     999999999,
					     INT64_C(2085978495999999999),
					     INT64_C(2085978496000000000)}; /* on both sides of an NTP era's end */
	uint8_t bytes[STAMP_BYTES];

	for (size_t i = 0; i < sizeof moments_ns / sizeof moments_ns[0]; i++) {
		struct stamp_request request = {1, {moments_ns[i]}, {false, STAMP_NTP, 0, 1}, 0}, out;

		stamp_write_request(&request, bytes);
		cr_assert_eq(stamp_read_request(bytes, STAMP_BYTES, &out), 0);
		cr_expect_eq(out.sent_at.v, moments_ns[i], "%lld, not %lld", (long long)out.sent_at.v,
			     (long long)moments_ns[i]);
		/* The largest fraction of a second must not be rounded up to the next second. */
		memset(bytes + 8, 0xff, 4);
		cr_assert_eq(stamp_read_request(bytes, STAMP_BYTES, &out), 0);
		cr_expect_eq(((out.sent_at.v % NS_PER_S) + NS_PER_S) % NS_PER_S, 999999999);
	}
}

Test(stamp, broken_packets_are_refused)
{
	struct stamp_request request = {1, moment, {false, STAMP_PTP, 0, 1}, 0};
	struct stamp_reply reply;
	uint8_t bytes[STAMP_BYTES];

	stamp_write_request(&request, bytes);
	cr_assert_eq(stamp_read_request(bytes, STAMP_REQUEST_MINIMUM, &request), 0, "TWAMP's shortest");
	cr_assert(request.twamp);
	cr_assert_eq(stamp_read_request(bytes, STAMP_REQUEST_MINIMUM - 1, &request), -EBADMSG);
	bytes[13] = 0;
	cr_assert_eq(stamp_read_request(bytes, STAMP_BYTES, &request), -EBADMSG, "multiplier 0");
	bytes[13] = 1;
	memset(bytes + 8, 0xff, 4);
	cr_assert_eq(stamp_read_request(bytes, STAMP_BYTES, &request), -EBADMSG, "nanoseconds over a second");
	memset(bytes, 0, sizeof bytes);
	cr_assert_eq(stamp_read_reply(bytes, STAMP_BYTES, &reply), -EBADMSG);
}

/* Answers of a plain TWAMP reflector have 41 bytes; some omit the TTL. */
Test(stamp, short_answers_are_read)
{
	struct stamp_reply reply = {.sequence = 3,
				    .sent_at = moment,
				    .error = {false, STAMP_NTP, 0, 1},
				    .received_at = moment,
				    .request_sequence = 7,
				    .request_sent_at = moment,
				    .request_error = {false, STAMP_NTP, 0, 1},
				    .request_ttl = 63};
	uint8_t bytes[STAMP_BYTES];

	stamp_write_reply(&reply, bytes);
	cr_assert_eq(stamp_read_reply(bytes, 41, &reply), 0);
	cr_assert(reply.request_sequence == 7 && reply.request_ttl == 63);
	cr_assert_eq(stamp_read_reply(bytes, STAMP_REPLY_MINIMUM, &reply), 0);
	cr_assert_eq(reply.request_ttl, 0);
	cr_assert_eq(stamp_read_reply(bytes, STAMP_REPLY_MINIMUM - 1, &reply), -EBADMSG);
}

Test(stamp, error_estimates_round_up_and_stay_close)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (int i = 0; i < 20000; i++) {
		struct ns error = {(int64_t)(rng_next(&rng) >> (1 + rng_below(&rng, 62)))};
		struct stamp_error_estimate estimate = stamp_error_from_ns(error, false, STAMP_PTP);
		struct ns back = stamp_error_to_ns(estimate);

		cr_assert_gt(estimate.multiplier, 0);
		if (error.v < (INT64_C(1) << 31) * NS_PER_S) {
			cr_assert(back.v >= error.v - 1, "%ld became %ld", error.v, back.v);
			cr_assert(back.v <= error.v + error.v / 64 + 1, "%ld became %ld", error.v, back.v);
		}
	}
	cr_assert_eq(stamp_error_to_ns((struct stamp_error_estimate){0, 0, 3, 0}).v, INT64_MAX);
	cr_assert_eq(stamp_error_to_ns((struct stamp_error_estimate){0, 0, 32, 1}).v, NS_PER_S);
}

/* RFC 4656 section 4.1.2 in floating point: a product of 38 bits times a power of two is exact. */
Test(stamp, every_error_estimate_is_its_formula_rounded_down)
{
	for (int scale = 0; scale < 64; scale++)
		for (int multiplier = 1; multiplier < 256; multiplier++) {
			double ns = floor(ldexp(multiplier * (double)NS_PER_S, scale - 32));
			struct stamp_error_estimate estimate = {0, 0, (uint8_t)scale, (uint8_t)multiplier};

			cr_assert_eq(stamp_error_to_ns(estimate).v, ns >= 0x1p63 ? INT64_MAX : (int64_t)ns, "%d * 2^%d",
				     multiplier, scale - 32);
		}
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <probe/rtt/reflector.h>

static const struct stamp_error_estimate estimate = {false, STAMP_PTP, 4, 7};

/* One request from a sender; gives back the answer as it would go out. */
static struct stamp_reply ask(struct reflector *reflector, uint32_t address, uint16_t port, uint16_t session,
			      uint32_t sequence)
{
	struct stamp_request request = {sequence, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, session};
	uint8_t payload[STAMP_BYTES + 4] = {0};
	struct frame frame = {.kind = FRAME_UDP, .source_address = address, .source_port = port, .ttl = 61};
	struct stamp_reply prepared, answer;

	stamp_write_request(&request, payload);
	payload[STAMP_BYTES + 1] = 200; /* a TLV that nobody knows */
	frame.payload = payload;
	frame.payload_bytes = sizeof payload;
	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){INT64_C(1795188663000005000)}, estimate, payload,
				       &prepared),
		     0);
	reflector_finish(&prepared, (struct ns){INT64_C(1795188663000006000)}, payload);
	cr_assert_eq(stamp_read_reply(payload, sizeof payload, &answer), 0);
	cr_assert_eq(payload[STAMP_BYTES], 0x80);
	return answer;
}

Test(reflector, answers_what_was_asked)
{
	struct reflector *reflector = reflector_create(16);
	struct stamp_reply answer = ask(reflector, 1, 50000, 9, 1234);

	cr_assert_eq(answer.request_sequence, 1234);
	cr_assert_eq(answer.request_sent_at.v, INT64_C(1795188663000000001));
	cr_assert_eq(answer.received_at.v, INT64_C(1795188663000005000));
	cr_assert_eq(answer.sent_at.v, INT64_C(1795188663000006000));
	cr_assert_eq(answer.session, 9);
	cr_assert_eq(answer.request_ttl, 61);
	cr_assert_eq(answer.request_error.format, STAMP_NTP);
	cr_assert_eq(answer.error.multiplier, 7);
	reflector_destroy(reflector);
}

Test(reflector, counts_each_session_apart)
{
	struct reflector *reflector = reflector_create(64);

	for (uint32_t i = 0; i < 5; i++) {
		cr_assert_eq(ask(reflector, 1, 50000, 9, 100 + i).sequence, i);
		cr_assert_eq(ask(reflector, 1, 50001, 9, 200 + i).sequence, i);
		cr_assert_eq(ask(reflector, 2, 50000, 9, 300 + i).sequence, i);
		cr_assert_eq(ask(reflector, 1, 50000, 8, 400 + i).sequence, i);
	}
	cr_assert_eq(reflector_counters(reflector).sessions, 4);
	cr_assert_eq(reflector_counters(reflector).answered, 20);
	reflector_destroy(reflector);
}

Test(reflector, many_sessions_push_out_the_stalest_and_no_other)
{
	struct reflector *reflector = reflector_create(16);

	for (uint32_t round = 0; round < 200; round++) {
		ask(reflector, 1000 + round, 1, 1, 0);
		cr_assert_eq(ask(reflector, 7, 7, 7, round).sequence, round, "the busy session lost its count");
	}
	cr_assert_gt(reflector_counters(reflector).evicted, 0);
	reflector_destroy(reflector);
}

Test(reflector, does_not_answer_answers)
{
	struct reflector *reflector = reflector_create(16);
	struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 9};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.source_address = 1,
			      .source_port = 862,
			      .destination_port = 862,
			      .payload = payload,
			      .payload_bytes = sizeof payload};
	struct stamp_reply reply;

	stamp_write_request(&request, payload);
	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){5}, estimate, payload, &reply), 0,
		     "a sender may use the reflectors' port");
	reflector_finish(&reply, (struct ns){6}, payload);
	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){7}, estimate, payload, &reply), -EBADMSG);
	frame.source_port = 50000;
	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){7}, estimate, payload, &reply), 0,
		     "where it cannot loop, padding may be anything");
	reflector_destroy(reflector);
}

Test(reflector, refuses_what_is_no_request)
{
	struct reflector *reflector = reflector_create(1);
	uint8_t payload[STAMP_BYTES] = {0};
	struct frame frame = {.kind = FRAME_UDP, .payload = payload, .payload_bytes = sizeof payload};
	struct stamp_reply reply;

	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){0}, estimate, payload, &reply), -EBADMSG);
	cr_assert_eq(reflector_counters(reflector).malformed, 1);
	cr_assert_null(reflector_create(0));
	reflector_destroy(reflector);
}

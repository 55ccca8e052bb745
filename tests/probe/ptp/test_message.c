/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <string.h>

#include <probe/ptp/message.h>

/* IEEE 1588-2008 tables 18, 26 and 30, byte by byte. */
/* clang-format off */
static const uint8_t peer_response[] = {0x03, 0x02, 0x00, 0x36, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1b, 0x19, 0xff, 0xfe, 0x01, 0x02, 0x03, 0x00, 0x01, 0x00, 0x07, 0x05, 0x7f, 0x00, 0x00, 0x65, 0x53, 0xf1, 0x00, 0x07, 0x5b, 0xcd, 0x15, 0x02, 0x6d, 0x00, 0xff, 0xfe, 0x00, 0x01, 0x01, 0x4e, 0x4d};
static const uint8_t follow_up[] = {0x08, 0x02, 0x00, 0x2c, 0x00, 0x00, 0x02, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1b, 0x19, 0xff, 0xfe, 0x01, 0x02, 0x03, 0x00, 0x01, 0x00, 0x09, 0x05, 0x7f, 0x00, 0x00, 0x65, 0x53, 0xf1, 0x01, 0x00, 0x00, 0x00, 0x05};
/* clang-format on */

Test(ptp_message, peer_response)
{
	static const struct ptp_identity us = {{0x02, 0x6d, 0x00, 0xff, 0xfe, 0x00, 0x01, 0x01}, 0x4e4d};
	struct ptp_message message;

	cr_assert_eq(ptp_read(peer_response, sizeof peer_response, &message), 0);
	cr_assert_eq(message.type, PTP_PEER_RESPONSE);
	cr_assert(message.two_step);
	cr_assert_eq(message.sequence, 7);
	cr_assert_eq(message.correction.v, 5);
	cr_assert_eq(message.stamp.v, INT64_C(1700000000123456789));
	cr_assert_eq(message.from.port, 1);
	cr_assert(ptp_same_identity(&message.to, &us));
	cr_assert_not(ptp_same_identity(&message.from, &us));
}

Test(ptp_message, follow_up_with_a_negative_correction)
{
	struct ptp_message message;

	cr_assert_eq(ptp_read(follow_up, sizeof follow_up, &message), 0);
	cr_assert_eq(message.type, PTP_FOLLOW_UP);
	cr_assert_eq(message.correction.v, -3);
	cr_assert_eq(message.stamp.v, INT64_C(1700000001000000005));
}

Test(ptp_message, a_request_reads_as_it_was_written)
{
	static const enum ptp_type types[] = {PTP_DELAY_REQUEST, PTP_PEER_REQUEST};

	for (size_t i = 0; i < 2; i++) {
		struct ptp_message request = {
			.type = types[i], .domain = 3, .sequence = 65535, .from = {{1, 2, 3, 4, 5, 6, 7, 8}, 513}};
		struct ptp_message again;
		uint8_t bytes[PTP_MESSAGE_BYTES];
		size_t length = ptp_write_request(&request, bytes);

		cr_assert_eq(length, types[i] == PTP_PEER_REQUEST ? 54 : 44);
		cr_assert_eq(ptp_read(bytes, length, &again), 0);
		cr_assert_eq(again.type, request.type);
		cr_assert_eq(again.domain, 3);
		cr_assert_eq(again.sequence, 65535);
		cr_assert(ptp_same_identity(&again.from, &request.from));
	}
}

static void refuse(size_t at, uint8_t value, const char *why)
{
	uint8_t bytes[sizeof peer_response];
	struct ptp_message message;

	memcpy(bytes, peer_response, sizeof bytes);
	bytes[at] = value;
	cr_assert_lt(ptp_read(bytes, sizeof bytes, &message), 0, "%s", why);
}

Test(ptp_message, bad_ones)
{
	struct ptp_message message;

	for (size_t length = 0; length < sizeof peer_response; length++)
		cr_assert_lt(ptp_read(peer_response, length, &message), 0, "%zu bytes", length);
	refuse(1, 1, "PTPv1");
	refuse(0, 4, "an unknown type");
	refuse(3, 53, "a length without the requester");
	refuse(3, 55, "a length beyond the packet");
	refuse(40, 0x3c, "more than a second of nanoseconds");
	refuse(34, 0x7f, "a year that 64 bits of nanoseconds do not hold");
}

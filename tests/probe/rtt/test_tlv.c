/* SPDX-License-Identifier: BSD-3-Clause */
/* The flags of RFC 8972 section 4 on hand-made packets, and the content of each TLV. */
#include <criterion/criterion.h>

#include <string.h>

#include <probe/rtt/tlv.h>

static const struct stamp_key key = {.session = 7, .bytes = "sixteen bytes !!", .length = 16};
static const struct frame request = {.source_address = 0x0a000002,
				     .destination_address = 0x0a000001,
				     .source_port = 50000,
				     .destination_port = 862,
				     .source_mac = {2, 0, 0, 0, 0, 2},
				     .dscp = 0x2e,
				     .ecn = 1};
static const struct tlv_facts facts = {.request = &request,
				       .request_sequence = 3,
				       .answer_sequence = 4,
				       .received = 5,
				       .sent = 6,
				       .clock = TLV_CLOCK_FREE,
				       .follow_up = true,
				       .follow_up_sequence = 2,
				       .follow_up_at = {INT64_C(1795188663000005000)},
				       .format = STAMP_PTP,
				       .member = 7};

/* Bytes received and bytes returned. */
static const struct {
	const char *name;
	uint8_t length, in[32], out[32];
	int dscp;
} table[] = {
	{"padding", 6, {0x80, 1, 0, 2, 9, 9}, {0, 1, 0, 2, 9, 9}, -1},
	{"an unknown type", 4, {0x80, 77, 0, 0}, {0x80, 77, 0, 0}, -1},
	{"padding, an unknown type, one that is cut",
	 15,
	 {0, 1, 0, 2, 9, 9, 0, 77, 0, 0, 0, 78, 0, 9, 1},
	 {0, 1, 0, 2, 9, 9, 0x80, 77, 0, 0, 0xc0, 78, 0, 9, 1},
	 -1},
	{"flags of the sender do not stay", 4, {0x60, 1, 0, 0}, {0, 1, 0, 0}, -1},
	{"reserved flags do not stay", 4, {0x9f, 1, 0, 0}, {0, 1, 0, 0}, -1},
	{"a class", 8, {0x80, 4, 0, 4, 0x28, 0, 0, 0}, {0, 4, 0, 4, 0x2a, 0xe4, 0, 0}, 10},
	{"a class of another length", 7, {0x80, 4, 0, 3, 0x28, 0, 0}, {0x40, 4, 0, 3, 0x28, 0, 0}, -1},
	{"nothing behind a malformed one is looked at",
	 12,
	 {0x80, 3, 0, 0, 0x80, 3, 0, 4, 0, 0, 0, 0},
	 {0x40, 3, 0, 0, 0x80, 3, 0, 4, 0, 0, 0, 0},
	 -1},
	{"timestamps", 8, {0x80, 3, 0, 4, 0, 0, 0, 0}, {0, 3, 0, 4, 5, 2, 5, 2}, -1},
	{"direct measurement",
	 16,
	 {0x80, 5, 0, 12, 0, 0, 0, 9, 1, 1, 1, 1, 1, 1, 1, 1},
	 {0, 5, 0, 12, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 6},
	 -1},
	{"follow-up telemetry",
	 20,
	 {0x80, 7, 0, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	 {0, 7, 0, 16, 0, 0, 0, 2, 0x6b, 0x00, 0x67, 0xb7, 0, 0, 0x13, 0x88, 2, 0, 0, 0},
	 -1},
	{"follow-up telemetry of another length is emptied",
	 18,
	 {0x80, 7, 0, 14, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	 {0x40, 7, 0, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1},
	 -1},
	{"our own destination", 8, {0x80, 9, 0, 4, 10, 0, 0, 1}, {0, 9, 0, 4, 10, 0, 0, 1}, -1},
	{"another destination", 8, {0x80, 9, 0, 4, 10, 0, 0, 9}, {0x80, 9, 0, 4, 10, 0, 0, 9}, -1},
	{"a destination of 5 bytes", 9, {0x80, 9, 0, 5, 10, 0, 0, 1, 0}, {0x40, 9, 0, 5, 10, 0, 0, 1, 0}, -1},
	{"a location's ports and MAC",
	 20,
	 {0x80, 2, 0, 16, 0, 0, 0, 0, 0x80, 1, 0, 8, 9, 9, 9, 9, 9, 9, 9, 9},
	 {0, 2, 0, 16, 0x03, 0x5e, 0xc3, 0x50, 0, 2, 0, 8, 2, 0, 0, 0, 0, 2, 0, 0},
	 -1},
	{"a location's destination",
	 28,
	 {0x80, 2, 0, 24, 0, 0, 0, 0, 0x80, 4, 0, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9},
	 {0, 2, 0, 24, 0x03, 0x5e, 0xc3, 0x50, 0, 5, 0, 16, 10, 0, 0, 1},
	 -1},
	{"a location's source",
	 28,
	 {0x80, 2, 0, 24, 0, 0, 0, 0, 0x80, 7, 0, 16, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9},
	 {0, 2, 0, 24, 0x03, 0x5e, 0xc3, 0x50, 0, 8, 0, 16, 10, 0, 0, 2},
	 -1},
	{"a sub-TLV of another length, an unknown one",
	 17,
	 {0x80, 2, 0, 13, 0, 0, 0, 0, 0x80, 99, 0, 0, 0x80, 7, 0, 1, 0},
	 {0, 2, 0, 13, 0x03, 0x5e, 0xc3, 0x50, 0x80, 99, 0, 0, 0x40, 7, 0, 1, 0},
	 -1},
	{"a location without its ports", 6, {0x80, 2, 0, 2, 0, 0}, {0x40, 2, 0, 2, 0, 0}, -1},
	{"the member link is named", 8, {0x80, 11, 0, 4, 0, 3, 0, 0}, {0, 11, 0, 4, 0, 3, 0, 7}, -1},
	{"a member link of 3 bytes", 7, {0x80, 11, 0, 3, 0, 3, 0}, {0x40, 11, 0, 3, 0, 3, 0}, -1},
	{"an HMAC without a key", 20, {0x80, 8, 0, 16}, {0x80, 8, 0, 16}, -1},
	{"less than a header", 3, {0x80, 1, 0}, {0x80, 1, 0}, -1},
};

Test(tlv, flags_and_answers_of_a_table)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		uint8_t bytes[32];

		memcpy(bytes, table[i].in, sizeof bytes);
		cr_assert_eq(tlv_answer(&facts, bytes, table[i].length), table[i].dscp, "%s", table[i].name);
		for (size_t at = 0; at < sizeof bytes; at++)
			cr_assert_eq(bytes[at], table[i].out[at], "%s: byte %zu is %02x", table[i].name, at, bytes[at]);
	}
}

/* RFC 9534 section 3.2: sender's and reflector's links; 0 = not known yet. */
Test(tlv, a_request_for_another_member_link_is_recognised)
{
	uint8_t bytes[] = {0x80, 4, 0, 4, 0, 0, 0, 0, 0x80, 11, 0, 4, 0, 3, 0, 7};

	cr_assert(tlv_is_for_member(7, bytes, sizeof bytes));
	cr_assert(!tlv_is_for_member(8, bytes, sizeof bytes));
	cr_assert(tlv_is_for_member(8, bytes, 8), "says nothing of links");
	cr_assert(tlv_is_for_member(8, bytes, sizeof bytes - 1), "cut: for tlv_answer() to flag");
	bytes[15] = 0;
	cr_assert(tlv_is_for_member(8, bytes, sizeof bytes));
}

Test(tlv, a_reflector_of_no_group_does_not_understand_member_links)
{
	uint8_t bytes[] = {0x80, 11, 0, 4, 0, 3, 0, 0};
	struct tlv_facts alone = facts;

	alone.member = 0;
	cr_assert_eq(tlv_answer(&alone, bytes, sizeof bytes), -1);
	cr_assert(bytes[0] == TLV_UNRECOGNISED && bytes[7] == 0);
}

Test(tlv, integrity_fails_where_the_hmac_is_wrong_missing_or_misplaced)
{
	struct tlv_request wanted = {.wanted = 1 << TLV_TIMESTAMP, .key = &key, .sequence = 3, .padding = 6};
	struct tlv_facts authenticated = facts;
	uint8_t bytes[64], whole[64] = {0};
	size_t length = tlv_request_bytes(&wanted);

	authenticated.key = &key;
	authenticated.authenticated = true;
	cr_assert_eq(length, 8 + 20 + 6);
	tlv_write_request(&wanted, whole);
	memcpy(bytes, whole, sizeof bytes);
	tlv_answer(&authenticated, bytes, length);
	cr_assert(bytes[0] == 0 && bytes[8] == 0 && bytes[28] == 0, "it is right");
	for (size_t at = 4; at < 28; at += at == 7 ? 5 : 1) {
		memcpy(bytes, whole, sizeof bytes);
		bytes[at] ^= 4;
		tlv_answer(&authenticated, bytes, length);
		cr_assert(bytes[0] == 0x20 && bytes[8] == 0x20 && bytes[28] == 0x20 && bytes[5] == (at == 5 ? 4 : 0),
			  "%zu", at);
	}
	memcpy(bytes, whole, sizeof bytes);
	authenticated.request_sequence = 9;
	tlv_answer(&authenticated, bytes, length);
	cr_assert_eq(bytes[0], 0x20, "that of another packet");
	memcpy(bytes, whole, sizeof bytes);
	tlv_answer(&authenticated, bytes, 8);
	cr_assert_eq(bytes[0], 0x20, "none");
	memcpy(bytes, whole + 28, 6);
	tlv_answer(&authenticated, bytes, 6);
	cr_assert_eq(bytes[0], 0, "padding alone needs none");
	memcpy(bytes, whole + 8, 20);
	memcpy(bytes + 20, whole, 8);
	tlv_answer(&authenticated, bytes, 28);
	cr_assert(bytes[0] == 0x20 && bytes[20] == 0x20, "another one behind it");
}

Test(tlv, what_is_asked_is_answered_and_read)
{
	for (int six = 0; six < 2; six++) {
		const ip_address prefix = six ? (ip_address)0x20010db8 << 96 : 0;
		struct frame frame = request;
		struct tlv_facts known = facts;
		struct tlv_request wanted = {.wanted = 0x2be, .key = &key, .sequence = 3, .dscp = 10, .sent = 9};
		struct tlv_reading reading;
		uint8_t bytes[256];
		size_t length;

		frame.source_address |= prefix;
		frame.destination_address |= prefix;
		known.request = &frame;
		known.key = &key;
		known.authenticated = true;
		wanted.destination = frame.destination_address;
		length = tlv_request_bytes(&wanted);
		cr_assert_leq(length, sizeof bytes);
		tlv_write_request(&wanted, bytes);
		cr_assert_eq(tlv_answer(&known, bytes, length), 10);
		tlv_read(&key, 4, STAMP_PTP, bytes, length, &reading);
		cr_assert(!reading.bad_hmac && reading.flagged == 0);
		cr_assert_eq(reading.filled, 0x3bc, "%x", reading.filled);
		cr_assert(reading.source == frame.source_address && reading.destination == frame.destination_address);
		cr_assert(reading.source_port == 50000 && reading.destination_port == 862 && reading.has_mac);
		cr_assert_arr_eq(reading.source_mac, request.source_mac, FRAME_MAC_BYTES);
		cr_assert(reading.dscp == 0x2e && reading.ecn == 1 && !reading.class_refused);
		cr_assert(reading.sent == 9 && reading.received == 5 && reading.answered == 6);
		cr_assert(reading.clock_in == 5 && reading.method_out == 2);
		cr_assert(reading.follow_up_sequence == 2 && reading.follow_up_at.v == facts.follow_up_at.v);
		bytes[length - 1] ^= 1;
		tlv_read(&key, 4, STAMP_PTP, bytes, length, &reading);
		cr_assert(reading.bad_hmac && reading.sent == 0);
	}
}

/* Ports, MAC, destination and source: 4 + (4 + 8) + 2 * (4 + 16) bytes. */
Test(tlv, a_location_is_asked_for)
{
	const struct tlv_request wanted = {.wanted = 1 << TLV_LOCATION};
	const uint8_t expected[60] = {
		0x80, 2, 0, 56, [8] = 0x80, 1, 0, 8, [20] = 0x80, 4, 0, 16, [40] = 0x80, 7, 0, 16};
	uint8_t bytes[60];

	cr_assert_eq(tlv_request_bytes(&wanted), 60);
	tlv_write_request(&wanted, bytes);
	cr_assert_arr_eq(bytes, expected, 60);
}

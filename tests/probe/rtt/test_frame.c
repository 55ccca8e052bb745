/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <base/rng.h>
#include <probe/rtt/frame.h>

static struct frame read_frame(const uint8_t *bytes, size_t captured, size_t length)
{
	struct frame frame;

	frame_read(bytes, captured, length, &frame);
	return frame;
}

static size_t sample(uint8_t *bytes, size_t capacity, const void *payload, size_t length)
{
	struct frame frame = {.source_mac = {2, 0, 0, 0, 0, 1},
			      .destination_mac = {2, 0, 0, 0, 0, 2},
			      .source_address = 0x0a000001,
			      .destination_address = 0x0a000002,
			      .source_port = 50000,
			      .destination_port = 862,
			      .dscp = 46,
			      .payload = payload,
			      .payload_bytes = length};

	return frame_write_udp(&frame, bytes, capacity);
}

Test(frame, known_checksums)
{
	/* Computed by another program after RFC 1071 and RFC 768. */
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "abcde", 5);

	cr_assert_eq(length, FRAME_MINIMUM);
	cr_assert_eq(bytes[24] << 8 | bytes[25], 0x6711, "IPv4 header, found %02x%02x", bytes[24], bytes[25]);
	cr_assert_eq(bytes[40] << 8 | bytes[41], 0xfb5b, "UDP, found %02x%02x", bytes[40], bytes[41]);
}

/* RFC 1071 section 4.1, 16 bits at a time, over the pseudo-header and the datagram of an IPv4 frame. */
static uint16_t plain_sum(const uint8_t *bytes, size_t datagram)
{
	uint32_t sum = 17 + (uint32_t)datagram;

	for (size_t i = 26; i < 42 + datagram - 8; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Bytes of 0xff and 0 make all carries and none. */
Test(frame, checksums_of_every_length_are_those_of_the_plain_sum)
{
	uint8_t bytes[256], payload[130];
	struct rng rng;

	rng_seed(&rng, 2);
	for (size_t length = 0; length <= sizeof payload; length++)
		for (int kind = 0; kind < 4; kind++) {
			for (size_t i = 0; i < length; i++)
				payload[i] = (uint8_t)(kind == 0   ? 0
						       : kind == 1 ? 0xff
						       : kind == 2 ? -(int)rng_below(&rng, 2)
								   : (int)rng_below(&rng, 256));
			cr_assert_gt(sample(bytes, sizeof bytes, payload, length), 0);
			cr_assert_eq(plain_sum(bytes, length + 8), 0xffff, "%zu bytes of kind %d", length, kind);
		}
}

Test(frame, written_frames_read_back)
{
	uint8_t bytes[2048], payload[1400];
	struct rng rng;

	rng_seed(&rng, 1);
	for (size_t length = 0; length < sizeof payload; length += 13) {
		struct frame frame;
		size_t written;

		for (size_t i = 0; i < length; i++)
			payload[i] = (uint8_t)rng_next(&rng);
		written = sample(bytes, sizeof bytes, payload, length);
		frame = read_frame(bytes, written, written);
		cr_assert_eq(frame.kind, FRAME_UDP);
		cr_assert(!frame.unchecked);
		cr_assert_eq(frame.payload_bytes, length);
		cr_assert_eq(memcmp(frame.payload, payload, length), 0);
		cr_assert(frame.source_address == 0x0a000001 && frame.destination_port == 862 && frame.ttl == 255 &&
			  frame.dscp == 46);
	}
}

Test(frame, every_flipped_bit_of_headers_and_payload_is_noticed)
{
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "0123456789abcdefghijklmnopqrstuvwxyz", 36);

	for (size_t bit = 14 * 8; bit < length * 8; bit++) {
		struct frame frame;

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		frame = read_frame(bytes, length, length);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_neq(frame.kind, FRAME_UDP, "bit %zu of byte %zu", bit % 8, bit / 8);
	}
}

Test(frame, cut_frames_are_broken_and_captures_may_be_short)
{
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "0123456789abcdefghijklmnopqrstuvwxyz", 36);

	for (size_t cut = 0; cut < length; cut++)
		cr_assert_neq(read_frame(bytes, cut, cut).kind, FRAME_UDP, "%zu bytes", cut);
	for (size_t cut = 42; cut < length; cut++) {
		struct frame frame = read_frame(bytes, cut, length);

		cr_assert_eq(frame.kind, FRAME_UDP, "captured %zu", cut);
		cr_assert(frame.unchecked);
		cr_assert_eq(frame.payload_bytes, cut - 42);
	}
}

/* Sets the header's flags and fragment offset, and corrects the checksum (RFC 1624). */
static void set_fragment(uint8_t *bytes, uint16_t value)
{
	uint32_t sum =
		(uint16_t) ~(bytes[24] << 8 | bytes[25]) + (uint32_t)(uint16_t) ~(bytes[20] << 8 | bytes[21]) + value;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	bytes[20] = (uint8_t)(value >> 8);
	bytes[21] = (uint8_t)value;
	bytes[24] = (uint8_t)(~sum >> 8);
	bytes[25] = (uint8_t)~sum;
}

Test(frame, fragments_are_no_probes)
{
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "0123456789abcdefghijklmnopqrstuvwxyz", 36);

	set_fragment(bytes, 0);
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_UDP, "whole, and may be fragmented");
	set_fragment(bytes, 0x2000);
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_BROKEN, "the first of several");
	set_fragment(bytes, 0x0001);
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_BROKEN, "the last of several");
}

/*
 * A packet whose checksum the local sender's kernel left to the NIC: the field contains only the pseudo-header's sum.
 */
Test(frame, an_unfinished_checksum_is_told_from_a_wrong_one)
{
	/* 10.0.0.1 + 10.0.0.2 + protocol 17 + length 13, twice the words of RFC 768's pseudo-header */
	const uint16_t unfinished = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 17 + 13;
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "abcde", 5);
	struct frame frame;

	bytes[40] = (uint8_t)(unfinished >> 8);
	bytes[41] = (uint8_t)unfinished;
	frame = read_frame(bytes, length, length);
	cr_assert_eq(frame.kind, FRAME_BROKEN);
	cr_assert(frame.unfinished);
	cr_assert(frame.payload_bytes == 5 && frame.destination_port == 862);
	bytes[41]++;
	frame = read_frame(bytes, length, length);
	cr_assert(frame.kind == FRAME_BROKEN && !frame.unfinished);
}

Test(frame, tags_and_header_bits_are_written_and_read)
{
	struct frame frame = {.source_address = 1,
			      .destination_address = 2,
			      .source_port = 3,
			      .destination_port = 4,
			      .ttl = 5,
			      .dscp = 46,
			      .ecn = 2,
			      .may_fragment = true,
			      .tags = 2,
			      .tag = {{0x88a8, 7}, {FRAME_TAG_TYPE, 0xa005}},
			      .payload = (const uint8_t *)"hello, tagged world",
			      .payload_bytes = 19};
	uint8_t bytes[128];
	size_t length = frame_write_udp(&frame, bytes, sizeof bytes);

	cr_assert_eq(length, frame_headers(&frame) + 19);
	cr_assert_eq(memcmp(bytes + 12, (uint8_t[]){0x88, 0xa8, 0, 7, 0x81, 0, 0xa0, 5, 8, 0}, 10), 0);
	frame = read_frame(bytes, length, length);
	cr_assert_eq(frame.kind, FRAME_UDP);
	cr_assert(frame.tags == 2 && frame.tag[1].control == 0xa005);
	cr_assert(frame.ttl == 5 && frame.dscp == 46 && frame.ecn == 2 && frame.may_fragment);
	cr_assert_eq(memcmp(frame.payload, "hello, tagged world", 19), 0);
	for (size_t cut = 14; cut < 22; cut++)
		cr_assert_eq(read_frame(bytes, cut, cut).kind, FRAME_BROKEN, "%zu", cut);
}

Test(frame, arp_asks_and_answers)
{
	struct frame ask = {
		.kind = FRAME_WHO_HAS, .source_mac = {2, 0, 0, 0, 0, 1}, .source_address = 1, .destination_address = 2};
	uint8_t bytes[FRAME_NEIGHBOUR_BYTES];
	struct frame frame;

	cr_assert_eq(frame_write_neighbour(&ask, bytes, sizeof bytes), FRAME_MINIMUM);
	cr_assert_eq(frame_write_neighbour(&ask, bytes, sizeof bytes - 1), 0);
	frame = read_frame(bytes, FRAME_MINIMUM, FRAME_MINIMUM);
	cr_assert_eq(frame.kind, FRAME_WHO_HAS);
	cr_assert(frame.source_address == 1 && frame.destination_address == 2);
	cr_assert_eq(bytes[0] & bytes[5], 0xff, "asked by broadcast");
	cr_assert_arr_eq(frame.source_mac, ask.source_mac, FRAME_MAC_BYTES);
}

static ip_address six(const char *text)
{
	ip_address address;

	cr_assert_eq(address_parse(text, &address), 0);
	return address;
}

static struct frame ipv6_sample(void)
{
	return (struct frame){.source_mac = {2, 0, 0, 0, 0, 1},
			      .destination_mac = {2, 0, 0, 0, 0, 2},
			      .source_address = six("2001:db8::1"),
			      .destination_address = six("2001:db8::2"),
			      .source_port = 50000,
			      .destination_port = 862,
			      .dscp = 46,
			      .ecn = 1,
			      .payload = (const uint8_t *)"abcde",
			      .payload_bytes = 5};
}

Test(frame, ipv6_is_written_and_read)
{
	struct frame frame = ipv6_sample(), seen;
	uint8_t bytes[128];
	size_t length = frame_write_udp(&frame, bytes, sizeof bytes);

	cr_assert_eq(length, 14 + 40 + 8 + 5);
	cr_assert_eq(bytes[60] << 8 | bytes[61], 0xb3e9, "another program's checksum; found %02x%02x", bytes[60],
		     bytes[61]);
	seen = read_frame(bytes, length, length);
	cr_assert_eq(seen.kind, FRAME_UDP);
	cr_assert(seen.source_address == frame.source_address && seen.destination_address == frame.destination_address);
	cr_assert(seen.dscp == 46 && seen.ecn == 1 && seen.ttl == 255 && seen.payload_bytes == 5);
	for (size_t cut = 0; cut < length; cut++)
		cr_assert_neq(read_frame(bytes, cut, cut).kind, FRAME_UDP, "%zu bytes", cut);
	for (size_t bit = 21 * 8; bit < length * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		seen = read_frame(bytes, length, length);
		cr_assert(seen.kind != FRAME_UDP || bit / 8 == 21, "bit %zu of byte %zu", bit % 8, bit / 8);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	bytes[60] = bytes[61] = 0;
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_BROKEN, "IPv6 has no datagrams without a checksum");
}

Test(frame, ipv6_extension_headers_are_skipped_and_fragments_broken)
{
	struct frame frame = ipv6_sample();
	uint8_t bytes[128], longer[128];
	size_t length = frame_write_udp(&frame, bytes, sizeof bytes);

	memcpy(longer, bytes, 54);
	memcpy(longer + 54, (uint8_t[]){17, 0, 1, 4, 0, 0, 0, 0}, 8);
	memcpy(longer + 62, bytes + 54, length - 54);
	longer[20] = 60;
	longer[19] = (uint8_t)(longer[19] + 8);
	frame = read_frame(longer, length + 8, length + 8);
	cr_assert_eq(frame.kind, FRAME_UDP);
	cr_assert_eq(frame.payload_bytes, 5);
	longer[20] = 44;
	cr_assert_eq(read_frame(longer, length + 8, length + 8).kind, FRAME_BROKEN);
	longer[20] = 60;
	longer[55] = 200;
	cr_assert_eq(read_frame(longer, length + 8, length + 8).kind, FRAME_BROKEN, "longer than the packet");
}

Test(frame, neighbour_discovery_asks_and_answers)
{
	struct frame ask = ipv6_sample(), answer = ipv6_sample(), seen;
	uint8_t bytes[FRAME_NEIGHBOUR_BYTES];
	size_t length;

	ask.kind = FRAME_WHO_HAS;
	length = frame_write_neighbour(&ask, bytes, sizeof bytes);
	cr_assert_eq(length, 86);
	cr_assert_eq(frame_write_neighbour(&ask, bytes, sizeof bytes - 1), 0);
	cr_assert_eq(memcmp(bytes, (uint8_t[]){0x33, 0x33, 0xff, 0, 0, 2}, 6), 0, "the solicited-node group");
	seen = read_frame(bytes, length, length);
	cr_assert_eq(seen.kind, FRAME_WHO_HAS);
	cr_assert(seen.source_address == ask.source_address && seen.destination_address == ask.destination_address);
	cr_assert_arr_eq(seen.source_mac, ask.source_mac, FRAME_MAC_BYTES);
	bytes[21]--;
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_OTHER, "a router passed it on");
	answer.kind = FRAME_IS_AT;
	length = frame_write_neighbour(&answer, bytes, sizeof bytes);
	seen = read_frame(bytes, length, length);
	cr_assert_eq(seen.kind, FRAME_IS_AT);
	cr_assert(seen.source_address == answer.source_address);
	bytes[70]++;
	cr_assert_eq(read_frame(bytes, length, length).kind, FRAME_OTHER, "a wrong checksum");
}

Test(frame, a_template_gives_the_frames_that_are_written_whole)
{
	const ip_address six = (ip_address)0xfe80 << 112;
	struct frame_template template;
	uint8_t whole[2048], made[2048];
	struct rng rng;

	rng_seed(&rng, 3);
	for (int round = 0; round < 2000; round++) {
		struct frame frame = {.source_mac = {2, 0, 0, 0, 0, 1},
				      .destination_port = 862,
				      .ttl = (uint8_t)rng_below(&rng, 256),
				      .dscp = (uint8_t)rng_below(&rng, 64),
				      .ecn = (uint8_t)rng_below(&rng, 4),
				      .may_fragment = rng_below(&rng, 2),
				      .tags = (uint8_t)rng_below(&rng, 3),
				      .tag = {{FRAME_TAG_TYPE, 5}, {FRAME_TAG_TYPE, 6}},
				      .payload_bytes = rng_below(&rng, 3) ? 44 : rng_below(&rng, 1400)};
		bool is_six = rng_below(&rng, 2);
		size_t headers, length;

		memset(made, 0xee, sizeof made);
		frame.source_address = (is_six ? six : 0) | (uint32_t)rng_next(&rng);
		frame.destination_address = is_six ? six : 1;
		headers = frame_headers(&frame);
		frame_template_make(&frame, &template);
		for (int i = 0; i < FRAME_MAC_BYTES; i++)
			frame.destination_mac[i] = (uint8_t)rng_next(&rng);
		frame.destination_address |= (uint32_t)rng_next(&rng);
		frame.source_port = (uint16_t)rng_next(&rng);
		frame_template_copy(&template, made);
		for (size_t i = 0; i < frame.payload_bytes; i++)
			whole[headers + i] = made[headers + i] = (uint8_t)rng_next(&rng);
		frame.payload = whole + headers;
		length = frame_write_udp(&frame, whole, sizeof whole);
		cr_assert_eq(frame_template_finish(&template, frame.destination_mac, frame.destination_address,
						   frame.source_port, made),
			     length);
		cr_assert_eq(memcmp(made, whole, length), 0, "round %d", round);
	}
}

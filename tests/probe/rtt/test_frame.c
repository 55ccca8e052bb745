/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <base/rng.h>
#include <probe/rtt/frame.h>

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
		frame = frame_read(bytes, written, written);
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
		frame = frame_read(bytes, length, length);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_neq(frame.kind, FRAME_UDP, "bit %zu of byte %zu", bit % 8, bit / 8);
	}
}

Test(frame, cut_frames_are_broken_and_captures_may_be_short)
{
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "0123456789abcdefghijklmnopqrstuvwxyz", 36);

	for (size_t cut = 0; cut < length; cut++)
		cr_assert_neq(frame_read(bytes, cut, cut).kind, FRAME_UDP, "%zu bytes", cut);
	for (size_t cut = FRAME_UDP_HEADERS; cut < length; cut++) {
		struct frame frame = frame_read(bytes, cut, length);

		cr_assert_eq(frame.kind, FRAME_UDP, "captured %zu", cut);
		cr_assert(frame.unchecked);
		cr_assert_eq(frame.payload_bytes, cut - FRAME_UDP_HEADERS);
	}
}

/* Another value in the header's flags and fragment offset, with a checksum that fits (RFC 1624). */
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
	cr_assert_eq(frame_read(bytes, length, length).kind, FRAME_UDP, "whole, and may be fragmented");
	set_fragment(bytes, 0x2000);
	cr_assert_eq(frame_read(bytes, length, length).kind, FRAME_BROKEN, "the first of several");
	set_fragment(bytes, 0x0001);
	cr_assert_eq(frame_read(bytes, length, length).kind, FRAME_BROKEN, "the last of several");
}

/* What a local sender's kernel leaves to the NIC: the pseudo-header's sum in the checksum's place. */
Test(frame, an_unfinished_checksum_is_told_from_a_wrong_one)
{
	/* 10.0.0.1 + 10.0.0.2 + protocol 17 + length 13, twice the words of RFC 768's pseudo-header */
	const uint16_t unfinished = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 17 + 13;
	uint8_t bytes[128];
	size_t length = sample(bytes, sizeof bytes, "abcde", 5);
	struct frame frame;

	bytes[40] = (uint8_t)(unfinished >> 8);
	bytes[41] = (uint8_t)unfinished;
	frame = frame_read(bytes, length, length);
	cr_assert_eq(frame.kind, FRAME_BROKEN);
	cr_assert(frame.unfinished);
	cr_assert(frame.payload_bytes == 5 && frame.destination_port == 862);
	bytes[41]++;
	frame = frame_read(bytes, length, length);
	cr_assert(frame.kind == FRAME_BROKEN && !frame.unfinished);
}

Test(frame, vlan_tags_are_skipped)
{
	uint8_t bytes[128], tagged[132];
	size_t length = sample(bytes, sizeof bytes, "hello, tagged world", 19);
	struct frame frame;

	memcpy(tagged, bytes, 12);
	memcpy(tagged + 12, (uint8_t[]){0x81, 0, 0, 5}, 4);
	memcpy(tagged + 16, bytes + 12, length - 12);
	frame = frame_read(tagged, length + 4, length + 4);
	cr_assert_eq(frame.kind, FRAME_UDP);
	cr_assert_eq(frame.payload_bytes, 19);
}

Test(frame, arp_asks_and_answers)
{
	struct frame ask = {.kind = FRAME_ARP_REQUEST,
			    .source_mac = {2, 0, 0, 0, 0, 1},
			    .source_address = 1,
			    .destination_address = 2};
	uint8_t bytes[FRAME_ARP_BYTES];
	struct frame frame;

	cr_assert_eq(frame_write_arp(&ask, bytes, sizeof bytes), FRAME_ARP_BYTES);
	cr_assert_eq(frame_write_arp(&ask, bytes, sizeof bytes - 1), 0);
	frame = frame_read(bytes, sizeof bytes, sizeof bytes);
	cr_assert_eq(frame.kind, FRAME_ARP_REQUEST);
	cr_assert(frame.source_address == 1 && frame.destination_address == 2);
	cr_assert_eq(bytes[0] & bytes[5], 0xff, "asked by broadcast");
	cr_assert_arr_eq(frame.source_mac, ask.source_mac, FRAME_MAC_BYTES);
}

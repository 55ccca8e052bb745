/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <string.h>

#include "port_priv.h"

enum { ROOM = 2048, SIZE = 1000 };

/*
 * Headers of an Ethernet frame up to the payload. Lengths and checksums are left to the code under test: those here are
 * wrong, as those of the kernel are.
 */
static const uint8_t tcp4[] = {2,    0, 0,  0, 0,    2,    2,    0,  0,    0,    0,    1,    0x08, 0x00, /* Ethernet */
			       0x45, 0, 0,  0, 0xff, 0xff, 0x40, 0,  64,   6,    0xca, 0xfe, 10,   0,
			       0,    1, 10, 0, 0,    2,    0,    80, 0x10, 0,    0xff, 0xff, 0xff, 0,
			       0,    0, 0,  1, 0x50, 0x99, 1,    0,  0xbe, 0xef, 0,    0};
static const uint8_t udp6[] = {
	2,    0, 0, 0, 0, 2, 2,  0,  0,    0, 0, 1, 0x81, 0x00, 0, 7, 0x86, 0xdd, /* tagged */
	0x60, 0, 0, 0, 0, 0, 17, 64, 0xfd, 1, 0, 0, 0,    0,    0, 0, 0,    0,    0,    0, 0, 0, 0,    1,
	0xfd, 1, 0, 0, 0, 0, 0,  0,  0,    0, 0, 0, 0,    0,    0, 2, 0,    9,    0x10, 0, 0, 0, 0xbe, 0xef};

static uint32_t build(uint8_t *frame, const uint8_t *head, uint32_t head_bytes, uint32_t payload)
{
	memcpy(frame, head, head_bytes);
	for (uint32_t i = 0; i < payload; i++)
		frame[head_bytes + i] = (uint8_t)(i * 7 + i / 256);
	return head_bytes + payload;
}

/* A correct Internet checksum makes the sum over the data and itself all ones. */
static bool sums_up(const uint8_t *frame, uint32_t addresses, uint32_t address_bytes, uint32_t transport,
		    uint8_t protocol, uint32_t bytes)
{
	uint32_t length = bytes - transport;
	const uint8_t pseudo[] = {0, protocol, (uint8_t)(length >> 8), (uint8_t)length};
	uint32_t sum = segments_sum(frame + addresses, address_bytes, 0);

	sum = segments_sum(pseudo, sizeof pseudo, sum);
	return segments_fold(segments_sum(frame + transport, length, sum)) == 0xffff;
}

Test(segments, tcp_keeps_the_stream_and_its_flags)
{
	static uint8_t frame[4096], out[ROOM];
	uint32_t bytes = build(frame, tcp4, sizeof tcp4, 2501), sequence, count = 0, at = 0;
	struct segments segments;

	cr_assert(segments_begin(&segments, frame, bytes, SIZE, ROOM));
	for (; segments_left(&segments); count++) {
		uint16_t length = segments_next(&segments, out);
		uint32_t payload = length - (uint32_t)sizeof tcp4;

		cr_assert_eq(payload, count < 2 ? SIZE : 501);
		cr_assert_arr_eq(out + sizeof tcp4, frame + sizeof tcp4 + at, payload);
		cr_assert_eq(out[16] << 8 | out[17], length - 14);
		cr_assert_eq(out[18] << 8 | out[19], (0xffff + count) & 0xffff, "the identification goes on");
		memcpy(&sequence, out + 38, 4);
		cr_assert_eq(ntohl(sequence), 0xffffff00U + at, "modulo 2^32");
		cr_assert_eq(out[47], (count == 0 ? 0x80 : 0) | 0x10 | (count == 2 ? 0x09 : 0),
			     "CWR first, FIN and PSH last");
		cr_assert_eq(segments_fold(segments_sum(out + 14, 20, 0)), 0xffff);
		cr_assert(sums_up(out, 26, 8, 34, 6, length));
		at += payload;
	}
	cr_assert_eq(count, 3);
	cr_assert_eq(at, 2501);
}

Test(segments, udp_over_ipv6_keeps_its_tag)
{
	static uint8_t frame[4096], out[ROOM];
	uint32_t bytes = build(frame, udp6, sizeof udp6, 2000), count = 0;
	struct segments segments;

	cr_assert(segments_begin(&segments, frame, bytes, SIZE, ROOM));
	for (; segments_left(&segments); count++) {
		uint16_t length = segments_next(&segments, out);

		cr_assert_eq(length, sizeof udp6 + SIZE);
		cr_assert_arr_eq(out, udp6, 18);
		cr_assert_eq(out[22] << 8 | out[23], 8 + SIZE);
		cr_assert_eq(out[62] << 8 | out[63], 8 + SIZE);
		cr_assert(sums_up(out, 26, 32, 58, 17, length));
	}
	cr_assert_eq(count, 2);
}

Test(segments, what_cannot_be_cut_is_refused)
{
	static uint8_t frame[4096];
	uint32_t bytes = build(frame, tcp4, sizeof tcp4, 2000);
	struct segments segments;

	cr_assert(!segments_begin(&segments, frame, bytes, ROOM, ROOM), "larger than a buffer");
	cr_assert(!segments_begin(&segments, frame, bytes, 0, ROOM));
	for (uint32_t length = 0; length <= sizeof tcp4; length++)
		cr_assert(!segments_begin(&segments, frame, length, SIZE, ROOM), "%u", length);
	frame[23] = 47; /* GRE */
	cr_assert(!segments_begin(&segments, frame, bytes, SIZE, ROOM));
	cr_assert(!segments_left(&segments));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions on frames: what each reads, in frames of the least length that has it. */
#include <criterion/criterion.h>

#include <string.h>

#include "rule_priv.h"

#define MACS "\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
#define IPV4(protocol) "\x08\0\x45\xb8\0\x1c\0\0\0\0\x40" protocol "\0\0\x0a\0\0\x01\x0a\0\x01\x02"
#define LATER "\x08\0\x45\0\0\x1c\0\0\0\x01\x40\x11\0\0\x0a\0\0\x01\x0a\0\x01\x02"
#define IPV6(next)                                                                                                     \
	"\x86\xdd\x60\0\0\0\0\x10" next "\x40\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02"
#define PORTS "\x12\x34\x01\xbb" /* from 4660 to 443 */
#define HOP_BY_HOP_OF(next) next "\0\0\0\0\0\0\0"
#define FRAGMENT_OF(next, offset) next "\0" offset "\0\0\0\0"
#define FRAME(text) text, sizeof(text) - 1

static const struct row {
	const char *condition, *frame;
	size_t bytes;
	bool matches;
} rows[] = {
	{"proto:udp", FRAME(MACS IPV4("\x11")), true},
	{"proto:tcp", FRAME(MACS IPV4("\x11")), false},
	{"proto:udp", FRAME(MACS "\x08\0\x45\xb8\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\x01"),
	 false}, /* one byte less */
	{"port:4660", FRAME(MACS IPV4("\x11") PORTS), true},
	{"port:443", FRAME(MACS IPV4("\x11") PORTS), true},
	{"port:13313", FRAME(MACS IPV4("\x11") PORTS), false}, /* 0x3401: the two ports' middle */
	{"port:443", FRAME(MACS IPV4("\x11") "\x12\x34\x01"), false},
	{"port:443", FRAME(MACS IPV4("\x01") PORTS), false}, /* ICMP has none */
	{"port:443", FRAME(MACS LATER PORTS), false},
	{"dscp:46", FRAME(MACS IPV4("\x11")), true},
	{"host:10.0.1.2", FRAME(MACS IPV4("\x11")), true},
	{"host:10.0.1.3", FRAME(MACS IPV4("\x11")), false},
	{"vlan:7", FRAME(MACS "\x81\0\0\x07" IPV4("\x11")), true},
	{"vlan:7", FRAME(MACS "\x88\xa8\0\x08\x81\0\0\x07" IPV4("\x11")), false}, /* the outer tag counts */
	{"proto:udp", FRAME(MACS "\x88\xa8\0\x08\x81\0\0\x07" IPV4("\x11")), true},
	{"udp:443", FRAME(MACS IPV6("\x11") PORTS), true},
	{"proto:udp", FRAME(MACS IPV6("\0") HOP_BY_HOP_OF("\x11")), true}, /* nothing after the extension */
	{"udp:443", FRAME(MACS IPV6("\0") HOP_BY_HOP_OF("\x11") PORTS), true},
	{"udp:443", FRAME(MACS IPV6("\0") HOP_BY_HOP_OF("\x2c") FRAGMENT_OF("\x11", "\0\x01") PORTS), true},
	{"port:443", FRAME(MACS IPV6("\x2c") FRAGMENT_OF("\x11", "\0\x08") PORTS), false},
};

static const struct row *row; /* the frame of the packet */
static uint8_t bytes[128];

uint8_t *dp_packet_bytes(const struct dp_packet *packet)
{
	(void)packet;
	return bytes;
}

uint16_t dp_packet_contiguous(const struct dp_packet *packet)
{
	(void)packet;
	return (uint16_t)row->bytes;
}

Test(match, each_condition_reads_its_field)
{
	for (row = rows; row < rows + sizeof rows / sizeof *rows; row++) {
		struct match_list list = {0};
		const struct match_list *lists[] = {&list};
		struct dp_packet packet = {0};
		struct error err = {0};

		memset(bytes, 0xff, sizeof bytes);
		memcpy(bytes, row->frame, row->bytes);
		cr_assert_eq(match_parse("only", row->condition, &list, &err), 0, "%s", err.text);
		cr_assert_eq(match_first(lists, 1, &packet) == 0, row->matches, "row %td: %s", row - rows,
			     row->condition);
	}
}

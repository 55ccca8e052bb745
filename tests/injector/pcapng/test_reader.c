/* SPDX-License-Identifier: BSD-3-Clause */
/* The capture reader, on files built block by block. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <injector/pcapng/pcapng.h>

#include "made_file.h"

static int read_one(struct pcapng_packet *packet, struct error *err)
{
	struct pcapng_reader *reader = pcapng_open_memory("made", file, length, err);
	static uint8_t first_byte;
	int status = pcapng_next(reader, packet, err);

	if (status > 0) { /* the bytes remain valid as long as the reader exists */
		first_byte = packet->bytes[0];
		packet->bytes = &first_byte;
	}
	pcapng_close(reader);
	return status;
}

Test(pcapng, reads_both_byte_orders_and_resolutions)
{
	static const struct {
		int resolution;
		uint64_t ticks;
		int64_t ns;
	} cases[] = {{-1, 1500000, 1500000000}, {9, 123, 123}, {3, 2, 2000000}, {12, 5000, 5}, {0x81, 3, 1500000000}};

	for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		struct pcapng_packet packet;
		struct error err = {0};

		begin(i % 2);
		put_interface(cases[i / 2].resolution);
		put_packet(0, cases[i / 2].ticks, 'x', 2);
		cr_assert_eq(read_one(&packet, &err), 1, "%s", err.text);
		cr_assert_eq(packet.time.v, cases[i / 2].ns, "case %zu: %ld", i, packet.time.v);
		cr_assert_eq(packet.direction, PCAPNG_OUTBOUND);
		cr_assert_eq(packet.captured, 1);
		cr_assert_eq(packet.length, 60);
		cr_assert_eq(packet.bytes[0], 'x');
	}
}

Test(pcapng, refuses_what_is_damaged_and_says_where)
{
	struct pcapng_packet packet;
	struct error err = {0};

	begin(false);
	put_packet(0, 0, 'x', 1);
	cr_assert_eq(read_one(&packet, &err), -EBADMSG, "interface not described");
	begin(false);
	file[8] = 0;
	cr_assert_eq(read_one(&packet, &err), -EBADMSG, "no magic");
	begin(false);
	put_interface(9);
	put_packet(0, 0, 'x', 1);
	file[length - 4]++;
	cr_assert_eq(read_one(&packet, &err), -EBADMSG, "lengths differ");
	cr_assert_not_null(strstr(err.text, "made: block 2 at byte 60"), "%s", err.text);
	length = 0;
	cr_assert_eq(read_one(&packet, &err), -EBADMSG, "empty");
	memset(file, 'a', 100);
	length = 100;
	cr_assert_eq(read_one(&packet, &err), -EBADMSG, "text");
}

Test(pcapng, frames_in_blocks_without_time_or_direction_are_refused)
{
	static const struct {
		uint32_t type;
		const char *name;
	} cases[] = {{2, "obsolete Packet Block"}, {3, "Simple Packet Block"}};

	for (size_t i = 0; i < 2; i++) {
		struct pcapng_packet packet;
		struct error err = {0};

		begin(false);
		put_interface(9);
		put_32(cases[i].type);
		put_32(16);
		put_32(0);
		put_32(16);
		cr_assert_eq(read_one(&packet, &err), -EBADMSG);
		cr_assert_not_null(strstr(err.text, "made: block 3 at byte 76"), "%s", err.text);
		cr_assert_not_null(strstr(err.text, cases[i].name), "%s", err.text);
	}
}

Test(pcapng, options_are_padded_to_four_bytes)
{
	struct pcapng_packet packet;
	struct error err = {0};

	begin(false);
	put_interface(9);
	put_packet_block(0, 7, 'x', 2, true);
	cr_assert_eq(read_one(&packet, &err), 1, "%s", err.text);
	cr_assert_eq(packet.direction, PCAPNG_OUTBOUND);
}

Test(pcapng, interfaces_are_a_sections_own)
{
	struct pcapng_packet packet;
	struct error err = {0};
	struct pcapng_reader *reader;

	begin(false);
	put_interface(6);
	put_packet(0, 5, 'x', 1);
	put_section();
	put_interface(9);
	put_packet(0, 5, 'y', 1);
	put_section();
	put_packet(0, 5, 'z', 1); /* an interface that no block has described */
	reader = pcapng_open_memory("made", file, length, &err);
	cr_assert_eq(pcapng_next(reader, &packet, &err), 1, "%s", err.text);
	cr_assert_eq(packet.time.v, 5000);
	cr_assert_eq(pcapng_next(reader, &packet, &err), 1, "%s", err.text);
	cr_assert_eq(packet.time.v, 5, "the second section's resolution");
	cr_assert_eq(pcapng_next(reader, &packet, &err), -EBADMSG);
	pcapng_close(reader);
}

Test(pcapng, a_pcap_file_is_called_by_its_name)
{
	static const uint32_t magics[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1};
	uint32_t head[6] = {0};

	for (size_t i = 0; i < 4; i++) {
		struct error err = {0};
		struct pcapng_packet packet;
		struct pcapng_reader *reader;

		head[0] = magics[i];
		reader = pcapng_open_memory("x.pcap", (const uint8_t *)head, sizeof head, &err);
		cr_assert_eq(pcapng_next(reader, &packet, &err), -EBADMSG);
		cr_assert_not_null(strstr(err.text, "a pcap file"), "%s", err.text);
		pcapng_close(reader);
	}
}

Test(pcapng, a_file_cut_off_ends_there)
{
	struct pcapng_packet packet;
	struct error err = {0};
	struct pcapng_reader *reader;

	begin(false);
	put_interface(9);
	put_packet(0, 1, 'x', 1);
	put_packet(0, 2, 'y', 1);
	reader = pcapng_open_memory("made", file, length - 5, &err);
	cr_assert_eq(pcapng_next(reader, &packet, &err), 1);
	cr_assert_eq(pcapng_next(reader, &packet, &err), 0);
	cr_assert(pcapng_cut_off(reader));
	pcapng_close(reader);
}

/* An Interface Statistics Block with one option. */
static void put_statistics(uint16_t code, uint64_t value)
{
	put_32(5);
	put_32(40);
	put_32(0);
	put_32(0);
	put_32(0);
	put_16(code);
	put_16(8);
	if (swap)
		value = __builtin_bswap64(value);
	memcpy(file + length, &value, 8);
	length += 8;
	put_32(0);
	put_32(40);
}

Test(pcapng, dropped_frames_are_added_up)
{
	for (int other_order = 0; other_order < 2; other_order++) {
		struct pcapng_packet packet;
		struct error err = {0};
		struct pcapng_reader *reader;

		begin(other_order);
		put_interface(9);
		put_statistics(5, 7);
		put_statistics(4, 1000); /* received frames */
		put_packet(0, 1, 'x', 1);
		put_statistics(5, UINT64_C(1) << 40);
		put_packet(0, 2, 'y', 1);
		put_statistics(5, UINT64_MAX - 2);
		reader = pcapng_open_memory("made", file, length, &err);
		cr_assert_eq(pcapng_dropped(reader), 0);
		cr_assert_eq(pcapng_next(reader, &packet, &err), 1, "%s", err.text);
		cr_expect_eq(pcapng_dropped(reader), 7);
		cr_assert_eq(pcapng_next(reader, &packet, &err), 1, "%s", err.text);
		cr_expect_eq(pcapng_dropped(reader), (UINT64_C(1) << 40) + 7);
		cr_assert_eq(pcapng_next(reader, &packet, &err), 0, "%s", err.text);
		cr_expect_eq(pcapng_dropped(reader), UINT64_MAX, "the sum saturates");
		cr_expect_not(pcapng_cut_off(reader));
		pcapng_close(reader);
	}
}

Test(pcapng, flags_give_the_direction)
{
	static const struct {
		uint32_t flags;
		enum pcapng_direction direction;
	} cases[] = {{0, PCAPNG_UNKNOWN}, {1, PCAPNG_INBOUND},     {2, PCAPNG_OUTBOUND},
		     {3, PCAPNG_UNKNOWN}, {0x105, PCAPNG_INBOUND}, {0xfe, PCAPNG_OUTBOUND}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pcapng_packet packet;
		struct error err = {0};

		begin(false);
		put_interface(9);
		put_interface(6);
		put_packet(1, 5, 'x', cases[i].flags);
		cr_assert_eq(read_one(&packet, &err), 1, "%s", err.text);
		cr_expect_eq(packet.direction, cases[i].direction, "flags %x", cases[i].flags);
		cr_expect_eq(packet.interface, 1);
		cr_expect_eq(packet.time.v, 5000);
	}
}

static void expect_damaged(const char *what)
{
	struct pcapng_packet packet;
	struct error err = {0};

	cr_expect_eq(read_one(&packet, &err), -EBADMSG, "%s", what);
	cr_expect_not_null(strstr(err.text, what), "%s: %s", what, err.text);
}

/* Overwrites a field of the last packet block, which has 48 bytes. */
static void patch_packet(size_t offset, uint32_t value)
{
	memcpy(file + length - 48 + offset, &value, 4);
}

Test(pcapng, lengths_and_resolutions_have_limits)
{
	static const struct {
		int resolution;
		bool good;
	} resolutions[] = {{0, true}, {12, true}, {13, false}, {0x80 | 40, true}, {0x80 | 41, false}};
	struct pcapng_packet packet;
	struct error err = {0};

	for (size_t i = 0; i < sizeof resolutions / sizeof *resolutions; i++) {
		begin(false);
		put_interface(resolutions[i].resolution);
		put_packet(0, 1, 'x', 1);
		if (!resolutions[i].good)
			expect_damaged("impossible time resolution");
		else
			cr_expect_eq(read_one(&packet, &err), 1, "resolution %x: %s",
				     (unsigned)resolutions[i].resolution, err.text);
	}
	begin(false);
	for (int i = 0; i < 64; i++)
		put_interface(-1);
	put_packet(63, 1, 'x', 1);
	cr_expect_eq(read_one(&packet, &err), 1, "%s", err.text);
	begin(false);
	for (int i = 0; i < 65; i++)
		put_interface(-1);
	expect_damaged("more than 64 interfaces");

	begin(false);
	put_32(1); /* an interface block of 4 bytes */
	put_32(16);
	put_32(0);
	put_32(16);
	expect_damaged("too short for an interface");
	begin(false);
	put_interface(9);
	put_packet(0, 0, 'x', 1);
	patch_packet(4, 46);
	expect_damaged("impossible length");
	patch_packet(4, 8);
	expect_damaged("impossible length");
	patch_packet(4, (16 << 20) + 4);
	expect_damaged("impossible length");
	patch_packet(4, 48);
	patch_packet(20, 17); /* there are 16 bytes from the first captured one to the block's end */
	expect_damaged("more captured bytes than the block holds");
	patch_packet(20, 16);
	cr_expect_eq(read_one(&packet, &err), 1, "%s", err.text);
	cr_expect_eq(packet.captured, 16);
	begin(false);
	put_interface(9);
	put_32(6);
	put_32(28);
	for (int i = 0; i < 4; i++)
		put_32(0);
	put_32(28);
	expect_damaged("too short for a packet");
}

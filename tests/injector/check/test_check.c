/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of captures on files made by hand, byte for byte, and the matching on equal frames. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <injector/check/delays.h>
#include <injector/pcapng/reader.h>

#include "pending_priv.h"

static uint8_t file[4096];
static size_t length;
static bool swap;

static void put_32(uint32_t value)
{
	if (swap)
		value = __builtin_bswap32(value);
	memcpy(file + length, &value, 4);
	length += 4;
}

static void put_16(uint16_t value)
{
	if (swap)
		value = __builtin_bswap16(value);
	memcpy(file + length, &value, 2);
	length += 2;
}

static void put_section(void)
{
	put_32(0x0a0d0d0a);
	put_32(28);
	put_32(0x1a2b3c4d);
	put_16(1);
	put_16(0);
	put_32(0xffffffff);
	put_32(0xffffffff);
	put_32(28);
}

static void put_interface(int resolution)
{
	uint32_t total = resolution >= 0 ? 32 : 20;

	put_32(1);
	put_32(total);
	put_16(1);
	put_16(0);
	put_32(0);
	if (resolution >= 0) {
		put_16(9);
		put_16(1);
		file[length] = (uint8_t)resolution;
		length += 4;
		put_32(0);
	}
	put_32(total);
}

/* With a comment of five bytes before the flags: options are padded to four. */
static void put_packet_block(uint32_t interface, uint64_t time, uint8_t content, uint32_t flags, bool commented)
{
	uint32_t bytes = commented ? 60 : 48;

	put_32(6);
	put_32(bytes);
	put_32(interface);
	put_32((uint32_t)(time >> 32));
	put_32((uint32_t)time);
	put_32(1);
	put_32(60);
	file[length] = content;
	length += 4;
	if (commented) {
		put_16(1);
		put_16(5);
		memcpy(file + length, "hello", 5);
		length += 8;
	}
	put_16(2);
	put_16(4);
	put_32(flags);
	put_32(0);
	put_32(bytes);
}

static void put_packet(uint32_t interface, uint64_t time, uint8_t content, uint32_t flags)
{
	put_packet_block(interface, time, content, flags, false);
}

static void begin(bool other_order)
{
	memset(file, 0, sizeof file);
	length = 0;
	swap = other_order;
	put_section();
}

static int read_one(struct pcapng_packet *packet, struct error *err)
{
	struct pcapng_reader *reader = pcapng_open_memory("made", file, length, err);
	static uint8_t first_byte;
	int status = pcapng_next(reader, packet, err);

	if (status > 0) { /* the bytes live as long as the reader */
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
	put_packet(0, 5, 'z', 1); /* nobody described it here */
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

static void write_file(char path[64])
{
	FILE *out;

	snprintf(path, 64, "/tmp/test-check-%d.pcapng", (int)getpid());
	out = fopen(path, "wb");
	fwrite(file, 1, length, out);
	fclose(out);
}

Test(delays, equal_frames_are_matched_in_order_and_the_odd_ones_counted)
{
	struct check_report report;
	struct error err = {0};
	char path[64];

	begin(false);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(0, 2000, 'a', 1);
	put_packet(0, 3000, 'b', 1); /* never leaves */
	put_packet(0, 3500, 'd', 1);
	put_packet(1, 4000, 'z', 1); /* the other way */
	put_packet(1, 11000, 'a', 2);
	put_packet(1, 12010, 'a', 2);
	put_packet(1, 12500, 'c', 2); /* never came */
	put_packet(1, 13000, 'd', 2);
	put_packet(0, 14900, 'z', 2); /* 9.1 us early */
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){10, 20}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.direction[CHECK_AB].in, 4);
	cr_assert_eq(report.direction[CHECK_AB].out, 4);
	cr_assert_eq(report.direction[CHECK_AB].matched, 3);
	cr_assert_eq(report.direction[CHECK_AB].missing, 1);
	cr_assert_eq(report.direction[CHECK_AB].extra, 1);
	cr_assert_eq(report.direction[CHECK_AB].early, 1, "'d' stayed 9.5 us");
	cr_assert_eq(histogram_maximum(report.direction[CHECK_AB].delay_ns), 10010);
	cr_assert_eq(report.direction[CHECK_BA].early, 1);
	cr_assert_eq(histogram_maximum(report.direction[CHECK_BA].deviation_ns), 9100);
	check_report_free(&report);
	unlink(path);
}

Test(delays, what_rounding_explains_is_not_early)
{
	struct check_report report;
	struct error err = {0};
	char path[64];

	begin(false);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(0, 2000, 'b', 1);
	put_packet(1, 10990, 'a', 2); /* 10 ns early */
	put_packet(1, 11989, 'b', 2); /* 11 */
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){10, 10}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.direction[CHECK_AB].early, 1);
	check_report_free(&report);
	unlink(path);
}

Test(delays, percentiles_of_long_stays_are_within_minimum_and_maximum)
{
	struct check_report report;
	struct error err = {0};
	char path[64];
	int64_t median_ns;

	begin(false);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(0, 2000, 'b', 1);
	put_packet(1, 100000001000, 'a', 2);      /* after 100 s */
	put_packet(1, 31536000000002000, 'b', 2); /* after a year */
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){10, 10}, &report, &err), 0, "%s", err.text);
	median_ns = histogram_percentile(report.direction[CHECK_AB].delay_ns, 50);
	cr_assert(median_ns >= 100000000000 && median_ns <= 100010000000, "%lld", (long long)median_ns);
	cr_assert_eq(histogram_percentile(report.direction[CHECK_AB].delay_ns, 100), 31536000000000000);
	cr_assert_eq(histogram_saturated(report.direction[CHECK_AB].deviation_ns), 0);
	check_report_free(&report);
	unlink(path);
}

Test(delays, reordering_is_seen)
{
	struct check_report report;
	struct error err = {0};
	char path[64];

	begin(true);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(0, 2000, 'b', 1);
	put_packet(1, 3000, 'b', 2);
	put_packet(1, 4000, 'a', 2);
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){-1, -1}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.direction[CHECK_AB].reordered, 1);
	check_report_free(&report);
	unlink(path);
}

Test(delays, frames_that_differ_beyond_what_was_captured_are_told_by_their_length)
{
	struct check_report report;
	struct error err = {0};
	char path[64];

	begin(false);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(0, 2000, 'a', 1);
	file[length - 24] = 61; /* its length on the wire */
	put_packet(1, 3000, 'a', 2);
	file[length - 24] = 61;
	put_packet(1, 4000, 'a', 2);
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){-1, -1}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.direction[CHECK_AB].matched, 2);
	cr_assert_eq(report.direction[CHECK_AB].reordered, 1);
	check_report_free(&report);
	unlink(path);
}

Test(delays, a_capture_of_something_else_is_refused)
{
	struct check_report report;
	struct error err = {0};
	char path[64];

	begin(false);
	put_interface(9);
	put_packet(0, 1000, 'a', 0);
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){-1, -1}, &report, &err), -EBADMSG);
	cr_assert_not_null(strstr(err.text, "no injector's capture"), "%s", err.text);
	cr_assert_eq(strncmp(err.text, path, strlen(path)), 0, "it names the file: %s", err.text);
	check_report_free(&report);
	unlink(path);
}

Test(pending, thousands_held_and_equal_ones_in_order)
{
	struct pending *pending = pending_create();
	struct arrival arrival;

	for (uint64_t i = 0; i < 20000; i++)
		cr_assert_eq(pending_put(pending, (i % 10) << 33, (struct arrival){.sequence = i}), 0);
	for (uint64_t i = 0; i < 20000; i++) {
		cr_assert(pending_take(pending, (i % 10) << 33, &arrival));
		cr_assert_eq(arrival.sequence, i);
	}
	cr_assert(!pending_take(pending, 0, &arrival));
	for (uint64_t i = 0; i < 100000; i++) { /* the same few entries again and again */
		cr_assert_eq(pending_put(pending, i * 977, (struct arrival){.sequence = i}), 0);
		cr_assert(pending_take(pending, i * 977, &arrival));
		cr_assert_eq(arrival.sequence, i);
	}
	pending_destroy(pending);
}

Test(pending, one_chain_in_any_order)
{
	struct pending *pending = pending_create();
	struct arrival arrival;

	/* All of these digests share a chain; its last is taken, then more come behind. */
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(pending_put(pending, i, (struct arrival){.sequence = i}), 0);
	cr_assert(pending_take(pending, 2, &arrival));
	for (uint64_t i = 3; i < 5; i++)
		cr_assert_eq(pending_put(pending, i, (struct arrival){.sequence = i}), 0);
	for (uint64_t i = 5; i-- > 0;) {
		if (i == 2)
			continue;
		cr_assert(pending_take(pending, i, &arrival), "%lu", i);
		cr_assert_eq(arrival.sequence, i);
	}
	pending_destroy(pending);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching the frames of captures made block by block, and the table of frames in transit. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <injector/check/delays.h>
#include <injector/pcapng/pcapng.h>

#include "../pcapng/made_file.h"
#include "pending_priv.h"

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

Test(delays, a_limit_judges_what_is_reported)
{
	struct check_report report;
	struct check_limit limit = {.limit_us = 0.02, .percentile = 100};
	struct error err = {0};
	json_t *root;
	char path[64], *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	begin(false);
	put_interface(9);
	put_interface(9);
	put_packet(0, 1000, 'a', 1);
	put_packet(1, 11015, 'a', 2); /* 15 ns late */
	write_file(path);
	cr_assert_eq(check_delays(path, (double[]){10, 10}, &report, &err), 0, "%s", err.text);
	cr_assert(!check_report_over_limit(&report, &limit));
	limit.limit_us = 0.01;
	root = check_report_to_json(&report, "run.pcapng", &limit);
	cr_assert(json_is_true(json_object_get(root, "over_limit")));
	cr_assert(json_is_true(json_object_get(json_object_get(root, "ab"), "over_limit")));
	cr_assert(json_is_false(json_object_get(json_object_get(root, "ba"), "over_limit")));
	check_report_print(&report, out);
	fclose(out);
	cr_assert(strstr(text, "A -> B: 1 in, 1 out, 0 missing, 0 extra, 0 reordered; delay min 10.015"), "%s", text);
	free(text);
	json_decref(root);
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
	file[length - 24] = 61; /* the frame's original length */
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
	cr_assert_not_null(strstr(err.text, "expected a capture of the injector"), "%s", err.text);
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
	for (uint64_t i = 0; i < 100000; i++) { /* the same few entries are reused */
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

	/* All of these digests share a chain; the last entry is taken, then more are appended. */
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

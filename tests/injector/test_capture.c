/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture, then check: the delays recomputed from the file are those that were injected. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include <check/delays.h>
#include <injector/capture.h>

#include "rings.h"

enum { COUNT = 5000 };

static char path[64];

static void run_captured(const struct rings_options *options)
{
	struct rings_options with_capture = *options;
	static struct rings rings;
	struct ns start = ns_now_monotonic();
	uint64_t sent = 0;
	struct injector_statistics statistics = {0};
	struct error err = {0};

	snprintf(path, sizeof path, "/tmp/test-capture-%d.pcapng", (int)getpid());
	with_capture.capture = path;
	rings_open(&rings, &with_capture);
	rings_start(&rings);
	while (ns_now_monotonic().v - start.v < INT64_C(40000000000)) {
		struct rte_mbuf *packets[32];
		unsigned int count = rings_receive(&rings, 1, packets, 32);

		rte_pktmbuf_free_bulk(packets, count);
		if (sent < COUNT)
			sent += rings_send(&rings, 0, sent);
		cr_assert_eq(injector_read(rings.injector, &statistics, &err), 0);
		if (sent == COUNT && statistics.direction[0].rx_packets == COUNT && statistics.direction[0].held == 0)
			break;
	}
	cr_assert_eq(statistics.direction[0].rx_packets, COUNT);
	cr_assert_eq(injector_capture_lost(rings.capture), 0);
	rings_close(&rings);
}

Test(capture, holds_the_delay_of_each_packet)
{
	struct rings_options options = {.delay_us = {123.4, 50}};
	struct check_report report;
	struct error err = {0};

	run_captured(&options);
	cr_assert_eq(check_delays(path, (double[]){123.4, 50}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.frames, 2 * COUNT);
	cr_assert_eq(report.direction[CHECK_AB].in, COUNT);
	cr_assert_eq(report.direction[CHECK_AB].matched, COUNT);
	cr_assert_eq(report.direction[CHECK_AB].missing + report.direction[CHECK_AB].extra, 0);
	cr_assert_eq(report.direction[CHECK_AB].reordered, 0);
	cr_assert_eq(report.direction[CHECK_AB].early, 0);
	cr_assert_geq(histogram_minimum(report.direction[CHECK_AB].delay_ns), 123390);
	cr_assert_eq(report.direction[CHECK_BA].in, 0);
	check_report_free(&report);
	unlink(path);
}

Test(capture, shows_losses_and_copies)
{
	struct rings_options options = {.delay_us = {20, 20}, .modes = {.loss = "20", .duplicate = "10", .seed = 2}};
	struct check_report report;
	struct error err = {0};

	run_captured(&options);
	cr_assert_eq(check_delays(path, (double[]){-1, -1}, &report, &err), 0, "%s", err.text);
	cr_assert_gt(report.direction[CHECK_AB].missing, 500);
	cr_assert_gt(report.direction[CHECK_AB].extra, 200);
	cr_assert_eq(histogram_count(report.direction[CHECK_AB].deviation_ns), 0, "nothing was expected");
	check_report_free(&report);
	unlink(path);
}

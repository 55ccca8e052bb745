/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures, then checks: the delays computed from the file are those that were injected. */
#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include <injector/check/delays.h>
#include <injector/line/capture.h>

#include "rings.h"

enum { COUNT = 5000, FIRST = 100 };

static char path[64];

/* Sends COUNT packets through, most of them after the first few are in the file. Leaves everything open. */
static void pass_captured(const struct rings_options *options, struct rings *through)
{
	struct rings_options with_capture = *options;
	struct ns start = ns_now_monotonic();
	uint64_t sent = 0;
	struct injector_statistics statistics = {0};
	struct error err = {0};

	snprintf(path, sizeof path, "/tmp/test-capture-%d.pcapng", (int)getpid());
	with_capture.capture = path;
	rings_open(through, &with_capture);
	rings_start(through);
	while (ns_now_monotonic().v - start.v < INT64_C(40000000000)) {
		struct rte_mbuf *packets[32];
		unsigned int count = rings_receive(through, 1, packets, 32);

		rte_pktmbuf_free_bulk(packets, count);
		if (sent < COUNT && (sent < FIRST || injector_capture_written(through->capture) > 0))
			sent += rings_send(through, 0, sent);
		cr_assert_eq(injector_read(through->injector, &statistics, &err), 0);
		if (sent == COUNT && statistics.direction[0].rx_packets == COUNT && statistics.direction[0].held == 0)
			break;
	}
	cr_assert_eq(statistics.direction[0].rx_packets, COUNT);
}

static void run_captured(const struct rings_options *options)
{
	static struct rings rings;

	pass_captured(options, &rings);
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

Test(capture, on_a_full_disk_only_what_is_in_the_file_counts_as_written)
{
	static struct rings rings;
	struct rings_options options = {.delay_us = {20, 20}, .size_limit = 100001}; /* within a block */
	struct check_report report;
	struct error err = {0};
	uint64_t written;

	pass_captured(&options, &rings);
	injector_stop(rings.injector);
	cr_assert_eq(injector_capture_finish(rings.capture, &err), -EFBIG);
	cr_assert_eq(injector_capture_failed(rings.capture), -EFBIG);
	written = injector_capture_written(rings.capture);
	cr_assert_gt(written, 0);
	cr_assert_eq(written + injector_capture_lost(rings.capture), 2 * COUNT);
	cr_assert_eq(injector_capture_close(rings.capture, &err), -EFBIG);
	rings.capture = NULL;
	rings_close(&rings);
	cr_assert_eq(check_delays(path, (double[]){20, 20}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.frames, written);
	cr_assert_not(report.cut_off);
	check_report_free(&report);
	unlink(path);
}

Test(capture, tells_in_the_file_what_is_not_in_it)
{
	static struct rings rings;
	struct rings_options options = {.delay_us = {20, 20}, .size_limit = 100001};
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct check_report report;
	struct error err = {0};
	uint64_t lost;

	pass_captured(&options, &rings);
	injector_stop(rings.injector);
	/* The file may grow again, after some frames were lost. */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	injector_capture_finish(rings.capture, &err);
	lost = injector_capture_lost(rings.capture);
	injector_capture_close(rings.capture, &err);
	rings.capture = NULL;
	rings_close(&rings);
	cr_assert_gt(lost, 0);
	cr_assert_eq(check_delays(path, (double[]){20, 20}, &report, &err), 0, "%s", err.text);
	cr_assert_eq(report.frames + report.lost, 2 * COUNT);
	cr_assert_eq(report.lost, lost);
	check_report_free(&report);
	unlink(path);
}

Test(capture, a_disk_that_is_full_from_the_start_is_refused)
{
	struct dp_clock clock = {.ns_per_cycle = 1};
	struct injector_capture *capture;
	struct error err = {0};

	capture = injector_capture_create("/dev/full", &clock, &err);
	cr_assert_eq(injector_capture_start(capture, &err), -ENOSPC, "%s", err.text);
	cr_assert_eq(injector_capture_close(capture, &err), 0, "there was nothing to finish");
	cr_assert_eq(access("/dev/full", F_OK), 0, "a device stays");
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20, RLIM_INFINITY}), 0);
	snprintf(path, sizeof path, "/tmp/test-full-%d.pcapng", (int)getpid());
	capture = injector_capture_create(path, &clock, &err);
	cr_assert_neq(access(path, F_OK), 0, "there is none before it starts");
	cr_assert_eq(injector_capture_start(capture, &err), -EFBIG, "%s", err.text);
	cr_assert_neq(access(path, F_OK), 0, "and no file is left with nothing in it");
	injector_capture_close(capture, &err);
}

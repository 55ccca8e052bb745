/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed delay over rings: packets are never early, stay in order, none is lost, all are counted. Speed is not
 * tested.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_pause.h>

#include <base/rng.h>

#include "rings.h"

enum { WINDOW = 4000 };

struct traffic {
	uint64_t sent, received, early, misordered;
	int64_t least_cycles;
};

/*
 * Receives the packets that left `port` and checks each against the delay in force when it was sent (at least this many
 * cycles).
 */
static void take(struct rings *rings, int port, int64_t delay_cycles, struct traffic *traffic)
{
	struct rte_mbuf *packets[32];
	unsigned int count = rings_receive(rings, port, packets, 32);
	uint64_t now = rings_now();

	for (unsigned int i = 0; i < count; i++) {
		const struct rings_payload *payload = rings_payload(packets[i]);
		int64_t stay = (int64_t)(now - payload->sent);

		traffic->misordered += payload->sequence != traffic->received;
		traffic->early += stay < delay_cycles;
		if (traffic->received == 0 || stay < traffic->least_cycles)
			traffic->least_cycles = stay;
		traffic->received++;
		rte_pktmbuf_free(packets[i]);
	}
	if (count == 0)
		rte_pause();
}

static bool in_time(struct ns start, int64_t seconds)
{
	return ns_now_monotonic().v - start.v < seconds * INT64_C(1000000000);
}

/* Sends `count` frames from port `from` with at most `window` in transit, and receives them all. */
static void pass(struct rings *rings, int from, uint64_t count, uint64_t window, int64_t delay_cycles,
		 struct traffic *traffic)
{
	struct ns start = ns_now_monotonic();

	memset(traffic, 0, sizeof *traffic);
	while (traffic->received < count && in_time(start, 60)) {
		if (traffic->sent < count && traffic->sent - traffic->received < window)
			traffic->sent += rings_send(rings, from, traffic->sent);
		take(rings, !from, delay_cycles, traffic);
	}
}

static struct injector_statistics read_statistics(struct rings *rings)
{
	struct injector_statistics statistics;
	struct error err = {0};

	cr_assert_eq(injector_read(rings->injector, &statistics, &err), 0, "%s", err.text);
	return statistics;
}

/* Delays in tenths of a microsecond: Criterion's parameters must not contain pointers. */
static const int delays_tenths_us[] = {0, 10, 55, 200, 5000, 100000};

Test(line, holds_each_packet_at_least_the_delay_in_order)
{
	for (size_t i = 0; i < sizeof delays_tenths_us / sizeof delays_tenths_us[0]; i++) {
		double us = delays_tenths_us[i] / 10.0;
		struct rings_options options = {.delay_us = {0, 0}};
		static struct rings rings;
		struct traffic traffic;
		int64_t cycles;
		struct error err = {0};

		if (i == 0) {
			rings_open(&rings, &options);
			rings_start(&rings);
		}
		cycles = (int64_t)(us * 1e3 / rings.clock.ns_per_cycle);
		cr_assert_eq(injector_set_delay(rings.injector, (double[]){us, 0}, &err), 0, "%s", err.text);
		pass(&rings, 0, us > 1000 ? 8000 : 50000, WINDOW, cycles, &traffic);
		cr_assert_eq(traffic.received, traffic.sent, "%g us: %lu of %lu", us, traffic.received, traffic.sent);
		cr_assert_eq(traffic.early, 0, "%g us: %lu early", us, traffic.early);
		cr_assert_eq(traffic.misordered, 0);
		if (i + 1 == sizeof delays_tenths_us / sizeof delays_tenths_us[0])
			rings_close(&rings);
	}
}

Test(line, each_direction_has_its_own_delay)
{
	struct rings_options options = {.delay_us = {100, 10000}, .lcores = 2};
	struct rings rings;
	struct traffic ab, ba;
	int64_t ab_cycles, ba_cycles;
	struct ns start;

	rings_open(&rings, &options);
	rings_start(&rings);
	ab_cycles = (int64_t)(100e3 / rings.clock.ns_per_cycle);
	ba_cycles = (int64_t)(10000e3 / rings.clock.ns_per_cycle);
	start = ns_now_monotonic();
	do { /* three polling threads: on a loaded machine, each has to wait for a CPU */
		pass(&rings, 0, 500, 1, ab_cycles, &ab);
	} while (ab.least_cycles >= ba_cycles && in_time(start, 60));
	pass(&rings, 1, 20, 1, ba_cycles, &ba);
	cr_assert_eq(ab.received, 500);
	cr_assert_eq(ba.received, 20);
	cr_assert_eq(ab.early + ba.early + ab.misordered + ba.misordered, 0);
	cr_assert_lt(ab.least_cycles, ba_cycles, "A->B has the short one, %ld and %ld", ab.least_cycles,
		     ba.least_cycles);
	rings_close(&rings);
}

Test(line, a_million_packets_while_the_delay_changes_a_thousand_times)
{
	struct rings_options options = {.delay_us = {20, 20}};
	struct rings rings;
	struct traffic traffic = {0};
	struct injector_statistics statistics;
	struct ns start = ns_now_monotonic();
	struct rng rng;
	uint64_t count = 1000000, changes = 0;
	struct error err = {0};

	rings_open(&rings, &options);
	rings_start(&rings);
	rng_seed(&rng, 7);
	while (traffic.received < count && in_time(start, 120)) {
		if (traffic.sent < count && traffic.sent - traffic.received < WINDOW)
			traffic.sent += rings_send(&rings, 0, traffic.sent);
		if (traffic.sent >= changes * (count / 1000) && changes < 1000) {
			/* Every third delay is 0. */
			double us = changes % 3 == 0 ? 0 : (double)rng_below(&rng, 3000) / 10;

			cr_assert_eq(injector_set_delay(rings.injector, (double[]){us, us}, &err), 0);
			changes++;
		}
		take(&rings, 1, 0, &traffic);
	}
	cr_assert_eq(changes, 1000);
	cr_assert_eq(traffic.received, count);
	cr_assert_eq(traffic.misordered, 0, "%lu out of order, lost or twice", traffic.misordered);
	statistics = read_statistics(&rings);
	cr_assert_eq(statistics.direction[0].rx_packets, count);
	cr_assert_eq(statistics.direction[0].tx_packets, count);
	cr_assert_eq(statistics.direction[0].ring_full, 0);
	rings_close(&rings);
}

Test(line, overflow_is_counted_to_the_packet)
{
	struct rings_options options = {.delay_us = {10000, 10000}, .slots = 1024};
	struct rings rings;
	struct traffic traffic = {0};
	struct injector_statistics statistics;
	struct ns start;

	rings_open(&rings, &options);
	for (uint64_t i = 0; i < 5000; i++)
		cr_assert(rings_send(&rings, 0, i));
	rings_start(&rings); /* takes all 5000 in well under 10 ms, unless it is descheduled */
	start = ns_now_monotonic();
	do {
		struct rte_mbuf *packets[32];
		unsigned int got = rings_receive(&rings, 1, packets, 32);

		traffic.received += got;
		rte_pktmbuf_free_bulk(packets, got);
		statistics = read_statistics(&rings);
	} while (in_time(start, 20) && (statistics.direction[0].rx_packets < 5000 || statistics.direction[0].held > 0 ||
					traffic.received < statistics.direction[0].tx_packets));
	cr_assert_eq(statistics.direction[0].rx_packets, 5000);
	cr_assert_gt(statistics.direction[0].ring_full, 0);
	cr_assert_eq(traffic.received, 5000 - statistics.direction[0].ring_full);
	cr_assert_eq(statistics.direction[0].tx_packets, traffic.received);
	if (statistics.stall_max_us < 5000)
		cr_assert_geq(traffic.received, 1024);
	rings_close(&rings);
}

Test(line, what_the_port_refuses_is_sent_later_in_order)
{
	struct rings_options options = {.delay_us = {0, 0}, .out_ring = 64};
	struct rings rings;
	struct traffic traffic = {0};
	struct injector_statistics statistics;
	struct ns start = ns_now_monotonic();

	rings_open(&rings, &options);
	rings_start(&rings);
	for (uint64_t i = 0; i < 2000; i++)
		cr_assert(rings_send(&rings, 0, i));
	do {
		statistics = read_statistics(&rings);
	} while (in_time(start, 20) &&
		 (statistics.direction[0].rx_packets < 2000 || statistics.direction[0].tx_full == 0));
	cr_assert_gt(statistics.direction[0].tx_full, 0);
	cr_assert_eq(statistics.direction[0].tx_packets, 63, "what fits the ring");
	cr_assert_eq(statistics.direction[0].held, 2000 - 63);
	while (traffic.received < 2000 && in_time(start, 40))
		take(&rings, 1, 0, &traffic);
	cr_assert_eq(traffic.received, 2000);
	cr_assert_eq(traffic.misordered, 0);
	rings_close(&rings);
}

Test(line, counters_add_up_while_it_runs_and_after_a_reset)
{
	struct rings_options options = {.delay_us = {300, 300}};
	struct rings rings;
	struct ns start = ns_now_monotonic();
	struct traffic traffic = {0};
	struct error err = {0};

	rings_open(&rings, &options);
	rings_start(&rings);
	for (int round = 0; round < 200 && in_time(start, 60); round++) {
		struct injector_direction_statistics ab;

		for (int i = 0; i < 100; i++)
			traffic.sent += rings_send(&rings, 0, traffic.sent);
		take(&rings, 1, 0, &traffic);
		if (round == 100)
			cr_assert_eq(injector_reset(rings.injector, &err), 0);
		ab = read_statistics(&rings).direction[0];
		cr_assert_eq(ab.rx_packets, ab.tx_packets + ab.held + ab.ring_full, "%lu %lu %lu", ab.rx_packets,
			     ab.tx_packets, ab.held);
	}
	while (traffic.received < traffic.sent && in_time(start, 60))
		take(&rings, 1, 0, &traffic);
	cr_assert_eq(traffic.received, traffic.sent);
	rings_close(&rings);
}

static void sleep_in_handler(int number)
{
	(void)number;
	nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static pid_t worker_thread(void)
{
	DIR *folder = opendir("/proc/self/task");
	pid_t found = 0;

	for (struct dirent *entry = readdir(folder); entry && !found; entry = readdir(folder)) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof name, file) && strstr(name, "worker-1"))
			found = (pid_t)atol(entry->d_name);
		fclose(file);
	}
	closedir(folder);
	return found;
}

static struct injector_statistics run_with_a_stall(double stall_us)
{
	struct rings_options options = {.delay_us = {10000, 10000}, .stall_us = stall_us};
	struct sigaction action = {.sa_handler = sleep_in_handler};
	struct rings rings;
	struct traffic traffic = {0};
	struct injector_statistics statistics;
	struct ns start = ns_now_monotonic();
	struct histogram *clean = histogram_create(1, 1000000000, 3), *disturbed = histogram_create(1, 1000000000, 3);

	rings_open(&rings, &options);
	rings_start(&rings);
	sigaction(SIGUSR1, &action, NULL);
	for (uint64_t i = 0; i < 500; i++)
		cr_assert(rings_send(&rings, 0, i));
	traffic.sent = 500;
	do {
		statistics = read_statistics(&rings);
	} while (statistics.direction[0].rx_packets < 500 && in_time(start, 20));
	syscall(SYS_tgkill, getpid(), worker_thread(), SIGUSR1); /* sleeps 30 ms; packets stay 10 */
	while (traffic.received < 500 && in_time(start, 20))
		take(&rings, 1, 0, &traffic);
	cr_assert_eq(traffic.received, 500);
	statistics = read_statistics(&rings);
	injector_read_lateness(rings.injector, INJECTOR_AB, false, clean);
	injector_read_lateness(rings.injector, INJECTOR_AB, true, disturbed);
	cr_assert_eq(histogram_count(clean) + histogram_count(disturbed), 500, "each packet is in one histogram");
	cr_assert_eq(histogram_count(disturbed), statistics.direction[0].disturbed);
	histogram_destroy(clean);
	histogram_destroy(disturbed);
	rings_close(&rings);
	return statistics;
}

Test(line, notices_its_own_stall_and_marks_every_packet_that_met_it)
{
	struct injector_statistics statistics = run_with_a_stall(20000);

	cr_assert_geq(statistics.stalls, 1);
	cr_assert_geq(statistics.stall_max_us, 29000);
	cr_assert_eq(statistics.direction[0].disturbed, 500);
}

Test(line, a_gap_under_the_threshold_is_no_stall)
{
	struct injector_statistics statistics = run_with_a_stall(1e7);

	cr_assert_eq(statistics.stalls, 0);
	cr_assert_eq(statistics.direction[0].disturbed, 0);
}

Test(line, a_calibrated_delay_is_short_by_what_was_taken_off)
{
	struct rings_options options = {.delay_us = {50, 50}};
	struct rings rings;
	struct traffic traffic;
	double taken_off_ns;

	rings_open(&rings, &options);
	taken_off_ns = injector_calibrate(rings.injector);
	cr_assert_gt(taken_off_ns, 0);
	cr_assert_lt(taken_off_ns, 50000, "rings in memory are polled in well under 100 us");
	cr_assert_float_eq(injector_subtract_ns(rings.injector), taken_off_ns, 0);
	cr_assert_float_eq(injector_delay_us(rings.injector, INJECTOR_AB), 50, 0, "what was asked for stays known");
	rings_start(&rings);
	pass(&rings, 0, 5000, WINDOW, (int64_t)((50e3 - taken_off_ns) / rings.clock.ns_per_cycle), &traffic);
	cr_assert_eq(traffic.received, 5000);
	cr_assert_eq(traffic.early, 0);
	rings_close(&rings);
}

/* 9000 bytes of payload, headers and a VLAN tag, in buffers sized for them. */
static void carry_jumbo_frames(const char *duplicate)
{
	struct rings_options options = {
		.delay_us = {100, 0}, .frame_bytes = 9018, .slots = 1024, .modes = {.duplicate = duplicate, .seed = 1}};
	struct ns start = ns_now_monotonic();
	uint64_t sent = 0, received = 0, expected = duplicate ? 2000 : 1000;
	struct rings rings;

	rings_open(&rings, &options);
	rings_start(&rings);
	while (received < expected && in_time(start, 60)) {
		struct rte_mbuf *packet;

		if (sent < 1000 && sent < received + 200)
			sent += rings_send(&rings, 0, sent);
		if (rings_receive(&rings, 1, &packet, 1) == 0)
			continue;
		cr_assert_eq(packet->pkt_len, 9018);
		cr_assert_eq(packet->nb_segs, 1);
		cr_assert_eq(rte_pktmbuf_mtod(packet, uint8_t *)[9017], rings_payload(packet)->sequence & 0xff);
		rte_pktmbuf_free(packet);
		received++;
	}
	cr_assert_eq(received, expected);
	rings_close(&rings);
}

Test(line, jumbo_frames_pass_whole)
{
	carry_jumbo_frames(NULL);
}

Test(line, jumbo_frames_are_copied_whole)
{
	carry_jumbo_frames("100");
}

/* Sends `count` packets with a delay of 10 ms, and ends the injector. Returns the number of packets that left. */
static unsigned int end_with_held(const struct injector_mode_settings *modes, unsigned int count, sig_atomic_t hurry,
				  uint64_t *held)
{
	struct rings_options options = {.delay_us = {10000, 10000}, .modes = *modes};
	const volatile sig_atomic_t hurried = hurry;
	struct rte_mbuf *packets[32];
	static struct rings rings;
	struct injector_statistics statistics;
	unsigned int left = 0, got;

	rings_open(&rings, &options);
	rings_start(&rings);
	for (unsigned int i = 0; i < count; i++)
		cr_assert(rings_send(&rings, i % 2 != 0, i));
	do
		statistics = read_statistics(&rings);
	while (statistics.direction[0].rx_packets + statistics.direction[1].rx_packets < count);
	injector_drain(rings.injector, (struct ns){10 * NS_PER_S}, &hurried);
	statistics = read_statistics(&rings);
	*held = statistics.direction[0].held + statistics.direction[1].held;
	for (int port = 0; port < 2; port++) {
		while ((got = rings_receive(&rings, port, packets, 32)) > 0) {
			rte_pktmbuf_free_bulk(packets, got);
			left += got;
		}
	}
	rings_close(&rings);
	return left;
}

Test(line, held_packets_leave_before_it_ends)
{
	uint64_t held;

	cr_assert_eq(end_with_held(&(struct injector_mode_settings){0}, 500, 0, &held), 500);
	cr_assert_eq(held, 0);
}

Test(line, held_packets_leave_the_modal_loop_before_it_ends)
{
	uint64_t held;

	cr_assert_eq(end_with_held(&(struct injector_mode_settings){.loss = "0"}, 500, 0, &held), 500);
	cr_assert_eq(held, 0);
}

Test(line, a_second_signal_ends_it_with_packets_held)
{
	uint64_t held;
	unsigned int left = end_with_held(&(struct injector_mode_settings){0}, 500, 2, &held);

	cr_assert_eq(left + held, 500);
	cr_assert_gt(held, 0, "all have left: the test was too slow");
}

Test(line, refuses_what_it_cannot_do)
{
	struct rings_options options = {.delay_us = {10, 10}};
	struct injector_settings settings = {.lcore_count = 1,
					     .slots = 16384,
					     .stall_us = 1,
					     .hiccup_ns = 300,
					     .expected_pps = 40e6,
					     .delay_us = {500, 500}};
	struct rings rings;
	struct error err = {0};

	rings_open(&rings, &options);
	cr_assert_eq(injector_set_delay(rings.injector, (double[]){-0.1, 0}, &err), -ERANGE);
	cr_assert_eq(injector_set_delay(rings.injector, (double[]){0, 10000.1}, &err), -ERANGE);
	cr_assert_float_eq(injector_delay_us(rings.injector, INJECTOR_AB), 10, 0, "the old delay stays");
	cr_assert_null(injector_create(&settings, &rings.clock, &err));
	cr_assert_not_null(strstr(err.text, "--slots 32768 would do"), "%s", err.text);
	rings_close(&rings);
}

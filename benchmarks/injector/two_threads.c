/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accuracy of the delay with a CPU dedicated to the line, as in production: client and reflector run on another CPU,
 * connected by rings in memory. undisturbed_release_after_due_ns is the line's own measurement. The end-to-end time
 * begins when the client has the packet ready and ends when it has it back; it includes four transfers of cache lines
 * between the CPUs.
 *
 * Disturbances of the end-to-end rows are detected independently of the line: a receive callback of port A records each
 * gap of the line's thread, and the client records its own gaps. A packet counts as undisturbed if the line's thread
 * had no gap over 1 us while the packet was held, and neither thread a gap over 300 ns while it was received or sent.
 * The callback costs the line time, so the line's own figures come from a run without it. Arguments: seconds per figure
 * (default 0.5).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <dp/eal.h>

#include "bench.h"

enum { RING_SIZE = 2048, MBUFS = 16383, BURST = 32, SAMPLES = 1 << 21, GAPS = 1 << 20 };

static int64_t *lateness; /* scratch, SAMPLES */

struct gap {
	uint64_t start, end;
};

/* Gaps between a thread's readings of the counter, in order. One thread writes. */
struct looks {
	struct gap *gaps; /* GAPS */
	size_t count;
	uint64_t last, gap_cycles;
};

struct sample {
	uint64_t sent, received;
};

struct client {
	struct bench *bench;
	struct sample *samples; /* SAMPLES */
	size_t count;
	struct looks *looks;
	struct bench_pace pace;
	uint64_t under_way;
};

static uint64_t look(struct looks *looks)
{
	uint64_t now = rte_rdtsc();

	if (now - looks->last > looks->gap_cycles && looks->count < GAPS)
		looks->gaps[looks->count++] = (struct gap){looks->last, now};
	looks->last = now;
	return now;
}

static uint16_t look_in_receive(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t count,
				uint16_t most, void *context)
{
	(void)port, (void)queue, (void)packets, (void)most;
	look(context);
	return count;
}

static uint64_t *stamp_of(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod_offset(packet, uint64_t *, 16);
}

static void depart(struct client *client, int port, struct rte_mbuf *packet)
{
	*stamp_of(packet) = look(client->looks);
	if (rte_ring_sp_enqueue(client->bench->in[port], packet) == 0)
		return;
	rte_pktmbuf_free(packet);
	client->under_way--;
}

static void start_exchange(struct client *client)
{
	struct rte_mbuf *packet = bench_packet(client->bench);

	if (!packet)
		return;
	client->under_way++;
	depart(client, 0, packet);
}

/* A packet from port B is reflected; one from port A has completed its round trip. */
static void receive(struct client *client, int port)
{
	struct rte_mbuf *packets[BURST];
	unsigned int count = rte_ring_sc_dequeue_burst(client->bench->out[port], (void **)packets, BURST, NULL);
	uint64_t now;

	if (count == 0)
		return;
	now = look(client->looks);
	for (unsigned int i = 0; i < count; i++) {
		if (client->count < SAMPLES)
			client->samples[client->count++] = (struct sample){*stamp_of(packets[i]), now};
		if (port == 1) {
			depart(client, 1, packets[i]);
			continue;
		}
		rte_pktmbuf_free(packets[i]);
		client->under_way--;
	}
}

static void run(struct client *client, double rate_pps, double seconds)
{
	uint64_t start = rte_rdtsc(), end = start + (uint64_t)(seconds * 1e9 / client->bench->clock.ns_per_cycle);

	client->looks->last = start;
	bench_pace_start(&client->pace, client->bench, rate_pps, start);
	for (uint64_t now = start; now < end || client->under_way > 0; now = look(client->looks)) {
		if (now < end && bench_pace_due(&client->pace, now))
			start_exchange(client);
		receive(client, 1);
		receive(client, 0);
	}
}

/* The first gap that ends after `when`. */
static size_t gap_after(const struct looks *looks, uint64_t when)
{
	size_t low = 0, high = looks->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (looks->gaps[middle].end > when)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * The line received and sent the packet between `sent` and `received - delay`, and between `sent + delay` and
 * `received`, respectively. A gap over `stall_cycles` anywhere, or any gap in these two intervals, disturbs it.
 */
static bool met_gap(const struct looks *looks, const struct sample *sample, uint64_t delay, uint64_t stall_cycles)
{
	for (size_t i = gap_after(looks, sample->sent); i < looks->count; i++) {
		const struct gap *gap = &looks->gaps[i];

		if (gap->start >= sample->received)
			return false;
		if (gap->end - gap->start > stall_cycles || gap->start < sample->received - delay ||
		    gap->end > sample->sent + delay)
			return true;
	}
	return false;
}

static void one_run(struct bench *bench, struct client *client, double delay_us, double subtract_ns, double rate_pps,
		    double seconds)
{
	struct error err = {0};

	client->count = client->looks->count = 0;
	bench_make_injector(bench, &(struct bench_options){.delay_us = delay_us, .subtract_ns = subtract_ns});
	if (injector_start(bench->injector, &err)) {
		fprintf(stderr, "benchmark: %s\n", err.text);
		exit(1);
	}
	run(client, rate_pps, seconds);
	injector_stop(bench->injector);
}

/* Measures one row. Returns the smallest lateness of an undisturbed packet. */
static double measure(struct bench *bench, struct client *client, struct looks *line_looks, const char *kind,
		      double delay_us, double subtract_ns, double rate_pps, double seconds)
{
	uint64_t delay = (uint64_t)dp_clock_cycles(&bench->clock, ns_from_us(delay_us));
	uint64_t stall_cycles = (uint64_t)dp_clock_cycles(&bench->clock, (struct ns){1000});
	const struct rte_eth_rxtx_callback *callback;
	json_t *own, *undisturbed;
	size_t clean = 0;
	double least_ns;

	one_run(bench, client, delay_us, subtract_ns, rate_pps, seconds);
	own = bench_own_lateness(bench);
	injector_destroy(bench->injector);
	line_looks->count = 0;
	line_looks->last = rte_rdtsc();
	callback = rte_eth_add_rx_callback(bench->ports[0], 0, look_in_receive, line_looks);
	one_run(bench, client, delay_us, subtract_ns, rate_pps, seconds);
	rte_eth_remove_rx_callback(bench->ports[0], 0, callback);
	injector_destroy(bench->injector);
	for (size_t i = 0; i < client->count; i++) {
		const struct sample *sample = &client->samples[i];

		if (!met_gap(line_looks, sample, delay, stall_cycles) &&
		    !met_gap(client->looks, sample, delay, UINT64_MAX))
			lateness[clean++] = (int64_t)(sample->received - sample->sent - delay);
	}
	bench_sort_cycles(lateness, clean);
	least_ns = clean ? bench_ns(bench, (double)lateness[0]) : INFINITY;
	undisturbed = bench_distribution(bench, lateness, clean);
	for (size_t i = 0; i < client->count; i++)
		lateness[i] = (int64_t)(client->samples[i].received - client->samples[i].sent - delay);
	bench_sort_cycles(lateness, client->count);
	bench_print("injector_accuracy",
		    json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:f}", "kind", kind, "delay_us", delay_us,
			      "rate_pps", rate_pps, "subtract_ns", subtract_ns, "undisturbed_release_after_due_ns", own,
			      "undisturbed_late_ns", undisturbed, "raw_late_ns",
			      bench_distribution(bench, lateness, client->count), "disturbed_share",
			      client->count ? 1 - (double)clean / (double)client->count : 0));
	return least_ns;
}

static int pin(void *argument)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*(const unsigned int *)argument, &set);
	return sched_setaffinity(0, sizeof set, &set);
}

/* Moves the line's thread to the last CPU that we may use, this one to the first. False if there is only one. */
static bool share_cpus(void)
{
	unsigned int cpus[2] = {CPU_SETSIZE, 0};
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof allowed, &allowed);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		cpus[0] = RTE_MIN(cpus[0], cpu);
		cpus[1] = cpu;
	}
	if (cpus[0] == cpus[1] || dp_lcore_run(dp_eal_worker(0), pin, &cpus[1]))
		return false;
	dp_lcore_wait(dp_eal_worker(0));
	return pin(&cpus[0]) == 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5, least_ns = INFINITY;
	struct bench bench = {0};
	struct looks line_looks = {.gaps = malloc(GAPS * sizeof(struct gap))};
	struct looks client_looks = {.gaps = malloc(GAPS * sizeof(struct gap))};
	struct client client = {
		.bench = &bench, .samples = malloc(SAMPLES * sizeof(struct sample)), .looks = &client_looks};

	lateness = malloc(SAMPLES * sizeof *lateness);
	if (seconds <= 0 || !client.samples || !lateness || !line_looks.gaps || !client_looks.gaps) {
		fprintf(stderr, "usage: %s [SECONDS]\n", argv[0]);
		return 2;
	}
	memset(client.samples, 1, SAMPLES * sizeof(struct sample)); /* avoids page faults during the measurement */
	memset(line_looks.gaps, 1, GAPS * sizeof(struct gap));
	memset(client_looks.gaps, 1, GAPS * sizeof(struct gap));
	bench_start(&bench, MBUFS, RING_SIZE);
	line_looks.gap_cycles = client_looks.gap_cycles = (uint64_t)dp_clock_cycles(&bench.clock, (struct ns){300});
	if (!share_cpus()) {
		bench_print("injector_accuracy", json_pack("{s:s}", "skipped", "it takes two CPUs"));
		bench_stop(&bench);
		return 0;
	}
	measure(&bench, &client, &line_looks, "warm-up", 10, 0, 1e6, seconds);
	for (size_t d = 0; d < BENCH_DELAYS; d++) {
		for (size_t r = 0; r < BENCH_RATES; r++)
			least_ns = fmin(least_ns, measure(&bench, &client, &line_looks, "two threads",
							  bench_delays_us[d], 0, bench_rates_pps[r], seconds));
	}
	for (size_t r = 0; r < BENCH_RATES && isfinite(least_ns); r++)
		measure(&bench, &client, &line_looks, "two threads, path subtracted", 10, least_ns, bench_rates_pps[r],
			seconds);
	bench_stop(&bench);
	free(client.samples);
	free(lateness);
	free(line_looks.gaps);
	free(client_looks.gaps);
	return 0;
}

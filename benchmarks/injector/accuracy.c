/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How exact the delay is, from port to port: a client stamps a packet and puts it into ring port A, the line holds it
 * and hands it to port B, where a transmit callback stamps it; the client's far side takes it out, notes how late it
 * was against D, stamps it again and reflects it. All on one thread, so that no second CPU is needed: while the client
 * sends, notes or reflects one packet, the line cannot receive or release another, and this is part of the lateness (so
 * the client does one of these at a time); "one way" rows leave the reflecting out. How long a packet that has left
 * waits for the client to have its turn is not. undisturbed_release_after_due_ns is what the line says of itself. Gaps
 * between packets are uniform over half to one and a half of the mean, so that arrivals do not keep step with
 * departures.
 *
 * A packet is undisturbed when no gap over 1 us in this thread fell into its stay and none over 300 ns into its coming
 * or going; a reflected one, when it was undisturbed before as well. Arguments: seconds per figure (default 0.5).
 *
 * The contended rows run beside busy threads on every CPU: undisturbed figures should stand, raw ones cannot.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "bench.h"

enum { RING_SIZE = 2048, MBUFS = 16383, SPARE = 64, SAMPLES = 1 << 21, HOGS_MAXIMUM = 64 };

static int64_t *lateness; /* scratch, SAMPLES */

/* Lateness in cycles, times two, plus one where the packet was disturbed: one store a packet. */
struct samples {
	int64_t *marked;
	size_t count;
};

struct client {
	struct bench *bench;
	struct samples samples;
	int64_t delay_cycles;
	uint64_t stall_cycles, gap_cycles, last_look, stall_end, stalls;
	struct mark *fresh; /* sent in this turn, or NULL */
	bool gap;           /* the last look found one */
	bool reflects;
	struct bench_pace pace;
	struct rte_mbuf *reflected;    /* taken out of port B, to be put in again; or NULL */
	struct rte_mbuf *spare[SPARE]; /* back from their way: the next to be sent */
	unsigned int spare_count;
};

/* Payload. */
struct mark {
	uint64_t sent; /* TSC, as the client puts it into a port */
	uint64_t left; /* TSC, as the line hands it to the other */
	uint64_t disturbed;
};

static struct mark *stamp_of(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod_offset(packet, struct mark *, 16);
}

/* A gap disturbs what was sent in this turn or leaves at its end, a stall everything that is on its way. */
static uint64_t look(struct client *client)
{
	uint64_t now = rte_rdtsc(), gap = now - client->last_look;

	client->last_look = now;
	client->gap = gap > client->gap_cycles;
	if (client->gap && client->fresh)
		client->fresh->disturbed = 1;
	if (gap > client->stall_cycles) {
		client->stall_end = now;
		client->stalls++;
	}
	return now;
}

/* The line hands these to a port. */
static uint16_t stamp_left(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t count, void *context)
{
	struct client *client = context;
	uint64_t now = look(client);

	(void)port, (void)queue;
	for (uint16_t i = 0; i < count; i++) {
		struct mark *stamp = stamp_of(packets[i]);

		stamp->left = now;
		stamp->disturbed |= client->gap || (int64_t)(stamp->sent - client->stall_end) <= 0;
	}
	return count;
}

static void note(struct client *client, const struct mark *stamp)
{
	struct samples *samples = &client->samples;
	int64_t late = (int64_t)(stamp->left - stamp->sent) - client->delay_cycles;

	if (samples->count < SAMPLES)
		samples->marked[samples->count++] = 2 * late + (int64_t)stamp->disturbed;
}

static void put_away(struct client *client, struct rte_mbuf *packet)
{
	if (client->spare_count < SPARE)
		client->spare[client->spare_count++] = packet;
	else
		rte_pktmbuf_free(packet);
}

static void depart(struct client *client, int port, struct rte_mbuf *packet)
{
	client->fresh = stamp_of(packet);
	client->fresh->sent = rte_rdtsc();
	if (rte_ring_sp_enqueue(client->bench->in[port], packet) == 0)
		return;
	client->fresh = NULL;
	put_away(client, packet);
}

static void start_exchange(struct client *client)
{
	struct rte_mbuf *packet =
		client->spare_count > 0 ? client->spare[--client->spare_count] : bench_packet(client->bench);

	if (!packet)
		return;
	stamp_of(packet)->disturbed = 0;
	depart(client, 0, packet);
}

/* One packet that left at this port, if there is any: from port A it is back, from port B it is to be reflected. */
static bool receive(struct client *client, int port)
{
	struct rte_mbuf *packet;

	if (rte_ring_sc_dequeue(client->bench->out[port], (void **)&packet) != 0)
		return false;
	note(client, stamp_of(packet));
	if (port == 1 && client->reflects)
		client->reflected = packet;
	else
		put_away(client, packet);
	return true;
}

/* One small thing, so that the line has its turn after each. Returns the counter. */
static uint64_t turn(struct client *client, uint64_t now, bool sends)
{
	client->fresh = NULL;
	if (client->reflected) {
		depart(client, 1, client->reflected);
		client->reflected = NULL;
	} else if (!receive(client, 1) && !receive(client, 0) && sends && bench_pace_due(&client->pace, now)) {
		start_exchange(client);
	}
	injector_poll(client->bench->injector, 1);
	return look(client);
}

static void run(struct client *client, double rate_pps, double seconds)
{
	uint64_t start = rte_rdtsc(), end = start + (uint64_t)(seconds * 1e9 / client->bench->clock.ns_per_cycle);

	client->last_look = start;
	client->stall_end = start;
	bench_pace_start(&client->pace, client->bench, rate_pps, start);
	for (uint64_t now = start; now < end;)
		now = turn(client, now, true);
}

static void drain(struct client *client)
{
	struct injector_statistics statistics;
	struct error err;

	do {
		for (int i = 0; i < 64; i++)
			turn(client, client->last_look, false);
		injector_read(client->bench->injector, &statistics, &err);
	} while (client->reflected ||
		 statistics.direction[0].held + statistics.direction[1].held + rte_ring_count(client->bench->in[1]) +
				 rte_ring_count(client->bench->in[0]) + rte_ring_count(client->bench->out[1]) +
				 rte_ring_count(client->bench->out[0]) >
			 0);
	rte_pktmbuf_free_bulk(client->spare, client->spare_count);
	client->spare_count = 0;
}

/* Sorts the undisturbed packets to the front, and returns how many there are. */
static size_t sort_undisturbed(const struct samples *samples)
{
	size_t clean = 0;

	for (size_t i = 0; i < samples->count; i++) {
		if (!(samples->marked[i] & 1))
			lateness[clean++] = samples->marked[i] / 2;
	}
	bench_sort_cycles(lateness, clean);
	return clean;
}

static void sort_all(const struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		lateness[i] = (samples->marked[i] - (samples->marked[i] & 1)) / 2;
	bench_sort_cycles(lateness, samples->count);
}

/* One figure; returns the least lateness of an undisturbed packet. */
static double measure(struct bench *bench, struct samples *buffers, const char *kind, bool reflects, double delay_us,
		      double subtract_ns, double rate_pps, double seconds)
{
	struct client client = {
		.bench = bench,
		.samples = *buffers,
		.reflects = reflects,
		.delay_cycles = dp_clock_cycles(&bench->clock, ns_from_us(delay_us)),
		.stall_cycles = (uint64_t)dp_clock_cycles(&bench->clock, (struct ns){1000}),
		.gap_cycles = (uint64_t)dp_clock_cycles(&bench->clock, (struct ns){300}),
	};
	struct samples *samples = &client.samples;
	const struct rte_eth_rxtx_callback *callbacks[2];
	struct injector_statistics statistics;
	struct error err;
	json_t *own, *undisturbed;
	double least_ns;
	size_t clean;

	samples->count = 0;
	for (int i = 0; i < 2; i++)
		callbacks[i] = rte_eth_add_tx_callback(bench->ports[i], 0, stamp_left, &client);
	bench_make_injector(bench, &(struct bench_options){.delay_us = delay_us, .subtract_ns = subtract_ns});
	run(&client, rate_pps, seconds);
	drain(&client);
	for (int i = 0; i < 2; i++)
		rte_eth_remove_tx_callback(bench->ports[i], 0, callbacks[i]);
	injector_read(bench->injector, &statistics, &err);
	own = bench_own_lateness(bench);
	injector_destroy(bench->injector);
	clean = sort_undisturbed(samples);
	least_ns = clean ? bench_ns(bench, (double)lateness[0]) : INFINITY;
	undisturbed = bench_distribution(bench, lateness, clean);
	sort_all(samples);
	bench_print("injector_accuracy",
		    json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:f, s:I}", "kind", kind, "delay_us", delay_us,
			      "rate_pps", rate_pps, "subtract_ns", subtract_ns, "undisturbed_release_after_due_ns", own,
			      "undisturbed_late_ns", undisturbed, "raw_late_ns",
			      bench_distribution(bench, lateness, samples->count), "disturbed_share",
			      samples->count ? 1 - (double)clean / (double)samples->count : 0, "stalls",
			      (json_int_t)client.stalls));
	return least_ns;
}

static atomic_bool hogs_stop;

static void *hog(void *unused)
{
	while (!atomic_load_explicit(&hogs_stop, memory_order_relaxed))
		;
	return unused;
}

static void contend(struct bench *bench, struct samples *buffers, double seconds)
{
	pthread_t hogs[HOGS_MAXIMUM];
	long count = RTE_MIN(sysconf(_SC_NPROCESSORS_ONLN), (long)HOGS_MAXIMUM);

	for (long i = 0; i < count; i++)
		pthread_create(&hogs[i], NULL, hog, NULL);
	measure(bench, buffers, "contended", true, 10, 0, 1e6, 2 * seconds);
	measure(bench, buffers, "contended", true, 50, 0, 1e5, 2 * seconds);
	atomic_store(&hogs_stop, true);
	for (long i = 0; i < count; i++)
		pthread_join(hogs[i], NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5, least_ns = INFINITY;
	struct samples buffers = {.marked = malloc(SAMPLES * sizeof(int64_t))};
	struct bench bench = {0};

	lateness = malloc(SAMPLES * sizeof *lateness);
	if (seconds <= 0 || !buffers.marked || !lateness) {
		fprintf(stderr, "usage: %s [SECONDS]\n", argv[0]);
		return 2;
	}
	memset(buffers.marked, 1, SAMPLES * sizeof(int64_t)); /* no page fault in the measurement */
	bench_start(&bench, MBUFS, RING_SIZE);
	measure(&bench, &buffers, "warm-up", true, 10, 0, 1e6, seconds);
	for (size_t d = 0; d < BENCH_DELAYS; d++) {
		for (size_t r = 0; r < BENCH_RATES; r++) {
			double floor_ns = measure(&bench, &buffers, "fixed", true, bench_delays_us[d], 0,
						  bench_rates_pps[r], seconds);

			if (floor_ns < least_ns)
				least_ns = floor_ns;
		}
	}
	for (size_t r = 0; r < BENCH_RATES; r++) {
		measure(&bench, &buffers, "one way", false, 10, 0, bench_rates_pps[r], seconds);
		measure(&bench, &buffers, "one way", false, 100, 0, bench_rates_pps[r], seconds);
	}
	/* The least time of the path taken off: the earliest packet is on time, the others late by the path's scatter.
	 */
	for (size_t r = 0; r < BENCH_RATES && isfinite(least_ns); r++) {
		measure(&bench, &buffers, "path subtracted", true, 10, least_ns, bench_rates_pps[r], seconds);
		measure(&bench, &buffers, "path subtracted", true, 100, least_ns, bench_rates_pps[r], seconds);
	}
	contend(&bench, &buffers, seconds);
	bench_stop(&bench);
	free(buffers.marked);
	free(lateness);
	return 0;
}

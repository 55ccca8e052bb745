/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accuracy of the delay from port to port. A client stamps a packet and enqueues it on ring port A; the line delays it
 * and sends it on port B, where a transmit callback stamps it. The client's far side dequeues it, records its lateness
 * against D, stamps it again and reflects it; "one way" rows do not reflect. Everything runs on one thread, so that no
 * second CPU is needed. While the client sends, records or reflects a packet, the line cannot receive or release
 * another: this counts as lateness, so the client does only one of these per turn. The time that a transmitted packet
 * waits for the client's next turn does not count. undisturbed_release_after_due_ns is the line's own measurement. Gaps
 * between packets are uniform over 0.5 to 1.5 times the mean, so that arrivals do not synchronise with departures.
 *
 * A packet is undisturbed if this thread had no gap over 1 us while the packet was held and no gap over 300 ns while it
 * was received or sent; a reflected packet must be undisturbed in both directions. Arguments: seconds per figure
 * (default 0.5).
 *
 * The contended rows run beside busy threads on every CPU: the undisturbed figures should not change, the raw ones
 * will.
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

/* Twice the lateness in cycles, plus 1 if the packet was disturbed: a single store per packet. */
struct samples {
	int64_t *marked;
	size_t count;
};

struct client {
	struct bench *bench;
	struct samples samples;
	int64_t delay_cycles;
	uint64_t stall_cycles, gap_cycles, last_look, stall_end, stalls;
	struct mark *fresh; /* packet sent in this turn, or NULL */
	bool gap;           /* the last look at the counter found a gap */
	bool reflects;
	struct bench_pace pace;
	struct rte_mbuf *reflected;    /* received from port B, to be sent next; or NULL */
	struct rte_mbuf *spare[SPARE]; /* returned packets, to be sent again */
	unsigned int spare_count;
};

/* Payload. */
struct mark {
	uint64_t sent; /* TSC when the client enqueues it */
	uint64_t left; /* TSC when the line transmits it */
	uint64_t disturbed;
};

static struct mark *stamp_of(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod_offset(packet, struct mark *, 16);
}

/*
 * A gap disturbs the packet sent in this turn and those transmitted at its end; a stall disturbs all packets in
 * transit.
 */
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

/* Transmit callback: stamps the packets that the line sends. */
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

/* Takes one packet that left at this port, if any: at port A the round trip is complete, at port B it is reflected. */
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

/* Does one short step, so that the line gets its turn after each. Returns the counter. */
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

/* Moves the undisturbed packets to the front, sorted. Returns their number. */
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

/* Measures one row. Returns the smallest lateness of an undisturbed packet. */
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
	memset(buffers.marked, 1, SAMPLES * sizeof(int64_t)); /* avoids page faults during the measurement */
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
	/*
	 * Subtracts the path's minimum latency: the earliest packet is then on time, the others are late by the path's
	 * jitter.
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

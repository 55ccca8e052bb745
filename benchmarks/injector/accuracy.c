/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How exact the delay is, end to end: a client stamps a packet and sends it into ring port A, the line holds it, the
 * client's far side takes it out of port B, notes how late it is against D, stamps it again and reflects it. All on one
 * thread, so that no second CPU is needed; the client's own work is part of the lateness. A packet is undisturbed when
 * no gap over 1 us in this thread fell into its stay. Arguments: seconds per figure (default 0.5).
 *
 * The contended rows run beside busy threads on every CPU: undisturbed figures should stand, raw ones cannot.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "bench.h"

enum { RING_SIZE = 2048, MBUFS = 16383, BURST = 32, FRAME_BYTES = 60, SAMPLES = 1 << 21, HOGS_MAXIMUM = 64 };

static const double delays_us[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
static const double rates_pps[] = {1e5, 1e6};

struct samples {
	double *all_ns, *clean_ns;
	size_t all, clean;
};

struct client {
	struct bench *bench;
	struct samples samples;
	int64_t delay_cycles;
	uint64_t stall_cycles, last_look, stall_end, stalls;
	uint64_t sent;
};

/* Payload: the stamp of the last departure. */
static uint64_t *stamp_of(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod_offset(packet, uint64_t *, 16);
}

static uint64_t look(struct client *client)
{
	uint64_t now = rte_rdtsc();

	if (now - client->last_look > client->stall_cycles) {
		client->stall_end = now;
		client->stalls++;
	}
	client->last_look = now;
	return now;
}

static void note(struct client *client, uint64_t sent, uint64_t now)
{
	struct samples *samples = &client->samples;
	double late_ns = bench_ns(client->bench, (double)((int64_t)(now - sent) - client->delay_cycles));

	if (samples->all < SAMPLES)
		samples->all_ns[samples->all++] = late_ns;
	if ((int64_t)(sent - client->stall_end) > 0 && samples->clean < SAMPLES)
		samples->clean_ns[samples->clean++] = late_ns;
}

static void send(struct client *client)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(client->bench->pool);

	if (!packet)
		return;
	rte_pktmbuf_append(packet, FRAME_BYTES);
	*stamp_of(packet) = rte_rdtsc();
	if (rte_ring_sp_enqueue(client->bench->in[0], packet) != 0)
		rte_pktmbuf_free(packet);
	else
		client->sent++;
}

/* From port B: measure, stamp again, reflect. From port A: measure, done. */
static void receive(struct client *client, int port)
{
	struct rte_mbuf *packets[BURST];
	unsigned int count = rte_ring_sc_dequeue_burst(client->bench->out[port], (void **)packets, BURST, NULL);
	uint64_t now;

	if (count == 0)
		return;
	now = look(client);
	for (unsigned int i = 0; i < count; i++) {
		note(client, *stamp_of(packets[i]), now);
		if (port == 1) {
			*stamp_of(packets[i]) = rte_rdtsc();
			if (rte_ring_sp_enqueue(client->bench->in[1], packets[i]) == 0)
				continue;
		}
		rte_pktmbuf_free(packets[i]);
	}
}

static void run(struct client *client, double rate_pps, double seconds)
{
	double ns_per_cycle = client->bench->clock.ns_per_cycle;
	double gap_cycles = 1e9 / rate_pps / ns_per_cycle;
	uint64_t start = rte_rdtsc(), length = (uint64_t)(seconds * 1e9 / ns_per_cycle);
	double next = 0;

	client->last_look = start;
	client->stall_end = start;
	for (uint64_t now = start; now - start < length; now = look(client)) {
		if ((double)(now - start) >= next) {
			send(client);
			next += gap_cycles;
			if (next + 1e6 / ns_per_cycle < (double)(now - start))
				next = (double)(now - start); /* after a stall: no burst to catch up */
		}
		injector_poll(client->bench->injector, 1);
		receive(client, 1);
		receive(client, 0);
	}
}

static void drain(struct client *client)
{
	struct injector_statistics statistics;
	struct error err;

	do {
		injector_poll(client->bench->injector, 1);
		receive(client, 1);
		receive(client, 0);
		injector_read(client->bench->injector, &statistics, &err);
	} while (statistics.direction[0].held + statistics.direction[1].held + rte_ring_count(client->bench->in[1]) +
			 rte_ring_count(client->bench->in[0]) >
		 0);
	receive(client, 1);
	receive(client, 0);
}

static json_t *distribution(const double *sorted, size_t count)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)count, "min",
			 bench_quantile(sorted, count, 0), "p50", bench_quantile(sorted, count, 0.5), "p99",
			 bench_quantile(sorted, count, 0.99), "p99_9", bench_quantile(sorted, count, 0.999), "max",
			 bench_quantile(sorted, count, 1));
}

/* What the injector says of itself: release after due, the client's own work left out. */
static json_t *own_lateness(const struct bench *bench)
{
	struct histogram *clean = histogram_create(1, INT64_C(2000000000), 3);
	json_t *object;

	for (int d = 0; d < INJECTOR_DIRECTIONS; d++)
		injector_read_lateness(bench->injector, d, false, clean);
	object = json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)histogram_count(clean), "p50",
			   (json_int_t)histogram_percentile(clean, 50), "p99",
			   (json_int_t)histogram_percentile(clean, 99), "p99_9",
			   (json_int_t)histogram_percentile(clean, 99.9));
	histogram_destroy(clean);
	return object;
}

/* One figure; returns the least lateness of an undisturbed packet. */
static double measure(struct bench *bench, struct samples *buffers, const char *kind, double delay_us,
		      double subtract_ns, double rate_pps, double seconds)
{
	struct client client = {
		.bench = bench,
		.samples = *buffers,
		.delay_cycles = dp_clock_cycles(&bench->clock, ns_from_us(delay_us)),
		.stall_cycles = (uint64_t)dp_clock_cycles(&bench->clock, (struct ns){1000}),
	};
	struct samples *samples = &client.samples;
	struct injector_statistics statistics;
	struct error err;
	json_t *own;

	samples->all = samples->clean = 0;
	bench_make_injector(bench, &(struct bench_options){.delay_us = delay_us, .subtract_ns = subtract_ns});
	run(&client, rate_pps, seconds);
	drain(&client);
	injector_read(bench->injector, &statistics, &err);
	own = own_lateness(bench);
	injector_destroy(bench->injector);
	bench_sort(samples->all_ns, samples->all);
	bench_sort(samples->clean_ns, samples->clean);
	bench_print("injector_accuracy",
		    json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:f, s:I}", "kind", kind, "delay_us", delay_us,
			      "rate_pps", rate_pps, "subtract_ns", subtract_ns, "undisturbed_release_after_due_ns", own,
			      "undisturbed_late_ns", distribution(samples->clean_ns, samples->clean), "raw_late_ns",
			      distribution(samples->all_ns, samples->all), "disturbed_share",
			      samples->all ? 1 - (double)samples->clean / (double)samples->all : 0, "stalls",
			      (json_int_t)client.stalls));
	return bench_quantile(samples->clean_ns, samples->clean, 0);
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
	measure(bench, buffers, "contended", 10, 0, 1e6, 2 * seconds);
	measure(bench, buffers, "contended", 50, 0, 1e5, 2 * seconds);
	atomic_store(&hogs_stop, true);
	for (long i = 0; i < count; i++)
		pthread_join(hogs[i], NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5, least_ns = 1e9;
	struct samples buffers = {.all_ns = malloc(SAMPLES * sizeof(double)),
				  .clean_ns = malloc(SAMPLES * sizeof(double))};
	struct bench bench = {0};

	if (seconds <= 0 || !buffers.all_ns || !buffers.clean_ns) {
		fprintf(stderr, "usage: %s [SECONDS]\n", argv[0]);
		return 2;
	}
	bench_start(&bench, MBUFS, RING_SIZE);
	measure(&bench, &buffers, "warm-up", 10, 0, 1e6, seconds);
	for (size_t d = 0; d < sizeof delays_us / sizeof delays_us[0]; d++) {
		for (size_t r = 0; r < sizeof rates_pps / sizeof rates_pps[0]; r++) {
			double floor_ns = measure(&bench, &buffers, "fixed", delays_us[d], 0, rates_pps[r], seconds);

			if (floor_ns < least_ns)
				least_ns = floor_ns;
		}
	}
	/* The path at D = 0 taken off: the earliest packet is on time, the others late by the loop's period. */
	measure(&bench, &buffers, "path subtracted", 10, least_ns, 1e5, seconds);
	measure(&bench, &buffers, "path subtracted", 100, least_ns, 1e6, seconds);
	contend(&bench, &buffers, seconds);
	bench_stop(&bench);
	free(buffers.all_ns);
	free(buffers.clean_ns);
	return 0;
}

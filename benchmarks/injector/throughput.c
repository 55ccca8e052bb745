/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets per second that one core delays, both directions: packets circulate between two ring ports through the delay
 * line as fast as possible, all on this thread. For comparison, the same rings with a plain forwarding loop (as
 * testpmd's io engine). Arguments: seconds per figure (default 1), rounds (default 5).
 */
#include <base/ns.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "bench.h"

enum { RING_SIZE = 4096, MBUFS = 65535, BURST = 32, FRAME_BYTES = 60, FIGURES = 5 };

/* Packets still to be enqueued: the rings are small, so that they stay in the cache; the line holds the rest. */
static unsigned int waiting[2];

static void enter(struct bench *bench)
{
	for (int port = 0; port < 2; port++) {
		struct rte_mbuf *packets[BURST];
		unsigned int count = RTE_MIN(waiting[port], (unsigned int)BURST);

		if (count == 0 || rte_ring_free_count(bench->in[port]) < 2 * BURST ||
		    rte_pktmbuf_alloc_bulk(bench->pool, packets, count) != 0)
			continue;
		for (unsigned int i = 0; i < count; i++)
			rte_pktmbuf_append(packets[i], FRAME_BYTES);
		rte_ring_sp_enqueue_bulk(bench->in[port], (void **)packets, count, NULL);
		waiting[port] -= count;
	}
}

/* Packets that left a port enter it again, as if the host behind it reflected them. */
static unsigned int go_round(struct bench *bench)
{
	struct rte_mbuf *packets[BURST];
	unsigned int total = 0;

	for (int port = 0; port < 2; port++) {
		unsigned int count = rte_ring_sc_dequeue_burst(bench->out[port], (void **)packets, BURST, NULL);

		total += count;
		if (count)
			rte_ring_sp_enqueue_bulk(bench->in[port], (void **)packets, count, NULL);
	}
	return total;
}

static void forward(const struct bench *bench)
{
	struct rte_mbuf *packets[BURST];

	for (int port = 0; port < 2; port++) {
		uint16_t count = rte_eth_rx_burst(bench->ports[port], 0, packets, BURST);

		if (count)
			rte_eth_tx_burst(bench->ports[!port], 0, packets, count);
	}
}

/*
 * Packets per direction and second of CPU time: on a loaded machine, wall-clock time would measure the scheduler. On a
 * dedicated CPU both are the same.
 */
static double run(struct bench *bench, bool inject, unsigned int circulating, double seconds, double *wall_pps)
{
	double cpu_start = 0;
	uint64_t warm = (uint64_t)(0.2 * 1e9 / bench->clock.ns_per_cycle);
	uint64_t length = (uint64_t)(seconds * 1e9 / bench->clock.ns_per_cycle);
	uint64_t start = rte_rdtsc(), now = start, counted_from = 0, packets = 0;

	waiting[0] = waiting[1] = circulating / 2;
	while (counted_from == 0 || now - counted_from < length) {
		for (int i = 0; i < 64; i++) {
			if (inject)
				injector_poll(bench->injector, 1);
			else
				forward(bench);
			packets += go_round(bench);
		}
		if (waiting[0] || waiting[1])
			enter(bench);
		now = rte_rdtsc();
		if (counted_from == 0 && now - start > warm) {
			counted_from = now;
			packets = 0;
			cpu_start = ns_to_s(ns_now_cpu());
		}
	}
	*wall_pps = (double)packets / 2 / (bench_ns(bench, (double)(now - counted_from)) / 1e9);
	return (double)packets / 2 / (ns_to_s(ns_now_cpu()) - cpu_start);
}

static void empty(struct bench *bench)
{
	struct rte_mbuf *packet;

	for (int port = 0; port < 2; port++) {
		while (rte_ring_sc_dequeue(bench->in[port], (void **)&packet) == 0 ||
		       rte_ring_sc_dequeue(bench->out[port], (void **)&packet) == 0)
			rte_pktmbuf_free(packet);
	}
}

struct figure {
	double delay_us;
	unsigned int circulating; /* packets, both directions */
};

/* From few packets at small delays to as many as the line can hold at 500 us. */
static const struct figure figures[FIGURES] = {{0, 512}, {1, 1024}, {10, 4096}, {100, 16000}, {500, 32000}};

static void measure(struct bench *bench, const struct figure *figure, double seconds, unsigned int rounds)
{
	double inject_pps[64], forward_pps[64], ratio[64], wall_pps[64], unused;
	struct injector_statistics statistics = {0};
	uint64_t dropped = 0, held = 0;
	struct error err;

	for (unsigned int i = 0; i < rounds; i++) {
		forward_pps[i] = run(bench, false, 1024, seconds / 2, &unused);
		empty(bench);
		bench_make_injector(bench, &(struct bench_options){.delay_us = figure->delay_us, .slots = 16384});
		inject_pps[i] = run(bench, true, figure->circulating, seconds, &wall_pps[i]);
		injector_read(bench->injector, &statistics, &err);
		for (int d = 0; d < 2; d++) {
			dropped += statistics.direction[d].ring_full;
			held = RTE_MAX(held, statistics.direction[d].held);
		}
		injector_destroy(bench->injector);
		empty(bench);
		ratio[i] = inject_pps[i] / forward_pps[i];
	}
	bench_sort(inject_pps, rounds);
	bench_sort(forward_pps, rounds);
	bench_sort(ratio, rounds);
	bench_sort(wall_pps, rounds);
	bench_print("injector_throughput",
		    json_pack("{s:f, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:I}", "delay_us", figure->delay_us,
			      "circulating", (int)figure->circulating, "held_at_end", (json_int_t)held,
			      "Mpps_per_direction_median", bench_quantile(inject_pps, rounds, 0.5) / 1e6,
			      "Mpps_per_direction_best", inject_pps[rounds - 1] / 1e6,
			      "wall_clock_Mpps_per_direction_best", wall_pps[rounds - 1] / 1e6,
			      "bare_forwarding_Mpps_median", bench_quantile(forward_pps, rounds, 0.5) / 1e6,
			      "ratio_median", bench_quantile(ratio, rounds, 0.5), "dropped", (json_int_t)dropped));
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	struct bench bench = {0};

	if (seconds <= 0 || rounds < 1 || rounds > 64) {
		fprintf(stderr, "usage: %s [SECONDS [ROUNDS]]\n", argv[0]);
		return 2;
	}
	bench_start(&bench, MBUFS, RING_SIZE);
	for (int i = argc > 3 ? atoi(argv[3]) : 0; i < FIGURES; i++)
		measure(&bench, &figures[i], seconds, rounds);
	bench_stop(&bench);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "circulate.h"

#include <base/ns.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

enum { BURST = 32, FRAME_BYTES = 60 };

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

double circulate(struct bench *bench, bool inject, unsigned int circulating, double seconds, double *wall_pps)
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

void circulate_empty(struct bench *bench)
{
	struct rte_mbuf *packet;

	for (int port = 0; port < 2; port++) {
		while (rte_ring_sc_dequeue(bench->in[port], (void **)&packet) == 0 ||
		       rte_ring_sc_dequeue(bench->out[port], (void **)&packet) == 0)
			rte_pktmbuf_free(packet);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends many numbered packets through the line in both directions while the delay changes; every third delay is 0.
 * Checks that no packet is lost, duplicated or reordered, and that the counters add up. Arguments: packets per
 * direction (default 1e8), changes of the delay (default 1000). Exit 1 on any error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <base/rng.h>

#include "bench.h"

enum { RING_SIZE = 2048, MBUFS = 32767, BURST = 32, FRAME_BYTES = 60, HELD_MAXIMUM = 12000, CHECK_EVERY = 1024 };

struct side {
	uint64_t sent, received, wrong;
};

static void send(struct bench *bench, int port, uint64_t total, struct side *side)
{
	struct rte_mbuf *packets[BURST];
	unsigned int count = (unsigned int)RTE_MIN((uint64_t)BURST, total - side->sent);

	if (count == 0 || side->sent - side->received > HELD_MAXIMUM || rte_ring_free_count(bench->in[port]) < count ||
	    rte_pktmbuf_alloc_bulk(bench->pool, packets, count) != 0)
		return;
	for (unsigned int i = 0; i < count; i++) {
		rte_pktmbuf_append(packets[i], FRAME_BYTES);
		*rte_pktmbuf_mtod_offset(packets[i], uint64_t *, 16) = side->sent++;
	}
	rte_ring_sp_enqueue_bulk(bench->in[port], (void **)packets, count, NULL);
}

static void receive(struct bench *bench, int port, struct side *side)
{
	struct rte_mbuf *packets[BURST];
	unsigned int count = rte_ring_sc_dequeue_burst(bench->out[port], (void **)packets, BURST, NULL);

	for (unsigned int i = 0; i < count; i++)
		side->wrong += *rte_pktmbuf_mtod_offset(packets[i], uint64_t *, 16) != side->received++;
	if (count)
		rte_pktmbuf_free_bulk(packets, count);
}

static double seconds_now(void)
{
	return ns_to_s(ns_now_monotonic());
}

int main(int argc, char **argv)
{
	uint64_t total = argc > 1 ? (uint64_t)atof(argv[1]) : 100000000,
		 changes = argc > 2 ? (uint64_t)atof(argv[2]) : 1000;
	uint64_t changed = 0, dropped = 0, lost, wrong;
	struct side sides[2] = {0};
	struct bench bench = {0};
	struct injector_statistics statistics;
	struct error err = {0};
	struct rng rng;
	double start;

	bench_start(&bench, MBUFS, RING_SIZE);
	bench_make_injector(&bench, &(struct bench_options){.delay_us = 10});
	rng_seed(&rng, 1);
	start = seconds_now();
	while (sides[0].received < total || sides[1].received < total) {
		for (int i = 0; i < CHECK_EVERY; i++) {
			for (int port = 0; port < 2; port++) {
				send(&bench, port, total, &sides[port]);
				receive(&bench, !port, &sides[port]);
			}
			injector_poll(bench.injector, 1);
		}
		if (changed < changes && sides[0].sent >= changed * (total / changes)) {
			double delay_us[] = {(double)rng_below(&rng, 2000) / 10, (double)rng_below(&rng, 2000) / 10};

			if (changed % 3 == 0)
				delay_us[0] = delay_us[1] = 0;
			changed += injector_set_delay(bench.injector, delay_us, &err) == 0;
		}
	}
	injector_read(bench.injector, &statistics, &err);
	for (int d = 0; d < INJECTOR_DIRECTIONS; d++)
		dropped += statistics.direction[d].ring_full + statistics.direction[d].lost;
	lost = 2 * total - sides[0].received - sides[1].received;
	wrong = sides[0].wrong + sides[1].wrong;
	bench_print("injector_soak",
		    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "packets", (json_int_t)(2 * total),
			      "delay_changes", (json_int_t)changed, "lost", (json_int_t)lost, "out_of_order_or_twice",
			      (json_int_t)wrong, "dropped_by_count", (json_int_t)dropped, "counted_sent",
			      (json_int_t)(statistics.direction[0].tx_packets + statistics.direction[1].tx_packets),
			      "seconds", seconds_now() - start));
	bench_stop(&bench);
	return lost || wrong || dropped || changed != changes;
}

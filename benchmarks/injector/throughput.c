/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets per second that one core delays, both directions: packets circulate between two ring ports through the delay
 * line as fast as possible, all on this thread. For comparison, the same rings with a plain forwarding loop (as
 * testpmd's io engine). Arguments: seconds per figure (default 1), rounds (default 5).
 */
#include <stdio.h>
#include <stdlib.h>

#include "circulate.h"

enum { RING_SIZE = 4096, MBUFS = 65535, FIGURES = 5 };

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
		forward_pps[i] = circulate(bench, false, 1024, seconds / 2, &unused);
		circulate_empty(bench);
		bench_make_injector(bench, &(struct bench_options){.delay_us = figure->delay_us, .slots = 16384});
		inject_pps[i] = circulate(bench, true, figure->circulating, seconds, &wall_pps[i]);
		injector_read(bench->injector, &statistics, &err);
		for (int d = 0; d < 2; d++) {
			dropped += statistics.direction[d].ring_full;
			held = RTE_MAX(held, statistics.direction[d].held);
		}
		injector_destroy(bench->injector);
		circulate_empty(bench);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the injector's benchmarks: an injector between four rings, all on this thread, and JSON output. */
#ifndef BENCHMARKS_INJECTOR_BENCH_H
#define BENCHMARKS_INJECTOR_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>
#include <jansson.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <injector/line/line.h>

struct bench {
	struct rte_ring *in[2], *out[2];
	uint16_t ports[2];
	struct rte_mempool *pool;
	struct dp_clock clock;
	struct injector *injector;
};

struct bench_options {
	double delay_us, stall_us, subtract_ns;
	uint32_t slots;
	struct injector_modes *modes[INJECTOR_DIRECTIONS]; /* borrowed; NULL = none */
	struct injector_rules *rules[INJECTOR_DIRECTIONS];
	unsigned int ring_size;
};

/* Prints an error on stderr and exits if something fails. */
void bench_start(struct bench *bench, unsigned int mbufs, unsigned int ring_size);
void bench_make_injector(struct bench *bench, const struct bench_options *options);
void bench_stop(struct bench *bench);

double bench_ns(const struct bench *bench, double cycles);

/* Grid of the accuracy measurement: delays in us, rates in packets per second. */
enum { BENCH_DELAYS = 9, BENCH_RATES = 2 };
extern const double bench_delays_us[BENCH_DELAYS], bench_rates_pps[BENCH_RATES];

/* A frame of 60 bytes, or NULL. */
struct rte_mbuf *bench_packet(struct bench *bench);

/* The client's send times: gaps uniform over 0.5 to 1.5 times the mean; in cycles. */
struct bench_pace {
	uint64_t next, gap, catch_up;
	struct rng rng;
};

void bench_pace_start(struct bench_pace *pace, const struct bench *bench, double rate_pps, uint64_t now);

/* True when a packet is due; draws the time of the next one. Packets missed in a stall are not made up for. */
bool bench_pace_due(struct bench_pace *pace, uint64_t now);

/* Prints one line: {"benchmark": ..., rest}. Takes over the reference to `fields`. */
void bench_print(const char *name, json_t *fields);

/* Lateness in cycles: sorts in place; computes the figures of sorted values, ns; the injector's own figures. */
void bench_sort_cycles(int64_t *cycles, size_t count);
json_t *bench_distribution(const struct bench *bench, const int64_t *sorted, size_t count);
json_t *bench_own_lateness(const struct bench *bench);

void bench_sort(double *values, size_t count);
double bench_quantile(const double *sorted, size_t count, double q);

#endif

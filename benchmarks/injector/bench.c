/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include <base/quantile.h>
#include <dp/eal.h>
#include <dp/port.h>

enum { FRAME_BYTES = 60 };

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "benchmark: %s\n", what);
	exit(1);
}

static struct rte_ring *make_ring(const char *name, unsigned int size)
{
	struct rte_ring *ring = rte_ring_create(name, size, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);

	need(ring, "no memory for a ring");
	return ring;
}

static void make_port(struct bench *bench, int port, unsigned int ring_size)
{
	struct rte_eth_conf configuration = {0};
	char in[16], out[16], name[16];
	int id;

	snprintf(in, sizeof in, "in%d", port);
	snprintf(out, sizeof out, "out%d", port);
	snprintf(name, sizeof name, "port%d", port);
	bench->in[port] = make_ring(in, ring_size);
	bench->out[port] = make_ring(out, ring_size);
	id = rte_eth_from_rings(name, &bench->in[port], 1, &bench->out[port], 1, 0);
	need(id >= 0, "no port");
	bench->ports[port] = (uint16_t)id;
	need(rte_eth_dev_configure(bench->ports[port], 1, 1, &configuration) == 0 &&
		     rte_eth_rx_queue_setup(bench->ports[port], 0, 512, 0, NULL, bench->pool) == 0 &&
		     rte_eth_tx_queue_setup(bench->ports[port], 0, 512, 0, NULL) == 0 &&
		     rte_eth_dev_start(bench->ports[port]) == 0,
	     "a ring port does not start");
}

void bench_start(struct bench *bench, unsigned int mbufs, unsigned int ring_size)
{
	struct dp_eal_options options = {.workers = 1, .memory_MiB = mbufs / 1024 + 256};
	struct error err = {0};

	need(dp_eal_start(&options, &err) == 0, err.text);
	bench->pool = (struct rte_mempool *)dp_pool_create("pool", mbufs, 256, &err);
	need(bench->pool, err.text);
	need(dp_clock_calibrate(&bench->clock, (struct ns){INT64_C(100000000)}, &err) == 0, err.text);
	make_port(bench, 0, ring_size);
	make_port(bench, 1, ring_size);
}

void bench_make_injector(struct bench *bench, const struct bench_options *options)
{
	static unsigned int lcores[1];
	struct injector_settings settings = {
		.port_a = bench->ports[0],
		.port_b = bench->ports[1],
		.lcores = lcores,
		.lcore_count = 1,
		.slots = options->slots ? options->slots : 16384,
		.delay_us = {options->delay_us, options->delay_us},
		.subtract_ns = options->subtract_ns,
		.stall_us = options->stall_us > 0 ? options->stall_us : 1,
		.hiccup_ns = 300,
		.modes = {options->modes[0], options->modes[1]},
		.rules = {options->rules[0], options->rules[1]},
		.stamps = {{.offset = -1}, {.offset = -1}},
	};
	struct error err = {0};

	lcores[0] = dp_eal_worker(0);
	bench->injector = injector_create(&settings, &bench->clock, &err);
	need(bench->injector, err.text);
}

void bench_stop(struct bench *bench)
{
	injector_destroy(bench->injector);
	bench->injector = NULL;
	for (int i = 0; i < 2; i++)
		rte_eth_dev_close(bench->ports[i]);
	dp_eal_stop();
}

const double bench_delays_us[BENCH_DELAYS] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
const double bench_rates_pps[BENCH_RATES] = {1e5, 1e6};

struct rte_mbuf *bench_packet(struct bench *bench)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(bench->pool);

	if (packet)
		rte_pktmbuf_append(packet, FRAME_BYTES);
	return packet;
}

void bench_pace_start(struct bench_pace *pace, const struct bench *bench, double rate_pps, uint64_t now)
{
	double cycles_per_s = 1e9 / bench->clock.ns_per_cycle;

	pace->next = now;
	pace->gap = (uint64_t)(cycles_per_s / rate_pps);
	pace->catch_up = (uint64_t)(cycles_per_s / 1000);
	rng_seed(&pace->rng, 1);
}

bool bench_pace_due(struct bench_pace *pace, uint64_t now)
{
	if (now < pace->next)
		return false;
	pace->next += pace->gap / 2 + rng_below(&pace->rng, pace->gap);
	if (pace->next + pace->catch_up < now)
		pace->next = now;
	return true;
}

double bench_ns(const struct bench *bench, double cycles)
{
	return cycles * bench->clock.ns_per_cycle;
}

void bench_print(const char *name, json_t *fields)
{
	json_t *line = json_pack("{s:s, s:s}", "schema", "nomora.benchmark/1", "benchmark", name);

	json_object_update(line, fields);
	json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(5));
	putchar('\n');
	fflush(stdout);
	json_decref(line);
	json_decref(fields);
}

static int compare_cycles(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void bench_sort_cycles(int64_t *cycles, size_t count)
{
	qsort(cycles, count, sizeof *cycles, compare_cycles);
}

static double quantile_ns(const struct bench *bench, const int64_t *sorted, size_t count, double q)
{
	return count ? bench_ns(bench, (double)sorted[(size_t)(q * (double)(count - 1))]) : 0;
}

json_t *bench_distribution(const struct bench *bench, const int64_t *sorted, size_t count)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)count, "min",
			 quantile_ns(bench, sorted, count, 0), "p50", quantile_ns(bench, sorted, count, 0.5), "p99",
			 quantile_ns(bench, sorted, count, 0.99), "p99_9", quantile_ns(bench, sorted, count, 0.999),
			 "max", quantile_ns(bench, sorted, count, 1));
}

json_t *bench_own_lateness(const struct bench *bench)
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

void bench_sort(double *values, size_t count)
{
	quantile_median(values, count); /* sorts */
}

double bench_quantile(const double *sorted, size_t count, double q)
{
	return count ? sorted[(size_t)(q * (double)(count - 1))] : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_nats FROM INTO ROWS: measures the transfer of rows from one live matrix to another by the programs that nats.sh
 * started: single rows, from setting one until a reader of the other matrix sees it, and 100,000 rows at once. One JSON
 * line per figure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <model/latency_live.h>

enum { HOSTS = 320, GIVE_UP_S = 60 };

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bench_nats: %s\n", what);
	exit(1);
}

static void set(struct latency_matrix *matrix, uint32_t from, uint32_t to, struct ns at)
{
	struct latency_entry entry = {.source = from,
				      .destination = to,
				      .rtt_p50_us = 10,
				      .rtt_p99_us = 20,
				      .rtt_max_us = 30,
				      .samples = 1,
				      .updated_at = at};

	need(latency_matrix_set(matrix, &entry) == 0, "cannot set a pair");
}

/* Waits until the pair h1 -> h0 of the other matrix is at least that recent. */
static void wait_for(const struct latency_matrix *into, const char *from, const char *to, struct ns at)
{
	const struct timespec nap = {.tv_nsec = 20000};
	struct ns begin = ns_now_monotonic();
	struct latency_entry entry;

	for (;;) {
		int64_t source = latency_matrix_find_host(into, from), destination = latency_matrix_find_host(into, to);

		if (source >= 0 && destination >= 0 &&
		    latency_matrix_load_pair(into, (uint32_t)source, (uint32_t)destination, &entry) &&
		    entry.updated_at.v >= at.v)
			return;
		need(ns_now_monotonic().v - begin.v < GIVE_UP_S * NS_PER_S, "the row does not arrive");
		nanosleep(&nap, NULL);
	}
}

static void time_rows(struct latency_matrix *from, const struct latency_matrix *into, size_t rows)
{
	double *times_us = calloc(rows, sizeof *times_us);

	need(times_us != NULL, "out of memory");
	for (size_t i = 0; i < rows; i++) {
		struct ns at = ns_now_wall(), begin = ns_now_monotonic();

		latency_live_begin(from, NULL);
		set(from, 1, 0, at);
		latency_live_end(from);
		wait_for(into, "host-1", "host-0", at);
		times_us[i] = (double)(ns_now_monotonic().v - begin.v) / 1e3;
	}
	quantile_median(times_us, rows); /* sorts */
	printf("{\"benchmark\": \"nats\", \"figure\": \"row\", \"rows\": %zu, \"p50_us\": %.0f, \"p99_us\": %.0f}\n",
	       rows, times_us[rows / 2], times_us[rows * 99 / 100]);
	free(times_us);
}

static void time_batch(struct latency_matrix *from, const struct latency_matrix *into)
{
	struct ns at = ns_now_wall(), begin = ns_now_monotonic();
	uint64_t rows = 0;

	latency_live_begin(from, NULL);
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < HOSTS; j++, rows++)
			set(from, i, j, at);
	latency_live_end(from);
	wait_for(into, "host-319", "host-319", at);
	printf("{\"benchmark\": \"nats\", \"figure\": \"batch\", \"rows\": %llu, \"rows_per_s\": %.0f}\n",
	       (unsigned long long)rows, (double)rows * 1e9 / (double)(ns_now_monotonic().v - begin.v));
}

int main(int argc, char **argv)
{
	const struct latency_live_size size = {.hosts = HOSTS, .racks = 4, .pairs = HOSTS * HOSTS};
	struct latency_matrix *from, *into;
	struct error err = {0};
	char name[32];

	need(argc == 4, "expected FROM INTO ROWS");
	from = latency_live_open(argv[1], &size, &err);
	into = from ? latency_live_open(argv[2], &size, &err) : NULL;
	need(into != NULL, err.text);
	latency_live_begin(from, NULL);
	for (int i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof name, "host-%d", i);
		need(latency_live_add_host(from, name, "rack", "") == i, "cannot add a host");
	}
	latency_live_end(from);
	time_rows(from, into, (size_t)atol(argv[3]));
	time_batch(from, into);
	latency_matrix_destroy(from);
	latency_matrix_destroy(into);
	return 0;
}

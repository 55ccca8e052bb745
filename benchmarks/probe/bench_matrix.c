/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live matrix in shared memory, one JSON line a figure:
 *
 *   set       pairs set per second for 12,500 hosts in 313 racks: a complete graph in each rack and the other pairs in
 *             rotation, until the matrix is full and each new pair evicts one
 *   read      pairs loaded a second by one reader beside a writer at full speed: those of a rack of 40 hosts in random
 *             order, or of all 12,500
 *   scan      the same by position, one after the other
 *   published time from setting a pair to the first load that returns it, in a reader that polls for it
 *
 * bench_matrix [FILE]: the live matrix, by default in /dev/shm; it is removed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <model/latency_live.h>

enum { HOSTS = 12500, PER_RACK = 40, PAIRS = 8000000, ROTATED = 16000000, READS = 4000000, PUBLISHED = 20000 };

struct shared {
	struct latency_matrix *writer, *reader;
	uint32_t hosts; /* whose pairs are measured */
	atomic_bool stop;
	atomic_uint taken;
	uint64_t sets;
};

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bench_matrix: %s\n", what);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void set(struct latency_matrix *matrix, uint32_t from, uint32_t to, int64_t at_ns)
{
	struct latency_entry entry = {.source = from,
				      .destination = to,
				      .rtt_p50_us = 10,
				      .rtt_p99_us = 20,
				      .rtt_max_us = 30,
				      .samples = 1,
				      .updated_at = {at_ns}};

	need(latency_matrix_set(matrix, &entry) == 0, "cannot set a pair");
}

static void add_hosts(struct latency_matrix *matrix)
{
	char host[32], rack[32];

	for (uint32_t i = 0; i < HOSTS; i++) {
		snprintf(host, sizeof host, "host-%u", i);
		snprintf(rack, sizeof rack, "rack-%u", i / PER_RACK);
		need(latency_live_add_host(matrix, host, rack, "pod") == i, "cannot add a host");
	}
}

static void fill(struct latency_matrix *matrix, const char *path)
{
	double begin = seconds(CLOCK_THREAD_CPUTIME_ID), maxima;
	struct stat status = {0};
	uint64_t sets = 0;

	need(latency_live_begin(matrix, NULL) == 0, "cannot begin a batch");
	add_hosts(matrix);
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = i - i % PER_RACK; j < i - i % PER_RACK + PER_RACK && j < HOSTS; j++, sets++)
			set(matrix, i, j, 1);
	for (uint32_t step = 1; sets < ROTATED; step++)
		for (uint32_t i = 0; i < HOSTS; i++, sets++)
			set(matrix, i, (i + PER_RACK + step) % HOSTS, step);
	maxima = seconds(CLOCK_THREAD_CPUTIME_ID);
	need(latency_live_update_maxima(matrix) == 0, "out of memory");
	latency_live_end(matrix);
	need(stat(path, &status) == 0, "no live matrix");
	printf("{\"benchmark\": \"matrix\", \"figure\": \"set\", \"hosts\": %d, \"pairs\": %zu, \"evicted\": %llu, "
	       "\"MB\": %.0f, \"resident_MB\": %.0f, \"sets_per_s\": %.0f, \"maxima_s\": %.3f}\n",
	       HOSTS, latency_matrix_count(matrix), (unsigned long long)latency_live_evicted(matrix),
	       (double)status.st_size / 1e6, (double)status.st_blocks * 512 / 1e6, (double)sets / (maxima - begin),
	       seconds(CLOCK_THREAD_CPUTIME_ID) - maxima);
}

static void *write_on(void *context)
{
	struct shared *shared = context;
	struct rng rng;

	rng_seed(&rng, 2);
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		latency_live_begin(shared->writer, NULL);
		for (int i = 0; i < 1000; i++, shared->sets++) {
			uint32_t from = (uint32_t)rng_below(&rng, shared->hosts);

			set(shared->writer, from, from - from % PER_RACK + (uint32_t)rng_below(&rng, PER_RACK), 1);
		}
		latency_live_end(shared->writer);
	}
	return NULL;
}

static void read_beside(struct shared *shared, bool scan, uint32_t hosts)
{
	struct latency_entry entry;
	uint64_t found = 0, *keys = malloc((1 << 16) * sizeof *keys);
	double begin, end, cpu;
	pthread_t writer;
	struct rng rng;

	need(keys != NULL, "out of memory");
	rng_seed(&rng, 1);
	for (int i = 0; i < 1 << 16; i++) {
		uint64_t from = rng_below(&rng, hosts);

		keys[i] = from << 32 | (from - from % PER_RACK + rng_below(&rng, PER_RACK));
	}
	shared->hosts = hosts;
	shared->sets = 0;
	atomic_store(&shared->stop, false);
	need(pthread_create(&writer, NULL, write_on, shared) == 0, "no thread");
	begin = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < READS; i++) {
		uint64_t key = keys[i & 0xffff];

		found += scan ? latency_matrix_load(shared->reader, (size_t)i % (hosts * PER_RACK), &entry)
			      : latency_matrix_load_pair(shared->reader, (uint32_t)(key >> 32), (uint32_t)key, &entry);
	}
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	end = seconds(CLOCK_MONOTONIC);
	atomic_store(&shared->stop, true);
	pthread_join(writer, NULL);
	printf("{\"benchmark\": \"matrix\", \"figure\": \"%s\", \"hosts\": %u, \"found\": %.3f, \"reads_per_s\": "
	       "%.0f, \"reads_per_cpu_s\": %.0f, \"sets_per_s\": %.0f}\n",
	       scan ? "scan" : "read", hosts, (double)found / READS, READS / (end - begin), READS / cpu,
	       (double)shared->sets / (end - begin));
	free(keys);
}

static void *publish(void *context)
{
	struct shared *shared = context;

	for (unsigned i = 1; i <= PUBLISHED; i++) {
		int64_t at;

		while (atomic_load(&shared->taken) != i - 1)
			;
		at = ns_now_monotonic().v;
		latency_live_begin(shared->writer, NULL);
		set(shared->writer, 0, 1, at);
		latency_live_end(shared->writer);
	}
	return NULL;
}

static void wait_for_rows(struct shared *shared)
{
	double *times_us = malloc(PUBLISHED * sizeof *times_us);
	struct latency_entry entry;
	int64_t last = 1;
	pthread_t writer;

	need(times_us != NULL && pthread_create(&writer, NULL, publish, shared) == 0, "no thread");
	for (unsigned i = 0; i < PUBLISHED; i++) {
		while (!latency_matrix_load_pair(shared->reader, 0, 1, &entry) || entry.updated_at.v <= last)
			;
		times_us[i] = (double)(ns_now_monotonic().v - entry.updated_at.v) / 1e3;
		last = entry.updated_at.v;
		atomic_store(&shared->taken, i + 1);
	}
	pthread_join(writer, NULL);
	quantile_median(times_us, PUBLISHED); /* sorts */
	printf("{\"benchmark\": \"matrix\", \"figure\": \"published\", \"rows\": %d, \"p50_us\": %.2f, \"p99_us\": "
	       "%.2f}\n",
	       PUBLISHED, times_us[PUBLISHED / 2], times_us[PUBLISHED / 100 * 99]);
	free(times_us);
}

int main(int argc, char **argv)
{
	const struct latency_live_size size = {.hosts = HOSTS + 64, .racks = 512, .pairs = PAIRS};
	struct shared shared = {0};
	struct error err = {0};
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/nomora-bench-%ld", (long)getpid());
	shared.writer = latency_live_open(argc > 1 ? argv[1] : path, &size, &err);
	shared.reader = shared.writer ? latency_live_map(argc > 1 ? argv[1] : path, &err) : NULL;
	need(shared.reader != NULL, err.text);
	fill(shared.writer, argc > 1 ? argv[1] : path);
	read_beside(&shared, false, PER_RACK);
	read_beside(&shared, false, HOSTS - PER_RACK);
	read_beside(&shared, true, PER_RACK);
	read_beside(&shared, true, HOSTS - PER_RACK);
	wait_for_rows(&shared);
	latency_matrix_destroy(shared.reader);
	latency_matrix_destroy(shared.writer);
	unlink(argc > 1 ? argv[1] : path);
	return 0;
}

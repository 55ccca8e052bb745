/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readers of a live matrix while it is written: every pair that they load is one that was set, complete. The writer
 * sets p50, p99, max and updated_at from one counter, so that a torn pair is inconsistent; ages never decrease. One run
 * has space for every pair, the other for half of them, so that pairs are evicted all the time.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <model/latency_live.h>

enum { HOSTS = 8, READERS = 2, ROUNDS = 20000 };

static char path[64];
static atomic_bool over;
static atomic_ulong loaded, torn, backward;

static void *read_all(void *context)
{
	struct latency_matrix *matrix = latency_live_map(path, NULL);
	int64_t seen[HOSTS * HOSTS] = {0};
	struct latency_maximum maximum;

	(void)context;
	while (matrix && !atomic_load(&over)) {
		for (uint32_t i = 0; i < HOSTS * HOSTS; i++) {
			struct latency_entry entry;

			if (!latency_matrix_load_pair(matrix, i / HOSTS, i % HOSTS, &entry))
				continue;
			atomic_fetch_add(&loaded, 1);
			if (entry.rtt_p99_us != entry.rtt_p50_us + 1 || entry.rtt_max_us != entry.rtt_p50_us + 2 ||
			    entry.updated_at.v != (int64_t)entry.rtt_p50_us || entry.source != i / HOSTS ||
			    entry.destination != i % HOSTS)
				atomic_fetch_add(&torn, 1);
			if (entry.updated_at.v < seen[i])
				atomic_fetch_add(&backward, 1);
			seen[i] = entry.updated_at.v;
		}
		if (latency_live_maximum(matrix, 0, 0, &maximum) && maximum.rtt_max_us != maximum.rtt_p50_us + 2)
			atomic_fetch_add(&torn, 1);
	}
	latency_matrix_destroy(matrix);
	return NULL;
}

static int set(struct latency_matrix *matrix, uint32_t source, uint32_t destination, uint32_t round)
{
	struct latency_entry entry = {.source = source, .destination = destination};

	entry.rtt_p50_us = round;
	entry.rtt_p99_us = round + 1.0;
	entry.rtt_max_us = round + 2.0;
	entry.samples = 1;
	entry.updated_at.v = round;
	return latency_matrix_set(matrix, &entry);
}

static int write_all(struct latency_matrix *matrix)
{
	char name[8];

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		if (latency_live_begin(matrix, NULL))
			return 1;
		if (round <= HOSTS) { /* hosts and pairs are added while others read */
			snprintf(name, sizeof name, "h%u", round);
			if (latency_live_add_host(matrix, name, "rack", "") < 0)
				return 1;
		}
		for (uint32_t i = 0; round > HOSTS && i < HOSTS; i++)
			if (set(matrix, (round + i) % HOSTS, i, round))
				return 1;
		if (round % 64 == 0 && latency_live_update_maxima(matrix))
			return 1;
		latency_live_end(matrix);
	}
	return 0;
}

static int run(uint64_t pairs)
{
	const struct latency_live_size size = {.hosts = HOSTS, .racks = 2, .pairs = pairs};
	struct latency_matrix *matrix;
	pthread_t readers[READERS];
	struct error err = {0};
	int failed;

	matrix = latency_live_open(path, &size, &err);
	if (!matrix) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	atomic_store(&over, false);
	atomic_store(&loaded, 0);
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, read_all, NULL);
	failed = write_all(matrix);
	while (!failed && atomic_load(&loaded) == 0)
		usleep(1000);
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	printf("%llu places: %lu loaded, %lu torn, %lu older than before, %llu evicted\n", (unsigned long long)pairs,
	       atomic_load(&loaded), atomic_load(&torn), atomic_load(&backward),
	       (unsigned long long)latency_live_evicted(matrix));
	latency_matrix_destroy(matrix);
	unlink(path);
	return failed || torn || backward;
}

int main(void)
{
	snprintf(path, sizeof path, "/tmp/nomora-live-threads-%ld", (long)getpid());
	return run(HOSTS * HOSTS) || run(HOSTS * HOSTS / 2);
}

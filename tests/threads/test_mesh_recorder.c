/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recorder's thread reads a live matrix that this thread writes, and writes a history that a third thread queries:
 * every row of the history is one that was set, complete; stopping in the middle of a wait or of a record loses
 * nothing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <base/ns.h>
#include <model/latency_live.h>
#include <probe/store/store.h>

enum { HOSTS = 4, ROUNDS = 400, STARTS = 3 };

static char live_path[64], store_path[80];
static atomic_bool over;
static atomic_ulong points_read, torn;

static void set_all(struct latency_matrix *live, int64_t round)
{
	latency_live_begin(live, NULL);
	for (uint32_t i = 0; i < HOSTS * HOSTS; i++) {
		struct latency_entry entry = {.source = i / HOSTS, .destination = i % HOSTS, .samples = 1};

		entry.rtt_p50_us = (double)round;
		entry.rtt_p99_us = (double)round + 1;
		entry.rtt_max_us = (double)round + 2;
		entry.updated_at.v = ns_now_wall().v;
		latency_matrix_set(live, &entry);
	}
	latency_live_update_maxima(live);
	latency_live_end(live);
}

/* Number of rows of the pair h1, h2 so far. */
static size_t ask(void)
{
	struct mesh_store *store = mesh_store_open(store_path, false, NULL);
	struct latency_series series = {0};
	size_t count;

	if (store && mesh_store_read(store, false, "h1", "h2", (struct ns){0}, &series, NULL) == 0)
		for (size_t i = 0; i < series.count; i++)
			atomic_fetch_add(&torn, series.items[i].rtt_p99_us != series.items[i].rtt_p50_us + 1);
	count = series.count;
	free(series.items);
	mesh_store_close(store);
	return count;
}

static void *ask_on(void *context)
{
	(void)context;
	while (!atomic_load(&over))
		atomic_fetch_add(&points_read, ask());
	return NULL;
}

static int run(struct latency_matrix *live)
{
	struct mesh_recorder_options options = mesh_recorder_defaults;
	int64_t round = 0;

	options.live_path = live_path;
	options.store_path = store_path;
	options.every_s = 0.1;
	for (int start = 0; start < STARTS; start++) {
		struct error err = {0};
		struct mesh_recorder *recorder = mesh_recorder_start(&options, &err);

		if (!recorder) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		/* The first recorder runs until the query has seen a record; the others are stopped at any time. */
		for (int i = 0; i < ROUNDS || (start == 0 && !atomic_load(&points_read)); i++)
			set_all(live, ++round);
		mesh_recorder_stop(recorder);
	}
	return 0;
}

int main(void)
{
	const struct latency_live_size size = {.hosts = HOSTS, .racks = 2, .pairs = HOSTS * HOSTS};
	struct latency_matrix *live;
	struct error err = {0};
	pthread_t asker;
	char name[8];
	int failed;

	snprintf(live_path, sizeof live_path, "/tmp/nomora-recorder-%ld", (long)getpid());
	snprintf(store_path, sizeof store_path, "%s.db", live_path);
	live = latency_live_open(live_path, &size, &err);
	if (!live || latency_live_begin(live, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof name, "h%d", i + 1);
		latency_live_add_host(live, name, "rack", "");
	}
	latency_live_end(live);
	pthread_create(&asker, NULL, ask_on, NULL);
	failed = run(live);
	atomic_store(&over, true);
	pthread_join(asker, NULL);
	printf("%lu points read, %lu torn\n", atomic_load(&points_read), atomic_load(&torn));
	latency_matrix_destroy(live);
	unlink(live_path);
	for (const char *const *suffix = (const char *const[]){"", "-wal", "-shm", NULL}; *suffix; suffix++) {
		char path[96];

		snprintf(path, sizeof path, "%s%s", store_path, *suffix);
		unlink(path);
	}
	return failed || torn;
}

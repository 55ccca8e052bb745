/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <base/log.h>
#include <probe/store/store.h>

const struct mesh_recorder_options mesh_recorder_defaults = {
	.every_s = 60, .keep_pairs_days = 7, .keep_racks_days = 90};

struct mesh_recorder {
	struct mesh_recorder_options options;
	struct latency_matrix *live;
	struct mesh_store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct ns taken; /* start of the period of the last record */
	bool stop, started, failing;
};

static struct ns days_before(struct ns now, double days)
{
	return (struct ns){now.v - (int64_t)(days * 86400e9)};
}

static void record(struct mesh_recorder *recorder)
{
	const struct mesh_recorder_options *options = &recorder->options;
	int64_t every = (int64_t)(options->every_s * 1e9);
	struct ns now = ns_now_wall(), rounded = {now.v - now.v % every};
	struct error err = {0};
	int code;

	/*
	 * A delayed thread wakes up several times in one period to catch up, but the store accepts only one record of
	 * racks per period.
	 */
	if (rounded.v == recorder->taken.v)
		return;
	if (!recorder->store)
		recorder->store = mesh_store_open(options->store_path, true, &err);
	code = recorder->store ? mesh_store_take(recorder->store, recorder->live, rounded, &err)
			       : error_code(&err, EIO);
	if (!code) {
		recorder->taken = rounded;
		code = mesh_store_forget(recorder->store, days_before(now, options->keep_pairs_days),
					 days_before(now, options->keep_racks_days), &err);
	}
	if (code && !recorder->failing)
		log_warning("cannot add to the history, trying again every period: %s: %s", options->store_path,
			    err.text);
	if (!code && recorder->failing)
		log_info("adding to the history again: %s", options->store_path);
	recorder->failing = code != 0;
}

static void *run(void *context)
{
	struct mesh_recorder *recorder = context;
	int64_t every = (int64_t)(recorder->options.every_s * 1e9);
	struct timespec due;

	clock_gettime(CLOCK_MONOTONIC, &due);
	pthread_mutex_lock(&recorder->lock);
	while (!recorder->stop) {
		due.tv_sec += every / NS_PER_S;
		due.tv_nsec += every % NS_PER_S;
		due.tv_sec += due.tv_nsec / NS_PER_S;
		due.tv_nsec %= NS_PER_S;
		while (!recorder->stop && pthread_cond_timedwait(&recorder->wake, &recorder->lock, &due) == 0)
			;
		pthread_mutex_unlock(&recorder->lock);
		record(recorder);
		pthread_mutex_lock(&recorder->lock);
	}
	pthread_mutex_unlock(&recorder->lock);
	return NULL;
}

static int start_thread(struct mesh_recorder *recorder)
{
	pthread_condattr_t attributes;
	int code;

	pthread_mutex_init(&recorder->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&recorder->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	code = pthread_create(&recorder->thread, NULL, run, recorder);
	recorder->started = !code;
	return code;
}

struct mesh_recorder *mesh_recorder_start(const struct mesh_recorder_options *options, struct error *err)
{
	struct mesh_recorder *recorder = calloc(1, sizeof *recorder);
	bool may_start;

	if (!recorder) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	recorder->options = *options;
	recorder->live = latency_live_map(options->live_path, err);
	recorder->store = recorder->live ? mesh_store_open(options->store_path, true, err) : NULL;
	/* SQLite reports a full disk as either error. record() tries again, and says that it failed. */
	may_start = recorder->store || (recorder->live && (err->code == ENOSPC || err->code == EIO));
	if (may_start && start_thread(recorder))
		error_set(err, EAGAIN, "cannot start a thread");
	if (recorder->started)
		return recorder;
	mesh_recorder_stop(recorder);
	return NULL;
}

void mesh_recorder_stop(struct mesh_recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->started) {
		pthread_mutex_lock(&recorder->lock);
		recorder->stop = true;
		pthread_cond_signal(&recorder->wake);
		pthread_mutex_unlock(&recorder->lock);
		pthread_join(recorder->thread, NULL);
		pthread_cond_destroy(&recorder->wake);
		pthread_mutex_destroy(&recorder->lock);
	}
	mesh_store_close(recorder->store);
	latency_matrix_destroy(recorder->live);
	free(recorder);
}

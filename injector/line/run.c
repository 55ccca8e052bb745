/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the workers on their lcores, and stops them. */
#include <injector/line/line.h>

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <dp/eal.h>

#include "line_priv.h"

/*
 * Runs a worker on its lcore. Sets the thread's priority to worker->nice, unless that is 0, so that the loop is
 * descheduled less often. Without the permission for this, the loop runs at the old priority.
 */
static int run_worker(void *argument)
{
	struct worker *worker = argument;

	if (worker->nice)
		setpriority(PRIO_PROCESS, (id_t)gettid(), worker->nice);
	worker_run(worker);
	worker_drain(worker);
	atomic_store_explicit(&worker->ended, true, memory_order_release);
	return 0;
}

int injector_start(struct injector *injector, struct error *err)
{
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		struct worker *worker = &injector->workers[i];
		int status;

		atomic_store(&worker->stop, WORKER_RUN);
		atomic_store(&worker->ended, false);
		status = dp_lcore_run(worker->lcore, run_worker, worker);
		if (status) {
			injector_stop(injector);
			return error_set(err, -status, "lcore %u does not start: %s", worker->lcore, strerror(-status));
		}
		worker->running = true;
	}
	return 0;
}

void injector_poll(struct injector *injector, unsigned int rounds)
{
	for (unsigned int i = 0; i < injector->worker_count; i++)
		worker_poll(&injector->workers[i], rounds);
}

void injector_stop(struct injector *injector)
{
	for (unsigned int i = 0; i < injector->worker_count; i++)
		atomic_store(&injector->workers[i].stop, WORKER_STOP);
	for (unsigned int i = 0; i < injector->worker_count; i++) {
		if (injector->workers[i].running) {
			dp_lcore_wait(injector->workers[i].lcore);
			/* pairs with the worker's release store, so that the data it wrote are visible here */
			(void)atomic_load_explicit(&injector->workers[i].ended, memory_order_acquire);
		}
		injector->workers[i].running = false;
	}
}

static bool any_runs(const struct injector *injector)
{
	bool runs = false;

	for (unsigned int i = 0; i < injector->worker_count; i++)
		runs |= injector->workers[i].running &&
			!atomic_load_explicit(&injector->workers[i].ended, memory_order_acquire);
	return runs;
}

void injector_drain(struct injector *injector, struct ns limit, const volatile sig_atomic_t *hurry)
{
	const struct timespec pause = {.tv_nsec = NS_PER_MS};
	struct ns end = ns_add(ns_now_monotonic(), limit);

	for (unsigned int i = 0; i < injector->worker_count; i++)
		atomic_store(&injector->workers[i].stop, WORKER_DRAIN);
	while (any_runs(injector) && !*hurry && ns_now_monotonic().v < end.v)
		nanosleep(&pause, NULL);
	injector_stop(injector);
}

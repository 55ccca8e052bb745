/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forecasts of the effect of changes and jobs: a forked child computes them on its copy of the live state, while the
 * daemon goes on with its rounds. Private.
 */
#ifndef SCHED_SCHEDD_FORECAST_H
#define SCHED_SCHEDD_FORECAST_H

#include <poll.h>
#include <sys/types.h>

#include <sched/live/live.h>
#include <serve/serve.h>

enum { FORECASTS_MOST = 4 };

/* A forecast in progress, and the request that it will answer. */
struct forecast {
	struct serve_call *call; /* NULL: free entry */
	pid_t child;
	int fd; /* pipe from which the child's answer is read */
	char *text;
	size_t bytes, capacity;
};

/* The changes and jobs of a forecast request; strings are borrowed. */
struct forecast_request {
	const char *const *changes;
	size_t change_count;
	const char *jobs; /* lines of jobs.jsonl; "" = none */
	bool may_move;
	uint32_t owner;
	double within_s;
};

/*
 * Starts a forecast; forecast_read() replies to the call. Returns 0, or -errno with err set; -EAGAIN: too many
 * forecasts, or too little memory.
 */
int forecast_start(struct forecast forecasts[FORECASTS_MOST], struct live *live, const struct forecast_request *request,
		   double now_s, struct serve_call *call, struct error *err);
/* Writes the entries for poll() to `polled`; returns their number. */
size_t forecast_poll(const struct forecast forecasts[FORECASTS_MOST], struct pollfd *polled);
/* Reads available output, without waiting, and replies to finished forecasts. */
void forecast_read(struct forecast forecasts[FORECASTS_MOST]);
void forecast_stop(struct forecast forecasts[FORECASTS_MOST]);

#endif

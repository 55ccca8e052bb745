/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay of a recorded series of latencies: each value applies for one interval; after the last value, the series
 * starts again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <injector/line/line.h>

#include "mode_priv.h"

struct replay {
	struct mode_clock clock;
	bool reorder;
	uint64_t next_cycles; /* time at which the next value begins, counted from the first packet */
	uint64_t interval_cycles;
	size_t at, count;
	uint64_t delay_cycles[];
};

static int replay_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	double ns_per_cycle = context->clock->ns_per_cycle;
	struct replay *replay = NULL;
	struct series series;
	int status = series_read(specification, 1, ',', &series, err);

	if (status)
		return mode_blame_file(status, err);
	replay = calloc(1, sizeof *replay + series.rows * sizeof replay->delay_cycles[0]);
	if (!replay)
		status = error_set(err, ENOMEM, "no memory for the series of --replay");
	for (size_t i = 0; !status && i < series.rows; i++) {
		if (!(series.values[i] >= 0 && series.values[i] <= INJECTOR_DELAY_MAXIMUM_US))
			status = error_set(err, EINVAL, "%s: value %zu, %g us, is out of range: expected 0 to %g",
					   specification, i + 1, series.values[i], INJECTOR_DELAY_MAXIMUM_US);
		else
			replay->delay_cycles[i] = (uint64_t)llround(series.values[i] * 1e3 / ns_per_cycle);
	}
	if (status) {
		free(replay);
	} else {
		replay->count = series.rows;
		replay->reorder = context->settings->reorder;
		replay->interval_cycles = (uint64_t)llround(context->settings->replay_interval_us * 1e3 / ns_per_cycle);
		replay->next_cycles = replay->interval_cycles;
		mode_clock_init(&replay->clock, context->settings->start);
		*state = replay;
	}
	free(series.values);
	return mode_blame_file(status, err);
}

static void replay_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	struct replay *replay = state;
	uint64_t elapsed = mode_elapsed(&replay->clock, now);

	(void)packet;
	if (elapsed >= replay->next_cycles) {
		uint64_t intervals = (elapsed - replay->next_cycles) / replay->interval_cycles + 1;

		replay->at = (replay->at + intervals) % replay->count;
		replay->next_cycles += intervals * replay->interval_cycles;
	}
	verdict->delay_cycles = replay->delay_cycles[replay->at];
	verdict->overtake = replay->reorder;
}

static uint64_t replay_longest(const void *state, uint64_t cycles)
{
	const struct replay *replay = state;

	cycles = 0;
	for (size_t i = 0; i < replay->count; i++) {
		if (replay->delay_cycles[i] > cycles)
			cycles = replay->delay_cycles[i];
	}
	return cycles;
}

const struct injector_mode mode_replay = {
	.name = "replay",
	.reorders = true,
	.group = "delay",
	.create = replay_create,
	.apply = replay_apply,
	.destroy = free,
	.longest = replay_longest,
	.sets_delay = true,
};

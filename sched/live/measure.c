/* SPDX-License-Identifier: BSD-3-Clause */
/* Enters measured round trips, each with its age, in the latency view. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>

#include "live_priv.h"

/*
 * Clocks of hosts differ, so a matrix entry may seem to come from the future. It is refused only if it is ahead of our
 * clock by more than this, in seconds, and by more than max_age_s.
 */
#define FUTURE_S 60

/* A sample, and the second in which it was measured, on the caller's clock. */
struct aged {
	struct latency_sample sample;
	uint32_t seen_s;
};

void live_latency_settle(struct live *live)
{
	struct cost_moved moved = latency_view_moved(live->view);

	if (moved.count > 0) {
		live_note_number(live, "settle", 0);
		placer_latency_moved(live->placer, &moved);
		live_review_moved(live, &moved);
		live->changed = true;
	}
	latency_view_moved_clear(live->view);
}

/* Context of report_gone(): `live` has the callback that gets the expired pairs of machines; count: their number. */
struct gone {
	const struct live *live;
	uint64_t count;
};

static void report_gone(void *context, uint32_t a, uint32_t b)
{
	const struct latency_sample both[] = {{a, b, NAN}, {b, a, NAN}};
	struct gone *gone = context;

	gone->count++;
	if (gone->live->settings.measured)
		gone->live->settings.measured(gone->live->settings.context, gone->live, both, a == b ? 1 : 2);
}

int live_expire(struct live *live, double now_s)
{
	struct gone gone = {.live = live};
	double before_s = floor(now_s - live->settings.max_age_s);

	/* Passes over all pairs at most once a second. */
	if (live->settings.max_age_s <= 0 || before_s <= live->expired_s)
		return 0;
	live->expired_s = before_s;
	latency_view_expire(live->view, (uint32_t)before_s, report_gone, &gone);
	if (gone.count > 0)
		live_note_number(live, "measured", (double)gone.count);
	live_latency_settle(live);
	return 0;
}

int live_latency_again(struct live *live, const struct latency_sample *samples, size_t count)
{
	return latency_view_update(live->view, samples, count, UINT32_MAX);
}

static bool is_new(const struct live *live, const struct latency_sample *sample)
{
	float known = latency_view_own(live->view, sample->source, sample->destination);

	return known < sample->rtt_us || known > sample->rtt_us;
}

/* Passes the samples that differ from the known values to measured(); call it before the view is updated. */
static void watch(struct live *live, const struct latency_sample *samples, size_t count)
{
	uint64_t reported = 0;

	for (size_t first = 0, last; live->settings.measured && first < count; first = last) {
		for (last = first; last < count && is_new(live, &samples[last]); last++)
			;
		if (last > first)
			live->settings.measured(live->settings.context, live, samples + first, last - first);
		reported += last - first;
		last += last == first;
	}
	if (reported > 0)
		live_note_number(live, "measured", (double)reported);
}

/* Applies samples that were all made in the second seen_s. */
static int take(struct live *live, const struct latency_sample *samples, size_t count, uint32_t seen_s)
{
	watch(live, samples, count);
	return latency_view_update(live->view, samples, count, seen_s);
}

int live_latency(struct live *live, const struct latency_sample *samples, size_t count, double now_s)
{
	int code = take(live, samples, count, (uint32_t)now_s);

	if (code == 0)
		live_latency_settle(live);
	return code;
}

/*
 * Finds the machine number of each host of the matrix; -1: not in the cluster. Does so at a window's first part, and
 * again if the machines of the cluster or the hosts of the matrix have changed since.
 */
static int match_hosts(struct live *live, const struct latency_matrix *matrix, bool first)
{
	size_t hosts = latency_matrix_hosts(matrix);
	int64_t *machines;

	if (!first && hosts == live->host_count)
		return 0;
	machines = array_reserve(live->hosts, hosts + 1, &live->host_capacity, sizeof *machines);
	if (!machines)
		return -ENOMEM;
	live->hosts = machines;
	live->host_count = hosts;
	for (size_t h = 0; h < hosts; h++)
		machines[h] = cluster_find_machine(live->cluster, latency_matrix_host(matrix, (uint32_t)h));
	return 0;
}

/*
 * Converts a matrix entry to a sample and counts the outcome. Returns false if the pair was never probed, or the entry
 * is too old or too far in the future.
 */
static bool take_entry(const struct live *live, const struct latency_entry *entry, enum latency_statistic statistic,
		       double age_s, double now_s, struct live_matrix_outcome *outcome, struct aged *aged)
{
	double max_age_s = live->settings.max_age_s;

	if (entry->state == LATENCY_STATE_NEVER)
		return false;
	if (max_age_s > 0 && age_s > max_age_s) {
		outcome->old++;
		return false;
	}
	if (age_s < -fmax(max_age_s, FUTURE_S)) {
		outcome->future++;
		return false;
	}
	/* If no probe was answered, the pair is unreachable, which differs from "not measured". */
	aged->sample.rtt_us = entry->samples == 0 ? INFINITY : (float)latency_entry_value(entry, statistic);
	aged->seen_s = (uint32_t)fmin(now_s, fmax(0, now_s - age_s));
	outcome->taken++;
	return true;
}

static size_t take_entries(const struct live *live, const struct latency_matrix *matrix,
			   const struct live_matrix_part *part, struct aged *taken, struct live_matrix_outcome *outcome)
{
	const int64_t *machines = live->hosts;
	size_t hosts = live->host_count, count = 0;

	for (size_t i = part->first; i < part->first + part->count; i++) {
		struct latency_entry entry;

		if (!latency_matrix_load(matrix, i, &entry))
			continue;
		/* Skips an entry of a host that joined the matrix after match_hosts(). The next window has it again. */
		if (entry.source >= hosts || entry.destination >= hosts || machines[entry.source] < 0 ||
		    machines[entry.destination] < 0) {
			outcome->unknown++;
			continue;
		}
		taken[count].sample.source = (uint32_t)machines[entry.source];
		taken[count].sample.destination = (uint32_t)machines[entry.destination];
		count += take_entry(live, &entry, part->statistic, ns_to_s(ns_sub(part->wall, entry.updated_at)),
				    part->now_s, outcome, &taken[count]);
	}
	return count;
}

/*
 * Order for qsort(): the oldest samples first; samples of equal age by source, then by destination.
 * latency_view_update() handles this order best.
 */
static int compare_aged(const void *left, const void *right)
{
	const struct aged *a = left, *b = right;

	if (a->seen_s != b->seen_s)
		return a->seen_s < b->seen_s ? -1 : 1;
	if (a->sample.source != b->sample.source)
		return a->sample.source < b->sample.source ? -1 : 1;
	return a->sample.destination < b->sample.destination ? -1 : a->sample.destination > b->sample.destination;
}

int live_latency_matrix(struct live *live, const struct latency_matrix *matrix, const struct live_matrix_part *part,
			struct live_matrix_outcome *outcome)
{
	struct aged *taken = malloc(part->count * sizeof *taken + 1);
	struct latency_sample *samples = malloc(part->count * sizeof *samples + 1);
	size_t count = 0;
	int code = taken && samples ? 0 : -ENOMEM;

	*outcome = (struct live_matrix_outcome){0};
	if (code == 0)
		code = match_hosts(live, matrix, part->first == 0);
	if (code == 0) {
		count = take_entries(live, matrix, part, taken, outcome);
		qsort(taken, count, sizeof *taken, compare_aged);
	}
	for (size_t first = 0, last; first < count && code == 0; first = last) {
		for (last = first; last < count && taken[last].seen_s == taken[first].seen_s; last++)
			samples[last] = taken[last].sample;
		code = take(live, samples + first, last - first, taken[first].seen_s);
	}
	free(taken);
	free(samples);
	return code;
}

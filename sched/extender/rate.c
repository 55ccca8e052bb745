/* SPDX-License-Identifier: BSD-3-Clause */
#include "extender_priv.h"

#include <math.h>
#include <stdlib.h>

/* RACK_LOOKED_AT: maximum number of candidates to compare for a root; the time is quadratic. */
enum { RACK_LOOKED_AT = 64 };

struct rated rate_find(const struct live *live, const char *name, bool evicting)
{
	struct rated rated = {.machine = cluster_find_machine(live_cluster(live), name), .performance = NAN};
	uint32_t machine = (uint32_t)rated.machine;

	if (rated.machine < 0)
		return rated;
	rated.closed = live_machine_state_of(live, machine) != LIVE_UP;
	rated.full = !evicting && live_machine_tasks(live, machine) >= live_cluster(live)->machines[machine].slots;
	rated.machine = rated.closed ? -1 : rated.machine;
	return rated;
}

static bool is_candidate(const struct rated *rated)
{
	return rated->machine >= 0 && !rated->full;
}

static double predict(const struct live *live, const struct curve *curve, int64_t root, int64_t machine)
{
	enum latency_origin origin;
	double rtt_us = latency_view_get(live_view(live), (uint32_t)root, (uint32_t)machine, &origin);

	return isinf(rtt_us) ? 0 : curve_interpolate(curve, curve_added_rtt_us(curve, rtt_us));
}

static uint32_t rack_of(const struct live *live, int64_t machine)
{
	return live_cluster(live)->machines[machine].rack;
}

/* Returns the rack with the most candidates. Sets *candidates to their number. */
static uint32_t best_rack(const struct live *live, const struct rated *rated, size_t count, size_t *candidates)
{
	uint32_t racks = live_cluster(live)->rack_count, best = 0;
	size_t *counts = calloc((size_t)racks + 1, sizeof *counts);

	*candidates = 0;
	for (size_t n = 0; counts && n < count; n++)
		if (is_candidate(&rated[n]) && ++counts[rack_of(live, rated[n].machine)] > *candidates) {
			best = rack_of(live, rated[n].machine);
			*candidates = counts[best];
		}
	free(counts);
	return best;
}

void rate_roots(const struct live *live, const struct curve *curve, struct rated *rated, size_t count)
{
	size_t candidates, members[RACK_LOOKED_AT], member_count = 0;
	uint32_t rack = best_rack(live, rated, count, &candidates);

	for (size_t n = 0; n < count; n++) {
		if (!is_candidate(&rated[n]))
			continue;
		rated[n].performance = 0;
		if (candidates > 0 && rack_of(live, rated[n].machine) == rack && member_count < RACK_LOOKED_AT)
			members[member_count++] = n;
	}
	for (size_t a = 0; a < member_count; a++) {
		double sum = 1; /* a task on the node itself */

		for (size_t b = 0; b < member_count; b++)
			if (b != a)
				sum += predict(live, curve, rated[members[a]].machine, rated[members[b]].machine);
		rated[members[a]].performance = sum / (double)member_count;
	}
}

void rate_tasks(const struct live *live, const struct curve *curve, int64_t root, struct rated *rated, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (rated[n].machine >= 0)
			rated[n].performance = predict(live, curve, root, rated[n].machine);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maintains the largest round trip between any two racks, and between any two pods. If a pair's new round trip exceeds
 * the maximum, the maximum is raised at once. If the round trip of the pair with the maximum falls, the maximum is
 * recomputed at the end of the batch. One pass over the pairs of a rack recomputes all of the rack's maxima.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cost_priv.h"

/* Records that the machine's round trips to the rack changed. */
static void note_moved(struct latency_view *view, uint32_t machine, uint32_t rack)
{
	view->moved[(size_t)machine * view->words + rack / 64] |= UINT64_C(1) << rack % 64;
	if (!view->is_moved[machine]) {
		view->is_moved[machine] = 1;
		view->moved_list[view->moved_count++] = machine;
	}
}

static void note_moved_from_rack(struct latency_view *view, uint32_t from, uint32_t to)
{
	const struct cost_layout *layout = view->layout;

	for (uint32_t c = layout->rack_first[from]; c < layout->rack_first[from] + layout->rack_used[from]; c++) {
		if (layout->machine_of_column[c] != COST_NO_MACHINE)
			note_moved(view, layout->machine_of_column[c], to);
	}
}

static void note_moved_racks(struct latency_view *view, uint32_t a, uint32_t b)
{
	note_moved_from_rack(view, a, b);
	if (a != b)
		note_moved_from_rack(view, b, a);
}

/*
 * Sets the largest round trip between two pods. Pairs of racks of these pods that have no maximum of their own use this
 * value, so they are recorded as changed, too.
 */
static int set_pod_maximum(struct latency_view *view, uint32_t pod_a, uint32_t pod_b, float value)
{
	const struct cluster *cluster = view->layout->cluster;

	for (uint32_t a = 0; a < view->rack_count; a++) {
		for (uint32_t b = 0; cluster->racks[a].pod == pod_a && b < view->rack_count; b++) {
			if (cluster->racks[b].pod == pod_b && pair_map_get(&view->rack_maximum, a, b) < 0)
				note_moved_racks(view, a, b);
		}
	}
	return pair_map_set(&view->pod_maximum, pod_a, pod_b, value);
}

static int set_rack_maximum(struct latency_view *view, uint32_t rack_a, uint32_t rack_b, float value)
{
	const struct cluster_rack *racks = view->layout->cluster->racks;
	uint32_t pod_a = racks[rack_a].pod, pod_b = racks[rack_b].pod;
	float before = pair_map_get(&view->rack_maximum, rack_a, rack_b);
	float pod = pair_map_get(&view->pod_maximum, pod_a, pod_b);

	note_moved_racks(view, rack_a, rack_b);
	if (pair_map_set(&view->rack_maximum, rack_a, rack_b, value) != 0)
		return -ENOMEM;
	if (value > pod)
		return set_pod_maximum(view, pod_a, pod_b, value);
	view->pods_stale |= before >= pod && value < before;
	return 0;
}

int latency_maxima_note(struct latency_view *view, uint32_t a, uint32_t b, float before, float after)
{
	uint32_t rack_a = rack_of(view, a), rack_b = rack_of(view, b);
	float maximum;

	note_moved(view, a, rack_b);
	note_moved(view, b, rack_a);
	if (a == b)
		return 0;
	before = finite_rtt(before);
	after = finite_rtt(after);
	maximum = pair_map_get(&view->rack_maximum, rack_a, rack_b);
	if (after > maximum)
		return set_rack_maximum(view, rack_a, rack_b, after);
	if (before >= maximum && before >= 0 && after < before) {
		view->stale_racks[rack_a / 64] |= UINT64_C(1) << rack_a % 64;
		view->any_stale = true;
	}
	return 0;
}

/*
 * Sets view->scratch[r] to the largest round trip measured between rack `from` and rack r. Leaves out pairs of a
 * machine with itself.
 */
static void find_rack_maxima(struct latency_view *view, uint32_t from)
{
	const struct cost_layout *layout = view->layout;

	for (uint32_t r = 0; r < view->rack_count; r++)
		view->scratch[r] = -1;
	for (uint32_t c = layout->rack_first[from]; c < layout->rack_first[from] + layout->rack_used[from]; c++) {
		uint32_t machine = layout->machine_of_column[c], rack = 0;
		const struct measured_row *row = machine == COST_NO_MACHINE ? NULL : &view->rows[machine];

		for (uint32_t i = 0; row && i < row->count; i++) {
			float value = finite_rtt(pair_value(&row->pairs[i]));

			while (layout->rack_first[rack + 1] <= row->pairs[i].column)
				rack++;
			if (row->pairs[i].column != c && value > view->scratch[rack])
				view->scratch[rack] = value;
		}
	}
}

static int settle_rack(struct latency_view *view, uint32_t rack)
{
	int code = 0;

	find_rack_maxima(view, rack);
	for (uint32_t other = 0; other < view->rack_count && code == 0; other++) {
		float before = pair_map_get(&view->rack_maximum, rack, other);

		if (view->scratch[other] < before || view->scratch[other] > before)
			code = set_rack_maximum(view, rack, other, view->scratch[other]);
	}
	return code;
}

/* Returns the largest of the maxima between a rack of pod_a and a rack of pod_b. */
static float find_pod_maximum(const struct latency_view *view, uint32_t pod_a, uint32_t pod_b)
{
	const struct cluster *cluster = view->layout->cluster;
	float largest = -1;

	for (uint32_t a = 0; a < view->rack_count; a++) {
		for (uint32_t b = 0; cluster->racks[a].pod == pod_a && b < view->rack_count; b++) {
			float value = cluster->racks[b].pod == pod_b ? pair_map_get(&view->rack_maximum, a, b) : -1;

			largest = value > largest ? value : largest;
		}
	}
	return largest;
}

static int settle_pods(struct latency_view *view)
{
	uint32_t pods = view->layout->cluster->pod_count;
	int code = 0;

	view->pods_stale = false;
	for (uint32_t a = 0; a < pods; a++) {
		for (uint32_t b = a; b < pods && code == 0; b++) {
			float before = pair_map_get(&view->pod_maximum, a, b), after;

			if (before < 0)
				continue;
			after = find_pod_maximum(view, a, b);
			if (after < before)
				code = set_pod_maximum(view, a, b, after);
		}
	}
	return code;
}

int latency_maxima_settle(struct latency_view *view)
{
	int code = 0;

	for (uint32_t word = 0; view->any_stale && word < view->words; word++) {
		for (; view->stale_racks[word] != 0 && code == 0;
		     view->stale_racks[word] &= view->stale_racks[word] - 1)
			code = settle_rack(view, word * 64 + (uint32_t)__builtin_ctzll(view->stale_racks[word]));
	}
	view->any_stale = view->any_stale && code != 0;
	return code == 0 && view->pods_stale ? settle_pods(view) : code;
}

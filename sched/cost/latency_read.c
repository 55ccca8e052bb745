/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include <base/array.h>

#include "cost_priv.h"

const char *latency_origin_name(enum latency_origin origin)
{
	static const char *const names[] = {"measured", "rack pair", "pod pair", "topology", "same machine"};

	return names[origin];
}

static const struct measured_pair *find_pair(const struct latency_view *view, uint32_t a, uint32_t b)
{
	const struct measured_row *row = &view->rows[a];
	uint32_t column = view->layout->column_of_machine[b], at = measured_row_find(row, column);

	return at < row->count && row->pairs[at].column == column ? &row->pairs[at] : NULL;
}

/* Returns the round trip of a pair of different machines in these racks that was not measured. Sets *origin. */
static float rack_value(const struct latency_view *view, uint32_t rack_a, uint32_t rack_b, enum latency_origin *origin)
{
	const struct cluster *cluster = view->layout->cluster;
	uint32_t pod_a = cluster->racks[rack_a].pod, pod_b = cluster->racks[rack_b].pod;
	float value = pair_map_get(&view->rack_maximum, rack_a, rack_b);

	*origin = LATENCY_ORIGIN_RACK_PAIR;
	if (value >= 0)
		return value;
	value = pair_map_get(&view->pod_maximum, pod_a, pod_b);
	*origin = LATENCY_ORIGIN_POD_PAIR;
	/* If both racks are in one pod, this maximum counts the pairs within each rack of the pod, too. */
	if (value >= 0)
		return value;
	*origin = LATENCY_ORIGIN_TOPOLOGY;
	if (rack_a == rack_b)
		return (float)cluster->default_rtt.same_rack_us;
	return (float)(pod_a == pod_b ? cluster->default_rtt.same_pod_us : cluster->default_rtt.other_pod_us);
}

float latency_view_get(const struct latency_view *view, uint32_t a, uint32_t b, enum latency_origin *origin)
{
	const struct measured_pair *pair = find_pair(view, a, b);
	enum latency_origin unused = LATENCY_ORIGIN_MEASURED;

	origin = origin ? origin : &unused;
	*origin = LATENCY_ORIGIN_MEASURED;
	if (pair)
		return pair_value(pair);
	*origin = LATENCY_ORIGIN_SAME_MACHINE;
	if (a == b)
		return (float)view->layout->cluster->default_rtt.same_machine_us;
	return rack_value(view, rack_of(view, a), rack_of(view, b), origin);
}

uint32_t latency_view_pairs_of(const struct latency_view *view, uint32_t machine)
{
	return view->rows[machine].count;
}

uint64_t latency_view_pairs(const struct latency_view *view)
{
	uint64_t own = 0;

	for (uint32_t m = 0; m < view->layout->machine_count; m++) {
		if (view->layout->column_of_machine[m] != COST_NO_COLUMN)
			own += find_pair(view, m, m) != NULL;
	}
	return (view->pair_entries - own) / 2 + own;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Writes COST_LANES values at a time, because a copy of constant length compiles to a few vector instructions. The
 * number of a rack's columns is a multiple of COST_LANES, so a complete rack leaves no remainder.
 */
static void fill_columns(float *rtt_us, uint32_t count, float value)
{
	float lanes[COST_LANES];
	uint32_t c = 0;

	for (int i = 0; i < COST_LANES; i++)
		lanes[i] = value;
	for (; c + COST_LANES <= count; c += COST_LANES)
		memcpy(rtt_us + c, lanes, sizeof lanes);
	for (; c < count; c++)
		rtt_us[c] = value;
}

/* Returns the rack that has the column. */
static uint32_t rack_of_column(const struct cost_layout *layout, uint32_t column)
{
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, layout->rack_count, layout->rack_first[at + 1] <= column);
	return at;
}

static void clear_holes(const struct cost_layout *layout, uint32_t first, uint32_t end, float *rtt_us)
{
	for (uint32_t c = first; c < end; c++) {
		if (layout->machine_of_column[c] == COST_NO_MACHINE)
			rtt_us[c - first] = -1;
	}
}

/*
 * Fills rtt_us with the values that unmeasured pairs have, for the columns first..end-1; -1 for columns without a
 * machine, and for all if only measured pairs count.
 */
static void fill_by_rack(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t end, float *rtt_us)
{
	const struct cost_layout *layout = view->layout;
	uint32_t root_rack = rack_of(view, root), column = first;
	const float *measured = pair_map_row(&view->rack_maximum, root_rack);

	for (uint32_t rack = rack_of_column(layout, first); column < end; rack++) {
		uint32_t rack_end = smaller(layout->rack_first[rack + 1], end);
		uint32_t used_end = layout->rack_first[rack] + layout->rack_used[rack];
		float value = measured && !view->measured_only ? measured[rack] : -1;
		enum latency_origin origin;

		if (value < 0 && column < rack_end && !view->measured_only)
			value = rack_value(view, root_rack, rack, &origin);
		fill_columns(rtt_us + (column - first), rack_end - column, value);
		for (uint32_t c = rack_end; c > column && c > used_end; c--)
			rtt_us[c - 1 - first] = -1;
		if (cost_layout_has_holes(layout, rack))
			clear_holes(layout, column, rack_end, rtt_us + (column - first));
		column = rack_end;
	}
}

void latency_view_row(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	const struct measured_row *row = &view->rows[root];
	uint32_t own = view->layout->column_of_machine[root];

	fill_by_rack(view, root, first, first + count, rtt_us);
	if (own >= first && own < first + count)
		rtt_us[own - first] = (float)view->layout->cluster->default_rtt.same_machine_us;
	for (uint32_t i = measured_row_find(row, first); i < row->count && row->pairs[i].column < first + count; i++)
		rtt_us[row->pairs[i].column - first] = finite_rtt(pair_value(&row->pairs[i]));
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

/*
 * Finds the smallest and the largest round trip (infinite: unreachable) from the row's machine to one rack.
 * row->pairs[first..end-1] are the measured pairs with this rack; the other `rest` machines of the rack have the round
 * trip rest_us.
 */
static void rack_extremes(const struct measured_row *row, uint32_t first, uint32_t end, uint32_t rest, float rest_us,
			  float *least_us, float *most_us)
{
	float least = rest > 0 ? rest_us : INFINITY, most = rest > 0 ? rest_us : -1;

	for (uint32_t i = first; i < end; i++) {
		float value = pair_value(&row->pairs[i]);

		least = value < least ? value : least;
		most = larger(most, value);
	}
	*least_us = most < 0 ? -1 : least;
	*most_us = most;
}

void latency_view_extremes(const struct latency_view *view, uint32_t root, float *least_us, float *most_us)
{
	const struct cost_layout *layout = view->layout;
	const struct measured_row *row = &view->rows[root];
	uint32_t own_rack = rack_of(view, root), own_column = layout->column_of_machine[root], pair = 0;
	const float *measured = pair_map_row(&view->rack_maximum, own_rack);

	for (uint32_t rack = 0; rack < layout->rack_count; rack++) {
		float value = measured ? measured[rack] : -1;
		uint32_t first = pair, rest;
		bool own = rack == own_rack;
		enum latency_origin origin;

		for (; pair < row->count && row->pairs[pair].column < layout->rack_first[rack + 1]; pair++)
			own &= row->pairs[pair].column != own_column;
		rest = layout->rack_machines[rack] - (pair - first) - own;
		if (view->measured_only)
			value = INFINITY;
		else if (value < 0 && rest > 0)
			value = rack_value(view, own_rack, rack, &origin);
		rack_extremes(row, first, pair, rest, value, &least_us[rack], &most_us[rack]);
		if (own) { /* the root is in this rack and has no measurement to itself */
			float self_us = (float)layout->cluster->default_rtt.same_machine_us;

			least_us[rack] = most_us[rack] < 0 || self_us < least_us[rack] ? self_us : least_us[rack];
			most_us[rack] = larger(most_us[rack], self_us);
		}
	}
}

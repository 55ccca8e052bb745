/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each machine keeps the pairs it is an end of, sorted by the other end's column, so that a row is laid over the rack
 * values in one walk and a rack's pairs lie side by side.
 */
#include <sched/cost/latency_view.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pair_map.h"

struct measured_pair {
	uint32_t column; /* of the other end */
	float out_us;    /* what this machine saw; negative = nothing */
	float in_us;     /* what the other end saw */
};

struct measured_row {
	struct measured_pair *pairs;
	uint32_t count, capacity;
};

struct latency_view {
	const struct cost_layout *layout;
	struct measured_row *rows; /* by machine */
	uint32_t row_count;
	struct pair_map rack_maximum, pod_maximum;
};

const char *latency_origin_name(enum latency_origin origin)
{
	static const char *const names[] = {"measured", "rack pair", "pod pair", "topology", "same machine"};

	return names[origin];
}

struct latency_view *latency_view_create(const struct cost_layout *layout)
{
	struct latency_view *view = calloc(1, sizeof *view);

	if (!view)
		return NULL;
	view->layout = layout;
	view->row_count = layout->cluster->machine_count;
	view->rows = calloc((size_t)view->row_count + 1, sizeof *view->rows);
	if (!view->rows || pair_map_init(&view->rack_maximum, layout->rack_count) != 0 ||
	    pair_map_init(&view->pod_maximum, layout->cluster->pod_count) != 0) {
		latency_view_destroy(view);
		errno = ENOMEM;
		return NULL;
	}
	return view;
}

void latency_view_destroy(struct latency_view *view)
{
	if (!view)
		return;
	for (uint32_t m = 0; view->rows && m < view->row_count; m++)
		free(view->rows[m].pairs);
	free(view->rows);
	pair_map_free(&view->rack_maximum);
	pair_map_free(&view->pod_maximum);
	free(view);
}

static float pair_value(const struct measured_pair *pair)
{
	return pair->out_us > pair->in_us ? pair->out_us : pair->in_us;
}

/* First pair whose column is not under `column`. */
static uint32_t lower_bound(const struct measured_row *row, uint32_t column)
{
	uint32_t low = 0, high = row->count;

	if (high > 0 && row->pairs[high - 1].column < column)
		return high; /* files usually come in order */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row->pairs[middle].column < column)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct measured_pair *find_pair(const struct measured_row *row, uint32_t column)
{
	uint32_t at = lower_bound(row, column);

	return at < row->count && row->pairs[at].column == column ? &row->pairs[at] : NULL;
}

static struct measured_pair *find_or_add_pair(struct measured_row *row, uint32_t column)
{
	uint32_t at = lower_bound(row, column);

	if (at < row->count && row->pairs[at].column == column)
		return &row->pairs[at];
	if (row->count == row->capacity) {
		uint32_t capacity = row->capacity ? row->capacity * 2 : 8;
		struct measured_pair *larger = reallocarray(row->pairs, capacity, sizeof *larger);

		if (!larger)
			return NULL;
		row->pairs = larger;
		row->capacity = capacity;
	}
	memmove(&row->pairs[at + 1], &row->pairs[at], (row->count - at) * sizeof *row->pairs);
	row->pairs[at] = (struct measured_pair){.column = column, .out_us = -1, .in_us = -1};
	row->count++;
	return &row->pairs[at];
}

static uint32_t rack_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->machines[machine].rack;
}

static uint32_t pod_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->racks[rack_of(view, machine)].pod;
}

/* Largest value measured between two racks, seen from the columns of `from`; pairs of a machine with itself apart. */
static float rack_pair_maximum(const struct latency_view *view, uint32_t from, uint32_t to)
{
	const struct cost_layout *layout = view->layout;
	float largest = -1;

	for (uint32_t c = layout->rack_first[from]; c < layout->rack_first[from + 1]; c++) {
		uint32_t machine = layout->machine_of_column[c];
		const struct measured_row *row;

		if (machine == COST_NO_MACHINE)
			continue;
		row = &view->rows[machine];
		for (uint32_t i = lower_bound(row, layout->rack_first[to]);
		     i < row->count && row->pairs[i].column < layout->rack_first[to + 1]; i++) {
			float value = pair_value(&row->pairs[i]);

			if (row->pairs[i].column != c && value > largest)
				largest = value;
		}
	}
	return largest;
}

static float pod_pair_maximum(const struct latency_view *view, uint32_t pod_a, uint32_t pod_b)
{
	const struct cluster *cluster = view->layout->cluster;
	float largest = -1;

	for (uint32_t a = 0; a < cluster->rack_count; a++) {
		if (cluster->racks[a].pod != pod_a)
			continue;
		for (uint32_t b = 0; b < cluster->rack_count; b++) {
			float value = cluster->racks[b].pod == pod_b ? pair_map_get(&view->rack_maximum, a, b) : -1;

			largest = value > largest ? value : largest;
		}
	}
	return largest;
}

/*
 * A pair between these machines went from `before` to `after` (negative: not measured): keeps the maxima right.
 * A maximum that rises is O(1); one that its own pair takes down is looked for again.
 */
static int update_maxima(struct latency_view *view, uint32_t a, uint32_t b, float before, float after)
{
	uint32_t rack_a = rack_of(view, a), rack_b = rack_of(view, b), pod_a = pod_of(view, a), pod_b = pod_of(view, b);
	float rack_old = pair_map_get(&view->rack_maximum, rack_a, rack_b), rack_new = rack_old;
	float pod_old, pod_new;

	if (after >= rack_old)
		rack_new = after;
	else if (before >= rack_old)
		rack_new = rack_pair_maximum(view, rack_a, rack_b);
	if (!(rack_new < rack_old) && !(rack_new > rack_old))
		return LATENCY_MOVED_PAIR;
	if (pair_map_set(&view->rack_maximum, rack_a, rack_b, rack_new) != 0)
		return -ENOMEM;
	pod_old = pod_new = pair_map_get(&view->pod_maximum, pod_a, pod_b);
	if (rack_new >= pod_old)
		pod_new = rack_new;
	else if (rack_old >= pod_old)
		pod_new = pod_pair_maximum(view, pod_a, pod_b);
	if (!(pod_new < pod_old) && !(pod_new > pod_old))
		return LATENCY_MOVED_RACK_PAIR;
	if (pair_map_set(&view->pod_maximum, pod_a, pod_b, pod_new) != 0)
		return -ENOMEM;
	return LATENCY_MOVED_POD_PAIR;
}

int latency_view_set(struct latency_view *view, uint32_t source, uint32_t destination, float rtt_us)
{
	const struct cost_layout *layout = view->layout;
	struct measured_pair *forward, *backward;
	float before, after;

	if (!(rtt_us >= 0))
		rtt_us = -1;
	forward = find_or_add_pair(&view->rows[source], layout->column_of_machine[destination]);
	if (!forward)
		return -ENOMEM;
	before = pair_value(forward);
	forward->out_us = rtt_us;
	if (source == destination) {
		forward->in_us = rtt_us;
		return before < rtt_us || before > rtt_us ? LATENCY_MOVED_PAIR : LATENCY_MOVED_NOTHING;
	}
	backward = find_or_add_pair(&view->rows[destination], layout->column_of_machine[source]);
	if (!backward)
		return -ENOMEM;
	backward->in_us = rtt_us;
	after = pair_value(forward);
	if (!(before < after) && !(before > after))
		return LATENCY_MOVED_NOTHING;
	return update_maxima(view, source, destination, before, after);
}

static double entry_rtt(const struct latency_entry *entry, enum latency_statistic statistic)
{
	switch (statistic) {
	case LATENCY_STATISTIC_P99:
		return entry->rtt_p99_us;
	case LATENCY_STATISTIC_P50:
		return entry->rtt_p50_us;
	default:
		return entry->rtt_max_us;
	}
}

int latency_view_load(struct latency_view *view, const struct latency_matrix *matrix, enum latency_statistic statistic,
		      struct latency_view_load *outcome, struct error *err)
{
	size_t hosts = latency_matrix_hosts(matrix);
	int64_t *machines = calloc(hosts + 1, sizeof *machines);
	int code = 0;

	*outcome = (struct latency_view_load){0};
	if (!machines)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t h = 0; h < hosts; h++)
		machines[h] = cluster_find_machine(view->layout->cluster, latency_matrix_host(matrix, (uint32_t)h));
	for (size_t i = 0; i < latency_matrix_count(matrix) && code >= 0; i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);
		double rtt_us = entry_rtt(entry, statistic);

		if (machines[entry->source] < 0 || machines[entry->destination] < 0) {
			uint32_t stranger = machines[entry->source] < 0 ? entry->source : entry->destination;

			if (outcome->unknown++ == 0)
				outcome->unknown_name = latency_matrix_host(matrix, stranger);
		} else if (entry->samples == 0 || isnan(rtt_us)) {
			outcome->unanswered++;
		} else {
			outcome->pairs++;
			code = latency_view_set(view, (uint32_t)machines[entry->source],
						(uint32_t)machines[entry->destination], (float)rtt_us);
		}
	}
	free(machines);
	return code < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* The value of a pair of different machines that was not measured itself. */
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
	/* Within one pod that maximum is between racks or within one; it stands for both. */
	if (value >= 0)
		return value;
	*origin = LATENCY_ORIGIN_TOPOLOGY;
	if (rack_a == rack_b)
		return (float)cluster->default_rtt.same_rack_us;
	return (float)(pod_a == pod_b ? cluster->default_rtt.same_pod_us : cluster->default_rtt.other_pod_us);
}

float latency_view_get(const struct latency_view *view, uint32_t a, uint32_t b, enum latency_origin *origin)
{
	const struct measured_pair *pair = find_pair(&view->rows[a], view->layout->column_of_machine[b]);
	enum latency_origin unused = LATENCY_ORIGIN_MEASURED;

	origin = origin ? origin : &unused;
	*origin = LATENCY_ORIGIN_MEASURED;
	if (pair && pair_value(pair) >= 0)
		return pair_value(pair);
	*origin = LATENCY_ORIGIN_SAME_MACHINE;
	if (a == b)
		return (float)view->layout->cluster->default_rtt.same_machine_us;
	return rack_value(view, rack_of(view, a), rack_of(view, b), origin);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Sixteen at a time, where they are whole racks: a loop of its own length would be written for any. */
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

/* The rack that the column lies in. */
static uint32_t rack_of_column(const struct cost_layout *layout, uint32_t column)
{
	uint32_t low = 0, high = layout->rack_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (layout->rack_first[middle + 1] <= column)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rack values for the columns first..end-1, padding -1. */
static void fill_by_rack(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t end, float *rtt_us)
{
	const struct cost_layout *layout = view->layout;
	uint32_t root_rack = rack_of(view, root), column = first;
	const float *measured = pair_map_row(&view->rack_maximum, root_rack);

	for (uint32_t rack = rack_of_column(layout, first); column < end; rack++) {
		uint32_t rack_end = smaller(layout->rack_first[rack + 1], end), padding = rack_end;
		float value = measured ? measured[rack] : -1;
		enum latency_origin origin;

		if (value < 0)
			value = rack_value(view, root_rack, rack, &origin);
		fill_columns(rtt_us + (column - first), rack_end - column, value);
		/* A rack's machines come first, its padding after them. */
		while (padding > column && layout->machine_of_column[padding - 1] == COST_NO_MACHINE)
			rtt_us[--padding - first] = -1;
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
	for (uint32_t i = lower_bound(row, first); i < row->count && row->pairs[i].column < first + count; i++) {
		float value = pair_value(&row->pairs[i]);

		if (value >= 0)
			rtt_us[row->pairs[i].column - first] = value;
	}
}

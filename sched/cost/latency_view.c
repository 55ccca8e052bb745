/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "cost_priv.h"

struct latency_view *latency_view_create(const struct cost_layout *layout)
{
	struct latency_view *view = calloc(1, sizeof *view);

	if (!view)
		return NULL;
	view->layout = layout;
	if (pair_map_init(&view->rack_maximum, layout->rack_count) != 0 ||
	    pair_map_init(&view->pod_maximum, layout->cluster->pod_count) != 0 || latency_view_grow(view) != 0) {
		latency_view_destroy(view);
		errno = ENOMEM;
		return NULL;
	}
	return view;
}

void latency_view_require_measured(struct latency_view *view)
{
	view->measured_only = true;
}

void latency_view_destroy(struct latency_view *view)
{
	if (!view)
		return;
	for (uint32_t m = 0; m < view->row_count; m++)
		free(view->rows[m].pairs);
	free(view->rows);
	free(view->rack_first);
	free(view->stale_racks);
	free(view->scratch);
	free(view->moved);
	free(view->moved_list);
	free(view->is_moved);
	pair_map_free(&view->rack_maximum);
	pair_map_free(&view->pod_maximum);
	free(view);
}

/* Grows *items to `count` elements of `size` bytes; those from `old` on are zero. */
static int extend(void *items, size_t old, size_t count, size_t size)
{
	void **place = items, *larger;

	if (count <= old && *place)
		return 0;
	larger = reallocarray(*place, count + 1, size);
	if (!larger)
		return -ENOMEM;
	memset((char *)larger + old * size, 0, (count - old) * size);
	*place = larger;
	return 0;
}

static int grow_racks(struct latency_view *view)
{
	uint32_t racks = view->layout->rack_count, words = (racks + 63) / 64;

	if (extend(&view->rack_first, view->rack_count, (size_t)racks + 1, sizeof *view->rack_first) != 0 ||
	    extend(&view->scratch, view->rack_count, racks, sizeof *view->scratch) != 0 ||
	    extend(&view->stale_racks, view->words, words, sizeof *view->stale_racks) != 0 ||
	    pair_map_grow(&view->rack_maximum, racks) != 0 ||
	    pair_map_grow(&view->pod_maximum, view->layout->cluster->pod_count) != 0)
		return -ENOMEM;
	if (words != view->words) {
		uint64_t *wider = calloc((size_t)view->row_count * words + 1, sizeof *wider);

		if (!wider)
			return -ENOMEM;
		for (size_t m = 0; m < view->row_count && view->words > 0; m++)
			memcpy(wider + m * words, view->moved + m * view->words, view->words * sizeof *wider);
		free(view->moved);
		view->moved = wider;
		view->words = words;
	}
	return 0;
}

/*
 * Updates the columns in the pairs after the layout has moved columns. The order of the racks is unchanged, so the
 * pairs remain sorted.
 */
static void move_columns(struct latency_view *view)
{
	for (uint32_t m = 0; m < view->row_count; m++) {
		struct measured_row *row = &view->rows[m];

		for (uint32_t i = 0, rack = 0; i < row->count; i++) {
			while (view->rack_first[rack + 1] <= row->pairs[i].column)
				rack++;
			row->pairs[i].column += view->layout->rack_first[rack] - view->rack_first[rack];
		}
	}
}

int latency_view_grow(struct latency_view *view)
{
	const struct cost_layout *layout = view->layout;
	uint32_t machines = layout->machine_count;

	if (layout->moves != view->moves)
		move_columns(view);
	view->moves = layout->moves;
	if (grow_racks(view) != 0)
		return -ENOMEM;
	view->rack_count = layout->rack_count;
	memcpy(view->rack_first, layout->rack_first, ((size_t)layout->rack_count + 1) * sizeof *view->rack_first);
	if (machines > view->row_count && view->row_count > 0 && machines < view->row_count + view->row_count / 4)
		machines = view->row_count + view->row_count / 4 + 1;
	if (extend(&view->rows, view->row_count, machines, sizeof *view->rows) != 0 ||
	    extend(&view->moved_list, view->row_count, machines, sizeof *view->moved_list) != 0 ||
	    extend(&view->is_moved, view->row_count, machines, sizeof *view->is_moved) != 0 ||
	    extend(&view->moved, (size_t)view->row_count * view->words, (size_t)machines * view->words,
		   sizeof *view->moved) != 0)
		return -ENOMEM;
	view->row_count = machines;
	return 0;
}

uint32_t measured_row_find(const struct measured_row *row, uint32_t column)
{
	uint32_t count = row->count, at;

	if (row->next < row->count && row->pairs[row->next].column == column)
		return row->next;
	if (count > 0 && row->pairs[count - 1].column < column)
		return count; /* append: the rows of a file are usually sorted */
	SEARCH_LOWER_BOUND(at, 0, count, row->pairs[at].column < column);
	return at;
}

static struct measured_pair *find_or_add_pair(struct latency_view *view, struct measured_row *row, uint32_t column)
{
	uint32_t at = measured_row_find(row, column);

	row->next = at + 1;
	if (at < row->count && row->pairs[at].column == column)
		return &row->pairs[at];
	if (row->count == row->capacity) {
		uint32_t capacity = row->capacity ? row->capacity + row->capacity / 2 : 4;
		struct measured_pair *larger = reallocarray(row->pairs, capacity, sizeof *larger);

		if (!larger)
			return NULL;
		row->pairs = larger;
		row->capacity = capacity;
	}
	memmove(&row->pairs[at + 1], &row->pairs[at], (row->count - at) * sizeof *row->pairs);
	row->pairs[at] = (struct measured_pair){.column = column, .out_us = -1, .in_us = -1};
	row->count++;
	view->pair_entries++;
	return &row->pairs[at];
}

/* Removes the pair with this column from a row. The caller also removes it from the row of the pair's other machine. */
static void remove_pair(struct latency_view *view, struct measured_row *row, uint32_t column)
{
	uint32_t at = measured_row_find(row, column);

	memmove(&row->pairs[at], &row->pairs[at + 1], (row->count - at - 1) * sizeof *row->pairs);
	row->count--;
	view->pair_entries--;
	if (row->count < row->capacity / 4) {
		struct measured_pair *smaller = reallocarray(row->pairs, row->capacity / 2, sizeof *smaller);

		if (!smaller)
			return;
		row->pairs = smaller;
		row->capacity /= 2;
	}
}

static int store(struct latency_view *view, const struct latency_sample *sample, uint32_t now_s)
{
	uint32_t a = sample->source, b = sample->destination;
	uint32_t column_a = view->layout->column_of_machine[a], column_b = view->layout->column_of_machine[b];
	float rtt_us = sample->rtt_us >= 0 ? sample->rtt_us : -1, before, after;
	struct measured_pair *forward = find_or_add_pair(view, &view->rows[a], column_b), *backward = forward;

	if (forward && a != b)
		backward = find_or_add_pair(view, &view->rows[b], column_a);
	if (!forward || !backward)
		return -ENOMEM;
	before = pair_value(forward);
	forward->out_us = backward->in_us = rtt_us;
	if (a == b)
		forward->out_us = rtt_us;
	if (rtt_us >= 0)
		forward->seen_s = backward->seen_s = now_s;
	after = pair_value(forward);
	if (after < 0) {
		remove_pair(view, &view->rows[a], column_b);
		if (a != b)
			remove_pair(view, &view->rows[b], column_a);
	}
	return before < after || before > after ? latency_maxima_note(view, a, b, before, after) : 0;
}

int latency_view_update(struct latency_view *view, const struct latency_sample *samples, size_t count, uint32_t now_s)
{
	enum { AHEAD = 8 };
	int code = 0, settled;

	for (size_t i = 0; i < count && code == 0; i++) {
		/* successive samples have the same source, but destinations scattered in memory */
		if (i + AHEAD < count) {
			const struct measured_row *row = &view->rows[samples[i + AHEAD].destination];

			__builtin_prefetch(row);
			row = &view->rows[samples[i + AHEAD / 2].destination];
			if (row->pairs)
				__builtin_prefetch(&row->pairs[row->next], 1);
		}
		code = store(view, &samples[i], now_s);
	}
	settled = latency_maxima_settle(view);
	return code == 0 ? settled : code;
}

int latency_view_set(struct latency_view *view, uint32_t source, uint32_t destination, float rtt_us)
{
	const struct latency_sample sample = {source, destination, rtt_us};

	return latency_view_update(view, &sample, 1, 0);
}

/* Removes the pair at index `at` of the machine's row from the rows of both ends. */
static void withdraw(struct latency_view *view, uint32_t machine, uint32_t at)
{
	const struct cost_layout *layout = view->layout;
	struct measured_pair pair = view->rows[machine].pairs[at];
	uint32_t other = layout->machine_of_column[pair.column];

	remove_pair(view, &view->rows[machine], pair.column);
	if (other != machine)
		remove_pair(view, &view->rows[other], layout->column_of_machine[machine]);
	/* cannot fail: only a rise needs memory */
	(void)latency_maxima_note(view, machine, other, pair_value(&pair), -1);
}

void latency_view_forget(struct latency_view *view, uint32_t machine)
{
	while (view->rows[machine].count > 0)
		withdraw(view, machine, view->rows[machine].count - 1);
	free(view->rows[machine].pairs);
	view->rows[machine] = (struct measured_row){0};
	(void)latency_maxima_settle(view);
}

void latency_view_expire(struct latency_view *view, uint32_t before_s,
			 void (*gone)(void *context, uint32_t a, uint32_t b), void *context)
{
	for (uint32_t m = 0; m < view->row_count; m++) {
		for (uint32_t i = view->rows[m].count; i > 0; i--) {
			const struct measured_pair *pair = &view->rows[m].pairs[i - 1];

			if (pair->seen_s >= before_s)
				continue;
			if (gone)
				gone(context, m, view->layout->machine_of_column[pair->column]);
			withdraw(view, m, i - 1);
		}
	}
	(void)latency_maxima_settle(view);
}

bool latency_view_silent(const struct latency_view *view, uint32_t machine)
{
	const struct measured_row *row = &view->rows[machine];
	uint32_t own = view->layout->column_of_machine[machine], others = 0;

	for (uint32_t i = 0; i < row->count; i++) {
		if (row->pairs[i].column == own)
			continue;
		if (isfinite(pair_value(&row->pairs[i])))
			return false;
		others++;
	}
	return others > 0;
}

float latency_view_own(const struct latency_view *view, uint32_t source, uint32_t destination)
{
	const struct measured_row *row = &view->rows[source];
	uint32_t column = view->layout->column_of_machine[destination], at = measured_row_find(row, column);

	return at < row->count && row->pairs[at].column == column ? row->pairs[at].out_us : -1;
}

struct cost_moved latency_view_moved(const struct latency_view *view)
{
	return (struct cost_moved){view->moved_list, view->moved_count, view->moved, view->words};
}

void latency_view_moved_clear(struct latency_view *view)
{
	for (uint32_t i = 0; i < view->moved_count; i++) {
		uint32_t machine = view->moved_list[i];

		memset(view->moved + (size_t)machine * view->words, 0, view->words * sizeof *view->moved);
		view->is_moved[machine] = 0;
	}
	view->moved_count = 0;
}

int latency_view_load(struct latency_view *view, const struct latency_matrix *matrix, enum latency_statistic statistic,
		      struct ns oldest, struct ns newest, struct latency_view_load *outcome, struct error *err)
{
	size_t hosts = latency_matrix_hosts(matrix);
	int64_t *machines = calloc(hosts + 1, sizeof *machines);
	int code = 0, settled;

	*outcome = (struct latency_view_load){0};
	if (!machines)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t h = 0; h < hosts; h++)
		machines[h] = cluster_find_machine(view->layout->cluster, latency_matrix_host(matrix, (uint32_t)h));
	for (size_t i = 0; i < latency_matrix_count(matrix) && code == 0; i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);
		double rtt_us = latency_entry_value(entry, statistic);

		if (machines[entry->source] < 0 || machines[entry->destination] < 0) {
			uint32_t stranger = machines[entry->source] < 0 ? entry->source : entry->destination;

			if (outcome->unknown++ == 0)
				outcome->unknown_name = latency_matrix_host(matrix, stranger);
		} else if (entry->updated_at.v < oldest.v) {
			outcome->old++;
		} else if (entry->updated_at.v > newest.v) {
			outcome->future++;
		} else if (entry->state != LATENCY_STATE_NEVER) {
			bool answered = entry->samples > 0 && !isnan(rtt_us);
			const struct latency_sample sample = {(uint32_t)machines[entry->source],
							      (uint32_t)machines[entry->destination],
							      answered ? (float)rtt_us : INFINITY};

			outcome->pairs += answered;
			outcome->unanswered += !answered;
			code = store(view, &sample, 0);
		}
	}
	free(machines);
	settled = latency_maxima_settle(view);
	return code != 0 || settled != 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

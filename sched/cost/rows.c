/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/cost/rows.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rows_priv.h"

static void view_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	latency_view_row(context, root, first, count, rtt_us);
}

struct cost_source cost_source_from_view(const struct latency_view *view)
{
	return (struct cost_source){.row = view_row, .context = view};
}

static void cached_row_free(struct cached_row *cached)
{
	if (!cached)
		return;
	free(cached->row.machines);
	free(cached->row.racks);
	free(cached->row.spans);
	free(cached->row.changed);
	free(cached);
}

static struct cached_row *cached_row_create(uint32_t root, uint32_t rack_count, int32_t machine_limit)
{
	uint32_t words = bit_words(rack_count);
	struct cached_row *cached = calloc(1, sizeof *cached + 2 * words * sizeof *cached->bits);

	if (!cached)
		return NULL;
	cached->row.root = root;
	cached->row.machine_limit = machine_limit;
	cached->dirty = cached->bits;
	cached->tops = cached->bits + words;
	cached->dirty_count = rack_count;
	return cached;
}

struct cost_rows *cost_rows_create(const struct cost_layout *layout, struct cost_source source,
				   struct cost_rows_settings settings)
{
	struct cost_rows *rows = calloc(1, sizeof *rows);
	uint32_t machines = layout->cluster->machine_count;

	if (!rows)
		return NULL;
	rows->layout = layout;
	rows->source = source;
	rows->settings = settings;
	rows->kernel = cost_kernel_best();
	rows->rows_at = calloc((size_t)machines + 1, sizeof *rows->rows_at);
	rows->absent = calloc((size_t)machines + 1, sizeof *rows->absent);
	rows->rtt_us = calloc((size_t)layout->column_count + 1, sizeof *rows->rtt_us);
	rows->cost = calloc((size_t)layout->column_count + 1, sizeof *rows->cost);
	rows->chosen = calloc((size_t)machines + 1, sizeof *rows->chosen);
	rows->rack_cost = calloc((size_t)layout->rack_count + 1, sizeof *rows->rack_cost);
	rows->spans = calloc((size_t)layout->rack_count + 1, sizeof *rows->spans);
	if (!rows->rows_at || !rows->absent || !rows->rtt_us || !rows->cost || !rows->chosen || !rows->rack_cost ||
	    !rows->spans) {
		cost_rows_destroy(rows);
		errno = ENOMEM;
		return NULL;
	}
	return rows;
}

void cost_rows_destroy(struct cost_rows *rows)
{
	if (!rows)
		return;
	for (int32_t k = 0; k < rows->curve_count; k++) {
		for (uint32_t m = 0; m < rows->layout->cluster->machine_count; m++)
			cached_row_free(rows->curves[k].by_root[m]);
		free(rows->curves[k].by_root);
		free(rows->curves[k].jobs);
		cost_table_destroy(rows->curves[k].table);
	}
	free(rows->curves);
	free(rows->rows_at);
	free(rows->absent);
	free(rows->rtt_us);
	free(rows->cost);
	free(rows->chosen);
	free(rows->rack_cost);
	free(rows->spans);
	free(rows);
}

int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference)
{
	struct curve_rows *larger = reallocarray(rows->curves, (size_t)rows->curve_count + 1, sizeof *larger);
	size_t machines = rows->layout->cluster->machine_count;
	struct curve_rows *added;

	if (!larger)
		return -ENOMEM;
	rows->curves = larger;
	added = &larger[rows->curve_count];
	added->table = cost_table_create(curve, reference);
	added->by_root = calloc(machines + 1, sizeof *added->by_root);
	added->jobs = calloc(machines + 1, sizeof *added->jobs);
	if (!added->table || !added->by_root || !added->jobs) {
		cost_table_destroy(added->table);
		free(added->by_root);
		free(added->jobs);
		return -ENOMEM;
	}
	return rows->curve_count++;
}

static void drop(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = &rows->curves[curve].by_root[root];

	if (!*place)
		return;
	cached_row_free(*place);
	*place = NULL;
	rows->rows_at[root]--;
	rows->kept--;
}

const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = &rows->curves[curve].by_root[root];

	if (!*place) {
		*place = cached_row_create(root, rows->layout->rack_count, rows->settings.machine_threshold);
		if (!*place)
			return NULL;
		rows->rows_at[root]++;
		rows->kept++;
	}
	if ((*place)->dirty_count == 0) {
		rows->work.hits++;
		return &(*place)->row;
	}
	if (rows_refresh(rows, rows->curves[curve].table, *place) != 0) {
		drop(rows, curve, root);
		return NULL;
	}
	return &(*place)->row;
}

static void fetch_lines(const void *first, size_t lines)
{
	enum { CACHE_LINE = 64 };

	for (size_t line = 0; line < lines; line++)
		__builtin_prefetch((const char *)first + line * CACHE_LINE);
}

/* Of the arrays the first few lines: the processor sees where it goes from there. */
void cost_rows_fetch(const struct cost_rows *rows, int32_t curve, uint32_t root, enum cost_fetch step)
{
	struct cached_row *const *place;

	if (curve >= rows->curve_count)
		return;
	place = &rows->curves[curve].by_root[root];
	if (step == COST_FETCH_PLACE) {
		__builtin_prefetch(place);
	} else if (*place && step == COST_FETCH_ROW) {
		fetch_lines(*place, 4);
	} else if (*place) {
		fetch_lines((*place)->row.machines, 4);
		fetch_lines((*place)->row.spans, 2);
		fetch_lines((*place)->row.racks, 1);
		fetch_lines((*place)->row.changed, 1);
	}
}

int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine)
{
	float rtt_us;

	rows->source.row(rows->source.context, root, rows->layout->column_of_machine[machine], 1, &rtt_us);
	return (int32_t)cost_table_at(rows->curves[curve].table, rtt_us);
}

void cost_rows_rack(struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t rack, uint16_t *cost)
{
	uint32_t first = rows->layout->rack_first[rack], count = rows->layout->rack_first[rack + 1] - first;
	uint16_t maximum, minimum;

	rows_fetch(rows, root, first, count);
	rows->kernel->rack(rows->curves[curve].table, rows->rtt_us + first, count, cost, &maximum, &minimum);
}

void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost)
{
	const struct cost_layout *layout = rows->layout;
	uint16_t maximum, minimum;

	rows_fetch(rows, root, 0, layout->column_count);
	rows->kernel->rack(rows->curves[curve].table, rows->rtt_us, layout->column_count, rows->cost, &maximum,
			   &minimum);
	for (uint32_t m = 0; m < layout->cluster->machine_count; m++)
		cost[m] = rows->cost[layout->column_of_machine[m]];
}

/* The rack becomes dirty in every row of this root. */
static void dirty_rack(struct cost_rows *rows, uint32_t root, uint32_t rack)
{
	uint64_t bit = UINT64_C(1) << rack % 64;

	if (rows->rows_at[root] == 0)
		return;
	for (int32_t k = 0; k < rows->curve_count; k++) {
		struct cached_row *cached = rows->curves[k].by_root[root];

		if (!cached || (cached->dirty[rack / 64] & bit))
			continue;
		cached->dirty[rack / 64] |= bit;
		cached->dirty_count++;
	}
}

/* The rack becomes dirty in the rows of every root in `from_rack`. */
static void dirty_from_rack(struct cost_rows *rows, uint32_t from_rack, uint32_t rack)
{
	const struct cost_layout *layout = rows->layout;

	for (uint32_t c = layout->rack_first[from_rack]; c < layout->rack_first[from_rack + 1]; c++) {
		if (layout->machine_of_column[c] != COST_NO_MACHINE)
			dirty_rack(rows, layout->machine_of_column[c], rack);
	}
}

/* The rows of every root that `moved` puts beside machine `from` become dirty in the racks beside machine `to`. */
static void dirty_towards(struct cost_rows *rows, uint32_t from, uint32_t to, enum latency_moved moved)
{
	const struct cluster *cluster = rows->layout->cluster;
	uint32_t from_rack = cluster->machines[from].rack, to_rack = cluster->machines[to].rack;

	if (moved == LATENCY_MOVED_PAIR) {
		dirty_rack(rows, from, to_rack);
		return;
	}
	if (moved == LATENCY_MOVED_RACK_PAIR) {
		dirty_from_rack(rows, from_rack, to_rack);
		return;
	}
	for (uint32_t a = 0; a < cluster->rack_count; a++) {
		for (uint32_t b = 0; b < cluster->rack_count; b++) {
			if (cluster->racks[a].pod == cluster->racks[from_rack].pod &&
			    cluster->racks[b].pod == cluster->racks[to_rack].pod)
				dirty_from_rack(rows, a, b);
		}
	}
}

void cost_rows_latency_moved(struct cost_rows *rows, uint32_t a, uint32_t b, enum latency_moved moved)
{
	if (moved == LATENCY_MOVED_NOTHING)
		return;
	dirty_towards(rows, a, b, moved);
	dirty_towards(rows, b, a, moved);
}

void cost_rows_all_moved(struct cost_rows *rows)
{
	for (int32_t k = 0; k < rows->curve_count; k++) {
		for (uint32_t m = 0; m < rows->layout->cluster->machine_count; m++) {
			struct cached_row *cached = rows->curves[k].by_root[m];

			if (cached)
				cached->dirty_count = rows->layout->rack_count;
		}
	}
}

void cost_rows_set_present(struct cost_rows *rows, uint32_t machine, bool present)
{
	if (rows->absent[machine] == !present)
		return;
	rows->absent[machine] = !present;
	if (present)
		rows->absences--;
	else
		rows->absences++;
	if (rows->kept == 0)
		return; /* as when a cluster is told, machine by machine */
	for (uint32_t rack = 0; rack < rows->layout->rack_count; rack++)
		dirty_from_rack(rows, rack, rows->layout->cluster->machines[machine].rack);
}

void cost_rows_root_came(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	if (curve < rows->curve_count)
		rows->curves[curve].jobs[root]++;
}

void cost_rows_root_left(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	uint32_t *jobs = curve < rows->curve_count ? &rows->curves[curve].jobs[root] : NULL;

	if (jobs && *jobs > 0 && --*jobs == 0)
		drop(rows, curve, root);
}

uint64_t cost_rows_kept(const struct cost_rows *rows)
{
	return rows->kept;
}

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows)
{
	return &rows->work;
}

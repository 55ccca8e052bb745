/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/cost/rows.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cost_priv.h"

static void view_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	latency_view_row(context, root, first, count, rtt_us);
}

static void view_extremes(const void *context, uint32_t root, float *least_us, float *most_us)
{
	latency_view_extremes(context, root, least_us, most_us);
}

static bool view_silent(const void *context, uint32_t machine)
{
	return latency_view_silent(context, machine);
}

struct cost_source cost_source_from_view(const struct latency_view *view)
{
	return (struct cost_source){.row = view_row, .context = view, .extremes = view_extremes, .silent = view_silent};
}

static void cached_row_free(struct cached_row *cached)
{
	free(cached->row.machines);
	free(cached->row.racks);
	free(cached->row.spans);
	free(cached->row.changed);
	free(cached);
}

struct cost_rows *cost_rows_create(const struct cost_layout *layout, struct cost_source source,
				   struct cost_rows_settings settings)
{
	struct cost_rows *rows = calloc(1, sizeof *rows);

	if (!rows)
		return NULL;
	rows->layout = layout;
	rows->source = source;
	rows->settings = settings;
	if (settings.machine_threshold > COST_MAXIMUM)
		rows->settings.machine_threshold = COST_MAXIMUM;
	rows->kernel = cost_kernel_best();
	if (cost_rows_grow(rows) != 0) {
		cost_rows_destroy(rows);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t m = 0; m < layout->machine_count; m++)
		cost_rows_set_present(rows, m, layout->column_of_machine[m] != COST_NO_COLUMN);
	return rows;
}

static void drop_root(struct cost_rows *rows, uint32_t root)
{
	while (rows->first_of_root[root]) {
		struct cached_row *cached = rows->first_of_root[root];

		rows->first_of_root[root] = cached->next;
		cached_row_free(cached);
		rows->kept--;
	}
}

void cost_rows_destroy(struct cost_rows *rows)
{
	if (!rows)
		return;
	for (uint32_t m = 0; m < rows->machine_room && rows->first_of_root; m++)
		drop_root(rows, m);
	for (int32_t k = 0; k < rows->curve_count; k++)
		cost_table_destroy(rows->tables[k]);
	free(rows->tables);
	free(rows->first_of_root);
	free(rows->present);
	free(rows->rack_absences);
	free(rows->rtt_us);
	free(rows->cost);
	free(rows->chosen);
	free(rows->rack_arcs);
	free(rows->rack_cost);
	free(rows->least_cost);
	free(rows->least_us);
	free(rows->most_us);
	free(rows->spans);
	free(rows);
}

/*
 * Returns the capacity of an array for `needed` elements: `room`, the present one, if that suffices; otherwise a
 * quarter more than needed, so that growing one by one is cheap. The first time, it is exactly `needed`.
 */
static uint32_t room_for(uint32_t room, uint32_t needed)
{
	if (needed <= room)
		return room;
	return room == 0 ? needed : needed + needed / 4;
}

/* Resizes *items to `room` elements of `size` bytes; those from `old` on are zero. */
static int resize(void *items, uint32_t old, uint32_t room, size_t size)
{
	void **place = items, *larger;

	if (room == old && *place)
		return 0;
	larger = reallocarray(*place, (size_t)room + 1, size);
	if (!larger)
		return -ENOMEM;
	memset((char *)larger + old * size, 0, ((size_t)room - old + 1) * size);
	*place = larger;
	return 0;
}

static int grow_machines(struct cost_rows *rows, uint32_t room)
{
	if (resize(&rows->first_of_root, rows->machine_room, room, sizeof *rows->first_of_root) != 0 ||
	    resize(&rows->present, rows->machine_room, room, sizeof *rows->present) != 0)
		return -ENOMEM;
	rows->machine_room = room;
	return 0;
}

static int grow_columns(struct cost_rows *rows, uint32_t room)
{
	if (resize(&rows->rtt_us, rows->column_room, room, sizeof *rows->rtt_us) != 0 ||
	    resize(&rows->cost, rows->column_room, room, sizeof *rows->cost) != 0 ||
	    resize(&rows->chosen, rows->column_room, room, sizeof *rows->chosen) != 0)
		return -ENOMEM;
	rows->column_room = room;
	return 0;
}

static void set_bits(struct cached_row *cached, uint32_t words)
{
	cached->dirty = cached->bits;
	cached->tops = cached->bits + words;
	cached->partial = cached->bits + (size_t)2 * words;
}

static struct cached_row *cached_row_create(uint32_t words)
{
	struct cached_row *cached = calloc(1, sizeof *cached + (size_t)ROW_BIT_SETS * words * sizeof *cached->bits);

	if (cached)
		set_bits(cached, words);
	return cached;
}

/* Widens the bit sets of every row. */
static int widen_rows(struct cost_rows *rows, uint32_t words)
{
	for (uint32_t m = 0; m < rows->machine_room; m++) {
		for (struct cached_row **place = &rows->first_of_root[m]; *place; place = &(*place)->next) {
			struct cached_row *old = *place, *wider = cached_row_create(words);

			if (!wider)
				return -ENOMEM;
			memcpy(wider, old, sizeof *wider);
			set_bits(wider, words);
			memcpy(wider->dirty, old->dirty, rows->words * sizeof *old->dirty);
			memcpy(wider->tops, old->tops, rows->words * sizeof *old->tops);
			memcpy(wider->partial, old->partial, rows->words * sizeof *old->partial);
			*place = wider;
			free(old);
		}
	}
	rows->words = words;
	return 0;
}

static int grow_racks(struct cost_rows *rows, uint32_t room)
{
	uint32_t words = (room + 63) / 64, lanes = room + COST_LANES;

	if (resize(&rows->rack_absences, rows->rack_room, room, sizeof *rows->rack_absences) != 0 ||
	    resize(&rows->rack_cost, rows->rack_room, lanes, sizeof *rows->rack_cost) != 0 ||
	    resize(&rows->least_cost, rows->rack_room, lanes, sizeof *rows->least_cost) != 0 ||
	    resize(&rows->least_us, rows->rack_room, lanes, sizeof *rows->least_us) != 0 ||
	    resize(&rows->most_us, rows->rack_room, lanes, sizeof *rows->most_us) != 0 ||
	    resize(&rows->rack_arcs, rows->rack_room, room, sizeof *rows->rack_arcs) != 0 ||
	    resize(&rows->spans, rows->rack_room, room, sizeof *rows->spans) != 0)
		return -ENOMEM;
	rows->rack_room = room;
	return words > rows->words ? widen_rows(rows, words) : 0;
}

/* Rows need no update: a new rack affects no row before cost_rows_set_present() for one of its machines. */
int cost_rows_grow(struct cost_rows *rows)
{
	const struct cost_layout *layout = rows->layout;

	if (grow_machines(rows, room_for(rows->machine_room, layout->machine_count)) != 0 ||
	    grow_columns(rows, room_for(rows->column_room, layout->column_count)) != 0 ||
	    grow_racks(rows, room_for(rows->rack_room, layout->rack_count)) != 0)
		return -ENOMEM;
	for (uint32_t r = 0; r < layout->rack_count; r++)
		rows->rack_absences[r] = layout->rack_machines[r];
	for (uint32_t m = 0; m < layout->machine_count; m++)
		rows->rack_absences[layout->cluster->machines[m].rack] -= rows->present[m];
	return 0;
}

void cost_rows_forget(struct cost_rows *rows, uint32_t machine)
{
	cost_rows_set_present(rows, machine, false);
	drop_root(rows, machine);
	rows->rack_absences[rows->layout->cluster->machines[machine].rack]--;
}

int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference)
{
	int32_t number = 0;

	while (number < rows->curve_count && rows->tables[number])
		number++;
	if (number == rows->curve_count) {
		struct cost_table **larger = reallocarray(rows->tables, (size_t)number + 1, sizeof *larger);

		if (!larger)
			return -ENOMEM;
		rows->tables = larger;
		rows->tables[rows->curve_count++] = NULL;
	}
	rows->tables[number] = cost_table_create(curve, reference, rows->settings.lookup);
	return rows->tables[number] ? number : -ENOMEM;
}

int cost_rows_replace_curve(struct cost_rows *rows, int32_t number, const struct curve *curve,
			    enum latency_reference reference)
{
	struct cost_table *table = cost_table_create(curve, reference, rows->settings.lookup);

	if (!table)
		return -ENOMEM;
	cost_table_destroy(rows->tables[number]);
	rows->tables[number] = table;
	for (uint32_t m = 0; m < rows->layout->machine_count; m++) {
		for (struct cached_row *cached = rows->first_of_root[m]; cached; cached = cached->next) {
			if (cached->curve == number)
				cached->dirty_count = ROW_ALL_DIRTY;
		}
	}
	return 0;
}

static void drop(struct cost_rows *rows, struct cached_row **place)
{
	struct cached_row *cached = *place;

	*place = cached->next;
	cached_row_free(cached);
	rows->kept--;
}

void cost_rows_remove_curve(struct cost_rows *rows, int32_t number)
{
	for (uint32_t m = 0; m < rows->layout->machine_count; m++) {
		for (struct cached_row **place = &rows->first_of_root[m]; *place;) {
			if ((*place)->curve == number)
				drop(rows, place);
			else
				place = &(*place)->next;
		}
	}
	cost_table_destroy(rows->tables[number]);
	rows->tables[number] = NULL;
}

/* Returns the pointer in the list that points to the row; if there is no such row, the NULL at the end of the list. */
static struct cached_row **find(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = &rows->first_of_root[root];

	while (*place && (*place)->curve != curve)
		place = &(*place)->next;
	return place;
}

static struct cached_row **find_or_add(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = find(rows, curve, root);

	if (*place)
		return place;
	*place = cached_row_create(rows->words);
	if (!*place)
		return NULL;
	(*place)->curve = curve;
	(*place)->dirty_count = ROW_ALL_DIRTY;
	(*place)->row.root = root;
	(*place)->row.machine_limit = rows->settings.machine_threshold;
	rows->kept++;
	return place;
}

const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = find_or_add(rows, curve, root);

	if (!place)
		return NULL;
	if ((*place)->all_moved != rows->all_moved)
		(*place)->dirty_count = ROW_ALL_DIRTY;
	(*place)->all_moved = rows->all_moved;
	if ((*place)->dirty_count == 0) {
		rows->work.hits++;
		return &(*place)->row;
	}
	if (row_update(rows, *place) != 0) {
		drop(rows, place);
		return NULL;
	}
	return &(*place)->row;
}

static void fetch_lines(const void *first, size_t lines)
{
	enum { CACHE_LINE = 64 };

	for (size_t line = 0; line < lines; line++)
		__builtin_prefetch((const void *)((uintptr_t)first + line * CACHE_LINE)); /* `first` may be NULL */
}

/*
 * Prefetches only the first cache lines of the arrays; the hardware prefetcher continues. Only the first row of the
 * root is fetched: most roots have one.
 */
void cost_rows_fetch(const struct cost_rows *rows, uint32_t root, enum cost_fetch step)
{
	const struct cached_row *cached = step == COST_FETCH_PLACE ? NULL : rows->first_of_root[root];

	if (step == COST_FETCH_PLACE) {
		__builtin_prefetch(&rows->first_of_root[root]);
	} else if (cached && step == COST_FETCH_ROW) {
		fetch_lines(cached, 4);
	} else if (cached) {
		fetch_lines(cached->row.machines, 4);
		fetch_lines(cached->row.spans, 2);
		fetch_lines(cached->row.racks, 1);
		fetch_lines(cached->row.changed, 1);
	}
}

int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine)
{
	float rtt_us;

	rows->source.row(rows->source.context, root, rows->layout->column_of_machine[machine], 1, &rtt_us);
	return (int32_t)cost_table_at(rows->tables[curve], rtt_us);
}

bool cost_rows_silent(const struct cost_rows *rows, uint32_t machine)
{
	return rows->source.silent && rows->source.silent(rows->source.context, machine);
}

void cost_rows_rack(struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t rack, uint16_t *cost)
{
	uint32_t first = rows->layout->rack_first[rack], count = rows->layout->rack_first[rack + 1] - first;
	uint16_t maximum, minimum;

	rows_fetch(rows, root, rack, rack + 1);
	rows->kernel->rack(rows->tables[curve], rows->rtt_us + first, count, cost, &maximum, &minimum);
}

void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost)
{
	const struct cost_layout *layout = rows->layout;
	uint16_t maximum, minimum;

	rows_fetch(rows, root, 0, layout->rack_count);
	rows->kernel->rack(rows->tables[curve], rows->rtt_us, layout->column_count, rows->cost, &maximum, &minimum);
	for (uint32_t m = 0; m < layout->machine_count; m++) {
		uint32_t column = layout->column_of_machine[m];

		cost[m] = column == COST_NO_COLUMN ? COST_ABSENT : rows->cost[column];
	}
}

/* Marks these racks as dirty in the row. */
static void mark_dirty(struct cached_row *cached, const uint64_t *racks, uint32_t words)
{
	if (cached->dirty_count == ROW_ALL_DIRTY)
		return;
	for (uint32_t word = 0; word < words; word++) {
		cached->dirty_count += (uint32_t)__builtin_popcountll(racks[word] & ~cached->dirty[word]);
		cached->dirty[word] |= racks[word];
	}
}

void cost_rows_latency_moved(struct cost_rows *rows, const struct cost_moved *moved)
{
	for (size_t i = 0; i < moved->count; i++) {
		uint32_t machine = moved->machines[i];

		for (struct cached_row *cached = rows->first_of_root[machine]; cached; cached = cached->next) {
			if (moved->racks)
				mark_dirty(cached, moved->racks + (size_t)machine * moved->words, moved->words);
			else
				cached->dirty_count = ROW_ALL_DIRTY;
		}
	}
}

/* Each row compares its all_moved with this counter when it is requested. */
void cost_rows_all_moved(struct cost_rows *rows)
{
	rows->all_moved++;
}

void cost_rows_set_present(struct cost_rows *rows, uint32_t machine, bool present)
{
	uint32_t rack = rows->layout->cluster->machines[machine].rack;
	uint64_t bit = UINT64_C(1) << rack % 64;

	if (rows->present[machine] == present)
		return;
	rows->present[machine] = present;
	if (present)
		rows->rack_absences[rack]--;
	else
		rows->rack_absences[rack]++;
	for (uint32_t m = 0; rows->kept > 0 && m < rows->layout->machine_count; m++) {
		for (struct cached_row *cached = rows->first_of_root[m]; cached; cached = cached->next) {
			if (rows->source.coarse)
				cached->dirty_count = ROW_ALL_DIRTY;
			if (cached->dirty_count == ROW_ALL_DIRTY || (cached->dirty[rack / 64] & bit))
				continue;
			cached->dirty[rack / 64] |= bit;
			cached->dirty_count++;
		}
	}
}

void cost_rows_root_came(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = find_or_add(rows, curve, root);

	if (place) /* if out of memory, the row is created when it is requested */
		(*place)->jobs++;
}

void cost_rows_root_left(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = find(rows, curve, root);

	if (*place && (*place)->jobs > 0 && --(*place)->jobs == 0)
		drop(rows, place);
}

uint64_t cost_rows_kept(const struct cost_rows *rows)
{
	return rows->kept;
}

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows)
{
	return &rows->work;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row anew, or rack by rack. The cluster's cost is the largest of the racks': which racks have it is a bit each, and
 * only when the last of them loses it must all racks be looked at again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rows_priv.h"

enum { RACKS_AT_ONCE = 32 };

static bool bit_is_set(const uint64_t *bits, uint32_t rack)
{
	return bits[rack / 64] >> rack % 64 & 1;
}

static void bit_assign(uint64_t *bits, uint32_t rack, bool value)
{
	bits[rack / 64] = (bits[rack / 64] & ~(UINT64_C(1) << rack % 64)) | (uint64_t)value << rack % 64;
}

/* Room for `count` items, and a quarter more when it must grow. */
static int reserve(void *items, uint32_t *room, uint32_t count, size_t size)
{
	void *larger, **place = items;

	if (count <= *room && *place)
		return 0;
	larger = reallocarray(*place, (size_t)count + count / 4 + 1, size);
	if (!larger)
		return -ENOMEM;
	*place = larger;
	*room = count + count / 4 + 1;
	return 0;
}

static void mark_absent(const struct cost_rows *rows, uint32_t first, uint32_t count)
{
	if (rows->absences == 0)
		return;
	for (uint32_t c = first; c < first + count; c++) {
		uint32_t machine = rows->layout->machine_of_column[c];

		if (machine != COST_NO_MACHINE && rows->absent[machine])
			rows->rtt_us[c] = -1;
	}
}

void rows_fetch(struct cost_rows *rows, uint32_t root, uint32_t first, uint32_t count)
{
	rows->source.row(rows->source.context, root, first, count, rows->rtt_us + first);
	mark_absent(rows, first, count);
}

/* A few racks on from this one: what is fetched is still in the first cache when it is used. */
static void fetch_racks(struct cost_rows *rows, uint32_t root, uint32_t rack)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t last = rack + RACKS_AT_ONCE < layout->rack_count ? rack + RACKS_AT_ONCE : layout->rack_count;

	rows_fetch(rows, root, layout->rack_first[rack], layout->rack_first[last] - layout->rack_first[rack]);
}

/* Costs of one rack from its round trips; returns how many arcs went to `chosen`, which has room for one more. */
static uint32_t compute_rack(struct cost_rows *rows, const struct cost_table *table, uint32_t rack, struct arc *chosen)
{
	const uint32_t *machine_of_column = rows->layout->machine_of_column;
	uint32_t first = rows->layout->rack_first[rack], end = rows->layout->rack_first[rack + 1], count = 0;
	uint16_t maximum, minimum;

	rows->kernel->rack(table, rows->rtt_us + first, end - first, rows->cost + first, &maximum, &minimum);
	rows->work.costs += end - first;
	rows->rack_cost[rack] = maximum == COST_ABSENT ? 0 : maximum;
	if (minimum > rows->settings.machine_threshold)
		return 0;
	for (uint32_t c = first; c < end; c++) { /* without a branch: the outcome is not foreseeable */
		chosen[count] = (struct arc){(int32_t)machine_of_column[c], rows->cost[c]};
		count += rows->cost[c] <= rows->settings.machine_threshold;
	}
	return count;
}

/* Place of the first span at or after the rack. */
static uint32_t find_span(const struct cost_row *row, uint32_t rack)
{
	uint32_t low = 0, high = row->span_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row->spans[middle].rack < rack)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t find_rack(const struct cost_row *row, uint32_t rack)
{
	uint32_t low = 0, high = row->rack_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((uint32_t)row->racks[middle].target < rack)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The arcs first..end-1 of a rack ascend, as a rule over consecutive machines: nearly all of a near rack are there. */
static int32_t machine_in_span(const struct cost_row *row, uint32_t first, uint32_t end, uint32_t machine)
{
	int64_t ahead = (int64_t)machine - row->machines[first].target;
	uint32_t place;

	if (ahead < 0)
		return COST_ABSENT;
	place = ahead < (int64_t)(end - first) ? first + (uint32_t)ahead : end - 1;
	while (row->machines[place].target > (int32_t)machine)
		place--;
	return row->machines[place].target == (int32_t)machine ? row->machines[place].cost : COST_ABSENT;
}

static int32_t machine_anywhere(const struct cost_row *row, uint32_t machine)
{
	for (uint32_t i = 0; i < row->machine_count; i++) {
		if (row->machines[i].target == (int32_t)machine)
			return row->machines[i].cost;
	}
	return COST_ABSENT;
}

int32_t cost_row_machine(const struct cost_row *row, uint32_t rack, uint32_t machine)
{
	uint32_t span;

	if (!row->spans)
		return machine_anywhere(row, machine);
	span = find_span(row, rack);
	if (span == row->span_count || row->spans[span].rack != rack)
		return COST_ABSENT;
	return machine_in_span(row, row->spans[span].first, row->spans[span + 1].first, machine);
}

struct block_arcs cost_row_rack(const struct cost_row *row, uint32_t rack)
{
	uint32_t span = find_span(row, rack), place = find_rack(row, rack);
	struct block_arcs arcs = {.block = (int32_t)rack, .cost = ARC_ABSENT};

	if (place < row->rack_count && row->racks[place].target == (int32_t)rack)
		arcs.cost = row->racks[place].cost;
	if (span < row->span_count && row->spans[span].rack == rack) {
		arcs.columns = row->machines + row->spans[span].first;
		arcs.column_count = (int32_t)(row->spans[span + 1].first - row->spans[span].first);
	}
	return arcs;
}

/* The rack's arcs are now `chosen`: 1 when they were others, 0 or -ENOMEM. */
static int set_machines(struct cached_row *cached, uint32_t rack, const struct arc *chosen, uint32_t count)
{
	struct cost_row *row = &cached->row;
	uint32_t span = find_span(row, rack), first = row->spans[span].first, after;
	bool had_span = span < row->span_count && row->spans[span].rack == rack;
	uint32_t had = had_span ? row->spans[span + 1].first - first : 0;

	if (had == count && memcmp(row->machines + first, chosen, count * sizeof *chosen) == 0)
		return 0;
	if (reserve(&row->machines, &cached->machine_room, row->machine_count + count, sizeof *chosen) != 0 ||
	    reserve(&row->spans, &cached->span_room, row->span_count + 2, sizeof *row->spans) != 0)
		return -ENOMEM;
	after = row->machine_count - first - had;
	if (count != had)
		memmove(row->machines + first + count, row->machines + first + had, after * sizeof *chosen);
	memcpy(row->machines + first, chosen, count * sizeof *chosen);
	row->machine_count = first + count + after;
	if (had_span != (count > 0)) {
		memmove(row->spans + span + (count > 0), row->spans + span + had_span,
			(row->span_count + 1 - span - had_span) * sizeof *row->spans);
		row->span_count = row->span_count + (count > 0) - had_span;
	}
	if (count > 0)
		row->spans[span] = (struct cost_span){rack, first};
	for (uint32_t s = span + (count > 0); s <= row->span_count; s++)
		row->spans[s].first += count - had;
	return 1;
}

/* The rack's largest cost is now this (0: no machine): 1 when its arc was another, 0 or -ENOMEM. */
static int set_rack(const struct cost_rows *rows, struct cached_row *cached, uint32_t rack, uint16_t cost)
{
	struct cost_row *row = &cached->row;
	uint32_t place = find_rack(row, rack);
	bool had = place < row->rack_count && row->racks[place].target == (int32_t)rack;
	bool wanted = cost > 0 && cost <= rows->settings.rack_threshold;

	if (had == wanted && (!wanted || row->racks[place].cost == cost))
		return 0;
	if (reserve(&row->racks, &cached->rack_room, row->rack_count + 1, sizeof *row->racks) != 0)
		return -ENOMEM;
	if (had != wanted) {
		memmove(row->racks + place + wanted, row->racks + place + had,
			(row->rack_count - place - had) * sizeof *row->racks);
		row->rack_count = row->rack_count + wanted - had;
	}
	if (wanted)
		row->racks[place] = (struct arc){(int32_t)rack, cost};
	return 1;
}

static void set_top(const struct cost_rows *rows, struct cached_row *cached, uint32_t rack, uint16_t cost)
{
	if (cost > cached->top) {
		memset(cached->tops, 0, bit_words(rows->layout->rack_count) * sizeof *cached->tops);
		cached->top = cost;
		cached->top_count = 0;
	}
	cached->top_count += (cost == cached->top) - (uint32_t)bit_is_set(cached->tops, rack);
	bit_assign(cached->tops, rack, cost == cached->top);
}

/* Which racks have the largest cost, of all racks' costs. */
static void set_tops(const struct cost_rows *rows, struct cached_row *cached)
{
	uint32_t racks = rows->layout->rack_count;

	cached->top_count = 0;
	for (uint32_t word = 0; word < bit_words(racks); word++) {
		const uint16_t *cost = rows->rack_cost + word * 64;
		uint32_t count = racks - word * 64 < 64 ? racks - word * 64 : 64;
		uint64_t bits = 0;

		for (uint32_t i = 0; i < count; i++)
			bits |= (uint64_t)(cost[i] == cached->top) << i;
		cached->tops[word] = bits;
		cached->top_count += (uint32_t)__builtin_popcountll(bits);
	}
}

static void set_cluster_cost(struct cached_row *cached)
{
	cached->row.cluster_cost = cached->top > 0 ? cached->top : COST_ABSENT;
}

/* All racks. */
static int refresh_whole(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	uint32_t racks = rows->layout->rack_count, count = 0, spans = 0, rack_arcs = 0;
	struct cost_row *row = &cached->row;

	cached->top = 0;
	for (uint32_t r = 0; r < racks; r++) {
		uint32_t chosen;

		if (r % RACKS_AT_ONCE == 0)
			fetch_racks(rows, row->root, r);
		chosen = compute_rack(rows, table, r, rows->chosen + count);
		rows->spans[spans] = (struct cost_span){r, count};
		spans += chosen > 0;
		count += chosen;
		cached->top = rows->rack_cost[r] > cached->top ? rows->rack_cost[r] : cached->top;
		rack_arcs += rows->rack_cost[r] <= rows->settings.rack_threshold;
	}
	rows->spans[spans].first = count;
	if (reserve(&row->machines, &cached->machine_room, count, sizeof *row->machines) != 0 ||
	    reserve(&row->spans, &cached->span_room, spans + 1, sizeof *row->spans) != 0 ||
	    reserve(&row->racks, &cached->rack_room, rack_arcs, sizeof *row->racks) != 0)
		return -ENOMEM;
	memcpy(row->machines, rows->chosen, count * sizeof *row->machines);
	memcpy(row->spans, rows->spans, (spans + 1) * sizeof *row->spans);
	row->machine_count = count;
	row->span_count = spans;
	set_tops(rows, cached);
	row->rack_count = 0;
	for (uint32_t r = 0; r < racks; r++) {
		if (rows->rack_cost[r] > 0 && rows->rack_cost[r] <= rows->settings.rack_threshold)
			row->racks[row->rack_count++] = (struct arc){(int32_t)r, rows->rack_cost[r]};
	}
	set_cluster_cost(cached);
	rows->work.rows++;
	row->version = ++rows->versions;
	row->mended_from = 0;
	row->changed_count = 0;
	return 0;
}

/* 1 when the rack came out otherwise, 0 or -ENOMEM. */
static int refresh_rack(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached,
			uint32_t rack)
{
	uint32_t first = rows->layout->rack_first[rack], count;
	int machines_moved, rack_moved;

	rows_fetch(rows, cached->row.root, first, rows->layout->rack_first[rack + 1] - first);
	count = compute_rack(rows, table, rack, rows->chosen);
	machines_moved = set_machines(cached, rack, rows->chosen, count);
	rack_moved = set_rack(rows, cached, rack, rows->rack_cost[rack]);
	set_top(rows, cached, rack, rows->rack_cost[rack]);
	if (machines_moved < 0 || rack_moved < 0)
		return -ENOMEM;
	return machines_moved | rack_moved;
}

/* The dirty racks alone. */
static int refresh_dirty(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	struct cost_row *row = &cached->row;
	uint32_t changed = 0;
	uint16_t top = cached->top;

	if (reserve(&row->changed, &cached->changed_room, cached->dirty_count, sizeof *row->changed) != 0)
		return -ENOMEM;
	for (uint32_t word = 0; word < bit_words(rows->layout->rack_count); word++) {
		for (uint64_t bits = cached->dirty[word]; bits != 0; bits &= bits - 1) {
			uint32_t rack = word * 64 + (uint32_t)__builtin_ctzll(bits);
			int moved = refresh_rack(rows, table, cached, rack);

			if (moved < 0)
				return moved;
			row->changed[changed] = rack;
			changed += moved > 0;
		}
	}
	rows->work.mended++;
	if (cached->top_count == 0)
		return refresh_whole(rows, table, cached);
	set_cluster_cost(cached);
	if (changed == 0 && cached->top == top)
		return 0;
	row->mended_from = cached->top == top ? row->version : 0;
	row->version = ++rows->versions;
	row->changed_count = changed;
	return 0;
}

int rows_refresh(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	uint32_t racks = rows->layout->rack_count;
	/* Beyond half of them the arcs are moved about more than they are computed. */
	bool whole = cached->row.version == 0 || cached->dirty_count > racks / 2;
	int code = whole ? refresh_whole(rows, table, cached) : refresh_dirty(rows, table, cached);

	memset(cached->dirty, 0, bit_words(racks) * sizeof *cached->dirty);
	cached->dirty_count = 0;
	return code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes a row, whole or rack by rack. The cluster's cost is the largest of the racks' costs. The bits `tops` mark
 * the racks that have this cost. If no marked rack is left, all racks must be computed again; likewise if the first
 * rack becomes partial (it has a machine that the root cannot reach), or if the last one is partial no more. A row
 * whose arcs have not changed keeps its version.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_priv.h"

enum { RACKS_AT_ONCE = 32 };

static bool bit_is_set(const uint64_t *bits, uint32_t rack)
{
	return bits[rack / 64] >> rack % 64 & 1;
}

static void bit_assign(uint64_t *bits, uint32_t rack, bool value)
{
	bits[rack / 64] = (bits[rack / 64] & ~(UINT64_C(1) << rack % 64)) | (uint64_t)value << rack % 64;
}

/*
 * Makes the array at *items large enough for `count` items; an array that grows gets a quarter more. Returns 0 or
 * -ENOMEM.
 */
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

static void mark_absent(struct cost_rows *rows, uint32_t first, uint32_t end)
{
	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = rows->layout->machine_of_column[c];

		if (machine != COST_NO_MACHINE && !rows->present[machine])
			rows->rtt_us[c] = -1;
	}
}

void rows_fetch(struct cost_rows *rows, uint32_t root, uint32_t rack, uint32_t end)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t first = layout->rack_first[rack];

	rows->source.row(rows->source.context, root, first, layout->rack_first[end] - first, rows->rtt_us + first);
	for (uint32_t r = rack; r < end; r++) {
		if (rows->rack_absences[r] > 0)
			mark_absent(rows, layout->rack_first[r], layout->rack_first[r + 1]);
	}
}

/*
 * True if the row has an arc to the rack, whose largest cost is `cost` (0: no machine). Without an arc to the cluster,
 * the arcs to racks replace it.
 */
static bool wants_rack_arc(const struct cost_rows *rows, const struct cached_row *cached, uint32_t rack, uint16_t cost)
{
	if (cost == 0 || bit_is_set(cached->partial, rack))
		return false;
	return cached->partial_count > 0 || cost <= rows->settings.rack_threshold;
}

/*
 * Returns the cost up to which the rack's machines have arcs in a cut row: `limit` or, if the rack has an arc of its
 * own that costs at most `limit`, one less than the cost of that arc, which stands for all machines of its cost. All
 * machines of a partial rack have arcs.
 */
static int32_t cut_limit(const struct cost_rows *rows, const struct cached_row *cached, uint32_t rack, int32_t limit)
{
	uint16_t cost = rows->rack_cost[rack];

	if (bit_is_set(cached->partial, rack))
		return COST_MAXIMUM;
	return wants_rack_arc(rows, cached, rack, cost) && cost <= limit ? cost - 1 : limit;
}

/* Records whether the root cannot reach one of the rack's machines, whose costs are in the scratch space. */
static void note_partial(const struct cost_rows *rows, struct cached_row *cached, uint32_t rack)
{
	const struct cost_layout *layout = rows->layout;
	const uint16_t *cost = rows->cost + layout->rack_first[rack];
	uint32_t reachable = 0;
	bool partial;

	for (uint32_t c = 0; c < layout->rack_used[rack]; c++)
		reachable += cost[c] != COST_ABSENT;
	partial = reachable < layout->rack_machines[rack] - rows->rack_absences[rack];
	cached->partial_count += (uint32_t)partial - (uint32_t)bit_is_set(cached->partial, rack);
	bit_assign(cached->partial, rack, partial);
}

/* Computes the costs of one rack from the round trips in the scratch space, the least and the largest of them. */
static void compute_rack(struct cost_rows *rows, struct cached_row *cached, uint32_t rack)
{
	uint32_t first = rows->layout->rack_first[rack], columns = rows->layout->rack_first[rack + 1] - first;
	uint16_t maximum;

	rows->kernel->rack(rows->tables[cached->curve], rows->rtt_us + first, columns, rows->cost + first, &maximum,
			   &rows->least_cost[rack]);
	rows->work.costs += columns;
	rows->rack_cost[rack] = maximum == COST_ABSENT ? 0 : maximum;
	note_partial(rows, cached, rack);
}

/* Returns the cost up to which the rack's machines have arcs. In a partial rack, all have. */
static int32_t limit_of_rack(const struct cost_rows *rows, const struct cached_row *cached, uint32_t rack,
			     int32_t limit)
{
	return cached->cut || bit_is_set(cached->partial, rack) ? cut_limit(rows, cached, rack, limit) : limit;
}

/*
 * Returns how many of COST_LANES costs are at most `limit`; those without a machine are not. Counts the signs of the
 * differences: GCC 12.2 -O3 returns wrong sums for vectors of `cost[lane] <= most` that are added up in 16 bits.
 */
static inline uint16_t count_lanes(const uint16_t *cost, int32_t limit)
{
	uint16_t above = (uint16_t)((limit < COST_MAXIMUM ? limit : COST_MAXIMUM) + 1), count = 0;

	for (int lane = 0; lane < COST_LANES; lane++)
		count = (uint16_t)(count + ((uint16_t)(cost[lane] - above) >> 15));
	return count;
}

/* Returns the number of the rack's machines that cost at most `limit`. */
static uint32_t count_machines(const struct cost_rows *rows, uint32_t rack, int32_t limit)
{
	uint32_t count = 0;

	if (rows->least_cost[rack] > limit)
		return 0;
	for (uint32_t c = rows->layout->rack_first[rack]; c < rows->layout->rack_first[rack + 1]; c += COST_LANES)
		count += count_lanes(rows->cost + c, limit);
	return count;
}

/*
 * Writes the arcs to the rack's machines that cost at most `limit` to `chosen`, which must have space for one more arc.
 * Returns their number.
 */
static uint32_t choose_machines(const struct cost_rows *rows, uint32_t rack, int32_t limit, struct arc *chosen)
{
	const uint32_t *machine_of_column = rows->layout->machine_of_column;
	uint32_t count = 0;

	if (rows->least_cost[rack] > limit)
		return 0;
	for (uint32_t c = rows->layout->rack_first[rack]; c < rows->layout->rack_first[rack + 1]; c += COST_LANES) {
		if (count_lanes(rows->cost + c, limit) == 0)
			continue;
		for (uint32_t i = c; i < c + COST_LANES; i++) { /* a branch would be mispredicted often */
			chosen[count] = (struct arc){(int32_t)machine_of_column[i], rows->cost[i]};
			count += rows->cost[i] <= limit;
		}
	}
	return count;
}

/* Replaces the row's arcs to the rack's machines by `chosen`. Returns 1 if they differ, 0 if not, or -ENOMEM. */
static int set_machines(struct cached_row *cached, uint32_t rack, const struct arc *chosen, uint32_t count)
{
	struct cost_row *row = &cached->row;
	uint32_t span = row_find_span(row, rack), first = row->spans[span].first, after;
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

/* Sets the rack's largest cost (0: no machine). Returns 1 if the rack's arc has changed, 0 if not, or -ENOMEM. */
static int set_rack(const struct cost_rows *rows, struct cached_row *cached, uint32_t rack, uint16_t cost)
{
	struct cost_row *row = &cached->row;
	uint32_t place = row_find_rack(row, rack);
	bool had = place < row->rack_count && row->racks[place].target == (int32_t)rack;
	bool wanted = wants_rack_arc(rows, cached, rack, cost);

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
		memset(cached->tops, 0, rows->words * sizeof *cached->tops);
		cached->top = cost;
		cached->top_count = 0;
	}
	cached->top_count += (cost == cached->top) - (uint32_t)bit_is_set(cached->tops, rack);
	bit_assign(cached->tops, rack, cost == cached->top);
}

/* Marks the racks with the largest cost. */
static void set_tops(const struct cost_rows *rows, struct cached_row *cached)
{
	uint32_t racks = rows->layout->rack_count;

	cached->top = 0;
	for (uint32_t r = 0; r < racks; r++)
		cached->top = rows->rack_cost[r] > cached->top ? rows->rack_cost[r] : cached->top;
	cached->top_count = 0;
	memset(cached->tops, 0, rows->words * sizeof *cached->tops);
	for (uint32_t word = 0; word < (racks + 63) / 64; word++) {
		const uint16_t *cost = rows->rack_cost + word * 64;
		uint32_t count = racks - word * 64 < 64 ? racks - word * 64 : 64;
		uint64_t bits = 0;

		for (uint32_t i = 0; i < count; i++)
			bits |= (uint64_t)(cost[i] == cached->top) << i;
		cached->tops[word] = bits;
		cached->top_count += (uint32_t)__builtin_popcountll(bits);
	}
}

/*
 * True if the rack's machines need not be examined: its least cost is above the limit, and the largest cost from
 * compute_extremes() may be used. With a coarse source, it may be used if the rack gets no arc of its own; with another
 * source, if none of the rack's machines is absent or unreachable.
 */
static bool is_beyond(const struct cost_rows *rows, uint32_t rack, int32_t limit)
{
	int32_t least = rows->least_cost[rack];

	if (rows->source.coarse)
		return least > limit && least > rows->settings.rack_threshold;
	return least > limit && rows->rack_absences[rack] == 0 && !isinf(rows->most_us[rack]);
}

static bool any_is_beyond(const struct cost_rows *rows, int32_t limit)
{
	uint32_t rack = 0;

	while (rack < rows->layout->rack_count && !is_beyond(rows, rack, limit))
		rack++;
	return rack < rows->layout->rack_count;
}

/*
 * Computes the least and largest costs of all racks from the round trips of the source's extremes(). With a coarse
 * source, returns false, without the largest costs, if every rack must be examined anyway.
 */
static bool compute_extremes(struct cost_rows *rows, const struct cost_table *table, uint32_t root, int32_t limit)
{
	uint32_t racks = rows->layout->rack_count, lanes = (racks + COST_LANES - 1) / COST_LANES * COST_LANES;
	bool coarse = rows->source.coarse;
	uint16_t maximum, minimum;

	rows->source.extremes(rows->source.context, root, rows->least_us, coarse ? NULL : rows->most_us);
	rows->kernel->rack(table, rows->least_us, lanes, rows->least_cost, &maximum, &minimum);
	if (coarse && !any_is_beyond(rows, limit))
		return false;
	if (coarse)
		rows->source.extremes(rows->source.context, root, NULL, rows->most_us);
	rows->kernel->rack(table, rows->most_us, lanes, rows->rack_cost, &maximum, &minimum);
	for (uint32_t r = 0; r < racks; r++)
		rows->rack_cost[r] = rows->rack_cost[r] == COST_ABSENT ? 0 : rows->rack_cost[r];
	return true;
}

/* Computes the costs of all racks, but of those that are beyond the limit, into the scratch space. */
static void compute_all(struct cost_rows *rows, struct cached_row *cached, int32_t limit)
{
	const struct cost_table *table = rows->tables[cached->curve];
	uint32_t racks = rows->layout->rack_count, root = cached->row.root;
	/* If the limit excludes no machine, every rack must be examined, and the extremes save no work. */
	bool extremes = limit < COST_MAXIMUM && rows->source.extremes && table->monotone &&
			compute_extremes(rows, table, root, limit);
	uint32_t at_once = extremes ? 1 : RACKS_AT_ONCE;

	memset(cached->partial, 0, rows->words * sizeof *cached->partial);
	cached->partial_count = 0;
	for (uint32_t r = 0, fetched = 0; r < racks; r++) {
		if (extremes && is_beyond(rows, r, limit))
			continue;
		if (r >= fetched) {
			fetched = r + at_once < racks ? r + at_once : racks;
			rows_fetch(rows, root, r, fetched);
		}
		compute_rack(rows, cached, r);
	}
}

/*
 * True if the row has more than `most` arcs to machines that cost at most `cost`, with this limit; partial: those to
 * partial racks count, too.
 */
static bool has_more(const struct cost_rows *rows, const struct cached_row *cached, int32_t limit, int32_t cost,
		     bool partial, uint32_t most)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < rows->layout->rack_count && count <= most; r++) {
		int32_t of_rack;

		if (rows->least_cost[r] > cost || (!partial && bit_is_set(cached->partial, r)))
			continue;
		of_rack = limit_of_rack(rows, cached, r, limit);
		count += count_machines(rows, r, of_rack < cost ? of_rack : cost);
	}
	return count > most;
}

/*
 * Returns the largest limit such that a cut row has at most `most` arcs to machines, not counting those to partial
 * racks; 0 if there is none.
 */
static int32_t limit_for(const struct cost_rows *rows, const struct cached_row *cached, int32_t limit, uint32_t most)
{
	int32_t low = 0, high = limit < COST_MAXIMUM ? limit : COST_MAXIMUM;

	while (low < high) {
		int32_t middle = (low + high + 1) / 2;

		if (has_more(rows, cached, limit, middle, false, most))
			high = middle - 1;
		else
			low = middle;
	}
	return low;
}

/* Writes the row's arcs to machines, and their spans, to the scratch space. Returns the number of spans. */
static uint32_t choose_all(struct cost_rows *rows, const struct cached_row *cached, int32_t limit)
{
	uint32_t count = 0, spans = 0;

	for (uint32_t r = 0; r < rows->layout->rack_count; r++) {
		uint32_t chosen = choose_machines(rows, r, limit_of_rack(rows, cached, r, limit), rows->chosen + count);

		rows->spans[spans] = (struct cost_span){r, count};
		spans += chosen > 0;
		count += chosen;
	}
	rows->spans[spans].first = count;
	return spans;
}

static uint32_t list_rack_arcs(struct cost_rows *rows, const struct cached_row *cached)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < rows->layout->rack_count; r++) {
		if (wants_rack_arc(rows, cached, r, rows->rack_cost[r]))
			rows->rack_arcs[count++] = (struct arc){(int32_t)r, rows->rack_cost[r]};
	}
	return count;
}

/* Copies the arcs in the scratch space to the row. Returns 1 if the row has changed, 0 if not, or -ENOMEM. */
static int take_scratch(struct cost_rows *rows, struct cached_row *cached, uint32_t spans, uint32_t racks)
{
	struct cost_row *row = &cached->row;
	uint32_t count = rows->spans[spans].first;

	if (row->version != 0 && row->machine_count == count && row->rack_count == racks &&
	    memcmp(row->machines, rows->chosen, count * sizeof *row->machines) == 0 &&
	    memcmp(row->racks, rows->rack_arcs, racks * sizeof *row->racks) == 0)
		return 0;
	if (reserve(&row->machines, &cached->machine_room, count, sizeof *row->machines) != 0 ||
	    reserve(&row->spans, &cached->span_room, spans + 1, sizeof *row->spans) != 0 ||
	    reserve(&row->racks, &cached->rack_room, racks, sizeof *row->racks) != 0)
		return -ENOMEM;
	memcpy(row->machines, rows->chosen, count * sizeof *row->machines);
	memcpy(row->racks, rows->rack_arcs, racks * sizeof *row->racks);
	memcpy(row->spans, rows->spans, (spans + 1) * sizeof *row->spans);
	row->machine_count = count;
	row->rack_count = racks;
	row->span_count = spans;
	return 1;
}

/* The cost of the row's arc to the cluster. */
static int32_t cluster_cost_of(const struct cached_row *cached)
{
	return cached->top > 0 && cached->partial_count == 0 ? cached->top : COST_ABSENT;
}

/* Computes the whole row. Returns 0 or -ENOMEM. */
static int update_whole(struct cost_rows *rows, struct cached_row *cached)
{
	struct cost_row *row = &cached->row;
	int32_t limit = rows->settings.machine_threshold, cluster_cost;
	uint32_t most = rows->settings.machine_arcs;
	int changed;

	compute_all(rows, cached, limit);
	cached->cut = false;
	cached->cut = most > 0 && has_more(rows, cached, limit, COST_MAXIMUM, true, most);
	if (cached->cut && has_more(rows, cached, limit, COST_MAXIMUM, true, most))
		limit = limit_for(rows, cached, limit, most);
	set_tops(rows, cached);
	changed = take_scratch(rows, cached, choose_all(rows, cached, limit), list_rack_arcs(rows, cached));
	if (changed < 0)
		return changed;
	rows->work.rows++;
	cluster_cost = cluster_cost_of(cached);
	cached->whole_count = row->machine_count;
	if (changed == 0 && row->cluster_cost == cluster_cost && row->machine_limit == limit)
		return 0;
	row->cluster_cost = cluster_cost;
	row->machine_limit = limit;
	row->version = ++rows->versions;
	row->mended_from = 0;
	row->changed_count = 0;
	return 0;
}

/*
 * Computes one rack of the row. Returns 1 if the row's arcs to the rack or to its machines have changed, 0 if not, or
 * -ENOMEM.
 */
static int update_rack(struct cost_rows *rows, struct cached_row *cached, uint32_t rack)
{
	int32_t limit = cached->row.machine_limit;
	uint32_t count = 0;
	int machines_moved, rack_moved;

	rows_fetch(rows, cached->row.root, rack, rack + 1);
	compute_rack(rows, cached, rack);
	count = choose_machines(rows, rack, limit_of_rack(rows, cached, rack, limit), rows->chosen);
	machines_moved = set_machines(cached, rack, rows->chosen, count);
	rack_moved = set_rack(rows, cached, rack, rows->rack_cost[rack]);
	set_top(rows, cached, rack, rows->rack_cost[rack]);
	if (machines_moved < 0 || rack_moved < 0)
		return -ENOMEM;
	return machines_moved | rack_moved;
}

/*
 * True if the whole row must be computed again, and cut again: it has more than twice `machine_arcs` arcs and twice
 * those of the last time, or a cut has lowered its limit and more than half of the arcs that it had then are gone.
 */
static bool needs_another_cut(const struct cost_rows *rows, const struct cached_row *cached)
{
	uint32_t most = rows->settings.machine_arcs, count = cached->row.machine_count;

	if (most == 0)
		return false;
	return (count > 2 * most && count > 2 * cached->whole_count) ||
	       (cached->row.machine_limit < rows->settings.machine_threshold && count < cached->whole_count / 2);
}

/* Updates only the dirty racks. */
static int update_dirty(struct cost_rows *rows, struct cached_row *cached)
{
	struct cost_row *row = &cached->row;
	uint32_t changed = 0;
	uint16_t top = cached->top;
	bool was_partial = cached->partial_count > 0;

	if (reserve(&row->changed, &cached->changed_room, cached->dirty_count, sizeof *row->changed) != 0)
		return -ENOMEM;
	for (uint32_t word = 0; word < rows->words; word++) {
		for (uint64_t bits = cached->dirty[word]; bits != 0; bits &= bits - 1) {
			uint32_t rack = word * 64 + (uint32_t)__builtin_ctzll(bits);
			int moved = update_rack(rows, cached, rack);

			if (moved < 0)
				return moved;
			row->changed[changed] = rack;
			changed += moved > 0;
		}
	}
	rows->work.updated++;
	if (changed > 0) {
		row->mended_from = cached->top == top && cached->top_count > 0 ? row->version : 0;
		row->version = ++rows->versions;
		row->changed_count = changed;
	}
	if (cached->top_count == 0 || was_partial != (cached->partial_count > 0) || needs_another_cut(rows, cached))
		return update_whole(rows, cached);
	if (cached->top != top) {
		row->cluster_cost = cluster_cost_of(cached);
		row->mended_from = 0;
		row->version = ++rows->versions;
	}
	return 0;
}

int row_update(struct cost_rows *rows, struct cached_row *cached)
{
	/*
	 * If more than half of the racks are dirty, inserting arcs rack by rack takes longer than computing the whole
	 * row.
	 */
	bool whole = cached->row.version == 0 || cached->dirty_count > rows->layout->rack_count / 2;
	int code = whole ? update_whole(rows, cached) : update_dirty(rows, cached);

	memset(cached->dirty, 0, rows->words * sizeof *cached->dirty);
	cached->dirty_count = 0;
	return code;
}

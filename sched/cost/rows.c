/* SPDX-License-Identifier: BSD-3-Clause */
#include <cost/rows.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RACKS_AT_ONCE = 32 };

struct cached_row {
	struct cost_row row; /* first: what callers see */
	uint32_t machine_room;
	uint32_t dirty_count;  /* racks to be computed again; rack_count of the layout = all */
	uint8_t *dirty;        /* [racks] */
	uint16_t *rack_cost;   /* [racks] largest cost, COST_ABSENT when the rack has no machine */
	uint32_t *rack_chosen; /* [racks] how many of row.machines lie in the rack */
};

struct curve_rows {
	struct cost_table *table;
	struct cached_row **by_root; /* [machines] NULL = not cached */
};

struct cost_rows {
	const struct cost_layout *layout;
	struct cost_source source;
	struct cost_rows_settings settings;
	const struct cost_kernel *kernel;
	struct curve_rows *curves;
	int32_t curve_count;
	uint8_t *absent;               /* [machines] */
	uint32_t absences;             /* how many are */
	float *rtt_us;                 /* [columns] scratch */
	uint16_t *cost;                /* [columns] scratch */
	struct structured_arc *chosen; /* [machines] scratch */
	uint64_t versions;             /* given out so far */
	struct cost_rows_work work;
};

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
	free(cached->dirty);
	free(cached->rack_cost);
	free(cached->rack_chosen);
	free(cached);
}

static struct cached_row *cached_row_create(uint32_t root, uint32_t rack_count, int32_t machine_limit)
{
	struct cached_row *cached = calloc(1, sizeof *cached);

	if (!cached)
		return NULL;
	cached->row.root = root;
	cached->row.machine_limit = machine_limit;
	cached->dirty_count = rack_count;
	cached->row.racks = calloc((size_t)rack_count + 1, sizeof *cached->row.racks);
	cached->dirty = calloc((size_t)rack_count + 1, sizeof *cached->dirty);
	cached->rack_cost = calloc((size_t)rack_count + 1, sizeof *cached->rack_cost);
	cached->rack_chosen = calloc((size_t)rack_count + 1, sizeof *cached->rack_chosen);
	if (!cached->row.racks || !cached->dirty || !cached->rack_cost || !cached->rack_chosen) {
		cached_row_free(cached);
		return NULL;
	}
	memset(cached->dirty, 1, rack_count);
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
	rows->absent = calloc((size_t)machines + 1, sizeof *rows->absent);
	rows->rtt_us = calloc((size_t)layout->column_count + 1, sizeof *rows->rtt_us);
	rows->cost = calloc((size_t)layout->column_count + 1, sizeof *rows->cost);
	rows->chosen = calloc((size_t)machines + 1, sizeof *rows->chosen);
	if (!rows->absent || !rows->rtt_us || !rows->cost || !rows->chosen) {
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
		cost_table_destroy(rows->curves[k].table);
	}
	free(rows->curves);
	free(rows->absent);
	free(rows->rtt_us);
	free(rows->cost);
	free(rows->chosen);
	free(rows);
}

int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference)
{
	struct curve_rows *larger = reallocarray(rows->curves, (size_t)rows->curve_count + 1, sizeof *larger);
	struct curve_rows *added;

	if (!larger)
		return -ENOMEM;
	rows->curves = larger;
	added = &larger[rows->curve_count];
	added->table = cost_table_create(curve, reference);
	added->by_root = calloc((size_t)rows->layout->cluster->machine_count + 1, sizeof *added->by_root);
	if (!added->table || !added->by_root) {
		cost_table_destroy(added->table);
		free(added->by_root);
		return -ENOMEM;
	}
	return rows->curve_count++;
}

/* Costs of one rack into the scratch row; returns how many arcs went to `chosen`. */
static uint32_t compute_rack(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached,
			     uint32_t rack, struct structured_arc *chosen)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t first = layout->rack_first[rack], columns = layout->rack_first[rack + 1] - first, count = 0;
	uint16_t *cost = rows->cost + first, maximum, minimum;
	uint16_t threshold = (uint16_t)rows->settings.machine_threshold;

	rows->kernel->rack(table, rows->rtt_us + first, columns, cost, &maximum, &minimum);
	rows->work.costs += columns;
	cached->rack_cost[rack] = maximum;
	if (minimum > threshold)
		return 0;
	for (uint32_t c = 0; c < columns; c++) {
		if (cost[c] <= threshold)
			chosen[count++] =
				(struct structured_arc){(int32_t)layout->machine_of_column[first + c], cost[c]};
	}
	return count;
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

static void fetch(struct cost_rows *rows, uint32_t root, uint32_t first, uint32_t count)
{
	rows->source.row(rows->source.context, root, first, count, rows->rtt_us + first);
	mark_absent(rows, first, count);
}

/* A few racks on from this one: what is fetched is still in the first cache when it is used. */
static void fetch_racks(struct cost_rows *rows, uint32_t root, uint32_t rack)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t last = rack + RACKS_AT_ONCE < layout->rack_count ? rack + RACKS_AT_ONCE : layout->rack_count;

	fetch(rows, root, layout->rack_first[rack], layout->rack_first[last] - layout->rack_first[rack]);
}

/* Racks up to p_r and the cluster, from each rack's largest cost. */
static void choose_racks(const struct cost_rows *rows, struct cached_row *cached)
{
	int16_t largest = 0;

	/* Signed, as no cost is above COST_ABSENT: that is what the oldest vector units compare. */
	for (uint32_t r = 0; r < rows->layout->rack_count; r++) {
		int16_t cost = cached->rack_cost[r] == COST_ABSENT ? 0 : (int16_t)cached->rack_cost[r];

		largest = cost > largest ? cost : largest;
	}
	cached->row.rack_count = 0;
	for (uint32_t r = 0; r < rows->layout->rack_count; r++) {
		uint16_t cost = cached->rack_cost[r];

		if (cost != COST_ABSENT && cost <= rows->settings.rack_threshold)
			cached->row.racks[cached->row.rack_count++] = (struct structured_arc){(int32_t)r, cost};
	}
	cached->row.cluster_cost = largest ? (uint16_t)largest : COST_ABSENT;
}

/* `count` arcs in the place of the `had` that begin at `at`. */
static int replace_machines(struct cached_row *cached, uint32_t at, uint32_t had, const struct structured_arc *chosen,
			    uint32_t count)
{
	struct cost_row *row = &cached->row;
	uint32_t after = row->machine_count - at - had, total = at + count + after;

	if (total > cached->machine_room || !row->machines) {
		struct structured_arc *larger =
			reallocarray(row->machines, (size_t)total + total / 4 + 1, sizeof *larger);

		if (!larger)
			return -ENOMEM;
		row->machines = larger;
		cached->machine_room = total + total / 4 + 1;
	}
	if (count != had)
		memmove(row->machines + at + count, row->machines + at + had, after * sizeof *chosen);
	memcpy(row->machines + at, chosen, count * sizeof *chosen);
	row->machine_count = total;
	return 0;
}

/* All racks. */
static int refresh_whole(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t count = 0;

	for (uint32_t r = 0; r < layout->rack_count; r++) {
		if (r % RACKS_AT_ONCE == 0)
			fetch_racks(rows, cached->row.root, r);
		cached->rack_chosen[r] = compute_rack(rows, table, cached, r, rows->chosen + count);
		count += cached->rack_chosen[r];
	}
	rows->work.rows++;
	cached->row.version = ++rows->versions;
	cached->row.machine_count = 0;
	return replace_machines(cached, 0, 0, rows->chosen, count);
}

/* The dirty racks alone; the arcs of a rack lie side by side in the row. */
static int refresh_dirty(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	const struct cost_layout *layout = rows->layout;
	uint32_t before = 0, left = cached->dirty_count, looked = 0;
	bool moved = false;
	int code = 0;

	while (left > 0 && code == 0) {
		const uint8_t *found = memchr(cached->dirty + looked, 1, layout->rack_count - looked);
		uint32_t rack = (uint32_t)(found - cached->dirty), first = layout->rack_first[rack];
		uint32_t had = cached->rack_chosen[rack], count;
		uint16_t most = cached->rack_cost[rack];

		for (uint32_t r = looked; r < rack; r++)
			before += cached->rack_chosen[r];
		fetch(rows, cached->row.root, first, layout->rack_first[rack + 1] - first);
		count = compute_rack(rows, table, cached, rack, rows->chosen);
		if (cached->rack_cost[rack] != most || count != had ||
		    (count > 0 &&
		     memcmp(rows->chosen, cached->row.machines + before, count * sizeof *rows->chosen) != 0)) {
			moved = true;
			code = replace_machines(cached, before, had, rows->chosen, count);
		}
		cached->rack_chosen[rack] = count;
		looked = rack;
		cached->dirty[rack] = 0;
		left--;
	}
	if (moved)
		cached->row.version = ++rows->versions;
	rows->work.mended++;
	return code;
}

static int refresh(struct cost_rows *rows, const struct cost_table *table, struct cached_row *cached)
{
	int code = cached->dirty_count >= rows->layout->rack_count ? refresh_whole(rows, table, cached)
								   : refresh_dirty(rows, table, cached);

	choose_racks(rows, cached);
	memset(cached->dirty, 0, rows->layout->rack_count);
	cached->dirty_count = 0;
	return code;
}

const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	struct cached_row **place = &rows->curves[curve].by_root[root];

	if (!*place)
		*place = cached_row_create(root, rows->layout->rack_count, rows->settings.machine_threshold);
	if (!*place)
		return NULL;
	if ((*place)->dirty_count == 0) {
		rows->work.hits++;
		return &(*place)->row;
	}
	if (refresh(rows, rows->curves[curve].table, *place) != 0) {
		cost_rows_drop(rows, curve, root);
		return NULL;
	}
	return &(*place)->row;
}

int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine)
{
	float rtt_us;

	rows->source.row(rows->source.context, root, rows->layout->column_of_machine[machine], 1, &rtt_us);
	return (int32_t)cost_table_at(rows->curves[curve].table, rtt_us);
}

void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost)
{
	const struct cost_layout *layout = rows->layout;
	uint16_t maximum, minimum;

	fetch(rows, root, 0, layout->column_count);
	rows->kernel->rack(rows->curves[curve].table, rows->rtt_us, layout->column_count, rows->cost, &maximum,
			   &minimum);
	for (uint32_t m = 0; m < layout->cluster->machine_count; m++)
		cost[m] = rows->cost[layout->column_of_machine[m]];
}

static void dirty_rack(struct cached_row *cached, uint32_t rack)
{
	if (cached && !cached->dirty[rack]) {
		cached->dirty[rack] = 1;
		cached->dirty_count++;
	}
}

/* The rows of every root that `moved` puts beside machine `from` become dirty in the racks beside machine `to`. */
static void dirty_towards(struct cost_rows *rows, uint32_t from, uint32_t to, enum latency_moved moved)
{
	const struct cluster *cluster = rows->layout->cluster;
	uint32_t from_rack = cluster->machines[from].rack, to_rack = cluster->machines[to].rack;

	for (int32_t k = 0; k < rows->curve_count; k++) {
		struct cached_row **by_root = rows->curves[k].by_root;

		if (moved == LATENCY_MOVED_PAIR) {
			dirty_rack(by_root[from], to_rack);
			continue;
		}
		for (uint32_t m = 0; m < cluster->machine_count; m++) {
			uint32_t rack = cluster->machines[m].rack;

			if (!by_root[m])
				continue;
			if (moved == LATENCY_MOVED_RACK_PAIR && rack == from_rack)
				dirty_rack(by_root[m], to_rack);
			if (moved != LATENCY_MOVED_POD_PAIR ||
			    cluster->racks[rack].pod != cluster->racks[from_rack].pod)
				continue;
			for (uint32_t r = 0; r < cluster->rack_count; r++)
				if (cluster->racks[r].pod == cluster->racks[to_rack].pod)
					dirty_rack(by_root[m], r);
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
	for (int32_t k = 0; k < rows->curve_count; k++)
		for (uint32_t m = 0; m < rows->layout->cluster->machine_count; m++)
			dirty_rack(rows->curves[k].by_root[m], rows->layout->cluster->machines[machine].rack);
}

void cost_rows_drop(struct cost_rows *rows, int32_t curve, uint32_t root)
{
	cached_row_free(rows->curves[curve].by_root[root]);
	rows->curves[curve].by_root[root] = NULL;
}

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows)
{
	return &rows->work;
}

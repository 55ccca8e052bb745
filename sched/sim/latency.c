/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/sim/latency.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>

/* time constant of the drift, seconds */
static const double drift_time_s = 3600;

void sim_latency_settings_default(struct sim_latency_settings *settings)
{
	*settings = (struct sim_latency_settings){
		.level_us = {70, 200, 520},
		.same_machine_us = 1,
		.spread = 0.1,
		.drift = 0.1,
		.noise = 0.1,
		.spike_factor = 5,
		.seed = 1,
	};
}

/*
 * Returns the round trip of series k of a distance in this second. Uses recorded series number k modulo the number of
 * recorded series; second 0 is at k/42 of the recorded series' length.
 */
static double recorded_us(const struct sim_latency *latency, int distance, int k)
{
	const struct rtt_series_set *set = latency->settings.recorded;
	const struct rtt_series *series = &set->items[distance][(size_t)k % set->counts[distance]];
	uint64_t start = series->count * (uint64_t)k / SIM_LATENCY_SERIES;
	double us = (double)series->us[(start + latency->second) % series->count];

	if (!set->relative)
		return us;
	return latency->settings.level_us[distance] * exp(latency->spread[distance][k]) * us /
	       (double)series->median_us;
}

static double drawn_us(struct sim_latency *latency, double level_us, double spread, double drift)
{
	const struct sim_latency_settings *settings = &latency->settings;
	double value = level_us * exp(spread + drift + settings->noise * rng_normal(&latency->rng));

	if (settings->spike_chance > 0 && rng_uniform(&latency->rng) < settings->spike_chance)
		value *= settings->spike_factor;
	return value;
}

/*
 * Returns the round trip of series k of a distance in this second: a recorded one, or one drawn around a recorded level
 * or, without recorded series, around level_us[].
 */
static double series_us(struct sim_latency *latency, int distance, int k)
{
	const struct rtt_series_set *set = latency->settings.recorded;
	size_t count = set ? set->counts[distance] : 0;
	const struct rtt_series *series = count > 0 ? &set->items[distance][(size_t)k % count] : NULL;
	double drift = latency->drift[distance][k], level_us = latency->settings.level_us[distance];

	if (!series)
		return drawn_us(latency, level_us, latency->spread[distance][k], drift);
	if (series->count > 1)
		return recorded_us(latency, distance, k);
	level_us = set->relative ? level_us * (double)(series->us[0] / series->median_us) : (double)series->us[0];
	return drawn_us(latency, level_us, 0, drift);
}

/*
 * Sorts the series of a distance by round trip. Uses insertion sort, because the order changes little from second to
 * second.
 */
static void sort_series(uint8_t *order, const float *cells)
{
	for (int i = 1; i < SIM_LATENCY_SERIES; i++) {
		uint8_t series = order[i];
		int place = i;

		for (; place > 0 && cells[order[place - 1] * SIM_LATENCY_SCALES] > cells[series * SIM_LATENCY_SCALES];
		     place--)
			order[place] = order[place - 1];
		order[place] = series;
	}
}

static void fill_table(const struct sim_latency *latency, double us[SIM_DISTANCES][SIM_LATENCY_SERIES],
		       struct sim_latency_table *table)
{
	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
			float *cells = table->rtt_us + d * SIM_LATENCY_CLASS_CELLS + k * SIM_LATENCY_SCALES;

			for (int q = 0; q < SIM_LATENCY_SCALES; q++)
				cells[q] = (float)us[d][k] * latency->scale[d][q];
		}
		sort_series(table->order[d], table->rtt_us + d * SIM_LATENCY_CLASS_CELLS);
	}
	table->rtt_us[SIM_SAME_MACHINE_CELL] = (float)latency->settings.same_machine_us;
}

/* Stores the values of this second, and fills the table of what the policy believes. */
static void believe(struct sim_latency *latency, double us[SIM_DISTANCES][SIM_LATENCY_SERIES])
{
	uint64_t age = latency->settings.age_s, seconds = age + 1;
	uint64_t oldest = latency->second < age ? 0 : (latency->second - age) % seconds;
	double seen[SIM_DISTANCES][SIM_LATENCY_SERIES];

	memcpy(latency->past[latency->second % seconds], us, sizeof *latency->past);
	for (int d = 0; d < SIM_DISTANCES; d++)
		for (int k = 0; k < SIM_LATENCY_SERIES; k++)
			seen[d][k] = latency->past[oldest][d][k] *
				     exp(latency->settings.error * rng_normal(&latency->error_rng));
	fill_table(latency, seen, &latency->seen);
}

static void compute_tables(struct sim_latency *latency)
{
	double us[SIM_DISTANCES][SIM_LATENCY_SERIES];

	for (int d = 0; d < SIM_DISTANCES; d++)
		for (int k = 0; k < SIM_LATENCY_SERIES; k++)
			us[d][k] = series_us(latency, d, k);
	fill_table(latency, us, &latency->now);
	if (latency->believed == &latency->seen)
		believe(latency, us);
}

/* Applies recorded round trips up to now. */
static int replay(struct sim_latency *latency, int64_t now_us, bool *moved)
{
	const struct workload *recorded = latency->recorded;
	int code = 0;

	*moved = false;
	for (; code == 0 && latency->next < recorded->latency_count; latency->next++) {
		const struct workload_latency *entry = &recorded->latencies[latency->next];
		struct latency_sample sample = {entry->a, entry->b, entry->rtt_us};

		if (entry->time_us > now_us)
			break;
		code = latency_view_update(latency->view, &sample, 1, 0);
		latency->changes++;
		*moved = true;
	}
	return code;
}

int sim_latency_start(struct sim_latency *latency, const struct sim_latency_settings *settings,
		      const struct cost_layout *layout, const struct workload *recorded)
{
	static const double low[SIM_DISTANCES] = {0.5, 0.8, 0.8}, high[SIM_DISTANCES] = {1, 1.2, 1.2};
	bool moved;

	*latency = (struct sim_latency){.settings = *settings, .layout = layout, .cluster = layout->cluster};
	latency->reach = calloc((size_t)layout->cluster->machine_count + 1, sizeof *latency->reach);
	latency->present = calloc((size_t)layout->cluster->machine_count + 1, sizeof *latency->present);
	latency->asked = calloc((size_t)layout->cluster->machine_count + 1, sizeof *latency->asked);
	latency->past = calloc((size_t)settings->age_s + 1, sizeof *latency->past);
	if (!latency->reach || !latency->present || !latency->asked || !latency->past)
		return -ENOMEM;
	latency->believed = settings->age_s > 0 || settings->error > 0 ? &latency->seen : &latency->now;
	rng_seed(&latency->rng, settings->seed);
	rng_seed(&latency->error_rng, ~settings->seed);
	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (int q = 0; q < SIM_LATENCY_SCALES; q++)
			latency->scale[d][q] = (float)(low[d] + (high[d] - low[d]) * (q + 0.5) / SIM_LATENCY_SCALES);
		for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
			latency->now.order[d][k] = latency->seen.order[d][k] = (uint8_t)k;
			latency->spread[d][k] = settings->spread * rng_normal(&latency->rng);
			latency->drift[d][k] = settings->drift * rng_normal(&latency->rng);
		}
	}
	compute_tables(latency);
	/*
	 * No view is needed if nothing was recorded. But a live scheduler's journal may have default round trips and no
	 * measurements: a view then serves the defaults, unless recorded series are set.
	 */
	if (!recorded || (recorded->latency_count == 0 && (!recorded->has_default_rtt || settings->recorded)))
		return 0;
	latency->recorded = recorded;
	latency->view = latency_view_create(layout);
	return latency->view ? replay(latency, 0, &moved) : -ENOMEM;
}

void sim_latency_end(struct sim_latency *latency)
{
	latency_view_destroy(latency->view);
	free(latency->reach);
	free(latency->present);
	free(latency->asked);
	free(latency->past);
	latency->past = NULL;
	latency->view = NULL;
	latency->reach = NULL;
	latency->present = NULL;
	latency->asked = NULL;
}

static void draw_second(struct sim_latency *latency)
{
	double keep = exp(-1 / drift_time_s), draw = latency->settings.drift * sqrt(1 - keep * keep);

	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (int k = 0; k < SIM_LATENCY_SERIES; k++)
			latency->drift[d][k] = keep * latency->drift[d][k] + draw * rng_normal(&latency->rng);
	}
	latency->second++;
	compute_tables(latency);
}

int sim_latency_next_second(struct sim_latency *latency, int64_t now_us, bool *moved)
{
	if (latency->view)
		return replay(latency, now_us, moved);
	draw_second(latency);
	*moved = true;
	return 0;
}

static inline enum sim_distance distance(const struct cluster *cluster, uint32_t rack_a, uint32_t rack_b)
{
	if (rack_a == rack_b)
		return SIM_SAME_RACK;
	return cluster->racks[rack_a].pod == cluster->racks[rack_b].pod ? SIM_SAME_POD : SIM_OTHER_POD;
}

/* The cell of the pair among those of its distance. */
static inline uint32_t cell_of_class(uint64_t seed, uint32_t a, uint32_t b)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;
	uint64_t hash = hash_mix((low << 32 | high) ^ seed << 17);
	uint32_t series = (uint32_t)((hash >> 32) * SIM_LATENCY_SERIES >> 32);

	return series * SIM_LATENCY_SCALES + (uint32_t)(hash & (SIM_LATENCY_SCALES - 1));
}

uint32_t sim_latency_cell(const struct sim_latency *latency, uint32_t a, uint32_t b)
{
	const struct cluster *cluster = latency->cluster;
	enum sim_distance d;

	if (a == b)
		return SIM_SAME_MACHINE_CELL;
	d = distance(cluster, cluster->machines[a].rack, cluster->machines[b].rack);
	return (uint32_t)d * SIM_LATENCY_CLASS_CELLS + cell_of_class(latency->settings.seed, a, b);
}

float sim_latency_rtt_us(const struct sim_latency *latency, uint32_t a, uint32_t b)
{
	return latency->view ? latency_view_get(latency->view, a, b, NULL)
			     : latency->now.rtt_us[sim_latency_cell(latency, a, b)];
}

float sim_latency_believed_us(const struct sim_latency *latency, uint32_t a, uint32_t b)
{
	return latency->view ? latency_view_get(latency->view, a, b, NULL)
			     : latency->believed->rtt_us[sim_latency_cell(latency, a, b)];
}

/*
 * The round trips from the root to the `count` machines, all at one distance; -1 where there is no machine. Without
 * branches, so that the compiler makes vector instructions of it: this hash is most of the simulator's time. The root
 * itself gets a wrong value, which the caller replaces.
 */
static inline __attribute__((always_inline)) void look_up_machines(const struct sim_latency *latency,
								   enum sim_distance d, uint32_t root,
								   const uint32_t *machines, uint32_t count,
								   float *restrict rtt_us)
{
	const float *table = latency->believed->rtt_us + (int)d * SIM_LATENCY_CLASS_CELLS;
	uint64_t seed = latency->settings.seed;

	for (uint32_t c = 0; c < count; c++) {
		float us = table[cell_of_class(seed, root, machines[c])];

		rtt_us[c] = machines[c] == COST_NO_MACHINE ? -1 : us;
	}
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void look_up_avx2(const struct sim_latency *latency, enum sim_distance d,
							 uint32_t root, const uint32_t *machines, uint32_t count,
							 float *rtt_us)
{
	look_up_machines(latency, d, root, machines, count, rtt_us);
}
#endif

static void look_up(const struct sim_latency *latency, enum sim_distance d, uint32_t root, const uint32_t *machines,
		    uint32_t count, float *rtt_us)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		look_up_avx2(latency, d, root, machines, count, rtt_us);
		return;
	}
#endif
	look_up_machines(latency, d, root, machines, count, rtt_us);
}

/* The rack of a column: by its machine, or by a search if the column has none. */
static uint32_t rack_of_column(const struct sim_latency *latency, uint32_t column)
{
	const struct cost_layout *layout = latency->layout;
	uint32_t machine = layout->machine_of_column[column], rack = 0;

	if (machine != COST_NO_MACHINE)
		return latency->cluster->machines[machine].rack;
	while (layout->rack_first[rack + 1] <= column)
		rack++;
	return rack;
}

static void source_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	const struct sim_latency *latency = context;
	const struct cost_layout *layout = latency->layout;
	uint32_t root_rack = latency->cluster->machines[root].rack, root_column = layout->column_of_machine[root];
	uint32_t end = first + count, rack = count > 0 ? rack_of_column(latency, first) : 0;

	for (uint32_t c = first, next; c < end; c = next, rack++) {
		next = layout->rack_first[rack + 1] < end ? layout->rack_first[rack + 1] : end;
		look_up(latency, distance(latency->cluster, root_rack, rack), root, layout->machine_of_column + c,
			next - c, rtt_us + (c - first));
	}
	if (root_column >= first && root_column < end)
		rtt_us[root_column - first] = latency->believed->rtt_us[SIM_SAME_MACHINE_CELL];
}

static void add_to_reach(struct sim_reach *reach, uint32_t cell)
{
	uint8_t scale = (uint8_t)(cell % SIM_LATENCY_SCALES);
	uint8_t *least = &reach->least[0][0] + cell / SIM_LATENCY_SCALES;
	uint8_t *most = &reach->most[0][0] + cell / SIM_LATENCY_SCALES;

	if (*least == SIM_LATENCY_SCALES || scale < *least)
		*least = scale;
	if (*most == SIM_LATENCY_SCALES || scale > *most)
		*most = scale;
}

static void look_at_rack(const struct sim_latency *latency, struct sim_reach *reach, uint32_t machine, uint32_t rack)
{
	const struct cost_layout *layout = latency->layout;

	for (uint32_t c = layout->rack_first[rack]; c < layout->rack_first[rack + 1]; c++) {
		uint32_t other = layout->machine_of_column[c];

		if (other != COST_NO_MACHINE && other != machine && latency->present[other])
			add_to_reach(reach, sim_latency_cell(latency, machine, other));
	}
}

/* Returns the machine's reach, with known[d] set. O(machines at distance d) if that part is not cached. */
static const struct sim_reach *find_reach(struct sim_latency *latency, uint32_t machine, enum sim_distance d)
{
	const struct cluster *cluster = latency->cluster;
	struct sim_reach *reach = &latency->reach[machine];
	uint32_t rack = cluster->machines[machine].rack;

	if (reach->known[d])
		return reach;
	memset(reach->least[d], SIM_LATENCY_SCALES, sizeof reach->least[d]);
	memset(reach->most[d], SIM_LATENCY_SCALES, sizeof reach->most[d]);
	if (d == SIM_SAME_RACK)
		look_at_rack(latency, reach, machine, rack);
	for (uint32_t r = 0; d != SIM_SAME_RACK && r < cluster->rack_count; r++) {
		if (distance(cluster, rack, r) == d)
			look_at_rack(latency, reach, machine, r);
	}
	if (!reach->listed)
		latency->asked[latency->asked_count++] = machine;
	reach->known[d] = reach->listed = true;
	return reach;
}

void sim_latency_set_present(struct sim_latency *latency, uint32_t machine, bool present)
{
	latency->present[machine] = present;
	for (uint32_t i = 0; i < latency->asked_count; i++) {
		uint32_t m = latency->asked[i], cell, scale;
		struct sim_reach *reach = &latency->reach[m];

		if (m == machine)
			continue;
		cell = sim_latency_cell(latency, m, machine);
		if (!reach->known[cell / SIM_LATENCY_CLASS_CELLS])
			continue;
		scale = cell % SIM_LATENCY_SCALES;
		if (present)
			add_to_reach(reach, cell);
		else if (scale == (&reach->least[0][0])[cell / SIM_LATENCY_SCALES] ||
			 scale == (&reach->most[0][0])[cell / SIM_LATENCY_SCALES])
			reach->known[cell / SIM_LATENCY_CLASS_CELLS] = false;
	}
}

/* The largest believed round trip from the machine to another at this distance; -1 if there is none. */
static float most_us(struct sim_latency *latency, uint32_t machine, enum sim_distance distance)
{
	const struct sim_reach *reach = find_reach(latency, machine, distance);
	const float *cells = latency->believed->rtt_us + (int)distance * SIM_LATENCY_CLASS_CELLS;
	float most = -1;

	for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
		uint32_t scale = reach->most[distance][k];

		if (scale != SIM_LATENCY_SCALES)
			most = fmaxf(most, cells[k * SIM_LATENCY_SCALES + (int)scale]);
	}
	return most;
}

/* Returns a lower bound of the round trips at this distance: the smallest series times the smallest scale. */
static float least_us(const struct sim_latency_table *table, enum sim_distance d)
{
	return table->rtt_us[(int)d * SIM_LATENCY_CLASS_CELLS + table->order[d][0] * SIM_LATENCY_SCALES];
}

/*
 * Fills least[], or most[] if least is NULL, with a bound of the root's round trips to each rack. Racks at the same
 * distance get the same bound.
 */
static void source_extremes(const void *context, uint32_t root, float *least, float *most)
{
	struct sim_latency *latency = (struct sim_latency *)context; /* find_reach() updates the cache */
	const struct cluster *cluster = latency->cluster;
	uint32_t root_rack = cluster->machines[root].rack;
	float same_us = latency->believed->rtt_us[SIM_SAME_MACHINE_CELL], of[SIM_DISTANCES],
	      *bounds = least ? least : most;

	for (int d = 0; d < SIM_DISTANCES; d++)
		of[d] = least ? least_us(latency->believed, (enum sim_distance)d)
			      : most_us(latency, root, (enum sim_distance)d);
	for (uint32_t r = 0; r < cluster->rack_count; r++)
		bounds[r] = of[distance(cluster, root_rack, r)];
	bounds[root_rack] = least ? fminf(bounds[root_rack], same_us) : fmaxf(bounds[root_rack], same_us);
}

struct cost_source sim_latency_source(struct sim_latency *latency)
{
	if (latency->view)
		return cost_source_from_view(latency->view);
	return (struct cost_source){.row = source_row, .extremes = source_extremes, .coarse = true, .context = latency};
}

float sim_latency_nearest_us(struct sim_latency *latency, uint32_t machine)
{
	float least = INFINITY;

	for (int d = 0; d < SIM_DISTANCES; d++) {
		const struct sim_reach *reach;

		if (least <= least_us(&latency->now, (enum sim_distance)d))
			continue;
		reach = find_reach(latency, machine, (enum sim_distance)d);
		for (int i = 0; i < SIM_LATENCY_SERIES; i++) {
			int k = latency->now.order[d][i];
			const float *cells = latency->now.rtt_us + d * SIM_LATENCY_CLASS_CELLS + k * SIM_LATENCY_SCALES;
			uint32_t scale = reach->least[d][k];

			if (cells[0] >= least)
				break; /* the remaining series are larger, too */
			if (scale != SIM_LATENCY_SCALES && cells[scale] < least)
				least = cells[scale];
		}
	}
	return least;
}

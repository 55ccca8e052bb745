/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/sim/latency.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/hash.h>

/* e-folding time of the drift, seconds */
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

static void compute_table(struct sim_latency *latency)
{
	const struct sim_latency_settings *settings = &latency->settings;

	for (int d = 0; d < SIM_DISTANCES; d++) {
		latency->least_us[d] = INFINITY;
		for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
			float *cells = latency->rtt_us + d * SIM_LATENCY_CLASS_CELLS + k * SIM_LATENCY_SCALES;
			double value = settings->level_us[d] * exp(latency->spread[d][k] + latency->drift[d][k] +
								   settings->noise * rng_normal(&latency->rng));

			if (settings->spike_chance > 0 && rng_uniform(&latency->rng) < settings->spike_chance)
				value *= settings->spike_factor;
			for (int q = 0; q < SIM_LATENCY_SCALES; q++)
				cells[q] = (float)value * latency->scale[d][q];
			latency->least_us[d] = fminf(latency->least_us[d], cells[0]);
		}
	}
	latency->rtt_us[SIM_SAME_MACHINE_CELL] = (float)settings->same_machine_us;
}

/* Recorded round trips up to now. */
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
	bool moved;

	static const double low[SIM_DISTANCES] = {0.5, 0.8, 0.8}, high[SIM_DISTANCES] = {1, 1.2, 1.2};

	*latency = (struct sim_latency){.settings = *settings, .layout = layout, .cluster = layout->cluster};
	rng_seed(&latency->rng, settings->seed);
	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (int q = 0; q < SIM_LATENCY_SCALES; q++)
			latency->scale[d][q] = (float)(low[d] + (high[d] - low[d]) * (q + 0.5) / SIM_LATENCY_SCALES);
		for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
			latency->spread[d][k] = settings->spread * rng_normal(&latency->rng);
			latency->drift[d][k] = settings->drift * rng_normal(&latency->rng);
		}
	}
	compute_table(latency);
	if (!recorded || recorded->latency_count == 0)
		return 0;
	latency->recorded = recorded;
	latency->view = latency_view_create(layout);
	return latency->view ? replay(latency, 0, &moved) : -ENOMEM;
}

void sim_latency_end(struct sim_latency *latency)
{
	latency_view_destroy(latency->view);
	latency->view = NULL;
}

static void draw_second(struct sim_latency *latency)
{
	double keep = exp(-1 / drift_time_s), draw = latency->settings.drift * sqrt(1 - keep * keep);

	for (int d = 0; d < SIM_DISTANCES; d++) {
		for (int k = 0; k < SIM_LATENCY_SERIES; k++)
			latency->drift[d][k] = keep * latency->drift[d][k] + draw * rng_normal(&latency->rng);
	}
	compute_table(latency);
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

static inline uint32_t cell_at(const struct sim_latency *latency, enum sim_distance d, uint32_t a, uint32_t b)
{
	uint64_t pair = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	uint64_t hash = hash_mix(pair ^ latency->settings.seed << 17);
	uint32_t series = (uint32_t)((hash >> 32) * SIM_LATENCY_SERIES >> 32);

	return (uint32_t)d * SIM_LATENCY_CLASS_CELLS + series * SIM_LATENCY_SCALES +
	       (uint32_t)(hash & (SIM_LATENCY_SCALES - 1));
}

uint32_t sim_latency_cell(const struct sim_latency *latency, uint32_t a, uint32_t b)
{
	const struct cluster *cluster = latency->cluster;

	if (a == b)
		return SIM_SAME_MACHINE_CELL;
	return cell_at(latency, distance(cluster, cluster->machines[a].rack, cluster->machines[b].rack), a, b);
}

float sim_latency_rtt_us(const struct sim_latency *latency, uint32_t a, uint32_t b)
{
	return latency->view ? latency_view_get(latency->view, a, b, NULL)
			     : latency->rtt_us[sim_latency_cell(latency, a, b)];
}

static void source_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	const struct sim_latency *latency = context;
	const struct cluster *cluster = latency->cluster;
	uint32_t root_rack = cluster->machines[root].rack, rack = UINT32_MAX;
	enum sim_distance d = SIM_SAME_RACK;

	for (uint32_t c = 0; c < count; c++) {
		uint32_t machine = latency->layout->machine_of_column[first + c];

		if (machine == COST_NO_MACHINE) {
			rtt_us[c] = -1;
			continue;
		}
		if (cluster->machines[machine].rack != rack) {
			rack = cluster->machines[machine].rack;
			d = distance(cluster, root_rack, rack);
		}
		rtt_us[c] = latency->rtt_us[machine == root ? (uint32_t)SIM_SAME_MACHINE_CELL
							    : cell_at(latency, d, root, machine)];
	}
}

struct cost_source sim_latency_source(const struct sim_latency *latency)
{
	if (latency->view)
		return cost_source_from_view(latency->view);
	return (struct cost_source){.row = source_row, .context = latency};
}

void sim_nearest_find(struct sim_nearest *nearest, const struct sim_latency *latency, uint32_t machine,
		      const bool *present)
{
	memset(nearest->scale, SIM_LATENCY_SCALES, sizeof nearest->scale);
	for (uint32_t m = 0; m < latency->cluster->machine_count; m++) {
		uint32_t cell = sim_latency_cell(latency, machine, m);
		uint8_t *least, scale = (uint8_t)(cell % SIM_LATENCY_SCALES);

		if (m == machine || !present[m])
			continue;
		least = &nearest->scale[0][0] + cell / SIM_LATENCY_SCALES;
		*least = scale < *least ? scale : *least;
	}
}

float sim_nearest_rtt_us(const struct sim_nearest *nearest, const struct sim_latency *latency)
{
	float least = INFINITY;

	for (int d = 0; d < SIM_DISTANCES; d++) {
		if (least <= latency->least_us[d])
			continue;
		for (int k = 0; k < SIM_LATENCY_SERIES; k++) {
			uint32_t scale = nearest->scale[d][k];
			float rtt_us;

			if (scale == SIM_LATENCY_SCALES)
				continue;
			rtt_us = latency->rtt_us[d * SIM_LATENCY_CLASS_CELLS + k * SIM_LATENCY_SCALES + (int)scale];
			least = rtt_us < least ? rtt_us : least;
		}
	}
	return least;
}

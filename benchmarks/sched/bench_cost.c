/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine costs per second on one core: each kernel over rows of 12,500 machines in racks of 48, with rows that fit the
 * cache and rows that do not; for comparison, the definition applied pair by pair; then complete rows as the network
 * requests them (round trips from the latency view, costs, selected arcs), and updates of rows after the change of one
 * pair. Medians of 9.
 */
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <sched/cost/rows.h>

enum { MACHINES = 12500, PER_RACK = 48, RACKS_PER_POD = 16, REPEATS = 9, CACHED_ROWS = 8, STREAMED_ROWS = 1200 };

struct setting {
	struct cluster *cluster;
	struct cost_layout *layout;
	struct curve *curve;
	float *rtt_us; /* [STREAMED_ROWS * columns] */
	uint16_t *cost;
};

/* Memcached's curve, NoMora equation 2. */
static struct curve *make_curve(void)
{
	double p[101];

	for (int i = 0; i <= 100; i++) {
		double x = i * 10;

		p[i] = x < 40 ? 1 : 1.067 - 3.093e-3 * x + 4.084e-6 * x * x - 1.898e-9 * x * x * x;
	}
	return curve_from_table("memcached", p, 101, NULL);
}

static int make(struct setting *setting)
{
	struct rng rng;

	rng_seed(&rng, 1);
	setting->cluster = cluster_create();
	for (int m = 0; setting->cluster && m < MACHINES; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / PER_RACK);
		snprintf(pod, sizeof pod, "p%d", m / PER_RACK / RACKS_PER_POD);
		if (cluster_add_machine(setting->cluster, name, rack, pod, 8, NULL) < 0)
			return -1;
	}
	setting->layout = setting->cluster ? cost_layout_create(setting->cluster) : NULL;
	setting->curve = make_curve();
	if (!setting->layout || !setting->curve)
		return -1;
	setting->rtt_us = malloc(STREAMED_ROWS * (size_t)setting->layout->column_count * sizeof(float));
	setting->cost = malloc(setting->layout->column_count * sizeof(uint16_t));
	if (!setting->rtt_us || !setting->cost)
		return -1;
	for (size_t i = 0; i < STREAMED_ROWS * (size_t)setting->layout->column_count; i++) {
		uint32_t column = (uint32_t)(i % setting->layout->column_count);
		bool absent = setting->layout->machine_of_column[column] == COST_NO_MACHINE;

		setting->rtt_us[i] = absent ? -1 : (float)(20 + rng_exponential(&rng) * 150);
	}
	return 0;
}

/* Millions of machine costs per second over `rows` rows; `sum` keeps the compiler from removing the work. */
static double kernel_rate(const struct setting *setting, const struct cost_kernel *kernel,
			  const struct cost_table *table, int rows, uint64_t *sum)
{
	const struct cost_layout *layout = setting->layout;
	int passes = 2400 / rows;
	double values[REPEATS];

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		double begin = ns_to_s(ns_now_cpu());

		for (int pass = 0; pass < passes * rows; pass++) {
			const float *rtt_us = setting->rtt_us + (size_t)(pass % rows) * layout->column_count;

			for (uint32_t r = 0; r < layout->rack_count; r++) {
				uint32_t first = layout->rack_first[r];
				uint16_t maximum, minimum;

				kernel->rack(table, rtt_us + first, layout->rack_first[r + 1] - first,
					     setting->cost + first, &maximum, &minimum);
				*sum += maximum;
			}
		}
		values[repeat] = (double)passes * rows * MACHINES / (ns_to_s(ns_now_cpu()) - begin) * 1e-6;
	}
	return quantile_median(values, REPEATS);
}

static double definition_rate(const struct setting *setting, uint64_t *sum)
{
	double values[REPEATS];

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		double begin = ns_to_s(ns_now_cpu());

		for (int row = 0; row < CACHED_ROWS; row++) {
			const float *rtt_us = setting->rtt_us + (size_t)row * setting->layout->column_count;

			for (int m = 0; m < MACHINES; m++)
				*sum += (uint64_t)lround(100 / curve_eval_nearest(setting->curve, (double)rtt_us[m]));
		}
		values[repeat] = CACHED_ROWS * (double)MACHINES / (ns_to_s(ns_now_cpu()) - begin) * 1e-6;
	}
	return quantile_median(values, REPEATS);
}

static void run_kernels(const struct setting *setting, uint64_t *sum)
{
	struct cost_table *table = cost_table_create(setting->curve, LATENCY_REFERENCE_ABSOLUTE, COST_LOOKUP_NEAREST);
	double definition = definition_rate(setting, sum);

	printf("{\"benchmark\": \"cost\", \"figure\": \"definition\", \"million_costs_per_s\": %.1f}\n", definition);
	for (const struct cost_kernel *kernel = cost_kernels; table && kernel->name; kernel++) {
		double cached, streamed;

		if (!kernel->usable())
			continue;
		cached = kernel_rate(setting, kernel, table, CACHED_ROWS, sum);
		streamed = kernel_rate(setting, kernel, table, STREAMED_ROWS, sum);
		printf("{\"benchmark\": \"cost\", \"figure\": \"kernel\", \"kernel\": \"%s\", \"machines\": %d, "
		       "\"million_costs_per_s\": %.1f, \"million_costs_per_s_from_memory\": %.1f, "
		       "\"times_definition\": %.1f}\n",
		       kernel->name, MACHINES, cached, streamed, cached / definition);
	}
	cost_table_destroy(table);
}

/* Rows through the cache: computed for every root, then updated after one pair of each changed. */
static void run_rows(const struct setting *setting, uint64_t *sum)
{
	enum { ROOTS = 2000 };
	struct latency_view *view = latency_view_create(setting->layout);
	struct cost_rows_settings thresholds = {
		.machine_threshold = 105, .rack_threshold = 110, .lookup = COST_LOOKUP_NEAREST};
	struct cost_rows *rows =
		view ? cost_rows_create(setting->layout, cost_source_from_view(view), thresholds) : NULL;
	struct rng rng;
	enum { WORDS = (MACHINES / PER_RACK + 64) / 64 };
	uint64_t *racks = calloc((size_t)MACHINES * WORDS, sizeof *racks);
	double begin, made, again, updated;

	if (!rows || !racks || cost_rows_add_curve(rows, setting->curve, LATENCY_REFERENCE_ABSOLUTE) != 0)
		return;
	rng_seed(&rng, 2);
	for (int pair = 0; pair < 400000; pair++)
		latency_view_set(view, (uint32_t)rng_below(&rng, MACHINES), (uint32_t)rng_below(&rng, MACHINES),
				 (float)(20 + rng_exponential(&rng) * 150));
	begin = ns_to_s(ns_now_cpu());
	for (uint32_t root = 0; root < ROOTS; root++)
		*sum += cost_rows_get(rows, 0, root * 6)->machine_count;
	made = ns_to_s(ns_now_cpu()) - begin;
	cost_rows_all_moved(rows);
	begin = ns_to_s(ns_now_cpu());
	for (uint32_t root = 0; root < ROOTS; root++)
		*sum += cost_rows_get(rows, 0, root * 6)->machine_count;
	again = ns_to_s(ns_now_cpu()) - begin;
	for (uint32_t root = 0; root < ROOTS; root++) {
		uint32_t machine = root * 6, rack = (uint32_t)rng_below(&rng, MACHINES) / PER_RACK;

		/* One word of 64 racks for each machine, as in the latency view. */
		racks[machine * WORDS + rack / 64] = UINT64_C(1) << rack % 64;
		cost_rows_latency_moved(rows, &(struct cost_moved){&machine, 1, racks, WORDS});
	}
	begin = ns_to_s(ns_now_cpu());
	for (uint32_t root = 0; root < ROOTS; root++)
		*sum += cost_rows_get(rows, 0, root * 6)->machine_count;
	updated = ns_to_s(ns_now_cpu()) - begin;
	printf("{\"benchmark\": \"cost\", \"figure\": \"row\", \"kernel\": \"%s\", \"machines\": %d, "
	       "\"us_per_first_row\": %.2f, \"us_per_row\": %.2f, \"million_costs_per_s\": %.1f, "
	       "\"us_per_mended_row\": %.2f}\n",
	       cost_kernel_best()->name, MACHINES, made / ROOTS * 1e6, again / ROOTS * 1e6,
	       ROOTS * (double)MACHINES / again * 1e-6, updated / ROOTS * 1e6);
	free(racks);
	cost_rows_destroy(rows);
	latency_view_destroy(view);
}

int main(void)
{
	struct setting setting = {0};
	uint64_t sum = 0;

	if (make(&setting) != 0) {
		fprintf(stderr, "bench_cost: out of memory\n");
		return 1;
	}
	run_kernels(&setting, &sum);
	run_rows(&setting, &sum);
	fprintf(stderr, "checksum %llu\n", (unsigned long long)sum);
	free(setting.rtt_us);
	free(setting.cost);
	curve_destroy(setting.curve);
	cost_layout_destroy(setting.layout);
	cluster_destroy(setting.cluster);
	return 0;
}

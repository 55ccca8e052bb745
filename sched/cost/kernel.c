/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of latency x in cost[] is (int)(x * per_us + 0.5) + 1, as entry 0 is for absent machines. Clamping is done
 * in float, before the conversion, so that every kernel treats a huge or undefined round trip as "beyond the table": if
 * a is NAN, `a < b ? a : b` gives b, as minps does.
 */
#include <sched/cost/kernel.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cost_priv.h"

static long cost_of(double p, enum cost_lookup lookup)
{
	return lookup == COST_LOOKUP_TWO_DIGITS ? 10 * lround(10 / p) : lround(100 / p);
}

static long cost_at_step(const struct curve *curve, enum cost_lookup lookup, uint32_t step)
{
	if (lookup == COST_LOOKUP_INTERPOLATED)
		return curve_cost(curve, (double)step / COST_STEPS_PER_US);
	return cost_of(curve_eval_nearest(curve, step * CURVE_STEP_US), lookup);
}

struct cost_table *cost_table_create(const struct curve *curve, enum latency_reference reference,
				     enum cost_lookup lookup)
{
	struct cost_table *table = malloc(sizeof *table);
	bool nearest = lookup != COST_LOOKUP_INTERPOLATED;
	uint32_t per_step = nearest ? 1 : COST_STEPS_PER_US * (uint32_t)CURVE_STEP_US;
	uint32_t steps = ((uint32_t)curve->table_count - 1) * per_step + 1;

	if (!table)
		return NULL;
	*table = (struct cost_table){
		.count = steps + 2, .per_us = (float)per_step / (float)CURVE_STEP_US, .monotone = true};
	table->cost = calloc(table->count, sizeof *table->cost);
	if (!table->cost) {
		free(table);
		errno = ENOMEM;
		return NULL;
	}
	if (reference == LATENCY_REFERENCE_ADDED && !isnan(curve->baseline_rtt_us))
		table->baseline_us = (float)curve->baseline_rtt_us;
	table->cost[0] = COST_ABSENT;
	for (uint32_t step = 0; step < steps; step++)
		table->cost[step + 1] = (int32_t)cost_at_step(curve, lookup, step);
	table->cost[steps + 1] = (int32_t)cost_of(curve_eval(curve, INFINITY), lookup);
	for (uint32_t i = 2; i < table->count; i++)
		table->monotone &= table->cost[i] >= table->cost[i - 1];
	return table;
}

void cost_table_destroy(struct cost_table *table)
{
	if (!table)
		return;
	free(table->cost);
	free(table);
}

static inline int32_t table_index(const struct cost_table *table, float rtt_us, float limit)
{
	float added_us = rtt_us - table->baseline_us;
	float index;

	added_us = 0.0f > added_us ? 0.0f : added_us;
	index = added_us * table->per_us + 1.5f;
	index = index < limit ? index : limit;
	return rtt_us < 0 ? 0 : (int32_t)index;
}

uint32_t cost_table_at(const struct cost_table *table, float rtt_us)
{
	return (uint32_t)table->cost[table_index(table, rtt_us, (float)(table->count - 1))];
}

static bool always(void)
{
	return true;
}

static void rack_portable(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
			  uint16_t *maximum, uint16_t *minimum)
{
	float limit = (float)(table->count - 1);
	uint16_t largest = 0, smallest = COST_ABSENT;

	for (uint32_t c = 0; c < columns; c++) {
		uint16_t value = (uint16_t)table->cost[table_index(table, rtt_us[c], limit)];
		uint16_t biased = (uint16_t)(value + COST_MAXIMUM_BIAS);

		cost[c] = value;
		largest = biased > largest ? biased : largest;
		smallest = value < smallest ? value : smallest;
	}
	*maximum = (uint16_t)(largest - COST_MAXIMUM_BIAS);
	*minimum = smallest;
}

const struct cost_kernel cost_kernels[] = {
#ifdef __x86_64__
	{"avx2", cost_avx2_usable, cost_rack_avx2},
#endif
	{"portable", always, rack_portable},
	{NULL, NULL, NULL},
};

const struct cost_kernel *cost_kernel_best(void)
{
	const struct cost_kernel *kernel = cost_kernels;

	while (!kernel->usable())
		kernel++;
	return kernel;
}

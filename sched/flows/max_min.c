/* SPDX-License-Identifier: BSD-3-Clause */
/* Progressive filling. `level` is the common rate per weight of the sources that still grow. */
#include <sched/flows/max_min.h>

#include <math.h>
#include <stdbool.h>

/* Rates that fill a resource up to this part of its capacity count as filling it: sums of loads are rounded. */
#define ROUNDING 1e-12

struct filling {
	const struct max_min_problem *problem;
	double *rate;
	uint32_t *bottleneck;
	double *left;  /* by resource: capacity not used by sources that have stopped */
	double *slope; /* by resource: load per level of the sources that still grow */
};

static bool grows(const struct filling *filling, uint32_t source)
{
	return filling->rate[source] < 0;
}

/* Left and slope anew from the loads: no sum is kept over events, so that rounding does not add up. */
static void measure(struct filling *filling, uint32_t resource)
{
	const struct max_min_problem *problem = filling->problem;
	double left = problem->capacity[resource], slope = 0;

	for (uint32_t i = problem->first[resource]; i < problem->first[resource + 1]; i++) {
		uint32_t source = problem->source[i];

		if (grows(filling, source))
			slope += problem->load[i] * problem->weight[source];
		else
			left -= problem->load[i] * filling->rate[source];
	}
	filling->left[resource] = left > 0 ? left : 0;
	filling->slope[resource] = slope;
}

static void stop(struct filling *filling, uint32_t source, double level, uint32_t why)
{
	double rate = level * filling->problem->weight[source], offered = filling->problem->offered[source];

	filling->rate[source] = why == MAX_MIN_OFFERED || rate > offered ? offered : rate;
	if (filling->bottleneck)
		filling->bottleneck[source] = why;
}

/* The level at which the next source stops. */
static double next_level(const struct filling *filling)
{
	const struct max_min_problem *problem = filling->problem;
	double level = INFINITY;

	for (uint32_t r = 0; r < problem->resource_count; r++)
		if (filling->slope[r] > 0 && filling->left[r] < level * filling->slope[r])
			level = filling->left[r] / filling->slope[r];
	for (uint32_t s = 0; s < problem->source_count; s++)
		if (grows(filling, s) && problem->offered[s] < level * problem->weight[s])
			level = problem->offered[s] / problem->weight[s];
	return level;
}

/* Stops every source that cannot grow beyond `level`. Returns how many. */
static uint32_t stop_at(struct filling *filling, double level)
{
	const struct max_min_problem *problem = filling->problem;
	uint32_t stopped = 0;

	for (uint32_t s = 0; s < problem->source_count; s++)
		if (grows(filling, s) && problem->offered[s] <= level * problem->weight[s] * (1 + ROUNDING)) {
			stop(filling, s, level, MAX_MIN_OFFERED);
			stopped++;
		}
	for (uint32_t r = 0; r < problem->resource_count; r++) {
		if (filling->slope[r] == 0 || filling->left[r] > level * filling->slope[r] * (1 + ROUNDING))
			continue;
		for (uint32_t i = problem->first[r]; i < problem->first[r + 1]; i++)
			if (grows(filling, problem->source[i])) {
				stop(filling, problem->source[i], level, r);
				stopped++;
			}
	}
	return stopped;
}

void max_min_solve(const struct max_min_problem *problem, double *rate, uint32_t *bottleneck, double *work)
{
	struct filling filling = {.problem = problem,
				  .rate = rate,
				  .bottleneck = bottleneck,
				  .left = work,
				  .slope = work + problem->resource_count};
	uint32_t growing = problem->source_count;

	for (uint32_t s = 0; s < problem->source_count; s++)
		rate[s] = -1;
	for (uint32_t r = 0; r < problem->resource_count; r++)
		measure(&filling, r);
	while (growing > 0) {
		double level = next_level(&filling);

		if (level == INFINITY) { /* nothing limits the sources that are left */
			for (uint32_t s = 0; s < problem->source_count; s++)
				if (grows(&filling, s))
					stop(&filling, s, INFINITY, MAX_MIN_OFFERED);
			return;
		}
		growing -= stop_at(&filling, level);
		for (uint32_t r = 0; r < problem->resource_count && growing > 0; r++)
			if (filling.slope[r] > 0)
				measure(&filling, r);
	}
}

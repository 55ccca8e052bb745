/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progressive filling: all sources grow together until they stop. `level` is the rate divided by the weight, which is
 * the same for all sources that still grow.
 */
#include <sched/flows/max_min.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Relative rounding error within which a resource counts as full and a source counts as at its offered rate. */
#define ROUNDING 1e-12

struct filling {
	const struct max_min_problem *problem;
	double *rate; /* final rate of each source; < 0: the source still grows */
	uint32_t *bottleneck;
	double *left;      /* by resource: capacity minus the loads of the sources that have stopped */
	double *slope;     /* by resource: sum of load * weight over the sources that still grow */
	uint32_t *growing; /* by resource: number of its sources that still grow */
	/* The loads of source s: resource[i], load[i] for i = start[s] .. start[s + 1] - 1. */
	uint32_t *start, *resource;
	double *load;
};

static uint64_t load_count(const struct max_min_problem *problem)
{
	return problem->resource_count > 0 ? problem->first[problem->resource_count] : 0;
}

uint64_t max_min_work_doubles(const struct max_min_problem *problem)
{
	uint64_t words = problem->resource_count + problem->source_count + 2 + load_count(problem);

	return 2 * (uint64_t)problem->resource_count + load_count(problem) + (words + 1) / 2;
}

static struct filling begin(const struct max_min_problem *problem, double *rate, uint32_t *bottleneck, double *work)
{
	uint32_t resources = problem->resource_count, sources = problem->source_count;
	struct filling filling = {.problem = problem, .rate = rate, .bottleneck = bottleneck, .left = work};

	filling.slope = filling.left + resources;
	filling.load = filling.slope + resources;
	filling.growing = (void *)(filling.load + load_count(problem));
	filling.start = filling.growing + resources;
	filling.resource = filling.start + sources + 2;
	return filling;
}

/* Sorts the loads by source (counting sort). */
static void transpose(struct filling *filling)
{
	const struct max_min_problem *problem = filling->problem;
	uint32_t *start = filling->start, loads = (uint32_t)load_count(problem);

	memset(start, 0, (problem->source_count + 2) * sizeof *start);
	for (uint32_t i = 0; i < loads; i++)
		start[problem->source[i] + 2]++;
	for (uint32_t s = 0; s < problem->source_count; s++)
		start[s + 2] += start[s + 1];
	for (uint32_t r = 0; r < problem->resource_count; r++)
		for (uint32_t i = problem->first[r]; i < problem->first[r + 1]; i++) {
			uint32_t at = start[problem->source[i] + 1]++;

			filling->resource[at] = r;
			filling->load[at] = problem->load[i];
		}
}

static void measure(struct filling *filling)
{
	const struct max_min_problem *problem = filling->problem;

	for (uint32_t r = 0; r < problem->resource_count; r++) {
		filling->left[r] = problem->capacity[r];
		filling->growing[r] = problem->first[r + 1] - problem->first[r];
		filling->slope[r] = 0;
		for (uint32_t i = problem->first[r]; i < problem->first[r + 1]; i++)
			filling->slope[r] += problem->load[i] * problem->weight[problem->source[i]];
	}
}

static bool grows(const struct filling *filling, uint32_t source)
{
	return filling->rate[source] < 0;
}

static void stop(struct filling *filling, uint32_t source, double level, uint32_t why)
{
	double weight = filling->problem->weight[source], offered = filling->problem->offered[source];
	double rate = why == MAX_MIN_OFFERED || level * weight > offered ? offered : level * weight;

	filling->rate[source] = rate;
	if (filling->bottleneck)
		filling->bottleneck[source] = why;
	for (uint32_t i = filling->start[source]; i < filling->start[source + 1]; i++) {
		uint32_t r = filling->resource[i];
		double left = filling->left[r] - filling->load[i] * rate;

		filling->left[r] = left > 0 ? left : 0;
		filling->slope[r] = --filling->growing[r] > 0 ? filling->slope[r] - filling->load[i] * weight : 0;
	}
}

/* Returns the level at which the next source stops; INFINITY: nothing limits the sources that still grow. */
static double next_level(const struct filling *filling)
{
	const struct max_min_problem *problem = filling->problem;
	double level = INFINITY;

	for (uint32_t r = 0; r < problem->resource_count; r++)
		if (filling->growing[r] > 0 && filling->left[r] < level * filling->slope[r])
			level = filling->left[r] / filling->slope[r];
	for (uint32_t s = 0; s < problem->source_count; s++)
		if (grows(filling, s) && problem->offered[s] < level * problem->weight[s])
			level = problem->offered[s] / problem->weight[s];
	return level;
}

/* Stops every source that cannot grow beyond `level`. Returns the number of sources stopped. */
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
		if (filling->growing[r] == 0 || filling->left[r] > level * filling->slope[r] * (1 + ROUNDING))
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
	struct filling filling = begin(problem, rate, bottleneck, work);
	uint32_t growing = problem->source_count;

	for (uint32_t s = 0; s < problem->source_count; s++)
		rate[s] = -1;
	transpose(&filling);
	measure(&filling);
	while (growing > 0) {
		double level = next_level(&filling);

		if (level == INFINITY) { /* nothing limits the remaining sources */
			for (uint32_t s = 0; s < problem->source_count; s++)
				if (grows(&filling, s))
					stop(&filling, s, INFINITY, MAX_MIN_OFFERED);
			return;
		}
		growing -= stop_at(&filling, level);
	}
}

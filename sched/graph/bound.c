/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bound on every order. A task on a slot pays at least its heaviest edges to the nearest other slots, half of each
 * edge at each of its ends. If the tasks are alike, each slot has such a task; if not, each task is given the slot that
 * suits it best, also if others have it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "places_priv.h"

/* Comparisons and products. */
enum { WORK_MAXIMUM = 50000000 };

struct near {
	double cost;
	uint32_t slots;
};

struct bounding {
	const struct job_graph *graph;
	struct places places;
	uint32_t *slots;   /* [places] */
	struct near *near; /* [places] of one place: all places, the nearest first */
	double *weights;   /* [most neighbours] of one task, the heaviest first */
};

static int by_cost(const void *a, const void *b)
{
	double left = ((const struct near *)a)->cost, right = ((const struct near *)b)->cost;

	return (left > right) - (left < right);
}

static int heaviest_first(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left < right) - (left > right);
}

static void sort_near(struct bounding *b, uint32_t place)
{
	for (uint32_t p = 0; p < b->places.count; p++)
		b->near[p] =
			(struct near){places_cost(&b->places, (int32_t)place, (int32_t)p), b->slots[p] - (p == place)};
	qsort(b->near, b->places.count, sizeof *b->near, by_cost);
}

/* Fills b->weights with those of the task's edges to tasks that have machines. Returns their number. */
static size_t sort_weights(struct bounding *b, uint32_t task)
{
	size_t count = 0;

	for (size_t n = b->graph->first[task]; n < b->graph->first[task + 1]; n++)
		if (b->places.at[b->graph->neighbours[n].task] >= 0)
			b->weights[count++] = b->graph->neighbours[n].weight;
	qsort(b->weights, count, sizeof *b->weights, heaviest_first);
	return count;
}

/* The least cost of a task with these weights on the place that sort_near() was called for. */
static double least_cost(const struct bounding *b, size_t weights)
{
	uint32_t used = 0, p = 0;
	double sum = 0;

	for (size_t w = 0; w < weights; w++) {
		while (used == b->near[p].slots) {
			used = 0;
			p++;
		}
		sum += b->weights[w] * b->near[p].cost;
		used++;
	}
	return sum;
}

/* True if all tasks with machines have equally many edges, of equal weights; b->weights has them then. */
static bool are_alike(struct bounding *b, size_t *weights)
{
	double weight = 0;
	bool first = true;

	for (uint32_t t = 0; t < b->graph->task_count; t++) {
		size_t count;

		if (b->places.at[t] < 0)
			continue;
		count = sort_weights(b, t);
		if (count == 0 || b->weights[0] != b->weights[count - 1])
			return false;
		if (!first && (count != *weights || b->weights[0] != weight))
			return false;
		*weights = count;
		weight = b->weights[0];
		first = false;
	}
	return !first;
}

static double bound_of_slots(struct bounding *b, size_t weights)
{
	double sum = 0;

	for (uint32_t p = 0; p < b->places.count; p++) {
		sort_near(b, p);
		sum += b->slots[p] * least_cost(b, weights);
	}
	return sum / 2;
}

static double bound_of_tasks(struct bounding *b, double *least)
{
	double sum = 0;

	for (uint32_t t = 0; t < b->graph->task_count; t++)
		least[t] = INFINITY;
	for (uint32_t p = 0; p < b->places.count; p++) {
		sort_near(b, p);
		for (uint32_t t = 0; t < b->graph->task_count; t++)
			if (b->places.at[t] >= 0)
				least[t] = fmin(least[t], least_cost(b, sort_weights(b, t)));
	}
	for (uint32_t t = 0; t < b->graph->task_count; t++)
		sum += b->places.at[t] >= 0 ? least[t] : 0;
	return sum / 2;
}

double graph_bound(const struct graph_order *order)
{
	size_t tasks = order->graph->task_count, weights = 0;
	struct bounding b = {.graph = order->graph};
	double *least = malloc((tasks + 1) * sizeof *least), bound = 0;

	if (!least || places_create(order, &b.places) != 0) {
		free(least);
		return 0;
	}
	b.slots = calloc((size_t)b.places.count + 1, sizeof *b.slots);
	b.near = calloc((size_t)b.places.count + 1, sizeof *b.near);
	b.weights = calloc(2 * order->graph->edge_count + 1, sizeof *b.weights);
	for (size_t t = 0; t < tasks && b.slots; t++)
		if (b.places.at[t] >= 0)
			b.slots[b.places.at[t]]++;
	if (b.slots && b.near && b.weights && b.places.cost) {
		if (are_alike(&b, &weights))
			bound = bound_of_slots(&b, weights);
		else if ((double)b.places.count * (double)(order->graph->edge_count + tasks) < WORK_MAXIMUM)
			bound = bound_of_tasks(&b, least);
	}
	free(least);
	free(b.slots);
	free(b.near);
	free(b.weights);
	places_free(&b.places);
	return bound;
}

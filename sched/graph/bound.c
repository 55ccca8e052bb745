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
	double *weights;   /* of each task's edges to tasks that have machines, from graph->first[task] on */
	uint32_t *counts;  /* [tasks] number of these edges */
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

static void list_weights(struct bounding *b)
{
	const struct job_graph *graph = b->graph;

	for (uint32_t t = 0; t < graph->task_count; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1]; n++)
			if (b->places.at[t] >= 0 && b->places.at[graph->neighbours[n].task] >= 0)
				b->weights[graph->first[t] + b->counts[t]++] = graph->neighbours[n].weight;
}

/* The least cost of a task with these weights, the heaviest first, on the place that sort_near() was called for. */
static double least_cost(const struct bounding *b, const double *weights, uint32_t count)
{
	uint32_t used = 0, p = 0;
	double sum = 0;

	for (uint32_t w = 0; w < count; w++) {
		while (used == b->near[p].slots) {
			used = 0;
			p++;
		}
		sum += weights[w] * b->near[p].cost;
		used++;
	}
	return sum;
}

/* True if all tasks with machines have equally many edges, of equal weights. Sets *like to one of them. */
static bool are_alike(const struct bounding *b, uint32_t *like)
{
	const double *weight = NULL;

	for (uint32_t t = 0; t < b->graph->task_count; t++) {
		const double *own = b->weights + b->graph->first[t];

		if (b->places.at[t] < 0)
			continue;
		if (!weight) {
			*like = t;
			weight = own;
		}
		if (b->counts[t] == 0 || b->counts[t] != b->counts[*like])
			return false;
		for (uint32_t w = 0; w < b->counts[t]; w++)
			if (own[w] != *weight)
				return false;
	}
	return weight != NULL;
}

static double bound_of_slots(struct bounding *b, uint32_t like)
{
	double sum = 0;

	for (uint32_t p = 0; p < b->places.count; p++) {
		sort_near(b, p);
		sum += b->slots[p] * least_cost(b, b->weights + b->graph->first[like], b->counts[like]);
	}
	return sum / 2;
}

static double bound_of_tasks(struct bounding *b, double *least)
{
	double sum = 0;

	for (uint32_t t = 0; t < b->graph->task_count; t++) {
		qsort(b->weights + b->graph->first[t], b->counts[t], sizeof *b->weights, heaviest_first);
		least[t] = INFINITY;
	}
	for (uint32_t p = 0; p < b->places.count; p++) {
		sort_near(b, p);
		for (uint32_t t = 0; t < b->graph->task_count; t++)
			if (b->places.at[t] >= 0)
				least[t] = fmin(least[t], least_cost(b, b->weights + b->graph->first[t], b->counts[t]));
	}
	for (uint32_t t = 0; t < b->graph->task_count; t++)
		sum += b->places.at[t] >= 0 ? least[t] : 0;
	return sum / 2;
}

static double bound_of(struct bounding *b, double *least)
{
	const struct job_graph *graph = b->graph;
	uint32_t like;

	for (uint32_t t = 0; t < graph->task_count; t++)
		if (b->places.at[t] >= 0)
			b->slots[b->places.at[t]]++;
	list_weights(b);
	if (are_alike(b, &like))
		return bound_of_slots(b, like);
	if ((double)b->places.count * (double)(graph->edge_count + graph->task_count) < WORK_MAXIMUM)
		return bound_of_tasks(b, least);
	return 0;
}

double graph_bound(const struct graph_order *order, struct graph_sum *sum)
{
	size_t tasks = order->graph->task_count;
	struct bounding b = {.graph = order->graph};
	double *least = malloc((tasks + 1) * sizeof *least), bound = NAN;

	*sum = (struct graph_sum){0};
	if (least && places_create(order, &b.places) == 0) {
		*sum = places_sum(order->graph, &b.places);
		b.slots = calloc((size_t)b.places.count + 1, sizeof *b.slots);
		b.near = calloc((size_t)b.places.count + 1, sizeof *b.near);
		b.weights = calloc(2 * order->graph->edge_count + 1, sizeof *b.weights);
		b.counts = calloc(tasks + 1, sizeof *b.counts);
		/* Without the matrix, it would take too long. */
		if (b.slots && b.near && b.weights && b.counts)
			bound = b.places.cost ? bound_of(&b, least) : 0;
	}
	free(least);
	free(b.slots);
	free(b.near);
	free(b.weights);
	free(b.counts);
	places_free(&b.places);
	return bound;
}

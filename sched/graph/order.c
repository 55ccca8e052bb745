/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/graph/order.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>

#include "places_priv.h"

/* WORK_MAXIMUM: edges to look at, for each of both searches: about 15 ms. */
enum { WORK_MAXIMUM = 3000000, REPEATS = 120, EXCHANGED = 3 };
static const double negligible = 1e-6; /* gains below it are rounding errors */

struct search {
	const struct job_graph *graph;
	const struct places *places;
	uint32_t *movable; /* numbers of the movable tasks, ascending */
	uint32_t count;
	int32_t *at;    /* [tasks] places */
	uint32_t *room; /* [places] slots of movable tasks that greedy() has not given away yet */
	int64_t work;   /* edges that may still be looked at */
};

/* The cost of a task's edges if it were on `place`, without the edge to `other`, which an exchange leaves alone. */
static double cost_on(struct search *search, uint32_t task, int32_t place, uint32_t other)
{
	const struct job_graph *graph = search->graph;
	double sum = 0;

	for (size_t n = graph->first[task]; n < graph->first[task + 1]; n++) {
		const struct job_neighbour *neighbour = &graph->neighbours[n];
		int32_t there = search->at[neighbour->task];

		if (there >= 0 && neighbour->task != other)
			sum += neighbour->weight * places_cost(search->places, place, there);
	}
	search->work -= (int64_t)(graph->first[task + 1] - graph->first[task]) + 1;
	return sum;
}

static bool exchange(struct search *search, uint32_t a, uint32_t b)
{
	int32_t at_a = search->at[a], at_b = search->at[b];
	double before, after;

	if (at_a == at_b)
		return false;
	before = cost_on(search, a, at_a, b) + cost_on(search, b, at_b, a);
	after = cost_on(search, a, at_b, b) + cost_on(search, b, at_a, a);
	if (after >= before - negligible)
		return false;
	search->at[a] = at_b;
	search->at[b] = at_a;
	return true;
}

/* Exchanges two tasks as long as that helps and there is work left. */
static void improve(struct search *search)
{
	bool better = true;

	while (better && search->work > 0) {
		better = false;
		for (uint32_t i = 0; i < search->count; i++)
			for (uint32_t j = i + 1; j < search->count && search->work > 0; j++)
				better |= exchange(search, search->movable[i], search->movable[j]);
	}
}

/* Gives the movable tasks, by their numbers, the place that is nearest to those of their neighbours that have one. */
static void greedy(struct search *search)
{
	for (uint32_t i = 0; i < search->count; i++)
		search->room[search->at[search->movable[i]]]++;
	for (uint32_t i = 0; i < search->count; i++)
		search->at[search->movable[i]] = -1;
	for (uint32_t i = 0; i < search->count; i++) {
		int32_t last = i > 0 ? search->at[search->movable[i - 1]] : 0, best = -1;
		double least = INFINITY;

		for (uint32_t p = 0; p < search->places->count; p++) {
			/* Of equal places, the first at or after that of the task before. */
			int32_t place = (int32_t)(((uint32_t)last + p) % search->places->count);
			double cost;

			if (search->room[place] == 0)
				continue;
			cost = cost_on(search, search->movable[i], place, search->movable[i]);
			if (cost < least - negligible) {
				least = cost;
				best = place;
			}
		}
		search->at[search->movable[i]] = best;
		search->room[best]--;
	}
}

static double sum_of(struct search *search)
{
	double sum = 0;

	for (uint32_t t = 0; t < search->graph->task_count; t++)
		sum += search->at[t] < 0 ? 0 : cost_on(search, t, search->at[t], t);
	return sum / 2;
}

/* Repeats the search from the best order after some random exchanges, which lead it out of a local minimum. */
static void repeat(struct search *search, int32_t *best, double least)
{
	size_t bytes = search->graph->task_count * sizeof *best;
	struct rng rng;

	rng_seed(&rng, 1);
	for (int round = 0; round < REPEATS && search->count > 2 && search->work > 0; round++) {
		for (int n = 0; n < EXCHANGED; n++) {
			uint32_t a = search->movable[rng_below(&rng, search->count)];
			uint32_t b = search->movable[rng_below(&rng, search->count)];
			int32_t place = search->at[a];

			search->at[a] = search->at[b];
			search->at[b] = place;
		}
		improve(search);
		if (sum_of(search) < least - negligible) {
			least = sum_of(search);
			memcpy(best, search->at, bytes);
		} else {
			memcpy(search->at, best, bytes);
		}
	}
	memcpy(search->at, best, bytes);
}

/* Improves the given order and a greedy one, and goes on from the better one. best[] is room for an order. */
static void choose(struct search *search, int32_t *best)
{
	size_t bytes = search->graph->task_count * sizeof *best;
	double least;

	search->work = WORK_MAXIMUM;
	improve(search);
	least = sum_of(search);
	memcpy(best, search->at, bytes);
	if ((uint64_t)search->places->count * search->graph->edge_count < WORK_MAXIMUM) {
		search->work = WORK_MAXIMUM;
		greedy(search);
		improve(search);
		if (sum_of(search) < least)
			least = sum_of(search);
		else
			memcpy(search->at, best, bytes);
		memcpy(best, search->at, bytes);
	}
	repeat(search, best, least);
}

int graph_order(const struct graph_order *order, struct graph_sum *given)
{
	uint32_t tasks = order->graph->task_count;
	struct search search = {.graph = order->graph};
	struct places places;
	int32_t *best = malloc((tasks + 1) * sizeof *best);
	int code = places_create(order, &places);

	search.places = &places;
	search.at = places.at;
	search.movable = malloc((tasks + 1) * sizeof *search.movable);
	search.room = calloc((size_t)places.count + 1, sizeof *search.room);
	if (code == 0 && (!best || !search.movable || !search.room))
		code = -ENOMEM;
	for (uint32_t t = 0; t < tasks && code == 0; t++)
		if (order->movable[t] && order->machine[t] >= 0)
			search.movable[search.count++] = t;
	if (code == 0 && given)
		*given = places_sum(order->graph, &places);
	if (code == 0) {
		choose(&search, best);
		for (uint32_t i = 0; i < search.count; i++)
			order->machine[search.movable[i]] = (int32_t)places.machine[search.at[search.movable[i]]];
	}
	free(best);
	free(search.movable);
	free(search.room);
	places_free(&places);
	return code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/graph/order.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>

#include "places_priv.h"

/*
 * WORK_MAXIMUM: edges to look at, for each of both searches: about 15 ms. KEPT_MAXIMUM: above tasks * places^2 = this,
 * costs are not kept, as to update them after each exchange may take longer than to compute them.
 */
enum { WORK_MAXIMUM = 3000000, KEPT_MAXIMUM = 1 << 24, REPEATS = 120, EXCHANGED = 3 };
static const double negligible = 1e-6; /* gains below it are rounding errors */

struct search {
	const struct job_graph *graph;
	const struct places *places;
	uint32_t *movable; /* numbers of the movable tasks, ascending */
	uint32_t count;
	int32_t *at;    /* [tasks] places */
	uint32_t *room; /* [places] slots of movable tasks that greedy() has not given away yet */
	double *kept;   /* [tasks * places] cost of a task's edges by its place; NAN: not computed; NULL: not kept */
	double *change; /* [places] work space of move() */
	double *weight; /* [tasks] of the edges of the task that improve() looks at, else 0 */
	int64_t work;   /* edges that may still be looked at; kept costs count as if computed */
};

static void use_work(struct search *search, uint32_t task)
{
	search->work -= (int64_t)(search->graph->first[task + 1] - search->graph->first[task]) + 1;
}

/* The cost of a task's edges if it were on `place`. */
static double sum_edges(struct search *search, uint32_t task, int32_t place)
{
	const struct job_graph *graph = search->graph;
	double sum = 0;

	for (size_t n = graph->first[task]; n < graph->first[task + 1]; n++) {
		const struct job_neighbour *neighbour = &graph->neighbours[n];
		int32_t there = search->at[neighbour->task];

		if (there >= 0)
			sum += neighbour->weight * places_cost(search->places, place, there);
	}
	use_work(search, task);
	return sum;
}

static double cost_on(struct search *search, uint32_t task, int32_t place)
{
	double *kept = search->kept ? &search->kept[(size_t)task * search->places->count + (size_t)place] : NULL;

	if (!kept)
		return sum_edges(search, task, place);
	if (isnan(*kept))
		*kept = sum_edges(search, task, place);
	else
		use_work(search, task);
	return *kept;
}

static void forget_costs(struct search *search)
{
	size_t count = (size_t)search->graph->task_count * search->places->count;

	for (size_t i = 0; search->kept && i < count; i++)
		search->kept[i] = NAN;
}

/* Moves the task, and updates the kept costs of its neighbours. */
static void move(struct search *search, uint32_t task, int32_t to)
{
	const struct job_graph *graph = search->graph;
	uint32_t places = search->places->count;
	int32_t from = search->at[task];

	search->at[task] = to;
	if (!search->kept || from == to)
		return;
	for (uint32_t p = 0; p < places; p++)
		search->change[p] =
			places_cost(search->places, to, (int32_t)p) - places_cost(search->places, from, (int32_t)p);
	for (size_t n = graph->first[task]; n < graph->first[task + 1]; n++) {
		double *kept = &search->kept[(size_t)graph->neighbours[n].task * places];

		for (uint32_t p = 0; p < places; p++)
			kept[p] += graph->neighbours[n].weight * search->change[p];
	}
}

/* Exchanges the task whose edges are in weight[] with another one if that helps. */
static bool exchange(struct search *search, uint32_t a, uint32_t b)
{
	const struct places *places = search->places;
	int32_t at_a = search->at[a], at_b = search->at[b];
	double before, after;

	if (at_a == at_b)
		return false;
	before = cost_on(search, a, at_a) + cost_on(search, b, at_b);
	after = cost_on(search, a, at_b) + cost_on(search, b, at_a);
	if (search->weight[b] > 0) /* the exchange leaves this edge as it is */
		after += search->weight[b] * (2 * places_cost(places, at_a, at_b) - places_cost(places, at_a, at_a) -
					      places_cost(places, at_b, at_b));
	if (after >= before - negligible)
		return false;
	move(search, a, at_b);
	move(search, b, at_a);
	return true;
}

/* Sets weight[] of the task's neighbours, to 0 unless `on`. */
static void set_weights(struct search *search, uint32_t task, bool on)
{
	const struct job_graph *graph = search->graph;

	for (size_t n = graph->first[task]; n < graph->first[task + 1]; n++)
		search->weight[graph->neighbours[n].task] = on ? graph->neighbours[n].weight : 0;
}

/* Exchanges two tasks as long as that helps and there is work left. */
static void improve(struct search *search)
{
	bool better = true;

	while (better && search->work > 0) {
		better = false;
		for (uint32_t i = 0; i < search->count && search->work > 0; i++) {
			set_weights(search, search->movable[i], true);
			for (uint32_t j = i + 1; j < search->count && search->work > 0; j++)
				better |= exchange(search, search->movable[i], search->movable[j]);
			set_weights(search, search->movable[i], false);
		}
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
			cost = sum_edges(search, search->movable[i], place);
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
		sum += search->at[t] < 0 ? 0 : sum_edges(search, t, search->at[t]);
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

			move(search, a, search->at[b]);
			move(search, b, place);
		}
		improve(search);
		if (sum_of(search) < least - negligible) {
			least = sum_of(search);
			memcpy(best, search->at, bytes);
		}
		for (uint32_t i = 0; i < search->count; i++)
			move(search, search->movable[i], best[search->movable[i]]);
	}
	memcpy(search->at, best, bytes);
}

/* Improves the given order and a greedy one, and goes on from the better one. best[] is room for an order. */
static void choose(struct search *search, int32_t *best)
{
	size_t bytes = search->graph->task_count * sizeof *best;
	double least;

	search->work = WORK_MAXIMUM;
	forget_costs(search);
	improve(search);
	least = sum_of(search);
	memcpy(best, search->at, bytes);
	if ((uint64_t)search->places->count * search->graph->edge_count < WORK_MAXIMUM) {
		search->work = WORK_MAXIMUM;
		greedy(search);
		forget_costs(search);
		improve(search);
		if (sum_of(search) < least)
			least = sum_of(search);
		else
			memcpy(search->at, best, bytes);
		memcpy(best, search->at, bytes);
		forget_costs(search);
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
	size_t kept = (size_t)tasks * places.count;

	search.places = &places;
	search.at = places.at;
	search.movable = malloc((tasks + 1) * sizeof *search.movable);
	search.room = calloc((size_t)places.count + 1, sizeof *search.room);
	search.weight = calloc((size_t)tasks + 1, sizeof *search.weight);
	search.change = malloc(((size_t)places.count + 1) * sizeof *search.change);
	if (kept * places.count < KEPT_MAXIMUM)
		search.kept = malloc((kept + 1) * sizeof *search.kept);
	if (code == 0 && (!best || !search.movable || !search.room || !search.weight || !search.change))
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
	free(search.weight);
	free(search.change);
	free(search.kept);
	places_free(&places);
	return code;
}

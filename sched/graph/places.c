/* SPDX-License-Identifier: BSD-3-Clause */
#include "places_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { PLACES_WITH_MATRIX = 1024 }; /* 4 MiB, filled in some 50 ms; a round must not take longer */

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static void list_machines(const struct graph_order *order, struct places *places)
{
	uint32_t count = 0, different = 0;

	for (uint32_t t = 0; t < order->graph->task_count; t++)
		if (order->machine[t] >= 0)
			places->machine[count++] = (uint32_t)order->machine[t];
	qsort(places->machine, count, sizeof *places->machine, by_number);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || places->machine[i] != places->machine[different - 1])
			places->machine[different++] = places->machine[i];
	places->count = different;
}

static int32_t find(const struct places *places, int32_t machine)
{
	uint32_t wanted = (uint32_t)machine;
	const uint32_t *found =
		machine < 0 ? NULL
			    : bsearch(&wanted, places->machine, places->count, sizeof *places->machine, by_number);

	return found ? (int32_t)(found - places->machine) : -1;
}

int places_create(const struct graph_order *order, struct places *places)
{
	size_t tasks = order->graph->task_count;
	int code = -ENOMEM;

	*places = (struct places){.ask = order->cost, .context = order->context};
	places->machine = malloc((tasks + 1) * sizeof *places->machine);
	places->at = malloc((tasks + 1) * sizeof *places->at);
	if (places->machine && places->at) {
		list_machines(order, places);
		for (size_t t = 0; t < tasks; t++)
			places->at[t] = find(places, order->machine[t]);
		if (places->count <= PLACES_WITH_MATRIX)
			places->cost = calloc((size_t)places->count * places->count + 1, sizeof *places->cost);
		code = places->cost || places->count > PLACES_WITH_MATRIX ? 0 : -ENOMEM;
	}
	if (code != 0)
		places_free(places);
	return code;
}

void places_free(struct places *places)
{
	free(places->machine);
	free(places->at);
	free(places->cost);
	*places = (struct places){0};
}

struct graph_sum places_sum(const struct job_graph *graph, const struct places *places)
{
	struct graph_sum sum = {0};

	for (uint32_t t = 0; t < graph->task_count; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1]; n++) {
			const struct job_neighbour *neighbour = &graph->neighbours[n];
			int32_t here = places->at[t], there = places->at[neighbour->task];
			double cost;

			if (neighbour->task < t || here < 0 || there < 0)
				continue;
			cost = places_cost(places, here, there);
			sum.weight += neighbour->weight;
			sum.cost += neighbour->weight * cost;
			sum.performance += neighbour->weight * 100 / cost;
		}
	return sum;
}

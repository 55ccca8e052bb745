/* SPDX-License-Identifier: BSD-3-Clause */
#include "places_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { PLACES_WITH_MATRIX = 1024 }; /* filled in some 50 ms; a round must not take longer */

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

static int fill_costs(struct places *places)
{
	size_t count = places->count;

	if (count > PLACES_WITH_MATRIX)
		return 0;
	places->cost = malloc((count * count + 1) * sizeof *places->cost);
	if (!places->cost)
		return -ENOMEM;
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b <= a; b++)
			places->cost[a * count + b] = places->cost[b * count + a] = (float)places_ask(places, a, b);
	return 0;
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
		code = fill_costs(places);
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

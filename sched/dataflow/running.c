/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network_priv.h"

/* Least rate in weight / rate, MB/s: keeps the quotient finite for a source with rate 0. */
#define LEAST_MBPS 1e-3

void running_total_add(struct running_total *total, const struct loads *loads, uint32_t source, double rate,
		       double sign)
{
	bool ended = loads->offered[source] == 0 && !loads->broken[source];

	total->MBps += sign * rate;
	if (!ended)
		total->s_per_MB += sign * loads->weight[source] / fmax(rate, LEAST_MBPS);
}

static int allocate(struct running_loads *running, uint32_t resources)
{
	size_t entries = running->loads.count + 1, sources = (size_t)running->source_count + 2;

	running->rate = malloc(sources * sizeof *running->rate);
	running->source_first = calloc(sources + 1, sizeof *running->source_first);
	running->resource = malloc(entries * sizeof *running->resource);
	running->load = malloc(entries * sizeof *running->load);
	running->resource_first = calloc((size_t)resources + 3, sizeof *running->resource_first);
	running->source = malloc(entries * sizeof *running->source);
	running->seen_source = calloc(sources, sizeof *running->seen_source);
	running->seen_resource = calloc((size_t)resources + 1, sizeof *running->seen_resource);
	return running->rate && running->source_first && running->resource && running->load &&
			       running->resource_first && running->source && running->seen_source &&
			       running->seen_resource
		       ? 0
		       : -ENOMEM;
}

/* Sorts the loads by source (counting sort). */
static void sort_by_source(struct running_loads *running)
{
	const struct loads *loads = &running->loads;
	uint32_t *first = running->source_first;

	for (size_t i = 0; i < loads->count; i++)
		first[loads->items[i].source + 2]++;
	for (uint32_t s = 0; s < running->source_count; s++)
		first[s + 2] += first[s + 1];
	for (size_t i = 0; i < loads->count; i++) {
		uint32_t at = first[loads->items[i].source + 1]++;

		running->resource[at] = loads->items[i].resource;
		running->load[at] = loads->items[i].load;
	}
}

/*
 * Merges loads of the same source on the same resource into one load, their sum. at[]: work space, by resource; the
 * caller has set all its elements to 0.
 */
static void merge(struct running_loads *running, uint32_t *at)
{
	uint32_t begin = 0, kept = 0;

	for (uint32_t s = 0; s < running->source_count; s++) {
		uint32_t end = running->source_first[s + 1], row = kept;

		running->source_first[s] = row;
		for (uint32_t i = begin; i < end; i++) {
			uint32_t resource = running->resource[i];

			if (at[resource] > row) {
				running->load[at[resource] - 1] += running->load[i];
				continue;
			}
			running->resource[kept] = resource;
			running->load[kept++] = running->load[i];
			at[resource] = kept;
		}
		begin = end;
	}
	running->source_first[running->source_count] = kept;
}

static void index_by_resource(struct running_loads *running, uint32_t resources)
{
	uint32_t *first = running->resource_first, entries = running->source_first[running->source_count];

	for (uint32_t i = 0; i < entries; i++)
		first[running->resource[i] + 2]++;
	for (uint32_t r = 0; r < resources; r++)
		first[r + 2] += first[r + 1];
	for (uint32_t s = 0; s < running->source_count; s++)
		for (uint32_t i = running->source_first[s]; i < running->source_first[s + 1]; i++)
			running->source[first[running->resource[i] + 1]++] = s;
}

int running_loads_begin(struct running_loads *running, struct network *network)
{
	uint32_t resources = network_resource_count(network);
	int code = 0;

	*running = (struct running_loads){0};
	for (uint32_t j = 0; j < network->job_count && code == 0; j++)
		code = loads_add_job(&running->loads, network, &network->jobs[j], NULL);
	running->source_count = running->loads.source_count;
	if (code == 0)
		code = allocate(running, resources);
	if (code == 0)
		code = loads_solve(&running->loads, network, running->rate, NULL);
	if (code < 0)
		return code;
	for (uint32_t s = 0; s < running->source_count; s++)
		running_total_add(&running->total, &running->loads, s, running->rate[s], 1);
	sort_by_source(running);
	merge(running, running->seen_resource);
	memset(running->seen_resource, 0, resources * sizeof *running->seen_resource);
	index_by_resource(running, resources);
	return 0;
}

void running_loads_free(struct running_loads *running)
{
	loads_free(&running->loads);
	free(running->rate);
	free(running->source_first);
	free(running->resource);
	free(running->load);
	free(running->resource_first);
	free(running->source);
	free(running->seen_source);
	free(running->seen_resource);
	*running = (struct running_loads){0};
}

static int add_source(struct running_loads *running, struct loads *loads, uint32_t source)
{
	int code = loads_add_source(loads, running->loads.weight[source], running->loads.offered[source],
				    running->loads.broken[source]);

	for (uint32_t i = running->source_first[source]; i < running->source_first[source + 1] && code == 0; i++)
		code = loads_add(loads, running->resource[i], loads->source_count - 1, running->load[i]);
	return code;
}

int running_loads_spread(struct running_loads *running, struct loads *loads, struct running_total *unchanged)
{
	int code = 0;

	running->spread++;
	*unchanged = running->total;
	/*
	 * Breadth-first search over resources; the list of loads is also its queue, because the loads of each source
	 * found are appended to it.
	 */
	for (size_t i = 0; i < loads->count && code == 0; i++) {
		uint32_t resource = loads->items[i].resource;

		if (running->seen_resource[resource] == running->spread)
			continue;
		running->seen_resource[resource] = running->spread;
		for (uint32_t k = running->resource_first[resource];
		     k < running->resource_first[resource + 1] && code == 0; k++) {
			uint32_t source = running->source[k];

			if (running->seen_source[source] == running->spread)
				continue;
			running->seen_source[source] = running->spread;
			running_total_add(unchanged, &running->loads, source, running->rate[source], -1);
			code = add_source(running, loads, source);
		}
	}
	return code;
}

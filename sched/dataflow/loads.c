/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <sched/flows/max_min.h>

#include "network_priv.h"

void loads_clear(struct loads *loads)
{
	loads->count = 0;
	loads->source_count = 0;
}

void loads_free(struct loads *loads)
{
	free(loads->items);
	free(loads->weight);
	free(loads->offered);
	free(loads->broken);
	free(loads->used_as);
	free(loads->mark);
	free(loads->latest);
	free(loads->problem);
	*loads = (struct loads){0};
}

/* Reserves memory for the latest loads of the resources below `resources`. */
static int reserve_latest(struct loads *loads, size_t resources)
{
	size_t had = loads->latest_capacity;
	uint32_t *latest = array_reserve(loads->latest, resources, &loads->latest_capacity, sizeof *latest);

	if (!latest)
		return -ENOMEM;
	if (loads->latest_capacity > had)
		memset(latest + had, 0, (loads->latest_capacity - had) * sizeof *latest);
	loads->latest = latest;
	return 0;
}

/* Reserves memory for `count` more loads. */
static int reserve_loads(struct loads *loads, size_t count)
{
	struct load *items;

	if (loads->capacity - loads->count >= count)
		return 0;
	items = array_reserve(loads->items, loads->count + count, &loads->capacity, sizeof *items);
	if (!items)
		return -ENOMEM;
	loads->items = items;
	return 0;
}

/* As loads_add(). The caller has reserved memory for the load, and for the latest load of the resource. */
static inline void add(struct loads *loads, uint32_t resource, uint32_t source, double load)
{
	uint32_t latest = loads->latest[resource];
	struct load *item = latest > 0 && latest <= loads->count ? &loads->items[latest - 1] : NULL;

	/* A source may have thousands of flows over the links near its host: their loads are added up. */
	if (item && item->resource == resource && item->source == source) {
		item->load += load;
		return;
	}
	loads->items[loads->count++] = (struct load){.resource = resource, .source = source, .load = load};
	loads->latest[resource] = (uint32_t)loads->count;
}

int loads_add(struct loads *loads, uint32_t resource, uint32_t source, double load)
{
	if (reserve_loads(loads, 1) < 0 || reserve_latest(loads, (size_t)resource + 1) < 0)
		return -ENOMEM;
	add(loads, resource, source, load);
	return 0;
}

/* Reserves memory for `needed` sources in weight[], offered[] and broken[]. */
static int reserve_sources(struct loads *loads, size_t needed)
{
	double *weight = array_reserve(loads->weight, needed, &loads->source_capacity, sizeof *weight);
	double *offered = array_reserve(loads->offered, needed, &loads->offered_capacity, sizeof *offered);
	bool *broken = array_reserve(loads->broken, needed, &loads->broken_capacity, sizeof *broken);

	loads->weight = weight ? weight : loads->weight;
	loads->offered = offered ? offered : loads->offered;
	loads->broken = broken ? broken : loads->broken;
	return weight && offered && broken ? 0 : -ENOMEM;
}

int loads_add_source(struct loads *loads, double weight, double offered, bool broken)
{
	uint32_t at = loads->source_count;

	if (reserve_sources(loads, (size_t)at + 1) < 0)
		return -ENOMEM;
	loads->weight[at] = weight;
	loads->offered[at] = offered;
	loads->broken[at] = broken;
	loads->source_count++;
	return 0;
}

/*
 * Appends a job's sources to weight[], offered[] and broken[] (false). The caller increases source_count when it has
 * added all loads of these sources.
 */
static int add_sources(struct loads *loads, const struct network *network, const struct network_job *of)
{
	const struct dataflow_job *job = of->job;
	const struct dataflow_graph *graph = of->graph;

	if (reserve_sources(loads, (size_t)loads->source_count + graph->source_count) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < graph->source_count; s++) {
		uint32_t at = loads->source_count + s;

		loads->weight[at] = job->weight;
		loads->offered[at] =
			of->offered ? of->offered[s] : network_source_MBps(network, job, graph->sources[s]);
		loads->broken[at] = false;
	}
	return 0;
}

static const struct network_route *route_between(const struct network *network, const struct loads_routes *routes,
						 uint32_t low, uint32_t high)
{
	uint32_t pair;

	if (routes)
		return routes->route(routes->context, low, high);
	pair = network_find_pair(network, low, high);
	return pair == HASH_TABLE_NONE ? NULL : &network->pairs[pair].route;
}

/* Adds the loads of one flow on the links of its route. backwards: the flow goes against the route's direction. */
static int add_flow(struct loads *loads, const struct network_route *route, bool backwards,
		    const struct dataflow_by_source *carried, uint32_t flow)
{
	for (uint32_t i = carried->first[flow]; i < carried->first[flow + 1]; i++) {
		uint32_t source = loads->source_count + carried->source[i];
		double rate = carried->rate[i];

		if (reserve_loads(loads, route->count) < 0)
			return -ENOMEM;
		add(loads, route->first ^ backwards, source, rate);
		for (uint32_t l = 0; l + 2 < route->count; l++)
			add(loads, route->path[l] ^ backwards, source, rate);
		add(loads, route->last ^ backwards, source, rate);
	}
	return 0;
}

static int add_flows(struct loads *loads, const struct network *network, const struct dataflow_job *job,
		     const struct dataflow_graph *graph, const struct loads_routes *routes)
{
	uint32_t last_from = DATAFLOW_NOWHERE, last_to = DATAFLOW_NOWHERE;
	const struct network_route *route = NULL;

	/* Most of the loads are merged, so that there is hardly more than one for each flow and source. */
	if (reserve_latest(loads, network_resource_count(network)) < 0 ||
	    reserve_loads(loads, graph->carried.first[graph->flow_count]) < 0)
		return -ENOMEM;
	for (uint32_t f = 0; f < graph->flow_count; f++) {
		uint32_t from = job->hosts[graph->flows[f].from], to = job->hosts[graph->flows[f].to];
		int code;

		if (from == to)
			continue;
		/* A sender's flows to the tasks of one host follow each other. */
		if (from != last_from || to != last_to)
			route = route_between(network, routes, from < to ? from : to, from < to ? to : from);
		last_from = from;
		last_to = to;
		if (!route) {
			for (uint32_t i = graph->carried.first[f]; i < graph->carried.first[f + 1]; i++)
				loads->broken[loads->source_count + graph->carried.source[i]] = true;
			continue;
		}
		code = add_flow(loads, route, from > to, &graph->carried, f);
		if (code < 0)
			return code;
	}
	return 0;
}

static int add_cpu(struct loads *loads, const struct network *network, const struct dataflow_job *job,
		   const struct dataflow_graph *graph)
{
	const struct dataflow_by_source *received = &graph->received;

	for (uint32_t c = 0; c < job->component_count; c++) {
		const struct dataflow_component *component = &job->components[c];

		if (component->cpu_s_per_MB == 0)
			continue;
		for (uint32_t t = component->first_task; t < component->first_task + component->task_count; t++)
			for (uint32_t i = received->first[t]; i < received->first[t + 1]; i++) {
				int code = loads_add(loads, 2 * network->topology->link_count + job->hosts[t],
						     loads->source_count + received->source[i],
						     received->rate[i] * component->cpu_s_per_MB);

				if (code < 0)
					return code;
			}
	}
	return 0;
}

int loads_add_job(struct loads *loads, const struct network *network, const struct network_job *job,
		  const struct loads_routes *routes)
{
	int code = add_sources(loads, network, job);

	if (code == 0)
		code = add_flows(loads, network, job->job, job->graph, routes);
	if (code == 0)
		code = add_cpu(loads, network, job->job, job->graph);
	if (code == 0)
		loads->source_count += job->graph->source_count;
	return code;
}

/* The arrays of struct max_min_problem and its work space, all in one block. */
struct arrays {
	double *capacity, *load, *work;
	uint32_t *first, *source, *resources; /* resources[r]: number in the network of the problem's resource r */
};

static int prepare(struct loads *loads, const struct network *network)
{
	uint32_t resources = network_resource_count(network);
	size_t had = loads->used_capacity;
	uint32_t *used = array_reserve(loads->used_as, resources, &loads->used_capacity, sizeof *used), *mark;

	if (!used)
		return -ENOMEM;
	loads->used_as = used;
	if (loads->used_capacity > had)
		memset(used + had, 0, (loads->used_capacity - had) * sizeof *used);
	mark = array_reserve(loads->mark, loads->source_count + 1, &loads->mark_capacity, sizeof *mark);
	if (!mark)
		return -ENOMEM;
	loads->mark = mark;
	memset(mark, 0, loads->source_count * sizeof *mark);
	return 0;
}

static int make_arrays(struct loads *loads, struct arrays *arrays)
{
	size_t n = loads->count + 1, work = 2 * n + n + (3 * n + loads->source_count + 8) / 2 + 1;
	size_t bytes = (2 * n + work) * sizeof(double) + 3 * (n + 1) * sizeof(uint32_t);
	char *block = array_reserve(loads->problem, bytes, &loads->problem_bytes, 1);

	if (!block)
		return -ENOMEM;
	loads->problem = block;
	arrays->capacity = (double *)(void *)block;
	arrays->load = arrays->capacity + n;
	arrays->work = arrays->load + n;
	arrays->first = (uint32_t *)(void *)(arrays->work + work);
	arrays->source = arrays->first + n + 1;
	arrays->resources = arrays->source + n + 1;
	return 0;
}

/*
 * Numbers the resources that have loads, from 0, for the problem, and counts the loads of each one in first[]. Returns
 * the number of these resources.
 */
static uint32_t number_resources(struct loads *loads, const struct network *network, struct arrays *arrays)
{
	uint32_t resources = 0;

	for (size_t i = 0; i < loads->count; i++) {
		uint32_t *as = &loads->used_as[loads->items[i].resource];

		if (*as == 0) {
			arrays->resources[resources] = loads->items[i].resource;
			arrays->capacity[resources] = network_capacity(network, loads->items[i].resource);
			arrays->first[resources] = 0;
			*as = ++resources;
		}
		arrays->first[*as - 1]++;
	}
	return resources;
}

/* Sorts the loads by resource (counting sort). Afterwards first[r] is the end of the loads of resource r. */
static void sort_loads(struct loads *loads, struct arrays *arrays, uint32_t resources)
{
	uint32_t sum = 0;

	for (uint32_t r = 0; r < resources; r++) {
		uint32_t count = arrays->first[r];

		arrays->first[r] = sum;
		sum += count;
	}
	for (size_t i = 0; i < loads->count; i++) {
		uint32_t at = arrays->first[loads->used_as[loads->items[i].resource] - 1]++;

		arrays->source[at] = loads->items[i].source;
		arrays->load[at] = loads->items[i].load;
	}
}

/*
 * Merges loads of the same source on the same resource into one load, their sum. Afterwards first[r] is the beginning
 * of the loads of resource r.
 */
static void merge_loads(struct loads *loads, struct arrays *arrays, uint32_t resources)
{
	uint32_t begin = 0, kept = 0;

	for (uint32_t r = 0; r < resources; r++) {
		uint32_t end = arrays->first[r], row = kept;

		arrays->first[r] = row;
		for (uint32_t i = begin; i < end; i++) {
			uint32_t source = arrays->source[i], at = loads->mark[source];

			if (at > row && arrays->source[at - 1] == source) {
				arrays->load[at - 1] += arrays->load[i];
				continue;
			}
			arrays->source[kept] = source;
			arrays->load[kept++] = arrays->load[i];
			loads->mark[source] = kept;
		}
		begin = end;
	}
	arrays->first[resources] = kept;
}

int loads_solve(struct loads *loads, const struct network *network, double *rate, uint32_t *bottleneck)
{
	struct arrays arrays;
	struct max_min_problem problem;
	int code = prepare(loads, network);

	if (code == 0)
		code = make_arrays(loads, &arrays);
	if (code < 0)
		return code;
	problem = (struct max_min_problem){.source_count = loads->source_count,
					   .resource_count = number_resources(loads, network, &arrays),
					   .capacity = arrays.capacity,
					   .weight = loads->weight,
					   .offered = loads->offered,
					   .first = arrays.first,
					   .source = arrays.source,
					   .load = arrays.load};
	sort_loads(loads, &arrays, problem.resource_count);
	merge_loads(loads, &arrays, problem.resource_count);
	for (uint32_t s = 0; s < loads->source_count; s++)
		if (loads->broken[s])
			loads->offered[s] = 0;
	max_min_solve(&problem, rate, bottleneck, arrays.work);
	for (uint32_t s = 0; bottleneck && s < loads->source_count; s++)
		if (bottleneck[s] != MAX_MIN_OFFERED)
			bottleneck[s] = arrays.resources[bottleneck[s]];
	for (uint32_t r = 0; r < problem.resource_count; r++)
		loads->used_as[arrays.resources[r]] = 0;
	return 0;
}

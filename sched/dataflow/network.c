/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the network; starts and stops jobs; computes rates and loads. */
#include "network_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct network *network_create(const struct topology *topology, const uint32_t *slots, const double *cpu,
			       const struct topology_paths_options *options, struct error *err)
{
	struct network *network = calloc(1, sizeof *network);
	size_t nodes = topology->node_count;

	if (network) {
		network->topology = topology;
		network->adjacency = topology_adjacency_create(topology);
		network->free_slots = malloc(nodes * sizeof *network->free_slots + 1);
		network->held_slots = calloc(nodes + 1, sizeof *network->held_slots);
		network->cpu = malloc(nodes * sizeof *network->cpu + 1);
	}
	if (!network || !network->adjacency || !network->free_slots || !network->held_slots || !network->cpu) {
		error_set(err, ENOMEM, "out of memory");
		network_destroy(network);
		return NULL;
	}
	memcpy(network->free_slots, slots, nodes * sizeof *slots);
	memcpy(network->cpu, cpu, nodes * sizeof *cpu);
	network->paths = topology_paths_create(topology, options, err);
	if (!network->paths) {
		network_destroy(network);
		return NULL;
	}
	network->k = options->k;
	network->local_MBps = INFINITY;
	return network;
}

void network_destroy(struct network *network)
{
	if (!network)
		return;
	topology_paths_destroy(network->paths);
	network_paths_free(network);
	topology_adjacency_destroy(network->adjacency);
	hash_table_free(&network->pair_table);
	free(network->pairs);
	free(network->jobs);
	free(network->free_slots);
	free(network->held_slots);
	free(network->cpu);
	loads_free(&network->loads);
	free(network);
}

const struct topology *network_topology(const struct network *network)
{
	return network->topology;
}

uint32_t network_free_slots(const struct network *network, uint32_t host)
{
	return network->free_slots[host];
}

int64_t network_route_of(const struct network *network, uint32_t from, uint32_t to)
{
	uint32_t pair = network_find_pair(network, from, to);

	return pair == HASH_TABLE_NONE ? -ENOENT : (int64_t)network->pairs[pair].number;
}

static int add_pair(struct network *network, uint32_t low, uint32_t high, uint32_t number)
{
	struct network_pair *pairs =
		array_grow(network->pairs, network->pair_count, &network->pair_capacity, sizeof *pairs);
	struct network_pair *pair;
	int code;

	if (!pairs)
		return -ENOMEM;
	network->pairs = pairs;
	pair = &pairs[network->pair_count];
	*pair = (struct network_pair){.low = low, .high = high, .number = number};
	code = network_route(network, low, high, number, &pair->route);
	if (code == 0)
		code = hash_table_insert(&network->pair_table, network_pair_key(low, high), network->pair_count);
	if (code == 0)
		network->pair_count++;
	return code;
}

/*
 * Decrements the number of flows of a pair of hosts. At 0, removes the pair's entry from pairs[] and moves the last
 * entry to its place.
 */
static void release_pair(struct network *network, uint32_t a, uint32_t b)
{
	uint32_t at = network_find_pair(network, a, b), last;
	struct network_pair *pair = &network->pairs[at];

	if (--pair->users > 0)
		return;
	hash_table_remove(&network->pair_table, hash_table_first(&network->pair_table, network_pair_key(a, b)));
	last = --network->pair_count;
	if (at == last)
		return;
	*pair = network->pairs[last];
	hash_table_set_value(&network->pair_table,
			     hash_table_first(&network->pair_table, network_pair_key(pair->low, pair->high)), at);
}

static void take_slots(struct network *network, const struct dataflow_job *job, uint32_t tasks, int direction)
{
	for (uint32_t t = 0; t < tasks; t++)
		if (dataflow_slot_leader(job, t) == t)
			network->free_slots[job->hosts[t]] -= (uint32_t)direction;
}

static int take_all_slots(struct network *network, const struct dataflow_job *job, struct error *err)
{
	for (uint32_t t = 0; t < job->task_count; t++) {
		uint32_t host = job->hosts[t];

		if (dataflow_slot_leader(job, t) != t)
			continue;
		if (host == DATAFLOW_NOWHERE || network->free_slots[host] == 0) {
			take_slots(network, job, t, -1);
			return error_set(err, ENOSPC, "job '%s': no slot is free on host '%s'", job->name,
					 host == DATAFLOW_NOWHERE ? "?" : network->topology->nodes[host].name);
		}
		network->free_slots[host]--;
	}
	return 0;
}

/*
 * Increments the number of flows of a pair of hosts. If the pair has no entry in pairs[], first adds one with the route
 * that route_of() chooses.
 */
static int use_pair(struct network *network, uint32_t from, uint32_t to, network_chooser route_of, void *context,
		    struct error *err)
{
	uint32_t low = from < to ? from : to, high = from < to ? to : from, at = network_find_pair(network, low, high);

	if (at == HASH_TABLE_NONE) {
		int64_t number = route_of(context, low, high);
		int code = number < 0 ? (int)number : add_pair(network, low, high, (uint32_t)number);

		if (code == -ENOMEM)
			return error_set(err, ENOMEM, "out of memory");
		if (code < 0)
			return error_set(err, EHOSTUNREACH, "no route from '%s' to '%s'",
					 network->topology->nodes[low].name, network->topology->nodes[high].name);
		at = network->pair_count - 1;
	}
	network->pairs[at].users++;
	return 0;
}

static void release_pairs(struct network *network, const struct dataflow_job *job, const struct dataflow_graph *graph,
			  uint32_t flows)
{
	for (uint32_t f = 0; f < flows; f++) {
		uint32_t from = job->hosts[graph->flows[f].from], to = job->hosts[graph->flows[f].to];

		if (from != to)
			release_pair(network, from, to);
	}
}

int network_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		  network_chooser route_of, void *context, struct error *err)
{
	struct network_job *jobs = array_grow(network->jobs, network->job_count, &network->job_capacity, sizeof *jobs);
	uint32_t f = 0;
	int code;

	if (!jobs)
		return error_set(err, ENOMEM, "out of memory");
	network->jobs = jobs;
	code = take_all_slots(network, job, err);
	if (code < 0)
		return code;
	for (; f < graph->flow_count && code == 0; f++) {
		uint32_t from = job->hosts[graph->flows[f].from], to = job->hosts[graph->flows[f].to];

		if (from != to)
			code = use_pair(network, from, to, route_of, context, err);
	}
	if (code < 0) {
		release_pairs(network, job, graph, f - 1);
		take_slots(network, job, job->task_count, -1);
		return code;
	}
	jobs[network->job_count++] = (struct network_job){.job = job, .graph = graph};
	return 0;
}

void network_stop(struct network *network, uint32_t index)
{
	struct network_job *job = &network->jobs[index];

	release_pairs(network, job->job, job->graph, job->graph->flow_count);
	take_slots(network, job->job, job->job->task_count, -1);
	network->job_count--;
	memmove(job, job + 1, (network->job_count - index) * sizeof *job);
}

void network_offer(struct network *network, uint32_t index, const double *offered)
{
	network->jobs[index].offered = offered;
}

const struct network_job *network_jobs(const struct network *network, uint32_t *count)
{
	*count = network->job_count;
	return network->jobs;
}

uint32_t network_source_count(const struct network *network)
{
	uint32_t count = 0;

	for (uint32_t j = 0; j < network->job_count; j++)
		count += network->jobs[j].graph->source_count;
	return count;
}

/* Collects the loads of all running jobs. Returns 0 or -ENOMEM. */
static int collect_loads(struct network *network)
{
	int code = 0;

	loads_clear(&network->loads);
	for (uint32_t j = 0; j < network->job_count && code == 0; j++)
		code = loads_add_job(&network->loads, network, &network->jobs[j], NULL);
	return code;
}

int network_rates(struct network *network, double *rate, uint32_t *bottleneck)
{
	int code = collect_loads(network);

	if (code == 0)
		code = loads_solve(&network->loads, network, rate, bottleneck);
	return code < 0 ? code : (int)network->loads.source_count;
}

int network_usage(struct network *network, double *MBps)
{
	double *rate = malloc(network_source_count(network) * sizeof *rate + 1);
	int code = rate ? network_rates(network, rate, NULL) : -ENOMEM;

	memset(MBps, 0, network_resource_count(network) * sizeof *MBps);
	for (size_t i = 0; code >= 0 && i < network->loads.count; i++) {
		const struct load *load = &network->loads.items[i];

		MBps[load->resource] += load->load * rate[load->source];
	}
	free(rate);
	return code < 0 ? code : 0;
}

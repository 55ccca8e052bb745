/* SPDX-License-Identifier: BSD-3-Clause */
/* Dataflow jobs as data. */
#include <model/dataflow.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

void dataflow_job_clear(struct dataflow_job *job)
{
	for (uint32_t c = 0; job->components && c < job->component_count; c++)
		free(job->components[c].name);
	free(job->components);
	free(job->edges);
	free(job->hosts);
	free(job->name);
	free(job->curve);
	*job = (struct dataflow_job){0};
}

void dataflow_destroy(struct dataflow *dataflow)
{
	if (!dataflow)
		return;
	for (uint32_t j = 0; j < dataflow->job_count; j++)
		dataflow_job_clear(&dataflow->jobs[j]);
	free(dataflow->jobs);
	free(dataflow->slots);
	free(dataflow->cpu);
	topology_destroy(dataflow->topology);
	free(dataflow);
}

struct dataflow *dataflow_create(struct topology *topology, uint32_t slots)
{
	struct dataflow *dataflow = calloc(1, sizeof *dataflow);

	if (!dataflow) {
		topology_destroy(topology);
		return NULL;
	}
	dataflow->topology = topology;
	dataflow->seed = 1;
	dataflow->slots = calloc(topology->node_count, sizeof *dataflow->slots);
	dataflow->cpu = calloc(topology->node_count, sizeof *dataflow->cpu);
	if (!dataflow->slots || !dataflow->cpu) {
		dataflow_destroy(dataflow);
		return NULL;
	}
	for (uint32_t n = 0; n < topology->node_count; n++) {
		dataflow->slots[n] = topology->nodes[n].kind == TOPOLOGY_HOST ? slots : 0;
		dataflow->cpu[n] = INFINITY;
	}
	return dataflow;
}

struct dataflow_job *dataflow_add_job(struct dataflow *dataflow, const char *name, double arrival_s)
{
	struct dataflow_job *jobs =
		array_grow(dataflow->jobs, dataflow->job_count, &dataflow->job_capacity, sizeof *jobs);
	struct dataflow_job *job;

	if (!jobs)
		return NULL;
	dataflow->jobs = jobs;
	job = &jobs[dataflow->job_count];
	*job = (struct dataflow_job){.name = strdup(name), .weight = 1, .arrival_s = arrival_s};
	if (!job->name)
		return NULL;
	dataflow->job_count++;
	return job;
}

int64_t dataflow_add_component(struct dataflow_job *job, const char *name, uint32_t tasks)
{
	struct dataflow_component *components =
		array_grow(job->components, job->component_count, &job->component_capacity, sizeof *components);
	char *copy = strdup(name);

	if (components)
		job->components = components;
	if (!components || !copy) {
		free(copy);
		return -ENOMEM;
	}
	components[job->component_count] = (struct dataflow_component){
		.name = copy, .first_task = job->task_count, .task_count = tasks, .MBps = INFINITY, .MB = INFINITY};
	job->task_count += tasks;
	return job->component_count++;
}

struct dataflow_edge *dataflow_add_edge(struct dataflow_job *job, uint32_t from, uint32_t to,
					enum dataflow_grouping grouping)
{
	struct dataflow_edge *edges = array_grow(job->edges, job->edge_count, &job->edge_capacity, sizeof *edges);

	if (!edges)
		return NULL;
	job->edges = edges;
	edges[job->edge_count] = (struct dataflow_edge){.from = from, .to = to, .grouping = grouping, .selectivity = 1};
	return &edges[job->edge_count++];
}

int dataflow_place_nowhere(struct dataflow_job *job)
{
	uint32_t *hosts = realloc(job->hosts, job->task_count * sizeof *hosts + 1);

	if (!hosts)
		return -ENOMEM;
	job->hosts = hosts;
	for (uint32_t t = 0; t < job->task_count; t++)
		hosts[t] = DATAFLOW_NOWHERE;
	return 0;
}

int dataflow_set_selectivities(struct dataflow_job *job, bool volumes_are_MB)
{
	double *received = calloc(2 * ((size_t)job->component_count + 1), sizeof *received);
	double *most; /* volume of the edge that carries most */

	if (!received)
		return -ENOMEM;
	most = received + job->component_count;
	for (uint32_t e = 0; e < job->edge_count; e++) {
		const struct dataflow_edge *edge = &job->edges[e];

		received[edge->to] += edge->selectivity;
		most[edge->from] = fmax(most[edge->from], edge->selectivity);
	}
	for (uint32_t e = 0; e < job->edge_count; e++) {
		uint32_t from = job->edges[e].from;

		job->edges[e].selectivity /= received[from] > 0 ? received[from] : most[from];
	}
	for (uint32_t c = 0; c < job->component_count && volumes_are_MB; c++)
		if (received[c] == 0)
			job->components[c].MB = most[c] / job->components[c].task_count;
	free(received);
	return 0;
}

uint32_t dataflow_component_of(const struct dataflow_job *job, uint32_t task)
{
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, job->component_count, job->components[at].first_task <= task);
	return at - 1;
}

uint32_t dataflow_slot_leader(const struct dataflow_job *job, uint32_t task)
{
	const struct dataflow_component *largest = job->components;

	if (!job->shares_slots)
		return task;
	for (uint32_t c = 1; c < job->component_count; c++)
		if (job->components[c].task_count > largest->task_count)
			largest = &job->components[c];
	return largest->first_task + task - job->components[dataflow_component_of(job, task)].first_task;
}

void dataflow_place_slot(struct dataflow_job *job, uint32_t leader, uint32_t host)
{
	uint32_t number;

	job->hosts[leader] = host;
	if (!job->shares_slots)
		return;
	number = leader - job->components[dataflow_component_of(job, leader)].first_task;
	for (uint32_t c = 0; c < job->component_count; c++)
		if (number < job->components[c].task_count)
			job->hosts[job->components[c].first_task + number] = host;
}

void dataflow_task_name(const struct dataflow_job *job, uint32_t task, char *text)
{
	const struct dataflow_component *component = &job->components[dataflow_component_of(job, task)];

	snprintf(text, 2 * DATAFLOW_NAME_BYTES, "%s.%u", component->name, task - component->first_task);
}

static const char *const grouping_names[] = {
	[DATAFLOW_SHUFFLE] = "shuffle", [DATAFLOW_KEY] = "key",       [DATAFLOW_ALL] = "all",
	[DATAFLOW_FORWARD] = "forward", [DATAFLOW_GLOBAL] = "global",
};

const char *dataflow_grouping_name(enum dataflow_grouping grouping)
{
	return grouping_names[grouping];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Dataflow jobs as data. */
#include <model/dataflow.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/search.h>

void dataflow_job_clear(struct dataflow_job *job)
{
	for (uint32_t c = 0; job->components && c < job->component_count; c++)
		free(job->components[c].name);
	free(job->components);
	free(job->edges);
	free(job->hosts);
	free(job->name);
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

static void *copy_of(const void *items, size_t count, size_t item_bytes)
{
	void *copy = malloc(count * item_bytes + 1);

	if (copy && count > 0)
		memcpy(copy, items, count * item_bytes);
	return copy;
}

int dataflow_job_copy(const struct dataflow_job *from, struct dataflow_job *to)
{
	bool whole;

	*to = *from;
	to->name = strdup(from->name);
	to->components = copy_of(from->components, from->component_count, sizeof *from->components);
	to->edges = copy_of(from->edges, from->edge_count, sizeof *from->edges);
	to->hosts = copy_of(from->hosts, from->task_count, sizeof *from->hosts);
	whole = to->name && to->components && to->edges && to->hosts;
	for (uint32_t c = 0; to->components && c < from->component_count; c++) {
		to->components[c].name = strdup(from->components[c].name);
		whole = whole && to->components[c].name;
	}
	if (whole)
		return 0;
	dataflow_job_clear(to);
	return -ENOMEM;
}

uint32_t dataflow_component_of(const struct dataflow_job *job, uint32_t task)
{
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, job->component_count, job->components[at].first_task <= task);
	return at - 1;
}

void dataflow_task_name(const struct dataflow_job *job, uint32_t task, char *text)
{
	const struct dataflow_component *component = &job->components[dataflow_component_of(job, task)];

	snprintf(text, 2 * DATAFLOW_NAME_BYTES, "%s.%u", component->name, task - component->first_task);
}

static const char *const grouping_names[] = {
	[DATAFLOW_SHUFFLE] = "shuffle", [DATAFLOW_KEY] = "key", [DATAFLOW_ALL] = "all"};

const char *dataflow_grouping_name(enum dataflow_grouping grouping)
{
	return grouping_names[grouping];
}

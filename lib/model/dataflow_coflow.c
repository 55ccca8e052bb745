/* SPDX-License-Identifier: BSD-3-Clause */
/* Coflows as MapReduce jobs: one component has all mappers; each reducer is a component of one task. */
#include <model/dataflow.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <model/recovery.h>

#include "files_priv.h"

static uint32_t *list_hosts(const struct topology *topology)
{
	uint32_t *hosts = malloc(topology->host_count * sizeof *hosts + 1), count = 0;

	for (uint32_t n = 0; hosts && n < topology->node_count; n++)
		if (topology->nodes[n].kind == TOPOLOGY_HOST)
			hosts[count++] = n;
	return hosts;
}

static bool add_reducers(struct dataflow_job *job, const struct coflow_trace *trace, const struct coflow *coflow,
			 double total_MB)
{
	char name[DATAFLOW_NAME_BYTES];

	for (size_t r = 0; r < coflow->reducer_count; r++) {
		struct dataflow_edge *edge;
		int64_t component;

		snprintf(name, sizeof name, "reduce%zu", r);
		component = dataflow_add_component(job, name, 1);
		edge = component < 0 ? NULL : dataflow_add_edge(job, 0, (uint32_t)component, DATAFLOW_SHUFFLE);
		if (!edge)
			return false;
		edge->selectivity = trace->reducers[coflow->first_reducer + r].MB / total_MB;
	}
	return true;
}

static void pin(struct dataflow_job *job, const struct coflow_trace *trace, const struct coflow *coflow,
		const uint32_t *hosts)
{
	for (size_t m = 0; m < coflow->mapper_count; m++)
		job->hosts[m] = hosts[trace->mappers[coflow->first_mapper + m] - trace->first_port];
	for (size_t r = 0; r < coflow->reducer_count; r++)
		job->hosts[coflow->mapper_count + r] =
			hosts[trace->reducers[coflow->first_reducer + r].port - trace->first_port];
}

static bool add_coflow(struct dataflow *dataflow, const struct coflow_trace *trace, const struct coflow *coflow,
		       const uint32_t *hosts)
{
	double total_MB = 0;
	struct dataflow_job *job;
	char name[DATAFLOW_NAME_BYTES];

	for (size_t r = 0; r < coflow->reducer_count; r++)
		total_MB += trace->reducers[coflow->first_reducer + r].MB;
	if (total_MB <= 0)
		return true;
	snprintf(name, sizeof name, "c%lld", (long long)coflow->id);
	job = dataflow_add_job(dataflow, name, coflow->arrival_s);
	if (!job || dataflow_add_component(job, "map", (uint32_t)coflow->mapper_count) < 0 ||
	    !add_reducers(job, trace, coflow, total_MB) || dataflow_place_nowhere(job) < 0)
		return false;
	job->components[0].MB = total_MB / (double)coflow->mapper_count;
	if (hosts)
		pin(job, trace, coflow, hosts);
	return true;
}

static int add_coflows(struct dataflow *dataflow, const struct coflow_trace *trace, const char *path,
		       const struct dataflow_trace_options *options, struct error *err)
{
	uint32_t *hosts = NULL, before = dataflow->job_count;
	bool memory = true;

	if (options->pin && trace->port_count > dataflow->topology->host_count)
		return error_set(err, ENOSPC, "%s: %u ports, but the network has %u hosts", path, trace->port_count,
				 dataflow->topology->host_count);
	if (options->pin) {
		hosts = list_hosts(dataflow->topology);
		memory = hosts != NULL;
	}
	for (size_t i = 0; i < trace->coflow_count && memory; i++) {
		if (options->jobs > 0 && dataflow->job_count - before >= options->jobs)
			break;
		memory = add_coflow(dataflow, trace, &trace->coflows[i], hosts);
	}
	free(hosts);
	return memory ? 0 : error_set(err, ENOMEM, "out of memory");
}

int dataflow_read_coflows(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			  struct error *err)
{
	struct coflow_trace *trace = coflow_read(file_lines_open(path, err), err);
	int code = trace ? add_coflows(dataflow, trace, path, options, err) : error_code(err, EINVAL);

	coflow_destroy(trace);
	return code;
}

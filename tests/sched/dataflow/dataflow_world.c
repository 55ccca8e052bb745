/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataflow_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

struct dataflow_job world_job(struct rng *rng, uint32_t components)
{
	struct dataflow_job job = {.name = strdup("j"), .weight = 1};

	job.component_count = 2 + (uint32_t)rng_below(rng, components - 1);
	job.components = calloc(job.component_count, sizeof *job.components);
	job.edges = calloc((size_t)job.component_count * job.component_count, sizeof *job.edges);
	for (uint32_t c = 0; c < job.component_count; c++) {
		char name[16];

		snprintf(name, sizeof name, "c%u", c);
		job.components[c] = (struct dataflow_component){.name = strdup(name),
								.first_task = job.task_count,
								.task_count = 1 + (uint32_t)rng_below(rng, 2),
								.MBps = INFINITY};
		job.task_count += job.components[c].task_count;
		for (uint32_t to = c + 1; to < job.component_count; to++)
			if (to == c + 1 || rng_below(rng, 3) == 0)
				job.edges[job.edge_count++] =
					(struct dataflow_edge){.from = c,
							       .to = to,
							       .selectivity = 0.25 * (double)(1 + rng_below(rng, 6)),
							       .grouping = (enum dataflow_grouping)rng_below(rng, 3),
							       .skew = 1};
	}
	job.hosts = malloc(job.task_count * sizeof *job.hosts);
	for (uint32_t t = 0; t < job.task_count; t++)
		job.hosts[t] = DATAFLOW_NOWHERE;
	return job;
}

struct network *world_network(const struct topology *topology, uint32_t slots)
{
	uint32_t *of = calloc(topology->node_count, sizeof *of);
	double *cpu = calloc(topology->node_count, sizeof *cpu);
	struct topology_paths_options paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct network *network;

	for (uint32_t n = 0; n < topology->node_count; n++) {
		of[n] = topology->nodes[n].kind == TOPOLOGY_HOST ? slots : 0;
		cpu[n] = INFINITY;
	}
	network = network_create(topology, of, cpu, &paths, NULL);
	free(of);
	free(cpu);
	return network;
}

struct engine_answer world_start(struct network *network, struct dataflow_job *job, struct dataflow_graph *graph,
				 const char *engine, uint64_t seed)
{
	struct engine_options options = engine_defaults();
	struct engine_answer answer;
	struct error err = {0};

	options.seed = seed;
	options.steps = 20;
	cr_assert_eq(engine_place(engine_find(engine), network, job, graph, &options, &answer, &err), 0, "%s: %s",
		     engine, err.text);
	cr_assert_eq(engine_start(network, job, graph, &answer, &err), 0, "%s: %s", engine, err.text);
	return answer;
}

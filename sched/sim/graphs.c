/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs with a graph: the placer orders their tasks on the machines of the job (placer_order()). A graph exists only
 * while its job does, since those of a whole workload would need much memory.
 */
#include "sim_priv.h"

int sim_graph_create(struct sim *sim, uint32_t job)
{
	struct error err = {0};

	if (!sim->jobs[job].graph)
		sim->jobs[job].graph = workload_graph_of(sim->workload, &sim->workload->jobs[job], &err);
	return -err.code;
}

void sim_graph_to_net(struct sim *sim, uint32_t job)
{
	if (sim->jobs[job].graph)
		placer_job_graph(sim->placer, job, sim->jobs[job].graph);
}

void sim_graph_destroy(struct sim *sim, uint32_t job)
{
	if (sim->jobs[job].graph)
		placer_job_graph(sim->placer, job, NULL);
	job_graph_destroy(sim->jobs[job].graph);
	sim->jobs[job].graph = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs with a graph: the placer orders their tasks on the machines of the job (placer_order()), and a job's performance
 * is that of its edges. A graph exists only while its job does, since those of a whole workload would need much memory.
 */
#include <errno.h>
#include <math.h>

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
	if (sim->net && sim->jobs[job].graph)
		placer_job_graph(sim->placer, job, sim->jobs[job].graph);
}

void sim_graph_destroy(struct sim *sim, uint32_t job)
{
	if (sim->net && sim->jobs[job].graph)
		placer_job_graph(sim->placer, job, NULL);
	job_graph_destroy(sim->jobs[job].graph);
	sim->jobs[job].graph = NULL;
}

double sim_graph_performance(const struct sim *sim, uint32_t job, float *worst)
{
	const struct job_graph *graph = sim->jobs[job].graph;
	const struct sim_task *tasks = &sim->tasks[sim->workload->jobs[job].first_task];
	double sum = 0, weight = 0;

	*worst = INFINITY;
	for (uint32_t t = 0; t < graph->task_count; t++) {
		for (size_t i = graph->first[t]; i < graph->first[t + 1] && tasks[t].machine != SIM_NONE; i++) {
			const struct job_neighbour *other = &graph->neighbours[i];
			double rtt_us, p;

			if (other->task < t || tasks[other->task].machine == SIM_NONE)
				continue;
			rtt_us = (double)sim_latency_rtt_us(&sim->latency, (uint32_t)tasks[t].machine,
							    (uint32_t)tasks[other->task].machine);
			p = sim_performance_at(sim, sim->jobs[job].curve, rtt_us);
			sum += other->weight * p;
			weight += other->weight;
			*worst = fminf(*worst, (float)p);
		}
	}
	return weight > 0 ? sum / weight : NAN;
}

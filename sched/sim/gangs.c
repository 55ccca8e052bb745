/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that start with a number of tasks together. Once all tasks of such a job are submitted, each round tries to
 * place them; they enter the flow network only with the round that starts the job (<sched/round/round.h>). From then
 * on, its tasks are like those of other jobs.
 *
 * Jobs with a graph: the placer orders their tasks on the machines of the job (placer_order()). A graph exists only
 * while its job does, since those of a whole workload would need much memory.
 */
#include <errno.h>

#include <base/array.h>

#include "sim_priv.h"

bool sim_waits_for_gang(const struct sim *sim, uint32_t job)
{
	return sim->workload->jobs[job].gang > 0 && !sim->jobs[job].started;
}

static int add_gang(struct sim *sim, uint32_t number)
{
	const struct workload_job *job = &sim->workload->jobs[number];
	struct round_gang *larger = array_grow(sim->gangs, sim->gang_count, &sim->gang_capacity, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	sim->gangs = larger;
	larger[sim->gang_count++] = (struct round_gang){.job = number, .tasks = job->task_count, .minimum = job->gang};
	return 0;
}

int sim_gang_arrived(struct sim *sim, uint32_t job)
{
	return ++sim->jobs[job].arrived == sim->workload->jobs[job].task_count ? add_gang(sim, job) : 0;
}

static double waited_s(void *context, uint32_t job, uint32_t task)
{
	const struct sim *sim = context;
	const struct sim_task *waiting = &sim->tasks[sim->workload->jobs[job].first_task + task];

	return (double)(sim->now_us - waiting->started_us) / 1e6;
}

void sim_gangs_set(struct sim *sim, struct round_options *options)
{
	options->gangs = sim->gangs;
	options->gang_count = sim->gang_count;
	options->waited_s = waited_s;
}

void sim_gangs_settle(struct sim *sim)
{
	size_t kept = 0;

	for (size_t g = 0; g < sim->gang_count; g++) {
		if (!sim->gangs[g].started)
			sim->gangs[kept++] = sim->gangs[g];
	}
	sim->gang_count = kept;
}

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

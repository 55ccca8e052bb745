/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the worker plan (address, port, connections and their shares) of each task of a dataflow plan. */
#include "run_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { PORT_FIRST = 7800, TASKS_MAXIMUM = 1000 };

bool run_is_source(const struct task_process *task)
{
	return task->plan->inputs == 0;
}

bool run_is_sink(const struct task_process *task)
{
	return task->plan->edge_count == 0;
}

static void set_address(const struct run *run, const struct dataflow_job *job, uint32_t task, ip_address *address)
{
	address_parse(run->lab->hosts[run->fabric.node_of[job->hosts[task]]].address, address);
}

static int add_edge(struct task_process *first, struct task_process *process, const struct dataflow_job *job,
		    const struct dataflow_edge *edge)
{
	uint32_t most = job->components[edge->to].task_count;
	struct worker_edge *to = &process->plan->edges[process->plan->edge_count++];
	struct dataflow_flow *flows = malloc(most * sizeof *flows);
	double *shares = malloc(most * sizeof *shares);

	to->targets = calloc(most, sizeof *to->targets);
	if (flows && shares && to->targets) {
		to->to_all = edge->grouping == DATAFLOW_ALL;
		to->selectivity = edge->selectivity;
		to->target_count = dataflow_edge_flows(job, edge, process->task, flows, shares);
		for (uint32_t f = 0; f < to->target_count; f++) {
			struct worker_plan *receiver = first[flows[f].to].plan;

			to->targets[f] = (struct worker_target){
				.address = receiver->address, .port = receiver->port, .share = shares[f]};
			receiver->inputs++;
		}
	}
	free(flows);
	free(shares);
	return to->targets ? 0 : -ENOMEM;
}

static int add_task(struct run *run, const struct plan_job *of, uint32_t number)
{
	const struct dataflow_job *job = of->job;
	const struct dataflow_component *component = &job->components[dataflow_component_of(job, number)];
	struct task_process *process = &run->tasks[run->task_count];
	char name[2 * DATAFLOW_NAME_BYTES];
	struct worker_plan *plan = calloc(1, sizeof *plan);

	*process = (struct task_process){.job = of, .task = number, .plan = plan};
	if (!plan)
		return -ENOMEM;
	dataflow_task_name(job, number, name);
	snprintf(plan->task, sizeof plan->task, "%s.%s", job->name, name);
	plan->number = run->task_count;
	plan->port = (uint16_t)(PORT_FIRST + run->task_count++);
	set_address(run, job, number, &plan->address);
	plan->tuple_bytes = run->options->tuple_bytes;
	plan->MBps = fmin(component->MBps, run->options->local_MBps);
	plan->MB = component->MB;
	plan->cpu_us = component->cpu_s_per_MB * plan->tuple_bytes;
	plan->edges = calloc(job->edge_count + 1u, sizeof *plan->edges);
	return plan->edges ? 0 : -ENOMEM;
}

/* Returns true if the job has a cycle. Full queues in a cycle can deadlock. */
static bool has_cycle(const struct dataflow_job *job)
{
	bool *gone = calloc(job->component_count, sizeof *gone), changed = gone != NULL;
	uint32_t left = job->component_count;

	while (changed && left > 0) {
		changed = false;
		for (uint32_t c = 0; c < job->component_count; c++) {
			bool waits = gone[c];

			for (uint32_t e = 0; e < job->edge_count; e++)
				waits |= job->edges[e].to == c && !gone[job->edges[e].from];
			if (waits)
				continue;
			gone[c] = true;
			changed = true;
			left--;
		}
	}
	free(gone);
	return left > 0;
}

static int add_job(struct run *run, const struct plan_job *of, struct error *err)
{
	const struct dataflow_job *job = of->job;
	struct task_process *first = &run->tasks[run->task_count];
	int code = 0;

	if (has_cycle(job))
		return error_set(err, EINVAL, "job '%s' has a cycle: its bounded queues can deadlock", job->name);
	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		code = add_task(run, of, t);
	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		for (uint32_t e = 0; e < job->edge_count && code == 0; e++)
			if (job->edges[e].from == dataflow_component_of(job, t))
				code = add_edge(first, &first[t], job, &job->edges[e]);
	return code == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
}

int run_make_tasks(struct run *run, struct error *err)
{
	size_t count = 0;
	int code = 0;

	for (uint32_t j = 0; j < run->plan->job_count; j++)
		count += run->plan->jobs[j].job->task_count;
	if (count > TASKS_MAXIMUM)
		return error_set(err, EINVAL, "%zu tasks: a run has at most %d", count, TASKS_MAXIMUM);
	run->tasks = calloc(count + 1, sizeof *run->tasks);
	run->nothing = calloc(count + 1, sizeof *run->nothing);
	if (!run->tasks || !run->nothing)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t j = 0; j < run->plan->job_count && code == 0; j++)
		code = add_job(run, &run->plan->jobs[j], err);
	return code;
}

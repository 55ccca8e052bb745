/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances as plain arrays: one node per task, or one node per job. */
#include "instance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The arrays of a problem under construction; `failed` stays set, so that callers check once. */
struct builder {
	int32_t *tail, *head, *capacity;
	int64_t *cost, *supply;
	int32_t arc_count;
	size_t room;
	bool failed;
};

static bool resize(void **array, size_t count, size_t bytes)
{
	void *grown = realloc(*array, count * bytes);

	if (grown)
		*array = grown;
	return grown != NULL;
}

static void grow(struct builder *builder)
{
	size_t room = builder->room ? builder->room * 2 : 1 << 16;

	builder->failed = !resize((void **)&builder->tail, room, sizeof *builder->tail) ||
			  !resize((void **)&builder->head, room, sizeof *builder->head) ||
			  !resize((void **)&builder->capacity, room, sizeof *builder->capacity) ||
			  !resize((void **)&builder->cost, room, sizeof *builder->cost);
	builder->room = builder->failed ? builder->room : room;
}

static void add_arc(struct builder *builder, int32_t tail, int32_t head, int32_t capacity, int32_t cost)
{
	if ((size_t)builder->arc_count == builder->room)
		grow(builder);
	if (builder->failed)
		return;
	builder->tail[builder->arc_count] = tail;
	builder->head[builder->arc_count] = head;
	builder->capacity[builder->arc_count] = capacity;
	builder->cost[builder->arc_count++] = cost;
}

/* X -> racks -> machines -> S, and U -> S: the same in both networks. */
static void add_resources(const struct instance *instance, struct builder *builder)
{
	const struct instance_settings *settings = &instance->settings;
	int32_t per_rack = settings->machines_per_rack;

	for (int32_t r = 0; r < instance->rack_count; r++) {
		int32_t begin = r * per_rack, end = begin + per_rack, room = 0;

		for (int32_t m = begin; m < end && m < settings->machines; m++) {
			room += instance->slots[m];
			add_arc(builder, instance->rack_node + r, instance->machine_node + m, instance->slots[m], 0);
		}
		add_arc(builder, 1, instance->rack_node + r, room, 0);
	}
	for (int32_t m = 0; m < settings->machines; m++)
		add_arc(builder, instance->machine_node + m, 0, instance->slots[m], 0);
}

static int32_t job_tasks(const struct instance *instance, const struct instance_job *job)
{
	return job->waiting + (instance->settings.preemption ? job->running_count : 0);
}

/* A running task's arc to its machine replaces the shared arc to that machine, if there is one. */
static void add_task(const struct instance *instance, const struct instance_job *job, int32_t k, int32_t node,
		     int32_t unscheduled, struct builder *builder)
{
	const struct instance_running *own = NULL;
	int32_t own_node = -1;

	if (instance->settings.preemption && k < job->running_count) {
		own = &instance->running[job->running_begin + k];
		own_node = instance->machine_node + own->machine;
	}
	add_arc(builder, node, unscheduled, 1, instance_unscheduled_cost(instance, job, k));
	for (int32_t a = job->arc_begin; a < job->arc_begin + job->arc_count; a++) {
		if (instance->arcs[a].node != own_node)
			add_arc(builder, node, instance->arcs[a].node, 1, instance->arcs[a].cost);
	}
	if (own)
		add_arc(builder, node, own_node, 1, own->cost);
}

static int finish(struct builder *builder, int32_t node_count, struct mcf_problem *problem)
{
	*problem = (struct mcf_problem){.node_count = node_count,
					.arc_count = builder->arc_count,
					.tail = builder->tail,
					.head = builder->head,
					.capacity = builder->capacity,
					.cost = builder->cost,
					.supply = builder->supply};
	if (!builder->failed)
		return 0;
	instance_problem_free(problem);
	return -ENOMEM;
}

int instance_problem(const struct instance *instance, struct mcf_problem *problem)
{
	struct builder builder = {0};
	int32_t node = instance->task_node;

	for (int32_t j = 0; j < instance->job_count; j++)
		node += job_tasks(instance, &instance->jobs[j]);
	builder.supply = calloc((size_t)node, sizeof *builder.supply);
	builder.failed = !builder.supply;
	add_resources(instance, &builder);
	node = instance->task_node;
	for (int32_t j = 0; j < instance->job_count && !builder.failed; j++) {
		const struct instance_job *job = &instance->jobs[j];
		int32_t tasks = job_tasks(instance, job),
			first = instance->settings.preemption ? 0 : job->running_count;

		add_arc(&builder, instance->unscheduled_node + j, 0, tasks, 0);
		for (int32_t k = 0; k < tasks; k++) {
			builder.supply[node] = 1;
			add_task(instance, job, first + k, node++, instance->unscheduled_node + j, &builder);
		}
		builder.supply[0] -= tasks;
	}
	return finish(&builder, node, problem);
}

int instance_problem_by_job(const struct instance *instance, struct mcf_problem *problem)
{
	struct builder builder = {0};
	int32_t job_node = instance->unscheduled_node;

	builder.supply = calloc((size_t)(job_node + instance->job_count), sizeof *builder.supply);
	builder.failed = !builder.supply;
	add_resources(instance, &builder);
	for (int32_t j = 0; j < instance->job_count && !builder.failed; j++) {
		const struct instance_job *job = &instance->jobs[j];
		int32_t tasks = job_tasks(instance, job);

		builder.supply[job_node + j] = tasks;
		builder.supply[0] -= tasks;
		add_arc(&builder, job_node + j, 0, tasks, job->unscheduled_cost);
		for (int32_t a = job->arc_begin; a < job->arc_begin + job->arc_count; a++)
			add_arc(&builder, job_node + j, instance->arcs[a].node, tasks, instance->arcs[a].cost);
		for (int32_t i = 0; i < job->running_count && instance->settings.preemption; i++) {
			const struct instance_running *running = &instance->running[job->running_begin + i];

			add_arc(&builder, job_node + j, instance->machine_node + running->machine, 1, running->cost);
		}
	}
	return finish(&builder, job_node + instance->job_count, problem);
}

void instance_problem_free(struct mcf_problem *problem)
{
	free((void *)problem->tail);
	free((void *)problem->head);
	free((void *)problem->capacity);
	free((void *)problem->cost);
	free((void *)problem->supply);
	*problem = (struct mcf_problem){0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "structured_load.h"

static void add_running(const struct instance *instance, const struct instance_job *job, struct structured_row *row,
			struct structured_running *running)
{
	row->running = running;
	for (int32_t i = 0; i < job->running_count; i++) {
		const struct instance_running *from = &instance->running[job->running_begin + i];
		int32_t place = 0;

		while (place < row->running_count &&
		       (running[place].column != from->machine || running[place].cost != from->cost))
			place++;
		if (place == row->running_count)
			running[row->running_count++] = (struct structured_running){from->machine, from->cost, 0};
		running[place].units++;
	}
}

static void fill_group(struct load *load, const struct instance_job *job, struct load_group *group)
{
	const struct instance *instance = load->instance;
	struct arc *arcs = load->arcs + job->arc_begin;
	struct structured_row *row = &group->row;

	row->aggregator_cost = ARC_ABSENT;
	for (int32_t i = 0; i < job->arc_count; i++) {
		const struct instance_arc *from = &instance->arcs[job->arc_begin + i];

		if (from->node == 1)
			row->aggregator_cost = from->cost;
		else if (from->node < instance->machine_node)
			arcs[row->block_count++] = (struct arc){from->node - instance->rack_node, from->cost};
		else
			arcs[row->block_count + row->column_count++] =
				(struct arc){from->node - instance->machine_node, from->cost};
	}
	row->blocks = arcs;
	row->columns = arcs + row->block_count;
	group->supply = job->waiting;
	if (instance->settings.preemption) {
		group->supply += job->running_count;
		add_running(instance, job, row, load->running + job->running_begin);
	}
	row->unscheduled_cost = job->unscheduled_cost;
	row->unscheduled_capacity = group->supply;
}

struct load *load_create(const struct instance *instance)
{
	struct load *load = calloc(1, sizeof(*load));
	int64_t arcs = 0;

	if (!load)
		return NULL;
	load->instance = instance;
	for (int32_t i = 0; i < instance->job_count; i++) {
		const struct instance_job *job = &instance->jobs[i];

		arcs = job->arc_begin + job->arc_count > arcs ? job->arc_begin + job->arc_count : arcs;
	}
	load->share_room = 4096;
	load->groups = calloc((size_t)instance->job_count + 1, sizeof(*load->groups));
	load->arcs = malloc(sizeof(*load->arcs) * (size_t)(arcs + 1));
	load->running = malloc(sizeof(*load->running) * (size_t)(instance->settings.running + 1));
	load->shares = malloc(sizeof(*load->shares) * (size_t)load->share_room);
	if (!load->groups || !load->arcs || !load->running || !load->shares) {
		load_destroy(load);
		return NULL;
	}
	for (int32_t i = 0; i < instance->job_count; i++) {
		struct load_group *group = &load->groups[load->group_count];

		fill_group(load, &instance->jobs[i], group);
		if (group->supply > 0)
			load->group_count++;
		else
			*group = (struct load_group){0};
	}
	return load;
}

void load_destroy(struct load *load)
{
	if (!load)
		return;
	free(load->groups);
	free(load->arcs);
	free(load->running);
	free(load->shares);
	free(load);
}

struct structured *load_state(const struct load *load)
{
	const struct instance *instance = load->instance;
	struct structured *state =
		structured_create(load->group_count, instance->settings.machines, instance->rack_count);

	if (!state)
		return NULL;
	for (int32_t machine = 0, rack = 0; rack < instance->rack_count; rack++) {
		int32_t end = (rack + 1) * instance->settings.machines_per_rack;

		for (; machine < end && machine < instance->settings.machines; machine++)
			structured_set_column(state, machine, rack, instance->slots[machine]);
	}
	for (int32_t i = 0; i < load->group_count; i++) {
		structured_set_row(state, i, &load->groups[i].row);
		structured_set_supply(state, i, load->groups[i].supply);
	}
	return state;
}

int64_t load_read(const struct load *load, const struct structured *state)
{
	int64_t units = 0;

	for (int32_t i = 0; i < load->group_count; i++) {
		int32_t count = structured_read(state, i, load->shares, load->share_room);

		for (int32_t k = 0; k < count; k++)
			units += load->shares[k].units;
	}
	return units;
}

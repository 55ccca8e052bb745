/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of machines, of the latency between them, and of time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flownet_priv.h"

/* Grows *items to `count` elements of `size` bytes. */
static int extend(void *items, size_t count, size_t size)
{
	void **place = items, *larger = reallocarray(*place, count, size);

	if (!larger)
		return -ENOMEM;
	*place = larger;
	return 0;
}

static int grow_machines(struct flownet *net, uint32_t count)
{
	if (extend(&net->machines, (size_t)count + 1, sizeof *net->machines) != 0 ||
	    extend(&net->share_at, (size_t)count + 1, sizeof *net->share_at) != 0 ||
	    extend(&net->flipped, (size_t)count + 1, sizeof *net->flipped) != 0 ||
	    extend(&net->resting_changed, (size_t)count + 1, sizeof *net->resting_changed) != 0)
		return -ENOMEM;
	for (uint32_t m = net->machine_count; m < count; m++) {
		net->share_at[m] = FLOWNET_NONE;
		net->machines[m] = (struct net_machine){
			.told = FLOWNET_NONE,
			.first_root = JOB_NONE,
			.rack = net->cluster->machines[m].rack,
			.resting_group = FLOWNET_NONE,
		};
	}
	net->machine_count = count;
	return 0;
}

int flownet_grow(struct flownet *net)
{
	uint32_t racks = net->cluster->rack_count;

	if (net->cluster->machine_count > net->machine_count && grow_machines(net, net->cluster->machine_count) != 0)
		return -ENOMEM;
	if (racks <= net->rack_count && net->rack_free)
		return 0;
	if (extend(&net->rack_free, (size_t)racks + 1, sizeof *net->rack_free) != 0 ||
	    extend(&net->walk_starts, (size_t)racks + 2, sizeof *net->walk_starts) != 0)
		return -ENOMEM;
	memset(net->rack_free + net->rack_count, 0, (racks - net->rack_count) * sizeof *net->rack_free);
	net->rack_count = racks;
	return 0;
}

/*
 * Records changed arcs for the jobs whose tasks have arcs to racks or to the cluster: these arcs cost as much as the
 * most expensive machine, which an added or removed machine may change.
 */
static int all_arcs_changed(struct flownet *net, enum flownet_reason reason)
{
	int code = 0;

	for (size_t i = 0; i < net->live.count && code == 0; i++) {
		uint32_t job = net->live.jobs[i];

		if (net_job_open(net, &net->jobs[job]) && net_job_has_members(net, &net->jobs[job]))
			code = net_change_job(net, job, FLOWNET_CHANGE_ARCS, reason);
	}
	return code;
}

static struct net_machine *machine_at(const struct flownet *net, uint32_t machine)
{
	return machine < net->machine_count && net->machines[machine].present ? &net->machines[machine] : NULL;
}

int flownet_machine_added(struct flownet *net, uint32_t machine, int32_t slots)
{
	if (machine >= net->machine_count || net->machines[machine].present || slots < 0)
		return -EINVAL;
	net->machines[machine].present = true;
	/* A reused number may now belong to a machine in another rack. */
	net->machines[machine].rack = net->cluster->machines[machine].rack;
	net_machine_load(net, machine, slots, 0, false);
	if (net->policy.present)
		net->policy.present(net->policy.context, machine, true);
	if (net_change_machine(net, machine, FLOWNET_MACHINE_ADDED) != 0)
		return -ENOMEM;
	return all_arcs_changed(net, FLOWNET_MACHINE_ADDED);
}

/*
 * Updates a task after the loss of a machine. A task that runs there waits again. A task in transit to it returns to
 * the machine that it was leaving. A task that was leaving the lost machine keeps only its new slot.
 */
static int lose_task(struct flownet *net, uint32_t job, uint32_t task, int32_t machine)
{
	struct net_job *entry = &net->jobs[job];
	struct net_task *state = &entry->tasks[task];
	enum flownet_reason reason = task == entry->root ? FLOWNET_ROOT_LOST : FLOWNET_MACHINE_REMOVED;
	int32_t origin = state->origin;
	int code;

	if (state->machine != machine && origin != machine)
		return 0;
	net_moves_strike(net, job, task);
	if (origin == machine)
		return net_task_set_origin(net, job, task, FLOWNET_NONE, reason);
	code = net_task_move(net, job, task, FLOWNET_NONE, reason);
	return code == 0 && origin >= 0 ? net_task_move(net, job, task, origin, reason) : code;
}

int flownet_machine_removed(struct flownet *net, uint32_t machine)
{
	struct net_machine *entry = machine_at(net, machine);
	int code = 0;

	if (!entry)
		return -EINVAL;
	for (size_t i = 0; entry->running > 0 && i < net->live.count && code == 0; i++) {
		uint32_t job = net->live.jobs[i];

		for (uint32_t t = 0; t < net->jobs[job].task_limit && code == 0; t++)
			code = lose_task(net, job, t, (int32_t)machine);
	}
	net_machine_load(net, machine, 0, entry->running, false);
	entry->present = false;
	if (net->policy.present)
		net->policy.present(net->policy.context, machine, false);
	if (code == 0)
		code = net_change_machine(net, machine, FLOWNET_MACHINE_REMOVED);
	return code == 0 ? all_arcs_changed(net, FLOWNET_MACHINE_REMOVED) : code;
}

bool flownet_machine_is_reference(const struct flownet *net, uint32_t machine)
{
	return net->machines[machine].first_root != JOB_NONE;
}

int flownet_machine_drained(struct flownet *net, uint32_t machine, bool draining)
{
	struct net_machine *entry = machine_at(net, machine);

	if (!entry)
		return -EINVAL;
	net_machine_load(net, machine, entry->slots, entry->running, draining);
	return net_change_machine(net, machine, FLOWNET_SLOTS_CHANGED);
}

int flownet_slots_changed(struct flownet *net, uint32_t machine, int32_t slots)
{
	struct net_machine *entry = machine_at(net, machine);

	if (!entry || slots < 0)
		return -EINVAL;
	net_machine_load(net, machine, slots, entry->running, entry->draining);
	return net_change_machine(net, machine, FLOWNET_SLOTS_CHANGED);
}

int flownet_costs_changed(struct flownet *net, uint32_t job)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry)
		return -EINVAL;
	if (!net_job_open(net, entry))
		return 0; /* the job's tasks have no arcs yet; the costs are requested when the root is placed */
	if (net_job_has_members(net, entry) || net_rest_is_watched(net, job))
		return net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_LATENCY_CHANGED);
	net_costs_forget(entry);
	return 0;
}

int flownet_latency_changed(struct flownet *net, const struct cost_moved *moved)
{
	int code = 0;

	if (net->policy.moved)
		net->policy.moved(net->policy.context, moved);
	for (size_t i = 0; !moved && i < net->live.count && code == 0; i++)
		code = flownet_costs_changed(net, net->live.jobs[i]);
	for (size_t i = 0; moved && i < moved->count && code == 0; i++) {
		uint32_t machine = moved->machines[i];
		uint32_t job = machine < net->machine_count ? net->machines[machine].first_root : JOB_NONE;

		for (; job != JOB_NONE && code == 0; job = net->jobs[job].next_root)
			code = flownet_costs_changed(net, job);
	}
	return code;
}

/* Also removes from net->ageing the jobs whose costs will no longer change with time. */
int flownet_time_passed(struct flownet *net, double seconds)
{
	size_t left = 0;
	int code = 0;

	if (!(seconds >= 0))
		return -EINVAL;
	if (seconds == 0)
		return 0;
	net->now_s += seconds;
	for (size_t i = 0; i < net->ageing.count && code == 0; i++) {
		uint32_t job = net->ageing.jobs[i];

		net->jobs[job].ageing = net->jobs[job].present;
		if (net->jobs[job].present && net->ages[job].due_s <= net->now_s) {
			code = net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TIME_PASSED);
			net->ages[job].due_s = net_job_due_s(net, job);
			net->jobs[job].ageing = net->ages[job].due_s < INFINITY;
		}
		if (net->jobs[job].ageing)
			net->ageing.jobs[left++] = job;
	}
	if (code == 0)
		net->ageing.count = left;
	return code;
}

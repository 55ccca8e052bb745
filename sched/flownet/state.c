/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines, jobs and tasks as they stand, and the steps that events are made of. */
#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

int net_reserve(void **items, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room : 16;
	void *larger;

	if (count <= *room)
		return 0;
	while (wanted < count)
		wanted *= 2;
	larger = reallocarray(*items, wanted, size);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	*room = wanted;
	return 0;
}

int32_t net_root_machine(const struct net_job *job)
{
	return job->root_machine;
}

bool net_job_open(const struct flownet *net, const struct net_job *job)
{
	return !net->policy.root_first || net_root_machine(job) != FLOWNET_NONE;
}

bool net_job_uniform(const struct flownet *net, const struct net_job *job)
{
	bool timed = net->settings.omega_per_s > 0 || net->settings.beta_per_s > 0;

	return !timed && net->settings.preemption && !net->others_held && net_job_open(net, job) &&
	       job->class_count == 1 && !job->first.root;
}

bool net_takes_part(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (net_task_runs(&job->tasks[task]) || (net->policy.root_first && task == job->root))
		return true;
	return net_job_open(net, job) && !net->others_held;
}

bool net_is_pinned(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (!net_task_runs(&job->tasks[task]))
		return false;
	if (!net->settings.preemption)
		return true;
	return net->policy.root_first && (task == job->root || !net_job_open(net, job));
}

int32_t net_machine_capacity(const struct net_machine *machine)
{
	return machine->present && machine->slots > machine->pinned ? machine->slots - machine->pinned : 0;
}

int net_count_pins(struct flownet *net, struct net_job *job, int32_t sign, enum flownet_reason reason)
{
	for (uint32_t t = 0; t < job->task_limit; t++) {
		if (!net_is_pinned(net, job, t))
			continue;
		net->machines[job->tasks[t].machine].pinned += sign;
		if (net_change_machine(net, (uint32_t)job->tasks[t].machine, reason) != 0)
			return -ENOMEM;
	}
	return 0;
}

static void link_root(struct flownet *net, uint32_t job, int32_t machine)
{
	net->jobs[job].next_root = net->machines[machine].first_root;
	net->machines[machine].first_root = job;
	net->jobs[job].root_machine = machine;
	if (net->policy.root)
		net->policy.root(net->policy.context, job, (uint32_t)machine, true);
}

static void unlink_root(struct flownet *net, uint32_t job, int32_t machine)
{
	int64_t *link = &net->machines[machine].first_root;

	net->jobs[job].root_machine = FLOWNET_NONE;
	while (*link != FLOWNET_NONE && *link != (int64_t)job)
		link = &net->jobs[*link].next_root;
	if (*link != FLOWNET_NONE)
		*link = net->jobs[job].next_root;
	if (net->policy.root)
		net->policy.root(net->policy.context, job, (uint32_t)machine, false);
}

void net_machine_load(struct flownet *net, uint32_t machine, int32_t slots, int32_t running)
{
	int64_t *rack_free = &net->rack_free[net->machines[machine].rack];

	*rack_free -= flownet_free(net, machine);
	net->machines[machine].slots = slots;
	net->machines[machine].running = running;
	*rack_free += flownet_free(net, machine);
}

static void count_task(struct flownet *net, int32_t machine, int32_t sign)
{
	const struct net_machine *entry = &net->machines[machine];

	net_machine_load(net, (uint32_t)machine, entry->slots, entry->running + sign);
}

void net_task_began(const struct flownet *net, struct net_job *job, uint32_t task, double ago_s)
{
	if (job->since_s)
		job->since_s[task] = net->now_s - ago_s;
}

void net_task_put(struct flownet *net, uint32_t job, uint32_t task, int32_t machine)
{
	struct net_job *entry = &net->jobs[job];
	struct net_task *moved = &entry->tasks[task];

	if (net_task_runs(moved)) {
		count_task(net, moved->machine, -1);
		entry->running--;
		if (task == entry->root)
			unlink_root(net, job, moved->machine);
	} else {
		entry->waiting--;
	}
	if (machine != FLOWNET_NONE) {
		count_task(net, machine, 1);
		entry->running++;
		if (task == entry->root)
			link_root(net, job, machine);
	} else {
		entry->waiting++;
	}
	moved->machine = machine;
	moved->cost_epoch = 0;
	net_task_began(net, entry, task, 0);
}

int net_task_move(struct flownet *net, uint32_t job, uint32_t task, int32_t machine, enum flownet_reason reason)
{
	struct net_job *entry = &net->jobs[job];
	int32_t before = entry->tasks[task].machine;
	bool is_root = net->policy.root_first && task == entry->root;
	int code = 0;

	if (is_root)
		code = net_count_pins(net, entry, -1, reason);
	else if (net_is_pinned(net, entry, task))
		net->machines[before].pinned--;
	net_task_put(net, job, task, machine);
	entry->recount |= machine != FLOWNET_NONE && !net->settled;
	if (is_root && code == 0)
		code = net_count_pins(net, entry, 1, reason);
	else if (net_is_pinned(net, entry, task))
		net->machines[machine].pinned++;
	if (before != FLOWNET_NONE && code == 0)
		code = net_change_machine(net, (uint32_t)before, reason);
	if (machine != FLOWNET_NONE && code == 0)
		code = net_change_machine(net, (uint32_t)machine, reason);
	if (is_root && code == 0)
		code = net_change_job(net, job, FLOWNET_CHANGE_ARCS, reason);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, reason) : code;
}

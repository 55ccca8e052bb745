/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of machines, jobs and tasks, and the elementary steps that make up events. */
#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

int net_count_pins(struct flownet *net, struct net_job *job, int32_t sign, enum flownet_reason reason)
{
	net_wake_job(net, (uint32_t)(job - net->jobs));
	for (uint32_t t = 0; t < job->task_limit; t++) {
		if (!net_is_held(net, job, t))
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

static void unlink_root(struct flownet *net, uint32_t job)
{
	int32_t machine = net->jobs[job].root_machine;
	uint32_t *link = &net->machines[machine].first_root;

	net->jobs[job].root_machine = FLOWNET_NONE;
	while (*link != JOB_NONE && *link != job)
		link = &net->jobs[*link].next_root;
	if (*link != JOB_NONE)
		*link = net->jobs[job].next_root;
	if (net->policy.root)
		net->policy.root(net->policy.context, job, (uint32_t)machine, false);
}

void net_root_forget(struct flownet *net, uint32_t job)
{
	if (net->jobs[job].root_ended && net->jobs[job].root_machine != FLOWNET_NONE)
		unlink_root(net, job);
	net->jobs[job].root_ended = false;
}

void net_machine_load(struct flownet *net, uint32_t machine, int32_t slots, int32_t running, bool draining)
{
	struct net_machine *entry = &net->machines[machine];
	int64_t *rack_free = &net->rack_free[entry->rack];
	bool before = net_machine_is_shut(entry);

	*rack_free -= flownet_free(net, machine);
	net->shut_machines -= before && entry->running > 0;
	net->most_slots = slots > net->most_slots ? slots : net->most_slots;
	entry->slots = slots;
	entry->running = running;
	entry->draining = draining;
	net->shut_machines += net_machine_is_shut(entry) && running > 0;
	*rack_free += flownet_free(net, machine);
	if (net_machine_is_shut(entry) != before && !entry->flipped) {
		entry->flipped = true;
		net->flipped[net->flipped_count++] = machine;
	}
}

static void count_task(struct flownet *net, int32_t machine, int32_t sign)
{
	const struct net_machine *entry = &net->machines[machine];

	net_machine_load(net, (uint32_t)machine, entry->slots, entry->running + sign, entry->draining);
}

void net_machine_try(struct flownet *net, int32_t machine, int32_t sign)
{
	struct net_machine *entry = &net->machines[machine];
	int64_t *rack_free = &net->rack_free[entry->rack];

	*rack_free -= flownet_free(net, (uint32_t)machine);
	entry->running += sign;
	*rack_free += flownet_free(net, (uint32_t)machine);
}

int net_count_waiting(struct flownet *net, uint32_t job, int32_t sign)
{
	struct net_job *entry = &net->jobs[job];

	entry->waiting = (uint32_t)((int32_t)entry->waiting + sign);
	if (entry->waits || entry->waiting == 0)
		return 0;
	if (net_walk_add(&net->waits, job) != 0)
		return -ENOMEM;
	entry->waits = true;
	return 0;
}

void net_clean_waits(struct flownet *net)
{
	size_t left = 0;

	for (size_t i = 0; i < net->waits.count; i++) {
		uint32_t job = net->waits.jobs[i];

		net->jobs[job].waits = net->jobs[job].present && net->jobs[job].waiting > 0;
		if (net->jobs[job].waits)
			net->waits.jobs[left++] = job;
	}
	net->waits.count = left;
}

void net_task_began(const struct flownet *net, struct net_job *job, uint32_t task, double ago_s)
{
	if (job->since_s)
		job->since_s[task] = net->now_s - ago_s;
}

int net_task_put(struct flownet *net, uint32_t job, uint32_t task, int32_t machine)
{
	struct net_job *entry = &net->jobs[job];
	struct net_task *moved = &entry->tasks[task];
	int code = 0;

	net_wake(net, job, task);
	if (net_task_runs(moved)) {
		count_task(net, moved->machine, -1);
		entry->running--;
		if (task == entry->root && !entry->root_ended)
			unlink_root(net, job);
	} else {
		code = net_count_waiting(net, job, -1);
	}
	if (machine != FLOWNET_NONE) {
		count_task(net, machine, 1);
		entry->running++;
		if (task == entry->root)
			link_root(net, job, machine);
	} else if (code == 0) {
		code = net_count_waiting(net, job, 1);
	}
	moved->machine = machine;
	moved->cost_epoch = 0;
	net_task_began(net, entry, task, 0);
	return code;
}

int net_task_move(struct flownet *net, uint32_t job, uint32_t task, int32_t machine, enum flownet_reason reason)
{
	struct net_job *entry = &net->jobs[job];
	int32_t before = entry->tasks[task].machine;
	bool is_root = net->policy.root_first && task == entry->root;
	int code = net_task_set_origin(net, job, task, ORIGIN_SETTLED, reason);

	if (is_root && code == 0)
		code = net_count_pins(net, entry, -1, reason);
	else if (net_is_held(net, entry, task))
		net->machines[before].pinned--;
	if (code == 0)
		code = net_task_put(net, job, task, machine);
	entry->recount |= machine != FLOWNET_NONE && !net->settled;
	if (is_root && code == 0)
		code = net_count_pins(net, entry, 1, reason);
	else if (net_is_held(net, entry, task))
		net->machines[machine].pinned++;
	if (before != FLOWNET_NONE && code == 0)
		code = net_change_machine(net, (uint32_t)before, reason);
	if (machine != FLOWNET_NONE && code == 0)
		code = net_change_machine(net, (uint32_t)machine, reason);
	if (is_root && code == 0)
		code = net_change_job(net, job, FLOWNET_CHANGE_ARCS, reason);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, reason) : code;
}

int net_task_set_origin(struct flownet *net, uint32_t job, uint32_t task, int32_t origin, enum flownet_reason reason)
{
	struct net_job *entry = &net->jobs[job];
	struct net_task *state = &entry->tasks[task];
	int32_t before = state->origin, machine = state->machine;
	int code = 0;

	if (before == origin)
		return 0;
	net_wake(net, job, task);
	net->odd_tasks -= before != ORIGIN_SETTLED;
	net->odd_tasks += origin != ORIGIN_SETTLED;
	net->machines[machine].pinned -= net_is_held(net, entry, task);
	net->machines[machine].unseen -= before == ORIGIN_LEAVES;
	state->origin = origin;
	net->machines[machine].pinned += net_is_held(net, entry, task);
	net->machines[machine].unseen += origin == ORIGIN_LEAVES;
	if (before >= 0) { /* the task gives up its slot on the machine that it was leaving */
		net->machines[before].pinned--;
		net->machines[before].unseen--;
		count_task(net, before, -1);
		code = net_change_machine(net, (uint32_t)before, reason);
	}
	if (origin >= 0) {
		net->machines[origin].pinned++;
		net->machines[origin].unseen++;
		count_task(net, origin, 1);
		if (code == 0)
			code = net_change_machine(net, (uint32_t)origin, reason);
	}
	entry->recount = true;
	if (code == 0)
		code = net_change_machine(net, (uint32_t)machine, reason);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, reason) : code;
}

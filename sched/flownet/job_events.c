/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of jobs and tasks: arrived, found running, ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flownet_priv.h"

static int make_room_for_task(const struct flownet *net, struct net_job *job, uint32_t task)
{
	bool timed = net->settings.omega_per_s > 0 || net->settings.beta_per_s > 0;
	uint32_t room = job->task_room ? job->task_room : 8;

	while (room <= task)
		room = room > UINT32_MAX / 2 ? UINT32_MAX : 2 * room;
	if (room != job->task_room) {
		struct net_task *tasks = reallocarray(job->tasks, room, sizeof *tasks);
		double *since_s = timed ? reallocarray(job->since_s, room, sizeof *since_s) : NULL;

		job->tasks = tasks ? tasks : job->tasks;
		job->since_s = since_s ? since_s : job->since_s;
		if (!tasks || (timed && !since_s))
			return -ENOMEM;
		job->task_room = room;
	}
	for (; job->task_limit <= task; job->task_limit++)
		job->tasks[job->task_limit] = (struct net_task){.machine = TASK_ABSENT};
	return 0;
}

/* Aligned as realloc() does not. */
static int make_room_for_job(struct flownet *net, uint32_t job)
{
	uint32_t room = net->job_room ? net->job_room : 64;
	struct net_job *larger;

	while (room <= job)
		room = room > UINT32_MAX / 2 ? UINT32_MAX : 2 * room;
	if (room == net->job_room)
		return 0;
	larger = aligned_alloc(_Alignof(struct net_job), (size_t)room * sizeof *larger);
	if (!larger)
		return -ENOMEM;
	if (net->job_limit > 0)
		memcpy(larger, net->jobs, (size_t)net->job_limit * sizeof *larger);
	free(net->jobs);
	net->jobs = larger;
	net->job_room = room;
	return 0;
}

int flownet_job_arrived(struct flownet *net, uint32_t job, uint32_t root_task)
{
	if (net_job_at(net, job) || job == UINT32_MAX)
		return -EINVAL;
	if (make_room_for_job(net, job) != 0)
		return -ENOMEM;
	for (; net->job_limit <= job; net->job_limit++)
		net->jobs[net->job_limit] = (struct net_job){.next_root = FLOWNET_NONE};
	net->jobs[job] = (struct net_job){
		.present = true,
		.root = root_task,
		.root_machine = FLOWNET_NONE,
		.cost_epoch = 1,
		.next_root = FLOWNET_NONE,
		.pending_arcs = net->jobs[job].pending_arcs, /* of a job that had the number before */
		.pending_units = net->jobs[job].pending_units,
	};
	if (net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_JOB_ARRIVED) != 0)
		return -ENOMEM;
	return net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_JOB_ARRIVED);
}

int flownet_task_arrived(struct flownet *net, uint32_t job, uint32_t task, double waited_s)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry || task == UINT32_MAX || net_task_at(net, job, task))
		return -EINVAL;
	if (make_room_for_task(net, entry, task) != 0)
		return -ENOMEM;
	entry->tasks[task] = (struct net_task){.machine = TASK_WAITING};
	net_task_began(net, entry, task, waited_s);
	entry->waiting++;
	return net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TASK_ARRIVED);
}

int flownet_task_found(struct flownet *net, uint32_t job, uint32_t task, uint32_t machine, double running_s)
{
	int code;

	if (machine >= net->cluster->machine_count || !net->machines[machine].present)
		return -EINVAL;
	if (flownet_free(net, machine) <= 0)
		return -EBUSY;
	code = flownet_task_arrived(net, job, task, 0);
	if (code != 0)
		return code;
	code = net_task_move(net, job, task, (int32_t)machine, FLOWNET_TASK_ARRIVED);
	net_task_began(net, &net->jobs[job], task, running_s);
	return code;
}

int flownet_task_ended(struct flownet *net, uint32_t job, uint32_t task)
{
	struct net_task *ended = net_task_at(net, job, task);
	struct net_job *entry = net_job_at(net, job);
	int32_t machine;
	int code = 0;

	if (!ended)
		return -EINVAL;
	machine = ended->machine;
	if (machine != FLOWNET_NONE) {
		bool pinned = net_is_pinned(net, entry, task);

		if (!pinned)
			net_groups_unit_gone(net, job, task, machine);
		code = net_task_move(net, job, task, FLOWNET_NONE, FLOWNET_TASK_ENDED);
	}
	entry->tasks[task].machine = TASK_ABSENT;
	entry->waiting--;
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TASK_ENDED) : code;
}

int flownet_hold_others(struct flownet *net, bool held)
{
	int code = 0;

	if (!net->policy.root_first || net->others_held == held)
		return 0;
	net->others_held = held;
	for (uint32_t j = 0; j < net->job_limit && code == 0; j++) {
		const struct net_job *job = net_job_at(net, j);

		if (job && net_job_open(net, job) && (job->waiting > 0 || net->settings.preemption))
			code = net_change_job(net, j, FLOWNET_CHANGE_ARCS, FLOWNET_OTHERS_HELD);
	}
	return code;
}

void net_job_free(struct net_job *job)
{
	free(job->tasks);
	free(job->since_s);
	free(job->more);
	job->tasks = NULL;
	job->since_s = NULL;
	job->more = NULL;
	job->task_limit = job->task_room = job->more_room = 0;
}

int flownet_job_ended(struct flownet *net, uint32_t job)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry)
		return -EINVAL;
	net_groups_forget_job(net, job);
	if (net_count_pins(net, entry, -1, FLOWNET_JOB_ENDED) != 0)
		return -ENOMEM;
	for (uint32_t t = 0; t < entry->task_limit; t++) {
		if (net_task_runs(&entry->tasks[t]))
			net_task_put(net, job, t, FLOWNET_NONE);
	}
	net_job_free(entry);
	entry->present = false;
	return 0;
}

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
		job->tasks[job->task_limit] = (struct net_task){.machine = TASK_ABSENT, .origin = ORIGIN_SETTLED};
	return 0;
}

/* The jobs need a larger alignment than realloc() guarantees. */
static int make_room_for_job(struct flownet *net, uint32_t job)
{
	uint32_t room = net->job_room ? net->job_room : 64;
	struct net_job *larger;
	struct net_age *ages;

	while (room <= job)
		room = room > UINT32_MAX / 2 ? UINT32_MAX : 2 * room;
	if (room == net->job_room)
		return 0;
	ages = reallocarray(net->ages, room, sizeof *ages);
	if (!ages)
		return -ENOMEM;
	memset(ages + net->job_room, 0, (room - net->job_room) * sizeof *ages);
	net->ages = ages;
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
	struct net_job *entry;

	if (net_job_at(net, job) || job == JOB_NONE)
		return -EINVAL;
	if (make_room_for_job(net, job) != 0)
		return -ENOMEM;
	for (; net->job_limit <= job; net->job_limit++)
		net->jobs[net->job_limit] = (struct net_job){.next_root = JOB_NONE};
	entry = &net->jobs[job];
	*entry = (struct net_job){
		.present = true,
		.preemptible = net->settings.preemption,
		.root = root_task,
		.root_machine = FLOWNET_NONE,
		.cost_epoch = 1,
		.next_root = JOB_NONE,
		.place = (uint32_t)net->live.count,
		.spare = entry->spare,
		.ageing = entry->ageing,
		.waits = entry->waits,
		.touched = entry->touched,
		.pending_arcs = entry->pending_arcs, /* possibly of an earlier job with this number */
		.pending_units = entry->pending_units,
	};
	if (net_walk_add(&net->live, job) != 0) {
		entry->present = false;
		return -ENOMEM;
	}
	net->ages[job].open = 0;
	net->ages[job].weight = 1;
	net->preemptible_jobs += entry->preemptible;
	if (net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_JOB_ARRIVED) != 0)
		return -ENOMEM;
	return net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_JOB_ARRIVED);
}

int flownet_job_weighs(struct flownet *net, uint32_t job, int32_t weight)
{
	const struct net_job *entry = net_job_at(net, job);
	int32_t most = net->settings.omega_per_s > 0 || net->settings.gamma <= 0
			       ? 1
			       : STRUCTURED_COST_MAXIMUM / net->settings.gamma;

	if (!entry || entry->task_limit > 0 || weight < 1 || weight > FLOWNET_WEIGHT_MAXIMUM)
		return -EINVAL;
	net->ages[job].weight = weight < most ? weight : most > 0 ? most : 1;
	return 0;
}

int flownet_job_expects(struct flownet *net, uint32_t job, uint32_t tasks)
{
	if (!net_job_at(net, job))
		return -EINVAL;
	net->ages[job].open = tasks;
	return 0;
}

uint32_t flownet_spare_job(struct flownet *net)
{
	while (net->spare_jobs.count > 0) {
		uint32_t job = net->spare_jobs.jobs[net->spare_jobs.count - 1];

		if (!net->jobs[job].present)
			return job;
		net->jobs[job].spare = false; /* the number is in use: a caller has chosen it without this function */
		net->spare_jobs.count--;
	}
	return net->job_limit;
}

int flownet_job_moves(struct flownet *net, uint32_t job, bool preemptible, double gain)
{
	struct net_job *entry = net_job_at(net, job);
	int code;

	if (!entry || (preemptible && !net->policy.preempts) || !(gain >= 0))
		return -EINVAL;
	code = net_count_pins(net, entry, -1, FLOWNET_MOVES_CHANGED);
	net->preemptible_jobs += preemptible - entry->preemptible;
	entry->preemptible = preemptible;
	entry->gain = (float)gain;
	entry->recount = true;
	if (code == 0)
		code = net_count_pins(net, entry, 1, FLOWNET_MOVES_CHANGED);
	if (code == 0)
		code = net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_MOVES_CHANGED);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_MOVES_CHANGED) : code;
}

/*
 * A new root has arrived after the old one ended. Forgets the old root's machine, so that the job's waiting tasks wait
 * until the new root runs.
 */
static int replace_root(struct flownet *net, uint32_t job)
{
	struct net_job *entry = &net->jobs[job];
	int code = net_count_pins(net, entry, -1, FLOWNET_ROOT_LOST);

	net_root_forget(net, job);
	entry->recount = true;
	if (code == 0)
		code = net_count_pins(net, entry, 1, FLOWNET_ROOT_LOST);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_ROOT_LOST) : code;
}

int flownet_task_arrived(struct flownet *net, uint32_t job, uint32_t task, double waited_s)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry || task == UINT32_MAX || net_task_at(net, job, task))
		return -EINVAL;
	if (make_room_for_task(net, entry, task) != 0 ||
	    (task == entry->root && entry->root_ended && replace_root(net, job) != 0))
		return -ENOMEM;
	entry->tasks[task] = (struct net_task){.machine = TASK_WAITING, .origin = ORIGIN_SETTLED};
	net_task_began(net, entry, task, waited_s);
	if (net_count_waiting(net, job, 1) != 0)
		return -ENOMEM;
	return net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TASK_ARRIVED);
}

int flownet_task_found(struct flownet *net, uint32_t job, uint32_t task, uint32_t machine, double running_s)
{
	int code;

	if (machine >= net->machine_count || !net->machines[machine].present)
		return -EINVAL;
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
	net_moves_strike(net, job, task);
	machine = ended->machine;
	if (machine != FLOWNET_NONE) {
		if (!net_is_pinned(net, entry, task))
			net_class_unit_gone(net, job, task, machine);
		entry->root_ended |= task == entry->root;
		code = net_task_move(net, job, task, FLOWNET_NONE, FLOWNET_TASK_ENDED);
	}
	entry->tasks[task].machine = TASK_ABSENT;
	net->ages[job].open -= net->ages[job].open > 0;
	if (code == 0)
		code = net_count_waiting(net, job, -1);
	return code == 0 ? net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TASK_ENDED) : code;
}

int flownet_hold_others(struct flownet *net, bool held)
{
	if (net->policy.root_first)
		net->others_held = held;
	return 0;
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

static void forget_live(struct flownet *net, uint32_t place)
{
	uint32_t last = net->live.jobs[--net->live.count];

	net->live.jobs[place] = last;
	net->jobs[last].place = place;
}

int flownet_job_ended(struct flownet *net, uint32_t job)
{
	struct net_job *entry = net_job_at(net, job);
	int code = 0;

	if (!entry)
		return -EINVAL;
	net_classes_forget(net, job);
	for (uint32_t t = 0; t < entry->task_limit && code == 0; t++) {
		if (net_task_runs(&entry->tasks[t]))
			code = net_task_set_origin(net, job, t, ORIGIN_SETTLED, FLOWNET_JOB_ENDED);
	}
	if (code == 0)
		code = net_count_pins(net, entry, -1, FLOWNET_JOB_ENDED);
	for (uint32_t t = 0; t < entry->task_limit && code == 0; t++) {
		if (entry->tasks[t].machine == TASK_ABSENT)
			continue;
		net_moves_strike(net, job, t);
		if (net_task_runs(&entry->tasks[t]))
			code = net_task_put(net, job, t, FLOWNET_NONE);
	}
	net_root_forget(net, job);
	net_job_free(entry);
	entry->present = false;
	net->preemptible_jobs -= entry->preemptible;
	forget_live(net, entry->place);
	if (!entry->spare && code == 0)
		code = net_walk_add(&net->spare_jobs, job);
	entry->spare = true;
	return code;
}

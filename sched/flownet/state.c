/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines, jobs and tasks as they stand, and what each event does to them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct net_job *net_job_at(const struct flownet *net, uint32_t job)
{
	return job < net->job_limit && net->jobs[job].present ? &net->jobs[job] : NULL;
}

static struct net_task *task_at(const struct flownet *net, uint32_t job, uint32_t task)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry || task >= entry->task_limit || entry->tasks[task].machine == TASK_ABSENT)
		return NULL;
	return &entry->tasks[task];
}

int32_t net_root_machine(const struct net_job *job)
{
	return job->root_machine;
}

bool net_job_open(const struct flownet *net, const struct net_job *job)
{
	return !net->policy.root_first || net_root_machine(job) != FLOWNET_NONE;
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

static int32_t cost_of_time(double per_s, double seconds)
{
	double cost = per_s * (seconds > 0 ? seconds : 0);

	return (int32_t)lround(cost < STRUCTURED_COST_MAXIMUM / 2 ? cost : STRUCTURED_COST_MAXIMUM / 2);
}

int32_t net_unscheduled_cost(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (net->settings.omega_per_s <= 0 || net_task_runs(&job->tasks[task]))
		return net->settings.gamma;
	return net->settings.gamma + cost_of_time(net->settings.omega_per_s, net->now_s - job->since_s[task]);
}

/* A row at hand has it, if it is one of those that the row leads to: the round trip need not be looked up. */
static int32_t cost_at_machine(const struct flownet *net, uint32_t job, uint32_t machine)
{
	int32_t cost = COST_ABSENT;

	if (net->row)
		cost = cost_row_machine(net->row, net->machines[machine].rack, machine);
	if (cost == COST_ABSENT)
		cost = net->policy.at(net->policy.context, job, net_root_machine(&net->jobs[job]), machine);
	return cost;
}

int32_t net_running_cost(const struct flownet *net, uint32_t job, uint32_t task, bool *discounted)
{
	const struct net_job *entry = &net->jobs[job];
	struct net_task *runs = &entry->tasks[task];
	int32_t discount;

	*discounted = false;
	if (net->policy.root_first && (task == entry->root || !net_job_open(net, entry)))
		return 0;
	if (runs->cost_epoch != entry->cost_epoch) {
		runs->cost = cost_at_machine(net, job, (uint32_t)runs->machine);
		runs->cost_epoch = entry->cost_epoch;
	}
	discount = net->settings.beta_per_s > 0
			   ? cost_of_time(net->settings.beta_per_s, net->now_s - entry->since_s[task])
			   : 0;
	*discounted = discount > 0;
	return runs->cost > discount ? runs->cost - discount : 0;
}

/* Adds `sign` for each pinned task of the job to its machine's count. */
static int count_pins(struct flownet *net, struct net_job *job, int32_t sign, enum flownet_reason reason)
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

/* The machine's slots, or how many tasks it has, change by this. */
static void set_load(struct flownet *net, uint32_t machine, int32_t slots, int32_t running)
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

	set_load(net, (uint32_t)machine, entry->slots, entry->running + sign);
}

/* The task waits or runs since so many seconds ago. */
static void began(const struct flownet *net, struct net_job *job, uint32_t task, double ago_s)
{
	if (job->since_s)
		job->since_s[task] = net->now_s - ago_s;
}

/* Takes the task, which is there, off its machine, puts it on another; no pins, no changes. */
static void set_machine(struct flownet *net, uint32_t job, uint32_t task, int32_t machine)
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
	began(net, entry, task, 0);
}

int net_task_move(struct flownet *net, uint32_t job, uint32_t task, int32_t machine, enum flownet_reason reason)
{
	struct net_job *entry = &net->jobs[job];
	int32_t before = entry->tasks[task].machine;
	bool is_root = net->policy.root_first && task == entry->root;
	int code = 0;

	if (is_root)
		code = count_pins(net, entry, -1, reason);
	else if (net_is_pinned(net, entry, task))
		net->machines[before].pinned--;
	set_machine(net, job, task, machine);
	entry->recount |= machine != FLOWNET_NONE && !net->settled;
	if (is_root && code == 0)
		code = count_pins(net, entry, 1, reason);
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

	if (!entry || task == UINT32_MAX || task_at(net, job, task))
		return -EINVAL;
	if (make_room_for_task(net, entry, task) != 0)
		return -ENOMEM;
	entry->tasks[task] = (struct net_task){.machine = TASK_WAITING};
	began(net, entry, task, waited_s);
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
	began(net, &net->jobs[job], task, running_s);
	return code;
}

int flownet_task_ended(struct flownet *net, uint32_t job, uint32_t task)
{
	struct net_task *ended = task_at(net, job, task);
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
	if (count_pins(net, entry, -1, FLOWNET_JOB_ENDED) != 0)
		return -ENOMEM;
	for (uint32_t t = 0; t < entry->task_limit; t++) {
		if (net_task_runs(&entry->tasks[t]))
			set_machine(net, job, t, FLOWNET_NONE);
	}
	net_job_free(entry);
	entry->present = false;
	return 0;
}

/* Which machines there are moves the maxima of every row. */
static int all_arcs_changed(struct flownet *net, enum flownet_reason reason)
{
	for (uint32_t j = 0; j < net->job_limit; j++) {
		const struct net_job *job = net_job_at(net, j);

		if (job && net_job_open(net, job) && (job->waiting > 0 || net->settings.preemption) &&
		    net_change_job(net, j, FLOWNET_CHANGE_ARCS, reason) != 0)
			return -ENOMEM;
	}
	return 0;
}

int flownet_machine_added(struct flownet *net, uint32_t machine, int32_t slots)
{
	if (machine >= net->cluster->machine_count || net->machines[machine].present || slots < 0)
		return -EINVAL;
	net->machines[machine].present = true;
	set_load(net, machine, slots, net->machines[machine].running);
	if (net->policy.present)
		net->policy.present(net->policy.context, machine, true);
	if (net_change_machine(net, machine, FLOWNET_MACHINE_ADDED) != 0)
		return -ENOMEM;
	return all_arcs_changed(net, FLOWNET_MACHINE_ADDED);
}

int flownet_machine_removed(struct flownet *net, uint32_t machine)
{
	int code = 0;

	if (machine >= net->cluster->machine_count || !net->machines[machine].present)
		return -EINVAL;
	for (uint32_t j = 0; net->machines[machine].running > 0 && j < net->job_limit && code == 0; j++) {
		const struct net_job *job = net_job_at(net, j);

		for (uint32_t t = 0; job && t < job->task_limit && code == 0; t++) {
			if (job->tasks[t].machine != (int32_t)machine)
				continue;
			code = net_task_move(net, j, t, FLOWNET_NONE,
					     t == job->root ? FLOWNET_ROOT_LOST : FLOWNET_MACHINE_REMOVED);
		}
	}
	set_load(net, machine, 0, net->machines[machine].running);
	net->machines[machine].present = false;
	if (net->policy.present)
		net->policy.present(net->policy.context, machine, false);
	if (code == 0)
		code = net_change_machine(net, machine, FLOWNET_MACHINE_REMOVED);
	return code == 0 ? all_arcs_changed(net, FLOWNET_MACHINE_REMOVED) : code;
}

int flownet_slots_changed(struct flownet *net, uint32_t machine, int32_t slots)
{
	if (machine >= net->cluster->machine_count || !net->machines[machine].present || slots < 0)
		return -EINVAL;
	set_load(net, machine, slots, net->machines[machine].running);
	return net_change_machine(net, machine, FLOWNET_SLOTS_CHANGED);
}

int flownet_costs_changed(struct flownet *net, uint32_t job)
{
	const struct net_job *entry = net_job_at(net, job);

	if (!entry)
		return -EINVAL;
	if (!net_job_open(net, entry))
		return 0; /* it has no arcs yet: they are read when its root is placed */
	return net_change_job(net, job, FLOWNET_CHANGE_ARCS, FLOWNET_LATENCY_CHANGED);
}

static int roots_on_machine_changed(struct flownet *net, uint32_t machine)
{
	int code = 0;

	for (int64_t job = net->machines[machine].first_root; job != FLOWNET_NONE && code == 0;
	     job = net->jobs[job].next_root)
		code = flownet_costs_changed(net, (uint32_t)job);
	return code;
}

int flownet_latency_changed(struct flownet *net, uint32_t a, uint32_t b, enum latency_moved moved)
{
	const struct cluster *cluster = net->cluster;
	int code;

	if (a >= cluster->machine_count || b >= cluster->machine_count)
		return -EINVAL;
	if (moved == LATENCY_MOVED_NOTHING)
		return 0;
	if (net->policy.moved)
		net->policy.moved(net->policy.context, a, b, moved);
	code = roots_on_machine_changed(net, a);
	if (code == 0 && a != b)
		code = roots_on_machine_changed(net, b);
	for (uint32_t m = 0; moved != LATENCY_MOVED_PAIR && m < cluster->machine_count && code == 0; m++) {
		uint32_t rack = cluster->machines[m].rack, rack_a = cluster->machines[a].rack;
		uint32_t rack_b = cluster->machines[b].rack, pod = cluster->racks[rack].pod;

		if (rack == rack_a || rack == rack_b ||
		    (moved == LATENCY_MOVED_POD_PAIR &&
		     (pod == cluster->racks[rack_a].pod || pod == cluster->racks[rack_b].pod)))
			code = roots_on_machine_changed(net, m);
	}
	return code;
}

int flownet_time_passed(struct flownet *net, double seconds)
{
	bool waits = net->settings.omega_per_s > 0;
	bool runs = net->settings.beta_per_s > 0 && net->settings.preemption;

	if (!(seconds >= 0))
		return -EINVAL;
	net->now_s += seconds;
	for (uint32_t j = 0; (waits || runs) && j < net->job_limit; j++) {
		const struct net_job *job = net_job_at(net, j);

		if (job && ((waits && job->waiting > 0) || (runs && job->running > 0)) &&
		    net_change_job(net, j, FLOWNET_CHANGE_UNITS, FLOWNET_TIME_PASSED) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reading. */

int32_t flownet_slots(const struct flownet *net, uint32_t machine)
{
	return net->machines[machine].slots;
}

int32_t flownet_running(const struct flownet *net, uint32_t machine)
{
	return net->machines[machine].running;
}

int32_t flownet_free(const struct flownet *net, uint32_t machine)
{
	const struct net_machine *entry = &net->machines[machine];

	return entry->present && entry->slots > entry->running ? entry->slots - entry->running : 0;
}

int64_t flownet_free_in_rack(const struct flownet *net, uint32_t rack)
{
	return net->rack_free[rack];
}

const struct cluster *flownet_cluster(const struct flownet *net)
{
	return net->cluster;
}

uint32_t flownet_job_limit(const struct flownet *net)
{
	return net->job_limit;
}

uint32_t flownet_task_limit(const struct flownet *net, uint32_t job)
{
	return net_job_at(net, job) ? net->jobs[job].task_limit : 0;
}

uint32_t flownet_root_task(const struct flownet *net, uint32_t job)
{
	return net->jobs[job].root;
}

int32_t flownet_root_machine(const struct flownet *net, uint32_t job)
{
	const struct net_job *entry = net_job_at(net, job);

	return entry ? net_root_machine(entry) : FLOWNET_NONE;
}

int32_t flownet_task_machine(const struct flownet *net, uint32_t job, uint32_t task)
{
	const struct net_task *entry = task_at(net, job, task);

	return entry ? entry->machine : FLOWNET_NONE;
}

bool flownet_task_present(const struct flownet *net, uint32_t job, uint32_t task)
{
	return task_at(net, job, task) != NULL;
}

uint32_t flownet_waiting_tasks(const struct flownet *net, uint32_t job)
{
	return net_job_at(net, job) ? net->jobs[job].waiting : 0;
}

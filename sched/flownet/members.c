/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flownet_priv.h"

enum { KNOWN_COSTS = 4, FEW_MEMBERS = 32 };

static int compare_members(const void *left, const void *right)
{
	const struct net_member *a = left, *b = right;

	if (a->root != b->root)
		return a->root ? -1 : 1;
	if (a->unscheduled_cost != b->unscheduled_cost)
		return a->unscheduled_cost < b->unscheduled_cost ? -1 : 1;
	if (a->running_cost != b->running_cost) /* ascending, so that of several tasks on one machine, those that have
						   run longest keep its units */
		return a->running_cost < b->running_cost ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* Insertion sort for few members: jobs are small, and their tasks nearly in order. */
static void sort_members(struct net_member *members, size_t count)
{
	if (count > FEW_MEMBERS)
		qsort(members, count, sizeof *members, compare_members);
	for (size_t i = 1; i < count && count <= FEW_MEMBERS; i++) {
		struct net_member member = members[i];
		size_t place = i;

		for (; place > 0 && compare_members(&members[place - 1], &member) > 0; place--)
			members[place] = members[place - 1];
		members[place] = member;
	}
}

/*
 * Sorts net->members by running cost, by a stable counting sort. The members must be in the order of tasks and equal in
 * `root` and `unscheduled_cost`. 0 or -ENOMEM.
 */
static int sort_by_running_cost(struct flownet *net, size_t count)
{
	uint32_t first[COST_MAXIMUM + 3] = {0}; /* by cost: FLOWNET_NONE, 0, 1, ... */
	struct net_member *members = net->members;

	if (net_reserve((void **)&net->sorted, &net->sorted_room, count, sizeof *net->sorted) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		first[members[i].running_cost + 2]++;
	for (int32_t cost = 1; cost < COST_MAXIMUM + 3; cost++)
		first[cost] += first[cost - 1];
	for (size_t i = 0; i < count; i++)
		net->sorted[first[members[i].running_cost + 1]++] = members[i];
	memcpy(members, net->sorted, count * sizeof *members);
	return 0;
}

/* A small cache of machines' costs, because tasks of a job often share machines. */
struct known_costs {
	int32_t machine[KNOWN_COSTS], cost[KNOWN_COSTS];
};

static const struct known_costs nothing_known = {
	.machine = {FLOWNET_NONE, FLOWNET_NONE, FLOWNET_NONE, FLOWNET_NONE},
};

static int32_t running_cost(struct flownet *net, uint32_t job, uint32_t task, struct known_costs *known,
			    bool *discounted)
{
	const struct net_job *entry = &net->jobs[job];
	const struct net_task *runs = &entry->tasks[task];
	int32_t place = runs->machine % KNOWN_COSTS, cost;

	if (runs->cost_epoch != entry->cost_epoch && known->machine[place] == runs->machine)
		net_running_cost_known(net, job, task, known->cost[place]);
	if (runs->cost_epoch == entry->cost_epoch && net->settings.beta_per_s <= 0 && entry->gain <= 0 &&
	    !net->others_held && runs->cost <= COST_MAXIMUM)
		return runs->cost;
	cost = net_running_cost(net, job, task, discounted);
	if (runs->cost_epoch == entry->cost_epoch) {
		known->machine[place] = runs->machine;
		known->cost[place] = runs->cost;
	}
	return cost;
}

static void fill_member(struct flownet *net, uint32_t job, uint32_t task, struct known_costs *known,
			struct net_member *member)
{
	const struct net_job *entry = &net->jobs[job];
	const struct net_task *runs = &entry->tasks[task];

	*member = (struct net_member){
		.unscheduled_cost = net_unscheduled_cost(net, entry, task),
		.running_cost = FLOWNET_NONE,
		.task = task,
		.machine = runs->machine,
		.root = net->policy.root_first && task == entry->root,
	};
	if (net_task_runs(runs) && runs->origin != ORIGIN_LEAVES)
		member->running_cost = running_cost(net, job, task, known, &member->discounted);
}

void net_member_set(struct flownet *net, uint32_t job, uint32_t task, struct net_member *member)
{
	struct known_costs known = nothing_known;

	fill_member(net, job, task, &known, member);
}

int64_t net_members(struct flownet *net, uint32_t job)
{
	struct net_job *entry = &net->jobs[job];
	struct known_costs known = nothing_known;
	bool root_first = net->policy.root_first, mixed = false;
	bool waiters = net_job_open(net, entry); /* the waiting tasks are members; a waiting root always is */
	bool running = (entry->preemptible && net_job_active(net, entry)) ||
		       net->odd_tasks > 0; /* running tasks may be members, too */
	uint32_t left = entry->waiting;
	struct net_member *members;
	size_t count = 0;
	int code = 0;

	if (net_reserve((void **)&net->members, &net->member_room, entry->task_limit, sizeof *net->members) != 0)
		return -ENOMEM;
	members = net->members;
	for (uint32_t t = 0; t < entry->task_limit && (running || left > 0); t++) {
		const struct net_task *task = &entry->tasks[t];
		bool root = root_first && t == entry->root;

		left -= task->machine == TASK_WAITING;
		if (task->machine == TASK_ABSENT || task->rests ||
		    (net_task_runs(task) ? net_is_pinned(net, entry, t) : !root && !waiters))
			continue;
		fill_member(net, job, t, &known, &members[count]);
		mixed |= root != members[0].root || members[count].unscheduled_cost != members[0].unscheduled_cost;
		count++;
	}
	if (!mixed && count > FEW_MEMBERS && (net->settings.beta_per_s > 0 || entry->gain > 0))
		code = sort_by_running_cost(net, count);
	else if (mixed || net->settings.beta_per_s > 0 || entry->gain > 0)
		sort_members(members, count);
	return code == 0 ? (int64_t)count : code;
}

size_t net_class_end(const struct flownet *net, size_t first, size_t count)
{
	const struct net_member *members = net->members;
	size_t end = first + 1;

	while (end < count && members[end].root == members[first].root &&
	       members[end].unscheduled_cost == members[first].unscheduled_cost)
		end++;
	return end;
}

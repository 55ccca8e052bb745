/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the waiting tasks of a job that a U_J of limited capacity holds: those with the lowest cost of waiting; among
 * equal costs, the first ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

static int compare_waiters(const void *left, const void *right)
{
	const struct net_waiter *a = left, *b = right;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void net_waiters_sort(struct net_waiter *waiters, size_t count)
{
	qsort(waiters, count, sizeof *waiters, compare_waiters);
}

int32_t net_unscheduled_width(const struct flownet *net, const struct net_job *job)
{
	int32_t limit = net->settings.unscheduled_capacity, tasks = (int32_t)(job->waiting + job->running);

	return limit > 0 && limit < tasks ? limit : tasks;
}

int flownet_list_unrouted(const struct flownet *net, uint32_t job, bool *unrouted)
{
	const struct net_job *entry = &net->jobs[job];
	size_t width = (size_t)net_unscheduled_width(net, entry), count = 0;
	struct net_waiter *waiters = calloc((size_t)entry->waiting + 1, sizeof *waiters);

	if (!waiters)
		return -ENOMEM;
	for (uint32_t t = 0; t < entry->task_limit; t++) {
		unrouted[t] = false;
		if (entry->tasks[t].machine == TASK_WAITING && net_takes_part(net, entry, t))
			waiters[count++] = (struct net_waiter){
				.job = job, .cost = net_unscheduled_cost(net, entry, t), .number = (int32_t)t};
	}
	net_waiters_sort(waiters, count);
	for (size_t i = width; i < count; i++)
		unrouted[waiters[i].number] = true;
	free(waiters);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The solver's groups, and the classes of a job: each class has one group. */
#include <errno.h>

#include "flownet_priv.h"

#define RUNNING_UNKNOWN UINT64_MAX

int net_group_take(struct flownet *net, uint32_t owner, int32_t *group)
{
	if (net->spare_count > 0) {
		*group = net->spare_groups[--net->spare_count];
	} else {
		if (net_reserve((void **)&net->job_of_group, &net->group_room, (size_t)net->group_count + 1,
				sizeof *net->job_of_group) != 0)
			return -ENOMEM;
		*group = net->group_count++;
	}
	net->job_of_group[*group] = owner;
	return 0;
}

int net_group_give_back(struct flownet *net, int32_t group)
{
	int code = structured_remove_group(net->solver, group);

	if (net_reserve((void **)&net->spare_groups, &net->spare_room, (size_t)net->spare_count + 1,
			sizeof *net->spare_groups) != 0)
		return -ENOMEM;
	net->spare_groups[net->spare_count++] = group;
	return code;
}

struct net_class *net_class_find(struct net_job *job, bool root, int32_t unscheduled_cost)
{
	for (uint32_t c = 0; c < job->class_count; c++) {
		struct net_class *known = net_class_at(job, c);

		if (known->root == root && known->unscheduled_cost == unscheduled_cost)
			return known;
	}
	return NULL;
}

void net_class_unit_gone(struct flownet *net, uint32_t job, uint32_t task, int32_t column)
{
	struct net_job *entry = &net->jobs[job];
	bool root = net->policy.root_first && task == entry->root;
	struct net_class *known = net_class_find(entry, root, net_unscheduled_cost(net, entry, task));

	/*
	 * structured_end_unit() fails if the solver has the unit elsewhere. The next round then passes a smaller
	 * supply, which removes the unit.
	 */
	if (!net->solver || !known || entry->tasks[task].rests)
		return;
	(void)structured_end_unit(net->solver, known->group, column);
	if (known->running_digest != 0) /* a running arc to that machine has lost a unit */
		known->running_digest = RUNNING_UNKNOWN;
}

void net_classes_forget(struct flownet *net, uint32_t job)
{
	struct net_job *entry = &net->jobs[job];

	for (uint32_t c = 0; c < entry->class_count; c++)
		(void)net_group_give_back(net, net_class_at(entry, c)->group);
	entry->class_count = 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task costs: while it waits, and where it runs. */
#include <math.h>

#include "flownet_priv.h"

_Static_assert((int)FLOWNET_TIME_COST_MAXIMUM <= (int)STRUCTURED_COST_MAXIMUM / 2, "gamma has to go beside it");

static int32_t cost_of_time(double per_s, double seconds)
{
	double cost = per_s * (seconds > 0 ? seconds : 0);

	return (int32_t)lround(cost < FLOWNET_TIME_COST_MAXIMUM ? cost : FLOWNET_TIME_COST_MAXIMUM);
}

int32_t net_unscheduled_cost(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (net->settings.omega_per_s <= 0 || net_task_runs(&job->tasks[task]))
		return net->settings.gamma;
	return net->settings.gamma + cost_of_time(net->settings.omega_per_s, net->now_s - job->since_s[task]);
}

uint64_t flownet_capped_tasks(const struct flownet *net, double *longest_s)
{
	uint64_t tasks = 0;

	*longest_s = 0;
	for (uint32_t j = 0; net->settings.omega_per_s > 0 && j < net->job_limit; j++) {
		const struct net_job *job = net_job_at(net, j);

		for (uint32_t t = 0; job && job->waiting > 0 && t < job->task_limit; t++) {
			double waited_s = job->tasks[t].machine == TASK_WAITING ? net->now_s - job->since_s[t] : 0;

			tasks += net->settings.omega_per_s * waited_s > FLOWNET_TIME_COST_MAXIMUM;
			*longest_s = fmax(*longest_s, waited_s);
		}
	}
	return tasks;
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

/* Held back, a task waits for a root's sake alone: to stay costs less than to wait. */
static int32_t staying_cost(const struct flownet *net, int32_t cost)
{
	if (!net->others_held || cost < net->settings.gamma)
		return cost;
	return net->settings.gamma > 0 ? net->settings.gamma - 1 : 0;
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
	return staying_cost(net, runs->cost > discount ? runs->cost - discount : 0);
}

int64_t flownet_pinned_cost(const struct flownet *net)
{
	int64_t cost = 0;

	for (uint32_t j = 0; j < net->job_limit; j++) {
		const struct net_job *job = net_job_at(net, j);
		bool discounted;

		for (uint32_t t = 0; job && job->running > 0 && t < job->task_limit; t++) {
			if (net_is_pinned(net, job, t))
				cost += net_running_cost(net, j, t, &discounted);
		}
	}
	return cost;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of a task: while it waits, and where it runs. */
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
	for (size_t i = 0; net->settings.omega_per_s > 0 && i < net->live.count; i++) {
		const struct net_job *job = &net->jobs[net->live.jobs[i]];

		for (uint32_t t = 0; job->waiting > 0 && t < job->task_limit; t++) {
			double waited_s = job->tasks[t].machine == TASK_WAITING ? net->now_s - job->since_s[t] : 0;

			tasks += net->settings.omega_per_s * waited_s > FLOWNET_TIME_COST_MAXIMUM;
			*longest_s = fmax(*longest_s, waited_s);
		}
	}
	return tasks;
}

/* Reads the cost from a row at hand, if the row leads to the machine: saves looking up the round trip. */
static int32_t cost_at_machine(const struct flownet *net, uint32_t job, uint32_t machine)
{
	int32_t cost = COST_ABSENT;

	if (net->row)
		cost = cost_row_machine(net->row, net->machines[machine].rack, machine);
	if (cost == COST_ABSENT)
		cost = net->policy.at(net->policy.context, job, net_root_machine(&net->jobs[job]), machine);
	return cost;
}

/* Held back, a task may wait for a root's sake alone: staying costs less than waiting. */
static int32_t staying_cost(const struct flownet *net, int32_t cost)
{
	if (!net->others_held || cost < net->settings.gamma)
		return cost;
	return net->settings.gamma > 0 ? net->settings.gamma - 1 : 0;
}

void net_costs_forget(struct net_job *job)
{
	if (++job->cost_epoch == 0)
		job->cost_epoch = 1;
}

static int32_t discount_of(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (net->settings.beta_per_s <= 0 || !job->preemptible)
		return 0;
	return cost_of_time(net->settings.beta_per_s, net->now_s - job->since_s[task]);
}

/* The highest cost at which performance is better by the job's gain: p = 100 / cost. */
static int32_t cost_to_beat(const struct net_job *job, int32_t cost)
{
	if (job->gain <= 0 || !job->preemptible || cost <= 0)
		return cost;
	return (int32_t)floor(100 / (100.0 / cost + (double)job->gain));
}

int32_t net_running_cost(const struct flownet *net, uint32_t job, uint32_t task, bool *discounted)
{
	const struct net_job *entry = &net->jobs[job];
	struct net_task *runs = &entry->tasks[task];
	int32_t cost, discount;

	*discounted = false;
	if (net->policy.root_first && (task == entry->root || !net_job_open(net, entry)))
		return 0;
	if (runs->cost_epoch != entry->cost_epoch) {
		runs->cost = cost_at_machine(net, job, (uint32_t)runs->machine);
		runs->cost_epoch = entry->cost_epoch;
	}
	/* Unreachable: dear, but no reason to wait instead. */
	cost = cost_to_beat(entry, runs->cost > COST_MAXIMUM ? COST_MAXIMUM : runs->cost);
	discount = discount_of(net, entry, task);
	cost = cost > discount ? cost - discount : 0;
	*discounted = cost != runs->cost;
	return staying_cost(net, cost);
}

static bool task_is_ageing(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *state = &job->tasks[task];

	if (state->machine == TASK_WAITING)
		return net->settings.omega_per_s > 0 &&
		       net->settings.omega_per_s * (net->now_s - job->since_s[task]) < FLOWNET_TIME_COST_MAXIMUM;
	if (!net_task_runs(state) || net->settings.beta_per_s <= 0 || net_is_pinned(net, job, task))
		return false;
	return state->cost_epoch != job->cost_epoch || discount_of(net, job, task) < state->cost;
}

bool net_job_is_ageing(const struct flownet *net, uint32_t job)
{
	const struct net_job *entry = &net->jobs[job];

	for (uint32_t t = 0; t < entry->task_limit; t++) {
		if (task_is_ageing(net, entry, t))
			return true;
	}
	return false;
}

int64_t flownet_pinned_cost(const struct flownet *net)
{
	int64_t cost = 0;

	for (size_t i = 0; i < net->live.count; i++) {
		uint32_t number = net->live.jobs[i];
		const struct net_job *job = &net->jobs[number];
		bool discounted;

		for (uint32_t t = 0; job->running > 0 && t < job->task_limit; t++) {
			if (net_is_pinned(net, job, t) ||
			    (net->others_held && net_task_runs(&job->tasks[t]) && net_takes_part(net, job, t)))
				cost += net_running_cost(net, number, t, &discounted);
		}
	}
	return cost;
}

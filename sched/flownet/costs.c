/* SPDX-License-Identifier: BSD-3-Clause */
/* The costs of waiting and running tasks. */
#include <math.h>

#include "flownet_priv.h"

_Static_assert((int)FLOWNET_TIME_COST_MAXIMUM <= (int)STRUCTURED_COST_MAXIMUM / 2, "gamma is added to it");

static int32_t cost_of_time(double per_s, double seconds)
{
	double cost = per_s * (seconds > 0 ? seconds : 0);

	/* Rounds to the nearest integer. lround() would be a call for every running task that a round looks at. */
	return (int32_t)((cost < FLOWNET_TIME_COST_MAXIMUM ? cost : FLOWNET_TIME_COST_MAXIMUM) + 0.5);
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

/* Takes the cost from the current row if that has an arc to the machine; this saves a look-up of the round trip. */
static int32_t cost_at_machine(const struct flownet *net, uint32_t job, uint32_t machine)
{
	int32_t cost = COST_ABSENT;

	if (net->row)
		cost = cost_row_machine(net->row, net->machines[machine].rack, machine);
	if (cost == COST_ABSENT)
		cost = net->policy.at(net->policy.context, job, net_root_machine(&net->jobs[job]), machine);
	return cost;
}

/*
 * While all tasks but roots are held back (flownet_hold_others()), staying costs less than waiting, so that only a root
 * can displace a running task.
 */
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

int32_t net_discount(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	if (net->settings.beta_per_s <= 0 || !job->preemptible)
		return 0;
	return cost_of_time(net->settings.beta_per_s, net->now_s - job->since_s[task]);
}

/*
 * Returns the highest cost at which performance, 100 / cost, exceeds that at `cost` by at least the job's gain. Returns
 * `cost` itself if the job's tasks need no gain.
 */
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
	discount = net_discount(net, entry, task);
	*discounted = discount >= COST_MAXIMUM;
	if (*discounted)
		return staying_cost(net, 0);
	if (runs->cost_epoch != entry->cost_epoch) {
		runs->cost = cost_at_machine(net, job, (uint32_t)runs->machine);
		runs->cost_epoch = entry->cost_epoch;
	}
	/*
	 * A machine that is unreachable from the root's counts as COST_MAXIMUM: expensive, but cheaper than waiting at
	 * the default gamma.
	 */
	cost = cost_to_beat(entry, runs->cost > COST_MAXIMUM ? COST_MAXIMUM : runs->cost);
	cost = cost > discount ? cost - discount : 0;
	*discounted = cost != runs->cost;
	return staying_cost(net, cost);
}

/* The time at which the rounded cost_of_time() next increases; slightly early, because of rounding errors. */
static double next_step_s(double per_s, double since_s, int32_t cost)
{
	static const double margin_s = 1e-6;

	return since_s + (cost + 0.5) / per_s - margin_s;
}

static double task_due_s(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *state = &job->tasks[task];
	double omega_per_s = net->settings.omega_per_s;
	int32_t cost;

	if (state->machine == TASK_WAITING && omega_per_s > 0) {
		cost = cost_of_time(omega_per_s, net->now_s - job->since_s[task]);
		return cost < FLOWNET_TIME_COST_MAXIMUM ? next_step_s(omega_per_s, job->since_s[task], cost) : INFINITY;
	}
	if (!net_task_runs(state) || net->settings.beta_per_s <= 0 || state->rests || net_is_pinned(net, job, task))
		return INFINITY;
	cost = net_discount(net, job, task);
	if (cost >= COST_MAXIMUM || (state->cost_epoch == job->cost_epoch && cost >= state->cost))
		return INFINITY;
	return next_step_s(net->settings.beta_per_s, job->since_s[task], cost);
}

double net_job_due_s(const struct flownet *net, uint32_t job)
{
	const struct net_job *entry = &net->jobs[job];
	double due_s = INFINITY;

	if (!net_job_active(net, entry))
		return INFINITY;
	for (uint32_t t = 0; t < entry->task_limit; t++)
		due_s = fmin(due_s, task_due_s(net, entry, t));
	return due_s;
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
				cost += (int64_t)net_running_cost(net, number, t, &discounted) *
					net->ages[number].weight;
		}
	}
	return cost;
}

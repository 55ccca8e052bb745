/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the state, for policies, programs and the other files. */
#include "flownet_priv.h"

int32_t net_root_machine(const struct net_job *job)
{
	return job->root_machine;
}

bool net_job_open(const struct flownet *net, const struct net_job *job)
{
	return !net->policy.root_first || net_root_machine(job) != FLOWNET_NONE;
}

bool net_job_active(const struct flownet *net, const struct net_job *job)
{
	uint32_t out = net->ages[job - net->jobs].resting +
		       (net->policy.root_first && !job->root_ended && job->root_machine != FLOWNET_NONE);

	return job->waiting > 0 || job->running > out;
}

bool net_job_has_members(const struct flownet *net, const struct net_job *job)
{
	return job->waiting > 0 || job->class_count > 0 || (job->preemptible && net_job_active(net, job));
}

bool net_job_uniform(const struct flownet *net, const struct net_job *job)
{
	bool timed = net->settings.omega_per_s > 0 || net->settings.beta_per_s > 0;

	return !timed && job->preemptible && !net->others_held && net_job_open(net, job) && job->class_count == 1 &&
	       !job->first.root && net->shut_machines == 0 && net->odd_tasks == 0;
}

bool net_takes_part(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *entry = &job->tasks[task];

	if (net->policy.root_first && task == job->root)
		return !net->others_held || entry->origin != ORIGIN_LEAVES;
	if (net_task_runs(entry) && entry->origin != ORIGIN_LEAVES)
		return true;
	return net_job_open(net, job) && !net->others_held;
}

bool net_is_held(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *entry = &job->tasks[task];

	if (!net_task_runs(entry))
		return false;
	if (!job->preemptible || entry->origin != ORIGIN_SETTLED)
		return true;
	return net->policy.root_first && (task == job->root || !net_job_open(net, job));
}

bool net_is_pinned(const struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *entry = &job->tasks[task];

	if (!net_task_runs(entry))
		return false;
	if (entry->origin == ORIGIN_LEAVES) /* while the job's root waits, the costs of other machines are unknown, so
					       the task cannot be moved */
		return task != job->root && !net_job_open(net, job);
	return net_is_held(net, job, task) ||
	       (net->shut_machines > 0 && net_machine_is_shut(&net->machines[entry->machine]));
}

int32_t net_machine_capacity(const struct net_machine *machine)
{
	if (!machine->present || net_machine_is_shut(machine) || machine->slots <= machine->pinned)
		return 0;
	return machine->slots - machine->pinned;
}

int32_t flownet_slots(const struct flownet *net, uint32_t machine)
{
	return net->machines[machine].slots;
}

int32_t flownet_most_slots(const struct flownet *net)
{
	return net->most_slots;
}

int32_t flownet_running(const struct flownet *net, uint32_t machine)
{
	return net->machines[machine].running;
}

int32_t flownet_free(const struct flownet *net, uint32_t machine)
{
	const struct net_machine *entry = &net->machines[machine];

	return entry->present && !net_machine_is_shut(entry) ? entry->slots - entry->running : 0;
}

int64_t flownet_free_in_rack(const struct flownet *net, uint32_t rack)
{
	return net->rack_free[rack];
}

const struct cluster *flownet_cluster(const struct flownet *net)
{
	return net->cluster;
}

const uint32_t *flownet_jobs(const struct flownet *net, size_t *count)
{
	*count = net->live.count;
	return net->live.jobs;
}

const uint32_t *flownet_waiting_jobs(const struct flownet *net, size_t *count)
{
	*count = net->waits.count;
	return net->waits.jobs;
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
	const struct net_task *entry = net_task_at(net, job, task);

	return entry ? entry->machine : FLOWNET_NONE;
}

bool flownet_task_in_transit(const struct flownet *net, uint32_t job, uint32_t task, int32_t *origin)
{
	const struct net_task *entry = net_task_at(net, job, task);

	*origin = entry && net_task_in_transit(entry) ? entry->origin : FLOWNET_NONE;
	return entry && net_task_in_transit(entry);
}

bool flownet_task_present(const struct flownet *net, uint32_t job, uint32_t task)
{
	return net_task_at(net, job, task) != NULL;
}

uint32_t flownet_waiting_tasks(const struct flownet *net, uint32_t job)
{
	return net_job_at(net, job) ? net->jobs[job].waiting : 0;
}

uint32_t flownet_unplaced_tasks(const struct flownet *net, uint32_t job)
{
	const struct net_job *entry = net_job_at(net, job);
	uint32_t open = entry ? net->ages[job].open : 0;

	if (!entry)
		return 0;
	return open > entry->running + entry->waiting ? open - entry->running : entry->waiting;
}

uint64_t flownet_resting(const struct flownet *net)
{
	uint64_t tasks = 0;

	for (uint32_t m = 0; m < net->machine_count; m++)
		tasks += (uint64_t)net->machines[m].resting;
	return tasks;
}

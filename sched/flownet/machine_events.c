/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of machines, of the latency between them, and of time. */
#include <errno.h>

#include "flownet_priv.h"

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
	net_machine_load(net, machine, slots, net->machines[machine].running);
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
	net_machine_load(net, machine, 0, net->machines[machine].running);
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
	net_machine_load(net, machine, slots, net->machines[machine].running);
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

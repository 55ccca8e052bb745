/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending changes: one entry per changed subject, however many events it had. Firmament merges the changes of arcs in a
 * round in the same way; here a subject is a machine's capacity, a job's row of costs, or a job's units.
 */
#include <errno.h>

#include "flownet_priv.h"

/*
 * Adds the change to net->pending, or merges it into the subject's entry there. *place: 1 + the index of that entry; 0:
 * none.
 */
static int record(struct flownet *net, uint32_t *place, const struct flownet_change *change)
{
	net->pending_events++;
	if (*place != 0) {
		struct flownet_change *known = &net->pending[*place - 1];

		known->events++;
		known->after = change->after;
		return 0;
	}
	if (net_reserve((void **)&net->pending, &net->pending_room, net->pending_count + 1, sizeof *net->pending) != 0)
		return -ENOMEM;
	net->pending[net->pending_count++] = *change;
	*place = (uint32_t)net->pending_count;
	return 0;
}

int net_change_machine(struct flownet *net, uint32_t machine, enum flownet_reason reason)
{
	struct net_machine *entry = &net->machines[machine];
	struct flownet_change change = {
		.kind = FLOWNET_CHANGE_CAPACITY,
		.reason = reason,
		.subject = machine,
		.events = 1,
		.before = entry->told,
		.after = entry->present ? net_machine_capacity(entry) : FLOWNET_NONE,
	};

	/* The solver has this capacity already: there is nothing to pass to it. */
	if (entry->pending == 0 && change.before == change.after) {
		net->pending_events++;
		return 0;
	}
	return record(net, &entry->pending, &change);
}

/*
 * If costs change with time (omega, beta), adds the job to net->ageing. Sets due_s to 0, so that the next
 * flownet_time_passed() updates the job's costs in any case.
 */
static int add_to_ageing(struct flownet *net, uint32_t job)
{
	bool timed = net->settings.omega_per_s > 0 || net->settings.beta_per_s > 0;

	net->ages[job].due_s = 0;
	if (!timed || net->jobs[job].ageing)
		return 0;
	net->jobs[job].ageing = true;
	return net_walk_add(&net->ageing, job);
}

int net_change_job(struct flownet *net, uint32_t job, enum flownet_change_kind kind, enum flownet_reason reason)
{
	struct net_job *entry = &net->jobs[job];
	struct flownet_change change = {.kind = kind, .reason = reason, .subject = job, .events = 1};

	if (kind == FLOWNET_CHANGE_UNITS && net->settled) {
		net->pending_events++;
		return 0;
	}
	if (kind == FLOWNET_CHANGE_ARCS || !net->following)
		entry->look = true;
	if (kind == FLOWNET_CHANGE_ARCS)
		net_costs_forget(entry);
	if (reason != FLOWNET_TIME_PASSED && add_to_ageing(net, job) != 0)
		return -ENOMEM;
	return record(net, kind == FLOWNET_CHANGE_ARCS ? &entry->pending_arcs : &entry->pending_units, &change);
}

void net_changes_clear(struct flownet *net)
{
	for (size_t i = 0; i < net->pending_count; i++) {
		const struct flownet_change *change = &net->pending[i];

		if (change->kind == FLOWNET_CHANGE_CAPACITY)
			net->machines[change->subject].pending = 0;
		else if (change->kind == FLOWNET_CHANGE_ARCS)
			net->jobs[change->subject].pending_arcs = 0;
		else
			net->jobs[change->subject].pending_units = 0;
	}
	net->pending_count = 0;
	net->pending_events = 0;
}

const struct flownet_change *flownet_pending(const struct flownet *net, size_t *count)
{
	*count = net->pending_count;
	return net->pending;
}

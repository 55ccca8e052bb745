/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Solves with the structured solver, verifies the answer on request, and reads it for the jobs for which it has
 * changed.
 */
#include <errno.h>
#include <stdlib.h>

#include <sched/mcf/verify.h>

#include "flownet_priv.h"

/* Copies a job's group's shares, with costs without the weight, to net->shares. Returns their number or -ENOMEM. */
static int32_t read_shares(struct flownet *net, uint32_t job, int32_t group)
{
	int32_t count = structured_read(net->solver, group, net->shares, (int32_t)net->share_room);
	int32_t weight = net->ages[job].weight;

	if (count > (int32_t)net->share_room) {
		if (net_reserve((void **)&net->shares, &net->share_room, (size_t)count, sizeof *net->shares) != 0)
			return -ENOMEM;
		count = structured_read(net->solver, group, net->shares, count);
	}
	for (int32_t i = 0; weight > 1 && i < count; i++)
		net->shares[i].cost /= weight;
	return count;
}

/* Plans the moves of all classes of one job. */
static int extract_classes(struct flownet *net, uint32_t job)
{
	struct net_job *entry = &net->jobs[job];
	int64_t count = net_members(net, job);

	for (size_t first = 0; count > 0 && first < (size_t)count;) {
		const struct net_member *member = &net->members[first];
		const struct net_class *known = net_class_find(entry, member->root, member->unscheduled_cost);
		size_t end = net_class_end(net, first, (size_t)count);
		int32_t shares = read_shares(net, job, known->group);

		if (shares < 0 || net_extract_class(net, job, first, end - first, shares, known->machine_limit) != 0)
			return -ENOMEM;
		first = end;
	}
	return count < 0 ? -ENOMEM : 0;
}

static int extract_job(struct flownet *net, uint32_t job)
{
	const struct net_job *entry = net_job_at(net, job);
	int32_t shares;

	if (!entry || !net_job_uniform(net, entry))
		return entry ? extract_classes(net, job) : 0;
	shares = read_shares(net, job, entry->first.group);
	return shares < 0 ? -ENOMEM : net_extract_uniform(net, job, shares, entry->first.machine_limit);
}

/*
 * Reads the answer of the groups that the solver reports as changed. Also reads the answer of the jobs with events,
 * because one of their units may now belong to another task. A job whose tasks only moved as the last answer proposed
 * need not be read.
 */
static int extract_touched(struct flownet *net)
{
	const int32_t *groups;
	int32_t count = structured_changed(net->solver, &groups);
	int code = 0;

	net->plan_count = net->open_plans = 0;
	for (int32_t i = 0; i < count && code == 0; i++)
		code = net_touch(net, net->job_of_group[groups[i]]);
	if (code == 0)
		code = net_walk_sort(net, &net->touched);
	for (size_t i = 0; i < net->touched.count; i++) {
		uint32_t job = net->touched.jobs[i];

		net_walk_fetch(net, &net->touched, i, NET_WALK_EXTRACT);
		net->jobs[job].touched = false;
		if (code == 0)
			code = extract_job(net, job);
	}
	net->touched.count = 0;
	structured_changed_clear(net->solver);
	return code;
}

static int verify(const struct flownet *net, struct error *err)
{
	struct structured_export export = {0};
	struct mcf_verdict verdict;
	int code = structured_export(net->solver, &export);

	if (code != 0)
		code = error_set(err, -code, "out of memory");
	else if (!mcf_verify(&export.problem, &export.solution, &verdict))
		code = error_set(err, EIO, "the solver's answer fails verification: %s", verdict.text);
	structured_export_free(&export);
	return code;
}

/*
 * If the job's running tasks may move, appends an item to *homes for each: the task's group and its present machine.
 * Returns 0 or -ENOMEM.
 */
static int list_homes(struct flownet *net, uint32_t job, struct structured_placement **homes, size_t *count,
		      size_t *room)
{
	const struct net_job *entry = net_job_at(net, job);
	int64_t members = entry && entry->preemptible && net_job_open(net, entry) ? net_members(net, job) : 0;

	if (members < 0 || net_reserve((void **)homes, room, *count + (size_t)members, sizeof **homes) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)members; i++) {
		const struct net_member *member = &net->members[i];
		const struct net_class *known;

		if (member->running_cost == FLOWNET_NONE)
			continue;
		known = net_class_find(&net->jobs[job], member->root, member->unscheduled_cost);
		(*homes)[(*count)++] = (struct structured_placement){known->group, member->machine, 1};
	}
	return 0;
}

/*
 * Solves. If the answer moves tasks at rest (see resting.c) off their machines, wakes them and solves again, until no
 * task at rest leaves. From the second time on, also wakes the tasks at rest that would leave if prices rose further
 * (wake_next()). Otherwise a round that takes the last slots would wake the tasks of only one machine per solve: at
 * 1,250 machines, it would take 594 solves instead of 20. *sum: the last result, with the work of all solves.
 */
static int solve(struct flownet *net, struct structured_result *sum)
{
	for (bool again = false;; again = true) {
		struct structured_result result = {0};
		int code;

		structured_solve(net->solver, &result);
		result.scans += sum->scans;
		result.started_over |= sum->started_over;
		*sum = result;
		if (result.status != MCF_OPTIMAL && result.status != MCF_INFEASIBLE)
			return 0;
		code = net_wake_left(net, again);
		if (code <= 0)
			return code;
		code = net_groups_apply_woken(net);
		if (code != 0)
			return code;
	}
}

/* Undoes moves between machines of equal cost: among equally good answers, one with few moves is preferred. */
static int bring_home(struct flownet *net, struct structured_result *result)
{
	struct structured_placement *homes = NULL;
	size_t count = 0, room = 0;
	int code = 0;

	for (size_t i = 0; i < net->live.count && code == 0; i++)
		code = list_homes(net, net->live.jobs[i], &homes, &count, &room);
	if (code == 0)
		code = structured_restore_placement(net->solver, homes, (int32_t)count);
	free(homes);
	return code == 0 ? solve(net, result) : code;
}

int net_groups_solve(struct flownet *net, struct flownet_round *round, struct error *err)
{
	struct structured_result result = {0};
	int code = solve(net, &result);
	enum mcf_status status;

	/* A repair makes no unnecessary moves; a solve from scratch may. */
	if (code == 0 && net->preemptible_jobs > 0 && result.status == MCF_OPTIMAL &&
	    (net->rounds == 1 || result.started_over))
		code = bring_home(net, &result);
	if (code != 0)
		return error_set(err, -code, "out of memory");
	status = result.status;
	round->algorithm = "structured";
	round->cost = result.cost;
	round->unscheduled = result.unscheduled;
	round->unrouted = result.unrouted;
	round->scans = result.scans;
	if (status != MCF_OPTIMAL && status != MCF_INFEASIBLE)
		return error_set(err, status == MCF_NO_MEMORY ? ENOMEM : ERANGE, "the flow solver failed: %s",
				 mcf_status_name(status));
	if (net->settings.verify) {
		code = verify(net, err);
		round->verified = code == 0;
	}
	if (code == 0)
		code = extract_touched(net);
	return code == 0 || code == -EIO ? code : error_set(err, -code, "out of memory");
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <base/ns.h>

#include "flownet_priv.h"

struct flownet *flownet_create(const struct cluster *cluster, const struct flownet_policy *policy,
			       const struct flownet_settings *settings, struct error *err)
{
	struct flownet *net = calloc(1, sizeof *net);

	if (!net)
		goto out_of_memory;
	net->cluster = cluster;
	net->policy = *policy;
	net->settings = *settings;
	if (flownet_grow(net) != 0)
		goto out_of_memory;
	if (!settings->algorithm) {
		net->solver = structured_create(0, (int32_t)cluster->machine_count, (int32_t)cluster->rack_count);
		if (!net->solver)
			goto out_of_memory;
	}
	return net;

out_of_memory:
	flownet_destroy(net);
	error_set(err, ENOMEM, "out of memory");
	return NULL;
}

void flownet_destroy(struct flownet *net)
{
	if (!net)
		return;
	for (size_t i = 0; i < net->live.count; i++)
		net_job_free(&net->jobs[net->live.jobs[i]]);
	structured_destroy(net->solver);
	free(net->machines);
	free(net->rack_free);
	free(net->jobs);
	free(net->pending);
	free(net->live.jobs);
	free(net->spare_jobs.jobs);
	free(net->ageing.jobs);
	free(net->waits.jobs);
	free(net->flipped);
	free(net->ages);
	free(net->resting_changed);
	free(net->rests);
	free(net->changed.jobs);
	free(net->touched.jobs);
	free(net->walk_starts);
	free(net->walk_sorted);
	free(net->job_of_group);
	free(net->spare_groups);
	free(net->members);
	free(net->sorted);
	free(net->running);
	free(net->weighted);
	free(net->racks);
	free(net->share_at);
	free(net->shares);
	free(net->moves);
	free(net->plans);
	free(net);
}

static double seconds_since(struct ns begin)
{
	return ns_to_s(ns_sub(ns_now_monotonic(), begin));
}

/*
 * Makes the round read the answer for the jobs with proposals that were not carried out: in the solver, the units of
 * these tasks are still on the proposed machines.
 */
static int touch_open_plans(struct flownet *net)
{
	int code = 0;

	for (size_t i = 0; net->open_plans > 0 && i < net->plan_count && code == 0; i++) {
		if (net->plans[i].open)
			code = net_touch(net, net->plans[i].move.job);
	}
	return code;
}

/* Not called while roots are placed without the solver: the changes then wait for the next solve. */
static int apply_changes(struct flownet *net, struct flownet_round *round, struct error *err)
{
	int code = touch_open_plans(net);

	round->changes = net->pending_count;
	round->merged = net->pending_events - net->pending_count;
	if (code == 0 && net->solver)
		code = net_groups_apply(net);
	if (code != 0)
		return error_set(err, -code, code == -ERANGE ? "a cost is out of the solver's range" : "out of memory");
	net_changes_clear(net);
	return 0;
}

int flownet_propose(struct flownet *net, struct flownet_round *round, struct error *err)
{
	bool roots_alone = net->others_held;
	struct ns begin = ns_now_monotonic();
	int code = 0;

	*round = (struct flownet_round){0};
	net->rounds++;
	if (!roots_alone)
		code = apply_changes(net, round, err);
	else if (touch_open_plans(net) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	round->apply_s = seconds_since(begin);
	begin = ns_now_monotonic();
	net->plan_count = net->open_plans = 0;
	if (code == 0 && roots_alone)
		code = net_roots_solve(net, round, err);
	else if (code == 0)
		code = net->solver ? net_groups_solve(net, round, err) : net_general_solve(net, round, err);
	round->solve_s = seconds_since(begin);
	if (code != 0)
		return code;
	begin = ns_now_monotonic();
	if (net_extract_finish(net) != 0)
		return error_set(err, ENOMEM, "out of memory");
	round->extract_s = seconds_since(begin);
	round->moves = net->moves;
	round->move_count = net->plan_count;
	return 0;
}

int flownet_solve(struct flownet *net, struct flownet_round *round, struct error *err)
{
	struct ns begin;
	int code = flownet_propose(net, round, err);

	if (code != 0)
		return code;
	begin = ns_now_monotonic();
	if (flownet_apply_all(net) != 0)
		return error_set(err, ENOMEM, "out of memory");
	round->extract_s += seconds_since(begin);
	return 0;
}

int flownet_prepare(struct flownet *net)
{
	return net->solver ? structured_prepare(net->solver) : 0;
}

uint64_t flownet_rounds(const struct flownet *net)
{
	return net->rounds;
}

uint64_t flownet_memory_bytes(const struct flownet *net)
{
	return net->solver ? structured_memory_bytes(net->solver) : 0;
}

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
	if (!settings->preemption)
		net->settings.beta_per_s = 0; /* who may not move needs nothing that holds him */
	net->machines = calloc((size_t)cluster->machine_count + 1, sizeof *net->machines);
	net->rack_free = calloc((size_t)cluster->rack_count + 1, sizeof *net->rack_free);
	net->walk_starts = calloc((size_t)cluster->rack_count + 2, sizeof *net->walk_starts);
	net->share_at = calloc((size_t)cluster->machine_count + 1, sizeof *net->share_at);
	if (!net->machines || !net->rack_free || !net->walk_starts || !net->share_at)
		goto out_of_memory;
	for (uint32_t m = 0; m < cluster->machine_count; m++)
		net->share_at[m] = FLOWNET_NONE;
	for (uint32_t m = 0; m < cluster->machine_count; m++)
		net->machines[m] = (struct net_machine){
			.told = FLOWNET_NONE, .first_root = FLOWNET_NONE, .rack = cluster->machines[m].rack};
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
	for (uint32_t j = 0; j < net->job_limit; j++)
		net_job_free(&net->jobs[j]);
	structured_destroy(net->solver);
	free(net->machines);
	free(net->rack_free);
	free(net->jobs);
	free(net->pending);
	free(net->changed.jobs);
	free(net->touched.jobs);
	free(net->walk_starts);
	free(net->walk_sorted);
	free(net->job_of_group);
	free(net->spare_groups);
	free(net->members);
	free(net->running);
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

int flownet_solve(struct flownet *net, struct flownet_round *round, struct error *err)
{
	struct ns begin = ns_now_monotonic();
	int code = 0;

	*round = (struct flownet_round){.changes = net->pending_count};
	round->merged = net->pending_events - net->pending_count;
	net->plan_count = 0;
	net->rounds++;
	if (net->solver)
		code = net_groups_apply(net);
	if (code != 0)
		return error_set(err, -code, code == -ERANGE ? "a cost is out of the solver's range" : "out of memory");
	net_changes_clear(net);
	round->apply_s = seconds_since(begin);
	begin = ns_now_monotonic();
	code = net->solver ? net_groups_solve(net, round, err) : net_general_solve(net, round, err);
	round->solve_s = seconds_since(begin);
	if (code != 0)
		return code;
	begin = ns_now_monotonic();
	if (net_extract_finish(net) != 0)
		return error_set(err, ENOMEM, "out of memory");
	round->extract_s = seconds_since(begin);
	round->moves = net->moves;
	round->move_count = net->move_count;
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

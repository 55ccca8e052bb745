/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The jobs that a round visits, in order. Their data are scattered in memory, and each part points to the next; so
 * while one job is visited, the next few are prefetched in four steps. Jobs whose roots share a rack have arcs to the
 * same machines; visited in sequence, they find these in the cache.
 */
#include <errno.h>
#include <string.h>

#include "flownet_priv.h"

enum { AHEAD = 8, CACHE_LINE = 64 };

int net_walk_add(struct net_walk *walk, uint32_t job)
{
	if (net_reserve((void **)&walk->jobs, &walk->room, walk->count + 1, sizeof *walk->jobs) != 0)
		return -ENOMEM;
	walk->jobs[walk->count++] = job;
	return 0;
}

int net_touch(struct flownet *net, uint32_t job)
{
	struct net_job *entry = net_job_at(net, job);

	if (!entry || entry->touched)
		return 0;
	entry->touched = true;
	return net_walk_add(&net->touched, job);
}

/* Returns the sort key: the rack of the job's root. Jobs whose root has no machine come last. */
static uint32_t rack_of_job(const struct flownet *net, uint32_t job)
{
	int32_t root = net_root_machine(&net->jobs[job]);

	return root == FLOWNET_NONE ? net->rack_count : net->machines[root].rack;
}

/* A stable counting sort. */
int net_walk_sort(struct flownet *net, struct net_walk *walk)
{
	uint32_t racks = net->rack_count, *starts = net->walk_starts, *sorted;

	if (walk->count == 0)
		return 0;
	if (net_reserve((void **)&net->walk_sorted, &net->walk_sorted_room, walk->count, sizeof *net->walk_sorted) != 0)
		return -ENOMEM;
	sorted = net->walk_sorted;
	memset(starts, 0, ((size_t)racks + 2) * sizeof *starts);
	for (size_t i = 0; i < walk->count; i++)
		starts[rack_of_job(net, walk->jobs[i]) + 1]++;
	for (uint32_t r = 0; r < racks; r++)
		starts[r + 1] += starts[r];
	for (size_t i = 0; i < walk->count; i++)
		sorted[starts[rack_of_job(net, walk->jobs[i])]++] = walk->jobs[i];
	memcpy(walk->jobs, sorted, walk->count * sizeof *sorted);
	return 0;
}

static void fetch_lines(const void *first, size_t bytes, size_t most_lines)
{
	for (size_t line = 0; line < most_lines && line * CACHE_LINE < bytes; line++)
		__builtin_prefetch((const void *)((uintptr_t)first + line * CACHE_LINE)); /* `first` may be NULL */
}

/* Prefetches the solver's and the policy's data of the job. */
static void fetch_for_apply(const struct flownet *net, const struct net_job *job, uint32_t number, int steps_ahead)
{
	bool row = net->policy.fetch && job->pending_arcs != 0 && net_root_machine(job) != FLOWNET_NONE;
	enum cost_fetch step = COST_FETCH_PLACE;

	if (steps_ahead == AHEAD / 2) {
		structured_fetch_arcs(net->solver, job->first.group);
		step = COST_FETCH_ROW;
	} else if (steps_ahead == AHEAD / 4) {
		structured_fetch_columns(net->solver, job->first.group);
		step = COST_FETCH_ARCS;
	}
	if (row)
		net->policy.fetch(net->policy.context, number, net_root_machine(job), step);
}

static void fetch_job(const struct flownet *net, uint32_t number, enum net_walk_for purpose, int steps_ahead)
{
	const struct net_job *job = &net->jobs[number];

	if (steps_ahead == AHEAD) {
		fetch_lines(job, sizeof *job, 2);
		return;
	}
	if (steps_ahead == AHEAD * 3 / 4) {
		fetch_lines(job->tasks, job->task_limit * sizeof *job->tasks, 8);
		structured_fetch(net->solver, job->first.group);
	}
	if (purpose == NET_WALK_APPLY)
		fetch_for_apply(net, job, number, steps_ahead);
	else if (steps_ahead == AHEAD / 2)
		structured_fetch_shares(net->solver, job->first.group);
}

void net_walk_fetch(const struct flownet *net, const struct net_walk *walk, size_t at, enum net_walk_for purpose)
{
	if (!net->solver)
		return;
	for (int ahead = AHEAD; ahead > 0; ahead -= AHEAD / 4) {
		if (at + (size_t)ahead < walk->count)
			fetch_job(net, walk->jobs[at + (size_t)ahead], purpose, ahead);
	}
}

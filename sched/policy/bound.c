/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds from below what the tasks of a round cost, over all machines for the roots and all slots for the tasks. Each
 * job by itself gets the best root and the cheapest of the slots that the round could use. So the sum over the jobs is
 * exact where jobs do not need the same slots, and below the least cost where they do.
 */
#include "policy_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct bounding {
	struct placer *placer;
	struct flownet_move *moves; /* [move_count] by job, then by task */
	size_t move_count;
	int32_t *slots;     /* [machines] slots that were free before the round, or that its tasks have left */
	uint32_t *machines; /* [machine_count] the machines with such slots */
	uint32_t machine_count;
	uint32_t *kept; /* [kept_count] machines of tasks that the round left where they were, by job */
	size_t kept_count, kept_capacity;
	uint16_t *cost;                     /* [machines] of a task, with its root on one machine */
	int64_t slots_at[COST_MAXIMUM + 1]; /* slots by this cost */
};

static int by_task(const void *left, const void *right)
{
	const struct flownet_move *a = left, *b = right;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return (a->task > b->task) - (a->task < b->task);
}

static void bounding_end(struct bounding *b)
{
	free(b->moves);
	free(b->slots);
	free(b->machines);
	free(b->kept);
	free(b->cost);
}

static int bounding_begin(struct bounding *b, const int32_t *free_before, const struct flownet_move *moves,
			  size_t count)
{
	size_t machines = b->placer->layout->machine_count;

	b->moves = malloc((count + 1) * sizeof *b->moves);
	b->slots = malloc((machines + 1) * sizeof *b->slots);
	b->machines = malloc((machines + 1) * sizeof *b->machines);
	b->cost = malloc((machines + 1) * sizeof *b->cost);
	if (!b->moves || !b->slots || !b->machines || !b->cost)
		return -ENOMEM;
	if (count > 0)
		memcpy(b->moves, moves, count * sizeof *moves);
	qsort(b->moves, count, sizeof *b->moves, by_task);
	b->move_count = count;
	memcpy(b->slots, free_before, machines * sizeof *b->slots);
	for (size_t i = 0; i < count; i++)
		if (moves[i].from != FLOWNET_NONE)
			b->slots[moves[i].from]++;
	for (uint32_t m = 0; m < machines; m++)
		if (b->slots[m] > 0)
			b->machines[b->machine_count++] = m;
	return 0;
}

/* Adds the machines of the tasks that have no move among first..end, which are the job's. */
static int list_kept(struct bounding *b, struct placer_job_bound *job, size_t first, size_t end)
{
	const struct flownet *net = b->placer->net;
	uint32_t limit = flownet_task_limit(net, job->job);

	for (uint32_t t = 0; t < limit; t++) {
		int32_t machine = flownet_task_machine(net, job->job, t);
		uint32_t *larger;

		while (first < end && b->moves[first].task < t)
			first++;
		if (machine < 0 || t == flownet_root_task(net, job->job) || (first < end && b->moves[first].task == t))
			continue;
		larger = array_grow(b->kept, b->kept_count, &b->kept_capacity, sizeof *b->kept);
		if (!larger)
			return -ENOMEM;
		b->kept = larger;
		larger[b->kept_count++] = (uint32_t)machine;
		job->kept++;
		job->cost += placer_latency_cost(b->placer, job->job, (uint32_t)job->root, (uint32_t)machine);
	}
	return 0;
}

/* Adds the job of the moves first..end to the bound, if its root is on a machine and the round gave tasks a machine. */
static int add_job(struct bounding *b, size_t first, size_t end, struct placer_bound *bound)
{
	const struct flownet *net = b->placer->net;
	uint32_t number = b->moves[first].job, root_task = flownet_root_task(net, number);
	struct placer_job_bound job = {.job = number,
				       .root = flownet_root_machine(net, number),
				       .bound = INT64_MAX,
				       .next = INT64_MAX,
				       .next_root = FLOWNET_NONE,
				       .first_kept = b->kept_count};
	struct placer_job_bound *larger;

	if (job.root == FLOWNET_NONE)
		return 0;
	for (size_t i = first; i < end; i++) {
		int32_t machine = flownet_task_machine(net, number, b->moves[i].task);

		if (machine < 0 || (i + 1 < end && b->moves[i + 1].task == b->moves[i].task))
			continue;
		job.root_placed |= b->moves[i].task == root_task;
		if (b->moves[i].task == root_task)
			continue;
		job.tasks++;
		job.cost += placer_latency_cost(b->placer, number, (uint32_t)job.root, (uint32_t)machine);
	}
	if (job.root_placed && list_kept(b, &job, first, end) != 0)
		return -ENOMEM;
	if (job.tasks == 0 && !job.root_placed)
		return 0;
	larger = array_grow(bound->jobs, bound->count, &bound->capacity, sizeof *bound->jobs);
	if (!larger)
		return -ENOMEM;
	bound->jobs = larger;
	larger[bound->count++] = job;
	return 0;
}

/* Counts the slots that a task can reach from a root on the machine. */
static void count_slots(struct bounding *b, int32_t curve, uint32_t root)
{
	memset(b->slots_at, 0, sizeof b->slots_at);
	cost_rows_dense(b->placer->rows, curve, root, b->cost);
	for (uint32_t i = 0; i < b->machine_count; i++) {
		uint32_t machine = b->machines[i];

		if (b->cost[machine] <= COST_MAXIMUM)
			b->slots_at[b->cost[machine]] += b->slots[machine];
	}
}

/* Returns the least cost of the job with its root on the machine, INT64_MAX if there are too few slots. */
static int64_t least_with(const struct bounding *b, const struct placer_job_bound *job, uint32_t root)
{
	int64_t left = job->tasks, total = 0;
	uint16_t own = b->cost[root]; /* of the slot that the root takes itself */

	for (int32_t cost = 0; cost <= COST_MAXIMUM && left > 0; cost++) {
		int64_t slots = b->slots_at[cost] - (job->root_placed && cost == own);
		int64_t taken = slots < left ? slots : left;

		total += taken * cost;
		left -= taken;
	}
	for (size_t k = 0; k < job->kept; k++)
		total += b->cost[b->kept[job->first_kept + k]];
	return left > 0 ? INT64_MAX : total;
}

static void look_at_root(struct bounding *b, struct placer_job_bound *job, uint32_t root)
{
	int64_t cost = least_with(b, job, root);

	if (cost < job->bound)
		job->bound = cost;
	if ((int32_t)root == job->root) {
		job->alone = cost;
	} else if (cost < job->next) {
		job->next = cost;
		job->next_root = (int32_t)root;
	}
}

/* Bounds the jobs with this curve whose root the round placed: over all machines with a slot. */
static void bound_curve(struct bounding *b, int32_t curve, struct placer_bound *bound)
{
	for (uint32_t i = 0; i < b->machine_count; i++) {
		uint32_t root = b->machines[i];

		count_slots(b, curve, root);
		for (size_t j = 0; j < bound->count; j++)
			if (bound->jobs[j].root_placed && b->placer->curve_of_job[bound->jobs[j].job] == curve)
				look_at_root(b, &bound->jobs[j], root);
	}
}

static void bound_jobs(struct bounding *b, struct placer_bound *bound)
{
	for (size_t j = 0; j < bound->count; j++) {
		struct placer_job_bound *job = &bound->jobs[j];
		int32_t curve = b->placer->curve_of_job[job->job];

		if (!job->root_placed) {
			count_slots(b, curve, (uint32_t)job->root);
			look_at_root(b, job, (uint32_t)job->root);
		} else if (job->bound == INT64_MAX) { /* the first with this curve */
			bound_curve(b, curve, bound);
		}
		bound->cost += job->cost;
		bound->bound += job->bound;
	}
}

int placer_bound(struct placer *placer, const int32_t *free_before, const struct flownet_move *moves, size_t count,
		 struct placer_bound *bound)
{
	struct bounding b = {.placer = placer};
	int code = bounding_begin(&b, free_before, moves, count);

	*bound = (struct placer_bound){.jobs = bound->jobs, .capacity = bound->capacity};
	for (size_t first = 0, end; first < count && code == 0; first = end) {
		end = first + 1;
		while (end < count && b.moves[end].job == b.moves[first].job)
			end++;
		code = add_job(&b, first, end, bound);
	}
	if (code == 0)
		bound_jobs(&b, bound);
	bounding_end(&b);
	return code;
}

void placer_bound_free(struct placer_bound *bound)
{
	free(bound->jobs);
	*bound = (struct placer_bound){0};
}

double placer_bound_gap(const struct placer_bound *bound)
{
	return bound->bound > 0 ? (double)bound->cost / (double)bound->bound - 1 : 0;
}

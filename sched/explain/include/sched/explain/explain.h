/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explains a round. For each task, gives its machine, its predicted performance, the next best free slot and the
 * expected performance of a random placement, or the reason why the task waits. The expected performance is the mean
 * over the slots that were free before the last solve, for the present machine of the root. If the last solve placed
 * the root, the slot that the root took does not count.
 *
 * Call in this order:
 *   explain_add_task()      for each task of the jobs to explain
 *   explain_before()        before the round's last solve
 *   explain_after()         after the last solve, with the round's moves
 *   explain_placement()     for each task: returns it with names, for nomora.place/1 and tables
 *
 * Round trips are in microseconds, performance is 0..1. Use it from the placer's thread.
 */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <model/placement.h>
#include <sched/cost/latency_view.h>
#include <sched/flownet/network.h>
#include <sched/policy/policy.h>

/* All members are borrowed until the explanation is printed. */
struct explain_scene {
	struct placer *placer;
	const struct cost_layout *layout;
	const struct latency_view *view;
	const struct curve *const *curve_of_job; /* [jobs] */
	/* Returns the number of the job's tasks that must start together. */
	uint32_t (*minimum_of_job)(const void *context, uint32_t job);
	const void *context; /* of minimum_of_job() */
};

/* A machine, with the cost, round trip to the root and predicted performance of a task on it. */
struct explain_option {
	int64_t machine; /* -1 = none */
	int32_t cost;    /* 100 / performance, also where the policy has other costs */
	double rtt_us, performance;
	enum latency_origin origin;
};

struct explain_task {
	uint32_t job, task;
	enum placement_state state;
	int64_t from; /* machine before the round; -1 = the task waited */
	struct explain_option taken, next_best;
	enum flownet_arc arc;
	int32_t arc_cost;
	double random_performance; /* NAN = no free slot, or no root */
	char why[160];             /* the reason for waiting; "" = the task does not wait */
};

struct explanation {
	struct explain_task *tasks; /* by job, then by task */
	size_t task_count, task_capacity;
	int32_t *free_slots;            /* [machines] number of free slots before the last solve */
	bool *root_known;               /* [job_count] the job's root was on a machine before the last solve */
	uint32_t job_count;             /* highest job number + 1 */
	struct placement_totals totals; /* the caller sets slots and slots_free_before */
};

/* Initialise the explanation to 0. Add tasks in ascending order of job and task. All three return 0 or -ENOMEM. */
int explain_add_task(struct explanation *explanation, uint32_t job, uint32_t task, int64_t from);
int explain_before(const struct explain_scene *scene, struct explanation *explanation);
int explain_after(const struct explain_scene *scene, struct explanation *explanation, const struct flownet_move *moves,
		  size_t move_count);
void explain_free(struct explanation *explanation);

/* Returns the task with names; its why_waiting points into *task. */
struct placement_task explain_placement(const struct explain_scene *scene, const struct flownet_names *names,
					const struct explain_task *task);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explains a round: for each task its machine, predicted performance, the next best free slot and the expected
 * performance of a random placement, or the reason why it waits. The expected performance is the mean over the slots
 * that were free before the last solve, with the root on its present machine; if that solve placed the root, the root's
 * own slot is left out.
 *
 *   explain_add_task()      each task of the jobs to explain
 *   explain_before()        before the round's last solve
 *   explain_after()         after it, with the round's moves
 *   explain_placement()     one task with names, for nomora.place/1 and tables
 *
 * Round trips are microseconds, performance is a share. Owned by one thread, with the placer.
 */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <model/placement.h>
#include <sched/cost/latency_view.h>
#include <sched/flownet/network.h>
#include <sched/policy/policy.h>

/* All members are borrowed, and needed until the explanation is printed. */
struct explain_scene {
	struct placer *placer;
	const struct cost_layout *layout;
	const struct latency_view *view;
	const struct curve *const *curve_of_job; /* [jobs] */
};

/* A machine, and the task's figures on it. */
struct explain_option {
	int64_t machine; /* -1 = none */
	int32_t cost;    /* 100 / performance, also where the policy has other costs */
	double rtt_us, performance;
	enum latency_origin origin;
};

struct explain_task {
	uint32_t job, task;
	enum placement_state state;
	int64_t from; /* machine before the round, -1 = it waited */
	struct explain_option taken, next_best;
	enum flownet_arc arc;
	int32_t arc_cost;
	double random_performance; /* NAN = no free slot, or no root */
	char why[160];             /* the reason for waiting; "" = it does not wait */
};

struct explanation {
	struct explain_task *tasks; /* by job, then by task */
	size_t task_count, task_capacity;
	int32_t *free_slots;            /* [machines] before the last solve */
	bool *root_known;               /* [job_count] its root was on a machine before the last solve */
	uint32_t job_count;             /* highest job number + 1 */
	struct placement_totals totals; /* without slots and slots_free_before */
};

/* Initialise the explanation to 0. Add tasks in ascending order of job and task. 0 or -ENOMEM. */
int explain_add_task(struct explanation *explanation, uint32_t job, uint32_t task, int64_t from);
int explain_before(const struct explain_scene *scene, struct explanation *explanation);
int explain_after(const struct explain_scene *scene, struct explanation *explanation, const struct flownet_move *moves,
		  size_t move_count);
void explain_free(struct explanation *explanation);

/* Returns the task with names; `why_waiting` points into *task. */
struct placement_task explain_placement(const struct explain_scene *scene, const struct flownet_names *names,
					const struct explain_task *task);

#endif

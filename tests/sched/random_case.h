/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small random clusters with running and waiting tasks, and their optimum, computed from the round trips and curves
 * alone: an assignment problem that knows no flow network. Machines and jobs are named by their numbers in the case, so
 * that a test may add them in any order. All pairs are measured; some are unreachable.
 */
#ifndef TESTS_SCHED_RANDOM_CASE_H
#define TESTS_SCHED_RANDOM_CASE_H

#include <model/curve.h>
#include <model/jobs.h>
#include <base/rng.h>

enum { CASE_MACHINES = 14, CASE_JOBS = 6, CASE_TASKS = 5, CASE_CURVES = 3, CASE_WAITS = -1, CASE_WAITING_COST = 1001 };

struct case_machine {
	uint32_t rack;
	int64_t slots;
	bool draining;
};

/* Task 0 is the root. machine[t]: where task t runs, or CASE_WAITS. weight: factor of the job's costs. */
struct case_job {
	int curve;
	int64_t weight;
	uint32_t tasks;
	int32_t machine[CASE_TASKS];
};

struct random_case {
	uint32_t machine_count, job_count;
	struct case_machine machines[CASE_MACHINES];
	struct case_job jobs[CASE_JOBS];
	float rtt_us[CASE_MACHINES][CASE_MACHINES]; /* measured by the row's machine; INFINITY: no answer */
	double p[CASE_CURVES][30];                  /* at 0, 10, ... us */
	struct curve *curves[CASE_CURVES];
};

/* silent: share of the measurements without an answer. Every root runs, and every weight is 1. Free it. */
void random_case_draw(struct random_case *random, struct rng *rng, double silent);
void random_case_free(struct random_case *random);
/* The machine's slots that no running task has, whether it is draining or not. */
int64_t random_case_free_slots(const struct random_case *random, uint32_t machine);
/* A machine with a free slot, at random; CASE_WAITS: none has one. */
int32_t random_case_place(const struct random_case *random, struct rng *rng);

/* The cost of a task whose root runs on machine `root`: 100 / performance, rounded; 0: unreachable. */
int64_t random_case_cost(const struct random_case *random, int curve, int32_t root, int32_t machine);

/*
 * The cost of these places (CASE_WAITS: CASE_WAITING_COST) of the tasks that wait in the case. Aborts if a machine is
 * unreachable, draining or overfull, or if a running task has moved.
 */
int64_t random_case_cost_of(const struct random_case *random, int32_t places[CASE_JOBS][CASE_TASKS]);

/*
 * Which tasks of a job talk to each other: none known (NULL), a ring or a tree, by the number of the job. No cost
 * depends on it. Not to be freed.
 */
const struct job_graph *random_case_graph(const struct random_case *random, uint32_t job);

/* The least cost of any places. */
int64_t random_case_optimum(const struct random_case *random);

#endif

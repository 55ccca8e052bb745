/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random networks like that of one NoMora round (NoMora, section 5.2): the costs of a job's tasks follow from the
 * latencies to its root and one of the paper's four curves. For benchmarks and tests of the solvers; seeded, the same
 * on every machine.
 *
 * Node layout of the per-task network, as in the shared instances: S = 0, X = 1, racks from `rack_node`, machines from
 * `machine_node`, a job's unscheduled aggregator from `unscheduled_node`, tasks from `task_node`; job by job, running
 * tasks first. Costs are lround(100 / p), 100..1000, less the discount for time already run; latencies are drawn per
 * pair with the medians and the tails of measured clouds (tens of microseconds in a rack, hundreds across).
 */
#ifndef MCF_INSTANCE_H
#define MCF_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/rng.h>
#include <sched/mcf/mcf.h>

struct instance_settings {
	int32_t machines;
	int32_t machines_per_rack, racks_per_pod; /* 48, 16 */
	int32_t slots_low, slots_high;            /* per machine, drawn evenly */
	int32_t running, waiting;                 /* tasks */
	bool preemption;                          /* running tasks have all their arcs, else they only take slots */
	int32_t beta_limit;                       /* discount of a running task's own arc, drawn from 0..limit */
	int32_t machine_threshold;                /* p_m: arc to a machine only at this cost or less */
	int32_t rack_threshold;                   /* p_r */
	bool wide;     /* machine arcs to the root's whole pod instead of its rack, rack arcs to every rack */
	int32_t waits; /* distinct unscheduled costs among the tasks of a job, 1 = all waited equally long */
	uint64_t seed;
};

/* 1,250 machines, 9,500 running and 500 waiting tasks, preemption, beta 0, p_m = 105, p_r = 110. */
struct instance_settings instance_defaults(void);

struct instance_arc {
	int32_t node; /* rack_node.., machine_node.., or 1 = X */
	int32_t cost;
};

struct instance_running {
	int32_t machine;  /* index from 0, not a node */
	int32_t discount; /* beta's part, already subtracted from `cost`, which is never negative */
	int32_t cost;     /* of that arc, after the discount */
};

struct instance_job {
	int32_t root;  /* machine of its root task */
	int32_t curve; /* 0..3 */
	int32_t waiting;
	int32_t running_begin, running_count; /* into running[] */
	int32_t arc_begin, arc_count; /* into arcs[], sorted by node: the arcs shared by all tasks, except that to U */
	int32_t unscheduled_cost;     /* of a task's arc to U; with `waits` > 1, of the first task's */
};

struct instance {
	struct instance_settings settings;
	int32_t rack_count, job_count;
	int32_t rack_node, machine_node, unscheduled_node, task_node;
	int32_t *slots; /* [machines] slots of a machine; without preemption, those that the running tasks leave free */
	struct instance_job *jobs;
	struct instance_running *running; /* [settings.running] */
	struct instance_arc *arcs;
	uint64_t latency_salt;
};

/* NULL with errno set: ENOMEM, or EINVAL for contradictory settings. */
struct instance *instance_create(const struct instance_settings *settings);
void instance_destroy(struct instance *instance); /* NULL is legal */

/* Added round trip between two machines, microseconds, the same both ways. */
double instance_latency_us(const struct instance *instance, int32_t a, int32_t b);

/* lround(100 / p) of one of the paper's curves (equations 2-5), p no less than 0.1. */
int32_t instance_curve_cost(int32_t curve, double latency_us);

/* Cost of the unscheduled arc of a job's k-th task (running tasks first). */
int32_t instance_unscheduled_cost(const struct instance *instance, const struct instance_job *job, int32_t k);

/* One node per task. The problem owns the arrays: instance_problem_free(). 0 or -ENOMEM. */
int instance_problem(const struct instance *instance, struct mcf_problem *problem);
/* The same on the collapsed network: one supply node per job (all tasks of a job must have waited equally long). */
int instance_problem_by_job(const struct instance *instance, struct mcf_problem *problem);
void instance_problem_free(struct mcf_problem *problem);

#endif

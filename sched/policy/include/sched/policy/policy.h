/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement policies. A policy determines the arcs and costs of the flow network, and chooses among slots of equal
 * cost. policies[] lists them; the first comment of NAME.c describes policy NAME.
 *
 * A placer is one policy applied to one cluster. The caller passes events to the placer's flownet (placer_net()), and
 * flownet_solve() runs a round. Use from one thread.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/options.h>
#include <model/cluster.h>
#include <model/curve.h>
#include <model/jobs.h>
#include <sched/cost/latency_view.h>
#include <sched/cost/rows.h>
#include <sched/flownet/flownet.h>

enum {
	POLICY_FIXED_COST = 100,    /* cost of each machine if a policy treats all alike: performance 1 */
	POLICY_MACHINE_ARCS = 1024, /* default of policy_settings.machine_arcs: a row takes 35 KB in the solver */
};

struct placer;

struct policy {
	const char *name;
	const char *summary;
	bool root_first;    /* tasks wait until their root is placed; their costs depend on its machine */
	int32_t least_cost; /* lower bound of a machine's cost */
	bool cached_rows;   /* row() only calls cost_rows_get() with the job's curve */
	bool preempts;      /* supports preemption; other policies keep running tasks where they are */
	/* As in struct flownet_policy, with the placer as context. */
	const struct cost_row *(*row)(struct placer *placer, uint32_t job, int32_t root);
	int32_t (*at)(struct placer *placer, uint32_t job, int32_t root, uint32_t machine);
	/*
	 * Writes the costs of a rack's machines, as from at(), to cost[]: one per column of the rack in the layout.
	 * Above COST_MAXIMUM: unreachable. Columns without a machine may get any value. Necessary if root_first is
	 * true.
	 */
	void (*rack)(struct placer *placer, uint32_t job, uint32_t root, uint32_t rack, uint16_t *cost);
	uint32_t (*choose)(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack);
};

/* NULL-terminated; the first is nomora. */
extern const struct policy *const policies[];
const struct policy *policy_find(const char *name); /* NULL if there is none */

/* How to choose the free slot for a task that nomora sends through a rack or the cluster. */
enum policy_spill {
	POLICY_SPILL_BEST, /* the one with the best predicted performance */
	POLICY_SPILL_ANY,  /* any free slot, with equal probability, as in the paper */
};

/* What counts alike in the sum of costs that a round of nomora minimises. */
enum policy_weights {
	POLICY_WEIGHTS_TASK, /* every task, as in the paper */
	POLICY_WEIGHTS_JOB, /* jobs: a task's weight falls with the size of its job, from 64 (up to 16 tasks) to 1 (from
			       1,024 tasks) */
};
extern const char *const policy_weights_names[]; /* "task", "job", NULL */

struct policy_settings {
	int32_t machine_threshold, rack_threshold; /* NoMora's p_m and p_r; COST_MAXIMUM = no threshold */
	uint32_t machine_arcs; /* maximum number of arcs of a row to machines (<sched/cost/rows.h>); 0 = no limit */
	enum cost_lookup lookup;
	enum policy_spill spill;
	enum latency_reference reference;
	enum policy_weights weights;
	uint64_t seed;
	bool root_anywhere; /* true: a root gets any free slot, with equal probability; false: preferably a slot in a
			       rack with space for its job */
	bool root_first;    /* true: a root gets the first machine with a free slot, as from a solver that follows
			       its first admissible arc */
	bool root_solver;   /* true: a root gets the machine to which the cost-scaling solver sends its unit of flow */
	struct flownet_settings flow;
};

/*
 * Sets the defaults:
 * - no thresholds, but a row has arcs to at most its POLICY_MACHINE_ARCS cheapest machines
 * - curves are interpolated at the added round trip (LATENCY_REFERENCE_ADDED)
 * - POLICY_SPILL_BEST, POLICY_WEIGHTS_TASK
 * - gamma 1001, no preemption, omega and beta 0, the structured solver
 */
void policy_settings_default(struct policy_settings *settings);
/*
 * Sets the defaults, except for the paper's values:
 * - p_m 105, p_r 110, no limit of arcs to machines
 * - curves are looked up in a table at the full round trip (LATENCY_REFERENCE_ABSOLUTE)
 * - POLICY_SPILL_ANY
 * - the arc U_J -> S has capacity 1 (flownet/flownet.h)
 */
void policy_settings_paper(struct policy_settings *settings);

/*
 * source: provides the round trips (cost_source_from_view(), or the simulator's source). The source and the layout must
 * outlive the placer. Then call flownet_machine_added() for each machine. Returns NULL with err set on failure.
 */
struct placer *placer_create(const struct policy *policy, const struct cost_layout *layout, struct cost_source source,
			     const struct policy_settings *settings, struct error *err);
void placer_destroy(struct placer *placer); /* NULL is legal */

/* Call it after machines were added; <sched/cost/layout.h> lists the calls and their order. Returns 0 or -ENOMEM. */
int placer_grow(struct placer *placer);
/* Reports changed round trips. The caller also calls flownet_costs_changed() for the jobs whose costs change. */
void placer_latency_moved(struct placer *placer, const struct cost_moved *moved);
/* Forgets a removed machine (<sched/cost/layout.h>). Returns 0, or -EBUSY if a job's root runs or ended on it. */
int placer_forget_machine(struct placer *placer, uint32_t machine);

/* Adds a curve, which may be freed afterwards. Returns its number for the calls below, or -ENOMEM. */
int32_t placer_add_curve(struct placer *placer, const struct curve *curve);
/* Replaces the curve of this number, also for running jobs. Returns 0 or -ENOMEM. */
int placer_replace_curve(struct placer *placer, int32_t number, const struct curve *curve);
/* Removes a curve; its number may be reused. Returns 0, or -EBUSY if a job uses the curve. */
int placer_remove_curve(struct placer *placer, int32_t number);
/*
 * Adds a job with this curve and, in the end, `tasks` tasks, of which `root` is the root; in place of
 * flownet_job_arrived(). Sets the job's weight. Returns 0, -ENOMEM or -EINVAL (the job exists).
 */
int placer_job_arrived(struct placer *placer, uint32_t job, int32_t curve, uint32_t root, uint32_t tasks);

/*
 * Sets which tasks of a job that has arrived talk to each other; NULL: all to the root. The graph must exist until the
 * job gets another one or its number is used again.
 */
void placer_job_graph(struct placer *placer, uint32_t job, const struct job_graph *graph);
/*
 * Call it after flownet_propose(), before a proposal is carried out. Exchanges the machines of waiting tasks of jobs
 * with a graph, so that tasks that talk to each other are near each other (<sched/graph/order.h>). The machines of the
 * job, and the cost of the round, stay the same. Does nothing with a policy that ignores latencies. 0 or -ENOMEM.
 */
int placer_order(struct placer *placer, const struct flownet_round *round);

struct placer_edges {
	size_t count;       /* of the job's edges; 0: the job has no graph */
	double performance; /* mean over the edges between tasks that have machines, by weight; NAN if there are none */
	double given;       /* the same before placer_order() last ordered tasks of the job; NAN if it did not */
	double cost, bound; /* sum of weight * 100 / performance; what no order can fall below, 0: not known */
};
/* Computes how near the tasks are to those that they talk to, with any policy. Returns 0 or -ENOMEM. */
int placer_edges(struct placer *placer, uint32_t job, struct placer_edges *edges);
/* Why a task of a job with a graph is where it is, and not another one of the job. */
struct placer_rank {
	size_t edges;       /* of the task to tasks that have machines; 0: nothing is known */
	double performance; /* mean over these, by weight */
	uint32_t other;     /* the task with which an exchange adds least to the cost of the job's edges */
	double added;       /* NAN: there is no such task, or too many to compare */
};
/* Compares the task, which is not the root, with all others but the root. O(tasks and edges of the job). */
struct placer_rank placer_rank(struct placer *placer, uint32_t job, uint32_t task);

/* A job of which a round gave tasks a machine; costs are sums of 100 / performance. */
struct placer_job_bound {
	uint32_t job;
	int32_t root;         /* machine of its root */
	bool root_placed;     /* by this round */
	uint32_t tasks, kept; /* other tasks that got a machine; if the root was placed, tasks that ran before */
	int64_t cost;         /* of these tasks */
	int64_t alone;        /* the least with the root on this machine, if the round had no other job */
	int64_t next;         /* likewise, with the root on any other machine; INT64_MAX: impossible */
	int32_t next_root;    /* that machine, or FLOWNET_NONE */
	int64_t bound;        /* the lesser one of `alone` and `next` */
	size_t first_kept;    /* for placer_bound() itself */
};
struct placer_bound {
	struct placer_job_bound *jobs; /* by number */
	size_t count, capacity;
	int64_t cost, bound; /* sums over the jobs */
};
/*
 * Bounds from below what the tasks cost to which a round gave a machine: no choice of machines for the roots that it
 * placed, and of slots for these tasks, costs less than bound->bound. The slots are those that were free before the
 * round, free_before[machines], and those that its moves left. moves: all that were carried out. Unlike the network, it
 * counts no weights of jobs. Takes time proportional to the square of the number of machines for each curve of a job
 * whose root was placed: with 12,500 machines, about a second. Initialise *bound to 0; the memory is used again. 0 or
 * -ENOMEM. Free the bound in both cases.
 */
int placer_bound(struct placer *placer, const int32_t *free_before, const struct flownet_move *moves, size_t count,
		 struct placer_bound *bound);
void placer_bound_free(struct placer_bound *bound);
/* By which share of the bound the cost is above it; 0 if nothing was placed. */
double placer_bound_gap(const struct placer_bound *bound);

struct flownet *placer_net(struct placer *placer);
const struct policy *placer_policy(const struct placer *placer);
const struct policy_settings *placer_settings(const struct placer *placer);
/*
 * Returns the number of rows of costs in memory, for statistics. A row belongs to a curve and a machine on which a job
 * with this curve has its root.
 */
uint64_t placer_rows_kept(const struct placer *placer);
/* Returns a machine's cost for a job by the predicted performance at its latency to machine `root`, for any policy. */
int32_t placer_latency_cost(struct placer *placer, uint32_t job, uint32_t root, uint32_t machine);

/*
 * Rows of option tables for the costs of NoMora's flow network. type, field: the settings' type and field, as in
 * OPTION_DOUBLE().
 */

#define ROW_WEIGHTS(type, field)                                                                                       \
	OPTION_CHOICE(type, field, "weights", 0, "HOW", policy_weights_names,                                          \
		      "what counts alike in the sum of costs: task, or job (a task of a small job weighs more)")
#define ROW_GAMMA(type, field) OPTION_INTEGER(type, field, "gamma", 0, "COST", 0, 500000, "cost of waiting")
#define ROW_OMEGA(type, field)                                                                                         \
	OPTION_DOUBLE(type, field, "omega-per-s", 0, "COST", 0, 100000, "added cost of waiting, per second waited")
#define ROW_BETA(type, field)                                                                                          \
	OPTION_DOUBLE(type, field, "beta-per-s", 0, "COST", 0, 100000,                                                 \
		      "reduction of the cost of staying, per second that a task has run, for tasks that may move")
#define ROW_UNSCHEDULED_CAPACITY(type, field)                                                                          \
	OPTION_INTEGER(type, field, "unscheduled-capacity", 0, "N", 0, 1000000,                                        \
		       "number of tasks of a job that can wait in the flow network; 0 = all, 1 = as in the paper")

#endif

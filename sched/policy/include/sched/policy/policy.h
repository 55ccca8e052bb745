/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement policies behind one table. A policy determines the arcs and costs of the flow network, and chooses among
 * slots of equal cost; a placer is one policy applied to one cluster. Events are passed to its flownet; a round is
 * flownet_solve(). One thread.
 *
 * Each policy is one file, NAME.c, whose first comment describes it; the table policies[] lists them.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <sched/cost/latency_view.h>
#include <sched/cost/rows.h>
#include <sched/flownet/flownet.h>
#include <model/cluster.h>
#include <model/curve.h>

enum {
	POLICY_FIXED_COST = 100,    /* of every machine, if the policy treats all machines alike: p = 1 */
	POLICY_MACHINE_ARCS = 1024, /* default limit of a row's arcs to machines: takes 35 KB in the solver */
};

struct placer; /* a policy and its data for one cluster, see below */

struct policy {
	const char *name;
	const char *summary;
	bool root_first; /* a job's other tasks wait until its root is placed, and their costs depend on its machine */
	int32_t least_cost; /* lower bound of a machine's cost */
	bool cached_rows;   /* row() is cost_rows_get() with the job's curve */
	bool preempts;      /* supports preemption; other policies keep running tasks where they are */
	/* Callbacks of flownet; contracts in flownet/flownet.h, with the placer as context. */
	const struct cost_row *(*row)(struct placer *placer, uint32_t job, int32_t root);
	int32_t (*at)(struct placer *placer, uint32_t job, int32_t root, uint32_t machine);
	/*
	 * Fills cost[] for the rack's columns of the layout with the costs that at() gives (above COST_MAXIMUM:
	 * unreachable); columns without a machine may get any value. Policies with root_first must have this function.
	 */
	void (*rack)(struct placer *placer, uint32_t job, uint32_t root, uint32_t rack, uint16_t *cost);
	uint32_t (*choose)(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack);
};

/* NULL-terminated; the first is nomora. */
extern const struct policy *const policies[];
const struct policy *policy_find(const char *name); /* NULL if there is none */

/* How to choose the free slot for a task that nomora sends through a rack or the cluster. */
enum policy_spill {
	POLICY_SPILL_BEST, /* the one with the best predicted performance; so no swap of two tasks improves both */
	POLICY_SPILL_ANY,  /* any, with equal probability, as in the paper */
};

struct policy_settings {
	int32_t machine_threshold, rack_threshold; /* p_m, p_r; COST_MAXIMUM = none */
	uint32_t machine_arcs; /* maximum of a row's arcs to machines, see <sched/cost/rows.h>; 0 = no limit */
	enum cost_lookup lookup;
	enum policy_spill spill;
	enum latency_reference reference;
	uint64_t seed;
	bool root_anywhere; /* the root goes to any free slot with equal probability, not to a rack with space for its
			       job */
	struct flownet_settings flow;
};

/*
 * The defaults: no thresholds, but a long row has arcs only to its POLICY_MACHINE_ARCS cheapest machines; interpolated
 * curves, the best free slot; gamma 1001, no preemption, omega and beta 0, the structured solver.
 */
void policy_settings_default(struct policy_settings *settings);
/*
 * The same with the paper's values: p_m 105, p_r 110, table look-up at raw latencies, any free slot, capacity 1 of U_J
 * -> S.
 */
void policy_settings_paper(struct policy_settings *settings);

/*
 * `source` provides the round trips (cost_source_from_view(), or a simulator's own). It and the layout must outlive the
 * placer. Add machines to the placer's network by flownet_machine_added(). Returns NULL with err set.
 */
struct placer *placer_create(const struct policy *policy, const struct cost_layout *layout, struct cost_source source,
			     const struct policy_settings *settings, struct error *err);
void placer_destroy(struct placer *placer); /* NULL is legal */

/* Call it when machines were added, in the order of <sched/cost/layout.h>. 0 or -ENOMEM. */
int placer_grow(struct placer *placer);
/* Reports changed round trips. The caller also calls flownet_costs_changed() for the jobs concerned. */
void placer_latency_moved(struct placer *placer, const struct cost_moved *moved);
/* Forgets a machine that is down. 0, or -EBUSY if it is the reference of a job. */
int placer_forget_machine(struct placer *placer, uint32_t machine);

/* Adds a curve and returns its number for the calls below, or -ENOMEM. Does not keep a reference to `curve`. */
int32_t placer_add_curve(struct placer *placer, const struct curve *curve);
/* Replaces the curve of this number, also for running jobs. 0 or -ENOMEM. */
int placer_replace_curve(struct placer *placer, int32_t number, const struct curve *curve);
/* Removes a curve; its number may be reused. 0, or -EBUSY if a job uses it. */
int placer_remove_curve(struct placer *placer, int32_t number);
/* Sets the job's curve, before flownet_job_arrived(). 0 or -ENOMEM. */
int placer_set_job_curve(struct placer *placer, uint32_t job, int32_t curve);

struct flownet *placer_net(struct placer *placer);
const struct policy *placer_policy(const struct placer *placer);
const struct policy_settings *placer_settings(const struct placer *placer);
/*
 * Number of rows of costs in memory, for statistics. There is at most one row per pair of a curve and a machine on
 * which a job with this curve has its root.
 */
uint64_t placer_rows_kept(const struct placer *placer);
/* Cost of one machine by its latency, for a job whose root is on `root`, regardless of the policy. */
int32_t placer_latency_cost(struct placer *placer, uint32_t job, uint32_t root, uint32_t machine);

#endif

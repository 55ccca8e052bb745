/* SPDX-License-Identifier: BSD-3-Clause */
/* What the policies share. */
#ifndef POLICY_POLICY_PRIV_H
#define POLICY_POLICY_PRIV_H

#include <stdint.h>

#include <base/rng.h>
#include <sched/cost/layout.h>
#include <sched/flownet/flownet.h>
#include <sched/policy/policy.h>

/*
 * The cost of the rest of a job for a given machine of its root: the job's other tasks take the cheapest free slots in
 * the root's rack or, if it has too few, in the cluster. A task for which there is no slot costs COST_MAXIMUM.
 *
 * To compute this cost takes a pass over the rack. Within a round, free slots only become fewer. So the cost for one
 * job is a lower bound for later jobs with the same curve, and the caller computes the cost only for the machines with
 * the lowest bounds. The least of a rack's bounds tells whether the rack must be looked into at all. Costs are kept for
 * one round. A placer owns them.
 */

struct placer;
struct rest_costs;

/* Returns NULL if out of memory. The layout must outlive the costs. */
struct rest_costs *rest_costs_create(const struct cost_layout *layout);
void rest_costs_destroy(struct rest_costs *costs); /* NULL is legal */
int rest_costs_grow(struct rest_costs *costs);     /* call it after the layout has grown; returns 0 or -ENOMEM */
void rest_costs_forget(struct rest_costs *costs);  /* drops all costs computed so far */

/* Returns the machine's free slots, minus those reserved in this round for tasks of jobs whose root is placed. */
int32_t rest_unclaimed(const struct placer *placer, const struct flownet *net, uint32_t machine);

/* rest_cost_bound() returns a lower bound of rest_cost(). tasks: number of the job's tasks without the root. */
int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks);
int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks);

/*
 * Returns a lower bound of rest_cost() for all machines of a rack with free slots for the whole job, by what
 * rest_rack_note() has kept: call it after rest_cost() for machines of such a rack.
 */
int64_t rest_rack_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t rack,
			int64_t tasks);
void rest_rack_note(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t rack);

/*
 * Reserves for this round the slots whose cost rest_cost() is, for `tasks` tasks of a job whose root is on machine
 * `root`. own: 1 if the root still counts as waiting, so that it will take one of the machine's free slots; else 0.
 */
void rest_claim(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int32_t own,
		int64_t tasks);

/* The fields of a placer, and the functions that policies share. Private. */

struct root_candidate; /* root.c */
struct root_flow;      /* root_flow.c */

/* A job's graph; NULL: none. given: the edges' mean performance before placer_order(), or NAN. */
struct job_edges {
	const struct job_graph *graph;
	double given;
};

struct placer {
	const struct policy *policy;
	const struct cost_layout *layout;
	struct policy_settings settings;
	struct cost_rows *rows;
	struct flownet *net;
	int32_t *curve_of_job;          /* [job_room] */
	struct job_edges *edges_of_job; /* [job_room] */
	uint32_t job_room;
	uint32_t graph_count; /* number of jobs with a graph */
	struct rng rng;
	struct cost_row fixed_row;    /* row of policy_fixed_row(): only an arc to the cluster */
	struct cost_row distance_row; /* quincy's row: arcs to the root's machine, its pod's racks, the cluster */
	struct arc distance_machine;
	uint16_t *dense;   /* [machines] costs for the tasks of dense_job, whose root is on dense_root */
	int64_t dense_job; /* -1 = none */
	int32_t dense_root;
	int32_t *claimed;        /* [machines] slots reserved in this round for tasks of jobs whose root is placed */
	int64_t *reserved;       /* [racks] sum of claimed[] over the rack */
	uint64_t reserved_round; /* flownet_rounds() in the round to which reserved[] and claimed[] belong */
	struct rest_costs *rest;
	struct root_candidate *candidates; /* [racks + machines] work space of policy_choose_root(), as the next two */
	uint32_t *siblings;                /* [machines] running tasks of the job on the machine */
	uint32_t *sibling_list;            /* [machines] the machines with running tasks of the job */
	struct root_flow *root_flow;       /* root_flow.c; NULL before its first use */
	uint32_t *spread; /* load_spreading's list of the machines with the fewest tasks, in round spread_round */
	uint32_t spread_count;
	uint64_t spread_round;
};

/* row() and at() of policies that treat all machines alike. */
const struct cost_row *policy_fixed_row(struct placer *placer, uint32_t job, int32_t root);
int32_t policy_fixed_at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine);

/* Sets first and end so that first..end-1 are the columns of `rack`; FLOWNET_NONE: of all racks. */
void policy_columns(const struct placer *placer, int32_t rack, uint32_t *first, uint32_t *end);

/*
 * random.c: draws one of the rack's free slots (FLOWNET_NONE: of the cluster's), all with equal probability. Returns
 * the slot's machine.
 */
uint32_t policy_draw_slot(struct placer *placer, const struct flownet *net, int32_t rack);

/* root.c */
size_t policy_candidate_bytes(void);
/* Chooses a machine for a root, if possible in a rack with free slots for its whole job. */
uint32_t policy_choose_root(struct placer *placer, const struct flownet *net, uint32_t job);

/* root_flow.c: returns a machine that the cost-scaling solver gives a waiting root. */
uint32_t policy_flow_root(struct placer *placer, const struct flownet *net);
void policy_root_flow_free(struct root_flow *flow); /* NULL is legal */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLICY_PRIV_H
#define POLICY_PRIV_H

#include <base/rng.h>
#include <sched/policy/policy.h>

#include "rest_priv.h"

struct root_candidate; /* root.c */

struct placer {
	const struct policy *policy;
	const struct cost_layout *layout;
	struct policy_settings settings;
	struct cost_rows *rows;
	struct flownet *net;
	int32_t *curve_of_job;
	uint32_t job_room;
	struct rng rng;
	struct cost_row fixed_row;    /* row with an arc to the cluster only */
	struct cost_row distance_row; /* quincy's row: the root's machine, the racks of its pod, the cluster */
	struct arc distance_machine;
	uint16_t *dense;   /* [machines] costs for dense_job's tasks with the root on dense_root */
	int64_t dense_job; /* -1 = none */
	int32_t dense_root;
	int64_t *reserved; /* [racks] slots reserved in this round for tasks of jobs whose root is placed there */
	int32_t *claimed;  /* [machines] of the reserved slots, those on the root's own machine */
	uint64_t reserved_round;
	struct rest_costs *rest;
	struct root_candidate *candidates; /* [machines] scratch */
	uint32_t *spread; /* for load_spreading: machines with the fewest tasks, in round spread_round */
	uint32_t spread_count;
	uint64_t spread_round;
};

/* For policies that treat all machines alike. */
const struct cost_row *policy_fixed_row(struct placer *placer, uint32_t job, int32_t root);
int32_t policy_fixed_at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine);

/* Sets first..end-1 to the columns of `rack`, or of the cluster if that is FLOWNET_NONE. */
void policy_columns(const struct placer *placer, int32_t rack, uint32_t *first, uint32_t *end);

/*
 * random.c: draws a free slot of the rack (FLOWNET_NONE: of the cluster), each with equal probability. Returns its
 * machine.
 */
uint32_t policy_draw_slot(struct placer *placer, const struct flownet *net, int32_t rack);

/* root.c */
size_t policy_candidate_bytes(void);
/* Chooses a machine for a root, if possible in a rack with free slots for its whole job. */
uint32_t policy_choose_root(struct placer *placer, const struct flownet *net, uint32_t job);

#endif

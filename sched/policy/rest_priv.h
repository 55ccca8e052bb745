/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of the rest of a job for a given machine of its root: the job's other tasks take the cheapest free slots in
 * the root's rack, and a task for which the rack has no slot costs COST_MAXIMUM. Computing this cost takes a pass over
 * the rack. During a round, slots only become fewer, so the cost for one job is a lower bound for later jobs with the
 * same curve; only the root machines with the lowest bound need another pass. Costs are kept for one round. Owned by
 * one placer.
 */
#ifndef POLICY_REST_PRIV_H
#define POLICY_REST_PRIV_H

#include <stdint.h>

#include <sched/cost/layout.h>
#include <sched/flownet/flownet.h>

struct placer;
struct rest_costs;

/* NULL if out of memory. The layout must outlive it. */
struct rest_costs *rest_costs_create(const struct cost_layout *layout);
void rest_costs_destroy(struct rest_costs *costs); /* NULL is legal */
int rest_costs_grow(struct rest_costs *costs);     /* after the layout has grown; 0 or -ENOMEM */
void rest_costs_forget(struct rest_costs *costs);  /* drops all costs computed so far */

/* Free slots of the machine, minus those claimed in this round for tasks of jobs whose root is on it. */
int32_t rest_unclaimed(const struct placer *placer, const struct flownet *net, uint32_t machine);

/* Returns a lower bound of rest_cost() for the same `tasks` (the number of the job's tasks without the root). */
int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks);
int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks);

#endif

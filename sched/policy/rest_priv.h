/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of the rest of a job for a given machine of its root: the job's other tasks take the cheapest free slots in
 * the root's rack or, if it has too few, in the cluster. A task for which there is no slot costs COST_MAXIMUM.
 *
 * To compute this cost takes a pass over the rack. Within a round, free slots only become fewer. So the cost for one
 * job is a lower bound for later jobs with the same curve, and the caller computes the cost only for the machines with
 * the lowest bounds. Costs are kept for one round. A placer owns them.
 */
#ifndef POLICY_REST_PRIV_H
#define POLICY_REST_PRIV_H

#include <stdint.h>

#include <sched/cost/layout.h>
#include <sched/flownet/flownet.h>

struct placer;
struct rest_costs;

/* Returns NULL if out of memory. The layout must outlive the costs. */
struct rest_costs *rest_costs_create(const struct cost_layout *layout);
void rest_costs_destroy(struct rest_costs *costs); /* NULL is legal */
int rest_costs_grow(struct rest_costs *costs);     /* call it after the layout has grown; returns 0 or -ENOMEM */
void rest_costs_forget(struct rest_costs *costs);  /* drops all costs computed so far */

/* Returns the machine's free slots, minus those reserved in this round for jobs whose root is on the machine. */
int32_t rest_unclaimed(const struct placer *placer, const struct flownet *net, uint32_t machine);

/* rest_cost_bound() returns a lower bound of rest_cost(). tasks: number of the job's tasks without the root. */
int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks);
int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks);

#endif

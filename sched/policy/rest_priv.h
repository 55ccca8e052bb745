/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of the rest of a job by where its root is: its other tasks take the cheapest slots that are free in the
 * root's rack, and a task for which the rack has no slot costs COST_MAXIMUM. Finding it is a pass over the rack. While
 * a round hands out slots they only become fewer, so that until the round ends the cost for one job is a lower bound
 * for later jobs with the same curve; only the roots of the least bound need another pass. Remembers one round. Owned
 * by one placer.
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
void rest_costs_forget(struct rest_costs *costs);  /* everything found so far */

/* No more than rest_cost() of the same `tasks` (the root not counted). */
int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks);
int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks);

#endif

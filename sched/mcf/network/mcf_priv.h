/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the algorithms share besides <sched/mcf/mcf.h>. */
#ifndef MCF_PRIV_H
#define MCF_PRIV_H

#include <sched/mcf/mcf.h>

/* For sums of int64 products; __extension__ avoids a warning by -Wpedantic. */
__extension__ typedef __int128 mcf_wide;

static inline void mcf_report(const struct mcf_watcher *watcher, struct mcf_statistics work)
{
	if (watcher->report)
		watcher->report(watcher->context, &work);
}

/*
 * Lists arcs by tail: the arcs out of v are (*out)[(*first)[v]] .. (*out)[(*first)[v + 1] - 1], in ascending order.
 * (*arcs_in)[v] is the number of arcs into v. Returns false if out of memory. The caller frees the three arrays in
 * either case.
 */
bool mcf_arcs_by_tail(const struct mcf_problem *problem, int32_t **first, int32_t **out, int32_t **arcs_in);

/* Computes the total cost of the flow. Returns false if it does not fit int64. */
bool mcf_total_cost(const struct mcf_problem *problem, const int32_t *flow, int64_t *cost);

#endif

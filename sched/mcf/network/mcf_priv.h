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
 * Arcs by tail: those out of v are (*out)[(*first)[v]] .. (*out)[(*first)[v + 1] - 1], in their order; (*arcs_in)[v]
 * counts arcs into v. The caller frees the three arrays, also after false: out of memory.
 */
bool mcf_arcs_by_tail(const struct mcf_problem *problem, int32_t **first, int32_t **out, int32_t **arcs_in);

/* Flow-weighted cost; false when it does not fit int64. */
bool mcf_total_cost(const struct mcf_problem *problem, const int32_t *flow, int64_t *cost);

#endif

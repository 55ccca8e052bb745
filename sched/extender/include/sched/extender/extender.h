/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kubernetes' scheduler extender, extender/v1: filters and prioritizes nodes by the live mesh and the curves. Pods
 * request placement by labels:
 *
 *   nomora.io/curve: memcached       without it all nodes pass
 *   nomora.io/job: web               pods of a namespace with the same value are one job
 *   nomora.io/role: root | task      default: task
 *
 * Candidates are the nodes of a request that schedd knows as up, with a free slot. The filter passes one node for a
 * root, so that kube-scheduler's choice is known: in the rack with the most candidates, the node that gives tasks on
 * the rack's other candidates the best mean predicted performance. For a task, it passes the nodes whose predicted
 * performance is at most TIE, 0.01, below the best. Kubernetes' scores have only 11 steps, so the filter decides, and
 * prioritize only orders the remaining nodes.
 *
 * Requests contain complete Node objects or, with nodeCacheCapable, only their names; the answer has the same form.
 */
#ifndef SCHED_EXTENDER_EXTENDER_H
#define SCHED_EXTENDER_EXTENDER_H

#include <sched/live/live.h>

struct extender;

/*
 * Stores the nodes of at most 10,000 jobs' roots in the file `path` (nomora.roots/1); when there are more, drops the
 * oldest. Returns NULL with err set on failure.
 */
struct extender *extender_create(const char *path, struct error *err);
void extender_destroy(struct extender *extender); /* NULL is legal */

/*
 * Returns the answer as JSON, which the caller frees. NULL with err set: -EINVAL if the request is not valid in
 * extender/v1, or -ENOMEM.
 */
char *extender_filter(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		      struct error *err);
char *extender_prioritize(struct extender *extender, const struct live *live, const char *body, size_t bytes,
			  struct error *err);

#endif

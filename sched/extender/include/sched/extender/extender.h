/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kubernetes' scheduler extender, extender/v1: filter and prioritize by the live mesh and the curves. Pods request
 * placement by labels:
 *
 *   nomora.io/curve: memcached       without it a pod passes untouched
 *   nomora.io/job: web               pods of one namespace with this name communicate with its root
 *   nomora.io/role: root | task      task unless said otherwise
 *
 * A root goes to the node from which the others of the rack with the most candidates are best reached; the filter
 * passes only that node, so that kube-scheduler's choice is known. Tasks go to the nodes with the best predicted
 * performance, within TIE of it. Kubernetes' scores have 11 steps: the filter decides, prioritize only orders the
 * remaining nodes.
 *
 * Requests contain complete Node objects or, with nodeCacheCapable, only their names; the answer has the same form.
 */
#ifndef SCHED_EXTENDER_EXTENDER_H
#define SCHED_EXTENDER_EXTENDER_H

#include <sched/live/live.h>

struct extender;

/*
 * Roots are stored in the file (nomora.roots/1) as long as they may be needed; of more than 10,000 the oldest are
 * dropped. NULL with err set.
 */
struct extender *extender_create(const char *path, struct error *err);
void extender_destroy(struct extender *extender); /* NULL is legal */

/* The answer's JSON, which the caller frees. NULL with err set: the request is not extender/v1's (-EINVAL), no memory.
 */
char *extender_filter(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		      struct error *err);
char *extender_prioritize(struct extender *extender, const struct live *live, const char *body, size_t bytes,
			  struct error *err);

#endif

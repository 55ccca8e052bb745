/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kubernetes' scheduler extender, extender/v1: filter and prioritize by the live mesh and the curves. Pods ask by
 * labels:
 *
 *   nomora.io/curve: memcached       without it a pod passes untouched
 *   nomora.io/job: web               pods of one namespace with this name talk to its root
 *   nomora.io/role: root | task      task unless said otherwise
 *
 * A root goes to the node from which the others of the rack with the most candidates are best reached; filter leaves
 * that node alone, so that kube-scheduler's choice is known. Tasks go to the nodes with the best predicted performance,
 * within TIE of it. Kubernetes' scores have 11 steps: the filter decides, prioritize only orders what it left.
 *
 * Requests carry whole nodes or, with nodeCacheCapable, only their names; the answer has the same form.
 */
#ifndef SCHED_EXTENDER_EXTENDER_H
#define SCHED_EXTENDER_EXTENDER_H

#include <sched/live/live.h>

struct extender;

/*
 * Roots are kept in the file (nomora.roots/1) while they may be asked for; the oldest of more than 10,000 are
 * forgotten. NULL with err set.
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

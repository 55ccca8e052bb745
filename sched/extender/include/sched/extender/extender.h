/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduler extender for Kubernetes (extender/v1): filters and prioritizes nodes by the measured round trips between
 * them and the curves of the applications. Pods request placement by labels:
 *
 *   nomora.io/curve: memcached       without it all nodes pass
 *   nomora.io/job: web               pods of a namespace with the same value are one job
 *   nomora.io/role: root | task      default: task
 *
 * Candidates are the nodes of a request that are up and have a free slot, according to schedd.
 *
 * For a root, the filter passes only one node, so that kube-scheduler must choose it. The filter takes the rack with
 * the most candidates, and in this rack the candidate with the best mean predicted performance of tasks on the rack's
 * candidates. For a task, the filter passes the nodes whose predicted performance is at most 0.01 below the best.
 *
 * Kubernetes' scores have only 11 steps. So the filter makes the decision, and prioritize only orders the nodes that
 * passed.
 *
 * Requests contain complete Node objects or, with nodeCacheCapable, only the names of nodes. The answer has the same
 * form.
 *
 * Rejected nodes are in FailedAndUnresolvableNodes, where kube-scheduler evicts no pods to make room; in FailedNodes
 * are only nodes without a free slot that would otherwise be candidates. kube-scheduler may also evict pods on nodes
 * that the filter never saw, because they lack resources. So preempt keeps only those nodes of a request that the
 * filter would pass after the eviction; for a task without a root these are none.
 */
#ifndef SCHED_EXTENDER_EXTENDER_H
#define SCHED_EXTENDER_EXTENDER_H

#include <sched/live/live.h>

struct extender;

/*
 * The file `path` (nomora.roots/1) stores the node of each job's root, for the newest 10,000 jobs. If it exists, it is
 * read. Returns NULL with err set on failure.
 */
struct extender *extender_create(const char *path, struct error *err);
void extender_destroy(struct extender *extender); /* NULL is legal */

/*
 * body[bytes]: the request, as JSON. Returns the answer as JSON, which the caller frees. Returns NULL with err set on
 * failure: -EINVAL if the request is not valid in extender/v1, or -errno if out of memory or the file cannot be
 * written.
 */
char *extender_filter(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		      struct error *err);
char *extender_prioritize(struct extender *extender, const struct live *live, const char *body, size_t bytes,
			  struct error *err);
char *extender_preempt(struct extender *extender, const struct live *live, const char *body, size_t bytes,
		       struct error *err);

#endif

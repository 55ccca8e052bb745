/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the agent. Private. */
#ifndef KUBERNETES_PRIV_H
#define KUBERNETES_PRIV_H

#include <jansson.h>
#include <stdbool.h>

#include <base/error.h>
#include <integrations/kubernetes/agent.h>

/* Keeps the data of pods and nodes that schedd needs, from the objects of the Kubernetes API. Pure functions. */

enum k8s_kind { K8S_NODES, K8S_PODS, K8S_KINDS };

struct k8s_objects {
	/*
	 * tables[K8S_NODES] maps a node's name to {"slots", "state", "rack"}, as for PUT /v1/machines. tables[K8S_PODS]
	 * maps a pod's NAMESPACE/NAME to {"job", "curve", "root", "task", "node"}. It has only pods that are bound to a
	 * node, have not ended, and have the labels nomora.io/job and nomora.io/curve.
	 */
	json_t *tables[K8S_KINDS];
	bool listed[K8S_KINDS]; /* a complete list of this kind was received at least once */
	bool changed;           /* a table has changed since the caller cleared this flag */
};

/* Returns a member's text, or "" if it is absent or not a valid name. */
const char *k8s_text_of(const json_t *object, const char *key);

int k8s_objects_init(struct k8s_objects *objects, struct error *err);
void k8s_objects_free(struct k8s_objects *objects);

/* Replaces the table of this kind by the items of a complete list from the server. */
void k8s_objects_replace(struct k8s_objects *objects, enum k8s_kind kind, const json_t *items);

/*
 * Processes an event, which is a line of a watch. Returns 0, or -errno with err set: -ESTALE if the server no longer
 * has the resourceVersion at which the watch began, so that the caller must list again; -EINVAL if the event is invalid
 * or reports another error. *version: the resourceVersion in the event, borrowed from it; NULL if it has none.
 */
int k8s_objects_take(struct k8s_objects *objects, enum k8s_kind kind, const json_t *event, const char **version,
		     struct error *err);

/*
 * Returns the jobs that schedd should have: id -> {"curve", "root", "tasks": {TASK: MACHINE}, "root_ended"}. `before`
 * is the previous result. If the pod of a job's root has ended or was deleted, the root and its machine are taken from
 * `before`, and root_ended is true. Jobs whose root was never seen are left out. The caller json_decref()s the result;
 * NULL: out of memory.
 */
json_t *k8s_objects_jobs(const struct k8s_objects *objects, const json_t *before);

/*
 * Lists and watches the nodes and pods of a Kubernetes API server over HTTP(S). Each kind is listed page by page, then
 * watched from the list's resourceVersion on, with bookmarks. When the server no longer has the version from which to
 * watch, the kind is listed again. Only one thread may use the watches.
 */

struct k8s_watches;

/* `options` and `objects` are borrowed. */
struct k8s_watches *k8s_watches_create(const struct k8s_agent_options *options, struct k8s_objects *objects,
				       struct error *err);
void k8s_watches_destroy(struct k8s_watches *watches); /* NULL is legal */

/*
 * Waits up to wait_ms for answers and processes them. Returns 1 if the server has answered, 0 if nothing came, or
 * -errno with err set if a request failed; a failed request is repeated automatically.
 */
int k8s_watches_run(struct k8s_watches *watches, int wait_ms, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and watches the nodes and pods of a Kubernetes API server over HTTP(S). Each kind is listed page by page, then
 * watched from the list's resourceVersion on, with bookmarks. When the server no longer has the version from which to
 * watch, the kind is listed again. Only one thread may use the watches.
 */
#ifndef INTEGRATIONS_KUBERNETES_WATCH_H
#define INTEGRATIONS_KUBERNETES_WATCH_H

#include <integrations/kubernetes/agent.h>

#include "objects.h"

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and watches of a Kubernetes API server over HTTP(S): each kind is listed page by page, then watched from the
 * list's resourceVersion on, with bookmarks; listed again when the server no longer has that version. One thread.
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
 * Waits up to wait_ms for answers and takes them. 1: the server has answered; 0: nothing came; -errno with err set: a
 * request has failed, and is repeated by itself.
 */
int k8s_watches_run(struct k8s_watches *watches, int wait_ms, struct error *err);

#endif

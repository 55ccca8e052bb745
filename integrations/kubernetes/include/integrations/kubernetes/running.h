/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running jobs in the output of `kubectl get pods -A -o json`, a List or PodList of the API v1. Pure function.
 *
 * Pods with the label nomora.io/job are a job, as for nomora-k8s-agent(1): nomora.io/curve is the name of its curve,
 * nomora.io/role=root its root. The other pods are a job with the pods of the same controller (the owner with
 * "controller": true, such as a ReplicaSet, a StatefulSet or a Job). A job without a root has the first of its pods by
 * name as its root. Pods that have ended or have no node are left out, as are pods of a DaemonSet or of a node, which
 * cannot run elsewhere, and pods without a controller.
 */
#ifndef INTEGRATIONS_KUBERNETES_RUNNING_H
#define INTEGRATIONS_KUBERNETES_RUNNING_H

#include <stdint.h>

#include <jansson.h>

#include <base/error.h>

struct k8s_running_report {
	uint64_t bound_to_node; /* pods left out: of a DaemonSet or a node */
	uint64_t alone;         /* pods left out: without a label for nomora and without a controller */
};

/*
 * Returns id -> {"curve", "root", "tasks": {POD: NODE}}; "curve" is absent without a label. The caller json_decref()s
 * the result. NULL with err set if the list is not one of pods; `name` is for messages.
 */
json_t *k8s_running_jobs(const char *name, const json_t *list, struct k8s_running_report *report, struct error *err);

#endif

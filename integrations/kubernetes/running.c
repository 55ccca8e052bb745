/* SPDX-License-Identifier: BSD-3-Clause */
#include <integrations/kubernetes/agent.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kubernetes_priv.h"

enum { ID_BYTES = 600 };

/* Returns the owner that controls the pod, or NULL. */
static const json_t *controller_of(const json_t *pod)
{
	const json_t *owner;
	size_t at;

	json_array_foreach (json_object_get(json_object_get(pod, "metadata"), "ownerReferences"), at, owner)
		if (json_is_true(json_object_get(owner, "controller")))
			return owner;
	return NULL;
}

/* Writes the id of the pod's job. Returns false if the pod is left out; counts it. */
static bool job_of(const json_t *pod, char id[static ID_BYTES], struct k8s_running_report *report)
{
	const json_t *metadata = json_object_get(pod, "metadata"), *owner = controller_of(pod);
	const char *job = k8s_text_of(json_object_get(metadata, "labels"), "nomora.io/job");
	const char *kind = k8s_text_of(owner, "kind");

	if (!job[0]) {
		job = k8s_text_of(owner, "name");
		report->alone += !job[0];
		if (strcmp(kind, "DaemonSet") == 0 || strcmp(kind, "Node") == 0) {
			report->bound_to_node++;
			return false;
		}
	}
	snprintf(id, ID_BYTES, "%s.%s", k8s_text_of(metadata, "namespace"), job);
	return job[0] != '\0';
}

/* Returns false if out of memory. */
static bool add_pod(json_t *jobs, const char *id, const json_t *pod, const char *name, const char *node)
{
	const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
	const char *curve = k8s_text_of(labels, "nomora.io/curve");
	bool is_root = strcmp(k8s_text_of(labels, "nomora.io/role"), "root") == 0;
	json_t *job = json_object_get(jobs, id);
	const char *root, *first;
	bool made = true;

	if (!job) {
		job = json_pack("{s:s, s:s, s:{}}", "root", "", "first", name, "tasks");
		if (json_object_set_new(jobs, id, job) != 0)
			return false;
	}
	root = json_string_value(json_object_get(job, "root"));
	first = json_string_value(json_object_get(job, "first"));
	if (curve[0] && !json_object_get(job, "curve"))
		made = json_object_set_new(job, "curve", json_string(curve)) == 0;
	if (is_root && !root[0])
		made = made && json_object_set_new(job, "root", json_string(name)) == 0;
	if (strcmp(name, first) < 0)
		made = made && json_object_set_new(job, "first", json_string(name)) == 0;
	return made && json_object_set_new(json_object_get(job, "tasks"), name, json_string(node)) == 0;
}

static bool take_pod(json_t *jobs, const json_t *pod, struct k8s_running_report *report)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const char *name = k8s_text_of(metadata, "name"), *kind = k8s_text_of(pod, "kind"),
		   *node = k8s_text_of(json_object_get(pod, "spec"), "nodeName"),
		   *phase = k8s_text_of(json_object_get(pod, "status"), "phase");
	char id[ID_BYTES];

	if ((kind[0] && strcmp(kind, "Pod") != 0) || !name[0] || !node[0] || strcmp(phase, "Succeeded") == 0 ||
	    strcmp(phase, "Failed") == 0 || !job_of(pod, id, report))
		return true;
	return add_pod(jobs, id, pod, name, node);
}

json_t *k8s_running_jobs(const char *name, const json_t *list, struct k8s_running_report *report, struct error *err)
{
	const char *kind = k8s_text_of(list, "kind"), *id;
	const json_t *items = json_object_get(list, "items"), *pod;
	json_t *jobs = json_object(), *job;
	bool made = jobs != NULL;
	size_t at;

	*report = (struct k8s_running_report){0};
	if ((strcmp(kind, "List") != 0 && strcmp(kind, "PodList") != 0) || !json_is_array(items)) {
		json_decref(jobs);
		error_set(err, EINVAL,
			  "%s: kind: found '%s'; expected a List or PodList with items, as kubectl get pods -A -o "
			  "json prints it",
			  name, kind);
		return NULL;
	}
	json_array_foreach (items, at, pod)
		made = made && take_pod(jobs, pod, report);
	json_object_foreach (jobs, id, job) {
		if (json_string_length(json_object_get(job, "root")) == 0)
			made = made && json_object_set(job, "root", json_object_get(job, "first")) == 0;
		json_object_del(job, "first");
	}
	if (made)
		return jobs;
	json_decref(jobs);
	error_set(err, ENOMEM, "out of memory");
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of a Kubernetes watch: any JSON is accepted or refused with a reason; the root of each resulting job is a task.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes_priv.h"

static void check_jobs(const struct k8s_objects *objects)
{
	json_t *jobs = k8s_objects_jobs(objects, NULL), *again = k8s_objects_jobs(objects, jobs);
	const json_t *job;
	const char *id;

	json_object_foreach (jobs, id, job)
		if (!json_object_get(json_object_get(job, "tasks"), json_string_value(json_object_get(job, "root"))))
			abort();
	if (!json_equal(jobs, again))
		abort();
	json_decref(jobs);
	json_decref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct k8s_objects objects;
	const char *at = (const char *)data, *end;

	if (k8s_objects_init(&objects, NULL) < 0)
		return 0;
	for (const char *last = at + size; at < last; at = end + 1) {
		json_t *event;

		end = memchr(at, '\n', (size_t)(last - at));
		end = end ? end : last;
		event = json_loadb(at, (size_t)(end - at), 0, NULL);
		for (int kind = 0; event && kind < K8S_KINDS; kind++) {
			struct error err = {0};
			const char *version;

			if (k8s_objects_take(&objects, (enum k8s_kind)kind, event, &version, &err) < 0 && !err.text[0])
				abort();
		}
		json_decref(event);
	}
	check_jobs(&objects);
	k8s_objects_replace(&objects, K8S_PODS, objects.tables[K8S_PODS]);
	k8s_objects_free(&objects);
	return 0;
}

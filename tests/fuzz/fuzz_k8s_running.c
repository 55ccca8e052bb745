/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of pods: read, or refused with a reason; each job has tasks on nodes, and its root is one of its tasks. */
#include <stdint.h>
#include <stdlib.h>

#include <integrations/kubernetes/agent.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *list = json_loadb((const char *)data, size, 0, NULL), *jobs, *job;
	struct k8s_running_report report;
	struct error err = {0};
	const char *id;

	if (!list)
		return 0;
	jobs = k8s_running_jobs("input", list, &report, &err);
	if (!jobs && !err.text[0])
		abort();
	json_object_foreach (jobs, id, job)
		if (!json_object_get(json_object_get(job, "tasks"), json_string_value(json_object_get(job, "root"))))
			abort();
	json_decref(jobs);
	json_decref(list);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's list of running jobs: read, or refused with a reason; each job has tasks on nodes with names, and its root is
 * one of its tasks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <integrations/slurm/agent.h>

static void check_jobs(const json_t *jobs)
{
	const char *id, *task;
	json_t *job, *host;

	json_object_foreach ((json_t *)jobs, id, job) {
		json_t *tasks = json_object_get(job, "tasks");

		if (!id[0] || !json_object_get(tasks, json_string_value(json_object_get(job, "root"))))
			abort();
		json_object_foreach (tasks, task, host)
			if (!json_string_length(host))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("input", (const char *)data, size, NULL);
	struct slurm_running_report report;
	struct error err = {0};
	json_t *jobs = lines ? slurm_running_read(lines, &report, &err) : NULL;

	if (lines && !jobs && !err.text[0])
		abort();
	check_jobs(jobs);
	json_decref(jobs);
	file_lines_close(lines);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/jobs.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files_priv.h"

void job_free(struct job *job)
{
	for (uint32_t t = 0; job->tasks && t < job->task_count; t++) {
		free(job->tasks[t].name);
		free(job->tasks[t].machine_name);
	}
	free(job->tasks);
	free(job->id);
	free(job->curve);
	job_graph_destroy(job->graph);
	*job = (struct job){0};
}

void jobs_destroy(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (size_t j = 0; j < jobs->count; j++)
		job_free(&jobs->items[j]);
	free(jobs->items);
	free(jobs->file);
	free(jobs);
}

static int resolve_task(const struct jobs *jobs, const struct job *job, struct job_task *task,
			const struct cluster *cluster, bool within_slots, uint32_t *running, struct error *err)
{
	struct error_place place = {.file = jobs->file, .line = job->line, .field = "tasks"};

	task->machine = JOB_NO_MACHINE;
	if (!task->machine_name)
		return 0;
	task->machine = cluster_find_machine(cluster, task->machine_name);
	if (task->machine < 0) {
		task->machine = JOB_NO_MACHINE;
		return error_at(err, place, ENOENT, "task '%s' runs on '%s', which is not in the cluster", task->name,
				task->machine_name);
	}
	if (++running[task->machine] > cluster->machines[task->machine].slots && within_slots)
		return error_at(err, place, EINVAL, "task '%s' exceeds the slots of '%s', which has %u", task->name,
				task->machine_name, cluster->machines[task->machine].slots);
	return 0;
}

int jobs_resolve(struct jobs *jobs, const struct cluster *cluster, bool within_slots, struct error *err)
{
	uint32_t *running = calloc(cluster->machine_count ? cluster->machine_count : 1, sizeof *running);
	int outcome = 0;

	if (!running)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t j = 0; j < jobs->count && outcome == 0; j++) {
		struct job *job = &jobs->items[j];

		for (uint32_t t = 0; t < job->task_count && outcome == 0; t++)
			outcome = resolve_task(jobs, job, &job->tasks[t], cluster, within_slots, running, err);
	}
	free(running);
	return outcome;
}

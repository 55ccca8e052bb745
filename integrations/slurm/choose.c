/* SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"

#include <stdlib.h>
#include <string.h>

bool slurm_is_adopted(const struct slurm_job *job, const struct slurm_mark *mark)
{
	return strncmp(mark->id, LINK_ID_PREFIX, strlen(LINK_ID_PREFIX)) == 0 &&
	       strcmp(mark->id + strlen(LINK_ID_PREFIX), job->name) == 0;
}

bool slurm_may_start(const struct slurm_job *job, time_t now)
{
	return job->restarts == 0 || now > job->submitted;
}

static const struct slurm_share *find_share(const struct slurm_job *job, const char *host)
{
	for (uint32_t s = 0; s < job->share_count; s++)
		if (strcmp(job->share[s].host, host) == 0)
			return &job->share[s];
	return NULL;
}

static uint32_t count_on(const struct slurm_mark *mark, const char *host)
{
	uint32_t count = 0;

	for (uint32_t h = 0; h < mark->host_count; h++)
		count += strcmp(mark->hosts[h], host) == 0;
	return count;
}

/* True if the job has exactly the nodes of its mark, and on each at least as many CPUs as tasks. */
static bool runs_as_marked(const struct slurm_job *job, const struct slurm_mark *mark)
{
	if (mark->kind != SLURM_MARK_PLACED || mark->host_count != job->tasks)
		return false;
	for (uint32_t h = 0; h < mark->host_count; h++)
		if (!find_share(job, mark->hosts[h]))
			return false;
	for (uint32_t s = 0; s < job->share_count; s++)
		if (count_on(mark, job->share[s].host) == 0 || count_on(mark, job->share[s].host) > job->share[s].cpus)
			return false;
	return true;
}

char **slurm_job_hosts(const struct slurm_job *job, const struct slurm_mark *mark)
{
	char **hosts = calloc((size_t)job->tasks + 1, sizeof *hosts);
	uint32_t share = 0, used = 0;

	if (!hosts)
		return NULL;
	if (runs_as_marked(job, mark)) {
		memcpy(hosts, mark->hosts, mark->host_count * sizeof *hosts);
		return hosts;
	}
	for (uint32_t t = 0; t < job->tasks && job->share_count > 0; t++) {
		/*
		 * If the job has fewer CPUs than tasks (it is overcommitted), the remaining tasks go to the last node.
		 */
		while (share + 1 < job->share_count && used >= job->share[share].cpus) {
			share++;
			used = 0;
		}
		hosts[t] = job->share[share].host;
		used++;
	}
	return hosts;
}

static bool same_hosts(char *const *a, char *const *b, uint32_t count)
{
	for (uint32_t t = 0; t < count; t++)
		if (!a[t] || !b[t] || strcmp(a[t], b[t]) != 0)
			return false;
	return true;
}

/* True if the mark has the machines on which the job runs. */
static bool is_marked(const struct slurm_job *job, const struct slurm_mark *mark, char *const *hosts)
{
	return mark->kind == SLURM_MARK_PLACED && mark->host_count == job->tasks &&
	       same_hosts(mark->hosts, hosts, job->tasks);
}

static bool is_decided(const struct slurm_job *job, const struct sched_job *sched)
{
	return sched->tasks == job->tasks && sched->decided == job->tasks;
}

/* Chooses the step for a job that waits to start on the nodes of a decision, or that was requeued. */
static enum slurm_step step_of_waiting(const struct slurm_job *job, const struct slurm_mark *mark,
				       const struct sched_job *sched, bool late)
{
	bool undecided = !sched->known || sched->running > 0 || sched->tasks != job->tasks;

	/* held: by a user, or by Slurm, which cannot start the job on these nodes */
	if (job->held || late || (!undecided && sched->failed > 0))
		return SLURM_STEP_PASS;
	/* Others may use the slots. After a restart, the reason may be that for which the job waited before. */
	if (job->blocked && job->restarts == 0)
		return SLURM_STEP_PASS;
	if (undecided)
		return job->restarts > 0 ? SLURM_STEP_SUBMIT : SLURM_STEP_PASS;
	if (is_decided(job, sched) && sched->hosts && !is_marked(job, mark, sched->hosts))
		return SLURM_STEP_PLACE;
	/* Other jobs have the CPUs. */
	return is_decided(job, sched) && job->lacks_nodes && job->restarts == 0 ? SLURM_STEP_PASS : SLURM_STEP_NONE;
}

static enum slurm_step step_of_running(const struct slurm_job *job, const struct slurm_mark *mark,
				       const struct sched_job *sched, char *const *hosts)
{
	if (mark->kind == SLURM_MARK_MOVING)
		return is_decided(job, sched) ? SLURM_STEP_REQUEUE : SLURM_STEP_ADOPT;
	if (!sched->known || sched->tasks != job->tasks || sched->decided + sched->running != job->tasks ||
	    !same_hosts(hosts, sched->hosts, job->tasks))
		return SLURM_STEP_ADOPT;
	if (sched->decided > 0)
		return SLURM_STEP_START;
	return is_marked(job, mark, hosts) ? SLURM_STEP_NONE : SLURM_STEP_MARK;
}

enum slurm_step slurm_choose_step(const struct slurm_job *job, const struct slurm_mark *mark,
				  const struct sched_job *sched, char *const *hosts, bool late)
{
	if (job->state == SLURM_RUNNING)
		return step_of_running(job, mark, sched, hosts);
	if (job->state != SLURM_PENDING)
		return SLURM_STEP_NONE;
	switch (mark->kind) {
	case SLURM_MARK_MOVING:
	case SLURM_MARK_PLACED:
		if (slurm_is_adopted(job, mark)) /* Slurm decides again */
			return sched->known ? SLURM_STEP_FORGET : SLURM_STEP_NONE;
		return step_of_waiting(job, mark, sched, late);
	default:
		return sched->known ? SLURM_STEP_FORGET : SLURM_STEP_NONE;
	}
}

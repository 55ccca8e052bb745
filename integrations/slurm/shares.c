/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CPUs of a job on each of its nodes. libslurm 22.05 reads them from the job's record. That of 24.11 has no
 * function for it; then slurmctld is asked, once for each run of a job on several nodes.
 */
#include "rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* hostlist_t is a pointer to a structure in 22.05, and the structure itself in 24.11. */
#define HOSTLIST __typeof__(slurm_hostlist_create(NULL))

/* Fills job->share with the nodes. 0 or -ENOMEM. */
static int take_nodes(struct slurm_job *job, const char *nodes)
{
	HOSTLIST list = slurm_hostlist_create(nodes);
	int count = list ? slurm_hostlist_count(list) : 0, code = 0;
	char *host;

	job->share = calloc((size_t)count + 1, sizeof *job->share);
	while (job->share && code == 0 && (host = slurm_hostlist_shift(list)) != NULL) {
		struct slurm_share *share = &job->share[job->share_count++];

		share->host = strdup(host);
		code = share->host ? 0 : -ENOMEM;
		free(host);
	}
	if (list)
		slurm_hostlist_destroy(list);
	return job->share ? code : -ENOMEM;
}

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)

static void take_cpus(struct slurm_job *job, const job_info_t *from, const struct slurm_job *earlier)
{
	(void)earlier;
	for (uint32_t s = 0; s < job->share_count; s++) {
		int cpus = slurm_job_cpus_allocated_on_node(from->job_resrcs, job->share[s].host);

		job->share[s].cpus = cpus > 0 ? (uint32_t)cpus : 0;
	}
}

#else

/* Copies the CPUs of an earlier record of the same run, if its nodes are the same. */
static bool copy_cpus(struct slurm_job *job, const struct slurm_job *earlier)
{
	if (!earlier || earlier->start != job->start || earlier->share_count != job->share_count)
		return false;
	for (uint32_t s = 0; s < job->share_count; s++)
		if (strcmp(earlier->share[s].host, job->share[s].host) != 0 || earlier->share[s].cpus == 0)
			return false;
	for (uint32_t s = 0; s < job->share_count; s++)
		job->share[s].cpus = earlier->share[s].cpus;
	return true;
}

/* If slurmctld does not say, because the job is ending, the CPUs stay 0 until the job is gone. */
static void ask_cpus(struct slurm_job *job)
{
	resource_allocation_response_msg_t *answer = NULL;
	uint32_t s = 0;

	if (slurm_allocation_lookup(job->id, &answer) != SLURM_SUCCESS)
		return;
	for (uint32_t group = 0; group < answer->num_cpu_groups; group++)
		for (uint32_t n = 0; n < answer->cpu_count_reps[group] && s < job->share_count; n++)
			job->share[s++].cpus = answer->cpus_per_node[group];
	slurm_free_resource_allocation_response_msg(answer);
}

static void take_cpus(struct slurm_job *job, const job_info_t *from, const struct slurm_job *earlier)
{
	if (job->share_count == 1)
		job->share[0].cpus = from->num_cpus;
	else if (!copy_cpus(job, earlier))
		ask_cpus(job);
}

#endif

int shares_take(struct slurm_job *job, const job_info_t *from, const struct slurm_job *earlier)
{
	int code = take_nodes(job, from->nodes);

	if (code == 0)
		take_cpus(job, from, earlier);
	return code;
}

bool shares_has_node(const char *nodes, const char *node)
{
	HOSTLIST list = slurm_hostlist_create(nodes);
	bool has = list && slurm_hostlist_find(list, node) >= 0;

	if (list)
		slurm_hostlist_destroy(list);
	return has;
}

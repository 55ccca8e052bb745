/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's requests to schedd, besides those of <integrations/executor/executor.h>. Tasks are named t0, t1, ...
 * Functions return 0 or -errno with err set.
 */
#ifndef INTEGRATIONS_SLURM_LINK_H
#define INTEGRATIONS_SLURM_LINK_H

#include <integrations/executor/executor.h>

#include "choose.h"

/* Limit, in milliseconds, for an answer of schedd, so that --patience also holds if schedd hangs. */
enum { LINK_LIMIT_MS = 1000 };

/* Reads the number of schedd's last decision. */
int link_last_decision(const struct executor *schedd, uint64_t *number, struct error *err);
/* Returns the numbers of a job's tasks by state at the beginning of the turn; hosts is NULL. */
struct sched_job link_counts(const struct executor *schedd, const char *id);

/* Reads a job from schedd, with the hosts of its tasks. The caller frees *job with link_job_free(). */
int link_read_job(const struct executor *schedd, const char *id, struct sched_job *job, struct error *err);
void link_job_free(struct sched_job *job);

/*
 * Submits a job. hosts: the machines on which its tasks have run for running_s seconds; NULL: the tasks wait for a
 * decision. If schedd has a job with this id, the new job replaces it. Returns -EINVAL if schedd refuses the job.
 */
int link_submit(const struct executor *schedd, const char *id, const struct slurm_request *request, uint32_t tasks,
		char *const *hosts, double running_s, struct error *err);
/*
 * Submits a new job whose tasks wait, and waits at most limit_ms for schedd's decision. Sets no error text. Returns
 * - 0: schedd has decided; *job has the hosts by task, and the caller frees it with link_job_free()
 * - -EAGAIN: schedd has the job, but has not decided in time
 * - -EIO: it is not known whether schedd has the job
 */
int link_decide(const struct executor *schedd, const char *id, const struct slurm_request *request, uint32_t tasks,
		long limit_ms, struct sched_job *job);
/* Reports an event, "started" or "failed", of every task on its host. */
int link_report(const struct executor *schedd, const char *id, const char *event, char *const *hosts, uint32_t tasks,
		struct error *err);

/*
 * Gets the mean predicted performance of the tasks other than the root, on their current machines: NAN if it is unknown
 * for one of the tasks, 1 if there are no other tasks.
 */
int link_performance(const struct executor *schedd, const char *id, uint32_t tasks, uint32_t root, double *performance,
		     struct error *err);
/* Returns the list of the names of schedd's curves; the caller json_decref()s. NULL with err set on failure. */
json_t *link_curves(const struct executor *schedd, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's requests to schedd. Tasks are named t0, t1, ...; ids begin with "slurm-", and the agent ignores jobs in
 * schedd with other ids. Functions return 0 or -errno with err set; -ENOTCONN or -EIO if schedd does not answer.
 */
#ifndef INTEGRATIONS_SLURM_LINK_H
#define INTEGRATIONS_SLURM_LINK_H

#include <jansson.h>

#include <base/hash_table.h>

#include "choose.h"

struct link {
	const char *socket; /* NULL: the client's default */
	json_t *jobs;       /* schedd's jobs at the last link_refresh() */
	struct hash_table job_index;
	uint64_t last_decision;
};

int link_refresh(struct link *link, struct error *err);
void link_free(struct link *link);
/* Returns the numbers of a job's tasks by state at the last link_refresh(); hosts is NULL. */
struct sched_job link_counts(const struct link *link, const char *id);
size_t link_job_count(const struct link *link);
/*
 * Returns the id of a job of link->jobs; NULL if the agent did not submit the job. `number`: 0 to link_job_count() - 1.
 */
const char *link_job_id(const struct link *link, size_t number);

/* Reads a job from schedd, with the hosts of its tasks. The caller frees *job with link_job_free(). */
int link_read_job(const struct link *link, const char *id, struct sched_job *job, struct error *err);
void link_job_free(struct sched_job *job);

/*
 * Submits a job. hosts: the machines on which its tasks have run for running_s seconds; NULL: the tasks wait for a
 * decision. If schedd has a job with this id, the new job replaces it. Returns -EINVAL if schedd refuses the job.
 */
int link_submit(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		char *const *hosts, double running_s, struct error *err);
/*
 * Submits a new job whose tasks wait, and waits at most limit_ms for schedd's decision. Sets no error text. Returns
 * - 0: schedd has decided; *job has the hosts by task, and the caller frees it with link_job_free()
 * - -EAGAIN: schedd has the job, but has not decided in time
 * - -EIO: it is not known whether schedd has the job
 */
int link_decide(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		long limit_ms, struct sched_job *job);
/* Reports an event, "started" or "failed", of every task on its host. */
int link_report(const struct link *link, const char *id, const char *event, char *const *hosts, uint32_t tasks,
		struct error *err);
/* Removes a job from schedd; success, too, if schedd does not have it. */
int link_forget(const struct link *link, const char *id, struct error *err);

/* Reads schedd's machines into an object by name. The caller json_decref()s *machines, also after an error. */
int link_read_machines(const struct link *link, json_t **machines, struct error *err);
/*
 * Updates slots and state ("up", "draining", "down") of a machine in schedd, or adds the machine if `machines`, from
 * link_read_machines(), does not have it. Returns 1 if something changed, 0 if all was up to date, or -errno.
 */
int link_set_machine(const struct link *link, const json_t *machines, const char *name, uint32_t slots,
		     const char *state, struct error *err);

/*
 * Gets the mean predicted performance of the tasks other than the root, on their current machines: NAN if it is unknown
 * for one of the tasks, 1 if there are no other tasks.
 */
int link_performance(const struct link *link, const char *id, uint32_t tasks, uint32_t root, double *performance,
		     struct error *err);
/* Returns the list of the names of schedd's curves; the caller json_decref()s. NULL with err set on failure. */
json_t *link_curves(const struct link *link, struct error *err);

#endif

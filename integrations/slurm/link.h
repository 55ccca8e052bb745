/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's requests to schedd. Tasks are named t0, t1, ...; ids begin with "slurm-", and jobs with other ids are not
 * touched. Functions return 0 or -errno with err set; -ENOTCONN and -EIO: schedd does not answer.
 */
#ifndef INTEGRATIONS_SLURM_LINK_H
#define INTEGRATIONS_SLURM_LINK_H

#include <jansson.h>

#include <base/hash_table.h>

#include "choose.h"

#define LINK_ID_PREFIX "slurm-"

struct link {
	const char *socket; /* NULL: the client's default */
	json_t *jobs;       /* of the last link_refresh() */
	struct hash_table job_index;
	uint64_t last_decision;
};

int link_refresh(struct link *link, struct error *err);
void link_free(struct link *link);
/* Counts of a job as of the refresh; no hosts. */
struct sched_job link_counts(const struct link *link, const char *id);
size_t link_job_count(const struct link *link);
/* Id by number, NULL if the job is not the agent's. */
const char *link_job_id(const struct link *link, size_t number);

/* With hosts. The caller frees. */
int link_read_job(const struct link *link, const char *id, struct sched_job *job, struct error *err);
void link_job_free(struct sched_job *job);

/* hosts NULL: the tasks wait. Replaces a known job with this id. -EINVAL: schedd refuses it. */
int link_submit(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		char *const *hosts, double running_s, struct error *err);
/*
 * Submits a new job whose tasks wait, and waits for schedd's decision: hosts by task, for the caller to free. 0:
 * decided; -EAGAIN: submitted but not decided in time; other codes: schedd may have the job or not. Sets no message.
 */
int link_decide(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		long limit_ms, struct sched_job *job);
/* event: "started" or "failed", of every task on its host. */
int link_report(const struct link *link, const char *id, const char *event, char *const *hosts, uint32_t tasks,
		struct error *err);
int link_forget(const struct link *link, const char *id, struct error *err);

/* Machines by name; the caller json_decref()s, also after an error. */
int link_read_machines(const struct link *link, json_t **machines, struct error *err);
/*
 * Updates slots and state ("up", "draining", "down") of a machine in schedd. 1: changed, 0: it was up to date, -errno.
 */
int link_set_machine(const struct link *link, const json_t *machines, const char *name, uint32_t slots,
		     const char *state, struct error *err);

/*
 * Mean predicted performance of the tasks on their current machines, without the root; NAN if one of them is unknown.
 */
int link_performance(const struct link *link, const char *id, uint32_t tasks, uint32_t root, double *performance,
		     struct error *err);
/* Names of the curves; the caller json_decref()s. */
json_t *link_curves(const struct link *link, struct error *err);

#endif

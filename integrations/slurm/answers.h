/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers the job_submit plug-in (the protocol is described in job_submit_nomora.c) in a separate thread. The agent's
 * main thread cannot answer: it may be waiting for slurmctld, which waits for the answer with its lock held.
 */
#ifndef INTEGRATIONS_SLURM_ANSWERS_H
#define INTEGRATIONS_SLURM_ANSWERS_H

#include <stdbool.h>

#include <jansson.h>

#include <base/error.h>
#include <integrations/slurm/request.h>

enum { ANSWER_BYTES = 4096 };

struct answers;

/* Decides about a new job. Returns true if it has written the answer to `answer`, "PLACE ..." without a newline. */
typedef bool answers_decide(void *context, const struct slurm_request *request, uint32_t tasks,
			    char answer[static ANSWER_BYTES]);

/*
 * Starts the thread, which listens on the unix socket `path`; replaces a socket that a dead agent has left. Returns
 * NULL with err set on failure; -EADDRINUSE: another agent is running.
 */
struct answers *answers_create(const char *path, answers_decide *decide, void *context, struct error *err);
void answers_destroy(struct answers *answers); /* NULL is legal */

/*
 * For the next VALID_S seconds (answers.c), has new jobs decided about, or refuses a job whose curve is not in
 * `curves`, a list of names (NULL: any curve is allowed). After this time, new jobs are left to Slurm. Takes ownership
 * of the list. Jobs of other partitions than `partition` are left to Slurm, as are all jobs if it is NULL, or if jobs
 * wait for nodes (`queue`).
 */
void answers_offer(struct answers *answers, json_t *curves, const char *partition, bool queue);

/* Also answers processes of this user (SlurmUser), besides root and the agent's own user. */
void answers_allow(struct answers *answers, uint32_t uid);

#endif

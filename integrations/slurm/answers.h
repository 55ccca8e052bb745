/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers the job_submit plug-in (the protocol is described in job_submit_nomora.c) in a separate thread. The agent's
 * main thread cannot answer: it may be waiting for slurmctld, which waits for the answer with its lock held.
 */
#ifndef INTEGRATIONS_SLURM_ANSWERS_H
#define INTEGRATIONS_SLURM_ANSWERS_H

#include <jansson.h>

#include <base/error.h>
#include <integrations/slurm/request.h>

enum { ANSWER_BYTES = 4096 };

struct answers;

/*
 * Decides about a new job. The agent calls take_id(), which creates an id, answers HOLD with this id, and calls
 * decide() in the same thread. If decide() returns true, it has written a second answer to `answer`, "PLACE ..."
 * without a newline. slurmctld uses it instead of HOLD if it arrives in time.
 */
struct answers_decider {
	void (*take_id)(void *context, char id[static SLURM_NAME_BYTES]);
	bool (*decide)(void *context, const char *id, const struct slurm_request *request, uint32_t tasks,
		       char answer[static ANSWER_BYTES]);
};

/*
 * Starts the thread, which listens on the unix socket `path`; replaces a socket that a dead agent has left. `decider`
 * NULL: new jobs are only held; schedd decides about them later. Returns NULL with err set on failure; -EADDRINUSE:
 * another agent is running.
 */
struct answers *answers_create(const char *path, const struct answers_decider *decider, void *context,
			       struct error *err);
void answers_destroy(struct answers *answers); /* NULL is legal */

/*
 * For the next VALID_S seconds (answers.c), answers HOLD for new jobs, or REFUSE if the job's curve is not in `curves`,
 * a list of names (NULL: any curve is allowed). After this time, new jobs are left to Slurm. Takes ownership of the
 * list. Jobs of other partitions than `partition` are left to Slurm, as are all jobs if it is NULL.
 */
void answers_hold(struct answers *answers, json_t *curves, const char *partition);

/* Also answers processes of this user (SlurmUser), besides root and the agent's own user. */
void answers_allow(struct answers *answers, uint32_t uid);

#endif

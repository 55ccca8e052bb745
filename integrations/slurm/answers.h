/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers the job_submit plug-in (job_submit_nomora.c has the protocol) in a thread of its own: slurmctld waits with
 * its lock held, and the agent may at that moment wait for slurmctld.
 */
#ifndef INTEGRATIONS_SLURM_ANSWERS_H
#define INTEGRATIONS_SLURM_ANSWERS_H

#include <jansson.h>

#include <base/error.h>
#include <integrations/slurm/request.h>

enum { ANSWER_BYTES = 4096 };

struct answers;

/*
 * Decides about new jobs, in the answering thread, after the job was answered with HOLD under the id. Returns false, or
 * writes the answer that replaces it, "PLACE ..." without a newline; slurmctld uses it if it arrives in time.
 */
struct answers_decider {
	void (*take_id)(void *context, char id[static SLURM_NAME_BYTES]);
	bool (*decide)(void *context, const char *id, const struct slurm_request *request, uint32_t tasks,
		       char answer[static ANSWER_BYTES]);
};

/*
 * Listens on the unix socket; replaces that of a dead agent. -EADDRINUSE: another agent is running. decider NULL: all
 * jobs are held.
 */
struct answers *answers_create(const char *path, const struct answers_decider *decider, void *context,
			       struct error *err);
void answers_destroy(struct answers *answers); /* NULL is legal */

/*
 * For the next VALID_S seconds jobs are held, and those with curves that are not in the list (names; NULL: any curve)
 * are refused; afterwards jobs pass. Takes the list.
 */
void answers_hold(struct answers *answers, json_t *curves);

#endif

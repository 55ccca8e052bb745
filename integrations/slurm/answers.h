/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers the job_submit plug-in (job_submit_nomora.c has the protocol) in a thread of its own: slurmctld waits with
 * its lock held, and the agent may at that moment wait for slurmctld.
 */
#ifndef INTEGRATIONS_SLURM_ANSWERS_H
#define INTEGRATIONS_SLURM_ANSWERS_H

#include <jansson.h>

#include <base/error.h>

struct answers;

/* Listens on the unix socket; one that a dead agent left is replaced. -EADDRINUSE: another agent lives. */
struct answers *answers_create(const char *path, struct error *err);
void answers_destroy(struct answers *answers); /* NULL is legal */

/*
 * For the next VALID_S seconds jobs are held, and those with curves that are not in the list (names; NULL: any curve)
 * are refused; afterwards jobs pass. Takes the list.
 */
void answers_hold(struct answers *answers, json_t *curves);

#endif

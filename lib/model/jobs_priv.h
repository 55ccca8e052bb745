/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_JOBS_PRIV_H
#define MODEL_JOBS_PRIV_H

#include <model/jobs.h>

/* Frees the memory of a job and clears it; the job may be incomplete. */
void job_free(struct job *job);

#endif

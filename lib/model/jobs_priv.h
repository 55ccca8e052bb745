/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_JOBS_PRIV_H
#define MODEL_JOBS_PRIV_H

#include <model/jobs.h>

/* Frees what a job holds and clears it; a job that is only half filled is fine. */
void job_free(struct job *job);

#endif

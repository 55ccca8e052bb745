/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a job's dependencies, as Slurm shows it. */
#ifndef INTEGRATIONS_SLURM_DEPEND_H
#define INTEGRATIONS_SLURM_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

enum slurm_outcome { SLURM_NOT_ENDED /* or not known */, SLURM_SUCCEEDED, SLURM_DID_NOT_SUCCEED };

/*
 * Slurm updates the text of a held job only about once a minute. True if the job still waits: unless all its
 * dependencies are afterany and afterok of jobs of which outcome() says that they have ended as they should, and are
 * not part of an array. Slurm itself judges the others. text: "afterok:12(unfulfilled),afterany:13(unfulfilled)"; NULL,
 * "": none.
 */
bool slurm_waits(const char *text, enum slurm_outcome (*outcome)(const void *context, uint32_t id),
		 const void *context);

#endif

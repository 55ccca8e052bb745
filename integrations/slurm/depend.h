/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a job's dependencies, as Slurm shows it. */
#ifndef INTEGRATIONS_SLURM_DEPEND_H
#define INTEGRATIONS_SLURM_DEPEND_H

#include <stdbool.h>
#include <stdint.h>

enum slurm_outcome { SLURM_NOT_ENDED /* or not known */, SLURM_SUCCEEDED, SLURM_DID_NOT_SUCCEED };

/*
 * Returns true if a job must still wait for its dependencies. text: "afterok:12(unfulfilled),afterany:13(unfulfilled)";
 * NULL or "": no dependencies. Slurm updates the text of a held job only about once a minute, so the function calls
 * outcome() for each job that afterok, afternotok or afterany names. Any other dependency, such as one on an array,
 * counts as unfulfilled for as long as it is in the text.
 */
bool slurm_waits(const char *text, enum slurm_outcome (*outcome)(const void *context, uint32_t id),
		 const void *context);

#endif

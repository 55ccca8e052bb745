/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and CPUs of a job, in all supported versions of libslurm. Private. */
#ifndef INTEGRATIONS_SLURM_SHARES_H
#define INTEGRATIONS_SLURM_SHARES_H

#include <stdbool.h>

#include <slurm/slurm.h>

#include "view.h"

/*
 * Fills job->share from Slurm's record, which has nodes; the job has its id and start already. earlier: the job with
 * this id in the last view, or NULL. 0 or -ENOMEM.
 */
int shares_take(struct slurm_job *job, const job_info_t *from, const struct slurm_job *earlier);

/* True if Slurm's list of nodes, "n[1-4],n7", has the node. */
bool shares_has_node(const char *nodes, const char *node);

#endif

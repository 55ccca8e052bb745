/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How Slurm's configuration gives CPUs and memory to jobs, and whether schedd can place jobs under these rules. schedd
 * counts slots: each task takes one slot, wherever it runs. That is right only if each task of a job without options
 * takes one CPU and the same memory, and if nothing else limits the job's nodes. Pure functions.
 */
#ifndef INTEGRATIONS_SLURM_RULES_H
#define INTEGRATIONS_SLURM_RULES_H

#include <slurm/slurm.h>

#include "view.h"

/* slurm_rules_of(): the rules of slurm.conf; slurm_rules_in(): these, where the partition does not set others. */
struct slurm_rules slurm_rules_of(const slurm_conf_t *conf);
struct slurm_rules slurm_rules_in(struct slurm_rules rules, const partition_info_t *partition);

/*
 * Checks whether schedd can place jobs under the rules of a partition of a cluster with this number of nodes. Returns
 * 0, or -ENOTSUP with err set, which names the setting and what to set instead.
 */
int slurm_rules_check(const struct slurm_rules *rules, const partition_info_t *partition, uint32_t node_count,
		      struct error *err);

/* The memory, in MB, that a task takes from its node under rules that were checked; 0: Slurm allocates no memory. */
uint64_t slurm_rules_task_memory(const struct slurm_rules *rules);

#endif

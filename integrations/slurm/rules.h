/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How Slurm's configuration gives CPUs and memory to jobs, and whether schedd can place jobs under these rules. schedd
 * counts slots: each task takes one slot, wherever it runs. That is right only if each task of a job without options
 * takes one CPU, and if nothing but CPUs and memory limits the job's nodes. Pure functions.
 */
#ifndef INTEGRATIONS_SLURM_RULES_H
#define INTEGRATIONS_SLURM_RULES_H

#include <stdbool.h>

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

/*
 * The number of tasks of one job that Slurm could start now on the node, of which `cpus` CPUs are free, under rules
 * that were checked.
 */
uint32_t slurm_rules_startable(const struct slurm_rules *rules, const struct slurm_node *node, uint32_t cpus);

/*
 * True if schedd's choice for a job of this many tasks may have this many nodes. `largest`: the greatest
 * slurm_rules_startable() of all nodes. With memory by node (DefMemPerNode, or no default), a job that has more nodes
 * than it needs takes memory from other jobs. MaxMemPerNode refuses a job whose tasks take more memory of a node; it
 * counts tasks / nodes, rounded up.
 */
bool slurm_rules_allow(const struct slurm_rules *rules, uint32_t largest, uint32_t tasks, uint32_t nodes);

/* True if slurm_rules_allow() may return false. */
bool slurm_rules_count_nodes(const struct slurm_rules *rules);

/* Nodes and CPUs of a job, in all supported versions of libslurm. */

/*
 * Fills job->share from Slurm's record, which has nodes; the job has its id and start already. earlier: the job with
 * this id in the last view, or NULL. 0 or -ENOMEM.
 */
int shares_take(struct slurm_job *job, const job_info_t *from, const struct slurm_job *earlier);

/* True if Slurm's list of nodes, "n[1-4],n7", has the node. */
bool shares_has_node(const char *nodes, const char *node);

#endif

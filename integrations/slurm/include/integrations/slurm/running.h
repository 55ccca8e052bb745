/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running jobs in the output of one of Slurm's programs. Pure functions.
 *
 * scontrol -o -d show job: a line of KEY=VALUE per job. It has the CPUs on each node. If they are as many as the tasks
 * need, each node has a task for each CPUs/Task of its CPUs, as srun distributes them by default.
 *
 * sacct -P, squeue -o '%i|%T|%N|%C|%k': a header with the names of the columns, fields between '|'. Columns: JobID and
 * NodeList; with State, only jobs that run count; NTasks (of the largest step), else AllocCPUS or CPUS, is the number
 * of tasks; a Comment "nomora:curve=..." has the curve and the root (sacct prints it only after the job's end).
 *
 * If the tasks on each node are not known, they are divided evenly among the nodes, in blocks in their order; the first
 * nodes have one more if the division leaves a rest. A job of one node, or with one task per node, needs no guess.
 */
#ifndef INTEGRATIONS_SLURM_RUNNING_H
#define INTEGRATIONS_SLURM_RUNNING_H

#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <base/file.h>

enum { SLURM_NODES_MAXIMUM = 100000, SLURM_NODE_NAME_BYTES = 256 };

struct slurm_running_report {
	uint64_t guessed; /* jobs whose tasks were divided evenly, because the tasks on each node are not known */
};

/*
 * Returns id -> {"curve", "root", "tasks": {TASK: NODE}}; "curve" is absent if the job has no comment for nomora. Tasks
 * are named by number. The components of a heterogeneous job are one job. The caller closes `lines` and json_decref()s
 * the result. NULL with err set ("file:line: field: ...") if a row is bad.
 */
json_t *slurm_running_read(struct file_lines *lines, struct slurm_running_report *report, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent between Slurm and a running nomora schedd: schedd decides, Slurm acts. The agent keeps no state of its own.
 * It periodically compares Slurm with schedd and takes the necessary steps (choose.h), so agent, schedd and slurmctld
 * can be restarted in any order. libslurm reads slurm.conf ($SLURM_CONF); it ends the process if that file is invalid.
 */
#ifndef INTEGRATIONS_SLURM_AGENT_H
#define INTEGRATIONS_SLURM_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <base/file.h>

struct slurm_agent_options {
	const char *schedd;  /* unix socket; NULL: the client's default */
	const char *socket;  /* socket for the plug-in's requests */
	double poll_s;       /* seconds between comparisons of Slurm with schedd */
	double patience_s;   /* seconds without a start where schedd decided, or without an answer from schedd, after
				which a waiting job is left to Slurm */
	bool migrate;        /* requeue running jobs that would perform better elsewhere */
	double migrate_gain; /* minimum gain of mean predicted performance */
	double no_return_s;  /* minimum seconds between two moves of a job */
	double review_s;     /* seconds between reviews; a review checks whether to move one running job */
};

/*
 * Runs until *stop is set. Returns 0, or -errno with err set; -EADDRINUSE: another agent uses the socket, -EPROTO:
 * slurmctld has another version.
 */
int slurm_agent_run(const struct slurm_agent_options *options, const volatile sig_atomic_t *stop, struct error *err);

/* A job as Slurm's commands name it. */
struct slurm_job_name {
	uint32_t job;
	bool is_element; /* of the array `job` */
	uint32_t element;
};

/* Parses "12" or "12_3". Returns false for any other text. */
bool slurm_job_name_parse(const char *text, struct slurm_job_name *name);

/*
 * Gets the machines of a job, by task; the caller frees the array and the names. Returns 0, or -errno with err
 * set; -ENOENT: Slurm does not have the job, or has not started it.
 */
int slurm_job_layout(const struct slurm_job_name *name, char ***hosts, uint32_t *count, struct error *err);
/* nomora.hostfile/1; NULL: out of memory. */
json_t *slurm_job_layout_to_json(const struct slurm_job_name *name, char *const *hosts, uint32_t count);

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting and running jobs: one JSON object per line (docs/formats.md has the whole form):
 *
 *   {"id": "web", "curve": "memcached", "root": "server", "tasks": ["server", "client1", {"name": "client2",
 *    "machine": "h3", "running_s": 12.5}, {"name": "client3", "waited_s": 4}]}
 *
 * Each task takes one slot. A task with a machine runs there; the others wait. Durations are in seconds, and end at the
 * time when the file was written. The caller owns the jobs (jobs_destroy()); readers may share them between threads.
 */
#ifndef MODEL_JOBS_H
#define MODEL_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>
#include <model/cluster.h>
#include <model/job_graph.h>

enum { JOB_TASKS_MAXIMUM = 1000000, JOB_NO_MACHINE = -1 };

struct job_task {
	char *name;
	char *machine_name; /* NULL: the task waits */
	int64_t machine;    /* number of the machine in the cluster, set by jobs_resolve(); JOB_NO_MACHINE if the task
			       waits */
	double running_s;   /* how long it has run so far, 0 when it waits */
	double waited_s;    /* how long it has waited so far */
};

/*
 * Limits for this job. Those of migration are used if they are stricter than the scheduler's own; 0: the scheduler's.
 */
struct job_limits {
	double migrate_gain, migrate_hold_s; /* minimum gain of performance, 0..1; time that it must have lasted */
	uint32_t migrate_tasks;              /* maximum number of tasks that migrate at the same time */
	uint32_t minimum_tasks; /* number of tasks that must fit before any task starts; 0: tasks start independently */
};

struct job {
	char *id;
	char *curve; /* name of a curve, not a path */
	struct job_task *tasks;
	uint32_t task_count;
	uint32_t root; /* number of the task that the others talk to */
	struct job_limits limits;
	struct job_graph *graph; /* which tasks talk to each other; NULL: all to the root */
	long line;               /* line of the file, for messages */
};

struct jobs {
	struct job *items;
	size_t count, capacity;
	char *file; /* for messages */
};

/*
 * Reads a file (plain or gzip, "-" = stdin). NULL with err set "file:line: field: ...". An empty file is not an error.
 */
struct jobs *jobs_read(const char *path, struct error *err);
/* As jobs_read(), from lines that the caller opens and closes. */
struct jobs *jobs_parse(struct file_lines *lines, struct error *err);
void jobs_destroy(struct jobs *jobs); /* NULL is legal */

/*
 * Finds the machine of every running task. within_slots: more tasks on a machine than it has slots are an error.
 * Returns 0; or with err set: -ENOENT if the cluster lacks a machine, -EINVAL if it has too few slots, or -ENOMEM.
 */
int jobs_resolve(struct jobs *jobs, const struct cluster *cluster, bool within_slots, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the present placement of running jobs with the best one that the scheduler finds and with a random one, by
 * the measured mesh and the jobs' curves. Reads files only. Use from one thread.
 *
 * A task's performance is its curve at the round trip between its machine and that of its job's root; the root itself
 * has none. A job's performance is the mean over its other tasks. Each task takes one slot.
 *
 * The best placement is the one with the greatest mean over all tasks of three: the present one; all tasks placed from
 * scratch; and roots kept on their machines, with the other tasks placed again. So it is never worse than the present
 * one. The random placement is the mean over a number of random ones.
 *
 * A job is left out, and keeps its slots, if
 * - it has no curve, or only one task
 * - one of its hosts is not in the mesh (or in the cluster file)
 * - a present pair of root and task was not measured, or never answered: a guess about it would give a gain that is not
 *   there
 */
#ifndef SCHED_GAIN_GAIN_H
#define SCHED_GAIN_GAIN_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <sched/place/place.h>

struct gain_settings {
	struct place_settings place; /* cluster may be NULL: the hosts of the mesh; jobs, policy: not used */
	const char *curve;           /* of the jobs that name none; NULL: they are left out */
	int64_t slots;               /* slots of each host, at least those that the jobs use; 0: just those */
	int64_t seeds;               /* number of random placements */
};

/* Performance, 0..1, with the bounds of the curves' bands (means of the tasks' bounds); NAN = not known. */
struct gain_share {
	double performance, low, high;
};

/*
 * A job, or a mean. gain: best minus today, relative to today. gain_low, gain_high: its bounds; a task whose round trip
 * stays the same adds nothing to them, another one the bands at both round trips in opposite directions.
 */
struct gain_row {
	const char *job, *curve; /* NULL in a mean */
	uint64_t tasks;          /* without roots */
	struct gain_share today, best;
	double random, gain, gain_low, gain_high;
};

struct gain_task {
	bool root;
	int64_t today, best; /* machines */
	double today_rtt_us, best_rtt_us;
};

struct gain {
	struct place_world world;
	struct gain_row *rows; /* [job_count], as world.jobs */
	size_t job_count;
	struct gain_task *tasks; /* of all jobs, in their order */
	size_t task_count;
	struct gain_row mean_of_jobs, mean_of_tasks;
	uint64_t moved;    /* tasks, with roots, whose best machine is another one */
	json_t *left_out;  /* id of the job -> reason */
	json_t *foreign;   /* host that is not in the mesh -> number of tasks there */
	uint64_t hosts;    /* hosts in the mesh or the cluster file */
	double matrix_end; /* time of the latest measurement, seconds since the epoch; NAN = none */
};

/*
 * `running`: id -> {"curve", "root", "tasks": {TASK: HOST}}; it is changed. Returns 0, or -errno with err set; the
 * caller calls gain_free() in either case. job_count 0: every job was left out.
 */
int gain_run(const struct gain_settings *settings, json_t *running, struct gain *gain, struct error *err);
void gain_free(struct gain *gain);

/* Prints a table for people. Returns 0 or -EIO. */
int gain_print_table(const struct gain_settings *settings, const struct gain *gain, FILE *out);
/* Returns nomora.gain/1, or NULL if out of memory. */
json_t *gain_to_json(const struct gain_settings *settings, const struct gain *gain);

/* Fills rows, tasks and means from gain->world, whose jobs run. Returns 0, or -errno with err set. */
int gain_compare(const struct gain_settings *settings, struct gain *gain, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Google clusterdata-2011-2 (Reiss, Wilkes, Hellerstein: "Google cluster-usage traces: format + schema", 2011):
 *
 *   DIR/machine_events/part-00000-of-00001.csv[.gz]   time,machine,event,platform,CPUs,memory
 *   DIR/task_events/part-?????-of-?????.csv[.gz]      time,missing info,job,task index,machine,event,...: 13 columns
 *
 * Parts are read in the order of their numbers. If a part is missing, the state of a task does not change until the
 * task's next event. If the task waited before the missing part and its next event is its end, it counts as started at
 * the beginning of the missing part. If the first part is missing, the workload begins in the middle of the trace: a
 * task whose first event is not its submission waits (if it is scheduled or updated as it waits) or runs from the time
 * of the first row on. Tasks without an event in the parts are not known. Times are microseconds. The trace begins at
 * 600 s, which is time 0 of the workload; time 0 of the trace means before the trace.
 *
 * A task is submitted at its first submission, and its run time is the sum over its attempts; if the last attempt has
 * no end, the task runs to the end of the simulation. Tasks without an attempt are left out and counted. Rows that
 * cannot be used are skipped; the report counts them by kind, with the place of the first of each kind.
 */
#ifndef MODEL_GOOGLE_TRACE_H
#define MODEL_GOOGLE_TRACE_H

#include <jansson.h>

#include <base/error.h>
#include <base/file.h>
#include <base/progress.h>
#include <model/workload.h>

#define GOOGLE_TRACE_START_US INT64_C(600000000)

enum google_trace_problem {
	GOOGLE_TRACE_PART_MISSING,
	GOOGLE_TRACE_PART_REPEATED,
	GOOGLE_TRACE_PART_UNREADABLE, /* damaged or cut off; the rows before the damage are used */
	GOOGLE_TRACE_COLUMNS,
	GOOGLE_TRACE_NUMBER,
	GOOGLE_TRACE_EVENT,             /* unknown event type */
	GOOGLE_TRACE_BACKWARDS,         /* the time is before that of the previous row */
	GOOGLE_TRACE_UNKNOWN_MACHINE,   /* a task scheduled on a machine without machine events; the row is used */
	GOOGLE_TRACE_REMOVED_MACHINE,   /* a task scheduled on a machine that was removed; the row is used */
	GOOGLE_TRACE_START_TWICE,       /* a task that is scheduled while it runs */
	GOOGLE_TRACE_END_WITHOUT_START, /* a task that is evicted, fails, finishes or is lost without running */
	GOOGLE_TRACE_PROBLEMS,          /* number of kinds */
};
const char *google_trace_problem_name(enum google_trace_problem problem);

struct google_trace_report {
	uint64_t rows, parts;
	int64_t last_us; /* time of the workload of the last row of the tasks */
	uint64_t problems[GOOGLE_TRACE_PROBLEMS];
	char first[GOOGLE_TRACE_PROBLEMS][192]; /* "file:line: text" of the first of each kind */
};

struct google_trace_options {
	int64_t until_us;          /* parts after this time (of the workload) are not read */
	bool strict;               /* fail at the first problem */
	struct progress *progress; /* NULL is legal */
};

/*
 * Adds the trace to the workload; to be called before workload_finish(). Returns 0; or -errno with err set: there is no
 * usable task, or `strict` is set and the trace has a problem.
 */
int google_trace_read(struct workload *workload, const char *folder, const struct google_trace_options *options,
		      struct google_trace_report *report, struct error *err);

/* The steps of google_trace_read(), for tests and for reading from memory. */
struct google_trace_reader;
struct google_trace_reader *google_trace_reader_create(struct workload *workload, bool strict,
						       struct google_trace_report *report);
void google_trace_reader_destroy(struct google_trace_reader *reader);
/*
 * These read all rows of one part and close `lines`. They return 0 or -errno: out of memory, or `strict` is set and a
 * row has a problem.
 */
int google_trace_read_machines(struct google_trace_reader *reader, struct file_lines *lines, struct error *err);
int google_trace_read_tasks(struct google_trace_reader *reader, struct file_lines *lines, struct error *err);
/* Adds the tasks to the workload. */
int google_trace_reader_finish(struct google_trace_reader *reader, struct error *err);

/*
 * Writes a finished workload: each machine event, and for each task the events submit, schedule (at its submission)
 * and, if it ends, finish. Makes the folder. Each table is one uncompressed part, which is written whole or not at all.
 * Returns 0, or -errno with err set.
 */
int google_trace_write(const struct workload *workload, const char *folder, struct error *err);
/* Returns nomora.tracegen/1: the numbers of machines, jobs and tasks of a finished workload. NULL: out of memory. */
json_t *google_trace_counts_to_json(const struct workload *workload);

#endif

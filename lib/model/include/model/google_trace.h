/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Google clusterdata-2011-2 (Reiss, Wilkes, Hellerstein: "Google cluster-usage traces: format + schema", 2011):
 *
 *   DIR/machine_events/part-00000-of-00001.csv[.gz]   time,machine,event,platform,CPUs,memory
 *   DIR/task_events/part-?????-of-?????.csv[.gz]      time,missing info,job,task index,machine,event,...: 13 columns
 *
 * Parts are read in the order of their numbers. A missing part is bridged: a task that is open before it stays open
 * until its next event. Times are microseconds; the trace begins at 600 s, and 0 means before the trace. The workload's
 * time 0 is the trace's 600 s.
 *
 * A task counts from its first submission and runs for the sum of its attempts; a task whose last attempt has no end
 * runs to the end. Tasks without an attempt are left out and counted. Rows that cannot be used are skipped, and counted
 * by kind with the first place of each.
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
	GOOGLE_TRACE_PART_UNREADABLE, /* cut-off or damaged; the rows before the damage count */
	GOOGLE_TRACE_COLUMNS,
	GOOGLE_TRACE_NUMBER,
	GOOGLE_TRACE_EVENT, /* unknown event type */
	GOOGLE_TRACE_BACKWARDS,
	GOOGLE_TRACE_UNKNOWN_MACHINE,   /* a task scheduled on a machine without machine events; the row counts */
	GOOGLE_TRACE_REMOVED_MACHINE,   /* a task scheduled on a machine that was removed; the row counts */
	GOOGLE_TRACE_START_TWICE,       /* scheduled while it runs */
	GOOGLE_TRACE_END_WITHOUT_START, /* finished or evicted without an attempt */
	GOOGLE_TRACE_PROBLEMS,          /* number of kinds */
};
const char *google_trace_problem_name(enum google_trace_problem problem);

struct google_trace_report {
	uint64_t rows, parts;
	uint64_t problems[GOOGLE_TRACE_PROBLEMS];
	char first[GOOGLE_TRACE_PROBLEMS][192]; /* "file:line: text" of the first of each kind */
};

struct google_trace_options {
	int64_t until_us;          /* of the workload's time: later parts are not read */
	bool strict;               /* the first problem is an error */
	struct progress *progress; /* NULL is legal */
};

/*
 * Adds the trace to a workload that is not finished. 0 or -errno with err set: there is no usable task, or `strict` is
 * set and the trace has a problem.
 */
int google_trace_read(struct workload *workload, const char *folder, const struct google_trace_options *options,
		      struct google_trace_report *report, struct error *err);

/* The parts of google_trace_read(), for memory and tests. */
struct google_trace_reader;
struct google_trace_reader *google_trace_reader_create(struct workload *workload, bool strict,
						       struct google_trace_report *report);
void google_trace_reader_destroy(struct google_trace_reader *reader);
/* All rows of one part. 0 or -errno: out of memory, or `strict` is set and a row has a problem. Closes the lines. */
int google_trace_read_machines(struct google_trace_reader *reader, struct file_lines *lines, struct error *err);
int google_trace_read_tasks(struct google_trace_reader *reader, struct file_lines *lines, struct error *err);
/* Moves the tasks into the workload. */
int google_trace_reader_finish(struct google_trace_reader *reader, struct error *err);

/*
 * Writes a finished workload: each machine event, and for each task submit, schedule (at its submission) and finish.
 * Makes the folder; one plain part a table, each written whole or not at all. 0 or -errno with err set.
 */
int google_trace_write(const struct workload *workload, const char *folder, struct error *err);
/* nomora.tracegen/1: the numbers of machines, jobs and tasks of a finished workload. NULL: out of memory. */
json_t *google_trace_counts_to_json(const struct workload *workload);

#endif

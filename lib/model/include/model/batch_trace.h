/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the accounting of batch systems, and a table of jobs, as workloads to simulate:
 *
 *   Standard Workload Format (Feitelson's archive): 18 numbers a line, comments after ';', headers "; MaxNodes: 128"
 *   `sacct -P` of Slurm: a header with the names of the columns, fields between '|'
 *   CSV, to which other traces are converted: a header with the columns job, submit, run, tasks and, if the trace has
 *   them, curve, root, gang and graph
 *
 * The number of a job's tasks is:
 * - in SWF, that of the allocated processors; if it is missing, that of the requested processors
 * - in sacct, NTasks of the job's row or, as Slurm prints it for steps alone, of its largest step; without both,
 *   AllocCPUS, then NCPUS, then NNodes
 *
 * SWF rows of partial executions (status 2 to 4) are skipped: another row has the whole run. sacct's components of a
 * heterogeneous job ("104+1") are one job. Rows of sacct with one JobID (-D) are attempts of one job, whose run times
 * add up; in SWF, a repeated number is another job. sacct's times are local times of this machine, or seconds since
 * 1970; the run time is ElapsedRaw if there is this column.
 *
 * A row of the CSV is `tasks` tasks of a job, submitted at `submit`, which run for `run` seconds each; an empty `run`
 * is a run without an end. All rows with the same `job` (a number or a name) are one job. Its root is the first task of
 * the row whose `root` is 1, else of its first row. `curve` is the name of the job's curve; an empty one is not known.
 * `gang`, the same in all rows of a job, is the number of its tasks that must start together with the root. `graph`,
 * also the same in all rows, is the name of a graph between the job's tasks (<model/job_graph.h>).
 *
 * All tasks of a job (in CSV, of a row) have the same submission and run time. Jobs that never ran are left out and
 * counted. A job without an end runs to the end of the simulation. Times become microseconds since the first
 * submission. The trace does not list the machines, but the report has their number and slots if the header states
 * them. Rows of SWF and sacct that cannot be used are skipped; the report counts them by kind, with the place of the
 * first of each kind. A bad row of the CSV is an error.
 *
 * Memory: 64 bytes for each row, and one struct workload_task for each task that the workload's `early` filter keeps.
 */
#ifndef MODEL_BATCH_TRACE_H
#define MODEL_BATCH_TRACE_H

#include <stdbool.h>

#include <base/error.h>
#include <base/file.h>
#include <model/workload.h>

enum batch_format { BATCH_SWF, BATCH_SACCT, BATCH_CSV };

enum batch_problem {
	BATCH_COLUMNS, /* too few columns */
	BATCH_NUMBER,  /* a field is not a number or a time */
	BATCH_ORDER,   /* the job ends before its start, or starts before its submission */
	BATCH_TASKS,   /* the job has no processors, or more than a million */
	BATCH_DAMAGED, /* the file is damaged or cut off; the rows before the damage are used */
	BATCH_PROBLEMS,
};
const char *batch_problem_name(enum batch_problem problem);

struct batch_report {
	uint64_t rows, jobs;
	uint64_t partial;  /* SWF: rows of partial executions, which are skipped */
	uint64_t repeated; /* rows with the id of an earlier row */
	uint64_t problems[BATCH_PROBLEMS];
	char first[BATCH_PROBLEMS][192]; /* "file:line: text" */
	uint64_t peak_tasks;             /* maximum number of tasks that ran at the same time */
	/*
	 * Time 0 of the workload, seconds since 1970: by SWF's header "; UnixStartTime:", sacct's times, or the CSV's
	 * if they are from 1e9 (the year 2001) on; NAN = not known.
	 */
	double origin_s;
	int64_t machines, slots; /* number of machines, and slots per machine, from the header; 0 = not stated */
};

/*
 * Adds the jobs, but no machines, to the workload; call it before workload_finish(). The caller closes `lines`. Returns
 * 0, or -errno with err set. It is an error if a header is missing, if no job ran, or, with `strict` or in CSV, if a
 * row has a problem.
 */
int batch_trace_read(struct workload *workload, enum batch_format format, struct file_lines *lines, bool strict,
		     struct batch_report *report, struct error *err);

#endif

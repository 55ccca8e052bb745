/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounting of batch systems as workloads to simulate:
 *
 *   Standard Workload Format (Feitelson's archive): 18 numbers a line, comments after ';', headers "; MaxNodes: 128"
 *   `sacct -P` of Slurm: a header with the names of the columns, fields between '|'
 *
 * A job becomes as many tasks as it had processors (SWF: allocated, else requested; sacct: NTasks, else AllocCPUS,
 * NCPUS or NNodes), all submitted and run as the job was. Jobs that never ran are left out and counted; a job without
 * an end runs to the end of the simulation. Times become microseconds since the first submission. The trace names no
 * machines that could be used: `machines` and `slots` say how many there were. Rows that cannot be used are skipped,
 * and counted by kind with the first place of each.
 */
#ifndef MODEL_BATCH_TRACE_H
#define MODEL_BATCH_TRACE_H

#include <stdbool.h>

#include <base/error.h>
#include <base/file.h>
#include <model/workload.h>

enum batch_format { BATCH_SWF, BATCH_SACCT };

enum batch_problem {
	BATCH_COLUMNS, /* too few columns */
	BATCH_NUMBER,  /* a field is not a number or a time */
	BATCH_ORDER,   /* an end before its start, a start before its submission */
	BATCH_TASKS,   /* no processors, or over a million */
	BATCH_DAMAGED, /* the file is cut off; the rows before count */
	BATCH_PROBLEMS,
};
const char *batch_problem_name(enum batch_problem problem);

struct batch_report {
	uint64_t rows, jobs;
	uint64_t problems[BATCH_PROBLEMS];
	char first[BATCH_PROBLEMS][192]; /* "file:line: text" */
	uint64_t peak_tasks;             /* maximum number of running tasks */
	int64_t machines, slots;         /* from the trace's header; 0 = not stated */
};

/*
 * Adds the jobs to a workload that is not finished, but no machines. 0 or -errno with err set: no header (sacct), no
 * usable job, or with `strict` the first problem. `lines` is borrowed.
 */
int batch_trace_read(struct workload *workload, enum batch_format format, struct file_lines *lines, bool strict,
		     struct batch_report *report, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which curve a job of a trace has: CSV with a header that names the columns `job` (its number) and `curve` (the name
 * of one); other columns, and lines that begin with '#', are skipped. jobs.csv of a simulation is such a file.
 */
#ifndef MODEL_JOB_CURVES_H
#define MODEL_JOB_CURVES_H

#include <base/error.h>
#include <base/file.h>
#include <model/workload.h>

/* Reads the curves of jobs, which may get tasks later. 0, or -errno with err set "file:line: ..."; a job with two
 * curves is an error. */
int job_curves_read(struct workload *workload, struct file_lines *lines, struct error *err);

#endif

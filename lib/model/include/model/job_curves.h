/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The curves of a trace's jobs: CSV with a header that names the columns `job` (the job's number) and `curve` (the name
 * of its curve). Other columns, and lines that begin with '#', are ignored. The jobs.csv of a simulation is such a
 * file.
 */
#ifndef MODEL_JOB_CURVES_H
#define MODEL_JOB_CURVES_H

#include <base/error.h>
#include <base/file.h>
#include <model/workload.h>

/*
 * Records the name and the curve of a job as workload_note_job() does, but returns -EEXIST only if the job has another
 * curve.
 */
int job_curves_note(struct workload *workload, uint64_t job, const char *name, const char *curve);

/*
 * Records the curves of jobs in the workload; the tasks of these jobs may be added later. Returns 0, or -errno with err
 * set ("file:line: ..."); a job with two different curves is an error.
 */
int job_curves_read(struct workload *workload, struct file_lines *lines, struct error *err);

#endif

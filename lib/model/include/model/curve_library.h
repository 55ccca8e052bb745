/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves by name: the curve NAME is the file DIR/NAME.json, which is loaded when it is first requested. Curves are
 * numbered from 0 in the order of loading; their numbers stay valid. One thread.
 */
#ifndef MODEL_CURVE_LIBRARY_H
#define MODEL_CURVE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>
#include <model/curve.h>
#include <model/workload.h>

struct curve_library;

/* Returns NULL if out of memory. If `folder` is NULL, curves come only from curve_library_define(). */
struct curve_library *curve_library_create(const char *folder);
void curve_library_destroy(struct curve_library *library); /* NULL is legal */

/*
 * Returns the number of the curve; or with err set: -EINVAL (not a valid name), -ENOENT, -ENOMEM or the file's error.
 */
int64_t curve_library_find(struct curve_library *library, const char *name, struct error *err);
/*
 * Defines the curve of this name by `text` (nomora.curve/1), instead of the folder's file. Frees an earlier curve of
 * this name. Returns 0, or -errno with err set.
 */
int curve_library_define(struct curve_library *library, const char *name, const char *text, struct error *err);
size_t curve_library_count(const struct curve_library *library);
const struct curve *curve_library_at(const struct curve_library *library, size_t number);
const char *curve_library_name(const struct curve_library *library, size_t number);

/*
 * The curves of a trace's jobs: CSV with a header that names the columns `job` (the job's number) and `curve` (the name
 * of its curve). Other columns, and lines that begin with '#', are ignored. The jobs.csv of a simulation is such a
 * file.
 */

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

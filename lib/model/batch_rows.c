/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that all readers of batch traces keep, and the problems that they count. */
#include "batch_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <base/array.h>

static const char *const problem_names[BATCH_PROBLEMS] = {
	"rows with too few columns",
	"rows with a bad number or time",
	"jobs whose submission, start and end are out of order",
	"jobs without processors, or with over 1,000,000",
	"damaged files",
};

const char *batch_problem_name(enum batch_problem problem)
{
	return problem_names[problem];
}

int batch_note(struct reading *reading, enum batch_problem problem, const char *text)
{
	struct batch_report *report = reading->report;

	if (report->problems[problem]++ == 0)
		snprintf(report->first[problem], sizeof report->first[problem], "%.100s:%ld: %.70s",
			 file_lines_name(reading->lines), file_lines_number(reading->lines), text);
	return reading->strict ? error_set(reading->err, EINVAL, "%s", report->first[problem]) : 0;
}

int batch_keep(struct reading *reading, const struct job *job)
{
	struct job *larger;

	if (job->tasks == 0)
		return batch_note(reading, BATCH_TASKS, "expected 1 to 1,000,000 processors");
	if (job->run_s < 0 || job->start_s < job->submit_s)
		return batch_note(reading, BATCH_ORDER, "expected submission, start and end in this order");
	larger = array_grow(reading->jobs, reading->count, &reading->capacity, sizeof *larger);
	if (!larger)
		return error_set(reading->err, ENOMEM, "out of memory");
	reading->jobs = larger;
	larger[reading->count] = *job;
	if (reading->csv_columns == 0)
		larger[reading->count].row = reading->count;
	reading->count++;
	return 0;
}

int batch_compare_ids(const void *left, const void *right)
{
	const struct job *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

int batch_compare_rows(const void *left, const void *right)
{
	const struct job *a = left, *b = right;

	return a->row < b->row ? -1 : a->row > b->row;
}

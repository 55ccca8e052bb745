/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of jobs, CSV. */
#include "batch_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash.h>
#include <base/number.h>
#include <model/curve_library.h>
#include <model/job_graph.h>

static const char *const csv_names[CSV_COLUMNS] = {"job", "submit", "run", "tasks", "curve", "root", "gang", "graph"};

static int bad_csv(const struct reading *reading, enum csv_column column, const char *found, const char *expected)
{
	return error_at(reading->err,
			(struct error_place){file_lines_name(reading->lines), file_lines_number(reading->lines),
					     csv_names[column]},
			EINVAL, "'%.60s': expected %s", found, expected);
}

static int bad_csv_line(const struct reading *reading, const char *text)
{
	return error_at(reading->err,
			(struct error_place){file_lines_name(reading->lines), file_lines_number(reading->lines), NULL},
			EINVAL, "%s", text);
}

static int read_csv_header(struct reading *reading, char **fields, size_t count)
{
	for (int c = 0; c < CSV_COLUMNS; c++)
		reading->csv_place[c] = -1;
	for (size_t f = 0; f < count; f++) {
		int c = 0;

		while (c < CSV_COLUMNS && (f >= CSV_COLUMNS || strcmp(fields[f], csv_names[c]) != 0))
			c++;
		if (c == CSV_COLUMNS || reading->csv_place[c] >= 0)
			break;
		reading->csv_place[c] = (int)f;
		reading->csv_columns++;
	}
	if (reading->csv_columns == count && reading->csv_place[CSV_JOB] >= 0 && reading->csv_place[CSV_SUBMIT] >= 0 &&
	    reading->csv_place[CSV_RUN] >= 0 && reading->csv_place[CSV_TASKS] >= 0)
		return 0;
	return bad_csv_line(reading,
			    "expected a header with the columns job, submit, run, tasks and, optionally, curve, "
			    "root, gang and graph");
}

static bool is_seconds(const char *text, double *seconds)
{
	return number_parse_double(text, seconds) == 0 && *seconds >= 0 && *seconds <= BATCH_SECONDS_MAXIMUM;
}

static int note_csv_curve(struct reading *reading, uint64_t id, const char *name, const char *curve)
{
	int code = curve[0] == '\0' ? 0 : job_curves_note(reading->workload, id, name, curve);

	if (code == -EEXIST)
		return bad_csv(reading, CSV_CURVE, curve, "the curve of the job's earlier rows");
	return code == 0 ? 0 : error_set(reading->err, ENOMEM, "out of memory");
}

/* Sets *number to the position of the text in reading->graphs, plus 1; 0 for an empty text. Returns 0 or -ENOMEM. */
static int find_graph(struct reading *reading, const char *text, uint32_t *number)
{
	char **larger;

	*number = 0;
	for (size_t g = 0; g < reading->graph_count && *number == 0; g++)
		if (strcmp(reading->graphs[g], text) == 0)
			*number = (uint32_t)g + 1;
	if (text[0] == '\0' || *number > 0)
		return 0;
	larger = array_grow(reading->graphs, reading->graph_count, &reading->graph_capacity, sizeof *larger);
	if (larger)
		reading->graphs = larger;
	if (!larger || !(larger[reading->graph_count] = strdup(text)))
		return -ENOMEM;
	*number = (uint32_t)++reading->graph_count;
	return 0;
}

/* Returns false if the text is neither empty nor a number of tasks. */
static bool is_task_number(const char *text, uint32_t *tasks)
{
	int64_t number;

	*tasks = 0;
	if (text[0] == '\0')
		return true;
	if (number_parse_i64(text, &number) != 0 || number < 1 || number > BATCH_TASKS_MAXIMUM)
		return false;
	*tasks = (uint32_t)number;
	return true;
}

int batch_csv_read(struct reading *reading, char *line)
{
	char *fields[CSV_COLUMNS], empty[] = "", *value[CSV_COLUMNS];
	size_t count = file_split(line, ',', fields, CSV_COLUMNS);
	struct job job = {.row = (size_t)file_lines_number(reading->lines)};
	int64_t number;

	if (reading->csv_columns == 0)
		return read_csv_header(reading, fields, count);
	reading->report->rows++;
	if (count != reading->csv_columns)
		return bad_csv_line(reading, "expected as many columns as in the header");
	for (int c = 0; c < CSV_COLUMNS; c++)
		value[c] = reading->csv_place[c] >= 0 ? fields[reading->csv_place[c]] : empty;
	if (value[CSV_JOB][0] == '\0')
		return bad_csv(reading, CSV_JOB, "", "the number or the name of a job");
	job.id = number_parse_i64(value[CSV_JOB], &number) == 0 && number >= 0 ? (uint64_t)number
									       : hash_text(value[CSV_JOB]);
	if (!is_seconds(value[CSV_SUBMIT], &job.submit_s))
		return bad_csv(reading, CSV_SUBMIT, value[CSV_SUBMIT], "seconds, 0 to 1e11");
	job.start_s = job.submit_s;
	job.run_s = INFINITY;
	if (value[CSV_RUN][0] != '\0' && !is_seconds(value[CSV_RUN], &job.run_s))
		return bad_csv(reading, CSV_RUN, value[CSV_RUN], "seconds, 0 to 1e11, or nothing: without an end");
	if (!is_task_number(value[CSV_TASKS], &job.tasks) || job.tasks == 0)
		return bad_csv(reading, CSV_TASKS, value[CSV_TASKS], "a number of tasks, 1 to 1000000");
	if (!is_task_number(value[CSV_GANG], &job.gang))
		return bad_csv(reading, CSV_GANG, value[CSV_GANG], "a number of tasks, 1 to 1000000, or nothing");
	job.has_root = strcmp(value[CSV_ROOT], "1") == 0;
	if (!job.has_root && value[CSV_ROOT][0] != '\0' && strcmp(value[CSV_ROOT], "0") != 0)
		return bad_csv(reading, CSV_ROOT, value[CSV_ROOT], "0 or 1");
	if (note_csv_curve(reading, job.id, value[CSV_JOB], value[CSV_CURVE]) != 0)
		return error_code(reading->err, ENOMEM);
	if (find_graph(reading, value[CSV_GRAPH], &job.graph) != 0)
		return error_set(reading->err, ENOMEM, "out of memory");
	return batch_keep(reading, &job);
}

static int compare_csv(const void *left, const void *right)
{
	const struct job *a = left, *b = right;

	if (a->id == b->id && a->has_root != b->has_root)
		return a->has_root ? -1 : 1;
	return batch_compare_ids(left, right);
}

static int bad_job(const struct reading *reading, const struct job *job, enum csv_column column, const char *text,
		   size_t number)
{
	return error_at(reading->err,
			(struct error_place){file_lines_name(reading->lines), (long)job->row, csv_names[column]},
			EINVAL, text, number);
}

/* Sets the job's graph, which its last row completes. 0, or -errno with err set. */
static int set_graph(struct reading *reading, const struct job *last)
{
	struct json_reader json = {
		.file = file_lines_name(reading->lines), .line = (long)last->row, .err = reading->err};
	json_t *form = last->graph > 0 ? json_string(reading->graphs[last->graph - 1]) : NULL;
	uint32_t tasks = last->first_task + last->tasks;
	char *text = form ? json_dumps(form, JSON_ENCODE_ANY) : NULL;
	int code = last->graph == 0 ? 0 : -ENOMEM;

	if (text) {
		job_graph_destroy(job_graph_read(&json, form, NULL, tasks));
		code = json.failed ? -json.err->code : workload_set_graph(reading->workload, last->id, text, tasks);
	}
	free(text);
	json_decref(form);
	return json.failed || code == 0 ? code : error_set(reading->err, ENOMEM, "out of memory");
}

/* A row of the same job as the row before it. */
static int check_same_job(const struct reading *reading, const struct job *job, const struct job *before)
{
	if (job->has_root)
		return bad_job(reading, job, CSV_ROOT, "the job has a root already, at line %zu", before->row);
	if (job->gang != before->gang)
		return bad_job(reading, job, CSV_GANG, "expected the gang of the job's row at line %zu", before->row);
	if (job->graph != before->graph)
		return bad_job(reading, job, CSV_GRAPH, "expected the graph of the job's row at line %zu", before->row);
	return 0;
}

int batch_csv_number_tasks(struct reading *reading)
{
	struct job *jobs = reading->jobs;

	if (reading->count == 0)
		return 0;
	qsort(jobs, reading->count, sizeof *jobs, compare_csv);
	for (size_t j = 0; j < reading->count; j++) {
		bool is_first = j == 0 || jobs[j].id != jobs[j - 1].id;
		bool is_last = j + 1 == reading->count || jobs[j].id != jobs[j + 1].id;

		jobs[j].first_task = is_first ? 0 : jobs[j - 1].first_task + jobs[j - 1].tasks;
		if (!is_first && check_same_job(reading, &jobs[j], &jobs[j - 1]) != 0)
			return error_code(reading->err, EINVAL);
		if (jobs[j].first_task + jobs[j].tasks > BATCH_TASKS_MAXIMUM)
			return bad_job(reading, &jobs[j], CSV_TASKS, "expected at most %zu tasks in all rows of a job",
				       BATCH_TASKS_MAXIMUM);
		if (is_last && jobs[j].gang > jobs[j].first_task + jobs[j].tasks)
			return bad_job(reading, &jobs[j], CSV_GANG, "expected at most the %zu tasks of the job",
				       jobs[j].first_task + jobs[j].tasks);
		if (is_last && set_graph(reading, &jobs[j]) != 0)
			return error_code(reading->err, ENOMEM);
	}
	qsort(jobs, reading->count, sizeof *jobs, batch_compare_rows);
	return 0;
}

void batch_csv_free(struct reading *reading)
{
	for (size_t g = 0; g < reading->graph_count; g++)
		free(reading->graphs[g]);
	free(reading->graphs);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/array.h>
#include <base/hash.h>
#include <base/number.h>

enum { SWF_COLUMNS = 18, SACCT_COLUMNS = 128 };
static const double second_us = 1e6;

static const char *const column_names[COLUMNS] = {"JobID",     "Submit", "Start",  "End",       "NTasks",
						  "AllocCPUS", "NCPUS",  "NNodes", "ElapsedRaw"};

static uint32_t task_count(double count)
{
	return count >= 1 && count <= BATCH_TASKS_MAXIMUM ? (uint32_t)count : 0;
}

/* Reads a line of the header, such as "; MaxNodes: 128". A key is the line's first word: notes may contain it, too. */
static void read_swf_header(struct reading *reading, const char *line)
{
	static const char *const keys[] = {"MaxNodes:", "MaxProcs:", "UnixStartTime:"};

	line += strspn(line, "; \t");
	for (int k = 0; k < 3; k++) {
		size_t length = strlen(keys[k]);
		double value = strncmp(line, keys[k], length) == 0 ? strtod(line + length, NULL) : 0;

		if (value >= 1 && value <= BATCH_SECONDS_MAXIMUM && k == 2)
			reading->report->origin_s = value;
		else if (value >= 1 && value <= 1e9 && k == 0)
			reading->report->machines = (int64_t)value;
		else if (value >= 1 && value <= 1e9 && k == 1)
			reading->report->slots = (int64_t)value; /* of all machines; divided by their number later */
	}
}

/* Status of a row that describes a part of a job's run; another row with status 0 or 1 describes the whole run. */
static bool is_partial_execution(double status)
{
	return status >= 2 && status <= 4;
}

static int read_swf(struct reading *reading, char *line)
{
	enum { STATUS = 10 };
	double values[SWF_COLUMNS];
	char *save = NULL;
	int count = 0;
	struct job job;

	if (line[strspn(line, " \t")] == ';') {
		read_swf_header(reading, line);
		return 0;
	}
	reading->report->rows++;
	for (char *field = strtok_r(line, " \t", &save); field && count < SWF_COLUMNS;
	     field = strtok_r(NULL, " \t", &save)) {
		if (number_parse_double(field, &values[count++]) != 0 ||
		    fabs(values[count - 1]) > BATCH_SECONDS_MAXIMUM)
			return batch_note(reading, BATCH_NUMBER, "expected numbers up to 1e11");
	}
	if (count < SWF_COLUMNS)
		return batch_note(reading, BATCH_COLUMNS, "expected 18 columns");
	if (values[0] < 0 || values[1] < 0)
		return batch_note(reading, BATCH_NUMBER, "expected a job number and a submission time");
	if (is_partial_execution(values[STATUS])) {
		reading->report->partial++;
		return 0;
	}
	job = (struct job){
		.id = (uint64_t)values[0],
		.submit_s = values[1],
		.start_s = values[1] + fmax(0, values[2]),
		.run_s = values[3] < 0 ? NAN : values[3],
		.tasks = task_count(values[4] > 0 ? values[4] : values[7]),
	};
	return batch_keep(reading, &job);
}

/*
 * Parses "2026-11-23T18:14:29", a local time of this machine as sacct prints it, or seconds since 1970
 * (SLURM_TIME_FORMAT=%s); NAN for "Unknown", "None" and "". Returns false if the text is not a time.
 */
static bool parse_time(const char *text, double *seconds)
{
	struct tm tm = {.tm_isdst = -1};
	const char *end;

	*seconds = NAN;
	if (strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0 || text[0] == '\0')
		return true;
	if (number_parse_double(text, seconds) == 0)
		return *seconds >= 0 && *seconds <= BATCH_SECONDS_MAXIMUM;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || *end)
		return false;
	tm.tm_isdst = -1;
	*seconds = (double)mktime(&tm);
	return *seconds >= 0 && *seconds <= BATCH_SECONDS_MAXIMUM;
}

static int read_header(struct reading *reading, char **fields, size_t count)
{
	reading->has_header = true;
	for (int c = 0; c < COLUMNS; c++) {
		reading->place[c] = -1;
		for (size_t f = 0; f < count; f++) {
			if (strcasecmp(fields[f], column_names[c]) == 0)
				reading->place[c] = (int)f;
		}
		if (c <= END && reading->place[c] < 0)
			return error_at(reading->err,
					(struct error_place){file_lines_name(reading->lines),
							     file_lines_number(reading->lines), column_names[c]},
					EINVAL,
					"no such column in the header; expected the output of sacct -P -a -o "
					"JobID,Submit,Start,End,ElapsedRaw,NTasks,AllocCPUS");
	}
	return 0;
}

static uint32_t tasks_of(const struct reading *reading, char **fields)
{
	for (int c = N_TASKS; c <= N_NODES; c++) {
		double count;

		if (reading->place[c] >= 0 && number_parse_double(fields[reading->place[c]], &count) == 0 && count >= 1)
			return task_count(count);
	}
	return 0;
}

/*
 * A row of a step of the last job: the job has as many tasks as its largest step, unless its own row says it. The batch
 * script and Slurm's own steps do not count.
 */
static void read_step(struct reading *reading, char **fields, const char *dot)
{
	size_t length = (size_t)(dot - fields[reading->place[JOB_ID]]);
	double count;

	if (length == 0 || strlen(reading->last_id) != length ||
	    strncmp(reading->last_id, fields[reading->place[JOB_ID]], length) != 0 || strcmp(dot, ".batch") == 0 ||
	    strcmp(dot, ".extern") == 0 || strcmp(dot, ".interactive") == 0 || reading->place[N_TASKS] < 0 ||
	    number_parse_double(fields[reading->place[N_TASKS]], &count) != 0)
		return;
	if (task_count(count) > reading->step_tasks) {
		reading->step_tasks = task_count(count);
		reading->jobs[reading->count - 1].tasks = reading->step_tasks;
	}
}

/* Reads the times of a row. Returns false if one is not a time. */
static bool read_times(const struct reading *reading, char **fields, struct job *job)
{
	double end_s, elapsed_s;

	if (!parse_time(fields[reading->place[SUBMIT]], &job->submit_s) || isnan(job->submit_s) ||
	    !parse_time(fields[reading->place[START]], &job->start_s) ||
	    !parse_time(fields[reading->place[END]], &end_s))
		return false;
	job->run_s = isnan(job->start_s) ? NAN : isnan(end_s) ? INFINITY : end_s - job->start_s;
	/* Unlike the difference of local times, it is right when the clocks change. */
	if (isfinite(job->run_s) && reading->place[ELAPSED] >= 0 &&
	    number_parse_double(fields[reading->place[ELAPSED]], &elapsed_s) == 0 && elapsed_s >= 0)
		job->run_s = elapsed_s;
	if (job->run_s == 0) /* slurmdbd may state an end as the start, too, of a job that never started */
		job->run_s = NAN;
	return true;
}

/* Keeps the job of the row with this JobID; a further component of a heterogeneous job adds its tasks to the job. */
static int keep_sacct(struct reading *reading, char *id, struct job *job)
{
	char *plus = strchr(id, '+');
	size_t before = reading->count;
	int64_t number;
	int code;

	if (plus)
		*plus = '\0';
	if (plus && reading->last_is_component && strcmp(id, reading->last_id) == 0) {
		if (reading->jobs[reading->count - 1].tasks + job->tasks > BATCH_TASKS_MAXIMUM)
			return batch_note(reading, BATCH_TASKS,
					  "expected at most 1,000,000 processors in all components");
		reading->jobs[reading->count - 1].tasks += job->tasks;
		return 0;
	}
	job->id = number_parse_i64(id, &number) == 0 && number >= 0 ? (uint64_t)number : hash_text(id);
	code = batch_keep(reading, job);
	reading->step_tasks = 0;
	reading->last_is_component = plus && reading->count > before;
	snprintf(reading->last_id, sizeof reading->last_id, "%s", reading->count > before ? id : "");
	return code;
}

static int read_sacct(struct reading *reading, char *line)
{
	char *fields[SACCT_COLUMNS], *dot;
	size_t count = file_split(line, '|', fields, SACCT_COLUMNS);
	struct job job = {0};

	if (!reading->has_header)
		return read_header(reading, fields, count < SACCT_COLUMNS ? count : SACCT_COLUMNS);
	reading->report->rows++;
	for (int c = 0; c < COLUMNS; c++) {
		if (reading->place[c] >= (int)count)
			return batch_note(reading, BATCH_COLUMNS, "expected the columns of the header");
	}
	dot = strchr(fields[reading->place[JOB_ID]], '.');
	if (dot) {
		read_step(reading, fields, dot);
		return 0;
	}
	if (!read_times(reading, fields, &job))
		return batch_note(reading, BATCH_NUMBER,
				  "expected times as 2026-11-23T18:14:29, seconds since 1970, or Unknown");
	job.tasks = tasks_of(reading, fields);
	return keep_sacct(reading, fields[reading->place[JOB_ID]], &job);
}

struct change {
	double at_s;
	int64_t tasks;
};

/* Sorts by time; of changes at the same time, ends come before starts. */
static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->at_s != b->at_s)
		return a->at_s < b->at_s ? -1 : 1;
	return a->tasks < b->tasks ? -1 : a->tasks > b->tasks;
}

/* Computes the largest number of tasks that ran at the same time. */
static int find_peak(struct reading *reading)
{
	struct change *changes = calloc(2 * reading->count + 1, sizeof *changes);
	int64_t running = 0, peak = 0;
	size_t count = 0;

	if (!changes)
		return -ENOMEM;
	for (size_t j = 0; j < reading->count; j++) {
		const struct job *job = &reading->jobs[j];

		if (isnan(job->run_s))
			continue;
		changes[count++] = (struct change){job->start_s, job->tasks};
		changes[count++] = (struct change){job->start_s + job->run_s, -(int64_t)job->tasks};
	}
	qsort(changes, count, sizeof *changes, compare_changes);
	for (size_t i = 0; i < count; i++) {
		running += changes[i].tasks;
		peak = running > peak ? running : peak;
	}
	reading->report->peak_tasks = (uint64_t)peak;
	free(changes);
	return 0;
}

/* A further attempt of a requeued job: its run time is added, as evicted tasks keep their progress. */
static void add_attempt(struct job *job, struct job *attempt)
{
	if (isnan(job->run_s)) {
		job->start_s = attempt->start_s;
		job->run_s = attempt->run_s;
	} else if (!isnan(attempt->run_s)) {
		job->run_s += attempt->run_s;
	}
	job->tasks = attempt->tasks;
	attempt->tasks = 0; /* left out */
}

/* Gives a job whose number was used before, `times` times, an id of its own. */
static void repeat_id(struct job *job, size_t times)
{
	job->id = hash_mix(job->id + ((uint64_t)times << 40));
}

/*
 * Rows with equal ids: in sacct's output (-D), they are attempts of one job; in SWF, numbers that were used again, so
 * the later job gets another id.
 */
static void settle_ids(struct reading *reading, enum batch_format format)
{
	if (reading->count == 0)
		return;
	qsort(reading->jobs, reading->count, sizeof *reading->jobs, batch_compare_ids);
	for (size_t first = 0, j = 1; j < reading->count; j++) {
		struct job *job = &reading->jobs[j];

		if (job->id != reading->jobs[first].id) {
			first = j;
			continue;
		}
		reading->report->repeated++;
		if (format == BATCH_SACCT)
			add_attempt(&reading->jobs[first], job);
		else
			repeat_id(job, j - first);
	}
	qsort(reading->jobs, reading->count, sizeof *reading->jobs, batch_compare_rows);
}

/* Sets the date of the first submission, at first_s of the file. read_swf_header() has set that of the file's time 0.
 */
static void set_origin(struct reading *reading, enum batch_format format, double first_s)
{
	static const double least_date_s = 1e9;

	if (format == BATCH_SWF)
		reading->report->origin_s += first_s;
	else if (format == BATCH_SACCT || first_s >= least_date_s)
		reading->report->origin_s = first_s;
}

static int add_jobs(struct reading *reading, enum batch_format format, struct workload *workload)
{
	double first_s = INFINITY;

	for (size_t j = 0; j < reading->count; j++)
		first_s = fmin(first_s, reading->jobs[j].submit_s);
	set_origin(reading, format, first_s);
	for (size_t j = 0; j < reading->count; j++) {
		const struct job *job = &reading->jobs[j];
		struct workload_task first = {.submit_us = (int64_t)((job->submit_s - first_s) * second_us),
					      .job_id = job->id,
					      .index = job->first_task};

		if (job->tasks == 0)
			continue;
		if (isnan(job->run_s)) {
			workload->left_out.never_ran += job->tasks;
			continue;
		}
		first.run_us = isinf(job->run_s) ? WORKLOAD_TO_THE_END : (int64_t)(job->run_s * second_us);
		reading->report->jobs += job->first_task == 0;
		if (job->first_task == 0 && job->gang > 0 && workload_set_gang(workload, job->id, job->gang) != 0)
			return -ENOMEM;
		if (workload_add_tasks(workload, &first, job->tasks) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_rows(struct reading *reading, enum batch_format format)
{
	static int (*const read[])(struct reading *, char *) = {
		[BATCH_SWF] = read_swf, [BATCH_SACCT] = read_sacct, [BATCH_CSV] = batch_csv_read};
	struct error reason = {0};
	int code = 0, more = 0;
	char *line;

	while (code == 0 && (more = file_lines_next(reading->lines, &line, &reason)) > 0) {
		if (line[strspn(line, " \t\r")] == '\0' || (format == BATCH_CSV && line[0] == '#'))
			continue;
		code = read[format](reading, line);
	}
	if (code == 0 && more == -ENOMEM)
		return error_set(reading->err, ENOMEM, "out of memory");
	if (code == 0 && more < 0 && format == BATCH_CSV)
		return error_set(reading->err, -more, "%s", reason.text);
	return code == 0 && more < 0 ? batch_note(reading, BATCH_DAMAGED, "damaged or cut off") : code;
}

int batch_trace_read(struct workload *workload, enum batch_format format, struct file_lines *lines, bool strict,
		     struct batch_report *report, struct error *err)
{
	struct reading reading = {.report = report, .lines = lines, .err = err, .strict = strict, .workload = workload};
	int code;

	*report = (struct batch_report){.origin_s = NAN};
	code = read_rows(&reading, format);
	if (code == 0 && format == BATCH_CSV)
		code = batch_csv_number_tasks(&reading);
	else if (code == 0)
		settle_ids(&reading, format);
	if (code == 0 && (find_peak(&reading) != 0 || add_jobs(&reading, format, workload) != 0))
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0 && report->jobs == 0)
		code = error_set(err, EINVAL, "%s: found no job that ran, in %llu rows", file_lines_name(lines),
				 (unsigned long long)report->rows);
	if (report->machines > 0 && report->slots > 0)
		report->slots = (report->slots + report->machines - 1) / report->machines;
	else
		report->slots = 0;
	free(reading.jobs);
	batch_csv_free(&reading);
	return code;
}

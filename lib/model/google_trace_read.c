/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/google_trace.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/number.h>

enum { MACHINE_COLUMNS = 6, TASK_COLUMNS = 13 };
enum {
	TASK_SUBMIT,
	TASK_SCHEDULE,
	TASK_EVICT,
	TASK_FAIL,
	TASK_FINISH,
	TASK_KILL,
	TASK_LOST,
	TASK_UPDATE_PENDING,
	TASK_UPDATE_RUNNING,
	TASK_EVENTS,
};
enum { BEGINS_WHOLE = -2, BEGINS_LATE };

enum state { STATE_IDLE, STATE_PENDING, STATE_RUNNING };

struct record {
	uint64_t job;
	int64_t submit_us, started_us, run_us, seen_us;
	uint32_t index;
	enum state state : 8;
	bool ran;
};

struct google_trace_reader {
	struct workload *workload;
	struct google_trace_report *report;
	bool strict;
	struct record *records;
	size_t count, capacity;
	struct hash_table index; /* hash of job and task index -> index in records[] */
	int64_t last_us;
	int64_t hole_us; /* time of the last row before the last missing part; -1 = no part is missing */
	/* Time of the first row, if the parts before it are missing; BEGINS_WHOLE, or BEGINS_LATE before that row. */
	int64_t begin_us;
	bool *present; /* [machine number]: true if the machine is in the cluster after the machine events before index
			  `event` */
	size_t event;  /* index of the next machine event to apply to `present` */
};

static const char *const problem_names[GOOGLE_TRACE_PROBLEMS] = {
	"missing parts",
	"repeated parts",
	"damaged parts",
	"rows with a wrong number of columns",
	"rows with a bad number",
	"rows with an unknown event",
	"rows whose time goes backwards",
	"tasks on an unknown machine",
	"tasks on a removed machine",
	"tasks scheduled while they run",
	"tasks that end without a start",
};

const char *google_trace_problem_name(enum google_trace_problem problem)
{
	return problem_names[problem];
}

/* Counts the problem and records the first of its kind. Returns 0, or -EINVAL if `strict`. */
static int note(struct google_trace_reader *reader, enum google_trace_problem problem, const char *file, long line,
		const char *text, struct error *err)
{
	struct google_trace_report *report = reader->report;

	if (report->problems[problem]++ == 0) {
		if (line > 0)
			snprintf(report->first[problem], sizeof report->first[problem], "%.119s:%ld: %.50s", file, line,
				 text);
		else
			snprintf(report->first[problem], sizeof report->first[problem], "%.120s: %.50s", file, text);
	}
	return reader->strict ? error_set(err, EINVAL, "%s", report->first[problem]) : 0;
}

static int note_row(struct google_trace_reader *reader, enum google_trace_problem problem,
		    const struct file_lines *lines, const char *text, struct error *err)
{
	return note(reader, problem, file_lines_name(lines), file_lines_number(lines), text, err);
}

struct google_trace_reader *google_trace_reader_create(struct workload *workload, bool strict,
						       struct google_trace_report *report)
{
	struct google_trace_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->workload = workload;
	reader->report = report;
	reader->strict = strict;
	reader->hole_us = -1;
	reader->begin_us = BEGINS_WHOLE;
	*report = (struct google_trace_report){0};
	return reader;
}

void google_trace_reader_destroy(struct google_trace_reader *reader)
{
	if (!reader)
		return;
	hash_table_free(&reader->index);
	free(reader->records);
	free(reader->present);
	free(reader);
}

/* Converts a time of the trace to a time of the workload; a time before the trace becomes 0. */
static int64_t workload_time(int64_t trace_us)
{
	return trace_us > GOOGLE_TRACE_START_US ? trace_us - GOOGLE_TRACE_START_US : 0;
}

/* Parses the given columns as non-negative integers. */
static bool parse(char *const *fields, const int *columns, int count, int64_t *values)
{
	for (int i = 0; i < count; i++) {
		if (number_parse_i64(fields[columns[i]], &values[i]) != 0 || values[i] < 0)
			return false;
	}
	return true;
}

static int read_machine_row(struct google_trace_reader *reader, const struct file_lines *lines, char *line,
			    struct error *err)
{
	static const int columns[] = {0, 1, 2};
	char *fields[MACHINE_COLUMNS];
	double cpu = -1;
	int64_t values[3];

	if (file_split(line, ',', fields, MACHINE_COLUMNS) != MACHINE_COLUMNS)
		return note_row(reader, GOOGLE_TRACE_COLUMNS, lines, "expected 6 columns", err);
	if (!parse(fields, columns, 3, values) ||
	    (fields[4][0] && (number_parse_double(fields[4], &cpu) != 0 || cpu < 0 || cpu > 1e6)))
		return note_row(reader, GOOGLE_TRACE_NUMBER, lines, "expected time, machine, event, CPUs", err);
	if (values[2] > WORKLOAD_MACHINE_UPDATED)
		return note_row(reader, GOOGLE_TRACE_EVENT, lines, "expected event 0, 1 or 2", err);
	if (workload_add_machine_event(reader->workload, workload_time(values[0]), (uint64_t)values[1],
				       (enum workload_machine_change)values[2], (float)cpu) != 0)
		return error_set(err, ENOMEM, "out of memory");
	return 0;
}

static int for_each_row(struct google_trace_reader *reader, struct file_lines *lines,
			int (*row)(struct google_trace_reader *, const struct file_lines *, char *, struct error *),
			struct error *err)
{
	struct error reason = {0};
	int code = 0, more = 0;
	char *line;

	while (code == 0 && (more = file_lines_next(lines, &line, &reason)) > 0) {
		reader->report->rows++;
		code = row(reader, lines, line, err);
	}
	if (code == 0 && more == -ENOMEM)
		code = error_set(err, ENOMEM, "out of memory");
	else if (code == 0 && more < 0)
		code = note(reader, GOOGLE_TRACE_PART_UNREADABLE, file_lines_name(lines), file_lines_number(lines) + 1,
			    "damaged or cut-off", err);
	file_lines_close(lines);
	reader->report->parts++;
	return code;
}

int google_trace_read_machines(struct google_trace_reader *reader, struct file_lines *lines, struct error *err)
{
	return for_each_row(reader, lines, read_machine_row, err);
}

static struct record *find_record(struct google_trace_reader *reader, uint64_t job, uint32_t index)
{
	uint64_t key = hash_mix(job) + index;
	struct record *larger;

	HASH_TABLE_EACH (&reader->index, key, at) {
		struct record *record = &reader->records[hash_table_value(&reader->index, at)];

		if (record->job == job && record->index == index)
			return record;
	}
	larger = array_grow(reader->records, reader->count, &reader->capacity, sizeof *larger);
	if (!larger)
		return NULL;
	reader->records = larger;
	if (hash_table_insert(&reader->index, key, (uint32_t)reader->count) != 0)
		return NULL;
	larger[reader->count] = (struct record){.job = job, .index = index, .submit_us = -1};
	return &larger[reader->count++];
}

/*
 * Counts a problem if the machine did not exist at time now_us. To find out, first applies the machine events up to
 * now_us to `present`. Returns 0, or -EINVAL if `strict`.
 */
static int check_machine(struct google_trace_reader *reader, const struct file_lines *lines, const char *field,
			 int64_t now_us, struct error *err)
{
	struct workload *workload = reader->workload;
	int64_t id, machine;

	if (field[0] == '\0' || number_parse_i64(field, &id) != 0 || !reader->present)
		return 0;
	for (; reader->event < workload->machine_event_count; reader->event++) {
		const struct workload_machine_event *event = &workload->machine_events[reader->event];

		if (event->time_us > now_us)
			break;
		if (event->change != WORKLOAD_MACHINE_UPDATED)
			reader->present[event->machine] = event->change == WORKLOAD_MACHINE_ADDED;
	}
	machine = workload_find_machine(workload, (uint64_t)id);
	if (machine < 0)
		return note_row(reader, GOOGLE_TRACE_UNKNOWN_MACHINE, lines, "unknown machine", err);
	if (!reader->present[machine])
		return note_row(reader, GOOGLE_TRACE_REMOVED_MACHINE, lines, "the machine was removed before", err);
	return 0;
}

/*
 * Returns true if the task waited before the last missing part and has had no event since. If its next event ends it,
 * the task must have started during that part; apply_event() takes the beginning of the part as the start.
 */
static bool began_in_hole(const struct google_trace_reader *reader, const struct record *record)
{
	return record->state == STATE_PENDING && reader->hole_us >= 0 && record->seen_us <= reader->hole_us;
}

/* A task whose submission is in a part before the trace's first: it waits or runs from the beginning on. */
static void resume_task(const struct google_trace_reader *reader, struct record *record, int event)
{
	record->submit_us = record->started_us = reader->begin_us;
	record->ran = event != TASK_SCHEDULE && event != TASK_UPDATE_PENDING;
	record->state = record->ran ? STATE_RUNNING : STATE_PENDING;
}

static int apply_event(struct google_trace_reader *reader, const struct file_lines *lines, struct record *record,
		       int event, int64_t now_us, struct error *err)
{
	int code = 0;

	if (event > TASK_SUBMIT && event <= TASK_LOST && event != TASK_SCHEDULE && began_in_hole(reader, record)) {
		record->state = STATE_RUNNING;
		record->started_us = reader->hole_us;
		record->ran = true;
	}
	if (record->submit_us < 0 && reader->begin_us >= 0 && event != TASK_SUBMIT)
		resume_task(reader, record, event);
	if (record->submit_us < 0)
		record->submit_us = now_us;
	switch (event) {
	case TASK_SUBMIT:
		if (record->state == STATE_RUNNING)
			record->run_us += now_us - record->started_us; /* this attempt's end is missing */
		record->state = STATE_PENDING;
		break;
	case TASK_SCHEDULE:
		if (record->state == STATE_RUNNING) {
			code = note_row(reader, GOOGLE_TRACE_START_TWICE, lines, "scheduled while it runs", err);
			break;
		}
		record->state = STATE_RUNNING;
		record->started_us = now_us;
		record->ran = true;
		break;
	case TASK_EVICT:
	case TASK_FAIL:
	case TASK_FINISH:
	case TASK_LOST:
		if (record->state != STATE_RUNNING)
			code = note_row(reader, GOOGLE_TRACE_END_WITHOUT_START, lines, "ends without a start", err);
		/* fall through */
	case TASK_KILL: /* a waiting task may be killed, too */
		if (record->state == STATE_RUNNING)
			record->run_us += now_us - record->started_us;
		record->state = STATE_IDLE;
		break;
	default: /* updates */
		break;
	}
	record->seen_us = now_us;
	return code;
}

static int read_task_row(struct google_trace_reader *reader, const struct file_lines *lines, char *line,
			 struct error *err)
{
	static const int columns[] = {0, 2, 3, 5};
	char *fields[TASK_COLUMNS];
	struct record *record;
	int64_t values[4], now_us;
	int code = 0;

	if (file_split(line, ',', fields, TASK_COLUMNS) != TASK_COLUMNS)
		return note_row(reader, GOOGLE_TRACE_COLUMNS, lines, "expected 13 columns", err);
	if (!parse(fields, columns, 4, values) || values[2] >= UINT32_MAX)
		return note_row(reader, GOOGLE_TRACE_NUMBER, lines, "expected time, job, task index, event", err);
	if (values[3] >= TASK_EVENTS)
		return note_row(reader, GOOGLE_TRACE_EVENT, lines, "expected event 0 to 8", err);
	now_us = workload_time(values[0]);
	if (now_us < reader->last_us)
		return note_row(reader, GOOGLE_TRACE_BACKWARDS, lines, "time goes backwards", err);
	reader->last_us = reader->report->last_us = now_us;
	if (reader->begin_us == BEGINS_LATE)
		reader->begin_us = now_us;
	if (values[3] == TASK_SCHEDULE)
		code = check_machine(reader, lines, fields[4], now_us, err);
	record = find_record(reader, (uint64_t)values[1], (uint32_t)values[2]);
	if (!record)
		return error_set(err, ENOMEM, "out of memory");
	return code == 0 ? apply_event(reader, lines, record, (int)values[3], now_us, err) : code;
}

static int compare_event_times(const void *left, const void *right)
{
	const struct workload_machine_event *a = left, *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int google_trace_read_tasks(struct google_trace_reader *reader, struct file_lines *lines, struct error *err)
{
	struct workload *workload = reader->workload;

	if (!reader->present && workload->machine_count > 0) {
		reader->present = calloc(workload->machine_count, sizeof *reader->present);
		if (!reader->present) {
			file_lines_close(lines);
			return error_set(err, ENOMEM, "out of memory");
		}
		qsort(workload->machine_events, workload->machine_event_count, sizeof *workload->machine_events,
		      compare_event_times);
	}
	return for_each_row(reader, lines, read_task_row, err);
}

int google_trace_reader_finish(struct google_trace_reader *reader, struct error *err)
{
	struct workload *workload = reader->workload;

	for (size_t i = 0; i < reader->count; i++) {
		const struct record *record = &reader->records[i];
		bool open = record->state == STATE_RUNNING;

		if (!record->ran) {
			workload->left_out.never_ran++;
			continue;
		}
		if (workload_add_task(workload, record->job, record->index, record->submit_us,
				      open ? WORKLOAD_TO_THE_END : record->run_us) != 0)
			return error_set(err, ENOMEM, "out of memory");
	}
	if (workload->task_count == 0)
		return error_set(err, EINVAL, "no task ran; expected rows of task_events with event 1 (schedule)");
	if (workload->machine_count == 0)
		return error_set(err, EINVAL, "no machine; expected rows of machine_events with event 0 (add)");
	return 0;
}

struct part {
	unsigned number;
	bool gzip;
};

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->gzip - b->gzip;
}

/*
 * Lists the parts of one table in the order of their numbers; the caller frees *parts. Returns their number, or -errno
 * with err set.
 */
static int64_t list_parts(const char *folder, const char *table, struct part **parts, unsigned *total,
			  struct error *err)
{
	size_t count = 0, capacity = 0;
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *directory;

	*parts = NULL;
	snprintf(path, sizeof path, "%s/%s", folder, table);
	directory = opendir(path);
	if (!directory)
		return error_set(err, errno, "cannot read %s: %s; expected a folder of Google clusterdata-2011-2", path,
				 strerror(errno));
	while ((entry = readdir(directory))) {
		struct part part;
		struct part *larger;
		int used = 0;

		if (sscanf(entry->d_name, "part-%5u-of-%5u.csv%n", &part.number, total, &used) != 2 || used == 0 ||
		    (entry->d_name[used] != '\0' && strcmp(entry->d_name + used, ".gz") != 0))
			continue;
		part.gzip = entry->d_name[used] != '\0';
		larger = array_grow(*parts, count, &capacity, sizeof *larger);
		if (!larger) {
			closedir(directory);
			free(*parts);
			return error_set(err, ENOMEM, "out of memory");
		}
		*parts = larger;
		larger[count++] = part;
	}
	closedir(directory);
	if (count == 0)
		return error_set(err, ENOENT, "%s: expected files part-NNNNN-of-NNNNN.csv or .csv.gz", path);
	qsort(*parts, count, sizeof **parts, compare_parts);
	return (int64_t)count;
}

typedef int read_part(struct google_trace_reader *reader, struct file_lines *lines, struct error *err);

static int read_table(struct google_trace_reader *reader, const char *folder, const char *table, read_part *read,
		      const struct google_trace_options *options, struct error *err)
{
	struct part *parts;
	unsigned total = 0;
	int64_t count = list_parts(folder, table, &parts, &total, err);
	int code = count < 0 ? (int)count : 0;

	for (int64_t i = 0; i < count && code == 0; i++) {
		char path[PATH_MAX];
		struct file_lines *lines;

		if (reader->last_us > options->until_us)
			break;
		snprintf(path, sizeof path, "%s/%s/part-%05u-of-%05u.csv%s", folder, table, parts[i].number, total,
			 parts[i].gzip ? ".gz" : "");
		if (i > 0 && parts[i].number == parts[i - 1].number) {
			code = note(reader, GOOGLE_TRACE_PART_REPEATED, path, 0, "read from the plain file", err);
			continue;
		}
		if (parts[i].number != (i > 0 ? parts[i - 1].number + 1 : 0)) {
			code = note(reader, GOOGLE_TRACE_PART_MISSING, path, 0, "the part before it is missing", err);
			reader->hole_us = reader->last_us;
		}
		if (i == 0)
			reader->begin_us = parts[i].number > 0 ? BEGINS_LATE : BEGINS_WHOLE;
		progress_update(options->progress, (uint64_t)i, table);
		lines = code == 0 ? file_lines_open(path, err) : NULL;
		code = lines ? read(reader, lines, err) : code != 0 ? code : error_code(err, EIO);
	}
	free(parts);
	return code;
}

int google_trace_read(struct workload *workload, const char *folder, const struct google_trace_options *options,
		      struct google_trace_report *report, struct error *err)
{
	struct google_trace_reader *reader = google_trace_reader_create(workload, options->strict, report);
	int code;

	if (!reader)
		return error_set(err, ENOMEM, "out of memory");
	code = read_table(reader, folder, "machine_events", google_trace_read_machines, options, err);
	if (code == 0)
		code = read_table(reader, folder, "task_events", google_trace_read_tasks, options, err);
	if (code == 0)
		code = google_trace_reader_finish(reader, err);
	google_trace_reader_destroy(reader);
	return code;
}

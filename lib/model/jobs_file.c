/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.jsonl: one object per line; docs/formats.md describes it. */
#include <model/jobs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/json.h>
#include <base/name.h>

#include "files_priv.h"

enum {
	PLACE_BYTES = 64,
	NAME_BYTES = 32,
	LINE_BYTES = 256 << 20 /* enough for JOB_TASKS_MAXIMUM tasks with machines */
};
static const double seconds_maximum = 1e10;

static const char *const job_keys[] =
	{"id",           "curve",          "root",          "tasks",   "graph", "minimum_tasks",
	 "migrate_gain", "migrate_hold_s", "migrate_tasks", "command", NULL},
			 *const task_keys[] = {"name", "machine", "running_s", "waited_s", NULL};

static char *copy_name(struct json_reader *reader, const char *where, const char *key, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !name_is_printable(text, ""))
		json_fail(reader, where, key, "expected a name without control characters");
	if (text && !copy)
		json_no_memory(reader);
	return copy;
}

/* A task is a name, or an object with a name and other members. */
static void read_task(struct json_reader *reader, const json_t *value, const char *where, struct job_task *task)
{
	*task = (struct job_task){.machine = JOB_NO_MACHINE};
	if (json_is_string(value)) {
		if (json_string_length(value) == 0)
			json_fail(reader, where, NULL, "the name is empty");
		task->name = copy_name(reader, where, NULL, json_string_value(value));
		return;
	}
	if (!json_is_object(value)) {
		json_fail(reader, where, NULL, "expected a task's name, or an object with its \"name\"");
		return;
	}
	json_need_known(reader, value, where, task_keys);
	task->name = copy_name(reader, where, "name", json_need_string(reader, value, where, "name"));
	task->machine_name =
		copy_name(reader, where, "machine", json_may_string(reader, value, where, "machine", NULL));
	task->running_s = json_may_number(reader, value, where, "running_s", 0, seconds_maximum, 0);
	task->waited_s = json_may_number(reader, value, where, "waited_s", 0, seconds_maximum, 0);
	if (!reader->failed && task->running_s > 0 && !task->machine_name)
		json_fail(reader, where, "running_s", "a task with running_s needs a \"machine\"");
}

/* "tasks": 5 means five waiting tasks named t0 to t4. */
static void name_tasks(struct json_reader *reader, struct job *job)
{
	char name[NAME_BYTES];

	for (uint32_t t = 0; t < job->task_count && !reader->failed; t++) {
		snprintf(name, sizeof name, "t%u", t);
		job->tasks[t] = (struct job_task){.machine = JOB_NO_MACHINE};
		job->tasks[t].name = copy_name(reader, "", "tasks", name);
	}
}

static void read_tasks(struct json_reader *reader, const json_t *object, struct job *job, json_t *names)
{
	const json_t *list = json_object_get(object, "tasks");
	char where[PLACE_BYTES];
	int64_t count;

	if (json_is_number(list)) {
		count = json_need_integer(reader, object, "", "tasks", 1, JOB_TASKS_MAXIMUM);
	} else {
		list = json_need_array(reader, object, "", "tasks");
		count = reader->failed ? 0 : (int64_t)json_array_size(list);
		if (!reader->failed && (count < 1 || count > JOB_TASKS_MAXIMUM))
			json_fail(reader, "", "tasks", "%lld tasks; expected 1..%d", (long long)count,
				  JOB_TASKS_MAXIMUM);
	}
	if (reader->failed)
		return;
	job->tasks = calloc((size_t)count, sizeof *job->tasks);
	if (!job->tasks) {
		json_no_memory(reader);
		return;
	}
	job->task_count = (uint32_t)count;
	if (json_is_number(list))
		name_tasks(reader, job);
	for (uint32_t t = 0; t < job->task_count && !reader->failed; t++) {
		snprintf(where, sizeof where, "tasks[%u]", t);
		if (json_is_array(list))
			read_task(reader, json_array_get(list, t), where, &job->tasks[t]);
		if (reader->failed)
			return;
		if (json_object_get(names, job->tasks[t].name))
			json_fail(reader, where, "name", "duplicate task '%s' in this job", job->tasks[t].name);
		else
			json_object_set_new(names, job->tasks[t].name, json_integer(t));
	}
}

/* Reads a reference to a task: its name, or its number in the list. */
static uint32_t read_task_reference(struct json_reader *reader, const json_t *value, const char *where, const char *key,
				    const struct job *job, const json_t *names)
{
	const json_t *number = json_is_string(value) ? json_object_get(names, json_string_value(value)) : value;

	if (reader->failed)
		return 0;
	if (json_is_integer(number) && json_integer_value(number) >= 0 &&
	    json_integer_value(number) < (json_int_t)job->task_count)
		return (uint32_t)json_integer_value(number);
	if (json_is_string(value))
		json_fail(reader, where, key, "'%s' is not a task of this job", json_string_value(value));
	else
		json_fail(reader, where, key,
			  "expected the name of one of this job's tasks, or its number from 0 to %u",
			  job->task_count - 1);
	return 0;
}

static void read_limits(struct json_reader *reader, const json_t *object, struct job *job)
{
	job->limits = (struct job_limits){
		.migrate_gain = json_may_number(reader, object, "", "migrate_gain", 0, 1, 0),
		.migrate_hold_s = json_may_number(reader, object, "", "migrate_hold_s", 0, seconds_maximum, 0),
		.migrate_tasks =
			(uint32_t)json_may_integer(reader, object, "", "migrate_tasks", 0, JOB_TASKS_MAXIMUM, 0),
		.minimum_tasks =
			(uint32_t)json_may_integer(reader, object, "", "minimum_tasks", 0, job->task_count, 0)};
}

/* The command stays in the line, for the executor that starts it. */
static void check_command(struct json_reader *reader, const json_t *object)
{
	const json_t *command = json_may_array(reader, object, "", "command"), *word;
	size_t at;

	if (command && !json_string_length(json_array_get(command, 0)))
		json_fail(reader, "", "command", "expected a list of texts that begins with the name of a program");
	json_array_foreach (command, at, word)
		if (!json_is_string(word) || strlen(json_string_value(word)) != json_string_length(word))
			json_fail(reader, "", "command", "expected a list of texts");
}

static int read_job(struct json_reader *reader, const json_t *object, struct job *job)
{
	json_t *names = json_object();

	*job = (struct job){.line = reader->line};
	if (!json_is_object(object))
		json_fail(reader, "", NULL, "expected one JSON object a line");
	if (!names)
		json_no_memory(reader);
	if (!reader->failed) {
		json_need_known(reader, object, "", job_keys);
		job->id = copy_name(reader, "", "id", json_need_string(reader, object, "", "id"));
		job->curve = copy_name(reader, "", "curve", json_need_string(reader, object, "", "curve"));
		read_tasks(reader, object, job, names);
		job->root = read_task_reference(reader, json_object_get(object, "root"), "", "root", job, names);
		read_limits(reader, object, job);
		check_command(reader, object);
		job->graph = job_graph_read(reader, json_object_get(object, "graph"), names, job->task_count);
	}
	json_decref(names);
	if (!reader->failed)
		return 0;
	job_free(job);
	return -EINVAL;
}

static int append_job(struct jobs *jobs, const struct job *job)
{
	struct job *items = array_grow(jobs->items, jobs->count, &jobs->capacity, sizeof *items);

	if (!items)
		return -ENOMEM;
	jobs->items = items;
	jobs->items[jobs->count++] = *job;
	return 0;
}

static int is_blank(const char *line)
{
	return line[strspn(line, " \t\r")] == '\0';
}

/* Parses the reader's current line into jobs; `ids` holds the line of each id. */
static int parse_line(struct jobs *jobs, struct json_reader *reader, const char *line, json_t *ids)
{
	json_t *object = json_read_text(jobs->file, reader->line, line, strlen(line), reader->err);
	const json_t *earlier;
	struct job job;
	int outcome;

	if (!object)
		return -EINVAL;
	outcome = read_job(reader, object, &job);
	json_decref(object);
	if (outcome != 0)
		return outcome;
	earlier = json_object_get(ids, job.id);
	if (earlier) {
		json_fail(reader, "", "id", "duplicate job '%s'; the first is in line %lld", job.id,
			  (long long)json_integer_value(earlier));
		job_free(&job);
		return -EEXIST;
	}
	if (json_object_set_new(ids, job.id, json_integer(reader->line)) != 0 || append_job(jobs, &job) != 0) {
		job_free(&job);
		return error_set(reader->err, ENOMEM, "out of memory");
	}
	return 0;
}

struct jobs *jobs_parse(struct file_lines *lines, struct error *err)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);
	json_t *ids = json_object();
	struct json_reader reader = {.file = file_lines_name(lines)};
	struct error scratch = {0};
	char *line;
	int more = -ENOMEM;

	if (!err)
		err = &scratch;
	reader.err = err;
	if (jobs)
		jobs->file = strdup(file_lines_name(lines));
	file_lines_limit(lines, LINE_BYTES);
	if (!jobs || !jobs->file || !ids) {
		error_set(err, ENOMEM, "out of memory");
		goto out;
	}
	while ((more = file_lines_next(lines, &line, err)) > 0) {
		if (is_blank(line))
			continue;
		reader.line = file_lines_number(lines);
		more = parse_line(jobs, &reader, line, ids);
		if (more < 0)
			break;
	}
out:
	json_decref(ids);
	if (more < 0) {
		jobs_destroy(jobs);
		return NULL;
	}
	return jobs;
}

struct jobs *jobs_read(const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	struct jobs *jobs = lines ? jobs_parse(lines, err) : NULL;

	file_lines_close(lines);
	return jobs;
}

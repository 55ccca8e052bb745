/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/number.h>
#include <model/journal.h>

struct record {
	uint64_t job; /* id */
	char *name;
	int64_t submit_us, started_us, run_us;
	uint32_t index; /* index of the task within its job; the root has 0 */
	bool is_declared /* the journal gave run_us */, runs, ran;
};

struct job_record {
	char *root;
	uint32_t task_count; /* number of tasks that got their index from the order of submission */
	/* With a graph: its line, its tasks, and their numbers by name. */
	json_t *graph, *names;
	long graph_line;
	uint32_t task_number;
};

struct reading {
	struct workload *workload;
	struct curve_library *library;
	struct file_lines *lines;
	struct journal_reader *journal;
	struct error *err;
	struct record *records;
	size_t record_count, record_capacity;
	struct hash_table record_index; /* hash of job and task -> index in records[] */
	struct job_record *jobs;        /* jobs[i] belongs to workload->notes[i] */
	size_t job_capacity;
};

static int out_of_memory(struct reading *reading)
{
	return error_set(reading->err, ENOMEM, "out of memory");
}

static int refuse(struct reading *reading, const char *field, const char *text, const char *name)
{
	return error_at(reading->err,
			(struct error_place){file_lines_name(reading->lines), file_lines_number(reading->lines), field},
			EINVAL, text, name);
}

static uint64_t job_id(const char *name)
{
	int64_t number;

	return number_parse_i64(name, &number) == 0 && number >= 0 ? (uint64_t)number : hash_text(name);
}

/* Several jobs may have the same name, one after the other; each of them gets a different id. */
static uint64_t next_id(uint64_t id)
{
	return hash_mix(id + 1);
}

static const struct workload_note *latest_note(const struct workload *workload, const char *name)
{
	const struct workload_note *latest = workload_find_note(workload, job_id(name));

	for (const struct workload_note *note = latest; note; note = workload_find_note(workload, next_id(note->id)))
		latest = note;
	return latest;
}

static int read_machine(struct reading *reading, const struct journal_event *event)
{
	struct workload *workload = reading->workload;
	const struct cluster_default_rtt *default_rtt = journal_default_rtt(reading->journal);
	bool is_up = event->machine_state == JOURNAL_UP && event->slots > 0, is_new;
	int64_t number;
	int code;

	if (!workload->places && !(workload->places = cluster_create()))
		return out_of_memory(reading);
	workload->has_default_rtt = default_rtt;
	if (default_rtt)
		workload->places->default_rtt = *default_rtt;
	number = cluster_find_machine(workload->places, event->machine);
	is_new = number < 0;
	if (is_new)
		number = cluster_add_machine(workload->places, event->machine, event->rack, event->pod, event->slots,
					     reading->err);
	if (number < 0)
		return error_prefix(reading->err, "%s:%ld", file_lines_name(reading->lines),
				    file_lines_number(reading->lines));
	if (strcmp(workload->places->racks[workload->places->machines[number].rack].name, event->rack) != 0)
		return refuse(reading, "rack",
			      "machine '%s' was in another rack before; a machine must stay in its rack",
			      event->machine);
	code = workload_add_machine_event(workload, event->time_us, (uint64_t)number,
					  is_up ? WORKLOAD_MACHINE_ADDED : WORKLOAD_MACHINE_REMOVED, -1);
	if (code != 0)
		return out_of_memory(reading);
	workload->machine_events[workload->machine_event_count - 1].slots = (int32_t)event->slots;
	return 0;
}

static int read_curve(struct reading *reading, const struct journal_event *event)
{
	if (workload_curve(reading->workload, event->curve) < 0)
		return out_of_memory(reading);
	if (curve_library_define(reading->library, event->curve, event->definition, reading->err) == 0)
		return 0;
	return error_prefix(reading->err, "%s:%ld", file_lines_name(reading->lines), file_lines_number(reading->lines));
}

static int read_job(struct reading *reading, const struct journal_event *event)
{
	struct workload *workload = reading->workload;
	const struct workload_note *earlier = latest_note(workload, event->job);
	struct job_record *larger =
		array_grow(reading->jobs, workload->note_count, &reading->job_capacity, sizeof *larger);

	if (!larger)
		return out_of_memory(reading);
	reading->jobs = larger;
	larger[workload->note_count] = (struct job_record){0};
	if (workload_note_job(workload, earlier ? next_id(earlier->id) : job_id(event->job), event->job,
			      event->curve) != 0)
		return out_of_memory(reading);
	if (event->gang > 0 &&
	    workload_set_gang(workload, workload->notes[workload->note_count - 1].id, event->gang) != 0)
		return out_of_memory(reading);
	larger[workload->note_count - 1] = (struct job_record){.root = strdup(event->task),
							       .graph = json_incref(event->graph),
							       .graph_line = file_lines_number(reading->lines)};
	return larger[workload->note_count - 1].root ? 0 : out_of_memory(reading);
}

static struct record *find_record(struct reading *reading, uint64_t key, uint64_t job, const char *task)
{
	HASH_TABLE_EACH (&reading->record_index, key, at) {
		struct record *record = &reading->records[hash_table_value(&reading->record_index, at)];

		if (record->job == job && strcmp(record->name, task) == 0)
			return record;
	}
	return NULL;
}

/*
 * Returns a task's index in its job: 0 for the root, N + 1 for a task whose name is the number N; other tasks get 1, 2
 * and so on in the order of their submission.
 */
static uint32_t task_index(const struct journal_event *event, struct job_record *job)
{
	int64_t number;

	if (strcmp(event->task, job->root) == 0)
		return 0;
	if (number_parse_i64(event->task, &number) == 0 && number >= 0 && number < UINT32_MAX)
		return (uint32_t)number + 1;
	return ++job->task_count;
}

/* Returns NULL if out of memory. */
static struct record *add_record(struct reading *reading, uint64_t key, const struct workload_note *note,
				 const struct journal_event *event)
{
	struct job_record *job = &reading->jobs[note - reading->workload->notes];
	struct record *larger =
		array_grow(reading->records, reading->record_count, &reading->record_capacity, sizeof *larger);
	char *name = strdup(event->task);

	if (larger)
		reading->records = larger;
	if (!larger || !name || hash_table_insert(&reading->record_index, key, (uint32_t)reading->record_count) != 0) {
		free(name);
		return NULL;
	}
	larger[reading->record_count] = (struct record){
		.job = note->id,
		.name = name,
		.submit_us = event->time_us,
		.run_us = event->run_us >= WORKLOAD_TO_THE_END ? event->run_us : 0,
		.is_declared = event->run_us >= WORKLOAD_TO_THE_END,
		.index = task_index(event, job),
	};
	return &larger[reading->record_count++];
}

static int read_task(struct reading *reading, const struct journal_event *event)
{
	const struct workload_note *note = latest_note(reading->workload, event->job);
	uint64_t key = note ? hash_mix(note->id) ^ hash_text(event->task) : 0;
	struct record *record;

	if (!note)
		return refuse(reading, "job", "unknown job '%s'; expected an event \"job\" before its tasks",
			      event->job);
	record = find_record(reading, key, note->id, event->task);
	if (!record)
		record = add_record(reading, key, note, event);
	if (!record)
		return out_of_memory(reading);
	if (record->is_declared)
		return 0;
	if (record->runs)
		record->run_us += event->time_us - record->started_us;
	record->runs = event->task_state == JOURNAL_RUNNING;
	record->ran |= record->runs;
	record->started_us = event->time_us;
	return 0;
}

static int read_latency(struct reading *reading, const struct journal_event *event)
{
	const struct workload *workload = reading->workload;
	int64_t from = workload->places ? cluster_find_machine(workload->places, event->machine) : -1;

	if (from < 0)
		return refuse(reading, "from", "unknown machine '%s'", event->machine);
	for (size_t i = 0; i < event->pair_count; i++) {
		int64_t to = cluster_find_machine(workload->places, event->pairs[i].to);

		if (to < 0)
			return refuse(reading, "to", "unknown machine '%s'", event->pairs[i].to);
		if (workload_add_latency(reading->workload, event->time_us, (uint32_t)from, (uint32_t)to,
					 (float)event->pairs[i].rtt_us) != 0)
			return out_of_memory(reading);
	}
	return 0;
}

static int read_event(struct reading *reading, const struct journal_event *event, struct journal_counts *counts)
{
	counts->events++;
	counts->last_us = event->time_us;
	switch (event->kind) {
	case JOURNAL_MACHINE:
		return read_machine(reading, event);
	case JOURNAL_CURVE:
		return read_curve(reading, event);
	case JOURNAL_JOB:
		return read_job(reading, event);
	case JOURNAL_TASK:
		return read_task(reading, event);
	case JOURNAL_LATENCY:
		return read_latency(reading, event);
	case JOURNAL_CALL: /* used only by the live scheduler */
		return 0;
	case JOURNAL_DECISION:
	case JOURNAL_KINDS:
	default:
		counts->decisions++;
		return 0;
	}
}

static struct job_record *job_of(const struct reading *reading, const struct record *record)
{
	return &reading->jobs[workload_find_note(reading->workload, record->job) - reading->workload->notes];
}

static int by_job(const void *left, const void *right)
{
	const struct record *a = *(struct record *const *)left, *b = *(struct record *const *)right;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Numbers the tasks of the jobs with a graph from 0, in the order of their indices, and notes them by name. */
static int number_tasks(struct reading *reading)
{
	struct record **records = calloc(reading->record_count + 1, sizeof *records);
	size_t count = 0;
	int code = records ? 0 : -ENOMEM;

	for (size_t i = 0; i < reading->record_count && records; i++)
		if (job_of(reading, &reading->records[i])->graph)
			records[count++] = &reading->records[i];
	if (count > 0)
		qsort(records, count, sizeof *records, by_job);
	for (size_t i = 0; i < count && code == 0; i++) {
		struct job_record *job = job_of(reading, records[i]);

		records[i]->index = job->task_number++;
		if (!job->names)
			job->names = json_object();
		if (json_object_set_new(job->names, records[i]->name, json_integer(records[i]->index)) != 0)
			code = -ENOMEM;
	}
	free(records);
	return code == 0 ? 0 : out_of_memory(reading);
}

static int set_graph(struct reading *reading, uint64_t id, const struct job_record *job)
{
	struct json_reader json = {
		.file = file_lines_name(reading->lines), .line = job->graph_line, .err = reading->err};
	struct job_graph *graph = job_graph_read(&json, job->graph, job->names, job->task_number);
	char *text = graph ? json_dumps(graph->form, JSON_COMPACT) : NULL;
	int code = 0;

	if (json.failed)
		code = error_code(reading->err, EINVAL);
	else if (graph && (!text || workload_set_graph(reading->workload, id, text, job->task_number) != 0))
		code = out_of_memory(reading);
	free(text);
	job_graph_destroy(graph);
	return code;
}

/* Sets the graphs of the jobs that have tasks. */
static int add_graphs(struct reading *reading)
{
	int code = number_tasks(reading);

	for (size_t j = 0; j < reading->workload->note_count && code == 0; j++)
		if (reading->jobs[j].names)
			code = set_graph(reading, reading->workload->notes[j].id, &reading->jobs[j]);
	return code;
}

static int add_tasks(struct reading *reading)
{
	for (size_t i = 0; i < reading->record_count; i++) {
		const struct record *record = &reading->records[i];
		int64_t run_us = record->run_us;

		if (!record->is_declared && record->runs)
			run_us = WORKLOAD_TO_THE_END;
		if (!record->is_declared && !record->ran)
			reading->workload->left_out.never_ran++;
		else if (workload_add_task(reading->workload, record->job, record->index, record->submit_us, run_us) !=
			 0)
			return out_of_memory(reading);
	}
	if (reading->record_count == 0 || !reading->workload->places)
		return error_set(reading->err, EINVAL, "%s: nothing to simulate: %zu tasks, %u machines",
				 file_lines_name(reading->lines), reading->record_count,
				 reading->workload->places ? reading->workload->places->machine_count : 0);
	return 0;
}

int journal_read_workload(struct workload *workload, struct curve_library *library, struct file_lines *lines,
			  struct journal_counts *counts, struct error *err)
{
	struct reading reading = {.workload = workload, .library = library, .lines = lines, .err = err};
	struct journal_reader *reader = journal_reader_create(lines, err);
	struct journal_event event;
	int code = reader ? 0 : error_code(err, EINVAL), more = 0;

	reading.journal = reader;
	*counts = (struct journal_counts){0};
	while (code == 0 && (more = journal_next(reader, &event, err)) > 0)
		code = read_event(&reading, &event, counts);
	if (code == 0)
		code = more;
	if (code == 0) {
		counts->origin_s = journal_origin_s(reader);
		counts->is_cut = journal_is_cut(reader);
		code = add_graphs(&reading);
		code = code == 0 ? add_tasks(&reading) : code;
	}
	for (size_t i = 0; i < reading.record_count; i++)
		free(reading.records[i].name);
	for (size_t j = 0; j < workload->note_count && reading.jobs; j++) {
		free(reading.jobs[j].root);
		json_decref(reading.jobs[j].graph);
		json_decref(reading.jobs[j].names);
	}
	free(reading.records);
	free(reading.jobs);
	hash_table_free(&reading.record_index);
	journal_reader_destroy(reader);
	return code;
}

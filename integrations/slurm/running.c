/* SPDX-License-Identifier: BSD-3-Clause */
#include <integrations/slurm/agent.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/name.h>
#include <base/number.h>
#include <integrations/slurm/request.h>

enum { FIELDS = 128, ID_BYTES = 64, DIGITS_MAXIMUM = 9 };

enum column { JOB_ID, NODE_LIST, STATE, N_TASKS, ALLOC_CPUS, CPUS, COMMENT, COLUMNS };
static const char *const column_names[COLUMNS] = {"JobID",     "NodeList", "State",  "NTasks",
						  "AllocCPUS", "CPUS",     "Comment"};

/* A job, until the rows of its steps are read. */
struct pending {
	char id[ID_BYTES]; /* "": none */
	json_t *nodes;     /* array of names */
	json_t *places;    /* array of the node of each task; empty if not known */
	char *comment;
	uint32_t tasks, step_tasks; /* of the job's row; largest number of a step, 0 = none */
};

struct reading {
	struct file_lines *lines;
	struct error *err;
	int place[COLUMNS]; /* position of each column; -1 = absent */
	bool has_header;
	struct pending job;
	struct slurm_running_report *report;
	json_t *jobs;
};

static int bad(const struct reading *reading, enum column column, const char *found, const char *expected)
{
	return error_at(reading->err,
			(struct error_place){file_lines_name(reading->lines), file_lines_number(reading->lines),
					     column_names[column]},
			EINVAL, "found '%.60s'; expected %s", found, expected);
}

/* The text before a part of a list, and the names so far. */
struct expansion {
	char name[SLURM_NODE_NAME_BYTES];
	json_t *names;
};

static int expand_from(struct expansion *expansion, size_t length, const char *at, const char *end);

/* Expands one range of a bracket, "8" or "08-10", with the rest of the list's item after the bracket. */
static int expand_range(struct expansion *expansion, size_t length, const char *range, size_t range_length,
			const char *rest, const char *end)
{
	const char *dash = memchr(range, '-', range_length);
	size_t digits = dash ? (size_t)(dash - range) : range_length;
	size_t last_digits = dash ? range_length - digits - 1 : digits;
	unsigned long first, last;

	if (digits == 0 || digits > DIGITS_MAXIMUM || last_digits == 0 || last_digits > DIGITS_MAXIMUM ||
	    strspn(range, "0123456789") < digits || (dash && strspn(dash + 1, "0123456789") < last_digits))
		return -EINVAL;
	first = strtoul(range, NULL, 10);
	last = dash ? strtoul(dash + 1, NULL, 10) : first;
	if (last < first || last - first >= SLURM_NODES_MAXIMUM)
		return -EINVAL;
	for (unsigned long number = first; number <= last; number++) {
		int added = snprintf(expansion->name + length, sizeof expansion->name - length, "%0*lu", (int)digits,
				     number);
		int code;

		if (length + (size_t)added >= sizeof expansion->name)
			return -EINVAL;
		code = expand_from(expansion, length + (size_t)added, rest, end);
		if (code != 0)
			return code;
	}
	return 0;
}

/* Expands an item of a list from `at` to `end`; its first `length` bytes are in expansion->name already. */
static int expand_from(struct expansion *expansion, size_t length, const char *at, const char *end)
{
	const char *open = memchr(at, '[', (size_t)(end - at));
	size_t plain = (size_t)((open ? open : end) - at);
	const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;

	if (length + plain >= sizeof expansion->name || (open && !close) || memchr(at, ']', plain))
		return -EINVAL;
	memcpy(expansion->name + length, at, plain);
	length += plain;
	if (!open) {
		expansion->name[length] = '\0';
		if (!name_is_valid(expansion->name, sizeof expansion->name) ||
		    json_array_size(expansion->names) >= SLURM_NODES_MAXIMUM)
			return -EINVAL;
		return json_array_append_new(expansion->names, json_string(expansion->name)) == 0 ? 0 : -ENOMEM;
	}
	for (const char *range = open + 1; range <= close;) {
		const char *comma = memchr(range, ',', (size_t)(close - range));
		size_t range_length = (size_t)((comma ? comma : close) - range);
		int code = expand_range(expansion, length, range, range_length, close + 1, end);

		if (code != 0)
			return code;
		range += range_length + 1;
	}
	return 0;
}

/*
 * Appends the names in a node list such as "gpu1,n[08-10,12],r[1-2]c[1-2]" to an array of strings. Returns 0; or
 * -EINVAL if the list is malformed or has more than SLURM_NODES_MAXIMUM names, -ENOMEM.
 */
static int expand_nodes(const char *list, json_t *names)
{
	struct expansion expansion = {.names = names};
	int code = 0;

	for (const char *item = list; code == 0;) {
		const char *end = item;

		for (bool inside = false; *end && (inside || *end != ','); end++)
			inside = *end == '[' || (inside && *end != ']');
		code = expand_from(&expansion, 0, item, end);
		if (*end == '\0')
			break;
		item = end + 1;
	}
	return code;
}

static int read_header(struct reading *reading, char **fields, size_t count)
{
	reading->has_header = true;
	for (int c = 0; c < COLUMNS; c++) {
		reading->place[c] = -1;
		for (size_t f = 0; f < count; f++)
			if (strcasecmp(fields[f], column_names[c]) == 0)
				reading->place[c] = (int)f;
		if (c <= NODE_LIST && reading->place[c] < 0)
			return bad(
				reading, (enum column)c, count > 0 ? fields[0] : "",
				"the output of scontrol -o -d show job, or a header with this column, as sacct -a -P "
				"-s RUNNING -o "
				"JobID,State,NodeList,NTasks,AllocCPUS,Comment or squeue -o '%i|%T|%N|%C|%k' print it");
	}
	if (reading->place[N_TASKS] < 0 && reading->place[ALLOC_CPUS] < 0 && reading->place[CPUS] < 0)
		return bad(reading, N_TASKS, "no such column", "NTasks, AllocCPUS or CPUS");
	return 0;
}

/* Fills job->places with `count` places, unless the CPUs on each node gave this number of them. */
static int divide_tasks(struct reading *reading, uint32_t count)
{
	struct pending *job = &reading->job;
	size_t nodes = json_array_size(job->nodes);
	uint64_t larger = count % nodes, block = count / nodes; /* the first `larger` nodes have one more */

	if (json_array_size(job->places) == count)
		return 0;
	reading->report->guessed += nodes > 1 && count != nodes;
	json_array_clear(job->places);
	for (uint32_t t = 0; t < count; t++) {
		uint64_t node =
			t < larger * (block + 1) ? t / (block + 1) : larger + (t - larger * (block + 1)) / block;

		if (json_array_append(job->places, json_array_get(job->nodes, node)) != 0)
			return error_set(reading->err, ENOMEM, "out of memory");
	}
	return 0;
}

/* Adds the job that was read to the result: its tasks are numbered after those of its other components. */
static int finish_job(struct reading *reading)
{
	struct pending *job = &reading->job;
	uint32_t count = job->step_tasks > 0 ? job->step_tasks : job->tasks;
	struct slurm_request request = {.root = 0};
	json_t *known = json_object_get(reading->jobs, job->id), *tasks = json_object_get(known, "tasks");
	uint32_t before = (uint32_t)json_object_size(tasks);
	char name[16];
	int code;

	if (!job->id[0])
		return 0;
	if (!known && slurm_request_parse(job->comment, count, &request, reading->err) < 0)
		return error_prefix(reading->err, "%s: job %s", file_lines_name(reading->lines), job->id);
	snprintf(name, sizeof name, "%u", request.root);
	if (!known) {
		known = json_pack("{s:s*, s:s, s:{}}", "curve", request.curve[0] ? request.curve : NULL, "root", name,
				  "tasks");
		code = json_object_set_new(reading->jobs, job->id, known);
		tasks = json_object_get(known, "tasks");
		if (code != 0 || !tasks)
			return error_set(reading->err, ENOMEM, "out of memory");
	}
	code = divide_tasks(reading, count);
	for (uint32_t t = 0; t < count && code == 0; t++) {
		snprintf(name, sizeof name, "%u", before + t);
		if (json_object_set(tasks, name, json_array_get(job->places, t)) != 0)
			code = error_set(reading->err, ENOMEM, "out of memory");
	}
	return code;
}

static void forget_job(struct reading *reading)
{
	json_decref(reading->job.nodes);
	json_decref(reading->job.places);
	free(reading->job.comment);
	reading->job = (struct pending){.id = ""};
}

static const char *field_of(const struct reading *reading, char **fields, enum column column)
{
	return reading->place[column] >= 0 ? fields[reading->place[column]] : "";
}

static uint32_t task_count(const struct reading *reading, char **fields, enum column column)
{
	int64_t count;

	return number_parse_i64(field_of(reading, fields, column), &count) == 0 && count >= 1 &&
			       count <= SLURM_TASKS_MAXIMUM
		       ? (uint32_t)count
		       : 0;
}

/* A step "12.0" of the job that was read last. The batch script and Slurm's own steps do not count. */
static void read_step(struct reading *reading, char **fields, const char *id, const char *dot)
{
	uint32_t tasks = task_count(reading, fields, N_TASKS);

	if (dot[1] >= '0' && dot[1] <= '9' && strlen(reading->job.id) == strcspn(id, "+.") &&
	    strncmp(reading->job.id, id, strcspn(id, "+.")) == 0 && tasks > reading->job.step_tasks)
		reading->job.step_tasks = tasks;
}

/* Sets the job. `tasks`: a valid number, or 0. */
static int begin_job(struct reading *reading, const char *id, const char *nodes, uint32_t tasks, const char *comment)
{
	struct pending *job = &reading->job;
	int code;

	if (strcspn(id, "+") >= sizeof job->id || strcspn(id, "+") == 0)
		return bad(reading, JOB_ID, id, "a job's number");
	job->nodes = json_array();
	job->places = json_array();
	code = job->nodes && job->places ? expand_nodes(nodes, job->nodes) : -ENOMEM;
	if (code == -EINVAL)
		return bad(reading, NODE_LIST, nodes, "a list of nodes, such as n[1-3],gpu1");
	if (code == 0 && tasks == 0)
		return bad(reading, N_TASKS, "", "a number of tasks or CPUs, 1 to 100000");
	job->tasks = tasks;
	job->comment = strdup(comment);
	if (code != 0 || !job->comment)
		return error_set(reading->err, ENOMEM, "out of memory");
	snprintf(job->id, sizeof job->id, "%.*s", (int)strcspn(id, "+"), id);
	return name_is_valid(job->id, sizeof job->id) ? 0 : bad(reading, JOB_ID, "", "a job's number");
}

/* Returns the number of CPUs in "0-2,5"; 0 if the text is not such a list. */
static uint64_t count_cpus(const char *text)
{
	uint64_t count = 0;

	for (;;) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*text < '0' || *text > '9')
			return 0;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
		}
		if (last < first || last - first > SLURM_TASKS_MAXIMUM)
			return 0;
		count += last - first + 1;
		if (*end == '\0')
			return count;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* Adds a place for each task for which the CPUs on these nodes suffice. */
static int add_places(struct reading *reading, const char *nodes, const char *cpus, int64_t cpus_per_task)
{
	uint64_t tasks = count_cpus(cpus) / (uint64_t)(cpus_per_task > 0 ? cpus_per_task : 1);
	json_t *names = json_array(), *name;
	int code = names ? expand_nodes(nodes, names) : -ENOMEM;
	size_t at;

	if (code == -EINVAL)
		code = bad(reading, NODE_LIST, nodes, "a list of nodes, such as n[1-3],gpu1");
	json_array_foreach (names, at, name)
		for (uint64_t t = 0;
		     code == 0 && t < tasks && json_array_size(reading->job.places) <= SLURM_TASKS_MAXIMUM; t++)
			code = json_array_append(reading->job.places, name) == 0 ? 0 : -ENOMEM;
	json_decref(names);
	return code == -ENOMEM ? error_set(reading->err, ENOMEM, "out of memory") : code;
}

/* The values of a line of scontrol that come before the list of nodes. */
struct shown {
	const char *id, *state, *nodes, *tasks, *cpus_per_task, *comment;
};

static void take_value(struct shown *shown, const char *key, const char *value)
{
	const struct {
		const char *key, **value;
	} keys[] = {{"JobId", &shown->id},       {"HetJobId", &shown->id},    {"JobState", &shown->state},
		    {"NodeList", &shown->nodes}, {"NumTasks", &shown->tasks}, {"CPUs/Task", &shown->cpus_per_task},
		    {"Comment", &shown->comment}};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i].key, key) == 0)
			*keys[i].value = value;
}

/* A line of scontrol. Its values have no blanks, except some that are not used here. */
static int read_shown(struct reading *reading, char *line)
{
	struct shown shown = {"", "", "", "", "1", ""};
	const char *nodes[FIELDS], *cpus[FIELDS], *named = ""; /* named: nodes without their CPUs yet */
	size_t places = 0;
	char *save = NULL;
	int64_t count = 0, cpus_per_task = 1;
	int code;

	forget_job(reading);
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(word, '=');

		if (!equals)
			continue;
		*equals = '\0';
		take_value(&shown, word, equals + 1);
		if (strcmp(word, "Nodes") == 0) {
			named = equals + 1;
		} else if (strcmp(word, "CPU_IDs") == 0 && places < FIELDS) {
			nodes[places] = named;
			cpus[places++] = equals + 1;
			named = "";
		}
	}
	if (strcmp(shown.state, "RUNNING") != 0)
		return 0;
	if (number_parse_i64(shown.tasks, &count) != 0 || count < 1 || count > SLURM_TASKS_MAXIMUM)
		count = 0;
	if (number_parse_i64(shown.cpus_per_task, &cpus_per_task) != 0)
		cpus_per_task = 1;
	code = begin_job(reading, shown.id, shown.nodes, (uint32_t)count, shown.comment);
	for (size_t i = 0; i < places && code == 0; i++)
		code = add_places(reading, nodes[i], cpus[i], cpus_per_task);
	return code == 0 ? finish_job(reading) : code;
}

static int read_row(struct reading *reading, char *line)
{
	char *fields[FIELDS];
	size_t count = file_split(line, '|', fields, FIELDS);
	const char *id, *dot, *state;
	uint32_t tasks = 0;
	int code;

	if (!reading->has_header)
		return read_header(reading, fields, count < FIELDS ? count : FIELDS);
	for (int c = 0; c < COLUMNS; c++)
		if (reading->place[c] >= (int)count)
			return bad(reading, (enum column)c, "too few columns", "the columns of the header");
	id = field_of(reading, fields, JOB_ID);
	dot = strchr(id, '.');
	if (dot) {
		read_step(reading, fields, id, dot);
		return 0;
	}
	code = finish_job(reading);
	forget_job(reading);
	state = field_of(reading, fields, STATE);
	if (code != 0 || (reading->place[STATE] >= 0 && strcmp(state, "RUNNING") != 0 && strcmp(state, "R") != 0))
		return code;
	for (int c = N_TASKS; c <= CPUS && tasks == 0; c++)
		tasks = task_count(reading, fields, (enum column)c);
	return begin_job(reading, id, field_of(reading, fields, NODE_LIST), tasks, field_of(reading, fields, COMMENT));
}

json_t *slurm_running_read(struct file_lines *lines, struct slurm_running_report *report, struct error *err)
{
	struct reading reading = {.lines = lines, .report = report, .err = err, .jobs = json_object()};
	int code = reading.jobs ? 0 : error_set(err, ENOMEM, "out of memory"), more = 0;
	bool shown = false, any = false;
	char *line;

	*report = (struct slurm_running_report){0};
	while (code == 0 && (more = file_lines_next(lines, &line, err)) > 0) {
		bool is_shown = strncmp(line, "JobId=", 6) == 0;

		any = true;
		shown = shown || is_shown;
		if (line[strspn(line, " \t\r")] != '\0')
			code = shown ? read_shown(&reading, line) : read_row(&reading, line);
	}
	if (code == 0)
		code = more < 0 ? more : shown ? 0 : finish_job(&reading);
	if (code == 0 && !any)
		code = error_set(err, EINVAL,
				 "%s: empty; expected the output of scontrol -o -d show job, squeue -o or sacct -P",
				 file_lines_name(lines));
	forget_job(&reading);
	if (code == 0)
		return reading.jobs;
	json_decref(reading.jobs);
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/journal.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/json.h>
#include <base/name.h>

/* 2^53 - 1, 285 years: a double represents every microsecond up to here. */
static const int64_t time_maximum_us = INT64_C(9007199254740991);
static const double rtt_maximum_us = 1e9;
enum { SLOTS_MAXIMUM = 100000, LINE_BYTES = 64 << 20 };

static const char *const kind_names[] = {"machine", "curve", "job", "task", "latency", "decision", "call", NULL};
static const char *const machine_state_names[] = {"up", "draining", "down", "removed", NULL};
static const char *const task_state_names[] = {"waiting", "running", "ended", "failed", NULL};
static const char *const decision_names[] = {"place", "move", "preempt", "advice", NULL};

struct journal_reader {
	struct file_lines *lines;
	struct json_reader json;
	json_t *object; /* the current line; events borrow its strings */
	struct cluster_default_rtt default_rtt;
	bool has_default_rtt;
	double origin_s;
	int64_t last_us;
	struct journal_pair *pairs;
	size_t pair_capacity;
	char *definition;
	bool is_cut;
};

/* ---- writer ---- */

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void put_real(json_t *object, const char *key, double value)
{
	if (isfinite(value))
		json_object_set_new(object, key, json_real(value));
}

static void put_integer(json_t *object, const char *key, int64_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

static void put_machine(json_t *object, const struct journal_event *event)
{
	put_text(object, "machine", event->machine);
	put_text(object, "rack", event->rack);
	put_text(object, "pod", event->pod);
	put_integer(object, "slots", event->slots);
	put_text(object, "state", machine_state_names[event->machine_state]);
}

static void put_job(json_t *object, const struct journal_event *event)
{
	put_text(object, "job", event->job);
	put_text(object, "curve", event->curve);
	put_text(object, "root", event->task);
	if (event->gang > 0)
		put_integer(object, "gang", event->gang);
	if (event->graph)
		json_object_set(object, "graph", event->graph);
}

static void put_task(json_t *object, const struct journal_event *event)
{
	put_text(object, "job", event->job);
	put_text(object, "task", event->task);
	put_text(object, "state", task_state_names[event->task_state]);
	put_text(object, "machine", event->machine);
	if (event->run_us != JOURNAL_RUN_UNKNOWN && event->task_state == JOURNAL_WAITING)
		put_integer(object, "run_us", event->run_us);
}

static json_t *rtt_json(double rtt_us)
{
	if (isnan(rtt_us))
		return json_null();
	return isinf(rtt_us) ? json_string("unreachable") : json_real(rtt_us);
}

static void put_pairs(json_t *object, const struct journal_event *event)
{
	json_t *to = json_array(), *rtt_us = json_array();

	put_text(object, "from", event->machine);
	for (size_t i = 0; i < event->pair_count; i++) {
		json_array_append_new(to, json_string(event->pairs[i].to));
		json_array_append_new(rtt_us, rtt_json(event->pairs[i].rtt_us));
	}
	json_object_set_new(object, "to", to);
	json_object_set_new(object, "rtt_us", rtt_us);
}

static void put_decision(json_t *object, const struct journal_event *event)
{
	put_text(object, "decision", decision_names[event->decision]);
	put_integer(object, "sequence", (int64_t)event->sequence);
	put_text(object, "job", event->job);
	put_text(object, "task", event->task);
	put_text(object, "from", event->from);
	put_text(object, "to", event->to);
	put_real(object, "rtt_us", event->rtt_us);
	put_real(object, "performance", event->performance);
	put_real(object, "gain", event->gain);
}

static bool print_line(FILE *out, json_t *object)
{
	return json_print_member(out, "", object) && fputc('\n', out) != EOF;
}

bool journal_print_header(FILE *out, double origin_s, const struct cluster_default_rtt *default_rtt)
{
	const struct cluster_default_rtt *rtt = default_rtt;
	json_t *header = json_pack("{s:s,s:f}", "schema", JOURNAL_SCHEMA, "origin_s", origin_s);

	if (header && rtt)
		json_object_set_new(header, "default_rtt_us",
				    json_pack("{s:f,s:f,s:f,s:f}", "same_machine", rtt->same_machine_us, "same_rack",
					      rtt->same_rack_us, "same_pod", rtt->same_pod_us, "other_pod",
					      rtt->other_pod_us));
	return print_line(out, header);
}

bool journal_print(FILE *out, const struct journal_event *event)
{
	json_t *object = json_pack("{s:I,s:s}", "t_us", (json_int_t)event->time_us, "event", kind_names[event->kind]);

	if (!object)
		return false;
	switch (event->kind) {
	case JOURNAL_MACHINE:
		put_machine(object, event);
		break;
	case JOURNAL_CURVE:
	case JOURNAL_CALL:
		put_text(object, "curve", event->curve);
		if (json_object_set_new(object, event->kind == JOURNAL_CALL ? "call" : "definition",
					json_loads(event->definition, 0, NULL)) != 0) {
			json_decref(object);
			return false;
		}
		break;
	case JOURNAL_JOB:
		put_job(object, event);
		break;
	case JOURNAL_TASK:
		put_task(object, event);
		break;
	case JOURNAL_LATENCY:
		put_pairs(object, event);
		break;
	case JOURNAL_DECISION:
	case JOURNAL_KINDS:
	default:
		put_decision(object, event);
	}
	return print_line(out, object);
}

/* ---- reader ---- */

static int need_choice(struct json_reader *json, const json_t *object, const char *key, const char *const *names)
{
	const char *text = json_need_string(json, object, "", key);
	char list[128] = "";
	size_t used = 0;

	for (int i = 0; text && names[i]; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
	}
	if (text)
		json_fail(json, "", key, "'%s' is not one of %s", text, list);
	return 0;
}

static const char *need_name(struct json_reader *json, const json_t *object, const char *key)
{
	const char *text = json_need_string(json, object, "", key);

	if (text && !name_is_printable(text, ""))
		json_fail(json, "", key, "expected a name without control characters");
	return text;
}

static const char *may_name(struct json_reader *json, const json_t *object, const char *key)
{
	return json_object_get(object, key) ? need_name(json, object, key) : NULL;
}

static void read_machine(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;

	event->machine = need_name(json, reader->object, "machine");
	event->rack = need_name(json, reader->object, "rack");
	event->pod = may_name(json, reader->object, "pod");
	event->slots = (uint32_t)json_need_integer(json, reader->object, "", "slots", 0, SLOTS_MAXIMUM);
	event->machine_state =
		(enum journal_machine_state)need_choice(json, reader->object, "state", machine_state_names);
}

static void read_definition(struct journal_reader *reader, struct journal_event *event, const char *key)
{
	const json_t *definition = json_need_object(&reader->json, reader->object, "", key);

	reader->definition = definition ? json_dumps(definition, JSON_COMPACT) : NULL;
	event->definition = reader->definition;
	if (definition && !reader->definition)
		json_no_memory(&reader->json);
}

static void read_curve(struct journal_reader *reader, struct journal_event *event)
{
	event->curve = need_name(&reader->json, reader->object, "curve");
	read_definition(reader, event, "definition");
}

static void read_job(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;

	event->job = need_name(json, reader->object, "job");
	event->curve = need_name(json, reader->object, "curve");
	event->task = need_name(json, reader->object, "root");
	event->gang = (uint32_t)json_may_integer(json, reader->object, "", "gang", 0, UINT32_MAX - 1, 0);
	if (json_may_array(json, reader->object, "", "graph"))
		event->graph = json_object_get(reader->object, "graph");
}

static void read_task(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;

	event->job = need_name(json, reader->object, "job");
	event->task = need_name(json, reader->object, "task");
	event->task_state = (enum journal_task_state)need_choice(json, reader->object, "state", task_state_names);
	event->machine = may_name(json, reader->object, "machine");
	event->run_us = json_may_integer(json, reader->object, "", "run_us", JOURNAL_RUN_TO_THE_END, time_maximum_us,
					 JOURNAL_RUN_UNKNOWN);
	if (!json->failed && event->task_state == JOURNAL_RUNNING && !event->machine)
		json_fail(json, "", "machine", "missing; expected the machine where the task runs");
}

static void read_pairs(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;
	const json_t *to = json_need_array(json, reader->object, "", "to");
	const json_t *rtt_us = json_need_array(json, reader->object, "", "rtt_us");
	struct journal_pair *larger;

	event->machine = need_name(json, reader->object, "from");
	if (json->failed)
		return;
	if (json_array_size(to) != json_array_size(rtt_us)) {
		json_fail(json, "", "rtt_us", "%zu values; expected one for each of the %zu in \"to\"",
			  json_array_size(rtt_us), json_array_size(to));
		return;
	}
	larger = array_reserve(reader->pairs, json_array_size(to) + 1, &reader->pair_capacity, sizeof *larger);
	if (!larger) {
		json_no_memory(json);
		return;
	}
	reader->pairs = larger;
	for (size_t i = 0; i < json_array_size(to) && !json->failed; i++) {
		const char *name = json_string_value(json_array_get(to, i));
		const json_t *value = json_array_get(rtt_us, i);
		double rtt = json_is_string(value) ? INFINITY : json_is_null(value) ? NAN : json_number_value(value);

		larger[i] = (struct journal_pair){name, rtt};
		if (!name || !name[0] || !name_is_printable(name, ""))
			json_fail(json, "", "to", "entry %zu: expected the name of a machine", i);
		else if (json_is_string(value)
				 ? strcmp(json_string_value(value), "unreachable") != 0
				 : !json_is_null(value) && (!json_is_number(value) || rtt < 0 || rtt > rtt_maximum_us))
			json_fail(json, "", "rtt_us",
				  "entry %zu: expected microseconds up to 1e9, null or \"unreachable\"", i);
	}
	event->pairs = larger;
	event->pair_count = json_array_size(to);
}

static void read_decision(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;
	const json_t *object = reader->object;

	event->decision = (enum journal_decision)need_choice(json, object, "decision", decision_names);
	event->sequence = (uint64_t)json_need_integer(json, object, "", "sequence", 0, time_maximum_us);
	event->job = need_name(json, object, "job");
	event->task = need_name(json, object, "task");
	event->from = may_name(json, object, "from");
	event->to = may_name(json, object, "to");
	event->rtt_us = json_may_number(json, object, "", "rtt_us", 0, rtt_maximum_us, NAN);
	event->performance = json_may_number(json, object, "", "performance", 0, 1e9, NAN);
	event->gain = json_may_number(json, object, "", "gain", -1e9, 1e9, NAN);
}

static void read_event(struct journal_reader *reader, struct journal_event *event)
{
	struct json_reader *json = &reader->json;
	const json_t *object = reader->object;

	event->time_us = json_need_integer(json, object, "", "t_us", 0, time_maximum_us);
	event->kind = (enum journal_kind)need_choice(json, object, "event", kind_names);
	if (!json->failed && event->time_us < reader->last_us)
		json_fail(json, "", "t_us", "%lld is earlier than %lld in the previous line", (long long)event->time_us,
			  (long long)reader->last_us);
	if (json->failed)
		return;
	reader->last_us = event->time_us;
	if (event->kind == JOURNAL_MACHINE)
		read_machine(reader, event);
	else if (event->kind == JOURNAL_CURVE)
		read_curve(reader, event);
	else if (event->kind == JOURNAL_TASK)
		read_task(reader, event);
	else if (event->kind == JOURNAL_LATENCY)
		read_pairs(reader, event);
	else if (event->kind == JOURNAL_DECISION)
		read_decision(reader, event);
	else if (event->kind == JOURNAL_CALL)
		read_definition(reader, event, "call");
	else
		read_job(reader, event);
}

static void drop_line(struct journal_reader *reader)
{
	json_decref(reader->object);
	free(reader->definition);
	reader->object = NULL;
	reader->definition = NULL;
}

/*
 * Parses the next line that is not blank. Returns 1, 0 at the end, or -errno. A last line that is not valid JSON counts
 * as cut off: it is the end, and is_cut is set.
 */
static int next_object(struct journal_reader *reader, struct error *err)
{
	char *line;
	int more;

	drop_line(reader);
	reader->json.err = err;
	do {
		more = file_lines_next(reader->lines, &line, err);
	} while (more > 0 && line[strspn(line, " \t\r")] == '\0');
	if (more <= 0)
		return more;
	reader->json.line = file_lines_number(reader->lines);
	reader->object = json_read_text(reader->json.file, reader->json.line, line, strlen(line), err);
	if (!reader->object) {
		struct error scratch = {0};

		reader->is_cut = file_lines_next(reader->lines, &line, &scratch) == 0;
		if (!reader->is_cut)
			return -EINVAL;
		*err = (struct error){0};
		return 0;
	}
	if (!json_is_object(reader->object))
		json_fail(&reader->json, "", NULL, "expected one JSON object a line");
	return reader->json.failed ? -EINVAL : 1;
}

static double read_rtt(struct json_reader *json, const json_t *object, const char *key)
{
	return json_need_number(json, object, "default_rtt_us", key, 0, rtt_maximum_us);
}

static void read_header(struct journal_reader *reader)
{
	struct json_reader *json = &reader->json;
	const json_t *rtt = json_object_get(reader->object, "default_rtt_us");

	json_need_schema(json, reader->object, JOURNAL_SCHEMA);
	reader->origin_s = json_may_number(json, reader->object, "", "origin_s", 0, 1e12, 0);
	if (!rtt || json->failed)
		return;
	rtt = json_need_object(json, reader->object, "", "default_rtt_us");
	reader->has_default_rtt = true;
	reader->default_rtt =
		(struct cluster_default_rtt){read_rtt(json, rtt, "same_machine"), read_rtt(json, rtt, "same_rack"),
					     read_rtt(json, rtt, "same_pod"), read_rtt(json, rtt, "other_pod")};
}

struct journal_reader *journal_reader_create(struct file_lines *lines, struct error *err)
{
	struct journal_reader *reader = calloc(1, sizeof *reader);
	int more;

	if (!reader) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	reader->lines = lines;
	reader->json.file = file_lines_name(lines);
	file_lines_limit(lines, LINE_BYTES);
	more = next_object(reader, err);
	if (more == 0)
		error_set(err, EINVAL, "%s: expected a first line with \"schema\": \"" JOURNAL_SCHEMA "\"",
			  file_lines_name(lines));
	if (more > 0)
		read_header(reader);
	if (more > 0 && !reader->json.failed)
		return reader;
	journal_reader_destroy(reader);
	return NULL;
}

void journal_reader_destroy(struct journal_reader *reader)
{
	if (!reader)
		return;
	drop_line(reader);
	free(reader->pairs);
	free(reader);
}

const struct cluster_default_rtt *journal_default_rtt(const struct journal_reader *reader)
{
	return reader->has_default_rtt ? &reader->default_rtt : NULL;
}

int journal_next(struct journal_reader *reader, struct journal_event *event, struct error *err)
{
	int more = next_object(reader, err);

	*event = (struct journal_event){.run_us = JOURNAL_RUN_UNKNOWN, .rtt_us = NAN, .performance = NAN, .gain = NAN};
	if (more <= 0)
		return more;
	read_event(reader, event);
	return reader->json.failed ? -EINVAL : 1;
}

double journal_origin_s(const struct journal_reader *reader)
{
	return reader->origin_s;
}

bool journal_is_cut(const struct journal_reader *reader)
{
	return reader->is_cut;
}

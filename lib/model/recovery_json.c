/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.recovery/1: each part of the file has its reader and its writer side by side. */
#include <model/recovery.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/name.h>

#include "files_priv.h"

enum { PLACE_BYTES = 64, NAME_BYTES = 256 };

static const size_t file_bytes_maximum = (size_t)1 << 29;
static const double volume_limit_MB = 1e15, rate_limit_MBps = 1e12, cpu_limit = 1e12, time_limit_s = 1e9;

static const char *const file_keys[] = {"schema", "servers", "applications", "failed_servers", NULL},
			 *const server_keys[] = {"name", "cpu", "egress_MBps", "ingress_MBps", NULL},
			 *const application_keys[] = {"name", "weight", "tasks", "flows", NULL},
			 *const task_keys[] = {"name",    "cpu",        "server", "stage",
					       "backups", "relaunch_s", "failed", NULL},
			 *const flow_keys[] = {"from", "to", "MB", "sent_MB", NULL};

/*
 * The state of a reader. It keeps the line numbers of the servers and flows, for the checks that follow when all parts
 * have been read.
 */
struct reading {
	struct json_reader json;
	const char *text;
	struct recovery_scenario *scenario;
	long *server_lines, *flow_lines;
	size_t server_lines_size, flow_lines_size;
};

static bool note_line(struct reading *reading, long **lines, size_t *size, size_t index)
{
	long *larger = array_grow(*lines, index, size, sizeof *larger);

	if (!larger) {
		json_no_memory(&reading->json);
		return false;
	}
	*lines = larger;
	larger[index] = reading->json.line;
	return true;
}

/*
 * Finds the array `key` in the element that starts at `outer`. Returns the position before the array's first element,
 * for json_lines_next().
 */
static struct json_lines lines_inside(struct json_lines outer, const char *key)
{
	struct json_lines inner = {.at = NULL};

	if (outer.at)
		inner = json_lines_find(outer.at, key);
	inner.line += outer.line - 1;
	return inner;
}

static const char *need_name(struct reading *reading, const json_t *object, const char *where, const char *key)
{
	const char *name = json_need_string(&reading->json, object, where, key);

	if (name && !reading->json.failed && !name_is_valid(name, NAME_BYTES))
		json_fail(&reading->json, where, key, "expected a name without blanks, commas and quotes");
	return name;
}

static void added(struct reading *reading, int64_t code, const char *where, const char *what, const char *name)
{
	if (code == -EEXIST)
		json_fail(&reading->json, where, "name", "duplicate %s '%s'", what, name);
	else if (code < 0)
		json_no_memory(&reading->json);
}

static void read_server(struct reading *reading, const json_t *object, const char *where)
{
	struct json_reader *json = &reading->json;
	struct recovery_server server;

	json_need_known(json, object, where, server_keys);
	server = (struct recovery_server){
		.name = (char *)(uintptr_t)need_name(reading, object, where, "name"),
		.cpu = json_need_number(json, object, where, "cpu", 0, cpu_limit),
		.egress_MBps = json_need_number(json, object, where, "egress_MBps", 0, rate_limit_MBps),
		.ingress_MBps = json_need_number(json, object, where, "ingress_MBps", 0, rate_limit_MBps),
	};
	if (!json->failed &&
	    note_line(reading, &reading->server_lines, &reading->server_lines_size, reading->scenario->server_count))
		added(reading, recovery_add_server(reading->scenario, &server), where, "server", server.name);
}

static json_t *server_json(const struct recovery_server *server)
{
	return json_pack("{s:s, s:f, s:f, s:f}", "name", server->name, "cpu", server->cpu, "egress_MBps",
			 server->egress_MBps, "ingress_MBps", server->ingress_MBps);
}

static int64_t need_server(struct reading *reading, const char *name, const char *where, const char *key)
{
	int64_t server = name && !reading->json.failed ? recovery_find_server(reading->scenario, name) : -EINVAL;

	if (server == -ENOENT)
		json_fail(&reading->json, where, key, "unknown server '%s'", name);
	return server;
}

static void read_backups(struct reading *reading, const json_t *object, const char *where, uint32_t task)
{
	const json_t *list = json_may_array(&reading->json, object, where, "backups");
	struct recovery_task *t = &reading->scenario->tasks[task];

	t->has_backups = list != NULL;
	for (size_t i = 0; i < json_array_size(list) && !reading->json.failed; i++) {
		const char *name = json_string_value(json_array_get(list, i));
		int64_t server;

		if (!name) {
			json_fail(&reading->json, where, "backups", "entry %zu: expected the name of a server", i);
			return;
		}
		server = need_server(reading, name, where, "backups");
		for (uint32_t b = 0; b < t->backup_count && server >= 0; b++) {
			if (t->backups[b] == (uint32_t)server)
				json_fail(&reading->json, where, "backups", "duplicate server '%s'", name);
		}
		if (!reading->json.failed && recovery_add_backup(reading->scenario, task, (uint32_t)server) < 0)
			json_no_memory(&reading->json);
	}
}

static void read_task(struct reading *reading, const json_t *object, const char *where)
{
	struct json_reader *json = &reading->json;
	struct recovery_task task;
	int64_t server, number;

	json_need_known(json, object, where, task_keys);
	task = (struct recovery_task){
		.name = (char *)(uintptr_t)need_name(reading, object, where, "name"),
		.cpu = json_may_number(json, object, where, "cpu", 0, cpu_limit, 1),
		.stage = (int)json_may_integer(json, object, where, "stage", 1, 2, 1),
		.relaunch_s = json_may_number(json, object, where, "relaunch_s", 0, time_limit_s, 0),
		.failed = json_may_boolean(json, object, where, "failed", false),
	};
	server = need_server(reading, need_name(reading, object, where, "server"), where, "server");
	if (json->failed)
		return;
	task.server = (uint32_t)server;
	number = recovery_add_task(reading->scenario, &task);
	added(reading, number, where, "task", task.name);
	if (number >= 0)
		read_backups(reading, object, where, (uint32_t)number);
}

static json_t *task_json(const struct recovery_scenario *scenario, const struct recovery_task *task)
{
	json_t *object = json_pack("{s:s, s:f, s:s, s:i}", "name", task->name, "cpu", task->cpu, "server",
				   scenario->servers[task->server].name, "stage", task->stage);

	if (task->has_backups) {
		json_t *list = json_array();

		for (uint32_t b = 0; b < task->backup_count; b++)
			json_array_append_new(list, json_string(scenario->servers[task->backups[b]].name));
		json_object_set_new(object, "backups", list);
	}
	if (task->relaunch_s > 0)
		json_object_set_new(object, "relaunch_s", json_real(task->relaunch_s));
	if (task->failed && !scenario->servers[task->server].failed)
		json_object_set_new(object, "failed", json_true());
	return object;
}

static int64_t need_task(struct reading *reading, const json_t *object, const char *where, const char *key,
			 const struct recovery_application *application)
{
	const char *name = need_name(reading, object, where, key);
	int64_t task = name && !reading->json.failed ? recovery_find_task(reading->scenario, application->name, name)
						     : -EINVAL;

	if (task == -ENOENT)
		json_fail(&reading->json, where, key, "application '%s' has no task '%s'", application->name, name);
	return task;
}

static void read_flow(struct reading *reading, const json_t *object, const char *where,
		      const struct recovery_application *application)
{
	struct json_reader *json = &reading->json;
	struct recovery_flow flow;
	int64_t from, to;

	json_need_known(json, object, where, flow_keys);
	from = need_task(reading, object, where, "from", application);
	to = need_task(reading, object, where, "to", application);
	flow.MB = json_need_number(json, object, where, "MB", 0, volume_limit_MB);
	flow.sent_MB = json_may_number(json, object, where, "sent_MB", 0, volume_limit_MB, 0);
	if (!json->failed && from == to)
		json_fail(json, where, "to", "a task does not send to itself");
	if (!json->failed && flow.sent_MB > flow.MB)
		json_fail(json, where, "sent_MB", "found %.15g, expected at most MB, %.15g", flow.sent_MB, flow.MB);
	if (json->failed ||
	    !note_line(reading, &reading->flow_lines, &reading->flow_lines_size, reading->scenario->flow_count))
		return;
	flow.from = (uint32_t)from;
	flow.to = (uint32_t)to;
	added(reading, recovery_add_flow(reading->scenario, &flow), where, "flow", "");
}

static json_t *flow_json(const struct recovery_scenario *scenario, const struct recovery_flow *flow)
{
	json_t *object = json_pack("{s:s, s:s, s:f}", "from", scenario->tasks[flow->from].name, "to",
				   scenario->tasks[flow->to].name, "MB", flow->MB);

	if (flow->sent_MB > 0)
		json_object_set_new(object, "sent_MB", json_real(flow->sent_MB));
	return object;
}

/* element: where the application's text starts. */
static void read_application(struct reading *reading, const json_t *object, size_t index, struct json_lines element)
{
	struct json_reader *json = &reading->json;
	char where[PLACE_BYTES];
	const json_t *list;
	struct json_lines lines;
	const char *name;
	double weight;
	int64_t number;

	snprintf(where, sizeof where, "applications[%zu]", index);
	json_need_known(json, object, where, application_keys);
	name = need_name(reading, object, where, "name");
	weight = json_may_number(json, object, where, "weight", 0, 1e9, 1);
	if (!json->failed && weight <= 0)
		json_fail(json, where, "weight", "found 0, expected a number above 0");
	if (json->failed)
		return;
	number = recovery_add_application(reading->scenario, name, weight);
	added(reading, number, where, "application", name);
	list = json_need_array(json, object, where, "tasks");
	lines = lines_inside(element, "tasks");
	for (size_t i = 0; i < json_array_size(list) && !json->failed; i++) {
		json->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "applications[%zu].tasks[%zu]", index, i);
		read_task(reading, json_array_get(list, i), where);
	}
	snprintf(where, sizeof where, "applications[%zu]", index);
	list = json_may_array(json, object, where, "flows");
	lines = lines_inside(element, "flows");
	for (size_t i = 0; i < json_array_size(list) && !json->failed; i++) {
		json->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "applications[%zu].flows[%zu]", index, i);
		read_flow(reading, json_array_get(list, i), where, &reading->scenario->applications[number]);
	}
}

static json_t *application_json(const struct recovery_scenario *scenario,
				const struct recovery_application *application)
{
	json_t *tasks = json_array(), *flows = json_array();

	for (uint32_t t = 0; t < application->task_count; t++)
		json_array_append_new(tasks, task_json(scenario, &scenario->tasks[application->first_task + t]));
	for (uint32_t f = 0; f < application->flow_count; f++)
		json_array_append_new(flows, flow_json(scenario, &scenario->flows[application->first_flow + f]));
	return json_pack("{s:s, s:f, s:o, s:o}", "name", application->name, "weight", application->weight, "tasks",
			 tasks, "flows", flows);
}

static void read_failed(struct reading *reading, const json_t *root)
{
	const json_t *list = json_may_array(&reading->json, root, "", "failed_servers");

	for (size_t i = 0; i < json_array_size(list) && !reading->json.failed; i++) {
		const char *name = json_string_value(json_array_get(list, i));
		int64_t server;

		if (!name) {
			json_fail(&reading->json, "", "failed_servers", "entry %zu: expected the name of a server", i);
			return;
		}
		server = need_server(reading, name, "", "failed_servers");
		if (server >= 0)
			recovery_fail_server(reading->scenario, (uint32_t)server);
	}
}

static int compare_flows(const void *a, const void *b, void *context)
{
	const struct recovery_flow *flows = context, *x = &flows[*(const uint32_t *)a],
				   *y = &flows[*(const uint32_t *)b];

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void check_flows_once(struct reading *reading)
{
	struct recovery_scenario *s = reading->scenario;
	uint32_t *order = malloc((s->flow_count + 1u) * sizeof *order);

	if (!order) {
		json_no_memory(&reading->json);
		return;
	}
	for (uint32_t f = 0; f < s->flow_count; f++)
		order[f] = f;
	qsort_r(order, s->flow_count, sizeof *order, compare_flows, s->flows);
	for (uint32_t i = 1; i < s->flow_count && !reading->json.failed; i++) {
		const struct recovery_flow *a = &s->flows[order[i - 1]], *b = &s->flows[order[i]];
		char where[PLACE_BYTES];
		uint32_t k;

		if (a->from != b->from || a->to != b->to)
			continue;
		k = s->tasks[b->from].application;
		snprintf(where, sizeof where, "applications[%u].flows[%u]", k,
			 order[i] - s->applications[k].first_flow);
		reading->json.line = reading->flow_lines[order[i]];
		json_fail(&reading->json, where, "to", "duplicate flow from '%s' to '%s'", s->tasks[b->from].name,
			  s->tasks[b->to].name);
	}
	free(order);
}

/*
 * Checks the CPU in use and the traffic of each server, also of a failed server, since the file describes the state
 * before the failure. Also checks that at least one server survives.
 */
static void check_servers(struct reading *reading)
{
	struct recovery_scenario *s = reading->scenario;
	double *cpu = calloc(3 * (s->server_count + 1u), sizeof *cpu);
	double *out = cpu ? cpu + s->server_count : NULL, *in = cpu ? out + s->server_count : NULL;
	bool survivor = false;

	if (!cpu)
		json_no_memory(&reading->json);
	for (uint32_t t = 0; t < s->task_count && cpu; t++)
		cpu[s->tasks[t].server] += s->tasks[t].cpu;
	for (uint32_t f = 0; f < s->flow_count && cpu; f++) {
		uint32_t from = s->tasks[s->flows[f].from].server, to = s->tasks[s->flows[f].to].server;

		if (from != to) {
			out[from] += s->flows[f].MB;
			in[to] += s->flows[f].MB;
		}
	}
	for (uint32_t n = 0; n < s->server_count && cpu; n++) {
		const struct recovery_server *server = &s->servers[n];
		char where[PLACE_BYTES];

		snprintf(where, sizeof where, "servers[%u]", n);
		reading->json.line = reading->json.failed ? reading->json.line : reading->server_lines[n];
		survivor = survivor || !server->failed;
		if (cpu[n] > server->cpu * (1 + 1e-9))
			json_fail(&reading->json, where, "cpu", "the tasks on '%s' use %.15g, but it has %.15g",
				  server->name, cpu[n], server->cpu);
		if (out[n] > 0 && server->egress_MBps <= 0)
			json_fail(&reading->json, where, "egress_MBps", "found 0, but tasks on '%s' send",
				  server->name);
		if (in[n] > 0 && server->ingress_MBps <= 0)
			json_fail(&reading->json, where, "ingress_MBps", "found 0, but tasks on '%s' receive",
				  server->name);
	}
	if (!reading->json.failed && !survivor) {
		reading->json.line = json_lines_key(reading->text, NULL, "failed_servers");
		json_fail(&reading->json, "", "failed_servers", "no surviving server");
	}
	free(cpu);
}

static void read_root(struct reading *reading, const json_t *root)
{
	struct json_reader *json = &reading->json;
	struct json_lines lines = json_lines_find(reading->text, "servers");
	const json_t *list;
	char where[PLACE_BYTES];

	json->line = json_lines_key(reading->text, NULL, "schema");
	json_need_schema(json, root, RECOVERY_SCHEMA);
	json->line = json->failed ? json->line : 0;
	json_need_known(json, root, "", file_keys);
	json->line = json->failed ? json->line : json_lines_key(reading->text, NULL, "servers");
	list = json_need_array(json, root, "", "servers");
	for (size_t i = 0; i < json_array_size(list) && !json->failed; i++) {
		json->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "servers[%zu]", i);
		read_server(reading, json_array_get(list, i), where);
	}
	json->line = json->failed ? json->line : json_lines_key(reading->text, NULL, "applications");
	list = json_need_array(json, root, "", "applications");
	lines = json_lines_find(reading->text, "applications");
	for (size_t i = 0; i < json_array_size(list) && !json->failed; i++) {
		struct json_lines element = lines;

		json->line = json_lines_next(&lines);
		read_application(reading, json_array_get(list, i), i, element);
	}
	json->line = json->failed ? json->line : json_lines_key(reading->text, NULL, "failed_servers");
	read_failed(reading, root);
	if (!json->failed)
		check_flows_once(reading);
	if (!json->failed)
		check_servers(reading);
}

struct recovery_scenario *recovery_parse(const char *name, const char *text, size_t bytes, struct error *err)
{
	struct error scratch = {0};
	struct reading reading = {
		.json = {.file = name, .err = err ? err : &scratch}, .text = text, .scenario = recovery_create()};
	json_t *root = json_read_text(name, 0, text, bytes, err);

	if (root && !reading.scenario)
		json_no_memory(&reading.json);
	else if (root)
		read_root(&reading, root);
	if (!root || reading.json.failed) {
		recovery_destroy(reading.scenario);
		reading.scenario = NULL;
	}
	free(reading.server_lines);
	free(reading.flow_lines);
	json_decref(root);
	return reading.scenario;
}

struct recovery_scenario *recovery_read(const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, file_bytes_maximum, &bytes, err);
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct recovery_scenario *scenario = text ? recovery_parse(name, text, bytes, err) : NULL;

	free(text);
	return scenario;
}

json_t *recovery_to_json(const struct recovery_scenario *scenario)
{
	json_t *servers = json_array(), *applications = json_array(), *failed = json_array();

	for (uint32_t n = 0; n < scenario->server_count; n++) {
		json_array_append_new(servers, server_json(&scenario->servers[n]));
		if (scenario->servers[n].failed)
			json_array_append_new(failed, json_string(scenario->servers[n].name));
	}
	for (uint32_t k = 0; k < scenario->application_count; k++)
		json_array_append_new(applications, application_json(scenario, &scenario->applications[k]));
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", RECOVERY_SCHEMA, "servers", servers, "applications",
			 applications, "failed_servers", failed);
}

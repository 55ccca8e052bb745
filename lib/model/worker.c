/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.worker/1 and nomora.worker-report/1. */
#include <model/worker.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

enum { PLAN_BYTES_MAXIMUM = 64 << 20 };
static const double rate_maximum = 1e9, count_maximum = 0x1p53;

void worker_plan_destroy(struct worker_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t e = 0; e < plan->edge_count; e++)
		free(plan->edges[e].targets);
	free(plan->edges);
	free(plan);
}

static ip_address need_address(struct json_reader *reader, const json_t *object, const char *where)
{
	const char *text = json_need_string(reader, object, where, "address");
	ip_address address = 0;

	if (text && address_parse(text, &address) != 0)
		json_fail(reader, where, "address", "expected an IP address, found '%s'", text);
	return address;
}

static void read_target(struct json_reader *reader, const json_t *object, const char *where,
			struct worker_target *target)
{
	static const char *const known[] = {"address", "port", "source_port", "share", NULL};

	json_need_known(reader, object, where, known);
	target->address = need_address(reader, object, where);
	target->port = (uint16_t)json_need_integer(reader, object, where, "port", 1, UINT16_MAX);
	target->source_port = (uint16_t)json_may_integer(reader, object, where, "source_port", 0, UINT16_MAX, 0);
	target->share = json_may_number(reader, object, where, "share", 1e-9, 1, 1);
}

static void read_edge(struct json_reader *reader, const json_t *object, size_t index, struct worker_edge *edge)
{
	static const char *const known[] = {"copies", "selectivity", "targets", NULL};
	char where[64];
	const char *copies;
	const json_t *targets;
	size_t count;

	snprintf(where, sizeof where, "edges[%zu]", index);
	json_need_known(reader, object, where, known);
	copies = json_may_string(reader, object, where, "copies", "one");
	edge->to_all = copies && strcmp(copies, "all") == 0;
	if (copies && !edge->to_all && strcmp(copies, "one") != 0)
		json_fail(reader, where, "copies", "expected 'one' or 'all', found '%s'", copies);
	edge->selectivity = json_may_number(reader, object, where, "selectivity", 0, 1000, 1);
	targets = json_need_array(reader, object, where, "targets");
	count = json_array_size(targets);
	if (!reader->failed && (count == 0 || count > WORKER_TARGETS_MAXIMUM))
		json_fail(reader, where, "targets", "expected 1 to %d targets, found %zu", WORKER_TARGETS_MAXIMUM,
			  count);
	if (reader->failed)
		return;
	edge->targets = calloc(count, sizeof *edge->targets);
	if (!edge->targets) {
		json_no_memory(reader);
		return;
	}
	edge->target_count = (uint32_t)count;
	for (size_t t = 0; t < count; t++) {
		snprintf(where, sizeof where, "edges[%zu].targets[%zu]", index, t);
		read_target(reader, json_array_get(targets, t), where, &edge->targets[t]);
	}
}

static void read_plan(struct json_reader *reader, const json_t *root, struct worker_plan *plan)
{
	static const char *const known[] = {"schema", "task", "number",      "address", "port",  "inputs",
					    "MBps",   "MB",   "tuple_bytes", "cpu_us",  "edges", NULL};
	const json_t *edges;
	const char *task;

	json_need_schema(reader, root, "nomora.worker/1");
	json_need_known(reader, root, "", known);
	task = json_need_string(reader, root, "", "task");
	if (task && strlen(task) >= sizeof plan->task)
		json_fail(reader, "", "task", "longer than %zu bytes", sizeof plan->task - 1);
	snprintf(plan->task, sizeof plan->task, "%s", task ? task : "");
	plan->number = (uint32_t)json_may_integer(reader, root, "", "number", 0, UINT32_MAX, 0);
	plan->address = need_address(reader, root, "");
	plan->port = (uint16_t)json_need_integer(reader, root, "", "port", 0, UINT16_MAX);
	plan->inputs = (uint32_t)json_may_integer(reader, root, "", "inputs", 0, WORKER_TARGETS_MAXIMUM, 0);
	plan->MBps = json_may_number(reader, root, "", "MBps", 1e-6, rate_maximum, INFINITY);
	plan->MB = json_may_number(reader, root, "", "MB", 0, rate_maximum, INFINITY);
	plan->tuple_bytes = (uint32_t)json_may_integer(reader, root, "", "tuple_bytes", WORKER_TUPLE_MINIMUM,
						       WORKER_TUPLE_MAXIMUM, 1000);
	plan->cpu_us = json_may_number(reader, root, "", "cpu_us", 0, 1e6, 0);
	edges = json_may_array(reader, root, "", "edges");
	if (reader->failed || json_array_size(edges) == 0)
		return;
	plan->edges = calloc(json_array_size(edges), sizeof *plan->edges);
	if (!plan->edges)
		json_no_memory(reader);
	for (size_t e = 0; e < json_array_size(edges) && !reader->failed; e++) {
		plan->edge_count = (uint32_t)e + 1;
		read_edge(reader, json_array_get(edges, e), e, &plan->edges[e]);
	}
}

struct worker_plan *worker_plan_parse(const char *name, const char *text, size_t bytes, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	json_t *root = json_read_text(name, 0, text, bytes, reader.err);
	struct worker_plan *plan = root ? calloc(1, sizeof *plan) : NULL;

	if (plan)
		read_plan(&reader, root, plan);
	else if (root)
		error_set(err, ENOMEM, "out of memory");
	json_decref(root);
	if (!plan || !reader.failed)
		return plan;
	worker_plan_destroy(plan);
	return NULL;
}

struct worker_plan *worker_plan_read(const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, PLAN_BYTES_MAXIMUM, &bytes, err);
	struct worker_plan *plan = text ? worker_plan_parse(path, text, bytes, err) : NULL;

	free(text);
	return plan;
}

static json_t *edge_to_json(const struct worker_edge *edge)
{
	json_t *targets = json_array();

	for (uint32_t t = 0; t < edge->target_count; t++) {
		const struct worker_target *target = &edge->targets[t];
		char address[ADDRESS_TEXT_BYTES];

		address_print(target->address, address);
		json_array_append_new(targets,
				      json_pack("{s:s, s:i, s:i, s:f}", "address", address, "port", (int)target->port,
						"source_port", (int)target->source_port, "share", target->share));
	}
	return json_pack("{s:s, s:f, s:o}", "copies", edge->to_all ? "all" : "one", "selectivity", edge->selectivity,
			 "targets", targets);
}

json_t *worker_plan_to_json(const struct worker_plan *plan)
{
	json_t *edges = json_array();
	char address[ADDRESS_TEXT_BYTES];

	for (uint32_t e = 0; e < plan->edge_count; e++)
		json_array_append_new(edges, edge_to_json(&plan->edges[e]));
	address_print(plan->address, address);
	return json_pack("{s:s, s:s, s:I, s:s, s:i, s:I, s:o, s:o, s:I, s:f, s:o}", "schema", "nomora.worker/1", "task",
			 plan->task, "number", (json_int_t)plan->number, "address", address, "port", (int)plan->port,
			 "inputs", (json_int_t)plan->inputs, "MBps", json_number_or_null(plan->MBps), "MB",
			 json_number_or_null(plan->MB), "tuple_bytes", (json_int_t)plan->tuple_bytes, "cpu_us",
			 plan->cpu_us, "edges", edges);
}

json_t *worker_report_to_json(const struct worker_report *report)
{
	return json_pack(
		"{s:s, s:s, s:f, s:I, s:I, s:f, s:f, s:I, s:I, s:o, s:o, s:f, s:b}", "schema", "nomora.worker-report/1",
		"task", report->task, "s", report->s, "received", (json_int_t)report->received, "sent",
		(json_int_t)report->sent, "received_MBps", report->received_MBps, "sent_MBps", report->sent_MBps,
		"lost", (json_int_t)report->lost, "duplicated", (json_int_t)report->duplicated, "latency_p50_us",
		json_number_or_null(report->latency_p50_us), "latency_p99_us",
		json_number_or_null(report->latency_p99_us), "gap_ms", report->gap_ms, "done", (int)report->done);
}

static void read_report(struct json_reader *reader, const json_t *root, struct worker_report *report)
{
	const int64_t most = (int64_t)count_maximum;
	const char *task;

	json_need_schema(reader, root, "nomora.worker-report/1");
	task = json_need_string(reader, root, "", "task");
	if (task && strlen(task) >= sizeof report->task)
		json_fail(reader, "", "task", "longer than %zu bytes", sizeof report->task - 1);
	snprintf(report->task, sizeof report->task, "%s", task ? task : "");
	report->s = json_need_number(reader, root, "", "s", 0, rate_maximum);
	report->received = (uint64_t)json_need_integer(reader, root, "", "received", 0, most);
	report->sent = (uint64_t)json_need_integer(reader, root, "", "sent", 0, most);
	report->received_MBps = json_need_number(reader, root, "", "received_MBps", 0, rate_maximum);
	report->sent_MBps = json_need_number(reader, root, "", "sent_MBps", 0, rate_maximum);
	report->lost = (uint64_t)json_need_integer(reader, root, "", "lost", 0, most);
	report->duplicated = (uint64_t)json_need_integer(reader, root, "", "duplicated", 0, most);
	report->latency_p50_us = json_may_number(reader, root, "", "latency_p50_us", 0, 1e15, NAN);
	report->latency_p99_us = json_may_number(reader, root, "", "latency_p99_us", 0, 1e15, NAN);
	report->gap_ms = json_may_number(reader, root, "", "gap_ms", 0, 1e15, 0);
	report->done = json_may_boolean(reader, root, "", "done", false);
}

int worker_report_parse(const char *name, const char *text, size_t bytes, struct worker_report *report,
			struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	json_t *root = json_read_text(name, 0, text, bytes, reader.err);

	*report = (struct worker_report){0};
	if (!root)
		return -EINVAL;
	read_report(&reader, root, report);
	json_decref(root);
	return reader.failed ? -EINVAL : 0;
}

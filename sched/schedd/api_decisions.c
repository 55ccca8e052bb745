/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for decisions, reports of the executor, explanations; see schedd.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>

#include "schedd_priv.h"

enum { CANDIDATES = 10, HISTORY = 20, DECISIONS_MOST = 1000, JOURNAL_BYTES = 1 << 20 };
#define POLL_S 25
#define FLOW_MB_MOST 1e12

char *schedd_decisions_text(const struct schedd *schedd, uint64_t after)
{
	size_t count;
	const struct live_decision *decisions = live_decisions(schedd->live, after, &count);
	json_t *list = json_array(), *root;
	char *text;

	for (size_t d = 0; d < count && d < DECISIONS_MOST; d++)
		json_array_append_new(list, decision_json(&decisions[d]));
	root = json_pack("{s:s, s:I, s:o}", "schema", "nomora.decisions/1", "last",
			 (json_int_t)live_last_decision(schedd->live), "decisions", list);
	text = json_dump_whole(root, 0);
	json_decref(root);
	return text;
}

void schedd_get_decisions(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const char *after_text = serve_query(call, "after");
	uint64_t after = after_text ? strtoull(after_text, NULL, 10) : 0;
	struct poll_call *polls;

	if (!serve_query(call, "wait") || live_last_decision(schedd->live) > after) {
		schedd_reply(schedd, call, 200, schedd_decisions_text(schedd, after));
		return;
	}
	polls = array_grow(schedd->polls, schedd->poll_count, &schedd->poll_capacity, sizeof *polls);
	if (!polls) {
		schedd_reply(schedd, call, 503, strdup("{\"error\": \"out of memory\"}"));
		return;
	}
	schedd->polls = polls;
	polls[schedd->poll_count++] =
		(struct poll_call){.call = call, .after = after, .until_s = schedd_now_s(schedd) + POLL_S};
}

static int take_event(struct schedd *schedd, const json_t *object, struct json_reader *reader)
{
	static const char *const keys[] = {"event", "job", "task", "machine", NULL};
	const char *event, *job, *task, *machine;
	double now_s = schedd_now_s(schedd);

	json_need_known(reader, object, "", keys);
	event = json_need_string(reader, object, "", "event");
	job = json_need_string(reader, object, "", "job");
	task = json_need_string(reader, object, "", "task");
	machine = json_may_string(reader, object, "", "machine", "");
	if (reader->failed)
		return -EINVAL;
	if (strcmp(event, "started") == 0)
		return live_started(schedd->live, job, task, machine, now_s, reader->err);
	if (strcmp(event, "ended") == 0)
		return live_ended(schedd->live, job, task, reader->err);
	if (strcmp(event, "failed") == 0)
		return live_failed(schedd->live, job, task, now_s, reader->err);
	json_fail(reader, "", "event", "unknown event '%s'; expected started, ended or failed", event);
	return -EINVAL;
}

/* Returns 1 if the flow is not taken, because it is not one between two running tasks. */
static int take_flow(struct schedd *schedd, const json_t *object, struct json_reader *reader)
{
	static const char *const keys[] = {"job", "from", "to", "MB", NULL};
	const char *job, *from, *to;
	double MB;
	int code;

	json_need_known(reader, object, "", keys);
	job = json_need_string(reader, object, "", "job");
	from = json_need_string(reader, object, "", "from");
	to = json_need_string(reader, object, "", "to");
	MB = json_need_number(reader, object, "", "MB", 0, FLOW_MB_MOST);
	if (reader->failed)
		return -EINVAL;
	code = live_flow(schedd->live, job, from, to, MB, schedd_now_s(schedd));
	return code < 0 ? error_set(reader->err, -code, "%s", strerror(-code)) : code;
}

/* An invalid line ends the request; the lines before it take effect. */
static void take_lines(struct schedd *schedd, struct serve_call *call,
		       int (*take)(struct schedd *schedd, const json_t *object, struct json_reader *reader))
{
	struct file_lines *lines;
	struct error err = {0};
	json_int_t taken = 0;
	char *line;
	int code;

	if (!schedd_need_admin(schedd, call))
		return;
	lines = file_lines_from_memory("body", call->body, call->body_bytes, &err);
	code = lines ? 0 : -ENOMEM;
	while (code == 0 && (code = file_lines_next(lines, &line, &err)) == 1) {
		struct json_reader reader = {.file = "body", .line = file_lines_number(lines), .err = &err};
		json_t *object = json_read_text("body", reader.line, line, strlen(line), &err);

		code = object ? take(schedd, object, &reader) : -EINVAL;
		taken += code == 0;
		code = code < 0 ? code : 0;
		json_decref(object);
	}
	file_lines_close(lines);
	schedd_reply_json(schedd, call,
			  code < 0 ? (err.code == ENOENT   ? 404
				      : err.code == ENOMEM ? 503
							   : 400)
				   : 200,
			  code < 0 ? json_pack("{s:I, s:o}", "taken", taken, "error", json_message(err.text))
				   : json_pack("{s:I}", "taken", taken));
}

void schedd_post_events(void *context, struct serve_call *call)
{
	take_lines(context, call, take_event);
}

void schedd_post_flows(void *context, struct serve_call *call)
{
	take_lines(context, call, take_flow);
}

static json_t *candidate_json(const struct schedd *schedd, const struct live_candidate *candidate)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:I, s:b}", "machine",
			 schedd_machine_name(schedd, (int32_t)candidate->machine), "rtt_us",
			 json_number_or_null(candidate->rtt_us), "performance",
			 json_number_or_null(candidate->performance), "origin", latency_origin_name(candidate->origin),
			 "free_slots", (json_int_t)candidate->free_slots, "here", candidate->is_here);
}

static void add_decision(void *context, const struct live_decision *decision, double wall_s)
{
	json_t *object = decision_json(decision);

	json_object_set_new(object, "at", json_real(wall_s));
	json_array_append_new(context, object);
}

/*
 * Replies with the machines on which a task could run, the reason why it waits or stays, and the last decisions about
 * it. If the task no longer exists, replies with these decisions alone.
 */
void schedd_get_explain(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	char job[256], why[160] = "";
	const char *slash = strrchr(call->tail, '/');
	struct live_candidate candidates[CANDIDATES];
	struct error err = {0};
	json_t *list = json_array(), *history = json_array();
	int count;

	if (!slash || (size_t)(slash - call->tail) >= sizeof job) {
		error_set(&err, EINVAL, "expected /v1/explain/JOB/TASK");
		count = -EINVAL;
	} else {
		snprintf(job, sizeof job, "%.*s", (int)(slash - call->tail), call->tail);
		count = live_explain(schedd->live, job, slash + 1, candidates, CANDIDATES, why, &err);
		store_each_decision(schedd->store, job, slash + 1, HISTORY, add_decision, history);
	}
	if (count < 0 && json_array_size(history) > 0) {
		count = 0;
		snprintf(why, sizeof why, "the task is gone; these were its decisions");
	}
	for (int c = 0; c < count; c++)
		json_array_append_new(list, candidate_json(schedd, &candidates[c]));
	if (count >= 0) {
		schedd_reply_json(schedd, call, 200,
				  json_pack("{s:s, s:s, s:s, s:s, s:O, s:O}", "schema", "nomora.explain/1", "job", job,
					    "task", slash + 1, "why", why, "candidates", list, "decisions", history));
	} else {
		serve_reply_error(call, &err);
	}
	json_decref(list);
	json_decref(history);
}

void schedd_get_recovery(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	json_t *recovery = live_recovery_to_json(schedd->live);
	struct error err = {0};

	if (recovery) {
		schedd_reply_json(schedd, call, 200, recovery);
		return;
	}
	error_set(&err, ENOENT,
		  schedd->network ? "no machine with flows has failed since the start"
				  : "nomora schedd has no --network");
	serve_reply_error(call, &err);
}

void schedd_get_journal(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const char *text = serve_query(call, "after");
	uint64_t after = text ? strtoull(text, NULL, 10) : 0, next;
	char *lines;

	if (!schedd_need_admin(schedd, call))
		return;
	lines = store_journal_page(schedd->store, after, JOURNAL_BYTES, &next);
	schedd_reply_json(schedd, call, 200,
			  lines ? json_pack("{s:I, s:s}", "next", (json_int_t)next, "lines", lines) : NULL);
	free(lines);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that forecast the effect of changes, and requests that make changes; see schedd.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <sched/live/change.h>

#include "schedd_priv.h"

#define WITHIN_S 3600
enum { CHANGES_MOST = 1000 };

/*
 * Returns the strings of the array "changes". The strings belong to the body; the caller frees the array. Returns NULL
 * with reader->failed set on failure.
 */
static const char **read_changes(struct json_reader *reader, const json_t *body, size_t *count)
{
	const json_t *list = json_may_array(reader, body, "", "changes");
	const char **texts = calloc(json_array_size(list) + 1, sizeof *texts);
	const json_t *text;
	size_t at;

	*count = json_array_size(list);
	if (!texts || *count > CHANGES_MOST)
		json_fail(reader, "", "changes", "expected at most %d changes", CHANGES_MOST);
	json_array_foreach (list, at, text) {
		if (reader->failed)
			break;
		texts[at] = json_string_value(text);
		if (!texts[at])
			json_fail(reader, "", "changes", "expected strings");
	}
	if (!reader->failed)
		return texts;
	free(texts);
	return NULL;
}

static void start(struct schedd *schedd, struct serve_call *call, const struct forecast_request *request)
{
	struct error err = {0};

	schedd_run_due_rounds(schedd);
	if (forecast_start(schedd->forecasts, schedd->live, request, schedd_now_s(schedd), call, &err) < 0)
		serve_reply_error(call, &err);
}

void schedd_dry_run(struct schedd *schedd, struct serve_call *call)
{
	const struct forecast_request request = {.jobs = call->body,
						 .may_move = schedd_query_is(call, "move", "1"),
						 .owner = call->uid,
						 .within_s = WITHIN_S};

	start(schedd, call, &request);
}

void schedd_post_what_if(void *context, struct serve_call *call)
{
	static const char *const keys[] = {"changes", "jobs", "move", "within_s", NULL};
	struct error err = {0};
	struct json_reader reader = {.file = "body", .err = &err};
	struct forecast_request request = {.owner = call->uid};
	json_t *body = json_read_text("body", 0, call->body, call->body_bytes, &err);
	const char **changes = NULL;

	if (body) {
		json_need_known(&reader, body, "", keys);
		request.jobs = json_may_string(&reader, body, "", "jobs", "");
		request.may_move = json_is_true(json_object_get(body, "move"));
		request.within_s = json_may_number(&reader, body, "", "within_s", 0, 1e7, WITHIN_S);
		changes = read_changes(&reader, body, &request.change_count);
		request.changes = changes;
	}
	if (changes)
		start(context, call, &request);
	else
		serve_reply_error(call, &err);
	free(changes);
	json_decref(body);
}

static int make_change(struct schedd *schedd, const char *text, struct error *err)
{
	struct live_change change;
	int code = live_change_parse(text, &change, err);

	if (code == 0)
		code = schedd_changed(schedd,
				      live_change_apply(schedd->live, &change, schedd_keep_machine, schedd, err));
	if (code == 0 && change.kind == LIVE_CHANGE_CURVE) {
		store_put_curve(schedd->store, change.name, live_curve_text(schedd->live, change.name));
		record_curve(schedd->record, change.name, live_curve_text(schedd->live, change.name));
	}
	return code;
}

/* A bad change ends the request; the changes before it take effect. */
void schedd_post_changes(void *context, struct serve_call *call)
{
	static const char *const keys[] = {"changes", NULL};
	struct schedd *schedd = context;
	struct error err = {0};
	struct json_reader reader = {.file = "body", .err = &err};
	const char **changes = NULL;
	size_t count = 0, made = 0;
	json_t *body;
	int code = 0;

	if (!schedd_need_admin(schedd, call))
		return;
	body = json_read_text("body", 0, call->body, call->body_bytes, &err);
	if (body) {
		json_need_known(&reader, body, "", keys);
		changes = read_changes(&reader, body, &count);
	}
	while (changes && made < count && (code = make_change(context, changes[made], &err)) == 0)
		made++;
	if (changes && code == 0)
		schedd_reply_json(context, call, 200, json_pack("{s:I}", "changes", (json_int_t)made));
	else
		schedd_reply_json(
			context, call, err.code == ENOENT ? 404 : 400,
			json_pack("{s:I, s:o}", "changes", (json_int_t)made, "error", json_message(err.text)));
	free(changes);
	json_decref(body);
}

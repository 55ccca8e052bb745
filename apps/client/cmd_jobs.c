/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora jobs, nodes, drain, explain: query a running schedd, and drain its machines. */
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <client/request.h>

#include "../commands.h"
#include "client.h"

struct settings {
	const char *socket;
	int scope;
	bool json, cancel, back, dry_run;
};

static int ask(const struct settings *settings, const char *method, const char *path, const char *body,
	       void (*print)(const json_t *answer, FILE *out), struct error *err)
{
	json_t *answer;
	int code = client_ask(settings->socket, method, path, body, &answer, err);

	if (code < 0)
		return code;
	if (settings->json)
		json_print(stdout, answer);
	else if (print)
		print(answer, stdout);
	json_decref(answer);
	return COMMAND_OK;
}

#define SOCKET_ROW CLIENT_SOCKET_ROW(struct settings)
#define JSON_ROW CLIENT_JSON_ROW(struct settings)

static int ask_jobs(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	const char *job = operands->count > 0 ? operands->items[0] : "";
	char path[300] = "/v1/jobs";

	if (job[0])
		snprintf(path, sizeof path, "/v1/jobs/%.255s", job);
	else if (settings->cancel)
		return command_misused(err, "missing operand JOB");
	if (settings->cancel)
		return ask(settings, "DELETE", path, NULL, NULL, err);
	return ask(settings, "GET", path, NULL, job[0] ? client_show_job : client_show_jobs, err);
}

int command_jobs(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW,
					  OPTION_FLAG(struct settings, cancel, "cancel", 'c', "cancel the job"),
					  JSON_ROW, OPTION_END};
	const struct option_usage usage = {.command = "nomora jobs",
					   .operands = "[JOB]",
					   .summary = "Show the jobs of a running schedd, or cancel one.",
					   .rows = rows,
					   .operands_maximum = 1};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, ask_jobs);
}

static int ask_nodes(void *context, const struct option_operands *operands, struct error *err)
{
	(void)operands;
	return ask(context, "GET", "/v1/machines", NULL, client_show_nodes, err);
}

int command_nodes(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW, JSON_ROW, OPTION_END};
	const struct option_usage usage = {.command = "nomora nodes",
					   .operands = "",
					   .summary = "Show the machines of a running schedd.",
					   .rows = rows};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, ask_nodes);
}

static const char *const scopes[] = {"machine", "rack", "pod", NULL};

static int drain(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	char change[300], *text;
	json_t *body;
	int code;

	snprintf(change, sizeof change, "%s %s %.255s", settings->back ? "up" : "drain", scopes[settings->scope],
		 operands->items[0]);
	body = json_pack("{s:[s]}", "changes", change);
	text = body ? json_to_text(body) : NULL;
	code = settings->dry_run ? ask(settings, "POST", "/v1/what-if", text, client_show_forecast, err)
				 : ask(settings, "POST", "/v1/changes", text, NULL, err);
	free(text);
	json_decref(body);
	return code;
}

int command_drain(int argc, char **argv)
{
	const struct option_row rows[] = {
		SOCKET_ROW,
		OPTION_CHOICE(struct settings, scope, "scope", 'S', "WHAT", scopes,
			      "whether NAME is a machine, a rack or a pod"),
		OPTION_FLAG(struct settings, back, "back", 'b', "let NAME take tasks again"),
		OPTION_FLAG(struct settings, dry_run, "dry-run", 'n', "show the consequences; drain nothing"),
		JSON_ROW,
		OPTION_END};
	const struct option_usage usage = {.command = "nomora drain",
					   .operands = "NAME",
					   .summary = "Place no more tasks on machines of a running schedd.",
					   .rows = rows,
					   .operands_minimum = 1,
					   .operands_maximum = 1};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, drain);
}

static int explain(void *context, const struct option_operands *operands, struct error *err)
{
	char path[300];

	snprintf(path, sizeof path, "/v1/explain/%.255s", operands->items[0]);
	return ask(context, "GET", path, NULL, client_show_explanation, err);
}

int command_explain(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW, JSON_ROW, OPTION_END};
	const struct option_usage usage = {.command = "nomora explain",
					   .operands = "JOB/TASK",
					   .summary =
						   "Show where a task of a running schedd could run, and why it waits.",
					   .rows = rows,
					   .operands_minimum = 1,
					   .operands_maximum = 1};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, explain);
}

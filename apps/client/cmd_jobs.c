/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora jobs, nodes, drain, explain: what a running schedd knows, and a few orders. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <client/show.h>

#include "../commands.h"
#include "client.h"

struct settings {
	const char *socket;
	int scope;
	bool json, cancel, back, dry_run;
};

static int ask(const struct settings *settings, const char *method, const char *path, const char *body,
	       void (*print)(const json_t *answer, FILE *out))
{
	struct error err = {0};
	json_t *answer;

	if (client_ask(settings->socket, method, path, body, &answer, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		json_print(stdout, answer);
	else if (print)
		print(answer, stdout);
	json_decref(answer);
	return command_flush(&err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

#define SOCKET_ROW CLIENT_SOCKET_ROW(struct settings)
#define JSON_ROW CLIENT_JSON_ROW(struct settings)

/* Parses, asks for a path with an operand in it, and prints. */
static int run_on(const struct option_usage *usage, int argc, char **argv, struct settings *settings, char *operand,
		  size_t bytes)
{
	struct option_operands operands;
	int code = command_parse(usage, argc, argv, settings, &operands);

	if (code >= 0)
		return code;
	snprintf(operand, bytes, "%s", operands.count > 0 ? operands.items[0] : "");
	options_free(&operands);
	return -1;
}

int command_jobs(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW,
					  OPTION_FLAG(struct settings, cancel, "cancel", 'c', "cancel the job"),
					  JSON_ROW, OPTION_END};
	const struct option_usage usage = {
		.command = "nomora jobs",
		.operands = "[JOB]",
		.summary = "Show the jobs of a running nomora schedd, or one job with its tasks.",
		.rows = rows,
		.operands_maximum = 1};
	struct settings settings = {0};
	char job[256], path[300];
	int code = run_on(&usage, argc, argv, &settings, job, sizeof job);

	if (code >= 0)
		return code;
	snprintf(path, sizeof path, job[0] ? "/v1/jobs/%s" : "/v1/jobs", job);
	if (settings.cancel && !job[0]) {
		struct error err = {0};

		error_set(&err, EINVAL, "missing operand JOB");
		return command_fail(&err, COMMAND_USAGE);
	}
	return settings.cancel ? ask(&settings, "DELETE", path, NULL, NULL)
			       : ask(&settings, "GET", path, NULL, job[0] ? client_show_job : client_show_jobs);
}

int command_nodes(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW, JSON_ROW, OPTION_END};
	const struct option_usage usage = {.command = "nomora nodes",
					   .operands = "",
					   .summary = "Show the machines of a running nomora schedd.",
					   .rows = rows};
	struct settings settings = {0};
	char none[8];
	int code = run_on(&usage, argc, argv, &settings, none, sizeof none);

	return code >= 0 ? code : ask(&settings, "GET", "/v1/machines", NULL, client_show_nodes);
}

int command_drain(int argc, char **argv)
{
	static const char *const scopes[] = {"machine", "rack", "pod", NULL};
	const struct option_row rows[] = {
		SOCKET_ROW,
		OPTION_CHOICE(struct settings, scope, "scope", 'S', "WHAT", scopes, "what NAME is"),
		OPTION_FLAG(struct settings, back, "back", 'b', "take tasks again"),
		OPTION_FLAG(struct settings, dry_run, "dry-run", 'n', "show what would follow, and do nothing"),
		JSON_ROW,
		OPTION_END};
	const struct option_usage usage = {
		.command = "nomora drain",
		.operands = "NAME",
		.summary = "Give a machine, rack or pod no more tasks, and move those away that may move.",
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1};
	struct settings settings = {0};
	char name[256], change[300];
	int code = run_on(&usage, argc, argv, &settings, name, sizeof name);
	json_t *body;
	char *text;

	if (code >= 0)
		return code;
	snprintf(change, sizeof change, "%s %s %s", settings.back ? "up" : "drain", scopes[settings.scope], name);
	body = json_pack("{s:[s]}", "changes", change);
	text = body ? json_to_text(body) : NULL;
	code = settings.dry_run ? ask(&settings, "POST", "/v1/what-if", text, client_show_forecast)
				: ask(&settings, "POST", "/v1/changes", text, NULL);
	free(text);
	json_decref(body);
	return code;
}

int command_explain(int argc, char **argv)
{
	const struct option_row rows[] = {SOCKET_ROW, JSON_ROW, OPTION_END};
	const struct option_usage usage = {
		.command = "nomora explain",
		.operands = "JOB/TASK",
		.summary = "Show where a task could run, by round trip and predicted performance, and why it waits.",
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1};
	struct settings settings = {0};
	char task[256], path[300];
	int code = run_on(&usage, argc, argv, &settings, task, sizeof task);

	if (code >= 0)
		return code;
	snprintf(path, sizeof path, "/v1/explain/%s", task);
	return ask(&settings, "GET", path, NULL, client_show_explanation);
}

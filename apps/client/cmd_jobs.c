/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora jobs, nodes, drain, explain: what a running schedd knows, and a few orders. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

#include "../commands.h"
#include "client.h"

struct settings {
	const char *socket;
	int scope;
	bool json, cancel, back, dry_run;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static long long count_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_jobs(const json_t *answer)
{
	const json_t *job;
	size_t at;

	printf("%-24s %-14s %8s %8s %8s %8s %8s %8s\n", "JOB", "CURVE", "WAITING", "DECIDED", "RUNNING", "MOVING",
	       "ENDED", "FAILED");
	json_array_foreach (json_object_get(answer, "jobs"), at, job)
		printf("%-24s %-14s %8lld %8lld %8lld %8lld %8lld %8lld\n", text_of(job, "id"), text_of(job, "curve"),
		       count_of(job, "waiting"), count_of(job, "decided"), count_of(job, "running"),
		       count_of(job, "moving"), count_of(job, "ended"), count_of(job, "failed"));
}

static void print_job(const json_t *answer)
{
	const json_t *task;
	size_t at;

	printf("%s: curve %s, %s move\n%-24s %-10s %-20s %10s\n", text_of(answer, "id"), text_of(answer, "curve"),
	       json_is_true(json_object_get(answer, "move")) ? "may" : "does not", "TASK", "STATE", "MACHINE", "SINCE");
	json_array_foreach (json_object_get(answer, "tasks"), at, task)
		printf("%-24s %-10s %-20s %8.1f s\n", text_of(task, "name"), text_of(task, "state"),
		       text_of(task, "machine"), json_number_value(json_object_get(task, "since_s")));
}

static void print_nodes(const json_t *answer)
{
	const json_t *machine;
	size_t at;

	printf("%-24s %-12s %-12s %6s %6s %s\n", "MACHINE", "RACK", "POD", "SLOTS", "TASKS", "STATE");
	json_array_foreach (json_object_get(answer, "machines"), at, machine)
		printf("%-24s %-12s %-12s %6lld %6lld %s\n", text_of(machine, "name"), text_of(machine, "rack"),
		       text_of(machine, "pod"), count_of(machine, "slots"), count_of(machine, "tasks"),
		       text_of(machine, "state"));
}

static void print_explanation(const json_t *answer)
{
	const json_t *candidate;
	size_t at;

	if (text_of(answer, "why")[0])
		printf("%s\n", text_of(answer, "why"));
	printf("%-24s %12s %-14s %12s %6s\n", "MACHINE", "RTT TO ROOT", "ORIGIN", "PERFORMANCE", "FREE");
	json_array_foreach (json_object_get(answer, "candidates"), at, candidate)
		printf("%-24s %9.1f us %-14s %12.3f %6lld%s\n", text_of(candidate, "machine"),
		       json_number_value(json_object_get(candidate, "rtt_us")), text_of(candidate, "origin"),
		       json_number_value(json_object_get(candidate, "performance")), count_of(candidate, "free_slots"),
		       json_is_true(json_object_get(candidate, "here")) ? "  here" : "");
	if (json_array_size(json_object_get(answer, "decisions")) > 0) {
		puts("\nDecisions, the latest first:");
		client_print_decisions(json_object_get(answer, "decisions"));
	}
}

static int ask(const struct settings *settings, const char *method, const char *path, const char *body,
	       void (*print)(const json_t *answer))
{
	struct error err = {0};
	json_t *answer;

	if (client_ask(settings->socket, method, path, body, &answer, &err) < 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		json_print(stdout, answer);
	else if (print)
		print(answer);
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
			       : ask(&settings, "GET", path, NULL, job[0] ? print_job : print_jobs);
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

	return code >= 0 ? code : ask(&settings, "GET", "/v1/machines", NULL, print_nodes);
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
	code = settings.dry_run ? ask(&settings, "POST", "/v1/what-if", text, client_print_forecast)
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
	return ask(&settings, "GET", path, NULL, print_explanation);
}

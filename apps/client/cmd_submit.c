/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora submit: hands lines of jobs.jsonl to a running schedd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/json.h>
#include <client/show.h>

#include "../commands.h"
#include "client.h"

enum { FILE_BYTES_MAXIMUM = 8 << 20 };

struct settings {
	const char *socket;
	bool move, json, dry_run;
};

static const char teach[] =
	"FILE has a job per line, as for nomora place; - is stdin:\n"
	"  {\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"server\", \"tasks\": [\"server\", \"client1\"]}\n"
	"\n"
	"The same job submitted twice is accepted once. Exit status: 0 accepted, 1 failed or refused, 2 usage.\n";

/* One line per job. Returns whether all were accepted. */
static bool print_answer(const json_t *answer)
{
	const json_t *job;
	bool accepted = true;
	size_t at;

	json_array_foreach (json_object_get(answer, "jobs"), at, job) {
		const char *id = json_string_value(json_object_get(job, "id")),
			   *error = json_string_value(json_object_get(job, "error"));

		if (error)
			fprintf(stderr, "nomora: %s\n", error);
		else
			printf("%s %s\n", id,
			       json_integer_value(json_object_get(job, "status")) == 201 ? "accepted" : "known");
		accepted = accepted && !error;
	}
	if (json_object_get(answer, "error"))
		fprintf(stderr, "nomora: %s\n", json_string_value(json_object_get(answer, "error")));
	return accepted && !json_object_get(answer, "error");
}

static int submit(const struct settings *settings, const char *path)
{
	struct error err = {0};
	size_t bytes;
	char *body = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, &err);
	json_t *answer = NULL;
	char query[64];
	int status;
	bool accepted = false;

	snprintf(query, sizeof query, "/v1/jobs?move=%d&dry_run=%d", settings->move, settings->dry_run);
	status = body ? client_request(settings->socket, "POST", query, body, &answer, &err) : -EINVAL;
	free(body);
	if (status < 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		json_print(stdout, answer);
	else if (settings->dry_run && status < 400)
		client_show_forecast(answer, stdout);
	else
		accepted = print_answer(answer);
	json_decref(answer);
	return accepted || status < 400 ? COMMAND_OK : COMMAND_FAILED;
}

int command_submit(int argc, char **argv)
{
	const struct option_row rows[] = {
		CLIENT_SOCKET_ROW(struct settings),
		OPTION_FLAG(struct settings, move, "move", 'm', "running tasks of these jobs may be moved"),
		OPTION_FLAG(struct settings, dry_run, "dry-run", 'n',
			    "show where the tasks would go, and submit nothing"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora submit",
		.operands = "FILE",
		.summary = "Submit jobs to a running nomora schedd.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct settings settings = {0};
	struct option_operands operands;
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	code = submit(&settings, operands.items[0]);
	options_free(&operands);
	return code;
}

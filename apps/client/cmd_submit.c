/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora submit: sends the jobs of jobs.jsonl to a running schedd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/json.h>
#include <client/request.h>

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
	"The same job submitted twice is accepted once.\n"
	"Exit status: 0 every job was accepted or already known, 1 failed or refused, 2 usage.\n";

static int submit(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	size_t bytes;
	char *body = file_read_all(operands->items[0], FILE_BYTES_MAXIMUM, &bytes, err);
	json_t *answer = NULL;
	char query[64];
	int status;
	bool accepted = false;

	snprintf(query, sizeof query, "/v1/jobs?move=%d&dry_run=%d", settings->move, settings->dry_run);
	status = body ? client_request(settings->socket, "POST", query, body, &answer, err) : -EINVAL;
	free(body);
	if (status < 0)
		return COMMAND_FAILED;
	if (settings->json)
		json_print(stdout, answer);
	else if (settings->dry_run && status < 400)
		client_show_forecast(answer, stdout);
	else
		accepted = client_show_submitted(answer, stdout, stderr);
	json_decref(answer);
	return accepted || status < 400 ? COMMAND_OK : COMMAND_FAILED;
}

int command_submit(int argc, char **argv)
{
	const struct option_row rows[] = {
		CLIENT_SOCKET_ROW(struct settings),
		OPTION_FLAG(struct settings, move, "move", 'm',
			    "allow schedd to move tasks of these jobs while they run"),
		OPTION_FLAG(struct settings, dry_run, "dry-run", 'n',
			    "show where the tasks would go, and submit nothing"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora submit",
		.operands = "FILE",
		.summary = "Submit jobs to a running schedd.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct settings settings = {0};

	return command_run(&usage, argc, argv, &settings, submit);
}

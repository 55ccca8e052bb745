/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora what-if: asks a running schedd what would happen after given changes, without making them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <client/request.h>

#include "../commands.h"
#include "client.h"

struct settings {
	const char *socket, *jobs;
	double within_s;
	bool move, json;
};

static const char teach[] =
	"CHANGE is one of\n"
	"  'drain rack r7'  'drain machine m3'  'up m3'  'down pod p1'  'fail h1 h2'\n"
	"  'add 40 machines like m1'  'curve memcached := spark'  'cancel web'\n"
	"Several changes are applied in order. In the prediction, tasks start and move as soon as schedd decides.\n"
	"  $ nomora what-if 'drain rack r7' --jobs tomorrow.jsonl\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 usage.\n";

static int ask(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	json_t *request, *answer;
	char *body;
	int code;

	if (operands->count == 0 && !settings->jobs)
		return command_misused(err, "missing operand CHANGE, or --jobs FILE");
	request = client_what_if_request(operands->items, operands->count, settings->jobs, settings->move,
					 settings->within_s, err);
	body = request ? json_to_text(request) : NULL;
	code = body ? client_ask(settings->socket, "POST", "/v1/what-if", body, &answer, err) : error_code(err, ENOMEM);
	json_decref(request);
	free(body);
	if (code < 0)
		return code;
	if (settings->json)
		json_print(stdout, answer);
	else
		client_show_forecast(answer, stdout);
	json_decref(answer);
	return COMMAND_OK;
}

int command_what_if(int argc, char **argv)
{
	const struct option_row rows[] = {
		CLIENT_SOCKET_ROW(struct settings),
		OPTION_STRING(struct settings, jobs, "jobs", 'J', "FILE", "jobs submitted after the changes"),
		OPTION_FLAG(struct settings, move, "move", 'm',
			    "allow schedd to move tasks of these jobs while they run"),
		OPTION_DOUBLE(struct settings, within_s, "within", 'w', "S", 0, 1e7, "how far to look ahead"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora what-if",
		.operands = "[CHANGE...]",
		.summary = "Show what a running schedd would do after changes, without making them.",
		.teach = teach,
		.rows = rows,
		.operands_maximum = 1000,
	};
	struct settings settings = {.within_s = 3600};

	return command_run(&usage, argc, argv, &settings, ask);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora what-if: asks a running schedd what would follow from changes, before anything is done. */
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
	const char *socket, *jobs;
	double within_s;
	bool move, json;
};

static const char teach[] = "CHANGE is one of\n"
			    "  'drain rack r7'  'drain machine m3'  'up m3'  'down pod p1'\n"
			    "  'add 40 machines like m1'  'curve memcached := spark'  'cancel web'\n"
			    "and several are made one after the other. Decisions count as carried out at once.\n"
			    "  $ nomora what-if 'drain rack r7' --jobs tomorrow.jsonl\n"
			    "\n"
			    "Exit status: 0 ok, 1 failed, 2 usage.\n";

static json_t *request_of(const struct settings *settings, const struct option_operands *operands, struct error *err)
{
	json_t *list = json_array(), *request;
	size_t bytes;
	char *jobs = settings->jobs ? file_read_all(settings->jobs, FILE_BYTES_MAXIMUM, &bytes, err) : NULL;

	for (int c = 0; c < operands->count; c++)
		json_array_append_new(list, json_string(operands->items[c]));
	request = err->code ? NULL
			    : json_pack("{s:o, s:s, s:b, s:f}", "changes", list, "jobs", jobs ? jobs : "", "move",
					settings->move, "within_s", settings->within_s);
	if (!request)
		json_decref(list);
	if (!request && !err->code)
		error_set(err, EINVAL, "the changes and jobs are not UTF-8 text");
	free(jobs);
	return request;
}

static int ask(const struct settings *settings, const struct option_operands *operands)
{
	struct error err = {0};
	json_t *request = request_of(settings, operands, &err), *answer = NULL;
	char *body = request ? json_to_text(request) : NULL;
	int code = body ? client_ask(settings->socket, "POST", "/v1/what-if", body, &answer, &err)
			: error_code(&err, ENOMEM);

	json_decref(request);
	free(body);
	if (code < 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		json_print(stdout, answer);
	else
		client_show_forecast(answer, stdout);
	json_decref(answer);
	return command_flush(&err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

int command_what_if(int argc, char **argv)
{
	const struct option_row rows[] = {
		CLIENT_SOCKET_ROW(struct settings),
		OPTION_STRING(struct settings, jobs, "jobs", 'J', "FILE", "jobs submitted after the changes"),
		OPTION_FLAG(struct settings, move, "move", 'm', "running tasks of these jobs may be moved"),
		OPTION_DOUBLE(struct settings, within_s, "within", 'w', "S", 0, 1e7, "how far to look ahead"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora what-if",
		.operands = "[CHANGE...]",
		.summary = "Show what a running nomora schedd would do after changes, before anything is done.",
		.teach = teach,
		.rows = rows,
		.operands_maximum = 1000,
	};
	struct settings settings = {.within_s = 3600};
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (operands.count == 0 && !settings.jobs) {
		error_set(&err, EINVAL, "missing operand CHANGE, or --jobs FILE");
		code = command_fail(&err, COMMAND_USAGE);
	} else {
		code = ask(&settings, &operands);
	}
	options_free(&operands);
	return code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora schedd export: the journal, from a running daemon or from its state file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <client/request.h>
#include <sched/schedd/schedd.h>

#include "../commands.h"

struct settings {
	const char *state, *socket;
};

/* Page after page until there is no further one. */
static int print_pages(const char *socket, struct error *err)
{
	json_int_t after = 0;

	for (;;) {
		char path[64];
		json_t *answer;
		json_int_t next;
		int code;

		snprintf(path, sizeof path, "/v1/journal?after=%lld", (long long)after);
		code = client_ask(socket, "GET", path, NULL, &answer, err);
		if (code < 0)
			return code;
		fputs(json_string_value(json_object_get(answer, "lines")), stdout);
		next = json_integer_value(json_object_get(answer, "next"));
		json_decref(answer);
		if (next == after)
			return 0;
		after = next;
	}
}

int command_schedd_export(int argc, char **argv)
{
	const struct option_row rows[] = {
		OPTION_STRING(struct settings, state, "state", 'S', "FILE",
			      "the state of a daemon that does not run; default: ask the running one"),
		OPTION_STRING(struct settings, socket, "socket", 's', "PATH",
			      "the daemon's socket; default $NOMORA_SCHEDD, else " CLIENT_SOCKET),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora schedd export",
		.operands = "",
		.summary = "Print the journal of a scheduler (nomora.journal/1), for nomora simulate --journal.",
		.teach = "  $ nomora schedd export >day.jsonl && nomora simulate --journal day.jsonl -o out\n",
		.rows = rows,
	};
	struct settings settings = {0};
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	options_free(&operands);
	code = settings.state ? schedd_export(settings.state, stdout, &err) : print_pages(settings.socket, &err);
	if (code == 0)
		code = command_flush(&err);
	return code < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

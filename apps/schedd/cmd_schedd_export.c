/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora schedd export: prints the journal, from a running daemon or from its state file. */
#include <stdio.h>

#include <client/request.h>
#include <sched/schedd/schedd.h>

#include "../commands.h"

struct settings {
	const char *state, *socket;
};

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;

	(void)operands;
	return settings->state ? schedd_export(settings->state, stdout, err)
			       : client_print_journal(settings->socket, stdout, err);
}

int command_schedd_export(int argc, char **argv)
{
	const struct option_row rows[] = {
		OPTION_STRING(struct settings, state, "state", 'S', "FILE",
			      "state file of a daemon that is not running; default: ask the running daemon"),
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

	return command_run(&usage, argc, argv, &settings, run);
}

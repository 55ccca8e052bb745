/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora top: shows the state of a running schedd on a terminal, and refreshes it. */
#include <poll.h>
#include <stdio.h>

#include <base/json.h>
#include <base/stop.h>
#include <client/request.h>

#include "../commands.h"
#include "client.h"

enum { DECISIONS_SHOWN = 12 };

struct settings {
	const char *socket;
	double interval_s;
	bool once, json;
};

static int look(const struct settings *settings, struct error *err)
{
	json_t *overview = NULL, *decisions = NULL;
	long long last;
	char path[64];
	int code = client_ask(settings->socket, "GET", "/v1/overview", NULL, &overview, err);

	if (code < 0)
		return code;
	last = json_integer_value(json_object_get(overview, "last_decision"));
	snprintf(path, sizeof path, "/v1/decisions?after=%lld", last > DECISIONS_SHOWN ? last - DECISIONS_SHOWN : 0);
	if (settings->json)
		json_print(stdout, overview);
	else
		code = client_ask(settings->socket, "GET", path, NULL, &decisions, err);
	if (decisions) {
		if (!settings->once)
			fputs("\033[H\033[2J", stdout);
		client_show_overview(overview, decisions, stdout);
		if (!settings->once)
			printf("\nCtrl-C ends\n");
	}
	json_decref(overview);
	json_decref(decisions);
	return code < 0 ? code : command_flush(err);
}

static int watch(void *context, const struct option_operands *operands, struct error *err)
{
	const struct settings *settings = context;
	int code;

	(void)operands;
	stop_catch_signals();
	code = look(settings, err);
	while (code == 0 && !settings->once && !settings->json && !*stop_flag()) {
		poll(NULL, 0, (int)(settings->interval_s * 1e3));
		code = *stop_flag() ? 0 : look(settings, err);
	}
	return code;
}

int command_top(int argc, char **argv)
{
	const struct option_row rows[] = {
		CLIENT_SOCKET_ROW(struct settings),
		OPTION_DOUBLE(struct settings, interval_s, "interval", 'i', "S", 0.1, 3600,
			      "time between two refreshes"),
		OPTION_FLAG(struct settings, once, "once", '1', "print the state once and exit"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora top",
		.operands = "",
		.summary = "Show the state of a running schedd on a terminal, and refresh it.",
		.rows = rows,
	};
	struct settings settings = {.interval_s = 2};

	return command_run(&usage, argc, argv, &settings, watch);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora top: a running schedd on a terminal, as it changes. */
#include <poll.h>
#include <stdio.h>

#include <base/json.h>
#include <base/stop.h>
#include <client/request.h>

#include "../commands.h"
#include "client.h"

enum { RACKS_SHOWN = 12, DECISIONS_SHOWN = 12 };

struct settings {
	const char *socket;
	double interval_s;
	bool once, json;
};

static long long count_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_totals(const json_t *overview)
{
	const json_t *totals = json_object_get(overview, "totals"),
		     *performance = json_object_get(totals, "performance");

	printf("%lld jobs; tasks: %lld running, %lld decided, %lld moving, %lld waiting, %lld given up\n",
	       count_of(totals, "jobs"), count_of(totals, "running"), count_of(totals, "decided"),
	       count_of(totals, "moving"), count_of(totals, "waiting"), count_of(totals, "failed"));
	printf("%lld machines, %lld of %lld slots free; ", count_of(totals, "machines"), count_of(totals, "free_slots"),
	       count_of(totals, "slots"));
	if (json_is_number(performance))
		printf("predicted performance %.3f; ", json_number_value(performance));
	printf("%lld measured pairs", count_of(totals, "measured_pairs"));
	if (json_number_value(json_object_get(overview, "mesh_age_s")) >= 0)
		printf(", mesh read %.0f s ago", json_number_value(json_object_get(overview, "mesh_age_s")));
	printf("\n%s\n", json_string_value(json_object_get(overview, "trouble")));
}

/* Racks whose tasks lose most, or the first ones. */
static void print_racks(const json_t *racks)
{
	const json_t *rack;
	size_t at;

	printf("%-16s %-12s %9s %9s %7s %9s %5s %12s\n", "RACK", "POD", "MACHINES", "SLOTS", "TASKS", "DRAINING",
	       "DOWN", "PERFORMANCE");
	json_array_foreach (racks, at, rack) {
		const json_t *performance = json_object_get(rack, "performance");

		if (at == RACKS_SHOWN)
			break;
		printf("%-16.16s %-12.12s %9lld %9lld %7lld %9lld %5lld",
		       json_string_value(json_object_get(rack, "name")),
		       json_string_value(json_object_get(rack, "pod")), count_of(rack, "machines"),
		       count_of(rack, "slots"), count_of(rack, "tasks"), count_of(rack, "draining"),
		       count_of(rack, "down"));
		if (json_is_number(performance))
			printf(" %12.3f\n", json_number_value(performance));
		else
			printf(" %12s\n", "-");
	}
	if (json_array_size(racks) > RACKS_SHOWN)
		printf("and %zu more\n", json_array_size(racks) - RACKS_SHOWN);
}

static int look(const struct settings *settings, struct error *err)
{
	json_t *overview = NULL, *decisions = NULL;
	long long last;
	char path[64];
	int code = client_ask(settings->socket, "GET", "/v1/overview", NULL, &overview, err);

	if (code < 0)
		return code;
	last = count_of(overview, "last_decision");
	snprintf(path, sizeof path, "/v1/decisions?after=%lld", last > DECISIONS_SHOWN ? last - DECISIONS_SHOWN : 0);
	if (settings->json)
		json_print(stdout, overview);
	else
		code = client_ask(settings->socket, "GET", path, NULL, &decisions, err);
	if (decisions) {
		if (!settings->once)
			fputs("\033[H\033[2J", stdout);
		print_totals(overview);
		print_racks(json_object_get(overview, "racks"));
		puts("");
		client_print_decisions(json_object_get(decisions, "decisions"));
		if (!settings->once)
			printf("\nCtrl-C ends\n");
	}
	json_decref(overview);
	json_decref(decisions);
	return code < 0 ? code : command_flush(err);
}

static int watch(const struct settings *settings, struct error *err)
{
	int code = look(settings, err);

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
		OPTION_DOUBLE(struct settings, interval_s, "interval", 'i', "S", 0.1, 3600, "between two looks"),
		OPTION_FLAG(struct settings, once, "once", '1', "print one look and end"),
		CLIENT_JSON_ROW(struct settings),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora top",
		.operands = "",
		.summary = "Show tasks, racks and last decisions of a running nomora schedd.",
		.rows = rows,
	};
	struct settings settings = {.interval_s = 2};
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	options_free(&operands);
	stop_catch_signals();
	return watch(&settings, &err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

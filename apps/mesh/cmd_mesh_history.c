/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh history: how the round trips of a pair went on. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <base/json.h>
#include <figures/history.h>
#include <probe/store/store.h>

struct history_settings {
	const char *output;
	double last_s;
	bool racks, json;
};

static const struct option_row rows[] = {
	OPTION_FLAG(struct history_settings, racks, "racks", 'r', "FROM and TO are racks: the largest of their pairs"),
	OPTION_DOUBLE(struct history_settings, last_s, "last", 'l', "S", 0, 1e10, "seconds up to now; 0 = all"),
	OPTION_STRING(struct history_settings, output, "output", 'o', "FILE", "draw it instead: .svg or .png"),
	OPTION_FLAG(struct history_settings, json, "json", 'j', "print JSON (nomora.mesh_history/1)"),
	OPTION_END,
};

static const char teach[] =
	"Reads the SQLite file that 'nomora mesh agent' and 'nomora mesh serve' write with --history.\n"
	"Exit 3: the history has nothing of this pair in that time.\n"
	"\n"
	"  nomora mesh history mesh.db h1 h2 --last 3600\n"
	"  nomora mesh history mesh.db --racks r1 r2 --last 0 -o r1-r2.svg\n";

static void print_figure(double value)
{
	if (isnan(value))
		printf(" %10s", "-");
	else
		printf(" %10.1f", value);
}

static void print_table(const struct latency_series *series, bool racks)
{
	printf("%-24s %10s %10s %10s %8s %10s\n", "at (UTC)", "p50 us", "p99 us", "max us", racks ? "pairs" : "loss %",
	       racks ? "" : "state");
	for (size_t i = 0; i < series->count; i++) {
		const struct latency_point *point = &series->items[i];
		time_t seconds = (time_t)(point->at.v / NS_PER_S);
		char when[32];
		struct tm parts;

		strftime(when, sizeof when, "%F %T", gmtime_r(&seconds, &parts));
		printf("%s.%03d ", when, (int)(point->at.v % NS_PER_S / NS_PER_MS));
		print_figure(point->rtt_p50_us);
		print_figure(point->rtt_p99_us);
		print_figure(point->rtt_max_us);
		if (racks)
			printf(" %8" PRIu64 "\n", point->count);
		else
			printf(" %8.2f %s\n", point->loss * 100, latency_state_names[point->state]);
	}
}

static json_t *figure_json(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static int print_json(const struct latency_series *series, bool racks, char *const *names, struct error *err)
{
	json_t *list = json_array(), *root;
	int code;

	for (size_t i = 0; i < series->count; i++) {
		const struct latency_point *point = &series->items[i];
		json_t *row = json_pack("{s:f,s:o,s:o,s:o}", "at", ns_to_s(point->at), "rtt_p50_us",
					figure_json(point->rtt_p50_us), "rtt_p99_us", figure_json(point->rtt_p99_us),
					"rtt_max_us", figure_json(point->rtt_max_us));

		json_object_set_new(row, racks ? "pairs" : "samples", json_integer((json_int_t)point->count));
		if (!racks) {
			json_object_set_new(row, "loss", json_real(point->loss));
			json_object_set_new(row, "state", json_string(latency_state_names[point->state]));
		}
		json_array_append_new(list, row);
	}
	root = json_pack("{s:s,s:s,s:s,s:s,s:o}", "schema", "nomora.mesh_history/1", "between",
			 racks ? "racks" : "hosts", "src", names[0], "dst", names[1], "points", list);
	code = root ? json_write_file("-", root, err) : error_set(err, ENOMEM, "out of memory");
	json_decref(root);
	return code;
}

static int show(const struct latency_series *series, const struct history_settings *settings, char *const *names,
		struct error *err)
{
	char title[2 * LATENCY_NAME_BYTES + 32];

	if (settings->output) {
		snprintf(title, sizeof title, "%s%s to %s", settings->racks ? "rack " : "", names[0], names[1]);
		return figures_history_save(series, title, settings->output, err);
	}
	if (settings->json)
		return print_json(series, settings->racks, names, err);
	print_table(series, settings->racks);
	return command_flush(err);
}

static enum command_exit run(char *const *operands, const struct history_settings *settings)
{
	struct ns since = {settings->last_s > 0 ? ns_now_wall().v - (int64_t)(settings->last_s * 1e9) : 0};
	struct latency_series series = {0};
	struct error err = {0};
	struct mesh_store *store = mesh_store_open(operands[0], false, &err);
	int code = store ? mesh_store_read(store, settings->racks, operands[1], operands[2], since, &series, &err)
			 : error_code(&err, EIO);
	enum command_exit status = COMMAND_OK;

	if (!code && !series.count) {
		error_set(&err, ENODATA, "%s has nothing from '%s' to '%s' in that time", operands[0], operands[1],
			  operands[2]);
		status = command_fail(&err, COMMAND_NEGATIVE);
	} else if (code || show(&series, settings, &operands[1], &err)) {
		status = command_fail(&err, COMMAND_FAILED);
	}
	free(series.items);
	mesh_store_close(store);
	return status;
}

int command_mesh_history(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh history",
		.operands = "HISTORY FROM TO",
		.summary = "Show how the round trips between two hosts or racks went on.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 3,
		.operands_maximum = 3,
	};
	struct history_settings settings = {.last_s = 3600};
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (settings.output && command_check_ending("--output", settings.output, command_pictures, &err) != 0)
		code = command_fail(&err, COMMAND_USAGE);
	else
		code = run(operands.items, &settings);
	options_free(&operands);
	return code;
}

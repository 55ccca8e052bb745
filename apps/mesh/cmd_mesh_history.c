/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh history: shows the round trips between two hosts over time. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <figures/figures.h>
#include <probe/store/store.h>

struct history_settings {
	const char *output;
	double last_s;
	bool racks, json;
};

static const struct option_row rows[] = {
	OPTION_FLAG(struct history_settings, racks, "racks", 'r',
		    "FROM and TO are racks: show the largest value of their pairs"),
	OPTION_DOUBLE(struct history_settings, last_s, "last", 'l', "S", 0, 1e10, "seconds up to now; 0 = all"),
	OPTION_STRING(struct history_settings, output, "output", 'o', "FILE", "draw it instead: .svg or .png"),
	OPTION_FLAG(struct history_settings, json, "json", 'j', "print JSON (nomora.mesh_history/1)"),
	OPTION_END,
};

static const char teach[] =
	"Reads the SQLite file that 'nomora mesh agent' and 'nomora mesh serve' write with --history.\n"
	"Exit 3: the history has no measurements of this pair in the time of --last.\n"
	"\n"
	"  nomora mesh history mesh.db h1 h2 --last 3600\n"
	"  nomora mesh history mesh.db --racks r1 r2 --last 0 -o r1-r2.svg\n";

static int show(const struct latency_series *series, const struct history_settings *settings, char *const *names,
		struct error *err)
{
	char title[2 * LATENCY_NAME_BYTES + 32];

	if (settings->output) {
		snprintf(title, sizeof title, "%s%s to %s", settings->racks ? "rack " : "", names[0], names[1]);
		return figures_history_save(series, title, settings->output, err);
	}
	if (settings->json)
		return json_write_file_new("-", latency_series_to_json(series, settings->racks, names[0], names[1]),
					   err);
	latency_series_print(series, settings->racks, stdout);
	return 0;
}

static int run(void *context, const struct option_operands *given, struct error *err)
{
	const struct history_settings *settings = context;
	struct ns since = {settings->last_s > 0 ? ns_now_wall().v - (int64_t)(settings->last_s * 1e9) : 0};
	struct latency_series series = {0};
	char *const *operands = given->items;
	struct mesh_store *store;
	int code;

	if (settings->output && command_check_ending("--output", settings->output, command_pictures, err) != 0)
		return COMMAND_USAGE;
	store = mesh_store_open(operands[0], false, err);
	code = store ? mesh_store_read(store, settings->racks, operands[1], operands[2], since, &series, err)
		     : error_code(err, EIO);
	if (!code && series.count) {
		code = show(&series, settings, &operands[1], err);
	} else if (!code) {
		error_set(err, ENODATA, "%s: no measurements from '%s' to '%s' in the time of --last", operands[0],
			  operands[1], operands[2]);
		code = COMMAND_NEGATIVE;
	}
	free(series.items);
	mesh_store_close(store);
	return code;
}

int command_mesh_history(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh history",
		.operands = "HISTORY FROM TO",
		.summary = "Show the round trips between two hosts or racks over time.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 3,
		.operands_maximum = 3,
	};
	struct history_settings settings = {.last_s = 3600};

	return command_run(&usage, argc, argv, &settings, run);
}

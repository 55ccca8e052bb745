/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora mesh: merges the rows that hosts measured into the latency matrix, and shows the matrix as a table, a picture
 * or JSON.
 */
#include "commands.h"

#include <errno.h>
#include <stdbool.h>

#include <base/progress.h>
#include <figures/figures.h>
#include <model/latency_live.h>
#include <model/latency_table.h>

struct mesh_settings {
	const struct mesh_command *command;
	const char *output, *cluster, *title, *live;
	int how, statistic, format;
	bool json;
};

static const char *const merge_names[] = {"refuse", "freshest", "worst", NULL};
static const char *const format_names[] = {"json", "table", NULL};

enum export_format { EXPORT_JSON, EXPORT_TABLE };

#define STATISTIC_ROW                                                                                                  \
	OPTION_CHOICE(struct mesh_settings, statistic, "stat", 's', "WHICH", latency_statistic_names,                  \
		      "figure to show for each pair")
#define CLUSTER_ROW                                                                                                    \
	OPTION_STRING(struct mesh_settings, cluster, "cluster", 'c', "FILE", "machines with racks, to sort the hosts")

static const struct option_row merge_rows[] = {
	OPTION_STRING(struct mesh_settings, output, "output", 'o', "FILE", "the matrix; default: stdout"),
	OPTION_CHOICE(struct mesh_settings, how, "how", 0, "RULE", merge_names,
		      "for a pair in several files: refuse it, keep its freshest row, or keep its worst figures"),
	OPTION_STRING(struct mesh_settings, live, "live", 'l', "FILE",
		      "put the pairs into this live matrix instead; created if it is missing"),
	OPTION_STRING(struct mesh_settings, cluster, "cluster", 'c', "FILE", "racks and pods of a live matrix's hosts"),
	OPTION_END,
};

static const struct option_row show_rows[] = {
	STATISTIC_ROW,
	CLUSTER_ROW,
	OPTION_FLAG(struct mesh_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const struct option_row draw_rows[] = {
	OPTION_STRING(struct mesh_settings, output, "output", 'o', "FILE", "picture, .svg or .png (required)"),
	OPTION_STRING(struct mesh_settings, title, "title", 't', "TEXT",
		      "title above the picture; default: what it shows"),
	STATISTIC_ROW,
	CLUSTER_ROW,
	OPTION_END,
};

static const struct option_row export_rows[] = {
	OPTION_STRING(struct mesh_settings, output, "output", 'o', "FILE", "default: stdout"),
	OPTION_CHOICE(struct mesh_settings, format, "format", 'f', "FORM", format_names,
		      "json: every pair; table: one figure as a square CSV"),
	OPTION_FLAG(struct mesh_settings, json, "json", 'j', "the same as --format json"),
	STATISTIC_ROW,
	CLUSTER_ROW,
	OPTION_END,
};

static int merge_files(const struct option_operands *operands, const struct mesh_settings *settings, struct error *err)
{
	struct progress *bar = progress_create(stderr, "mesh", 0);
	struct latency_matrix *all = latency_matrix_read_all(operands->items, (size_t)operands->count,
							     (enum latency_merge)settings->how, bar, err);
	int code = all ? 0 : error_code(err, EIO);

	progress_update(bar, 0, "writing");
	if (!code)
		code = settings->live ? latency_live_put(settings->live, all, settings->cluster, err)
				      : latency_matrix_write(all, settings->output, err);
	progress_destroy(bar);
	latency_matrix_destroy(all);
	return code;
}

static int show_order(const struct latency_table *order, const struct mesh_settings *settings, struct error *err)
{
	if (settings->json)
		return latency_table_write_json(order, "-", err);
	return figures_mesh_print(order, (enum latency_statistic)settings->statistic, stdout, err);
}

static int draw_order(const struct latency_table *order, const struct mesh_settings *settings, struct error *err)
{
	return figures_mesh_save(order, (enum latency_statistic)settings->statistic, settings->title, settings->output,
				 err);
}

static int export_order(const struct latency_table *order, const struct mesh_settings *settings, struct error *err)
{
	if (settings->json || settings->format == EXPORT_JSON)
		return latency_table_write_json(order, settings->output, err);
	return latency_table_write_table(order, (enum latency_statistic)settings->statistic, settings->output, err);
}

/* A subcommand sets one of with_files() and with_order(); the other is NULL. */
struct mesh_command {
	struct option_usage usage;
	struct mesh_settings defaults; /* if .output is NULL here, the user must give -o */
	const char *const *endings;    /* endings that the output's name may have; NULL = any */
	int (*with_files)(const struct option_operands *operands, const struct mesh_settings *settings,
			  struct error *err);
	int (*with_order)(const struct latency_table *order, const struct mesh_settings *settings, struct error *err);
};

static const struct mesh_command merge = {
	.usage = {.command = "nomora mesh merge",
		  .operands = "ROW.csv...",
		  .summary = "Put the rows that hosts measured together into one latency matrix.",
		  .teach = "  nomora mesh merge h1.csv h2.csv h3.csv -o latency.csv\n",
		  .rows = merge_rows,
		  .operands_minimum = 1,
		  .operands_maximum = -1},
	.defaults = {.output = "-", .how = LATENCY_MERGE_FRESHEST},
	.with_files = merge_files,
};

static const struct mesh_command show = {
	.usage = {.command = "nomora mesh show",
		  .operands = "LATENCY.csv",
		  .summary = "Show a latency matrix as a table, with a summary of the pairs within and between racks.",
		  .teach = "  nomora mesh show latency.csv --cluster cluster.json --stat p99\n",
		  .rows = show_rows,
		  .operands_minimum = 1,
		  .operands_maximum = 1},
	.defaults = {.output = "-", .statistic = LATENCY_STATISTIC_P50},
	.with_order = show_order,
};

static const struct mesh_command draw = {
	.usage = {.command = "nomora mesh draw",
		  .operands = "LATENCY.csv -o PICTURE.svg",
		  .summary = "Draw a latency matrix as a heat map.",
		  .teach = "  nomora mesh draw latency.csv --cluster cluster.json -o mesh.svg\n",
		  .rows = draw_rows,
		  .operands_minimum = 1,
		  .operands_maximum = 1},
	.defaults = {.statistic = LATENCY_STATISTIC_P50},
	.endings = command_pictures,
	.with_order = draw_order,
};

static const struct mesh_command export = {
	.usage = {.command = "nomora mesh export",
		  .operands = "LATENCY.csv",
		  .summary = "Give a latency matrix to other programs.",
		  .teach = "  nomora mesh export latency.csv --json | jq .summary\n",
		  .rows = export_rows,
		  .operands_minimum = 1,
		  .operands_maximum = 1},
	.defaults = {.output = "-", .statistic = LATENCY_STATISTIC_P50},
	.with_order = export_order,
};

static int look(const struct mesh_command *command, const char *path, const struct mesh_settings *settings,
		struct error *err)
{
	struct progress *bar = progress_create(stderr, "mesh", 0);
	struct latency_table order;
	int code = latency_table_read(&order, path, settings->cluster, bar, err);

	if (command->endings)
		progress_update(bar, 0, "drawing");
	else
		progress_clear(bar); /* the other subcommands print on the terminal of the progress bar */
	if (!code)
		code = command->with_order(&order, settings, err);
	progress_destroy(bar);
	latency_table_free(&order);
	return code;
}

static int act(void *context, const struct option_operands *operands, struct error *err)
{
	const struct mesh_settings *settings = context;
	const struct mesh_command *command = settings->command;

	if (!settings->output)
		return command_misused(err, "missing option -o: expected a .svg or .png file");
	if (command->endings && command_check_ending("--output", settings->output, command->endings, err) != 0)
		return COMMAND_USAGE;
	return command->with_files ? command->with_files(operands, settings, err)
				   : look(command, operands->items[0], settings, err);
}

static int run(const struct mesh_command *command, int argc, char **argv)
{
	struct mesh_settings settings = command->defaults;

	settings.command = command;
	return command_run(&command->usage, argc, argv, &settings, act);
}

static int run_merge(int argc, char **argv)
{
	return run(&merge, argc, argv);
}

static int run_show(int argc, char **argv)
{
	return run(&show, argc, argv);
}

static int run_draw(int argc, char **argv)
{
	return run(&draw, argc, argv);
}

static int run_export(int argc, char **argv)
{
	return run(&export, argc, argv);
}

static const struct command subcommands[] = {
	{"merge", "rows of hosts into one latency matrix", run_merge, NULL},
	{"show", "a table, with a summary within and between racks", run_show, NULL},
	{"draw", "a heat map", run_draw, NULL},
	{"export", "JSON or a square table", run_export, NULL},
	{"top", "the state and the worst pairs of a live matrix", command_mesh_top, NULL},
	{"history", "a pair over time", command_mesh_history, NULL},
	{"serve", "a live matrix as web pages and metrics", NULL, "nomora-live"},
	{"publish", "a live matrix's rows over NATS", NULL, "nomora-live"},
	{"collect", "rows from NATS into a live matrix", NULL, "nomora-live"},
	{"join", "make this host a member of a mesh", NULL, "nomora-live"},
	{"leave", "end a host's membership", NULL, "nomora-live"},
	{"members", "keep the list of a mesh's members", NULL, "nomora-live"},
	{"plan", "who probes whom, under budgets", command_mesh_plan, NULL},
	{"drain", "mark hosts as drained or gone, or active again", command_mesh_drain, NULL},
	{"agent", "measure continuously into a live matrix", NULL, "nomora-probe"},
	{NULL, NULL, NULL, NULL},
};

int command_mesh(int argc, char **argv)
{
	return command_dispatch("nomora mesh",
				"Measure, watch, serve, merge, show and export the latency matrix of a rack.",
				subcommands, argc, argv);
}

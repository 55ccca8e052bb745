/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh: rows into the latency matrix, and the matrix as a table, a picture, JSON. */
#include "commands.h"
#include "mesh_print.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include <base/file.h>
#include <base/json.h>
#include <base/progress.h>
#include <figures/mesh.h>
#include <model/latency_live.h>
#include <model/latency_summary.h>

struct mesh_settings {
	const char *output, *cluster, *title, *live;
	int how, statistic, format;
	bool json;
};

static const char *const merge_names[] = {"refuse", "freshest", "worst", NULL};
static const char *const format_names[] = {"json", "table", NULL};

enum export_format { EXPORT_JSON, EXPORT_TABLE };

#define STATISTIC_ROW                                                                                                  \
	OPTION_CHOICE(struct mesh_settings, statistic, "stat", 's', "WHICH", latency_statistic_names,                  \
		      "which figure of each pair")
#define CLUSTER_ROW                                                                                                    \
	OPTION_STRING(struct mesh_settings, cluster, "cluster", 'c', "FILE", "machines with their racks, for the order")

static const struct option_row merge_rows[] = {
	OPTION_STRING(struct mesh_settings, output, "output", 'o', "FILE", "the matrix; default: stdout"),
	OPTION_CHOICE(struct mesh_settings, how, "how", 0, "RULE", merge_names,
		      "a pair in two files: refuse, keep the freshest, or keep the worst figure of each"),
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
	OPTION_STRING(struct mesh_settings, title, "title", 't', "TEXT", "above the picture; default: what it shows"),
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

/* A new live matrix can hold every pair of its hosts, as far as 2^20 of them. */
static int put_live(const struct latency_matrix *all, const struct mesh_settings *settings, struct error *err)
{
	uint64_t hosts = latency_matrix_hosts(all) + 64, pairs = hosts * hosts;
	struct latency_live_size size = {(uint32_t)hosts, 256, pairs < 1 << 20 ? pairs : 1 << 20};
	struct cluster *cluster = settings->cluster ? cluster_read(settings->cluster, err) : NULL;
	struct latency_matrix *live = NULL;
	int code = settings->cluster && !cluster ? -err->code : 0;

	if (cluster && cluster->rack_count + 64 > size.racks)
		size.racks = cluster->rack_count + 64;
	if (!code) {
		if (size.pairs < latency_matrix_count(all))
			size.pairs = latency_matrix_count(all);
		live = latency_live_open(settings->live, &size, err);
		code = live ? latency_live_put(live, all, cluster, err) : -err->code;
	}
	latency_matrix_destroy(live);
	cluster_destroy(cluster);
	return code;
}

static int merge_files(const struct option_operands *operands, const struct mesh_settings *settings, struct error *err)
{
	struct latency_matrix *all = latency_matrix_create();
	struct progress *bar = progress_create(stderr, "mesh", 0);
	int code = all ? 0 : error_set(err, ENOMEM, "out of memory");

	for (int i = 0; !code && i < operands->count; i++) {
		struct latency_matrix *one = latency_matrix_read(operands->items[i], bar, err);

		code = one ? latency_matrix_merge(all, one, (enum latency_merge)settings->how, err) : -err->code;
		if (one && code)
			error_prefix(err, "%s", operands->items[i]);
		latency_matrix_destroy(one);
	}
	progress_update(bar, 0, "writing");
	if (!code)
		code = settings->live ? put_live(all, settings, err) : latency_matrix_write(all, settings->output, err);
	progress_destroy(bar);
	latency_matrix_destroy(all);
	return code;
}

static void print_group(const char *label, const struct latency_group *group)
{
	if (group->pairs == 0)
		return;
	printf("%-12s %6llu pairs: ", label, (unsigned long long)group->pairs);
	if (group->silent < group->pairs)
		printf("p50 %.1f us, p99 %.1f us (medians), worst %.1f us, ", group->p50_us, group->p99_us,
		       group->worst_us);
	printf("loss %.4g %%", group->loss * 100);
	if (group->silent)
		printf(", %llu pair%s without an answer", (unsigned long long)group->silent,
		       group->silent == 1 ? "" : "s");
	putchar('\n');
}

static int show_order(const struct latency_order *order, const struct mesh_settings *settings, struct error *err)
{
	struct latency_group groups[LATENCY_RELATIONS];

	if (settings->json)
		return mesh_write_json(order, "-", err);
	if (latency_summarise(order->matrix, order->cluster, groups))
		return error_set(err, ENOMEM, "out of memory");
	mesh_print_table(order, (enum latency_statistic)settings->statistic, stdout);
	if (order->count > 0)
		putchar('\n');
	print_group(order->cluster ? "same rack" : "all", &groups[LATENCY_SAME_RACK]);
	print_group("other racks", &groups[LATENCY_OTHER_RACK]);
	print_group("rack unknown", &groups[LATENCY_UNKNOWN_RACK]);
	return 0;
}

static int draw_order(const struct latency_order *order, const struct mesh_settings *settings, struct error *err)
{
	return figures_mesh_save(order, (enum latency_statistic)settings->statistic, settings->title, settings->output,
				 err);
}

/* A square CSV: first line and first column are names, empty cells were not measured. */
static int export_table(const struct latency_order *order, enum latency_statistic statistic, const char *path,
			struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	FILE *out;

	if (!writer)
		return -err->code;
	out = file_writer_stream(writer);
	fputs("src", out);
	for (uint32_t column = 0; column < order->count; column++)
		fprintf(out, ",%s", latency_order_name(order, column));
	fputc('\n', out);
	for (uint32_t row = 0; row < order->count; row++) {
		fputs(latency_order_name(order, row), out);
		for (uint32_t column = 0; column < order->count; column++) {
			double value = latency_order_value(order, row, column, statistic);

			if (isnan(value))
				fputc(',', out);
			else
				fprintf(out, ",%.10g", value);
		}
		fputc('\n', out);
	}
	return file_writer_commit(writer, err);
}

static int export_order(const struct latency_order *order, const struct mesh_settings *settings, struct error *err)
{
	if (settings->json || settings->format == EXPORT_JSON)
		return mesh_write_json(order, settings->output, err);
	return export_table(order, (enum latency_statistic)settings->statistic, settings->output, err);
}

/* A subcommand reads files as they are, or looks at one through a view. */
struct mesh_command {
	struct option_usage usage;
	struct mesh_settings defaults; /* without an output there, the user has to name one */
	const char *const *endings;    /* that the output may have; NULL = any */
	int (*with_files)(const struct option_operands *operands, const struct mesh_settings *settings,
			  struct error *err);
	int (*with_order)(const struct latency_order *order, const struct mesh_settings *settings, struct error *err);
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
		  .summary = "Show a latency matrix as a table, and what racks have in common.",
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

static int act(const struct mesh_command *command, const struct option_operands *operands,
	       const struct mesh_settings *settings, struct error *err)
{
	struct progress *bar;
	struct latency_order order;
	int code;

	if (command->with_files)
		return command->with_files(operands, settings, err);
	bar = progress_create(stderr, "mesh", 0);
	code = latency_order_read(&order, operands->items[0], settings->cluster, bar, err);
	if (command->endings)
		progress_update(bar, 0, "drawing");
	else
		progress_clear(bar); /* others print */
	if (!code)
		code = command->with_order(&order, settings, err);
	progress_destroy(bar);
	latency_order_free(&order);
	return code;
}

static int run(const struct mesh_command *command, int argc, char **argv)
{
	struct mesh_settings settings = command->defaults;
	struct option_operands operands;
	struct error err = {0};
	int code = command_parse(&command->usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (!settings.output) {
		error_set(&err, EINVAL, "--output is missing: which .svg or .png file?");
		code = command_fail(&err, COMMAND_USAGE);
	} else if (command->endings && command_check_ending("--output", settings.output, command->endings, &err) != 0) {
		code = command_fail(&err, COMMAND_USAGE);
	} else {
		code = act(command, &operands, &settings, &err) ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	}
	options_free(&operands);
	return code;
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
	{"show", "a table, and what racks have in common", run_show, NULL},
	{"draw", "a heat map", run_draw, NULL},
	{"export", "JSON or a square table", run_export, NULL},
	{"top", "the state and the worst pairs of a live matrix", command_mesh_top, NULL},
	{"history", "how a pair went on", command_mesh_history, NULL},
	{"serve", "a live matrix as web pages and metrics", command_mesh_serve, NULL},
	{"publish", "a live matrix's rows over NATS", command_mesh_publish, NULL},
	{"collect", "rows from NATS into a live matrix", command_mesh_collect, NULL},
	{"plan", "who probes whom, under budgets", command_mesh_plan, NULL},
	{"drain", "take hosts out on purpose, and back", command_mesh_drain, NULL},
	{"agent", "measure continuously into a live matrix", NULL, "nomora-probe"},
	{NULL, NULL, NULL, NULL},
};

int command_mesh(int argc, char **argv)
{
	return command_dispatch("nomora mesh",
				"The latency matrix: plan, measure, watch, serve, merge, show, draw, export.",
				subcommands, argc, argv);
}

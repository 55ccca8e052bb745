/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the figures of the papers on dataflow and recovery, with the published values beside ours. Not installed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/ns.h>
#include <base/options.h>

#include "reproduction.h"

struct settings {
	const char *output;
	int64_t runs, slots, k, seed, starts, steps, route_steps, repeats;
};

static const struct option_row option_rows[] = {
	OPTION_STRING(struct settings, output, "output", 'o', "DIR", "folder for index.html and the figures"),
	OPTION_INTEGER(struct settings, runs, "runs", 'r', "N", 1, 1000000,
		       "storm, hadoop, failures: paired seeds; dataflow-runtime: decisions; dataflow-scale: jobs; "
		       "recovery-runtime: instances"),
	OPTION_HEADING("Dataflow"),
	OPTION_INTEGER(struct settings, seed, "seed", 0, "N", 0, 1000000000, "first seed"),
	OPTION_INTEGER(struct settings, slots, "slots", 0, "N", 1, DATAFLOW_SLOTS_MAXIMUM, "slots of each host"),
	OPTION_INTEGER(struct settings, k, "k", 0, "N", 1, TOPOLOGY_PATHS_K_MAXIMUM, "candidate routes of a pair"),
	OPTION_INTEGER(struct settings, starts, "starts", 0, "N", 1, 1000, "local searches of rate and completion"),
	OPTION_INTEGER(struct settings, steps, "steps", 0, "N", 1, 1000000, "the paper's maxStep of the placement"),
	OPTION_INTEGER(struct settings, route_steps, "route-steps", 0, "N", 1, 1000000, "maxStep of the routes"),
	OPTION_INTEGER(struct settings, repeats, "repeats", 0, "N", 1, 1000, "runs of the annealing"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "reproduce",
	.operands = "EXPERIMENT -o DIR",
	.summary = "Make figures of the papers, with the published values beside ours, and print the values.",
	.teach = "Cross-layer placement and routing: storm (figures 4, 5), hadoop (7, 8), failures (6, 9), "
		 "dataflow-runtime (10, 11), dataflow-scale (12, 13).\n"
		 "Surviving failures: testbed (6 to 11), recovery-scale (12, 13), recovery-runtime (14, 15).\n"
		 "  reproduce storm -r 10 -o figures\n",
	.rows = option_rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

/* Runs the experiment options->what, writes its page and appends the rows of its tables to *rows. 0 or -errno. */
static int run_dataflow(const struct experiment_dataflow_options *options, struct experiment_rows *rows,
			struct error *err)
{
	static const char *const titles[] = {
		[EXPERIMENT_STORM] = "Dataflow: throughput of Storm jobs, figures 4 and 5",
		[EXPERIMENT_HADOOP] = "Dataflow: throughput of MapReduce jobs, figures 7 and 8",
		[EXPERIMENT_FAILURES] = "Dataflow: failed links, figures 6 and 9",
		[EXPERIMENT_RUNTIME] = "Dataflow: time of a decision, figures 10 and 11",
		[EXPERIMENT_SCALE] = "Dataflow: completion times at 1,000 hosts, figures 12 and 13",
	};
	struct experiment_page *page = experiment_page_open(options->folder, titles[options->what], rows, err);
	struct experiment_dataflow_options limited = *options;

	if (!page)
		return error_code(err, EIO);
	limited.engine.local_MBps = fmin(options->engine.local_MBps, EXPERIMENT_LINK_MBPS);
	options = &limited;
	switch (options->what) {
	case EXPERIMENT_STORM:
	case EXPERIMENT_HADOOP:
		experiment_gains(page, options);
		break;
	case EXPERIMENT_FAILURES:
		experiment_failures(page, options);
		break;
	case EXPERIMENT_RUNTIME:
		experiment_runtime(page, options);
		break;
	case EXPERIMENT_SCALE:
		experiment_scale(page, options);
		break;
	}
	return experiment_page_close(page);
}

/* Likewise; runs: instances that RUNTIME solves. */
static int run_recovery(enum experiment_recovery what, const char *folder, uint32_t runs, FILE *progress,
			struct experiment_rows *rows, struct error *err)
{
	static const char *const titles[] = {
		[EXPERIMENT_RECOVERY_TESTBED] = "Recovery: the testbed, figures 6 to 11",
		[EXPERIMENT_RECOVERY_SCALE] = "Recovery at scale, figures 12 and 13",
		[EXPERIMENT_RECOVERY_RUNTIME] = "Recovery: running time, figures 14 and 15",
	};
	struct experiment_page *page = experiment_page_open(folder, titles[what], rows, err);

	if (!page)
		return error_code(err, EIO);
	if (what == EXPERIMENT_RECOVERY_TESTBED)
		experiment_recovery_testbed(page);
	else if (what == EXPERIMENT_RECOVERY_SCALE)
		experiment_recovery_scale(page, progress);
	else
		experiment_recovery_runtime(page, runs, progress);
	return experiment_page_close(page);
}

/* In the order of enum experiment_dataflow, then of enum experiment_recovery. */
static const char *const names[] = {
	"storm",          "hadoop",           "failures", "dataflow-runtime", "dataflow-scale", "testbed",
	"recovery-scale", "recovery-runtime", NULL};
enum { FIRST_RECOVERY = EXPERIMENT_SCALE + 1 };

static int run(const struct settings *settings, int which, struct experiment_rows *table, struct error *err)
{
	struct experiment_dataflow_options options = {.what = (enum experiment_dataflow)which,
						      .folder = settings->output,
						      .engine = engine_defaults(),
						      .paths = {.k = (uint32_t)settings->k,
								.detour = TOPOLOGY_PATHS_DETOUR,
								.seed = (uint64_t)settings->seed},
						      .slots = (uint32_t)settings->slots,
						      .runs = (uint32_t)settings->runs,
						      .progress = stderr};

	if (which >= FIRST_RECOVERY)
		return run_recovery((enum experiment_recovery)(which - FIRST_RECOVERY), settings->output,
				    (uint32_t)settings->runs, stderr, table, err);
	options.engine.seed = (uint64_t)settings->seed;
	options.engine.starts = (uint32_t)settings->starts;
	options.engine.steps = (uint32_t)settings->steps;
	options.engine.route_steps = (uint32_t)settings->route_steps;
	options.engine.repeats = (uint32_t)settings->repeats;
	options.engine.now = ns_now_monotonic;
	return run_dataflow(&options, table, err);
}

static int experiment_of(const char *name, const char *output, struct error *err)
{
	if (!output)
		return error_set(err, EINVAL, "missing -o DIR");
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return error_set(err, EINVAL, "no experiment '%s'; see --help", name);
}

int main(int argc, char **argv)
{
	const struct engine_options defaults = engine_defaults();
	struct settings settings = {.runs = 10,
				    .seed = 1,
				    .slots = 2,
				    .k = 10,
				    .starts = defaults.starts,
				    .steps = defaults.steps,
				    .route_steps = defaults.route_steps,
				    .repeats = defaults.repeats};
	struct option_operands operands = {0};
	struct experiment_rows table = {0};
	struct error err = {0};
	enum option_outcome outcome = options_parse(&usage, argc, argv, &settings, &operands, &err);
	int which = outcome == OPTIONS_RUN ? experiment_of(operands.items[0], settings.output, &err) : -1;
	int code = outcome == OPTIONS_DONE ? 0 : which < 0 ? 2 : 1;

	if (which >= 0 && run(&settings, which, &table, &err) == 0) {
		experiment_rows_print(&table, stdout);
		code = 0;
	}
	if (code != 0)
		log_error("%s", err.text);
	free(table.items);
	options_free(&operands);
	return code;
}

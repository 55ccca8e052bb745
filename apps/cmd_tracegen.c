/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora tracegen: writes a synthetic workload in the format of Google's cluster trace (clusterdata-2011-2). */
#include <errno.h>
#include <stdio.h>

#include <base/json.h>
#include <base/number.h>
#include <model/google_trace.h>
#include <sched/sim/generate.h>

#include "commands.h"

struct tracegen_options {
	int64_t machines, slots, tasks, seed;
	double hours, load, churn;
	const char *like;
	bool json;
};

static const char teach[] =
	"Writes DIR/machine_events and DIR/task_events in the schema of Google clusterdata-2011-2. Drawn from fits to\n"
	"Google's first day:\n"
	"\n"
	"                                     data            drawn\n"
	"  tasks of a job p50/p90/p99         15/200/2,000    the same, log-linear between them, at most 20,000\n"
	"  jobs with one task                 75 %            75 %\n"
	"  run time p50/p90                   626/8,789 s     log-normal: sigma 1.9 between jobs, 0.8 in a job\n"
	"  seconds with a submission          2,870 a day     the same\n"
	"  slots in use at the start          89 % of 12      --load; two thirds of them for the whole day\n"
	"  machines that leave                309 a day       --churn, for half an hour on average\n"
	"\n"
	"Example:\n"
	"\n"
	"  $ nomora tracegen --machines 1250 --hours 2 trace\n"
	"  $ nomora tracegen --like jobs.csv --hours 48 trace\n"
	"  $ nomora simulate --trace trace --hours 2 -C curves -o day\n";

static const struct option_row rows[] = {
	OPTION_STRING(
		struct tracegen_options, like, "like", 0, "PATH",
		"draw from the jobs of a trace, Google's folder or a table of jobs (simulate --csv), at the hourly "
		"rates of the trace, instead of from Google's first day"),
	OPTION_INTEGER(struct tracegen_options, machines, "machines", 'm', "N", 0, 1000000,
		       "machines; 0 = 12500, with --like as many as the trace has or needs"),
	OPTION_INTEGER(struct tracegen_options, slots, "slots", 0, "N", 1, 100000, "slots of a machine"),
	OPTION_INTEGER(struct tracegen_options, tasks, "tasks", 0, "N", 0, 100000000,
		       "tasks submitted after the start; 0 = derived from --load"),
	OPTION_DOUBLE(struct tracegen_options, hours, "hours", 0, "H", 0, 10000,
		      "length of the trace in hours; 0 = 24, with --like as long as that trace"),
	OPTION_DOUBLE(struct tracegen_options, load, "load", 0, "SHARE", 0.01, 1.5, "share of the slots in use"),
	OPTION_DOUBLE(struct tracegen_options, churn, "churn", 0, "SHARE", 0, 1,
		      "share of the machines that leave for a while, per day"),
	OPTION_INTEGER(struct tracegen_options, seed, "seed", 0, "N", 0, 9007199254740991., "seed"),
	OPTION_FLAG(struct tracegen_options, json, "json", 0, "print the counts as JSON, nomora.tracegen/1"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora tracegen",
	.operands = "DIR",
	.summary = "Write a synthetic trace in Google's schema.",
	.teach = teach,
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static struct workload *draw(const struct tracegen_options *options)
{
	struct sim_generate_settings settings = {
		.machines = options->machines ? (uint32_t)options->machines : 12500,
		.slots = (uint32_t)options->slots,
		.hours = options->hours > 0 ? options->hours : 24,
		.load = options->load,
		.tasks = (uint64_t)options->tasks,
		.churn_per_day = options->churn,
		.seed = (uint64_t)options->seed,
	};

	return sim_generate(&settings);
}

/* Sets *workload, or leaves it NULL. */
static int draw_like(const struct tracegen_options *options, struct workload **workload, struct error *err)
{
	struct sim_like_settings settings = {
		.machines = (uint32_t)options->machines,
		.slots = (uint32_t)options->slots,
		.hours = options->hours,
		.seed = (uint64_t)options->seed,
	};
	struct sim_like like;
	int code = sim_like_create(&like, options->like, err);

	if (code == 0 && !options->json && sim_like_print(&like, stdout) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		*workload = sim_like_generate(&like, &settings);
	sim_like_free(&like);
	return code;
}

static int generate(void *context, const struct option_operands *operands, struct error *err)
{
	const struct tracegen_options *options = context;
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct workload *workload = NULL;
	int code = 0;

	if (options->like)
		code = draw_like(options, &workload, err);
	else
		workload = draw(options);
	if (code == 0 && (!workload || workload_finish(workload, &all) != 0))
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		code = google_trace_write(workload, operands->items[0], err);
	if (code == 0 && options->json)
		code = json_write_file_new("-", google_trace_counts_to_json(workload), err);
	else if (code == 0)
		printf("%zu machine%s, %zu job%s, %zu task%s\n", workload->machine_count,
		       number_s(workload->machine_count), workload->job_count, number_s(workload->job_count),
		       workload->task_count, number_s(workload->task_count));
	workload_destroy(workload);
	return code;
}

int command_tracegen(int argc, char **argv)
{
	struct tracegen_options options = {.slots = 12, .seed = 1, .load = 0.9, .churn = 0.025};

	return command_run(&usage, argc, argv, &options, generate);
}

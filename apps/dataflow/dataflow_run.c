/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow run: runs the plan on a routed lab, with real processes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/program.h>
#include <base/stop.h>
#include <lab/dataflow/run.h>

#include "dataflow.h"

static int run(const struct lab *lab, struct dataflow *dataflow, struct dataflow_plan *plan,
	       struct run_options *options, const char *plot, struct error *err)
{
	const struct run_report *report = options->context;
	struct run_result result;
	int code;

	stop_catch_signals();
	options->stop = stop_flag();
	run_report_heading(report);
	code = run_plan(lab, dataflow, plan, options, &result, err);
	if (code == 0)
		run_report_result(report, dataflow, &result);
	if (code == 0 && plot)
		code = run_history_plot(report->history, options, plot, err);
	if (code == 0)
		code = run_result_check(&result, err);
	run_result_clear(&result);
	return code;
}

static int run_on_lab(const struct dataflow_settings *settings, struct dataflow *dataflow, struct dataflow_plan *plan,
		      struct error *err)
{
	struct simulate_fault faults[OPTION_LIST_MAXIMUM];
	char program[PATH_MAX];
	struct run_history history = {0};
	struct run_report report = {
		.json = settings->json, .out = stdout, .history = settings->throughput ? &history : NULL};
	struct run_options options = {.program = program,
				      .seconds = settings->seconds,
				      .local_MBps = settings->local_MBps,
				      .tuple_bytes = (uint32_t)settings->tuple_bytes,
				      .slurm_folder = settings->slurm,
				      .keep_routes = settings->keep_routes,
				      .ports = settings->routes == DATAFLOW_PORTS,
				      .improve_routes = engine_seeks_rates(engine_find(dataflow_engine(settings))),
				      .seed = (uint64_t)settings->seed,
				      .faults = faults,
				      .fault_count = (uint32_t)settings->faults.count,
				      .each_second = run_report_second,
				      .context = &report};
	struct lab *lab = malloc(sizeof *lab);
	int code = lab ? apply_read_lab(settings->lab, lab, err) : error_set(err, ENOMEM, "out of memory");

	if (code == 0 && program_path(program, err) < 0)
		code = error_code(err, EIO);
	if (code == 0)
		code = dataflow_parse_faults(settings, dataflow->topology, faults, err);
	if (code == 0)
		code = run(lab, dataflow, plan, &options, settings->throughput, err);
	run_history_clear(&history);
	free(lab);
	return code;
}

static int body(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	struct dataflow_plan *plan = dataflow_make_plan(settings, dataflow, dataflow_engine(settings), 0, err);
	int code = plan && run_on_lab(settings, dataflow, plan, err) == 0 ? COMMAND_OK : dataflow_fail(err);

	dataflow_plan_destroy(plan);
	return code;
}

int command_dataflow_run(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora dataflow run",
		.operands = "[FILE]",
		.summary = "Run dataflow jobs on a routed lab: set routes, start a process for each task, and route "
			   "around "
			   "links that fail.",
		.rows = dataflow_run_rows,
		.operands_maximum = 1,
	};

	return dataflow_command(&usage, "lab0", body, argc, argv);
}

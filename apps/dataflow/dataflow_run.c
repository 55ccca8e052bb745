/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow run: runs the plan on a routed lab, with real processes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/program.h>
#include <base/stop.h>
#include <lab/dataflow/apply.h>
#include <lab/dataflow/run.h>

#include "../command.h"
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

int dataflow_run(const struct dataflow_settings *settings, struct dataflow *dataflow, struct dataflow_plan *plan,
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
				      .improve_routes =
					      engine_seeks_rates(engine_find(engine_name((size_t)settings->engine))),
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

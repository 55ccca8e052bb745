/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow simulate: simulates the jobs, and prints when each begins and ends. */
#include <math.h>

#include <sched/dataflow/simulate.h>

#include "dataflow.h"

static int simulate(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	struct simulate_fault faults[OPTION_LIST_MAXIMUM];
	struct dataflow_simulate_options options = {.engine = engine_find(dataflow_engine(settings)),
						    .engine_options = dataflow_engine_options(settings),
						    .paths = dataflow_paths_options(settings),
						    .faults = faults,
						    .fault_count = (uint32_t)settings->faults.count,
						    .until_s = settings->until_s > 0 ? settings->until_s : INFINITY};
	struct dataflow_simulate_result result;
	int code;

	if (dataflow_parse_faults(settings, dataflow->topology, faults, err) < 0)
		return COMMAND_USAGE;
	if (dataflow_simulate(dataflow, &options, &result, err) < 0)
		return dataflow_fail(err);
	code = COMMAND_OK;
	if (settings->json)
		code = command_print_json(simulate_result_to_json(dataflow, &result, dataflow_engine(settings)));
	else
		simulate_result_print(dataflow, &result, stdout);
	simulate_result_clear(&result);
	return code;
}

int command_dataflow_simulate(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora dataflow simulate",
		.operands = "[FILE]",
		.summary = "Let dataflow jobs arrive, send their data and end, in virtual time.",
		.rows = dataflow_simulate_rows,
		.operands_maximum = 1,
	};

	return dataflow_command(&usage, NULL, simulate, argc, argv);
}

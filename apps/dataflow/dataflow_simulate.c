/* SPDX-License-Identifier: BSD-3-Clause */
/* --simulate: simulates the dataflow jobs. */
#include <math.h>

#include <sched/dataflow/simulate.h>

#include "../command.h"
#include "dataflow.h"

int dataflow_run_simulation(const struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	struct simulate_fault faults[OPTION_LIST_MAXIMUM];
	struct dataflow_simulate_options options = {.engine = engine_find(engine_name((size_t)settings->engine)),
						    .engine_options = dataflow_engine_options(settings),
						    .paths = dataflow_paths_options(settings),
						    .faults = faults,
						    .fault_count = (uint32_t)settings->faults.count,
						    .until_s = settings->until_s > 0 ? settings->until_s : INFINITY,
						    .buffer_MB = settings->buffer_MB};
	struct dataflow_simulate_result result;
	int code;

	if (dataflow_parse_faults(settings, dataflow->topology, faults, err) < 0)
		return COMMAND_USAGE;
	if (dataflow_simulate(dataflow, &options, &result, err) < 0)
		return dataflow_fail(err);
	code = COMMAND_OK;
	if (settings->json)
		code = command_print_json(
			simulate_result_to_json(dataflow, &result, engine_name((size_t)settings->engine)));
	else
		simulate_result_print(dataflow, &result, stdout);
	simulate_result_clear(&result);
	return code;
}

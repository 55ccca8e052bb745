/* SPDX-License-Identifier: BSD-3-Clause */
/* --experiment: prints published values beside ours, and writes the figures to a folder. */
#include <stdio.h>
#include <stdlib.h>

#include <sched/experiment/dataflow.h>

#include "dataflow.h"

int dataflow_run_experiment(const struct dataflow_settings *settings, struct error *err)
{
	const struct experiment_dataflow_options options = {.what = (enum experiment_dataflow)settings->experiment,
							    .folder = settings->output,
							    .engine = dataflow_engine_options(settings),
							    .paths = dataflow_paths_options(settings),
							    .slots = (uint32_t)settings->slots,
							    .runs = (uint32_t)settings->runs,
							    .progress = stderr};
	struct experiment_rows rows = {0};
	int code = experiment_dataflow(&options, &rows, err);

	if (code == 0)
		experiment_rows_print(&rows, stdout);
	free(rows.items);
	return code;
}

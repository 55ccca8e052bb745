/* SPDX-License-Identifier: BSD-3-Clause */
/* --experiment: published values beside ours, as text; the figures are in the folder. */
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

	for (size_t i = 0; code == 0 && i < rows.count; i++)
		printf("%-64s %-18s %s\n", rows.items[i].what, rows.items[i].published, rows.items[i].ours);
	free(rows.items);
	return code;
}

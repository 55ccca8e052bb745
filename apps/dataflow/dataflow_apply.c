/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow apply: runs the flows of the plan on a routed lab and prints predicted and measured rates. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <lab/dataflow/run.h>

#include "dataflow.h"

static int apply(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err)
{
	struct apply_result result = {0};
	struct lab *lab = malloc(sizeof *lab);
	int code = lab ? apply_read_lab(settings->lab, lab, err) : error_set(err, ENOMEM, "out of memory");

	if (code == 0)
		code = apply_plan(lab, plan, settings->seconds, settings->keep_routes, &result, err);
	if (result.measured && !settings->json)
		apply_result_print(lab, &result, stdout);
	if (result.measured && settings->json && code == 0)
		code = json_write_file_new("-", apply_result_to_json(lab, &result), err);
	apply_result_clear(&result);
	free(lab);
	return code;
}

static int body(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	struct dataflow_plan *plan = dataflow_make_plan(settings, dataflow, dataflow_engine(settings), 0, err);
	int code = plan ? apply(settings, plan, err) : dataflow_fail(err);

	dataflow_plan_destroy(plan);
	return code;
}

int command_dataflow_apply(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora dataflow apply",
		.operands = "[FILE]",
		.summary = "Set the routes of a plan in a routed lab, and run every flow at its predicted rate.",
		.rows = dataflow_apply_rows,
		.operands_maximum = 1,
	};

	return dataflow_command(&usage, "lab0", body, argc, argv);
}

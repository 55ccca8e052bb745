/* SPDX-License-Identifier: BSD-3-Clause */
/* --apply: runs the plan on a routed lab and prints a table of predicted and measured rates. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <lab/dataflow/apply.h>

#include "../command.h"
#include "dataflow.h"

int dataflow_apply(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err)
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

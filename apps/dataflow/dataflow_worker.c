/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow worker: runs one task of a job as a process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <base/stop.h>
#include <lab/worker/worker.h>

#include "../commands.h"

static const struct option_row rows[] = {OPTION_END};

static const struct option_usage usage = {
	.command = "nomora dataflow worker",
	.operands = "PLAN",
	.summary = "Run one task of a dataflow job: receive tuples over TCP and send tuples on.",
	.teach = "PLAN is a file (nomora.worker/1), - is stdin. Prints a line of JSON (nomora.worker-report/1) each "
		 "second and at the end.\n"
		 "SIGTERM ends a source; the tasks downstream end when they have passed on all that they received.\n"
		 "'nomora dataflow run' starts these processes.\n",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static int print_report(void *context, const struct worker_report *report)
{
	json_t *json = worker_report_to_json(report);
	char *line = json_dump_whole(json, JSON_REAL_PRECISION(12));
	int code = line ? 0 : error_set(context, ENOMEM, "out of memory");

	json_decref(json);
	if (line && puts(line) >= 0)
		code = command_flush(context);
	free(line);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct worker_plan *plan;
	int code;

	(void)context;
	stop_catch_signals();
	plan = worker_plan_read(operands->items[0], err);
	code = plan ? worker_run(plan, stop_flag(), print_report, err, err) : error_code(err, EIO);
	worker_plan_destroy(plan);
	return code < 0 ? code : COMMAND_OK;
}

int command_dataflow_worker(int argc, char **argv)
{
	return command_run(&usage, argc, argv, NULL, run);
}

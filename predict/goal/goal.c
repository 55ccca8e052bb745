/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <base/file.h>

#include "goal_priv.h"

int goal_read(struct file_lines *lines, const struct loggps *model, struct execution_graph *graph, struct error *err)
{
	struct schedule schedule = {.cpus = 1, .err = err};
	int code;

	*graph = (struct execution_graph){0};
	if (!lines)
		return error_code(err, ENOMEM);
	schedule.file = file_lines_name(lines);
	code = schedule_read(lines, &schedule);
	if (code == 0)
		code = loggps_check(model, schedule.ranks, err);
	if (code == 0)
		code = schedule_build(&schedule, model, graph);
	free(schedule.operations);
	free(schedule.requirements);
	file_lines_close(lines);
	return code;
}

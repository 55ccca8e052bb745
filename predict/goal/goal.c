/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include <base/file.h>

#include "goal_priv.h"

static int make(struct file_lines *lines, const struct loggps *model, struct execution_graph *graph, struct error *err)
{
	struct schedule schedule = {.file = file_lines_name(lines), .cpus = 1, .err = err};
	int code = schedule_read(lines, &schedule);

	if (code == 0)
		code = loggps_check(model, schedule.ranks, err);
	if (code == 0)
		code = schedule_build(&schedule, model, graph);
	free(schedule.operations);
	free(schedule.requirements);
	return code;
}

int goal_read(const char *path, const struct loggps *model, struct execution_graph *graph, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code;

	*graph = (struct execution_graph){0};
	if (!lines)
		return error_code(err, ENOMEM);
	code = make(lines, model, graph, err);
	file_lines_close(lines);
	return code;
}

int goal_parse(const char *name, const char *text, size_t bytes, const struct loggps *model,
	       struct execution_graph *graph, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(name, text, bytes);
	int code;

	*graph = (struct execution_graph){0};
	if (!lines)
		return error_set(err, ENOMEM, "out of memory");
	code = make(lines, model, graph, err);
	file_lines_close(lines);
	return code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh drain: sets the status of hosts in a live matrix. */
#include "commands.h"

#include <model/latency_live.h>

struct drain_settings {
	int status;
};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct drain_settings, status, "status", 's', "STATUS", latency_host_status_names,
		      "active takes a host back; a host that is gone counts in no figure of its rack"),
	OPTION_END,
};

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct drain_settings *settings = context;

	return latency_live_mark(operands->items[0], (const char *const *)&operands->items[1],
				 (size_t)operands->count - 1, (enum latency_host_status)settings->status, err);
}

int command_mesh_drain(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh drain",
		.operands = "LIVE HOST...",
		.summary =
			"Take hosts out of the mesh on purpose: they raise no alarm, and 'mesh plan' leaves them out.",
		.teach = "  nomora mesh drain /dev/shm/mesh h17\n"
			 "  nomora mesh drain /dev/shm/mesh h17 --status active\n",
		.rows = rows,
		.operands_minimum = 2,
		.operands_maximum = -1,
	};
	struct drain_settings settings = {.status = LATENCY_HOST_DRAINED};

	return command_run(&usage, argc, argv, &settings, run);
}

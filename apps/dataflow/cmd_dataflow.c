/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow: places the tasks of dataflow jobs and chooses the routes of their data. */
#include "../commands.h"

int command_dataflow(int argc, char **argv)
{
	static const struct command commands[] = {
		{"plan", "print a placement, routes and the rates that they allow", command_dataflow_plan, NULL},
		{"simulate", "let the jobs arrive, send and end in virtual time", command_dataflow_simulate, NULL},
		{"apply", "set the routes in a routed lab, and run every flow at its predicted rate",
		 command_dataflow_apply, NULL},
		{"run", "run the jobs on a routed lab, with a process for each task", command_dataflow_run, NULL},
		{"openflow", "set the routes in OpenFlow 1.3 switches", command_dataflow_openflow, NULL},
		{"worker", "be one of these processes", command_dataflow_worker, NULL},
		{NULL, NULL, NULL, NULL},
	};

	return command_dispatch("nomora dataflow", "Place dataflow jobs and choose their routes.", commands, argc,
				argv);
}

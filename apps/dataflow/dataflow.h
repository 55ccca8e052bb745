/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of nomora dataflow. */
#ifndef APPS_DATAFLOW_H
#define APPS_DATAFLOW_H

#include <errno.h>

#include <lab/dataflow/settings.h>

#include "../command.h"

/* Simulates the jobs, placed by the engine that the settings name, and prints the result. Returns an exit code. */
int dataflow_run_simulation(const struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err);

/* Sets the plan's routes, runs its flows and prints predicted and measured rates. Returns 0 or -errno with err set. */
int dataflow_apply(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err);

/*
 * nomora dataflow run: runs the plan with real processes; prints a line each second and, at the end, the rates of the
 * sinks. Returns 0 or -errno with err set.
 */
int dataflow_run(const struct dataflow_settings *settings, struct dataflow *dataflow, struct dataflow_plan *plan,
		 struct error *err);
/*
 * Sets the plan's routes in OpenFlow switches, and keeps them there until a signal. Returns 0 or -errno with err set.
 */
int dataflow_set_openflow(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err);

/* Returns the exit code for an error of the libraries: COMMAND_NEGATIVE if there is no placement. */
static inline int dataflow_fail(const struct error *err)
{
	return err->code == ENOSPC || err->code == EHOSTUNREACH ? COMMAND_NEGATIVE : COMMAND_FAILED;
}

#endif

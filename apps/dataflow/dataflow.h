/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands of nomora dataflow share. */
#ifndef APPS_DATAFLOW_H
#define APPS_DATAFLOW_H

#include <lab/dataflow/settings.h>
#include <sched/dataflow/plan.h>

#include "../commands.h"

/* The work of a subcommand on the loaded scenario. Returns as a command_body does. */
typedef int dataflow_body(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err);

/*
 * Parses the command line, of which the operand after the usage's operands_minimum is the file with the jobs; loads the
 * scenario, of the network of `lab` if this is not NULL, and the latencies; runs the body. Returns the exit code.
 */
int dataflow_command(const struct option_usage *usage, const char *lab, dataflow_body *body, int argc, char **argv);

/* Places the jobs. Returns NULL with err set on failure. */
struct dataflow_plan *dataflow_make_plan(const struct dataflow_settings *settings, struct dataflow *dataflow,
					 const char *engine, int64_t random_runs, struct error *err);

/* The name of the engine that the settings select. */
const char *dataflow_engine(const struct dataflow_settings *settings);

/* Prints the plan as text or JSON. */
int dataflow_print_plan(const struct dataflow_settings *settings, const struct dataflow_plan *plan,
			const struct dataflow_advice *advice, double bound_MBps);

/* Returns the exit code for an error of the libraries: COMMAND_NEGATIVE if there is no placement. */
int dataflow_fail(const struct error *err);

#endif

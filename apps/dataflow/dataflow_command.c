/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands of nomora dataflow share: reading the settings and the jobs, and planning. */
#include "dataflow.h"

#include <errno.h>
#include <string.h>

#include <base/program.h>
#include <plot/chart.h>

struct call {
	struct dataflow_settings settings; /* first: the option rows have the offsets of its fields */
	const struct option_usage *usage;
	dataflow_body *body;
};

const char *dataflow_engine(const struct dataflow_settings *settings)
{
	return engine_name((size_t)settings->engine);
}

int dataflow_fail(const struct error *err)
{
	return err->code == ENOSPC || err->code == EHOSTUNREACH ? COMMAND_NEGATIVE : COMMAND_FAILED;
}

struct dataflow_plan *dataflow_make_plan(const struct dataflow_settings *settings, struct dataflow *dataflow,
					 const char *engine, int64_t random_runs, struct error *err)
{
	struct engine_options options = dataflow_engine_options(settings);
	struct topology_paths_options paths = dataflow_paths_options(settings);
	struct dataflow_plan *plan =
		dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, (uint32_t)random_runs, err);

	/*
	 * The scenario's reader does not check whether the rates of a cycle have a solution; planning finds out. The
	 * scenario is then wrong, so the message begins with its file.
	 */
	if (!plan && err->code == EINVAL && settings->file)
		error_prefix(err, "%s", settings->file);
	return plan;
}

static int load_and_run(struct call *call, struct error *err)
{
	struct dataflow_settings *settings = &call->settings;
	struct dataflow *dataflow = dataflow_load(settings, err);
	int code = COMMAND_FAILED;

	if (!dataflow)
		return strncmp(err->text, "--", 2) == 0 ? COMMAND_USAGE : dataflow_fail(err);
	if (settings->latency_file)
		settings->latency = dataflow_open_latency(settings, dataflow, err);
	if (!settings->latency_file || settings->latency)
		code = call->body(settings, dataflow, err);
	dataflow_latency_close(settings->latency);
	dataflow_destroy(dataflow);
	return code;
}

static int check(const struct dataflow_settings *settings, struct error *err)
{
	const char *picture = settings->plot ? settings->plot : settings->throughput; /* no subcommand has both */

	if (!settings->file == !settings->generate || (settings->from != DATAFLOW_SCENARIO && !settings->file))
		return error_set(err, EINVAL, "expected either FILE, whose format is --from, or --generate");
	if (settings->rates && settings->from != DATAFLOW_FLINK)
		return error_set(err, EINVAL, "--rates is for --from flink");
	if (picture && chart_check_name(picture, err) != 0)
		return -EINVAL;
	if (settings->routes == DATAFLOW_PORTS && settings->faults.count > 0)
		return error_set(err, EINVAL, "--routes ports cannot move a flow to another route: leave out --fail");
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct call *call = context;
	struct dataflow_settings *settings = &call->settings;
	int before = call->usage->operands_minimum;

	if (!settings->curves)
		settings->curves = program_curves();
	settings->openflow = before > 0 ? operands->items[0] : NULL;
	settings->file = operands->count > before ? operands->items[before] : NULL;
	return check(settings, err) < 0 ? COMMAND_USAGE : load_and_run(call, err);
}

int dataflow_command(const struct option_usage *usage, const char *lab, dataflow_body *body, int argc, char **argv)
{
	struct call call = {.usage = usage, .body = body};

	dataflow_settings_default(&call.settings);
	call.settings.lab = lab;
	return command_run(usage, argc, argv, &call, run);
}

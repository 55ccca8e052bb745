/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow openflow: sets the routes of the plan in OpenFlow switches. */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>

#include <base/ns.h>
#include <base/number.h>
#include <base/stop.h>
#include <lab/openflow/switches.h>

#include "dataflow.h"

static void tell(void *context, const struct openflow_done *done, const struct error *failure)
{
	(void)context;
	if (done && done->lost_by)
		fprintf(stderr, "switch '%s' had lost %u flow%s: set again\n", done->lost_by, done->flows,
			number_s(done->flows));
	else if (done)
		fprintf(stderr, "%u flow%s in %u switch%s confirmed in %.1f ms\n", done->flows, number_s(done->flows),
			done->switches, done->switches == 1 ? "" : "es", done->ms);
	else
		fprintf(stderr, "%s: trying again\n", failure->text);
}

static int set_routes(const struct dataflow_settings *settings, struct openflow_fabric *fabric,
		      struct dataflow_plan *plan, struct error *err)
{
	int code = settings->keep ? 0 : openflow_set_routes(plan->network, fabric, err);

	if (code < 0)
		return code;
	code = dataflow_print_plan(settings, plan, NULL, NAN);
	if (code != COMMAND_OK || !settings->keep)
		return code;
	stop_catch_signals();
	fabric->stop = stop_flag();
	return openflow_keep_routes(plan->network, fabric, err);
}

static int body(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	struct openflow_fabric fabric = {.folder = settings->openflow,
					 .generation = (uint32_t)(ns_now_wall().v / NS_PER_MS),
					 .timeout_ms = (int)settings->timeout_ms,
					 .event = tell};
	struct dataflow_plan *plan;
	struct in_addr first;
	int code;

	if (inet_pton(AF_INET, settings->first_address, &first) != 1)
		return command_misused(err, "first-address: found '%s', expected an IPv4 address",
				       settings->first_address);
	fabric.first = ntohl(first.s_addr);
	plan = dataflow_make_plan(settings, dataflow, dataflow_engine(settings), 0, err);
	code = plan ? set_routes(settings, &fabric, plan, err) : dataflow_fail(err);
	dataflow_plan_destroy(plan);
	return code;
}

int command_dataflow_openflow(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora dataflow openflow",
		.operands = "DIR [FILE]",
		.summary = "Set the routes of a plan in the OpenFlow 1.3 switches with the sockets DIR/NAME.mgmt.",
		.rows = dataflow_openflow_rows,
		.operands_minimum = 1,
		.operands_maximum = 2,
	};

	return dataflow_command(&usage, NULL, body, argc, argv);
}

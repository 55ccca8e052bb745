/* SPDX-License-Identifier: BSD-3-Clause */
/* --openflow: sets the plan's routes in OpenFlow switches. */
#include <arpa/inet.h>
#include <errno.h>
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

int dataflow_set_openflow(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err)
{
	struct openflow_fabric fabric = {.folder = settings->openflow,
					 .generation = (uint32_t)(ns_now_wall().v / NS_PER_MS),
					 .timeout_ms = (int)settings->openflow_timeout_ms,
					 .event = tell};
	struct in_addr first;

	if (inet_pton(AF_INET, settings->first_address, &first) != 1)
		return error_set(err, EINVAL, "first-address: found '%s', expected an IPv4 address",
				 settings->first_address);
	fabric.first = ntohl(first.s_addr);
	if (!settings->openflow_keep)
		return openflow_set_routes(plan->network, &fabric, err);
	stop_catch_signals();
	fabric.stop = stop_flag();
	return openflow_keep_routes(plan->network, &fabric, err);
}

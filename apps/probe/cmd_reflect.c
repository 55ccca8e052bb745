/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora reflect: answers STAMP probes on a port. */
#include "command_station.h"

static const struct option_row rows[] = {
	STATION_PORT_ROWS,
	STATION_TWAMP_ROW("also serve TWAMP-Control (RFC 5357, open mode) on TCP port 862 of --address"),
	STATION_QUEUE_ROWS,
	OPTION_END,
};

static const char teach[] =
	"A stateful STAMP session-reflector (RFC 8762, RFC 8972): each answer carries when the probe came\n"
	"(t2), when the answer left (t3) and its own number in the session. Works with any STAMP sender.\n"
	"\n"
	"  ip netns exec lab0-h2 nomora reflect eth0 --address 10.77.1.102\n"
	"\n"
	"A host that probes as well runs 'nomora probe --reflect' instead: one process has the port.\n";

int command_reflect(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora reflect",
		.operands = "PORT --address IP",
		.summary = "Answer STAMP probes on a port.",
		.teach = teach,
		.rows = rows,
	};
	struct station_settings settings = station_defaults;

	settings.duration_s = 0;
	settings.reflect = true;
	settings.linger_ms = 0;
	return command_station(&usage, argc, argv, &settings, STATION_NEEDS_NOTHING);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh agent: measures one host's part of the live mesh until a signal ends it. */
#include "command_station.h"

#include <model/latency_live.h>

static const struct option_row rows[] = {
	OPTION_HEADING("Mesh"),
	OPTION_STRING(struct station_settings, peers_path, "peers", 'p', "FILE",
		      "lines 'name address [mac] [rack]' (required); read again when it changes"),
	OPTION_STRING(struct station_settings, live_path, "live", 'l', "FILE",
		      "the live matrix, shared by all agents of this machine (required); created if it is missing"),
	OPTION_DOUBLE(struct station_settings, window_s, "window", 'w', "S", 0.1, 3600,
		      "time that a row's figures cover"),
	ROWS_LIVE_CAPACITY(struct station_settings, live_hosts, live_racks, live_pairs),
	OPTION_STRING(struct station_settings, name, "name", 'n', "NAME",
		      "our name in the matrix; default: the peers file's name for our address"),
	MESH_RECORDER_ROWS(struct station_settings, history),
	OPTION_HEADING("How"),
	STATION_SESSION_ROWS,
	STATION_PACKET_ROWS,
	OPTION_HEADING("Port and run"),
	STATION_PORT_ROWS,
	OPTION_END,
};

static const char teach[] =
	"Probes the peers of a file and answers their probes until SIGINT or SIGTERM. After each window a peer's\n"
	"figures are in the live matrix, a file in shared memory that 'nomora mesh top', 'nomora mesh serve',\n"
	"'nomora place --latency' and other commands read while it is written:\n"
	"\n"
	"  nomora mesh agent eth0 --address 10.77.1.101 --peers peers.txt --live /dev/shm/mesh\n"
	"  nomora mesh top /dev/shm/mesh\n";

int command_mesh_agent(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh agent",
		.operands = "PORT --address IP --peers FILE --live FILE",
		.summary = "Measure the mesh continuously into a live matrix.",
		.teach = teach,
		.rows = rows,
	};
	struct station_settings settings = station_defaults;

	settings.history = mesh_recorder_defaults;
	settings.duration_s = 0;
	settings.reflect = true;
	return command_station(&usage, argc, argv, &settings, STATION_NEEDS_PEERS_AND_LIVE);
}

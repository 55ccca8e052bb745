/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora probe: measures round trips to the peers of a list. */
#include "command_station.h"

static const struct option_row rows[] = {
	OPTION_HEADING("Who"),
	OPTION_STRING(struct station_settings, peers_path, "peers", 'p', "FILE",
		      "lines 'name address [mac] [rack]' (required); our own is left out"),
	OPTION_STRING(struct station_settings, name, "name", 'n', "NAME",
		      "our name in the row; default: the peers file's name for our address"),
	OPTION_FLAG(struct station_settings, reflect, "reflect", 'r', "also answer the others' probes"),
	OPTION_HEADING("How"),
	STATION_SESSION_ROWS,
	OPTION_INTEGER(struct station_settings, count, "count", 'c', "N", 0, 1e12, "probes to each peer; 0 = no limit"),
	OPTION_DOUBLE(struct station_settings, wait_s, "wait", 'w', "S", 0, 1e5,
		      "begin when every peer has answered once, at the latest after this time"),
	OPTION_DOUBLE(struct station_settings, linger_ms, "linger-ms", 0, "MS", 0, 1e6,
		      "with --reflect: at the end, go on answering until no probe has arrived for this time (at most "
		      "--wait)"),
	OPTION_STRING(struct station_settings, slot, "slot", 0, "I/N",
		      "probe only in the I-th of N turns of a second each, by the wall clock, so that probers on one "
		      "machine disturb each other less"),
	STATION_PACKET_ROWS,
	STATION_TWAMP_ROW("request a session from the TWAMP server (TCP port 862) of each peer first"),
	OPTION_HEADING("Port and run"),
	STATION_PORT_ROWS,
	STATION_QUEUE_ROWS,
	OPTION_HEADING("Results"),
	OPTION_STRING(struct station_settings, row_path, "output", 'o', "FILE", "our row of the latency matrix (CSV)"),
	OPTION_STRING(struct station_settings, samples_path, "samples", 0, "FILE",
		      "every round trip, with its path (CSV)"),
	OPTION_END,
};

static const char teach[] =
	"PORT is a Linux interface (veth0), a DPDK device (0000:03:00.0) or a virtual one\n"
	"(net_af_packet0,iface=veth0). Words after '--' go to DPDK's EAL.\n"
	"\n"
	"A round trip is t4 - t1, less the peer's own time t3 - t2 (STAMP, RFC 8762). Every host of a\n"
	"mesh runs one process that probes and answers:\n"
	"\n"
	"  ip netns exec lab0-h1 nomora probe eth0 --address 10.77.1.101 --peers peers.txt \\\n"
	"      --reflect --interval-us 10000 --duration 10 -o h1.csv\n"
	"  nomora mesh merge h1.csv h2.csv ... -o latency.csv\n"
	"\n"
	"Exit code 3: there are peers that never answered.\n";

int command_probe(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora probe",
		.operands = "PORT --address IP --peers FILE",
		.summary = "Measure round trips to the peers of a list with STAMP probes.",
		.teach = teach,
		.rows = rows,
	};
	struct station_settings settings = station_defaults;

	return command_station(&usage, argc, argv, &settings, STATION_NEEDS_PEERS);
}

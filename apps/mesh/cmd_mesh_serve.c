/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh serve: serves a live matrix as web pages and metrics. */
#include "commands.h"

#include <stdio.h>

#include <base/stop.h>
#include <model/latency_live.h>
#include <probe/serve/pages.h>

struct serve_settings {
	const char *address;
	int64_t port;
	int statistic;
	double max_age_s;
	struct mesh_recorder_options history;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct serve_settings, address, "listen", 0, "IP", "IPv4 address to listen on"),
	OPTION_INTEGER(struct serve_settings, port, "port", 'p', "PORT", 0, 65535,
		       "0 = any free port, which is printed"),
	OPTION_CHOICE(struct serve_settings, statistic, "stat", 's', "WHICH", latency_rtt_statistic_names,
		      "figure that determines colours and ranking"),
	ROW_MAX_AGE(struct serve_settings, max_age_s),
	MESH_RECORDER_ROWS(struct serve_settings, history),
	OPTION_END,
};

static const char teach[] =
	"/ is a heat map of the racks and the worst pairs, /racks?from=A&to=B lists the pairs between two racks,\n"
	"/metrics is OpenMetrics text for Prometheus. Runs until SIGINT or SIGTERM.\n"
	"\n"
	"  nomora mesh serve /dev/shm/mesh --port 8862\n"
	"  curl -s localhost:8862/metrics\n";

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct serve_settings *settings = context;
	struct mesh_pages_daemon daemon = {.live_path = operands->items[0],
					   .address = settings->address,
					   .port = (uint16_t)settings->port,
					   .statistic = (enum latency_statistic)settings->statistic,
					   .max_age = ns_from_us(settings->max_age_s * 1e6),
					   .history = settings->history};

	stop_catch_signals();
	return mesh_pages_run(&daemon, stop_flag(), stdout, err);
}

int command_mesh_serve(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora mesh serve",
		.operands = "LIVE",
		.summary = "Serve a live matrix as web pages and metrics.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct serve_settings settings = {.address = "127.0.0.1",
					  .port = 8862,
					  .statistic = LATENCY_STATISTIC_P99,
					  .max_age_s = 60,
					  .history = mesh_recorder_defaults};

	return command_run(&usage, argc, argv, &settings, run);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora mesh serve: a live matrix as web pages and metrics. */
#include "commands.h"
#include "../rows.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include <base/stop.h>
#include <probe/serve/pages.h>
#include <probe/store/recorder.h>

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
		      "the figure that colours and ranks"),
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

static int run(const char *path, const struct serve_settings *settings, struct error *err)
{
	struct latency_matrix *live = latency_live_map(path, err);
	struct mesh_pages pages = {live, (enum latency_statistic)settings->statistic,
				   ns_from_us(settings->max_age_s * 1e6), settings->history.store_path};
	struct serve_options options = {.address = settings->address,
					.port = (uint16_t)settings->port,
					.routes = mesh_pages_routes,
					.context = &pages};
	struct serve *serve = live ? serve_create(&options, err) : NULL;
	struct mesh_recorder *recorder = NULL;
	int code = serve ? 0 : -err->code;

	if (serve && settings->history.store_path) {
		struct mesh_recorder_options record = settings->history;

		record.live_path = path;
		recorder = mesh_recorder_start(&record, err);
		code = recorder ? 0 : error_code(err, EIO);
	}
	if (!code) {
		printf("http://%s:%u/\n", settings->address, serve_port(serve));
		code = command_flush(err);
		while (!code && !*stop_flag()) {
			struct pollfd readable = {serve_fd(serve), POLLIN, 0};

			poll(&readable, 1, serve_timeout_ms(serve));
			serve_run(serve);
		}
	}
	mesh_recorder_stop(recorder);
	serve_destroy(serve);
	latency_matrix_destroy(live);
	return code;
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
	struct serve_settings settings = {
		.address = "127.0.0.1", .port = 8862, .max_age_s = 60, .history = mesh_recorder_defaults};
	struct option_operands operands;
	struct error err = {0};
	int code;

	settings.statistic = LATENCY_STATISTIC_P99;
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code >= 0)
		return code;
	stop_catch_signals();
	code = run(operands.items[0], &settings, &err) ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	options_free(&operands);
	return code;
}

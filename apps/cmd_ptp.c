/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora ptp: the delay to a PTP clock, and our clock's offset from it. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <base/json.h>
#include <base/stop.h>
#include <probe/ptp/measure.h>

struct ptp_settings {
	bool peer_delay, e2e, l2, udp4, udp6, json;
	int64_t count, domain;
	double interval_ms, timeout_ms;
};

static const struct option_row rows[] = {
	OPTION_FLAG(struct ptp_settings, peer_delay, "peer-delay", 'p',
		    "ask the neighbour on the link (default); it may be master or not"),
	OPTION_FLAG(struct ptp_settings, e2e, "e2e", 'e',
		    "delay request and response with the master, between its Syncs"),
	OPTION_FLAG(struct ptp_settings, l2, "l2", '2', "over Ethernet (default)"),
	OPTION_FLAG(struct ptp_settings, udp4, "udp4", '4', "over UDP and IPv4"),
	OPTION_FLAG(struct ptp_settings, udp6, "udp6", '6', "over UDP and IPv6"),
	OPTION_INTEGER(struct ptp_settings, count, "count", 'c', "N", 1, 1000000, "requests"),
	OPTION_DOUBLE(struct ptp_settings, interval_ms, "interval-ms", 'i', "MS", 0, 3600000, "between requests"),
	OPTION_DOUBLE(struct ptp_settings, timeout_ms, "timeout-ms", 't', "MS", 1, 3600000,
		      "a request without an answer by then has none"),
	OPTION_INTEGER(struct ptp_settings, domain, "domain", 'd', "N", 0, 255, "PTP domain"),
	OPTION_FLAG(struct ptp_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora ptp",
	.operands = "INTERFACE",
	.summary = "Measure the delay to a PTP clock (IEEE 1588-2008, two-step) with the kernel's time stamps.",
	.teach = "No clock is adjusted.\n"
		 "  nomora ptp eth0 --peer-delay --l2 --count 100\n"
		 "  nomora ptp eth0 --e2e --udp4 --json\n"
		 "Exit code 3: nobody answered.",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
};

static const char *const quantity_names[PTP_QUANTITIES] = {"delay_us", "offset_us", "out_us", "back_us"};
static const char *const quantity_titles[PTP_QUANTITIES] = {"delay, one way", "our clock - theirs",
							    "to them, by both clocks", "from them, by both clocks"};

static void print_peer(const struct ptp_identity *peer, char text[32])
{
	const uint8_t *c = peer->clock;

	snprintf(text, 32, "%02x%02x%02x.%02x%02x.%02x%02x%02x-%u", c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7],
		 peer->port);
}

static int report_text(const struct ptp_result *result, struct error *err)
{
	char peer[32];

	print_peer(&result->peer, peer);
	printf("%" PRIu64 " requests, %zu samples, %" PRIu64 " without an answer\n", result->requests, result->count,
	       result->unanswered);
	if (result->count == 0)
		return 0;
	printf("clock %s\n%-28s %12s %12s %12s %12s\n", peer, "", "min us", "p50 us", "p99 us", "max us");
	for (int q = 0; q < PTP_QUANTITIES; q++) {
		struct ptp_figures figures;

		if (ptp_figures(result, (enum ptp_quantity)q, &figures))
			return error_set(err, ENOMEM, "out of memory");
		printf("%-28s %12.3f %12.3f %12.3f %12.3f\n", quantity_titles[q], figures.min_us, figures.p50_us,
		       figures.p99_us, figures.max_us);
	}
	return 0;
}

static int report_json(const struct ptp_result *result, struct error *err)
{
	char peer[32];
	json_t *root;
	int code;

	print_peer(&result->peer, peer);
	root = json_pack("{s:s,s:I,s:I,s:I,s:o}", "schema", "nomora.ptp/1", "requests", (json_int_t)result->requests,
			 "samples", (json_int_t)result->count, "unanswered", (json_int_t)result->unanswered, "clock",
			 result->count ? json_string(peer) : json_null());
	for (int q = 0; q < PTP_QUANTITIES; q++) {
		struct ptp_figures f = {0};

		if (result->count && ptp_figures(result, (enum ptp_quantity)q, &f)) {
			json_decref(root);
			return error_set(err, ENOMEM, "out of memory");
		}
		json_object_set_new(root, quantity_names[q],
				    result->count ? json_pack("{s:f,s:f,s:f,s:f}", "min", f.min_us, "p50", f.p50_us,
							      "p99", f.p99_us, "max", f.max_us)
						  : json_null());
	}
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}

static int check_settings(const struct ptp_settings *settings, struct error *err)
{
	if (settings->peer_delay && settings->e2e)
		return error_set(err, EINVAL, "--peer-delay and --e2e are mutually exclusive");
	if (settings->l2 + settings->udp4 + settings->udp6 > 1)
		return error_set(err, EINVAL, "--l2, --udp4 and --udp6 are mutually exclusive");
	return 0;
}

int command_ptp(int argc, char **argv)
{
	struct ptp_settings settings = {.count = 10, .interval_ms = 100, .timeout_ms = 2000};
	struct option_operands operands;
	struct ptp_result result = {0};
	struct error err = {0};
	int code = command_parse(&usage, argc, argv, &settings, &operands);

	if (code >= 0)
		return code;
	if (check_settings(&settings, &err)) {
		options_free(&operands);
		return command_fail(&err, COMMAND_USAGE);
	}
	struct ptp_options options = {
		.interface = operands.items[0],
		.transport = settings.udp4   ? PTP_UDP4
			     : settings.udp6 ? PTP_UDP6
					     : PTP_L2,
		.mechanism = settings.e2e ? PTP_E2E : PTP_PEER_DELAY,
		.domain = (uint8_t)settings.domain,
		.count = (uint64_t)settings.count,
		.interval = ns_from_us(settings.interval_ms * 1e3),
		.timeout = ns_from_us(settings.timeout_ms * 1e3),
	};

	stop_catch_signals();
	if (ptp_measure(&options, &result, stop_flag(), &err) ||
	    (settings.json ? report_json(&result, &err) : report_text(&result, &err)))
		code = command_fail(&err, COMMAND_FAILED);
	else
		code = result.count ? COMMAND_OK : COMMAND_NEGATIVE;
	ptp_result_free(&result);
	options_free(&operands);
	return code;
}

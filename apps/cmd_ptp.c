/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora ptp: measures the delay to a PTP clock and our clock's offset from it. */
#include "cmd_ptp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/stop.h>
#include <probe/ptp/measure.h>

struct ptp_settings {
	bool peer_delay, e2e, l2, udp4, udp6, dpdk, json;
	int64_t count, domain;
	double interval_ms, timeout_ms;
	ptp_measurer *by_port;
	char **words; /* copy of argv for nomora-probe, since getopt reorders argv */
};

static const struct option_row rows[] = {
	OPTION_FLAG(struct ptp_settings, peer_delay, "peer-delay", 'p',
		    "measure the peer delay to the neighbour on the link (default), master or not"),
	OPTION_FLAG(struct ptp_settings, e2e, "e2e", 'e', "send delay requests to the master, between its Syncs"),
	OPTION_FLAG(struct ptp_settings, l2, "l2", '2', "over Ethernet (default)"),
	OPTION_FLAG(struct ptp_settings, udp4, "udp4", '4', "over UDP and IPv4"),
	OPTION_FLAG(struct ptp_settings, udp6, "udp6", '6', "over UDP and IPv6"),
	OPTION_FLAG(struct ptp_settings, dpdk, "dpdk", 'D',
		    "through a DPDK port, with the stamps of its NIC where it has a PTP clock"),
	OPTION_INTEGER(struct ptp_settings, count, "count", 'c', "N", 1, 1000000, "requests"),
	OPTION_DOUBLE(struct ptp_settings, interval_ms, "interval-ms", 'i', "MS", 0, 3600000, "time between requests"),
	OPTION_DOUBLE(struct ptp_settings, timeout_ms, "timeout-ms", 't', "MS", 1, 3600000,
		      "how long to wait for an answer"),
	OPTION_INTEGER(struct ptp_settings, domain, "domain", 'd', "N", 0, 255, "PTP domain"),
	OPTION_FLAG(struct ptp_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora ptp",
	.operands = "INTERFACE | --dpdk PORT [-- EAL...]",
	.summary = "Measure the delay to a PTP clock, and the offset of our clock from it.",
	.teach = "No clock is adjusted.\n"
		 "  nomora ptp eth0 --peer-delay --l2 --count 100\n"
		 "  nomora ptp eth0 --e2e --udp4 --json\n"
		 "  nomora ptp --dpdk 0000:03:00.0 --e2e\n"
		 "Exit code 3: nobody answered.",
	.rows = rows,
	.operands_minimum = 1,
	.operands_maximum = 1,
	.takes_rest = true,
};

static int check_settings(const struct ptp_settings *settings, int rest_count, struct error *err)
{
	if (settings->peer_delay && settings->e2e)
		return error_set(err, EINVAL, "--peer-delay and --e2e are mutually exclusive");
	if (settings->l2 + settings->udp4 + settings->udp6 > 1)
		return error_set(err, EINVAL, "--l2, --udp4 and --udp6 are mutually exclusive");
	if (settings->dpdk && (settings->udp4 || settings->udp6))
		return error_set(err, EINVAL, "--dpdk sends over Ethernet; it excludes --udp4 and --udp6");
	if (!settings->dpdk && rest_count)
		return error_set(err, EINVAL, "arguments after '--' are for EAL and need --dpdk");
	return 0;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct ptp_settings *settings = context;
	struct ptp_options options = {
		.interface = operands->items[0],
		.transport = settings->udp4   ? PTP_UDP4
			     : settings->udp6 ? PTP_UDP6
					      : PTP_L2,
		.mechanism = settings->e2e ? PTP_E2E : PTP_PEER_DELAY,
		.domain = (uint8_t)settings->domain,
		.count = (uint64_t)settings->count,
		.interval = ns_from_us(settings->interval_ms * 1e3),
		.timeout = ns_from_us(settings->timeout_ms * 1e3),
	};
	struct ptp_result result = {0};
	int code;

	if (check_settings(settings, operands->rest_count, err))
		return COMMAND_USAGE;
	if (settings->dpdk && !settings->by_port)
		return command_exec("nomora-probe", settings->words);
	stop_catch_signals();
	code = settings->dpdk ? settings->by_port(&options, operands, &result, stop_flag(), err)
			      : ptp_measure_interface(&options, &result, stop_flag(), err);
	if (!code)
		code = settings->json ? ptp_result_write_json(&result, "-", err)
				      : ptp_result_print(&result, stdout, err);
	if (!code && !result.by[PTP_SOFTWARE].count)
		code = COMMAND_NEGATIVE;
	ptp_result_free(&result);
	return code;
}

int command_ptp_by(int argc, char **argv, ptp_measurer *by_port)
{
	struct ptp_settings settings = {.count = 10, .interval_ms = 100, .timeout_ms = 2000, .by_port = by_port};
	int code;

	settings.words = calloc((size_t)argc + 2, sizeof *settings.words);
	if (!settings.words) {
		struct error err = {0};

		error_set(&err, ENOMEM, "out of memory");
		return command_fail(&err, COMMAND_FAILED);
	}
	settings.words[0] = argv[0];
	memcpy(settings.words + 1, argv, (size_t)argc * sizeof *argv);
	code = command_run(&usage, argc, argv, &settings, run);
	free(settings.words);
	return code;
}

int command_ptp(int argc, char **argv)
{
	return command_ptp_by(argc, argv, NULL);
}

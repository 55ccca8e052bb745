/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora rtt: computes round trips of STAMP probes, ICMP echo, TCP and PTP from a capture. */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>

#include <base/log.h>
#include <base/progress.h>
#include <probe/rtt/capture.h>
#include <probe/rtt/stamp.h>

struct rtt_settings {
	const char *peers, *samples, *compare, *protocols;
	int64_t udp_port;
	bool gross, json;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct rtt_settings, peers, "peers", 'p', "FILE", "names for the addresses: 'name address ...'"),
	OPTION_STRING(struct rtt_settings, samples, "samples", 's', "FILE", "every round trip (CSV)"),
	OPTION_STRING(
		struct rtt_settings, compare, "compare", 0, "SAMPLES",
		"file of 'nomora probe --samples': report the delay that the prober adds to the wire's round trips"),
	OPTION_STRING(struct rtt_settings, protocols, "protocols", 0, "NAME,...",
		      "packets to pair: stamp (default), icmp (echo), tcp (time stamps), ptp (PTPv2)"),
	OPTION_INTEGER(struct rtt_settings, udp_port, "udp-port", 0, "PORT", 1, 65535, "UDP port of the reflectors"),
	OPTION_FLAG(struct rtt_settings, gross, "gross", 0, "do not subtract the reflector's own time (t3 - t2)"),
	OPTION_FLAG(struct rtt_settings, json, "json", 'j', "print JSON"),
	OPTION_END,
};

static const char teach[] =
	"Capture where the probes pass, on an Ethernet interface or on 'any': best at a switch's mirror port or on\n"
	"the prober's own link. The path between the prober and that point is not part of the result.\n"
	"\n"
	"  tcpdump -i rack1 -w probes.pcap --time-stamp-precision=nano udp port 862\n"
	"  nomora rtt probes.pcap --peers peers.txt\n"
	"\n"
	"Packets that af_packet sends past the queueing layer are not seen by tcpdump on the sender's own\n"
	"interface: capture on the other end of the link.\n"
	"\n"
	"Exit code 3: the capture has no answered probe, or none of those in --compare's file.\n";

static int report(const struct rtt_pairs *pairs, const char *path, bool json)
{
	const struct capture_counters *counters = rtt_pairs_counters(pairs);
	int code = COMMAND_OK;

	if (counters->repeated)
		log_warning("%" PRIu64
			    " packets are in the capture twice (several interfaces?): only the first copy counts",
			    counters->repeated);
	if (json)
		code = command_print_json(rtt_pairs_to_json(pairs, path));
	else
		rtt_pairs_print(pairs, stdout);
	return code == COMMAND_OK && !counters->pairs ? COMMAND_NEGATIVE : code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	const struct rtt_settings *settings = context;
	struct rtt_pairs_settings how = {.peers = settings->peers,
					 .samples = settings->samples,
					 .compare = settings->compare,
					 .udp_port = (uint16_t)settings->udp_port,
					 .gross = settings->gross};
	struct rtt_pairs *pairs;
	int code;

	if (capture_read_protocols(settings->protocols, &how.protocols, err))
		return COMMAND_USAGE;
	how.progress = progress_create(stderr, "reading", 0);
	pairs = rtt_pairs_read(operands->items[0], &how, err);
	progress_destroy(how.progress);
	if (!pairs)
		return err->code == ENODATA ? COMMAND_NEGATIVE : COMMAND_FAILED;
	code = report(pairs, operands->items[0], settings->json);
	rtt_pairs_destroy(pairs);
	return code;
}

int command_rtt(int argc, char **argv)
{
	const struct option_usage usage = {
		.command = "nomora rtt",
		.operands = "FILE.pcap",
		.summary = "Compute round trips from a capture: STAMP, ICMP echo, TCP or PTP.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	struct rtt_settings settings = {.udp_port = STAMP_PORT};

	return command_run(&usage, argc, argv, &settings, run);
}

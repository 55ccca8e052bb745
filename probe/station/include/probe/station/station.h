/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the agent of a host for a command: reads the settings, opens the port, runs the agent and reports. Used by
 * `nomora probe`, `reflect` and `mesh agent`, which share the option rows. One thread; one station per process, because
 * EAL allows only one.
 */
#ifndef PROBE_STATION_STATION_H
#define PROBE_STATION_STATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>
#include <probe/agent/agent.h>
#include <probe/store/store.h>

struct station_settings {
	const char *address, *peers_path, *name, *gateway, *row_path, *samples_path, *slot, *allow, *live_path, *vlan,
		*keys_path, *tlvs, *member, *paths, *cpus, *capture_path;
	int64_t udp_port, count, seed, dscp, ecn, ttl, packet_bytes, mtu, session, probe_pps, source_pps, total_pps,
		live_hosts, live_racks, live_pairs, queues;
	double interval_us, timeout_ms, duration_s, wait_s, linger_ms, window_s, clock_error_us;
	int driver, poll, stamps, format;
	struct mesh_recorder_options history;
	bool reflect, twamp, may_fragment, stateless, poisson, json, quiet;
};

extern const struct station_settings station_defaults;
extern const char *const station_format_names[];

/* Rows of the options that all three commands have. */
#define STATION_PORT_ROWS                                                                                              \
	OPTION_STRING(struct station_settings, address, "address", 'a', "IP[/BITS]",                                   \
		      "our IPv4 or IPv6 address (required); peers outside of /BITS go to the gateway"),                \
		OPTION_STRING(struct station_settings, gateway, "gateway", 0, "IP",                                    \
			      "next hop for peers outside of the prefix of --address"),                                \
		OPTION_INTEGER(struct station_settings, udp_port, "udp-port", 0, "PORT", 1, 65535,                     \
			       "UDP port of the reflectors"),                                                          \
		OPTION_STRING(struct station_settings, vlan, "vlan", 0, "ID[,PRIORITY]",                               \
			      "802.1Q tag of all our frames; ID 0 = only a priority"),                                 \
		OPTION_STRING(struct station_settings, keys_path, "keys", 0, "FILE",                                   \
			      "authenticated mode: lines 'SSID KEY' (hexadecimal), readable only by the owner"),       \
		OPTION_STRING(                                                                                         \
			struct station_settings, member, "micro-session", 0, "ID[,PEER]",                              \
			"RFC 9534: ID is the LAG member link of the port, PEER that of the peers (else learned)"),     \
		OPTION_FLAG(struct station_settings, stateless, "stateless", 0,                                        \
			    "answers copy the request's sequence number instead of counting"),                         \
		OPTION_INTEGER(struct station_settings, mtu, "mtu", 0, "BYTES", 68, DP_MTU_MAXIMUM,                    \
			       "largest packet that the port carries"),                                                \
		OPTION_CHOICE(struct station_settings, driver, "driver", 0, "NAME", dp_port_driver_names,              \
			      "driver for a Linux interface; af_packet allows sleeping and kernel timestamps"),        \
		OPTION_CHOICE(struct station_settings, poll, "poll", 0, "HOW", agent_poll_names,                       \
			      "auto = adaptive (sleeps) on a Linux interface, busy (a core of its own) on a NIC"),     \
		OPTION_CHOICE(                                                                                         \
			struct station_settings, stamps, "stamps", 0, "WHOSE", agent_stamps_names,                     \
			"source of stamps: auto = the kernel on af_packet, else TSC; nic = the NIC, for arrivals"),    \
		OPTION_DOUBLE(struct station_settings, clock_error_us, "clock-error-us", 0, "US", 0, 1e9,              \
			      "our clock is synchronised to UTC with at most this error; 0 = the kernel's bound"),     \
		OPTION_CHOICE(struct station_settings, format, "format", 0, "FORM", station_format_names,              \
			      "format of time stamps in packets"),                                                     \
		OPTION_STRING(struct station_settings, allow, "allow", 0, "IP[/BITS],...",                             \
			      "answer only these sources (default: all); short TWAMP requests only if listed here"),   \
		OPTION_INTEGER(struct station_settings, source_pps, "limit-source", 0, "PPS", 0, 1e9,                  \
			       "maximum answers per second to one source; 0 = no limit"),                              \
		OPTION_INTEGER(struct station_settings, total_pps, "limit-total", 0, "PPS", 0, 1e9,                    \
			       "maximum answers per second to all sources; 0 = no limit"),                             \
		OPTION_DOUBLE(struct station_settings, duration_s, "duration", 'd', "S", 0, 1e7,                       \
			      "how long to run; 0 = until SIGINT or SIGTERM"),                                         \
		OPTION_FLAG(struct station_settings, json, "json", 0, "print the result as JSON on stdout"),           \
		OPTION_FLAG(struct station_settings, quiet, "quiet", 'q', "no progress bar, no log lines but errors")

/* Rows of the commands that end by themselves; these have no live matrix. */
#define STATION_QUEUE_ROWS                                                                                             \
	OPTION_INTEGER(struct station_settings, queues, "queues", 0, "N", 0, AGENT_QUEUES_MAXIMUM,                     \
		       "number of queues of the port, each on its own core; 0 = 1; an interface has only 1"),          \
		OPTION_STRING(struct station_settings, cpus, "cpus", 0, "LIST",                                        \
			      "cores for all queues but the first, such as 2,4-5; default: isolated, or else any"),    \
		OPTION_STRING(struct station_settings, capture_path, "capture", 0, "FILE",                             \
			      "write the STAMP packets sent and received, with their stamps (pcapng)")

/* Rows of the commands that send probes. */
#define STATION_SESSION_ROWS                                                                                           \
	OPTION_DOUBLE(struct station_settings, interval_us, "interval-us", 'i', "US", 1, 1e9,                          \
		      "time between two probes to one peer"),                                                          \
		OPTION_STRING(struct station_settings, paths, "paths", 0, "N|auto",                                    \
			      "UDP source ports to rotate through; auto = one for each equal-cost path, found by "     \
			      "probes whose TTL "                                                                      \
			      "expires on the way"),                                                                   \
		OPTION_DOUBLE(struct station_settings, timeout_ms, "timeout-ms", 0, "MS", 1, 1e5,                      \
			      "a probe without an answer after this time is lost"),                                    \
		OPTION_INTEGER(struct station_settings, seed, "seed", 0, "N", 0, 1e15,                                 \
			       "seed of source ports and session identifier; 0 = from the clock")
#define STATION_PACKET_ROWS                                                                                            \
	OPTION_INTEGER(struct station_settings, dscp, "dscp", 0, "N", 0, 63,                                           \
		       "DSCP of the probes and of their answers"),                                                     \
		OPTION_INTEGER(struct station_settings, ecn, "ecn", 0, "N", 0, 3, "ECN bits of the probes"),           \
		OPTION_INTEGER(struct station_settings, ttl, "ttl", 0, "N", 1, 255, "hop limit of the probes"),        \
		OPTION_FLAG(struct station_settings, may_fragment, "no-df", 0, "clear the \"don't fragment\" bit"),    \
		OPTION_INTEGER(struct station_settings, packet_bytes, "size", 0, "BYTES", 0, DP_MTU_MAXIMUM,           \
			       "IP length of the probes, up to the MTU; 0 = the smallest"),                            \
		OPTION_FLAG(struct station_settings, poisson, "poisson", 0,                                            \
			    "exponentially distributed intervals with the mean --interval-us"),                        \
		OPTION_STRING(struct station_settings, tlvs, "tlv", 0, "NAME,...",                                     \
			      "request location, timestamp, class, direct, follow-up, destination (RFC 8972, 9503)"),  \
		OPTION_INTEGER(struct station_settings, session, "ssid", 0, "N", 0, 65535,                             \
			       "session identifier; 0 = the first in --keys, or random"),                              \
		OPTION_INTEGER(struct station_settings, probe_pps, "limit-probes", 0, "PPS", 0, 1e9,                   \
			       "maximum probes per second to all peers; 0 = no limit")

/* A row of reflect and probe. */
#define STATION_TWAMP_ROW(help) OPTION_FLAG(struct station_settings, twamp, "twamp", 0, help)

enum station_outcome {
	STATION_DONE,
	STATION_SILENT_PEERS, /* done, but some peers never answered */
	STATION_BAD_OPTION,   /* err names the option */
	STATION_FAILED,
};

/*
 * Opens the port (the first operand), runs the agent until it is done or stop_flag() is set, writes the files named in
 * the settings and reports to `out` (JSON: to standard output). Operands after "--" go to EAL. `peers` may be NULL.
 */
enum station_outcome station_run(const struct station_settings *settings, const struct option_operands *operands,
				 const struct peers *peers, FILE *out, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes round trips from a capture file, to check the prober against the wire. The file is pcap or pcapng, with
 * microsecond or nanosecond stamps; its frames are Ethernet or "cooked", as captured on 'any'. STAMP requests and
 * answers are paired by addresses, source port, sequence number and the sender's stamp. The time between the two, less
 * the reflector's t3 - t2, is the round trip from the capture point. Keeps the last 2^18 to 2^19 requests, so that
 * memory is bounded on an endless pipe. One thread.
 */
#ifndef RTT_CAPTURE_H
#define RTT_CAPTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/address.h>
#include <base/error.h>
#include <base/ns.h>
#include <base/progress.h>
#include <probe/ptp/message.h>
#include <probe/rtt/frame.h>

/*
 * Protocols: STAMP and TWAMP; ICMP echo; TCP segments and their acknowledgements, by the timestamp option (RFC 7323);
 * PTPv2 over Ethernet and UDP. PTP's peer delay gives a round trip from the capture point to the peer, as STAMP does.
 * PTP's delay request-response gives the round trip to the master: its Sync and our Delay_Req are the event messages of
 * the two directions, see <probe/ptp/message.h>. The mean path delay is half of the round trip.
 */
enum capture_protocol { CAPTURE_STAMP, CAPTURE_ICMP, CAPTURE_TCP, CAPTURE_PTP, CAPTURE_PROTOCOLS };

extern const char *const capture_protocol_names[]; /* NULL-terminated */

/*
 * Reads a list such as "icmp,tcp" as bits 1 << capture_protocol; NULL = only STAMP. Returns 0, or -EINVAL with err set.
 */
int capture_read_protocols(const char *list, unsigned int *protocols, struct error *err);

/* One request and its answer. */
struct capture_sample {
	ip_address source, destination;                      /* 0 for PTP over Ethernet */
	struct ptp_identity source_clock, destination_clock; /* for PTP over Ethernet; else zero */
	enum capture_protocol protocol;
	uint16_t source_port; /* for ICMP: the identifier */
	uint32_t sequence;
	struct ns requested_at; /* capture stamp of the request */
	struct ns sent_at;      /* for STAMP: the sender's own stamp, by its clock; not defined for other protocols */
	struct ns gross;        /* from the request to the answer, as captured */
	struct ns residence; /* for STAMP: t3 - t2 as reported by the reflector; for PTP: the part of `gross` that does
				not belong to the round trip; for others: 0 */
};

struct capture_counters {
	uint64_t packets, requests, answers, pairs;
	uint64_t repeated;   /* requests or answers seen again, e.g. captured on two interfaces */
	uint64_t unanswered; /* requests without an answer or, for PTP, without the stamps that belong to it */
	uint64_t orphans;    /* answers without a captured request */
	uint64_t broken; /* packets that are cut short, have a wrong checksum or impossible stamps, or are not STAMP or
			    PTP */
};

/* Called for each pair, in the order of the answers. capture_read() stops at a negative result, and returns it. */
typedef int (*capture_visit)(void *context, const struct capture_sample *sample);

/*
 * Reads packets (probe/rtt/frame.h) and closes them; NULL: they could not be opened, as err says. `port`: UDP port of
 * the reflectors. protocols: bits 1 << capture_protocol. Returns 0, or -errno with err set if it is not a capture, has
 * another link type or ends in the middle of a packet.
 */
int capture_read(struct packets *packets, uint16_t port, unsigned int protocols, capture_visit visit, void *context,
		 struct capture_counters *counters, struct error *err);

/*
 * The round trips of a capture, by pair of hosts: reads them, prints their figures as text or as JSON (nomora.rtt/1),
 * and writes each round trip as a line of CSV. One thread.
 */

struct rtt_pairs_settings {
	const char *peers;   /* file with names for the addresses; NULL = none */
	const char *samples; /* CSV file to which every round trip is written; NULL = none */
	const char *compare; /* file with the samples of the captured prober (format: model/rtt_samples.h); NULL = none.
				The string must outlive the pairs */
	uint16_t udp_port;   /* of the reflectors */
	unsigned int protocols;    /* bits 1 << capture_protocol */
	bool gross;                /* do not subtract the reflector's own time (t3 - t2) */
	struct progress *progress; /* NULL is legal */
};

struct rtt_pairs;

/*
 * Reads the capture `path`. Returns NULL with err set on failure; ENODATA if no probe of the file `compare` is in the
 * capture. The settings may be freed after the call, except for the string `compare`. Free with rtt_pairs_destroy().
 */
struct rtt_pairs *rtt_pairs_read(const char *path, const struct rtt_pairs_settings *settings, struct error *err);
void rtt_pairs_destroy(struct rtt_pairs *pairs); /* NULL is legal */

const struct capture_counters *rtt_pairs_counters(const struct rtt_pairs *pairs);
void rtt_pairs_print(const struct rtt_pairs *pairs, FILE *out);
/* Returns nomora.rtt/1, or NULL if out of memory. `path`: as the user gave it. */
json_t *rtt_pairs_to_json(const struct rtt_pairs *pairs, const char *path);

#endif

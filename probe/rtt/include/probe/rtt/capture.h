/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips from a capture file (pcap or pcapng, micro- or nanosecond stamps, Ethernet or cooked, as of the interface
 * 'any'), to check the prober against the wire: STAMP requests and answers are paired by addresses, ports and sequence
 * number; the time between the two, less the reflector's own t3 - t2, is the round trip from the capture point. A
 * request is dropped after 2^18 more requests, so that memory is bounded on an endless pipe. One thread.
 */
#ifndef RTT_CAPTURE_H
#define RTT_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/error.h>
#include <base/ns.h>
#include <probe/ptp/message.h>

/*
 * Protocols: STAMP and TWAMP, ICMP echo, TCP segments and their acknowledgements by timestamp option (RFC 7323), PTPv2
 * over Ethernet and UDP. PTP's peer delay is a round trip like STAMP's, from the capture point to the peer. With delay
 * request-response it is that to the master: its Sync and our Delay_Req are one event message each way, see
 * <probe/ptp/exchange.h>. The mean path delay is half of either.
 */
enum capture_protocol { CAPTURE_STAMP, CAPTURE_ICMP, CAPTURE_TCP, CAPTURE_PTP, CAPTURE_PROTOCOLS };

extern const char *const capture_protocol_names[]; /* NULL-terminated */

/* "icmp,tcp" as bits 1 << capture_protocol; NULL = only STAMP. 0, or -EINVAL with err set. */
int capture_read_protocols(const char *list, unsigned int *protocols, struct error *err);

/* One pair. */
struct capture_sample {
	ip_address source, destination;                      /* of PTP over Ethernet 0 */
	struct ptp_identity source_clock, destination_clock; /* there; elsewhere zero */
	enum capture_protocol protocol;
	uint16_t source_port; /* of ICMP the identifier */
	uint32_t sequence;
	struct ns requested_at; /* capture stamp of the request */
	struct ns sent_at;      /* of STAMP: the asker's own stamp, by its clock; of other protocols without meaning */
	struct ns gross;        /* from request to answer, as captured */
	struct ns residence;    /* t3 - t2 as reported by the reflector; for PTP, the part of `gross` that is not round
				   trip; for others 0 */
};

struct capture_counters {
	uint64_t packets, requests, answers, pairs;
	uint64_t repeated;   /* a request or answer seen again, e.g. captured on two interfaces */
	uint64_t unanswered; /* requests without an answer, or of PTP without the stamps that belong to it */
	uint64_t orphans;    /* answers without a request */
	uint64_t broken;     /* cut short, wrong checksum, not STAMP or PTP, stamps that cannot be right */
};

/* Called for each pair, in the order of the answers; a negative return stops and is passed on. */
typedef int (*capture_visit)(void *context, const struct capture_sample *sample);

/*
 * Reads `path` ("-" = stdin). `port` is the UDP port of the reflectors; protocols has bits 1 << capture_protocol. 0 or
 * -errno with err set: no such file, not a capture, another link type, cut off in the middle of a packet.
 */
int capture_read(const char *path, uint16_t port, unsigned int protocols, capture_visit visit, void *context,
		 struct capture_counters *counters, struct error *err);

/* The same over a capture in memory, for the fuzz target; `name` is for messages. */
int capture_read_memory(const char *name, const void *bytes, size_t length, uint16_t port, unsigned int protocols,
			capture_visit visit, void *context, struct capture_counters *counters, struct error *err);

#endif

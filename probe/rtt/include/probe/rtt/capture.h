/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips from a capture file (pcap or pcapng, micro- or nanosecond stamps, Ethernet), to check the prober
 * against the wire: STAMP requests and answers are paired by addresses, ports and sequence number; the time between
 * the two, less the reflector's own t3 - t2, is the round trip from the capture point. One thread.
 */
#ifndef RTT_CAPTURE_H
#define RTT_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/error.h>
#include <base/ns.h>

/* One pair. */
struct capture_sample {
	ip_address source, destination;
	uint16_t source_port;
	uint32_t sequence;
	struct ns requested_at; /* capture stamp of the request */
	struct ns gross;        /* from request to answer, as captured */
	struct ns residence;    /* t3 - t2, as the reflector says */
};

struct capture_counters {
	uint64_t packets, requests, answers, pairs;
	uint64_t repeated;   /* a request or answer seen again, e.g. captured on two interfaces */
	uint64_t unanswered; /* requests without an answer */
	uint64_t orphans;    /* answers without a request */
	uint64_t broken;     /* cut short, wrong checksum, not STAMP */
};

/* Called for each pair, in the order of the answers; a negative return stops and is passed on. */
typedef int (*capture_visit)(void *context, const struct capture_sample *sample);

/*
 * Reads `path` ("-" = stdin). `port` is the UDP port of the reflectors. 0 or -errno with err set: no such file, not a
 * capture, not Ethernet, cut off in the middle of a packet.
 */
int capture_read(const char *path, uint16_t port, capture_visit visit, void *context, struct capture_counters *counters,
		 struct error *err);

/* The same over a capture in memory, for the fuzz target; `name` is for messages. */
int capture_read_memory(const char *name, const void *bytes, size_t length, uint16_t port, capture_visit visit,
			void *context, struct capture_counters *counters, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: numbers in packets, captures, and their comparison and replay. */
#ifndef RTT_RTT_PRIV_H
#define RTT_RTT_PRIV_H

#include <endian.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <base/error.h>
#include <model/rtt_samples.h>
#include <probe/rtt/capture.h>
#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

/* Numbers in network byte order, big-endian and unaligned. */

/* memcpy() compiles to one instruction; compilers do not always join single-byte stores. */
static inline void put16(uint8_t *out, uint16_t value)
{
	value = htobe16(value);
	memcpy(out, &value, sizeof value);
}

static inline void put32(uint8_t *out, uint32_t value)
{
	value = htobe32(value);
	memcpy(out, &value, sizeof value);
}

static inline uint16_t get16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof value);
	return be16toh(value);
}

static inline uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return be32toh(value);
}

/*
 * PTP in captures: pairs the newest request of each port with its answer, including the stamps of follow-ups. A port is
 * identified by its identity and domain. If there are too many ports to remember, all are forgotten. One thread.
 */

struct capture_ptp;

/* Returns NULL if out of memory. */
struct capture_ptp *capture_ptp_create(capture_visit visit, void *context, struct capture_counters *counters);
void capture_ptp_destroy(struct capture_ptp *ptp); /* NULL is legal */

/* True for a PTP frame: over Ethernet, or to one of PTP's UDP ports. */
bool capture_ptp_is(const struct frame *frame);
/* Processes a PTP frame that was captured at `at`. Returns 0, -ENOMEM, or a negative result of the visitor. */
int capture_ptp_take(struct capture_ptp *ptp, const struct frame *frame, struct ns at);

/*
 * Compares the round trips of a prober's samples with those in a capture of the same probes. The difference is the
 * delay that the prober adds. One thread.
 */

/* A probe that is in both files. */
struct compare_match {
	ip_address source, destination;
	double added_us; /* (t4 - t1) by the prober minus (answer - request) by the capture */
};

/* The percentiles are by nearest rank. */
struct compare_figures {
	uint64_t count;
	double min_us, p50_us, p99_us, max_us;
};

struct compare {
	const char *path; /* of the samples; NULL = no comparison */
	struct rtt_samples samples;
	struct compare_match *matches;
	size_t count, capacity;
	ip_address prober;
	struct compare_figures all;
};

/*
 * Reads the samples; borrows the path. Returns 0, or -errno with err set. Free with compare_free(). A zeroed struct
 * compares nothing.
 */
int compare_open(struct compare *compare, const char *path, struct error *err);
void compare_free(struct compare *compare);

/* Adds an exchange of the capture; `destination`: name of its destination, as in the samples. Returns 0 or -ENOMEM. */
int compare_take(struct compare *compare, const struct capture_sample *exchange, const char *destination);

/*
 * Call it after the last exchange. The capture may contain several probers with equal ports and sequence numbers: the
 * prober with the most probes in common with the samples is taken, and the matches of the others are dropped. Returns
 * 0; -ENODATA with err set if no probe is in both files; or -ENOMEM.
 */
int compare_finish(struct compare *compare, struct error *err);

/* Returns the number of samples that have no exchange in the capture. */
uint64_t compare_not_captured(const struct compare *compare);

/*
 * Returns the figures of one pair of hosts. Their count is 0 if `source` is not the prober, or if no probe of the pair
 * is in both files.
 */
struct compare_figures compare_pair(const struct compare *compare, ip_address source, ip_address destination);

/* {"probes", "min", "p50", "p99", "max"}, or null if there are no probes. */
json_t *compare_figures_json(const struct compare_figures *figures);

/*
 * Which authentic requests were received before. The HMAC covers neither address nor port, so a replayed request may
 * come from anywhere: the memory holds the newest requests of all sessions, by their HMACs, which cover SSID, sequence
 * number and timestamp. The window refuses older ones in their own session.
 */

enum { REPLAY_SETS = 4096, REPLAY_WAYS = 16 };

/* The first 8 bytes of each HMAC, in one of REPLAY_SETS sets, the newest first. */
struct replay_memory {
	uint64_t tags[REPLAY_SETS][REPLAY_WAYS];
};

/* The newest 64 sequence numbers received in an authenticated session, as in RFC 4303 section 3.4.3. */
struct replay_window {
	uint64_t seen; /* bit i: number `highest` - i was received; 0 = none yet */
	uint32_t highest;
	int64_t newest_ns; /* latest t1 of a request in this session, authenticated or not */
};

/* Returns true if the request, an authentic one, is in the memory; else adds it. */
bool replay_is_known(struct replay_memory *memory, const uint8_t *request);

/*
 * Returns true if a request is older than those of its session. A restarted sender counts from 0 again, but its stamps
 * are later than before. A sender whose clock was set back goes on with higher numbers.
 */
bool replay_is_old(struct replay_window *window, const struct stamp_request *request);

#endif

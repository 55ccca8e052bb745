/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which authentic requests were received before. The HMAC covers neither address nor port, so a replayed request may
 * come from anywhere: the memory holds the newest requests of all sessions, by their HMACs, which cover SSID, sequence
 * number and timestamp. The window refuses older ones in their own session.
 */
#ifndef RTT_REPLAY_PRIV_H
#define RTT_REPLAY_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include <probe/rtt/stamp.h>

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

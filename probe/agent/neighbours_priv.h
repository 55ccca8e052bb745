/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MAC addresses of the next hops. They are given, or learned by ARP (RFC 826) or neighbour discovery (RFC 4861);
 * learned ones are queried again from time to time, because a host may be replaced. No I/O. One thread.
 */
#ifndef PROBE_NEIGHBOURS_PRIV_H
#define PROBE_NEIGHBOURS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/event_queue.h>
#include <base/hash_table.h>
#include <base/ns.h>
#include <probe/rtt/frame.h>

struct neighbour {
	ip_address address;
	uint32_t users;    /* peers with this next hop; 0 = the entry is free */
	bool known, fixed; /* fixed: the MAC is from the peers file, frames do not change it */
	uint8_t mac[FRAME_MAC_BYTES];
	struct ns ask_at; /* monotonic time of the next query */
	struct ns backoff;
	uint32_t use; /* number of times that this entry was assigned: pending queries with a lower value are ignored */
	uint32_t next_free; /* in a free entry: index + 1 of the next free one, 0 = none */
};

struct neighbours {
	size_t count, capacity;
	struct neighbour *items;
	uint32_t first_free; /* index + 1 of the first free entry; 0 = none */
	struct hash_table by_address;
	struct event_queue questions; /* pending queries: subject = index in items[], detail = `use` of the entry */
};

/*
 * Counts one more peer that uses this next hop, which is added if it is new. mac: MAC of the next hop; NULL = to be
 * resolved. Returns the index of the next hop, or -ENOMEM.
 */
int64_t neighbours_add(struct neighbours *neighbours, ip_address address, const uint8_t *mac);
void neighbours_drop(struct neighbours *neighbours, size_t index);
/* Learns the sender's MAC from an ARP or ND frame, query or answer, if the sender is one of these neighbours. */
void neighbours_learn(struct neighbours *neighbours, const struct frame *frame, struct ns now);
/*
 * Returns a neighbour whose query is due, or NULL if there is none. Also schedules the following query to this
 * neighbour: in 30 s if its MAC is known; otherwise in 50 ms at first, then in twice the previous time, up to 1 s.
 */
const struct neighbour *neighbours_ask(struct neighbours *neighbours, struct ns now);
void neighbours_free(struct neighbours *neighbours);

#endif

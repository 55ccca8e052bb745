/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MACs of the next hops: given, or learned by ARP (RFC 826) or neighbour discovery (RFC 4861) and asked for again from
 * time to time, as a host may be replaced. No I/O. One thread.
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
	uint32_t users;    /* peers with this next hop; 0 = free */
	bool known, fixed; /* fixed: from the peers file, no frame changes it */
	uint8_t mac[FRAME_MAC_BYTES];
	struct ns ask_at; /* monotonic: when to ask (again) */
	struct ns backoff;
	uint32_t use;       /* number of times that the index was assigned: questions of earlier uses are void */
	uint32_t next_free; /* of a free one: index + 1 of another, 0 = none */
};

struct neighbours {
	size_t count, capacity;
	struct neighbour *items;
	uint32_t first_free; /* index + 1, 0 = none */
	struct hash_table by_address;
	struct event_queue questions; /* subject: index, detail: use */
};

/* Index of the address, added if it is new, for one more user; mac NULL = to be resolved. -ENOMEM. */
int64_t neighbours_add(struct neighbours *neighbours, ip_address address, const uint8_t *mac);
void neighbours_drop(struct neighbours *neighbours, size_t index);
/* From a neighbour's question or answer: takes the sender's MAC if it has that address. */
void neighbours_learn(struct neighbours *neighbours, const struct frame *frame, struct ns now);
/*
 * The next address to query now (schedules the next query: 50 ms doubling to 1 s, 30 s once the MAC is known); NULL if
 * there is none.
 */
const struct neighbour *neighbours_ask(struct neighbours *neighbours, struct ns now);
void neighbours_free(struct neighbours *neighbours);

#endif

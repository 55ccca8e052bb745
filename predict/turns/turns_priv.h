/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of each connection, before they are paired. */
#ifndef PREDICT_TURNS_PRIV_H
#define PREDICT_TURNS_PRIV_H

#include <base/hash_table.h>
#include <predict/turns/turns.h>

struct message {
	double first_ns, last_ns;
	uint64_t end;          /* bytes of its side up to its end */
	uint64_t acknowledged; /* bytes of the other side, by its first segment */
	uint64_t bytes;
};

struct side {
	ip_address address;
	uint16_t port;
	bool seen, open, pending; /* open: the last message goes on; pending: a round trip is being measured */
	bool greeted;             /* a SYN was seen */
	uint32_t start, next;     /* sequence numbers: of the SYN, and of the next new byte */
	uint64_t bytes;           /* as `next`, from the first byte seen on */
	uint64_t pending_end;
	double pending_ns, rtt_ns; /* least time until the other side acknowledged */
	double greeted_ns;
	struct message *messages;
	size_t count, capacity;
};

struct flow {
	struct side sides[2];  /* by the first segment: its sender is 0 */
	int client;            /* index of a side */
	double established_ns; /* the client has acknowledged the server's SYN; NAN */
	uint64_t segments, repeated, missing;
};

struct flows {
	struct flow *items;
	size_t count, capacity;
	struct hash_table table; /* hash of addresses and ports to the newest flow that has them */
	bool started;
	struct ns start;
	double now_ns;
	uint64_t packets, broken;
};

int flows_read(struct packets *packets, struct flows *flows, struct error *err); /* 0 or -errno with err set */
void flows_free(struct flows *flows);

/* Makes turns of the flows to a port. Returns 0, or -ENOMEM. */
int flows_pair(const struct flows *flows, uint16_t port, struct turns *turns);

#endif

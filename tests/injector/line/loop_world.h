/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests both loops with cycle accuracy in a simulated world: the counter advances by STEP at every reading and jumps
 * where the test says, packets arrive at given times, and a port records when each leaves. It replaces dp's packets and
 * clock (fake/dp/packet.h), so that the loops run unchanged.
 */
#ifndef LOOP_WORLD_H
#define LOOP_WORLD_H

#include "line_priv.h"

enum {
	STEP = 10,
	DELAY = 10000,
	WAIT = 200,
	PREPARE = 700,
	GAP = 300,
	STALL = 3000,
	PACKETS = 4000,
	SLOTS = 1024,
	FRAME_BYTES = 60
};

struct loop_world {
	uint64_t now, jump_at, jump;
	struct dp_packet packets[PACKETS];
	size_t count, next_in, left;
	uint64_t other_port;   /* cycles to poll port 1, which has no packets */
	bool jump_in_receive;  /* the jump happens while port 0 is received from: after the port was polled, before the
				  counter is read */
	bool jump_in_transmit; /* the jump happens before the port has accepted the burst */
	uint64_t jump_again;   /* cycles of a second jump, in the call after the first one */
	uint64_t send;         /* cycles of a transmit call */
	uint64_t prepare;      /* cycles to prepare port 1 */
	size_t preparations;   /* so often */
	bool flood;            /* port 1 always returns full bursts */
	uint64_t stop_at;      /* 0: never */
	uint64_t refuse_from, refuse_until; /* between these times, port 1 accepts no packets */
	unsigned int refusals;              /* number of next bursts whose last 7 packets are refused */
};

extern struct loop_world world;
extern struct worker worker;
extern struct line lines[2];
extern bool modal; /* run the modal loop, not the fixed-delay loop */

/* `count` packets arrive, `gap` cycles apart, the first at 1000. */
void loop_make(bool with_modal, size_t count, uint64_t gap);
void loop_round(void);
/* Runs until all have left. */
void loop_run(void);

/* The due time: the counter is read once after a burst was received, and the delay counts from there. */
uint64_t loop_due(const struct dp_packet *packet);
uint64_t lateness_count(const uint64_t *buckets);

#endif

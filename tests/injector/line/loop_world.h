/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both loops to the cycle, in a world that the test makes: a counter that advances by STEP at every reading and jumps
 * where the test says, packets that arrive at given moments, a port that notes when each left. It stands in for dp's
 * packets and clock (fake/dp/packet.h), so that the loops run as they are.
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
	uint64_t other_port;   /* cycles to look whether port 1 has something: it never has */
	bool jump_in_receive;  /* of port 0, after the port was looked at, before the counter is read */
	bool jump_in_transmit; /* before the port has taken the burst */
	uint64_t jump_again;   /* cycles, in the call after the one that jumped */
	uint64_t send;         /* cycles that it takes */
	uint64_t prepare;      /* cycles that it takes for port 1 */
	size_t preparations;   /* so often */
	bool flood;            /* port 1 gives whole bursts, always */
	uint64_t stop_at;      /* 0: never */
	unsigned int refusals; /* number of bursts to come that lose their last 7 packets */
};

extern struct loop_world world;
extern struct worker worker;
extern struct line lines[2];
extern bool modal; /* the loop that runs */

/* `gap` cycles between the arrivals of `count` packets, from 1000 on. */
void loop_make(bool with_modal, size_t count, uint64_t gap);
void loop_round(void);
/* Until all have left. */
void loop_run(void);

/* The counter is read once after a burst was received: the stay begins there. */
uint64_t loop_due(const struct dp_packet *packet);
uint64_t lateness_count(const uint64_t *buckets);

#endif

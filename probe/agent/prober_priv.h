/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session-senders of one host: whom to probe when, on which path, and what the answers say. No I/O; time comes in
 * as counter ticks (see dp/clock.h). One thread.
 */
#ifndef PROBE_PROBER_PRIV_H
#define PROBE_PROBER_PRIV_H

#include <probe/agent/agent.h>

#include "neighbours_priv.h"

struct prober_path {
	struct session *session;
	struct histogram *rtt; /* ns */
};

struct prober_target {
	const struct peer *peer;
	size_t neighbour; /* whose MAC frames to it carry */
	uint64_t sent;
	uint32_t next_path;
	bool heard;              /* answered a greeting */
	struct session *greeter; /* before measuring */
	struct prober_path *paths;
	struct histogram *residence;
	struct histogram *all; /* of all paths; filled by prober_sum() */
	struct ns best_delay, best_offset;
};

struct prober {
	const struct agent_options *options;
	struct dp_clock *clock;
	size_t target_count;
	struct prober_target *targets;      /* in the order of the peers' list */
	struct prober_target **by_address;  /* the same, for finding whose answer it is */
	uint16_t *ports;                    /* paths of them */
	int16_t *path_of_port;              /* 65536, -1 = none of ours */
	uint16_t greeting_session, session; /* SSIDs */
	bool measuring;
	uint64_t schedule_start, turn; /* probe number `turn` is due at schedule_start + turn * gap_ticks */
	double gap_ticks;
	uint64_t next_due, skipped;
};

/* What a frame needs. */
struct prober_probe {
	size_t target;
	uint32_t path;
	struct stamp_request request; /* sent_at is filled in by the sender */
	uint16_t source_port;
};

/* 0 or -errno with err set. neighbours gets every next hop. */
int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock,
		  struct neighbours *neighbours, struct error *err);
void prober_free(struct prober *prober);

/* Greeting: a probe to each peer that has not answered yet, every 50 ms. Measuring: as options say. */
void prober_greet(struct prober *prober, uint64_t now);
void prober_measure(struct prober *prober, uint64_t now);
bool prober_all_heard(const struct prober *prober);
/* True when every peer has had its count, or the turns for it where nobody answers ARP. */
bool prober_done(const struct prober *prober, const struct neighbours *neighbours);

/* If a probe is due at `now`, takes it: *probe is to be sent at once. False: nothing before prober_next_due(). */
bool prober_take(struct prober *prober, uint64_t now, const struct neighbours *neighbours, struct prober_probe *probe);
uint64_t prober_next_due(const struct prober *prober);
/* It left with this stamp, or did not leave at all. */
void prober_sent(struct prober *prober, const struct prober_probe *probe, uint64_t sent_ticks);
void prober_unsent(struct prober *prober, const struct prober_probe *probe);

/* An answer from a peer; false: not one of ours. */
bool prober_answer(struct prober *prober, const struct frame *frame, uint64_t received_ticks);

/* Gives up what is older than the timeout; returns what is still out. */
uint64_t prober_expire(struct prober *prober, uint64_t now);
/* At the end of a run: what is still out counts nowhere. */
void prober_abandon(struct prober *prober);
/* Fills `all` of a target from its paths. */
void prober_sum(struct prober *prober, size_t target);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session-senders of one host: they choose when to probe which peer on which path, and evaluate the answers. No
 * I/O; the time comes in as stamps of CLOCK_COUNTER. One thread.
 */
#ifndef PROBE_PROBER_PRIV_H
#define PROBE_PROBER_PRIV_H

#include <base/hash_table.h>
#include <base/rng.h>
#include <base/spsc.h>
#include <probe/agent/agent.h>
#include <probe/paths/expired.h>
#include <probe/paths/paths.h>
#include <probe/rtt/exchange.h>

#include "neighbours_priv.h"

struct prober_path {
	struct session *session;
	struct histogram *rtt;            /* ns, undisturbed, of this window */
	struct prober_path *next, **link; /* in the wheel; link NULL: not in the wheel */
	struct session_counters before;   /* as of the beginning of the window */
	uint64_t lost_forward_before;
};

/* An answered probe. */
struct prober_exchange {
	struct exchange stamps; /* t1 and t4 of CLOCK_COUNTER, t2 and t3 of CLOCK_PEER */
	struct ns clock_error;  /* of both ends together; valid if both are synchronised */
	uint32_t sequence, answer_sequence;
	uint16_t source_port;
	bool synchronised, disturbed;
	bool departed, arrived; /* t1, t4 are the kernel's */
	bool arrived_at_nic;    /* t4 is the NIC's */
	bool waits;             /* in prober_target.held */
};

struct prober_target {
	struct peer peer;
	uint32_t id;         /* index in by_id */
	size_t neighbour;    /* whose MAC frames to it carry */
	struct stamp missed; /* its first turn, if it had no MAC then */
	uint64_t sent;
	uint32_t next_path;
	bool heard;                /* answered a greeting */
	uint32_t greetings;        /* sent before measuring */
	struct prober_path *paths; /* [options->paths] */
	uint32_t path_count;       /* in use */
	struct paths *known;       /* NULL without find_paths; and which port each path in use has */
	uint16_t *candidate_of;
	uint32_t generation;
	/* Figures of the current window. */
	struct histogram *disturbed_rtt, *residence; /* ns */
	struct histogram *forward, *backward;        /* ns, undisturbed, see struct agent_one_way */
	struct ns one_way_error;
	struct agent_stamp_counts stamps;
	struct agent_clocks clocks;
	uint64_t impossible;
	bool ssid_ignored;
	struct agent_headers headers;
	struct tlv_reading tlvs;
	uint16_t peer_member;         /* of a LAG, as the peer said */
	struct prober_exchange *held; /* [options->paths] the newest, until follow-up telemetry corrects its t3 */
	struct ns best_rtt, best_offset;
	struct stamp last_answer, began;
};

enum { PROBER_WHEEL_SLOTS = 1024 };

struct prober {
	const struct agent_options *options;
	struct dp_clock *clock;
	size_t target_count, target_capacity, id_capacity;
	struct prober_target **targets;    /* in the order in which they were added */
	struct prober_target **by_id;      /* the same in another order */
	struct hash_table by_address;      /* identifiers, to find an answer's target */
	uint16_t *ports;                   /* prober_candidates() of them, and one for greetings */
	int16_t *path_of_port;             /* 65536, -1 = none of ours */
	uint16_t session;                  /* SSID */
	const struct stamp_key *trace_key; /* of the session that looks for paths, its companion */
	enum agent_mode mode;
	struct stamp schedule_start, next_due; /* probe number `turn` is due at schedule_start + turn * gap_ns */
	uint64_t turn;
	size_t next_target;
	double gap_ns;
	struct rng rng;
	bool limited; /* gap_ns is limited by probe_pps */
	uint64_t skipped, bad_hmac, other_member;
	int64_t next_trace_ns; /* see prober_paths.c */
	size_t trace_turn;
	struct prober_path *wheel[PROBER_WHEEL_SLOTS]; /* sessions by the tick at which their oldest probe is lost */
	int64_t tick_ns, wheel_at;                     /* the last tick that prober_expire() has finished */
	int64_t next_tick_ns;                          /* beginning of the following tick */
	bool synchronised;                             /* our clock */
	struct ns clock_error;                         /* bound of it against UTC, with that of a stamp */
	struct spsc *samples;                          /* NULL = not wanted */
	uint64_t samples_dropped;
};

/* One outgoing probe. */
struct prober_probe {
	struct prober_target *target;
	struct prober_path *path;     /* NULL: a greeting or a trace */
	struct stamp_request request; /* sent_at is filled in by the sender */
	uint16_t source_port;
	uint8_t ttl;      /* of a trace */
	uint16_t padding; /* of a trace */
	bool late;        /* by more than the stall limit */
};

/* 0 or -errno with err set. */
int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock,
		  struct error *err);
void prober_free(struct prober *prober);

/* See agent.h. neighbours gets the next hop. */
int prober_add(struct prober *prober, const struct peer *peer, struct neighbours *neighbours, struct error *err);
int prober_remove(struct prober *prober, ip_address address, struct neighbours *neighbours);

size_t prober_bytes(const struct prober *prober); /* of sessions and their results */

/*
 * prober_index.c: targets by address, NULL = there is none. prober_likely() finds the probable target by the hash of
 * the address only, without reading the target itself.
 */
struct prober_target *prober_find(const struct prober *prober, ip_address address);
struct prober_target *prober_likely(const struct prober *prober, ip_address address);
/* Call them while target_count does not count the new target, or still counts the removed one. */
int prober_index_reserve(struct prober *prober); /* for one more: 0 or -ENOMEM */
void prober_index_add(struct prober *prober, struct prober_target *target);
void prober_index_remove(struct prober *prober, const struct prober_target *target);

void prober_set_mode(struct prober *prober, enum agent_mode mode, struct stamp now);
bool prober_all_heard(const struct prober *prober);
/* True when every peer has had its number of probes, or that number of turns if its address cannot be resolved. */
bool prober_done(const struct prober *prober, const struct neighbours *neighbours);

/*
 * Prefetch the memory of the next turns, and of an answer, for a whole burst before its first packet is processed,
 * where the sessions outgrow the caches.
 * prober_prefetch() finds the probable target of an answer, NULL = none; then call each step for the whole burst before
 * the next step.
 */
enum { PROBER_PREFETCH_STEPS = 3 };
bool prober_needs_prefetch(const struct prober *prober);
void prober_prefetch_turns(const struct prober *prober, const struct neighbours *neighbours, size_t turns);
struct prober_target *prober_prefetch(const struct prober *prober, ip_address address);
void target_prefetch(const struct prober *prober, const struct prober_target *target, const struct frame *answer,
		     int step);

/* If a probe is due at `now`, takes it: *probe must be sent at once. False: nothing is due before prober_next_due(). */
bool prober_take(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		 struct prober_probe *probe);
struct stamp prober_next_due(const struct prober *prober); /* invalid = never */
struct ns prober_interval(const struct prober *prober);    /* between two turns of a peer */
/*
 * The probe left with this stamp (disturbed: the stamp may be wrong), or was not sent at all. Several unsent probes are
 * taken back beginning with the newest.
 */
void prober_sent(struct prober *prober, const struct prober_probe *probe, struct stamp sent_at, bool disturbed);
/* One of our frames left at this time, which is more exact than the stamp that prober_sent() had. */
void prober_left(struct prober *prober, const struct frame *frame, struct stamp left_at);
void prober_unsent(const struct prober_probe *probe);

/* The same for a probe that looks for paths, due at next_trace_ns. */
bool prober_take_trace(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		       struct prober_probe *probe);
/* Answers to those: from the target (false: it is none), and from a router. */
bool prober_trace_answer(struct prober *prober, struct prober_target *target, const struct stamp_reply *reply,
			 struct stamp now);
void prober_expired(struct prober *prober, const struct expired *expired, struct stamp now);
bool prober_all_found(const struct prober *prober); /* all paths are known, or path discovery is off */

/* Source ports at random, and their places. -ENOMEM. */
int prober_choose_ports(struct prober *prober, struct rng *rng);
uint32_t prober_candidates(const struct agent_options *options);
int target_find_paths(struct prober_target *target, const struct agent_options *options); /* < 0: out of memory */
void target_forget_paths(struct prober_target *target);
uint16_t target_port(const struct prober *prober, const struct prober_target *target, uint32_t path);
int target_path(const struct prober_target *target, uint32_t candidate); /* -1 = not in use */
void target_describe_paths(const struct prober_target *target, struct agent_row *row);

struct prober_arrival {
	struct stamp at;
	bool disturbed;         /* the stamp may be wrong */
	bool by_kernel, by_nic; /* else by us, after it */
};

/* An answer from a peer; false: not one of ours. */
bool prober_answer(struct prober *prober, const struct frame *frame, const struct prober_arrival *arrival);

/*
 * prober_sample.c: counts an exchange. With follow-up telemetry it waits for the next answer on its path, which has the
 * departure time of its own answer. target_release() counts waiting exchanges as they are.
 */
void target_take_exchange(struct prober *prober, struct prober_target *target, int path,
			  const struct prober_exchange *exchange);
void target_follow_up(struct prober *prober, struct prober_target *target, int path, const struct tlv_reading *tlvs);
void target_release(struct prober *prober, struct prober_target *target);
void target_check_one_way(
	const struct agent_row *row); /* empties forward and backward if their bound is too large, see agent.h */

/* Gives up probes that are older than the timeout, in at most this number of sessions. Returns the number seen. */
size_t prober_expire(struct prober *prober, struct stamp now, size_t sessions);
void prober_expire_path(struct prober *prober, struct prober_path *path, struct stamp now);
void prober_set_up_expiry(struct prober *prober);
void prober_forget_expiry(struct prober_path *path);
/* The schedule after peers came or went. */
void prober_reschedule(struct prober *prober);
bool prober_has_outstanding(const struct prober *prober);
/* At the end of a run: outstanding probes are not counted. */
void prober_abandon(struct prober *prober);
/* See agent_window(). */
void prober_window(struct prober *prober, size_t index, struct stamp now, struct agent_row *row);
/*
 * Creates an empty histogram of the range that windows exchange. With PROBER_ROOM it holds the round trips of a quiet
 * network without allocating: otherwise the first window of 100,000 sessions takes 23,000 page faults, which delay
 * polls of the port by up to 0.5 ms.
 */
enum { PROBER_ROOM = 64 };
struct histogram *prober_histogram(const struct prober *prober, uint32_t room);

#endif

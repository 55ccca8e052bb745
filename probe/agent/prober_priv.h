/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session-senders of one host. They decide when to probe which peer on which path, and evaluate the answers. No
 * I/O; the caller passes the time as stamps of CLOCK_COUNTER. One thread.
 */
#ifndef PROBE_PROBER_PRIV_H
#define PROBE_PROBER_PRIV_H

#include <assert.h>
#include <stddef.h>

#include <base/cache_line.h>
#include <base/hash_table.h>
#include <base/rng.h>
#include <base/spsc.h>
#include <probe/agent/agent.h>
#include <probe/paths/expired.h>
#include <probe/paths/paths.h>
#include <probe/rtt/exchange.h>

#include "neighbours_priv.h"

/*
 * An undisturbed sample that is not in its histograms yet. A path collects PROBER_SAMPLES of them and records them all
 * before the next one: so most samples touch one cache line here instead of ten of the two histograms.
 */
struct prober_sample {
	uint32_t rtt_ns, residence_ns;
};

enum { PROBER_SAMPLES = 11 };

/*
 * Here and in struct prober_target, the fields that every probe touches come first and share cache lines: the sessions
 * of 100,000 peers do not fit into any cache.
 */
struct prober_path {
	struct session *session;
	struct prober_path *next, **link; /* list of a slot of the timer wheel: the next path, and the pointer to this
					     path; link NULL = in no slot */
	uint32_t sample_count;
	struct prober_sample samples[PROBER_SAMPLES];
	struct histogram *rtt;          /* ns, undisturbed samples of the current window */
	struct session_counters before; /* the session's counters when the window began */
	uint64_t lost_forward_before;
};

/* An answered probe. */
struct prober_exchange {
	struct exchange stamps; /* t1 and t4 of CLOCK_COUNTER, t2 and t3 of CLOCK_PEER */
	struct ns clock_error;  /* sum of the clocks' error bounds at both ends; valid if `synchronised` */
	uint32_t sequence, answer_sequence;
	uint16_t source_port;
	bool synchronised, disturbed;
	bool departed, arrived; /* departed: t1 is the kernel's stamp; arrived: t4 is the kernel's stamp */
	bool arrived_at_nic;    /* t4 is from the NIC */
	bool waits;             /* not counted yet: waits in prober_target.held for follow-up telemetry */
};

struct prober_target {
	ip_address address; /* = peer.address */
	uint64_t sent;
	struct prober_path *paths;    /* [options->paths] */
	struct prober_exchange *held; /* [options->paths] newest exchange of each path, until follow-up telemetry
					 arrives; NULL = not requested */
	uint32_t neighbour;           /* index of the next hop in neighbours.items */
	uint32_t next_path;
	uint32_t path_count; /* number of paths in use */
	/* of the newest answer: */
	bool ssid_ignored;      /* it had session identifier 0 */
	bool ssid_echoed;       /* it had ours; from then on, answers with 0 are forged */
	bool peer_synchronised; /* the peer's clock is synchronised */
	struct paths *known;    /* the paths found; NULL without find_paths */
	/* Figures of the current window, except for `headers` and `peer_error`, which are of the newest answer. */
	struct ns best_rtt, best_offset;
	struct stamp last_answer;
	struct agent_headers headers;
	struct ns peer_error; /* error bound of the peer's clock; valid if peer_synchronised */
	struct agent_stamp_counts stamps;
	struct histogram *disturbed_rtt, *residence; /* ns */
	struct histogram *forward, *backward;        /* ns, undisturbed, see struct agent_row */
	struct ns one_way_error;
	uint64_t impossible;
	struct stamp began; /* start of the window */

	struct peer peer;
	uint32_t id; /* identifier: index in prober.by_id */
	struct tlv_reading tlvs;
	struct stamp missed;    /* when a probe was first not sent because the MAC was unknown */
	uint32_t greetings;     /* number of greetings sent */
	bool heard;             /* has answered a greeting */
	uint16_t peer_member;   /* identifier of the peer's LAG member link, as configured or learned */
	uint16_t *candidate_of; /* with find_paths: [options->paths], for each path in use, the index of its source port
				   in prober.ports[] */
	uint32_t generation;
};

/* An answered probe touches two cache lines of its target. */
static_assert(offsetof(struct prober_target, best_rtt) == CACHE_LINE, "fields of a probe that is sent");
static_assert(offsetof(struct prober_target, stamps) <= 2 * CACHE_LINE, "fields of an answer");

enum { PROBER_WHEEL_SLOTS = 1024 };

struct prober {
	const struct agent_options *options;
	struct dp_clock *clock;
	size_t target_count, target_capacity, id_capacity;
	struct prober_target **targets;    /* in the order in which they were added */
	struct prober_target **by_id;      /* [target_count] the same targets, by identifier */
	struct hash_table by_address;      /* maps an answer's source address to the target's identifier */
	uint16_t *ports;                   /* [prober_candidates() + 1] source ports; the last one is for greetings */
	int16_t *path_of_port;             /* [65536] for each UDP port, its index in ports[]; -1 = not in ports[] */
	uint16_t session;                  /* SSID */
	const struct stamp_key *trace_key; /* key of the companion session (keys.h), to which the trace probes belong */
	enum agent_mode mode;
	struct stamp schedule_start, next_due; /* probe number `turn` is due at schedule_start + turn * gap_ns */
	uint64_t turn;
	size_t next_target;
	double gap_ns;
	struct rng rng;
	bool limited; /* probe_pps, not options->interval, determines gap_ns */
	uint64_t skipped, bad_hmac, other_member, forged;
	int64_t next_trace_ns; /* earliest time of the next trace probe; see prober_paths.c */
	size_t trace_turn;
	struct prober_path *wheel[PROBER_WHEEL_SLOTS]; /* [tick % PROBER_WHEEL_SLOTS] list of the sessions that
							  prober_expire() checks in this tick */
	int64_t tick_ns, wheel_at; /* tick_ns: length of a tick; wheel_at: number of the last tick that prober_expire()
				      has finished */
	int64_t next_tick_ns;      /* beginning of the tick after wheel_at */
	bool synchronised;         /* our clock is synchronised */
	struct ns clock_error;     /* error bound of our clock against UTC, including the error of a stamp */
	struct spsc *samples;      /* NULL = not requested */
	uint64_t samples_dropped;
};

/* One outgoing probe. */
struct prober_probe {
	struct prober_target *target;
	struct prober_path *path;     /* NULL: a greeting or a trace */
	struct stamp_request request; /* the agent fills in sent_at when it sends the probe */
	uint16_t source_port;
	uint8_t ttl;      /* of a trace probe; 0 = not a trace probe */
	uint16_t padding; /* bytes of padding in a trace probe, else 0 */
	bool late;        /* when the probe was taken, it had been due for longer than the stall limit */
};

/* 0 or -errno with err set. */
int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock,
		  struct error *err);
void prober_free(struct prober *prober);

/* See agent_add_peer() and agent_remove_peer(). Also adds the peer's next hop to `neighbours`, or removes it there. */
int prober_add(struct prober *prober, const struct peer *peer, struct neighbours *neighbours, struct error *err);
int prober_remove(struct prober *prober, ip_address address, struct neighbours *neighbours);

size_t prober_bytes(const struct prober *prober); /* memory of the sessions and their results */

/*
 * prober_index.c: returns the target with this address, or NULL. prober_likely() compares only the hash of the address
 * and does not read the target itself, so it may return another target.
 */
struct prober_target *prober_find(const struct prober *prober, ip_address address);
struct prober_target *prober_likely(const struct prober *prober, ip_address address);
/*
 * Call prober_index_reserve() and prober_index_add() before target_count is increased for the new target, and
 * prober_index_remove() before it is decreased.
 */
int prober_index_reserve(struct prober *prober); /* reserves memory for one more target: 0 or -ENOMEM */
void prober_index_add(struct prober *prober, struct prober_target *target);
void prober_index_remove(struct prober *prober, const struct prober_target *target);

void prober_set_mode(struct prober *prober, enum agent_mode mode, struct stamp now);
bool prober_all_heard(const struct prober *prober);
/* True when every peer was sent options->count probes or, if its MAC is unknown, has had this number of turns. */
bool prober_done(const struct prober *prober, const struct neighbours *neighbours);

/*
 * Prefetching is needed for large numbers of sessions, whose memory does not fit into the caches. Prefetch for a whole
 * burst before its first packet is processed: prober_prefetch_turns() for the next probes; prober_prefetch() for an
 * answer, which returns the probable target, or NULL. After prober_prefetch(), call each step of target_prefetch() for
 * all answers of the burst before the next step.
 */
enum { PROBER_PREFETCH_STEPS = 3 };
bool prober_needs_prefetch(const struct prober *prober);
void prober_prefetch_turns(const struct prober *prober, const struct neighbours *neighbours, size_t turns);
struct prober_target *prober_prefetch(const struct prober *prober, ip_address address);
void target_prefetch(const struct prober *prober, const struct prober_target *target, const struct frame *answer,
		     int step);

/* If a probe is due at `now`, takes it: *probe must be sent at once. Returns false if no probe is to be sent now. */
bool prober_take(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		 struct prober_probe *probe);
struct stamp prober_next_due(const struct prober *prober); /* invalid = never */
struct ns prober_interval(const struct prober *prober);    /* between two turns of a peer */
/*
 * prober_sent() reports that the probe was sent, with this stamp (disturbed: the stamp may be wrong). prober_unsent()
 * reports that it was not sent; if there are several such probes, call it for the newest one first.
 */
void prober_sent(struct prober *prober, const struct prober_probe *probe, struct stamp sent_at, bool disturbed);
/* Reports that one of our frames left at left_at, which is more exact than the stamp passed to prober_sent(). */
void prober_left(struct prober *prober, const struct frame *frame, struct stamp left_at);
void prober_unsent(const struct prober_probe *probe);

/* Like prober_take(), for a trace probe (see prober_paths.c), which is due at next_trace_ns. */
bool prober_take_trace(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		       struct prober_probe *probe);
/*
 * prober_trace_answer() processes the target's answer to a trace probe; returns false if `reply` is not such an answer.
 * prober_expired() processes a router's message that the TTL of a trace probe expired.
 */
bool prober_trace_answer(struct prober *prober, struct prober_target *target, const struct stamp_reply *reply,
			 struct stamp now);
void prober_expired(struct prober *prober, const struct expired *expired, struct stamp now);
bool prober_all_found(const struct prober *prober); /* all paths are known, or path discovery is off */

/* Chooses random source ports, and sets path_of_port. Returns 0 or -ENOMEM. */
int prober_choose_ports(struct prober *prober, struct rng *rng);
uint32_t prober_candidates(const struct agent_options *options);
int target_find_paths(struct prober_target *target, const struct agent_options *options); /* < 0: out of memory */
void target_forget_paths(struct prober_target *target);
uint16_t target_port(const struct prober *prober, const struct prober_target *target, uint32_t path);
/* Returns the index of the path that uses the source port ports[candidate]; -1 = none. */
int target_path(const struct prober_target *target, uint32_t candidate);
void target_describe_paths(const struct prober_target *target, struct agent_row *row);

struct prober_arrival {
	struct stamp at;
	bool disturbed;         /* the stamp may be wrong */
	bool by_kernel, by_nic; /* source of the stamp; if both are false: the counter, read after the arrival */
};

/* Takes an answer from a peer. Returns false if it does not belong to one of our sessions. */
bool prober_answer(struct prober *prober, const struct frame *frame, const struct prober_arrival *arrival);

/*
 * prober_sample.c: target_take_exchange() counts an exchange. With follow-up telemetry, it first holds the exchange
 * until the next answer on the same path. That answer contains the departure time of the previous one;
 * target_follow_up() uses it to correct the held exchange, and counts it. target_release() counts the held exchanges
 * with their uncorrected stamps. path_record_samples() records the collected samples, at the end of a window.
 */
void target_take_exchange(struct prober *prober, struct prober_target *target, int path,
			  const struct prober_exchange *exchange);
void target_follow_up(struct prober *prober, struct prober_target *target, int path, const struct tlv_reading *tlvs);
void target_release(struct prober *prober, struct prober_target *target);
void path_record_samples(struct prober_target *target, struct prober_path *path);
void target_check_one_way(
	const struct agent_row *row); /* empties forward and backward if their bound is too large, see agent.h */

/*
 * Counts the probes that are older than the timeout as lost. Checks at most `sessions` sessions. Returns the number
 * checked.
 */
size_t prober_expire(struct prober *prober, struct stamp now, size_t sessions);
void prober_expire_path(struct prober *prober, struct prober_path *path, struct stamp now);
void prober_set_up_expiry(struct prober *prober);
void prober_forget_expiry(struct prober_path *path);
/* Adapts the schedule to the current number of peers. */
void prober_reschedule(struct prober *prober);
bool prober_has_outstanding(const struct prober *prober);
/* Discards all outstanding probes without counting them, at the end of a run. */
void prober_abandon(struct prober *prober);
/* See agent_window(). */
void prober_window(struct prober *prober, size_t index, struct stamp now, struct agent_row *row);
/*
 * Creates an empty histogram with the range that all results use, and with room for `room` values. PROBER_ROOM is
 * enough for the round trips of a quiet network: if the histograms had to allocate memory, the first window of 100,000
 * sessions would cause 23,000 page faults, which delay polls of the port by up to 0.5 ms.
 */
enum { PROBER_ROOM = 64 };
struct histogram *prober_histogram(const struct prober *prober, uint32_t room);

#endif

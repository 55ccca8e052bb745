/* SPDX-License-Identifier: BSD-3-Clause */
/* What the prober, the reflector and their port share. */
#ifndef AGENT_AGENT_PRIV_H
#define AGENT_AGENT_PRIV_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/spsc.h>
#include <base/error.h>
#include <base/event_queue.h>
#include <base/hash_table.h>
#include <base/ns.h>
#include <base/rng.h>
#include <base/stamp.h>
#include <probe/agent/agent.h>
#include <probe/paths/paths.h>
#include <probe/rtt/session.h>
#include <probe/rtt/frame.h>

/*
 * Converts stamps of a NIC's clock to the time stamp counter. The ratio of their rates is computed from the first and
 * the latest reading of both clocks. Pure.
 */

struct nic_clock {
	int readings; /* number of readings so far; 2 = two or more */
	uint64_t first_nic, first_tsc, nic, tsc;
};

static inline void nic_clock_read(struct nic_clock *clock, uint64_t nic, uint64_t tsc)
{
	if (clock->readings == 0) {
		clock->first_nic = nic;
		clock->first_tsc = tsc;
	}
	clock->nic = nic;
	clock->tsc = tsc;
	clock->readings += clock->readings < 2;
}

/* Returns false if the rate is not known yet. The result is most exact near the latest reading. */
static inline bool nic_clock_to_tsc(const struct nic_clock *clock, uint64_t stamp, uint64_t *tsc)
{
	double cycles_per_tick;

	if (clock->readings < 2 || clock->nic == clock->first_nic)
		return false;
	cycles_per_tick = (double)(clock->tsc - clock->first_tsc) / (double)(clock->nic - clock->first_nic);
	*tsc = clock->tsc + (uint64_t)(int64_t)((double)(int64_t)(stamp - clock->nic) * cycles_per_tick);
	return true;
}

/*
 * Adds to an af_packet port what DPDK's ports lack: the process is woken when a packet arrives, and the kernel
 * timestamps arrivals and departures. A second packet socket on the interface receives copies of STAMP packets with the
 * kernel's receive timestamp (SO_TIMESTAMPNS). A filter on this socket and on the driver's own socket rejects all other
 * traffic. If the kernel has our address, UDP sockets that discard everything keep it from answering "port
 * unreachable". One thread.
 */

struct kernel_stamps;

/* driver_socket: borrowed, -1 = none. departures: enables kernel_stamps_departures(). Returns NULL with err set. */
struct kernel_stamps *kernel_stamps_open(const char *interface, uint16_t udp_port, int driver_socket, bool departures,
					 struct error *err);
void kernel_stamps_close(struct kernel_stamps *stamps); /* NULL is legal */

/*
 * Attaches a filter that accepts incoming UDP packets from or to `port` and, for the driver, also ARP, neighbour
 * discovery and ICMP time exceeded. Returns 0, or -1 with errno.
 */
int kernel_stamps_filter(int socket_fd, uint16_t port, bool driver);

/*
 * Reserves UDP `port` of `address` in the kernel. Returns 1 if it is reserved; 0 if the kernel does not have the
 * address (we must answer ARP ourselves); -EADDRINUSE if another program has the port; or another -errno.
 */
int kernel_stamps_hold_port(struct kernel_stamps *stamps, ip_address address, uint16_t port, struct error *err);

/* Sleeps until a packet can be read, a signal arrives or `timeout` has passed. */
void kernel_stamps_wait(struct kernel_stamps *stamps, struct ns timeout);

/* Reads all pending arrival timestamps; call it before kernel_stamps_find(). */
void kernel_stamps_drain(struct kernel_stamps *stamps);

/*
 * A sent STAMP frame and the time when it left. The kernel takes this timestamp in the driver of the interface; on a
 * veth pair, this is before dp_transmit() returns. kernel_stamps_departures() calls left() for each frame that was sent
 * since the previous call.
 */
struct kernel_departure {
	const struct frame *frame;
	const uint8_t *bytes;    /* the beginning of the frame: at least the headers and the base packet */
	size_t captured, length; /* number of bytes at `bytes`, and length of the whole frame */
	struct stamp at;         /* CLOCK_WALL */
};

typedef void kernel_stamps_left(void *context, const struct kernel_departure *departure);

void kernel_stamps_departures(struct kernel_stamps *stamps, kernel_stamps_left *left, void *context);
/* True if departures are available. */
bool kernel_stamps_has_departures(const struct kernel_stamps *stamps);

struct kernel_arrival {
	struct stamp at;  /* CLOCK_WALL; invalid if the kernel gave no timestamp, or if a newer packet took its slot */
	bool no_checksum; /* its sender left the checksum unfinished, as the kernel reports (TP_STATUS_CSUMNOTREADY) */
};

/* Returns the arrival of a STAMP frame. */
struct kernel_arrival kernel_stamps_find(const struct kernel_stamps *stamps, const struct frame *frame);

/*
 * MAC addresses of the next hops. They are given, or learned by ARP (RFC 826) or neighbour discovery (RFC 4861);
 * learned ones are queried again from time to time, because a host may be replaced. No I/O. One thread.
 */

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

/*
 * The session-senders of one host. They decide when to probe which peer on which path, and evaluate the answers. No
 * I/O; the caller passes the time as stamps of CLOCK_COUNTER. One thread.
 */

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
	struct prober_target **targets; /* in the order in which they were added */
	struct prober_target **by_id;   /* [target_count] the same targets, by identifier */
	struct hash_table by_address;   /* maps an answer's source address to the target's identifier */
	uint16_t *ports;                /* [prober_candidates() + 1] source ports; the last one is for greetings */
	int16_t *path_of_port;          /* [65536] for each UDP port, its index in ports[]; -1 = not in ports[] */
	uint16_t session;               /* SSID */
	const struct stamp_key
		*trace_key; /* key of the companion session (stamp.h), to which the trace probes belong */
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

/*
 * Shared by agent.c (creation, results), agent_step.c (packets), agent_frames.c (probes as bytes), prober_prefetch.c
 * and agent_run.c (a measurement of limited duration).
 */

enum { AGENT_BURST = 32 };

/* Answers to received requests, collected so that they are sent as one burst. */
struct agent_answers {
	uint16_t count;
	struct dp_packet *packets[AGENT_BURST];
	struct frame frames[AGENT_BURST];
	struct reflector_answer prepared[AGENT_BURST];
	uint8_t *payloads[AGENT_BURST]; /* payloads of the frames, writable */
};

/* A frame that arrived on the queue of one agent, but belongs to another agent of the group. */
struct agent_handover {
	struct dp_packet *packet;
	struct stamp received;
	bool late;
};

enum { AGENT_HANDOVERS = 1024 }; /* capacity of the queue between two agents */

struct agent {
	struct agent_options options;
	struct agent *const *group; /* [options.queues] the agents of the group, by queue; NULL = no group. Set before
				       any of them runs */
	struct spsc **inbox;        /* [options.queues] inbox[q]: frames for us that the agent on queue q received */
	uint64_t handed_over, not_handed_over;
	struct spsc *frames; /* NULL = frames are not captured */
	uint64_t frames_dropped;
	struct dp_port *port;
	uint16_t port_id;
	uint16_t burst; /* maximum packets per transmit call; 1 if sending is a system call, so that each packet has its
			   own stamp */
	size_t padding; /* bytes of the padding TLV in our probes */
	struct frame_template probe_template;
	struct agent_answers answers;
	struct dp_pool *pool;
	struct dp_clock *clock;
	uint8_t mac[FRAME_MAC_BYTES];
	bool answers_neighbours; /* we answer ARP and ND, because the kernel does not */
	bool holds_ports;        /* the kernel has our address, and our source ports must still be reserved there */
	bool sleeps;
	bool exact_timers; /* this thread has requested exact timers */
	bool wants_kernel_stamps;
	bool wants_nic_stamps;
	struct dp_stamps nic_stamps;
	struct nic_clock nic_clock;
	struct kernel_stamps *kernel; /* NULL: not an af_packet port */
	struct neighbours neighbours;
	struct prober prober;
	struct reflector *reflector;
	struct stamp_error_estimate error_estimate;
	struct ns error_bound;
	struct dp_clock reading; /* a copy of *clock; fresh_clock() updates the copy */
	struct stamp read_at;
	struct stamp next_upkeep, next_clock;
	struct stamp last_look; /* when the port was last polled, or agent_sleep() returned */
	struct stamp last_request;
	struct histogram *wake_up;
	uint64_t unstamped, departures, send_failures, broken_frames, unfinished_checksums, other_vlan;
};

/*
 * agent_frames.c: writes our probes. agent_make_template() prepares the headers that all probes share; it is called
 * once, during the setup. The stamp in a probe is taken before the checksums are computed, so it is earlier than the TX
 * burst.
 */
void agent_make_template(struct agent *agent);
void agent_write_probes(const struct agent *agent, const struct prober_probe *probes, struct dp_packet **packets,
			uint16_t count);
void agent_add_tag(const struct agent *agent, struct frame *frame); /* adds the tag of --vlan, if given */

/* Prefetches the memory needed to process the frames of a burst (at most AGENT_BURST). */
void agent_prefetch(const struct agent *agent, const struct frame *frames, uint16_t count);

/*
 * Updates the bound on our clock's error, which is used in packets and for one-way delays. Call it regularly: the bound
 * of an unsynchronised clock grows.
 */
void agent_estimate_error(struct agent *agent);

#endif

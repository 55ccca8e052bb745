/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurement agent of one host in the mesh: a STAMP session-reflector, and a session-sender for each peer, on one
 * queue of a DPDK port. It implements the parts of IPv4 and IPv6 that it needs (ARP, ND, UDP). The caller runs its
 * loop:
 *
 *   while (!stop) {
 *           struct stamp now = agent_now(agent);
 *           if (!agent_step(agent, now))
 *                   agent_sleep(agent, agent_wake_at(agent));
 *   }
 *
 * and calls agent_window() to read the results of a peer. A window is the interval for which results are collected: it
 * ends at this call, and the peer's next window begins. agent_run() is this loop for a measurement of limited duration.
 * One thread must call all functions, except agent_take_sample() and agent_take_frame(): one other thread may call each
 * of these.
 *
 * Stamps: t1 and t3 are the time stamp counter right before the TX burst; t2 and t4 are the counter right after the RX
 * burst or, on an af_packet port, the kernel's timestamp of the packet's arrival. The kernel's timestamp does not
 * include the time until this process woke up, so the agent may sleep between packets on such a port
 * (AGENT_POLL_ADAPTIVE). There the kernel also reports, later, when a packet left: this corrects t1. If a sender
 * requests follow-up telemetry, each answer contains the departure time of the reflector's previous answer, which
 * corrects the t3 of that answer.
 *
 * One-way delays compare two clocks. Both ends report the largest error of their clock against UTC in STAMP's error
 * estimate. Ours is the kernel's bound (maxerror of ntp_adjtime) or agent_options.clock_error, plus the error of a
 * stamp. A window has one-way delays (of its undisturbed samples) if both S bits were set in all these samples and the
 * sum of the two bounds is less than half of the median round trip. With a larger bound they would add no information:
 * the round trip alone already implies that a one-way delay is half of it, plus or minus half of it.
 *
 * A sample is disturbed if a stall of this process may have changed it, that is, if
 *   - its probe left more than `stall` after it was due (the caches on its way through the host are cold then), or
 *   - the TX burst of its probe took longer than `stall` and the kernel did not stamp the departure, or
 *   - t4 is from the counter and the port was not polled for longer than `stall` before the answer arrived.
 *
 * It is disturbed, too, if the peer held the next probe for over 1 ms, and no longer than this sample took: the peer
 * may have stalled between t3 and the departure of the answer.
 */
#ifndef PROBE_AGENT_H
#define PROBE_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/ns.h>
#include <base/stamp.h>
#include <dp/clock.h>
#include <dp/port.h>
#include <model/peers.h>
#include <probe/paths/paths.h>
#include <probe/rtt/reflector.h>
#include <probe/rtt/session.h>
#include <probe/rtt/stamp.h>
#include <probe/rtt/tlv.h>

enum agent_poll {
	AGENT_POLL_AUTO,     /* adaptive on a Linux interface, else busy */
	AGENT_POLL_BUSY,     /* never sleeps: needs a core of its own */
	AGENT_POLL_ADAPTIVE, /* sleeps until a packet arrives or a probe is due; if the port has no socket, for up to 20
				us at a time */
};

enum agent_stamps {
	AGENT_STAMPS_AUTO, /* the kernel's on af_packet, else the counter's */
	AGENT_STAMPS_TSC,
	AGENT_STAMPS_KERNEL,
	AGENT_STAMPS_NIC, /* arrivals by the NIC, if the port was opened with hardware_rx_stamps; departures by the
			     counter */
};

/* NULL-terminated, for OPTION_CHOICE. */
extern const char *const agent_poll_names[];
extern const char *const agent_stamps_names[];

/* Bytes kept of each captured frame: its headers, the base packet and some of the TLVs. */
enum { AGENT_FRAME_BYTES = 128 };

/* One answered probe. */
struct agent_sample {
	ip_address peer;      /* address of the peer */
	uint16_t source_port; /* identifies the path */
	uint32_t sequence;
	struct stamp sent_at; /* t1, CLOCK_WALL */
	struct ns rtt;        /* without the reflector's residence time */
	struct ns residence;  /* time in the reflector: t3 - t2 */
	struct ns offset;     /* the peer's clock minus ours */
	bool disturbed;
};

struct agent_options {
	uint16_t queue; /* index of the port's queue that this agent uses */
	uint16_t
		queues; /* number of queues of the port, each with an agent (struct agent_group); 0 = only this queue */
	ip_address address; /* ours */
	int prefix_bits;    /* peers outside of address/prefix go to the gateway; 0 = all are on the link */
	ip_address gateway; /* 0 = none */
	uint16_t udp_port;  /* UDP port of the reflectors: ours and those of the peers */
	bool reflect;
	const struct reflector_prefix *allow; /* see reflector_rules; borrowed */
	size_t allow_count;
	uint32_t source_pps, total_pps; /* maximum answers per second, to one source and to all; 0 = no limit */
	uint32_t paths;  /* number of UDP source ports that the probes to a peer rotate through, 1..256 */
	bool find_paths; /* selects source ports that take different routes, at most `paths` of them; see
			    <probe/paths/paths.h> */
	struct ns interval, timeout;
	uint64_t count;       /* probes to each peer; 0 = no limit */
	uint32_t slot, slots; /* probes are sent only in slot number `slot` of each cycle of `slots`, by the wall clock;
				 slots <= 1: always */
	struct ns slot_length;
	enum agent_poll poll;
	enum agent_stamps stamps;
	enum stamp_format format;
	uint64_t seed;    /* seed of all random numbers: source ports, session identifier, times of a Poisson process */
	uint16_t session; /* SSID of our probes; 0 = chosen at random */
	bool stateless;   /* our answers copy the sequence number of the request, instead of counting */
	bool poisson;     /* RFC 2330 section 11.1: times between probes are exponentially distributed */
	uint32_t tlvs;    /* TLVs to request: bits 1 << tlv_type */
	uint16_t member, peer_member;  /* identifiers of LAG member links (RFC 9534), ours and the peers'; member 0 =
					  none, peer_member 0 = learned */
	const struct stamp_keys *keys; /* keys of all sessions that we accept, borrowed; NULL = no authentication */
	const struct stamp_key *key;   /* key of our probes, borrowed; also sets their SSID. NULL = not authenticated */
	uint32_t probe_pps;            /* maximum rate of probes to all peers; 0 = no limit */
	uint8_t dscp, ecn, ttl;        /* of our probes; ttl 0 = 255 */
	bool may_fragment;             /* true: the DF bit is clear */
	bool tagged;                   /* all our frames have this VLAN tag; frames of other VLANs are ignored */
	uint16_t tag_control;          /* see struct frame_tag */
	uint16_t packet_bytes;         /* IP length of a probe, at least agent_packet_minimum(); 0 = this minimum */
	struct ns stall;               /* a longer stall disturbs a sample, see above; 0 = 100 us */
	struct ns clock_error;         /* upper bound of our clock's error against UTC; 0 = the kernel's bound */
	int digits; /* significant digits of round trips in histograms: 3 (up to 152 KB per histogram) or, for thousands
		       of sessions, 2 (22 KB); 0 = 3 */
	size_t samples; /* capacity of the queue for agent_take_sample(); 0 = no samples */
	size_t frames;  /* capacity of the queue for agent_take_frame(); 0 = no frames */
};

struct agent;

/*
 * Returns the IP length of a probe without padding. A padded probe is at least 4 bytes longer: the padding has a
 * header.
 */
size_t agent_packet_minimum(const struct agent_options *options);

/* With find_paths: the number of source ports to try, and the default limit of paths to measure. */
enum { AGENT_CANDIDATES = 256, AGENT_AUTO_PATHS = 16 };

/*
 * `port` must be open and started, and `pool` must hold AGENT_BUFFERS packets. Port, pool and clock must outlive the
 * agent. Returns NULL with err set.
 */
enum { AGENT_BUFFERS = 8191 };
struct agent *agent_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
			   struct dp_clock *clock, struct error *err);
void agent_destroy(struct agent *agent); /* NULL is legal */

/*
 * Copies the peer. Returns 0, or -errno with err set: -EEXIST if the address is ours or another peer's, -EAFNOSUPPORT
 * if its IP version is not that of our address.
 */
int agent_add_peer(struct agent *agent, const struct peer *peer, struct error *err);
/* Returns 0 or -ENOENT. The indices of the peers that were added later decrease by 1. */
int agent_remove_peer(struct agent *agent, ip_address address);
size_t agent_peer_count(const struct agent *agent);
/* Returns 0, or -ENODEV with err set if the interface was removed; see dp_port_is_gone(). */
int agent_check_port(const struct agent *agent, struct error *err);
/* Returns the UDP source port of the probes on a path; not with find_paths. */
uint16_t agent_source_port(const struct agent *agent, uint32_t path);
size_t agent_session_bytes(const struct agent *agent); /* memory of all sessions and their results */

enum agent_mode {
	AGENT_QUIET,     /* only answers requests; the initial mode */
	AGENT_GREETING,  /* sends an uncounted probe every 50 ms to each peer that has not answered yet */
	AGENT_MEASURING, /* measures as configured by the options */
};
void agent_set_mode(struct agent *agent, enum agent_mode mode);

struct stamp agent_now(const struct agent *agent); /* the time by CLOCK_COUNTER */
/*
 * Handles received packets, and sends answers and the probes that are due. Never waits. Returns true if it must be
 * called again at once.
 */
bool agent_step(struct agent *agent, struct stamp now);
/* Returns the time at which agent_step() must be called next, for a probe or for periodic tasks. */
struct stamp agent_wake_at(const struct agent *agent);
/* Sleeps until `until` or until a packet arrives. Returns at once if the options do not permit sleeping. */
void agent_sleep(struct agent *agent, struct stamp until);

/* Takes the oldest sample not taken yet; one other thread may call this. Returns false if there is none. */
bool agent_take_sample(struct agent *agent, struct agent_sample *sample);

/* A STAMP packet that was sent or received. */
struct agent_frame {
	struct stamp at; /* when it was sent or received, CLOCK_WALL: the stamp from which samples are computed */
	bool outbound;
	uint32_t captured, length;
	uint8_t bytes[AGENT_FRAME_BYTES];
};

/* Takes the oldest captured frame that was not taken yet. The same rules apply as for agent_take_sample(). */
bool agent_take_frame(struct agent *agent, struct agent_frame *frame);

struct agent_path_row {
	uint16_t source_port;
	struct path route; /* with find_paths */
	struct session_counters counters;
	bool lost_forward_known;
	uint64_t lost_forward; /* the part of counters.lost that the reflector never received */
	struct histogram *rtt; /* ns, only undisturbed samples */
};

/* The headers of the newest answer; and those of its request, as far as the answer reports them. */
struct agent_headers {
	bool seen;
	uint8_t request_ttl; /* of the request as it arrived; 0 = unknown */
	uint8_t ttl, dscp, ecn;
	uint8_t sent_ttl; /* of the probe when it was sent */
	bool may_fragment;
	uint64_t congested; /* answers marked "congestion experienced", in the window */
};

/*
 * Numbers of samples that have a better stamp than the default:
 *   - departures: t1 is the kernel's, not the counter's
 *   - arrivals: t4 is the kernel's, not the counter's
 *   - nic_arrivals: t4 is the NIC's, not the counter's
 *   - follow_ups: t3 is from the peer's follow-up telemetry, not from the answer itself
 */
struct agent_stamp_counts {
	uint64_t departures, follow_ups, arrivals, nic_arrivals;
};

/* Clock states reported by both ends; those of the peer are from its newest answer. */
struct agent_clocks {
	bool synchronised, peer_synchronised;
	struct ns error, peer_error;
};

/* Results of one peer in a window. The row owns the histograms. */
struct agent_row {
	struct peer peer;
	bool resolved;     /* its MAC address is known */
	bool unresolvable; /* the MAC has been unknown for longer than the timeout: the probes to this peer count as
			      lost */
	uint8_t mac[FRAME_MAC_BYTES];
	struct stamp began, ended;        /* of the window, CLOCK_WALL */
	struct stamp last_answer;         /* CLOCK_WALL; invalid = none in this window */
	struct session_counters counters; /* of all paths: probes answered or lost in this window */
	uint64_t impossible;              /* answers with impossible stamps, which give no samples */
	uint64_t disturbed;               /* disturbed samples: in rtt, but not in undisturbed or a path's rtt */
	struct agent_headers headers;
	struct tlv_reading tlvs; /* of the newest answer; if it had none, no bit is set in filled or flagged */
	bool ssid_ignored;       /* the peer answers with session identifier 0, as TWAMP does */
	bool lost_forward_known;
	uint64_t lost_forward; /* the part of counters.lost that the reflector never received */
	struct histogram *rtt, *undisturbed, *residence; /* ns, of all paths */
	struct histogram *forward, *backward; /* ns, undisturbed samples; empty if there are no one-way delays */
	struct ns one_way_error;              /* error bound of every one-way delay in the window */
	struct agent_stamp_counts stamps;
	struct agent_clocks clocks;
	struct stamp offset; /* peer's clock minus ours, from the exchange with the shortest round trip; its error is at
				most half of that round trip */
	uint32_t path_count, path_room; /* path_room: allocated length of paths[] */
	struct agent_path_row *paths;
	bool finds_paths;
	uint32_t paths_known;    /* number of paths found so far */
	double paths_confidence; /* 1 - probability that a further path exists */
};

/* Creates a row, which agent_window() can fill any number of times. Returns NULL if out of memory. */
struct agent_row *agent_row_create(const struct agent *agent);
void agent_row_destroy(struct agent_row *row); /* NULL is legal */

/*
 * Ends the current window of the peer with this index, stores its results in *row, and begins the peer's next window.
 * Empties the histograms of the row and exchanges them for the peer's filled ones, so that nothing is copied (as
 * HdrHistogram's recorder does). Probes that are still outstanding count in a later window.
 */
void agent_window(struct agent *agent, size_t index, struct agent_row *row);

/* Discards outstanding probes without counting them: for a run that ends without waiting for answers. */
void agent_abandon(struct agent *agent);

struct agent_summary {
	const char *stamps, *poll; /* the choices in use, for example those made for "auto" */
	uint64_t skipped;          /* probes not sent because a stall had delayed them too long */
	uint64_t unstamped;  /* packets without the kernel's or the NIC's timestamp: the counter's stamp was used */
	uint64_t departures; /* packets whose departure was stamped by the kernel */
	uint64_t send_failures, broken_frames;
	uint64_t unfinished_checksums; /* frames dropped: their sender left the checksum to a NIC, but the kernel did
					  not mark them as unfinished */
	uint64_t bad_hmac;             /* answers to our probes with a wrong HMAC */
	uint64_t other_member;         /* answers that came over another link of a LAG */
	uint64_t forged;               /* answers that echo another timestamp or session than the probe had */
	uint64_t other_vlan;           /* STAMP packets in frames of other VLANs, which are not answered */
	struct ns interval; /* between two probes to a peer; longer than options.interval if probe_pps limits it */
	bool limited;       /* probe_pps limits the interval */
	uint64_t samples_dropped;        /* because agent_take_sample() was called too rarely */
	uint64_t frames_dropped;         /* because agent_take_frame() was called too rarely */
	uint64_t handed_over;            /* frames passed to another agent of the group */
	uint64_t not_handed_over;        /* frames lost because the other agent was too slow */
	struct ns error_bound;           /* error bound of one stamp: half the time that reading the clock took */
	const struct histogram *wake_up; /* ns from the kernel's stamp of a packet's arrival until we received it */
	struct reflector_counters reflector;
	struct dp_port_statistics port;
	uint8_t mac[FRAME_MAC_BYTES];
};

void agent_summarise(struct agent *agent, struct agent_summary *summary);

/*
 * A measurement of limited duration: greets the peers, measures, waits for the last answers, and continues to answer
 * for a while.
 */
struct agent_run {
	struct ns duration; /* of measuring; 0 = no limit */
	struct ns patience; /* maximum wait, before measuring begins, until every peer has answered and, with
			       find_paths, its paths are found */
	struct ns linger;   /* after measuring, answers until no request has arrived for this time, but at most for
			       patience + linger */
	/*
	 * Called about ten times a second; may be NULL. share: completed part of the measuring phase, 0..1; < 0 = not
	 * begun, or of unknown length. phase: name of the current phase.
	 */
	void (*on_tick)(void *context, double share, const char *phase);
	void *context;
	struct ns measured; /* result: duration of the measuring phase */
};

/*
 * Returns at the end, or once *stop is not 0 (outstanding probes are then not counted). Returns 0, or -errno with err
 * set if the interface was removed.
 */
int agent_run(struct agent *agent, struct agent_run *run, const volatile sig_atomic_t *stop, struct error *err);

/*
 * A group of agents (see agent.h), one on each queue of a port and each on a core of its own: the first on the calling
 * thread, the others on EAL's workers. Peers are assigned to the agents in turn. All requests of a flow arrive on the
 * same queue (RSS), and the agent on this queue answers them. An answer that arrives on another agent's queue is passed
 * to the agent that sent the probe.
 */

enum { AGENT_QUEUES_MAXIMUM = 32 };

struct agent_group;

/*
 * The port must have options->queues queues, and EAL must have options->queues - 1 workers. Each agent gets an equal
 * share of total_pps and probe_pps; source_pps applies to each queue separately. Returns NULL with err set.
 */
struct agent_group *agent_group_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
				       const struct dp_clock *clock, struct error *err);
void agent_group_destroy(struct agent_group *group); /* NULL is legal */

/* See agent_add_peer(). The caller ensures that all addresses are different. */
int agent_group_add_peer(struct agent_group *group, const struct peer *peer, struct error *err);
size_t agent_group_peer_count(const struct agent_group *group);
/*
 * Ends the window of a peer, see agent_window(). index: peers are numbered from 0 in the order in which they were
 * added.
 */
void agent_group_window(struct agent_group *group, size_t index, struct agent_row *row);
/* Returns the agent on the first queue, for functions that need one agent, such as agent_row_create(). */
struct agent *agent_group_first(struct agent_group *group);

/* See agent_run(). Returns when all agents have ended: 0, or -errno with err set. */
int agent_group_run(struct agent_group *group, struct agent_run *run, const volatile sig_atomic_t *stop,
		    struct error *err);

/* Sums the counters of all agents; the other fields are those of the first agent. */
void agent_group_summarise(struct agent_group *group, struct agent_summary *summary);

/* Files that an agent's threads write while the agent runs. */

/*
 * Writes an agent's samples to a file while the agent runs, on a separate thread, so that the agent never waits for a
 * disk. model/rtt_samples.h describes the format.
 */

struct sample_file;

/* Agent, peers (for their names) and stream must outlive the file. Returns NULL with err set. */
struct sample_file *sample_file_start(struct agent *agent, const struct peers *peers, FILE *out, struct error *err);
/* Writes the remaining samples and frees the file. NULL is legal. */
void sample_file_stop(struct sample_file *file);

/*
 * Writes the STAMP packets that an agent sends and receives to a pcapng file. A separate thread does this while the
 * agent runs. The stamps in the file are those from which the samples are computed. (A capture on the interface does
 * not contain the packets that an af_packet port sends.)
 */

struct capture_file;

/* Agent and stream must outlive the file; the agent's options.frames must not be 0. Returns NULL with err set. */
struct capture_file *capture_file_start(struct agent *agent, FILE *out, struct error *err);
/* Writes the remaining frames and frees the file. A failed write sets the stream's error flag. NULL is legal. */
void capture_file_stop(struct capture_file *file);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One host's part in the mesh: a STAMP session-reflector, and a session-sender to each peer, on one queue of a DPDK
 * port with its own small IPv4 and IPv6 (ARP, ND, UDP). The caller steps it:
 *
 *   while (!stop) {
 *           struct stamp now = agent_now(agent);
 *           if (!agent_step(agent, now))
 *                   agent_sleep(agent, agent_wake_at(agent));
 *   }
 *
 * and takes a window of each peer's results whenever it wants, agent_window(). agent_run() is this loop for a
 * measurement of limited duration. All functions must be called by one thread, except agent_take_sample(), which
 * another one may call.
 *
 * Stamps: t1 and t3 are the time stamp counter right before the burst that sends; t2 and t4 the counter right after
 * the burst that received, or, on an af_packet port, the kernel's timestamp of the packet's arrival, which does not
 * include the time until this process woke up: there the agent may sleep between packets (AGENT_POLL_ADAPTIVE). On such
 * a port the kernel also reports, later, when a packet left: this corrects t1. A sender that asks for follow-up
 * telemetry gets the departure of the reflector's last answer, and corrects that answer's t3.
 *
 * One-way delays compare two clocks. Both ends state the largest error of their clock against UTC: the error estimates
 * of STAMP, here the kernel's bound (maxerror of ntp_adjtime) or agent_options.clock_error, with that of a stamp. A
 * window has one-way delays, of its undisturbed samples, if both S bits were set in all of them and the two bounds
 * together are less than half of the median round trip. With a larger bound they would add nothing to the round trip,
 * which already implies half of it, plus or minus half of it.
 *
 * A sample is disturbed if a stall of this process may have changed it: its probe left more than `stall` after it was
 * due (the path it takes through the host is cold then), the burst that sent it took longer than that and the kernel
 * did not stamp its departure, or, with the counter's receive stamps, the port was not polled for that long before it
 * arrived.
 */
#ifndef PROBE_AGENT_H
#define PROBE_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

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
	AGENT_POLL_BUSY,     /* never sleeps: a core of its own */
	AGENT_POLL_ADAPTIVE, /* sleeps until a packet arrives or a probe is due; without a socket, 20 us at a time */
};

enum agent_stamps {
	AGENT_STAMPS_AUTO, /* the kernel's on af_packet, else the counter's */
	AGENT_STAMPS_TSC,
	AGENT_STAMPS_KERNEL,
	AGENT_STAMPS_NIC, /* of arrivals, by a port that was opened with hardware_rx_stamps; departures by the counter
			   */
};

/* NULL-terminated, for OPTION_CHOICE. */
extern const char *const agent_poll_names[];
extern const char *const agent_stamps_names[];

enum { AGENT_FRAME_BYTES = 128 }; /* of a captured frame: its headers, the base packet and some of the TLVs */

/* One answered probe. */
struct agent_sample {
	ip_address peer;      /* its address */
	uint16_t source_port; /* identifies the path */
	uint32_t sequence;
	struct stamp sent_at; /* t1, CLOCK_WALL */
	struct ns rtt;        /* without the reflector's residence time */
	struct ns residence;  /* t3 - t2 */
	struct ns offset;     /* the peer's clock minus ours */
	bool disturbed;
};

struct agent_options {
	uint16_t queue;     /* of the port */
	uint16_t queues;    /* of the port, one for each agent of a group, see group.h; 0 = only this one */
	ip_address address; /* ours */
	int prefix_bits;    /* peers outside of address/prefix go to the gateway; 0 = all are on the link */
	ip_address gateway; /* 0 = none */
	uint16_t udp_port;  /* of the reflectors, ours too */
	bool reflect;
	const struct reflector_prefix *allow; /* see reflector_rules; borrowed */
	size_t allow_count;
	uint32_t source_pps, total_pps; /* answers; 0 = no limit */
	uint32_t paths;                 /* UDP source ports to rotate through, 1..256 */
	bool find_paths; /* choose the ports by their paths, up to `paths` of them; see <probe/paths/paths.h> */
	struct ns interval, timeout;
	uint64_t count;       /* probes to each peer; 0 = no limit */
	uint32_t slot, slots; /* probes only when wall_clock / slot_length % slots == slot; slots <= 1: always */
	struct ns slot_length;
	enum agent_poll poll;
	enum agent_stamps stamps;
	enum stamp_format format;
	uint64_t seed;                 /* of source ports and session identifier */
	uint16_t session;              /* SSID of our probes; 0 = chosen at random */
	bool stateless;                /* answers have the sequence number of the request */
	bool poisson;                  /* RFC 2330 section 11.1: times between probes are exponentially distributed */
	uint32_t tlvs;                 /* to request, bits 1 << tlv_type */
	uint16_t member, peer_member;  /* links of a LAG (RFC 9534), ours and the peers'; 0 = none, learned */
	const struct stamp_keys *keys; /* of all sessions that we accept; NULL = no authentication. Borrowed */
	const struct stamp_key *key;   /* key of our own session; sets its SSID. NULL = not authenticated. Borrowed */
	uint32_t probe_pps;            /* maximum rate of probes to all peers; 0 = no limit */
	uint8_t dscp, ecn, ttl;        /* ttl 0 = 255 */
	bool may_fragment;             /* DF is clear */
	bool tagged;                   /* all our frames have this VLAN tag, and frames of other VLANs are ignored */
	uint16_t tag_control;          /* see struct frame_tag */
	uint16_t packet_bytes;         /* IP length of a probe, at least agent_packet_minimum(); 0 = that */
	struct ns stall;               /* see above; 0 = 100 us */
	struct ns clock_error;         /* upper bound of our clock's error against UTC; 0 = the kernel's bound */
	int digits; /* of round trips in histograms: 3 (0, up to 152 KB each) or 2 (22 KB), for thousands of sessions */
	size_t samples; /* kept for agent_take_sample(); 0 = none */
	size_t frames;  /* kept for agent_take_frame(); 0 = none */
};

struct agent;

/* The IP length of a probe without padding. A padded one is at least 4 bytes longer: the header of the padding. */
size_t agent_packet_minimum(const struct agent_options *options);

/* With find_paths: the number of source ports to try, and of paths to measure. */
enum { AGENT_CANDIDATES = 256, AGENT_AUTO_PATHS = 16 };

/* port is open and started; pool holds AGENT_BUFFERS packets. All outlive the agent. */
enum { AGENT_BUFFERS = 8191 };
struct agent *agent_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
			   struct dp_clock *clock, struct error *err);
void agent_destroy(struct agent *agent); /* NULL is legal */

/* Copies the peer. 0, -EEXIST (its address is known, or ours) or -ENOMEM. */
int agent_add_peer(struct agent *agent, const struct peer *peer, struct error *err);
int agent_remove_peer(struct agent *agent, ip_address address); /* 0 or -ENOENT; later peers' indices move down */
size_t agent_peer_count(const struct agent *agent);
/* 0, or -ENODEV with err set: the interface was removed, see dp_port_is_gone(). */
int agent_check_port(const struct agent *agent, struct error *err);
size_t agent_session_bytes(const struct agent *agent); /* memory of all sessions and their results */

enum agent_mode {
	AGENT_QUIET,     /* only answers requests; the initial mode */
	AGENT_GREETING,  /* sends a probe every 50 ms to each peer that has not answered yet; these are not counted */
	AGENT_MEASURING, /* measures as configured by the options */
};
void agent_set_mode(struct agent *agent, enum agent_mode mode);

struct stamp agent_now(const struct agent *agent); /* CLOCK_COUNTER */
/* Handles received packets, answers them and sends what is due. Never waits. True: call it again at once. */
bool agent_step(struct agent *agent, struct stamp now);
/* When a probe or upkeep is due. */
struct stamp agent_wake_at(const struct agent *agent);
/* Sleeps until then or until a packet arrives, if the options permit it. */
void agent_sleep(struct agent *agent, struct stamp until);

/* The oldest sample that has not been taken yet; one other thread may call this. False: there is none. */
bool agent_take_sample(struct agent *agent, struct agent_sample *sample);

/* A STAMP packet that was sent or received. */
struct agent_frame {
	struct stamp at; /* when it was sent or received, CLOCK_WALL: the stamp from which samples are computed */
	bool outbound;
	uint32_t captured, length;
	uint8_t bytes[AGENT_FRAME_BYTES];
};

/* As agent_take_sample(). */
bool agent_take_frame(struct agent *agent, struct agent_frame *frame);

struct agent_path_row {
	uint16_t source_port;
	struct path route; /* with find_paths */
	struct session_counters counters;
	bool lost_forward_known;
	uint64_t lost_forward; /* of counters.lost, never seen by the reflector */
	struct histogram *rtt; /* ns, only undisturbed samples */
};

/* The headers of the newest answer, and those of its request as reported in the answer. */
struct agent_headers {
	bool seen;
	uint8_t request_ttl; /* of the request as it arrived; 0 = unknown */
	uint8_t ttl, dscp, ecn;
	uint8_t sent_ttl; /* of the probe when it was sent */
	bool may_fragment;
	uint64_t congested; /* answers marked "congestion experienced", in the window */
};

/*
 * Numbers of samples whose stamps are better than the default: t1 and t4 by the kernel, or t4 by the NIC, instead of
 * the counter; t3 by the peer's follow-up telemetry instead of the answer itself.
 */
struct agent_stamp_counts {
	uint64_t departures, follow_ups, arrivals, nic_arrivals;
};

/* Clock states reported by both ends; peer: by its newest answer. */
struct agent_clocks {
	bool synchronised, peer_synchronised;
	struct ns error, peer_error;
};

/* Results of one peer in a window. The row owns the histograms. */
struct agent_row {
	struct peer peer;
	bool resolved;     /* its MAC address is known */
	bool unresolvable; /* no MAC for longer than the timeout: its probes count as lost */
	uint8_t mac[FRAME_MAC_BYTES];
	struct stamp began, ended;        /* of the window, CLOCK_WALL */
	struct stamp last_answer;         /* CLOCK_WALL; invalid = none in this window */
	struct session_counters counters; /* of all paths: probes answered or lost in this window */
	uint64_t impossible;              /* answers with impossible stamps, which give no samples */
	uint64_t disturbed;               /* samples included in rtt, but not in undisturbed or a path's figures */
	struct agent_headers headers;
	struct tlv_reading tlvs; /* of the newest answer; no bit in filled or flagged: there are none */
	bool ssid_ignored;       /* it answers with a session identifier of 0, as TWAMP does */
	bool lost_forward_known;
	uint64_t lost_forward;                           /* of counters.lost, never seen by the reflector */
	struct histogram *rtt, *undisturbed, *residence; /* ns, of all paths */
	struct histogram *forward, *backward;            /* ns, undisturbed; empty: no one-way delays */
	struct ns one_way_error;                         /* the largest of theirs: each is right to +- this */
	struct agent_stamp_counts stamps;
	struct agent_clocks clocks;
	struct stamp offset; /* peer's clock minus ours, from the fastest exchange; its error is at most half of that
				round trip */
	uint32_t path_count, path_room; /* room is the row's own */
	struct agent_path_row *paths;
	bool finds_paths;
	uint32_t paths_known;
	double paths_confidence; /* 1 - probability that there is another one */
};

/* A row that agent_window() fills, any number of times. NULL: out of memory. */
struct agent_row *agent_row_create(const struct agent *agent);
void agent_row_destroy(struct agent_row *row); /* NULL is legal */

/*
 * Ends the peer's window and begins the next: swaps its histograms with the row's (as HdrHistogram's recorder does),
 * which are emptied first, so that nothing is copied. Outstanding probes count in a later window.
 */
void agent_window(struct agent *agent, size_t index, struct agent_row *row);

/* Outstanding probes are not counted: for a run that ends without waiting for answers. */
void agent_abandon(struct agent *agent);

struct agent_summary {
	const char *stamps, *poll; /* chosen for "auto" */
	uint64_t skipped;          /* probes not sent because their time had passed */
	uint64_t unstamped;        /* packets without the kernel's timestamp: the counter's stamp was used */
	uint64_t departures;       /* packets whose departure the kernel stamped */
	uint64_t send_failures, broken_frames;
	uint64_t unfinished_checksums; /* dropped: their sender left the checksum to a NIC, and the kernel did not mark
					  them */
	uint64_t bad_hmac;             /* answers to us */
	uint64_t other_member;         /* answers that came over another link of a LAG */
	uint64_t other_vlan;           /* STAMP packets in frames of other VLANs, which are not answered */
	struct ns interval;       /* between two probes to a peer, longer than asked for where probe_pps limits it */
	bool limited;             /* probe_pps limits the interval */
	uint64_t samples_dropped; /* agent_take_sample() was too slow */
	uint64_t frames_dropped;  /* agent_take_frame() was too slow */
	uint64_t handed_over;     /* frames passed to another agent of the group */
	uint64_t not_handed_over; /* lost because the other agent was too slow */
	struct ns error_bound;    /* of one stamp: half the bracket around the clock's reading */
	const struct histogram *wake_up; /* ns from a packet's arrival by the kernel to our taking it */
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
	struct ns patience; /* how long to wait for peers that do not answer yet before measuring begins */
	struct ns linger;   /* continues to answer until no request has arrived for this time */
	/*
	 * Called about ten times a second; share 0..1 of the measuring phase, < 0 = unknown or not begun. May be NULL.
	 */
	void (*on_tick)(void *context, double share, const char *phase);
	void *context;
	struct ns measured; /* result: duration of the measuring phase */
};

/*
 * Returns at the end, or when *stop is not 0: outstanding probes are then not counted. 0 or -errno with err set: the
 * interface was removed.
 */
int agent_run(struct agent *agent, struct agent_run *run, const volatile sig_atomic_t *stop, struct error *err);

#endif

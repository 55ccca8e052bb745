/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One host's part in the mesh: a STAMP session-reflector, and a session-sender to each peer, on one DPDK port with
 * its own little IPv4 (ARP, UDP). One thread runs it; nothing here is shared.
 *
 * Stamps: t1 and t3 are the time stamp counter right before the burst that sends; t2 and t4 the counter right after
 * the burst that received, or, on an af_packet port, the kernel's stamp of the packet's arrival, which leaves out how
 * long this process took to wake up. So the agent may sleep between packets there (AGENT_POLL_ADAPTIVE).
 */
#ifndef PROBE_AGENT_H
#define PROBE_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/ns.h>
#include <dp/clock.h>
#include <dp/port.h>
#include <model/peers.h>
#include <probe/rtt/reflector.h>
#include <probe/rtt/session.h>
#include <probe/rtt/stamp.h>

enum agent_poll {
	AGENT_POLL_AUTO,     /* adaptive on a Linux interface, else busy */
	AGENT_POLL_BUSY,     /* never sleeps: a core of its own */
	AGENT_POLL_ADAPTIVE, /* sleeps until a packet arrives or a probe is due; without a socket, 20 us at a time */
};

enum agent_stamps {
	AGENT_STAMPS_AUTO, /* the kernel's on af_packet, else the counter's */
	AGENT_STAMPS_TSC,
	AGENT_STAMPS_KERNEL,
};

/* NULL-terminated, for OPTION_CHOICE. */
extern const char *const agent_poll_names[];
extern const char *const agent_stamps_names[];

/* One answered probe, as it comes in. */
struct agent_sample {
	const struct peer *peer;
	uint16_t source_port; /* which path it took */
	uint32_t sequence;
	struct ns sent_at;   /* t1, wall clock */
	struct ns rtt;       /* without the reflector's time */
	struct ns residence; /* t3 - t2 */
	struct ns offset;    /* the peer's clock minus ours */
};

struct agent_options {
	const struct peers *peers; /* NULL or empty: only answers. Kept, not copied */
	uint32_t address;          /* ours, host order; a peer with it is left out */
	int prefix_bits;           /* peers outside of address/prefix go to the gateway; 0 = all are on the link */
	uint32_t gateway;          /* 0 = none */
	uint16_t udp_port;         /* of the reflectors, ours too */
	bool reflect;
	uint32_t paths; /* UDP source ports to rotate through, 1..256 */
	struct ns interval, timeout;
	struct ns duration;   /* of measuring; 0 = no limit */
	uint64_t count;       /* probes to each peer; 0 = no limit */
	struct ns patience;   /* how long to wait for peers that don't answer yet before measuring begins */
	struct ns linger;     /* goes on answering until nobody asked for so long */
	uint32_t slot, slots; /* probes only when wall_clock / slot_length % slots == slot; slots <= 1: always */
	struct ns slot_length;
	enum agent_poll poll;
	enum agent_stamps stamps;
	enum stamp_format format;
	uint64_t seed;     /* of source ports and session identifier */
	uint8_t dscp, ttl; /* ttl 0 = 255 */
	void (*on_sample)(void *context, const struct agent_sample *sample); /* may be NULL */
	/* Called about ten times a second while it runs; share 0..1 of the measuring, < 0 = unknown or not begun. */
	void (*on_tick)(void *context, double share, const char *phase);
	void *context;
};

struct agent;

/* port is open and started; pool holds AGENT_BUFFERS packets. All outlive the agent. */
enum { AGENT_BUFFERS = 8191 };
struct agent *agent_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
			   struct dp_clock *clock, struct error *err);
void agent_destroy(struct agent *agent); /* NULL is legal */

/* Until measuring is over, or *stop is not 0: probes that are out then count nowhere. */
void agent_run(struct agent *agent, const volatile sig_atomic_t *stop);

struct agent_path_result {
	uint16_t source_port;
	struct session_counters counters;
	const struct histogram *rtt; /* ns */
};

struct agent_peer_result {
	const struct peer *peer;
	bool resolved; /* there is a MAC for it */
	uint8_t mac[FRAME_MAC_BYTES];
	struct session_counters counters; /* of all paths */
	uint64_t lost_forward;            /* of counters.lost, never seen by the reflector */
	const struct histogram *rtt;      /* ns, of all paths */
	const struct histogram *residence;
	struct ns offset; /* of the fastest exchange, whose error is at most half its delay */
	uint32_t path_count;
};

struct agent_summary {
	const char *stamps, *poll; /* what "auto" came to */
	struct ns measured;        /* wall time of measuring */
	uint64_t skipped;          /* probes not sent because their time had passed */
	uint64_t unstamped;        /* packets whose kernel stamp was missing: the counter's was used */
	uint64_t send_failures, broken_frames;
	struct ns error_bound; /* of one stamp: half the bracket around the clock's reading */
	struct reflector_counters reflector;
	struct dp_port_statistics port;
	uint8_t mac[FRAME_MAC_BYTES];
};

/* Results lie in the agent and hold until the next run or destroy. */
size_t agent_peer_count(const struct agent *agent);
void agent_peer_result(struct agent *agent, size_t index, struct agent_peer_result *result);
void agent_path_result(struct agent *agent, size_t index, uint32_t path, struct agent_path_result *result);
void agent_summary(struct agent *agent, struct agent_summary *summary);

#endif

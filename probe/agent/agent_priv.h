/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by agent.c (creation, results), agent_step.c (packets), agent_frames.c (probes as bytes), prober_prefetch.c
 * and agent_run.c (a measurement of limited duration).
 */
#ifndef PROBE_AGENT_PRIV_H
#define PROBE_AGENT_PRIV_H

#include <probe/agent/agent.h>

#include "kernel_stamps_priv.h"
#include "neighbours_priv.h"
#include "nic_clock_priv.h"
#include "prober_priv.h"

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

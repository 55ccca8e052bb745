/* SPDX-License-Identifier: BSD-3-Clause */
/* What agent.c (making, asking) and agent_loop.c (running) share. */
#ifndef PROBE_AGENT_PRIV_H
#define PROBE_AGENT_PRIV_H

#include <probe/agent/agent.h>

#include "doorbell_priv.h"
#include "neighbours_priv.h"
#include "prober_priv.h"

enum { AGENT_BURST = 32 };

struct agent {
	struct agent_options options;
	struct dp_port *port;
	uint16_t port_id;
	struct dp_pool *pool;
	struct dp_clock *clock;
	uint8_t mac[FRAME_MAC_BYTES];
	bool answers_arp; /* the kernel does not */
	bool sleeps;
	bool kernel_stamps;
	struct doorbell *doorbell; /* NULL: not an af_packet port */
	struct neighbours neighbours;
	struct prober prober;
	struct reflector *reflector;
	struct stamp_error_estimate error_estimate;
	struct ns error_bound;
	uint64_t last_request; /* ticks */
	uint64_t unstamped, send_failures, broken_frames;
	uint64_t measure_begin, measure_end; /* ticks */
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agents on the queues of one port, each with a core of its own: the first on the calling thread, the others on EAL's
 * workers. Peers are assigned to them in turn. Requests are answered by the agent on whose queue they arrive, which is
 * the same for all packets of a flow (RSS); answers that arrive on another agent's queue are passed to the right one.
 * Each agent is as in agent.h.
 */
#ifndef PROBE_GROUP_H
#define PROBE_GROUP_H

#include <probe/agent/agent.h>

enum { AGENT_QUEUES_MAXIMUM = 32 };

struct agent_group;

/*
 * The port has options->queues queues, and EAL one worker less. Limits of all (total_pps, probe_pps) are shared evenly;
 * source_pps counts on each queue. NULL with err set.
 */
struct agent_group *agent_group_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
				       const struct dp_clock *clock, struct error *err);
void agent_group_destroy(struct agent_group *group); /* NULL is legal */

/* See agent_add_peer(); all peers have different addresses. */
int agent_group_add_peer(struct agent_group *group, const struct peer *peer, struct error *err);
size_t agent_group_peer_count(const struct agent_group *group);
/* The window of the peer that was added as number `index`, see agent_window(). */
void agent_group_window(struct agent_group *group, size_t index, struct agent_row *row);
/* For sample files and rows: the agent on the first queue. */
struct agent *agent_group_first(struct agent_group *group);

/* See agent_run(); returns when all have ended. 0 or -errno with err set. */
int agent_group_run(struct agent_group *group, struct agent_run *run, const volatile sig_atomic_t *stop,
		    struct error *err);

/* The sum of all. */
void agent_group_summarise(struct agent_group *group, struct agent_summary *summary);

#endif

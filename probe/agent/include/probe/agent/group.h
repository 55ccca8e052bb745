/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of agents (see agent.h), one on each queue of a port and each on a core of its own: the first on the calling
 * thread, the others on EAL's workers. Peers are assigned to the agents in turn. All requests of a flow arrive on the
 * same queue (RSS), and the agent on this queue answers them. An answer that arrives on another agent's queue is passed
 * to the agent that sent the probe.
 */
#ifndef PROBE_GROUP_H
#define PROBE_GROUP_H

#include <probe/agent/agent.h>

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

#endif

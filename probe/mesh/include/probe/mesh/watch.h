/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures continuously: steps an agent, ends a window of each peer in turn, and publishes its figures in a live
 * matrix. The ends of the windows of n peers are spread evenly over a window's length, so that there is never much to
 * do at once. The calling thread owns the agent and only exchanges histograms; another one computes, publishes, and
 * reads the peers file again when it changes: peers join and leave while the agent runs.
 */
#ifndef MESH_WATCH_H
#define MESH_WATCH_H

#include <signal.h>

#include <base/error.h>
#include <model/latency_live.h>
#include <probe/agent/agent.h>

struct mesh_watch_state {
	uint64_t windows; /* published, of all peers */
	uint64_t peers;
	uint64_t unreachable; /* peers, by their last windows */
	uint64_t late;        /* windows that ended later than a tenth of their length */
};

struct mesh_watch {
	const char *host;       /* our name in the matrix */
	ip_address address;     /* ours: that line of the peers file is left out, and gives our rack */
	const char *peers_path; /* looked at once a window */
	struct ns window;
	double error_us; /* bound of one stamp's error, for the matrix */
	struct latency_matrix *live;
	/* Called by the publishing thread after each round of windows; may be NULL. */
	void (*on_round)(void *context, const struct mesh_watch_state *state);
	void *context;
	struct mesh_watch_state state; /* set at the end */
};

/*
 * Runs until *stop is not 0. `peers` are the initial ones, which the agent must not have yet. 0 or -errno with err set:
 * no peers to add, out of memory, the live matrix is full at the start.
 */
int mesh_watch_run(struct agent *agent, const struct peers *peers, struct mesh_watch *watch,
		   const volatile sig_atomic_t *stop, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures continuously: runs an agent, and publishes the figures of each peer in a live matrix once per window, the
 * interval over which they are collected. The windows of the peers end one after the other, evenly spread, to spread
 * the work. The calling thread owns the agent; at the end of a window it only swaps the full histograms for empty ones.
 * A second thread computes and publishes the figures, and reads the peers file again when it changes: peers join and
 * leave while the agent runs.
 */
#ifndef MESH_WATCH_H
#define MESH_WATCH_H

#include <signal.h>

#include <base/error.h>
#include <model/latency_live.h>
#include <probe/agent/agent.h>

struct mesh_watch_state {
	uint64_t windows; /* number published, of all peers together */
	uint64_t peers;
	uint64_t unreachable; /* number of peers that were unreachable in their last window */
	uint64_t late;        /* number of windows that ended too late, by more than a tenth of their length */
};

struct mesh_watch {
	const char *host;   /* our name in the matrix */
	ip_address address; /* our address; the peers file's line with this address is not probed, but gives our rack */
	const char *peers_path; /* checked for changes; NULL: the peers stay the same */
	struct ns window;
	double error_us; /* bound on the error of one stamp, for the matrix */
	struct latency_matrix *live;
	/* Called by the publishing thread each time that all peers' windows were published; may be NULL. */
	void (*on_round)(void *context, const struct mesh_watch_state *state);
	void *context;
	struct mesh_watch_state state; /* set at the end */
};

/*
 * Runs until *stop is not 0. `peers`: the initial peers, which must not have been added to the agent yet. Returns 0, or
 * -errno with err set, for example if a peer cannot be added or the live matrix is full at the start.
 */
int mesh_watch_run(struct agent *agent, const struct peers *peers, struct mesh_watch *watch,
		   const volatile sig_atomic_t *stop, struct error *err);

#endif

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
#include <probe/mesh/row.h>

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

/*
 * Which links explain that some paths of a prober are worse than its other paths. Keeps the paths of each peer's last
 * three windows, with --paths auto. Pure; one thread.
 *
 * A path is
 *   - slow if its median round trip exceeds that of the peer's best path by over a half and by over 20 us, of at least
 *     5 undisturbed samples each, in two windows one after the other
 *   - silent if all of at least 5 probes of a window were lost, while the peer answers on other paths
 *   - lossy by the number of probes that were lost on the way there in three windows
 *
 * A culprit is a link over which paths are slow or silent, or probes are lost, so much more often than normal that
 * chance does not explain it (<base/quantile.h>). Normal is the share on all other paths: answers may return over
 * another path, so good paths look slow or silent as well. For losses, normal is at least 0.1 % and the loss of the
 * other paths to the same peer: what a peer or the prober itself loses accuses no link. Also,
 *   - slow: at least 3/4 of the paths over the link, and at least 4
 *   - lossy: over 0.5 % of the probes are lost, some in the newest window and some before, and the likelihood ratio is
 *     at least 10^6 times the number of links, because a mesh has many probers
 *
 * The paths that a culprit explains do not count in the search for the next one.
 */

struct culprits;

struct culprits *culprits_create(void);           /* NULL: out of memory */
void culprits_destroy(struct culprits *culprits); /* NULL is legal */
/*
 * Takes the paths of a peer's window in place of its older ones; of a peer that never answered in it, forgets them.
 * Returns 0 or -ENOMEM.
 */
int culprits_take(struct culprits *culprits, const struct mesh_pair *pair);
/* Forgets the paths of peers that are not in the list. */
void culprits_keep(struct culprits *culprits, const struct peers *peers);
/*
 * Sets entry->hop, next_hop, hop_us and hop_loss of the peer's entry if one of its own paths over a culprit is bad. A
 * pair names one culprit: the one that fewest paths cross, so that each culprit is named by some pairs.
 */
void culprits_name(const struct culprits *culprits, ip_address peer, struct latency_entry *entry);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The k shortest loopless paths between the switches of a network, by number of links ("Topology-Map", Alkaff and
 * Gupta, "Cross-Layer Scheduling in Cloud Computing Systems", section 2).
 *
 * Paths are computed per destination when they are first requested, over all links, whether up or down: when links fail
 * or return, the stored paths remain valid and the caller filters them (topology_path_up()). If there are more paths of
 * one length than are still needed for k paths, the stored ones are drawn uniformly from them, so that paths of equal
 * length share the load. The same seed gives the same paths, whatever the order of the requests.
 *
 * Method: dynamic programming computes W[i][v], the number of walks of i links from v to the destination. Path lengths
 * are tried in increasing order, beginning with the distance. Walks of one length are drawn at random, with
 * probabilities from W, and kept if they have no loop. If there are few walks, or the draws do not find enough paths,
 * all paths of that length are enumerated, so the lengths are exactly those of the k shortest paths.
 *
 * Work per destination: O(number of lengths tried * links of the network), and about k draws for each switch as source.
 * Memory: 2 bytes per link of a stored path. Only one thread at a time may use a struct topology_paths;
 * topology_paths_compute_all() starts threads of its own.
 */
#ifndef SCHED_TOPOLOGY_PATHS_H
#define SCHED_TOPOLOGY_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/path_map.h>

enum {
	TOPOLOGY_PATHS_K_MAXIMUM = PATH_MAP_K_MAXIMUM,
	TOPOLOGY_PATHS_LINKS_MAXIMUM = PATH_MAP_LINKS_MAXIMUM, /* maximum number of links of a path */
	TOPOLOGY_PATHS_DETOUR = 4,                             /* default of topology_paths_options.detour */
};

struct topology_paths_options {
	uint32_t k;      /* maximum number of paths per pair of switches, 1..TOPOLOGY_PATHS_K_MAXIMUM */
	uint32_t detour; /* maximum number of links that a path has more than the shortest path of its pair */
	uint64_t seed;
	/*
	 * The file of the paths of all pairs (model/path_map.h). If it exists, they are read from it; if not, they are
	 * computed and written to it. NULL: the paths are computed when they are first requested.
	 */
	const char *file;
};

/* One path: its links in order from the source, as numbers of the topology's links. */
struct topology_path {
	uint32_t count;
	uint32_t links[TOPOLOGY_PATHS_LINKS_MAXIMUM];
};

struct topology_paths;

/*
 * The topology is borrowed; nodes and links must not be added afterwards. Returns NULL with err set if the options or
 * the file are bad, the file cannot be written, a node has too many links, or memory is short.
 */
struct topology_paths *topology_paths_create(const struct topology *topology,
					     const struct topology_paths_options *options, struct error *err);
void topology_paths_destroy(struct topology_paths *paths); /* NULL is legal */

/*
 * Writes the paths from switch `from` to switch `to`, shortest first, to found[k]. Returns their number (0: none; 1, a
 * path without links, if from == to), or -ENOMEM.
 */
int topology_paths_between(struct topology_paths *paths, uint32_t from, uint32_t to, struct topology_path *found);

/* Computes the paths of all pairs, in `threads` threads. Returns 0 or -ENOMEM. */
int topology_paths_compute_all(struct topology_paths *paths, uint32_t threads);

/* Returns true if all links of the path are up. */
bool topology_path_up(const struct topology *topology, const struct topology_path *path);

#endif

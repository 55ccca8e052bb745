/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The k shortest loopless paths between the switches of a network, by number of links ("Topology-Map", Alkaff and
 * Gupta, "Cross-Layer Scheduling in Cloud Computing Systems", section 2).
 *
 * The paths to a destination are computed when they are first requested. They use all links, whether up or down, and so
 * remain valid when links fail or return: the caller skips those that are down. If there are more
 * paths of the greatest length than are needed for k paths, a random choice of them is stored, so that paths of equal
 * length share the load. The same seed gives the same paths, whatever the order of the requests.
 *
 * Method: dynamic programming computes the number of walks from each switch to the destination, by their length. Path
 * lengths are tried in increasing order, beginning with the distance. By these numbers, walks of a length are drawn
 * with equal probability; those without a loop are kept. If there are few walks, or the draws do not find enough paths,
 * all paths of the length are enumerated. So no shorter path is missed.
 *
 * Time per destination: O(number of lengths tried * links of the network), and about k draws for each source switch.
 * Memory: 2 bytes per link of a stored path, which has at most 65,535 links. Only one thread at a time may use a struct
 * topology_paths; topology_paths_compute_all() starts its own threads.
 */
#ifndef SCHED_TOPOLOGY_PATHS_H
#define SCHED_TOPOLOGY_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/path_map.h>

enum {
	TOPOLOGY_PATHS_K_MAXIMUM = PATH_MAP_K_MAXIMUM,
	TOPOLOGY_PATHS_DETOUR = 4, /* default of topology_paths_options.detour */
	TOPOLOGY_PATHS_DETOUR_MAXIMUM = 63,
};

struct topology_paths_options {
	uint32_t k; /* maximum number of paths per pair of switches, 1..TOPOLOGY_PATHS_K_MAXIMUM */
	/* Maximum number of extra links of a path, compared with the shortest path of the pair. */
	uint32_t detour; /* 0..TOPOLOGY_PATHS_DETOUR_MAXIMUM */
	uint64_t seed;
	/*
	 * File with the paths of all pairs (model/path_map.h). If the file exists, reads the paths from it. If not,
	 * computes all paths and creates the file. NULL: computes paths when they are first requested.
	 */
	const char *file;
};

/* One path: its links in order from the source, as numbers of the topology's links. */
struct topology_path {
	uint32_t count;
	const uint32_t *links;
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
 * Writes the paths from switch `from` to switch `to`, shortest first, to found[k]. Returns the number of paths, or
 * -ENOMEM. If from == to, there is one path, without links. The arrays of links belong to `paths` and are valid until
 * the next call.
 */
int topology_paths_between(struct topology_paths *paths, uint32_t from, uint32_t to, struct topology_path *found);

/* Computes the paths of all pairs, in `threads` threads. Returns 0 or -ENOMEM. */
int topology_paths_compute_all(struct topology_paths *paths, uint32_t threads);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stored k shortest paths between the switches of a network ("Topology-Map" of the cross-layer paper), and their
 * file. sched/topology/paths.h computes and uses them.
 *
 * For each switch t there is an array of 16-bit numbers with the paths from the switches s < t. A path from s to t is
 * its number of links and then, for each link, the position of the next switch in the adjacency (model/topology.h) of
 * the previous switch. For s > t, the paths from s to t are the paths from t to s, reversed.
 *
 * A file is valid for one topology: the kinds and the number of the nodes, and the ends of the links, must be the same;
 * names, capacities and the state of links do not matter. The reader checks every path: it joins switches by links, it
 * has no loop, and the paths of a pair begin with the shortest. docs/formats.md has the layout. Plain data.
 */
#ifndef MODEL_PATH_MAP_H
#define MODEL_PATH_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <model/topology.h>

enum { PATH_MAP_K_MAXIMUM = 64 };

/*
 * Paths to one switch t: those from s < t are at first[s] .. first[s + 1] - 1 of ports[]. first is NULL if none are
 * stored.
 */
struct path_map_to {
	uint32_t *first;
	uint16_t *ports;
};

struct path_map {
	uint32_t k;      /* paths per pair, 1..PATH_MAP_K_MAXIMUM */
	uint32_t detour; /* maximum number of links that a path has more than the shortest path of its pair */
	uint64_t seed;   /* of the random choice among equally long paths */
	uint32_t node_count;
	struct path_map_to *to; /* by node */
};

/*
 * Makes an empty map. Returns 0 or -ENOMEM. path_map_clear() frees the memory of a map, and may be called for a zeroed
 * one.
 */
int path_map_init(struct path_map *map, const struct topology *topology, uint32_t k, uint32_t detour, uint64_t seed);
void path_map_clear(struct path_map *map);

/*
 * Writes a map that has the paths of all switches; the file is written whole or not at all. Returns 0, or -errno with
 * err set.
 */
int path_map_save(const struct path_map *map, const struct topology *topology, const char *path, struct error *err);

/*
 * Reads a file (plain or gzip, "-" = stdin) into an empty map. Refuses a damaged file, and a file that was made for
 * another topology, k, detour or seed. Returns 0; or -errno with err set, and the map is still empty.
 */
int path_map_load(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		  const char *path, struct error *err);
int path_map_parse(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		   const char *name, const char *bytes, size_t count, struct error *err);

/* Returns the checksum of these bytes. The last 8 bytes of a file are the checksum of all bytes before them. */
uint64_t path_map_checksum(const char *bytes, size_t count);

#endif

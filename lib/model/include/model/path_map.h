/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stored k shortest paths between the switches of a network ("Topology-Map" of the cross-layer paper), and their
 * file. sched/topology/paths.h computes and uses them.
 *
 * For each switch t there is a text of 16-bit numbers for the switches s < t: a path from s to t is its number of links
 * and then, for each link, the place of the next switch in the adjacency (model/topology.h) of the switch before. Paths
 * of s > t are those of (t, s) backwards.
 *
 * The file belongs to one topology: its nodes by kind and number, and its links by their ends; names, capacities and
 * the state of links do not matter. It is read as a whole and every path in it is checked: joined links between
 * switches, no loop, shortest first. docs/formats.md has its layout. Plain data.
 */
#ifndef MODEL_PATH_MAP_H
#define MODEL_PATH_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <model/topology.h>

enum {
	PATH_MAP_K_MAXIMUM = 64,
	PATH_MAP_LINKS_MAXIMUM = 64, /* of one path */
};

/* Paths to one switch t: those from s < t are at first[s] .. first[s + 1] - 1 of ports. first NULL: none stored. */
struct path_map_to {
	uint32_t *first;
	uint16_t *ports;
};

struct path_map {
	uint32_t k;      /* paths per pair, 1..PATH_MAP_K_MAXIMUM */
	uint32_t detour; /* a path is at most this much longer than its pair's shortest */
	uint64_t seed;   /* of the choice among equal paths */
	uint32_t node_count;
	struct path_map_to *to; /* by node */
};

/* An empty map: 0 or -ENOMEM. path_map_clear() frees it and what it holds; a zero map is legal. */
int path_map_init(struct path_map *map, const struct topology *topology, uint32_t k, uint32_t detour, uint64_t seed);
void path_map_clear(struct path_map *map);

/* Writes a map with all switches, the file whole or not at all. 0 or -errno with err set. */
int path_map_save(const struct path_map *map, const struct topology *topology, const char *path, struct error *err);

/*
 * Reads a file (plain or gzip, "-" = stdin) into an empty map. Refused: a file of another topology, k, detour or seed,
 * and a damaged one. 0 or -errno with err set and the map still empty.
 */
int path_map_load(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		  const char *path, struct error *err);
int path_map_parse(struct path_map *map, const struct topology *topology, const struct topology_adjacency *adjacency,
		   const char *name, const char *bytes, size_t count, struct error *err);

/* The file's last 8 bytes: the checksum of those before. */
uint64_t path_map_checksum(const char *bytes, size_t count);

#endif

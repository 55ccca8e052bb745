/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the store of paths (paths.c) and the search for them (search.c). */
#ifndef SCHED_TOPOLOGY_PATHS_PRIV_H
#define SCHED_TOPOLOGY_PATHS_PRIV_H

#include <model/path_map.h>
#include <sched/topology/paths.h>

/*
 * A step from a switch to a neighbouring switch. to: the neighbour's index (see index_of). port: the position of the
 * link in the list of links of the switch where the step begins (struct topology_adjacency).
 */
struct step {
	uint32_t to;
	uint16_t port;
};

struct topology_paths {
	const struct topology *topology;
	struct topology_adjacency *adjacency;
	/*
	 * index_of[node]: switches have indexes from 0, in the order of their node numbers. Unspecified for a host.
	 */
	uint32_t switch_count;
	uint32_t *index_of;
	/* The steps from the switch with index i: steps[first_step[i]] .. steps[first_step[i + 1] - 1]. */
	uint32_t *first_step;
	struct step *steps;
	struct topology_paths_options options;
	uint32_t *links; /* the links of the paths that topology_paths_between() returned last */
	size_t links_capacity;
	struct path_map map; /* map.to[n].first is NULL until the paths to switch n are computed */
};

/* The work space of one thread. topology_search_create() returns NULL if out of memory. */
struct topology_search;
struct topology_search *topology_search_create(const struct topology_paths *paths);
void topology_search_destroy(struct topology_search *search); /* NULL is legal */

/*
 * Computes the paths to switch `to` (a node number) from every switch with a lower number. Returns 0, or -ENOMEM with
 * *stored unchanged.
 */
int topology_search_to(struct topology_search *search, uint32_t to, struct path_map_to *stored);

#endif

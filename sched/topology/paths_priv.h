/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the store of paths (paths.c) and the search for them (search.c). */
#ifndef SCHED_TOPOLOGY_PATHS_PRIV_H
#define SCHED_TOPOLOGY_PATHS_PRIV_H

#include <model/path_map.h>
#include <sched/topology/paths.h>

struct topology_paths {
	const struct topology *topology;
	struct topology_adjacency *adjacency;
	struct topology_paths_options options;
	struct path_map map; /* [0] is NULL: not computed */
};

/* The workspace of one thread. NULL if out of memory. */
struct topology_search;
struct topology_search *topology_search_create(const struct topology_paths *paths);
void topology_search_destroy(struct topology_search *search); /* NULL is legal */

/* Computes the paths from every switch below `to` to `to`. 0 or -ENOMEM; then *stored is unchanged. */
int topology_search_to(struct topology_search *search, uint32_t to, struct path_map_to *stored);

#endif

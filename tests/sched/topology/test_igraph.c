/* SPDX-License-Identifier: BSD-3-Clause */
/* The lengths of the stored paths are those that igraph's Yen finds, on standard fabrics. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include <igraph/igraph.h>

#include <base/rng.h>
#include <sched/topology/paths.h>

enum { K = 10, PAIRS = 100 };

/* A graph of the switches and the links between them. */
static void make_graph(igraph_t *graph, const struct topology *topology)
{
	igraph_vector_int_t ends;

	cr_assert_eq(igraph_vector_int_init(&ends, 0), IGRAPH_SUCCESS);
	for (uint32_t l = 0; l < topology->link_count; l++) {
		const struct topology_link *link = &topology->links[l];

		if (topology->nodes[link->a].kind == TOPOLOGY_HOST || topology->nodes[link->b].kind == TOPOLOGY_HOST)
			continue;
		igraph_vector_int_push_back(&ends, link->a);
		igraph_vector_int_push_back(&ends, link->b);
	}
	cr_assert_eq(igraph_create(graph, &ends, topology->node_count, IGRAPH_UNDIRECTED), IGRAPH_SUCCESS);
	igraph_vector_int_destroy(&ends);
}

static void expect_lengths_of_pair(const igraph_t *graph, struct topology_paths *paths, uint32_t from, uint32_t to)
{
	struct topology_path found[K];
	igraph_vector_int_list_t peer;
	int count = topology_paths_between(paths, from, to, found);

	cr_assert_eq(igraph_vector_int_list_init(&peer, 0), IGRAPH_SUCCESS);
	cr_assert_eq(igraph_get_k_shortest_paths(graph, NULL, NULL, &peer, K, from, to, IGRAPH_ALL), IGRAPH_SUCCESS);
	cr_assert_eq(count, igraph_vector_int_list_size(&peer), "%u to %u: %d paths", from, to, count);
	for (int i = 0; i < count; i++) { /* a list of edges for each path, shortest first */
		igraph_integer_t links = igraph_vector_int_size(igraph_vector_int_list_get_ptr(&peer, i));

		cr_assert_eq(found[i].count, links, "%u to %u, path %d: %u links, igraph %d", from, to, i,
			     found[i].count, (int)links);
	}
	igraph_vector_int_list_destroy(&peer);
}

/* All of the k shortest paths of the fabrics are within the default detour, which igraph does not limit. */
static void expect_lengths(struct topology *topology)
{
	struct topology_paths_options options = {.k = K, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct topology_paths *paths = topology_paths_create(topology, &options, NULL);
	uint32_t *switches = malloc(topology->node_count * sizeof *switches), count = 0;
	igraph_t graph;
	struct rng rng;

	for (uint32_t n = 0; n < topology->node_count; n++)
		if (topology->nodes[n].kind == TOPOLOGY_SWITCH)
			switches[count++] = n;
	make_graph(&graph, topology);
	rng_seed(&rng, 1);
	for (int i = 0; i < PAIRS; i++) {
		uint32_t from = (uint32_t)rng_below(&rng, count), to = (uint32_t)rng_below(&rng, count - 1);

		expect_lengths_of_pair(&graph, paths, switches[from], switches[to + (to >= from)]);
	}
	igraph_destroy(&graph);
	free(switches);
	topology_paths_destroy(paths);
	topology_destroy(topology);
}

Test(igraph, fat_tree)
{
	expect_lengths(topology_fat_tree(8, 0, 100, NULL));
}

Test(igraph, jellyfish)
{
	expect_lengths(topology_jellyfish(60, 10, 60, 100, 1, NULL));
}

Test(igraph, leaf_spine)
{
	expect_lengths(topology_from_argument("leafspine:12,4,24", 100, 0, NULL));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The k = 10 shortest paths between all switches of three networks on one thread, and igraph's Yen on a sample of the
 * same pairs for comparison. CPU seconds; one JSON line per network.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_IGRAPH
#include <igraph/igraph.h>
#endif

#include <base/ns.h>
#include <base/rng.h>
#include <sched/topology/paths.h>

enum { K = 10, SAMPLE = 100 };

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Seconds per pair; 0 without igraph. */
static double igraph_seconds(const struct topology *topology, uint32_t switches)
{
	double seconds = 0;
#ifdef HAVE_IGRAPH
	igraph_t graph;
	struct rng rng;

	rng_seed(&rng, 1);
	igraph_set_warning_handler(igraph_warning_handler_ignore);
	igraph_empty(&graph, (igraph_integer_t)topology->node_count, IGRAPH_UNDIRECTED);
	for (uint32_t l = 0; l < topology->link_count; l++)
		if (topology->nodes[topology->links[l].a].kind == TOPOLOGY_SWITCH &&
		    topology->nodes[topology->links[l].b].kind == TOPOLOGY_SWITCH)
			igraph_add_edge(&graph, topology->links[l].a, topology->links[l].b);
	seconds = ns_to_s(ns_now_cpu());
	for (int i = 0; i < SAMPLE; i++) {
		igraph_vector_int_list_t found;
		uint32_t from = (uint32_t)rng_below(&rng, switches), to = (uint32_t)rng_below(&rng, switches - 1);

		igraph_vector_int_list_init(&found, 0);
		igraph_get_k_shortest_paths(&graph, NULL, NULL, &found, K, from, to + (to >= from), IGRAPH_ALL);
		igraph_vector_int_list_destroy(&found);
	}
	seconds = (ns_to_s(ns_now_cpu()) - seconds) / SAMPLE;
	igraph_destroy(&graph);
#else
	(void)topology;
	(void)switches;
#endif
	return seconds;
}

/*
 * Saves the paths and loads them again. Returns the seconds of the load, negative on failure; *MB is the file's size.
 */
static double load_seconds(const struct topology *topology, const struct topology_paths_options *options, double *MB)
{
	char folder[] = "/tmp/bench_paths.XXXXXX", file[sizeof folder + 8];
	struct topology_paths_options stored = *options;
	struct topology_paths *paths[2] = {NULL};
	double seconds = 0;
	FILE *opened;

	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof file, "%s/map", folder);
	stored.file = file;
	for (int i = 0; i < 2; i++) { /* the first pass computes and writes the paths */
		seconds = ns_to_s(ns_now_cpu());
		paths[i] = topology_paths_create(topology, &stored, NULL);
		seconds = paths[i] ? ns_to_s(ns_now_cpu()) - seconds : -1;
	}
	opened = fopen(file, "r");
	if (opened && fseek(opened, 0, SEEK_END) == 0)
		*MB = (double)ftell(opened) / 1e6;
	if (opened)
		fclose(opened);
	for (int i = 0; i < 2; i++)
		topology_paths_destroy(paths[i]);
	unlink(file);
	rmdir(folder);
	return seconds;
}

static int run(const char *name, struct topology *topology)
{
	struct topology_paths_options options = {.k = K, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	uint32_t switches = topology ? topology->node_count - topology->host_count : 0;
	double pairs = (double)switches * (switches - 1) / 2, seconds, load, MB = 0, peer;
	size_t bytes = allocated_bytes();
	struct topology_paths *paths = topology ? topology_paths_create(topology, &options, NULL) : NULL;

	seconds = ns_to_s(ns_now_cpu());
	if (!paths || topology_paths_compute_all(paths, 1) < 0) {
		fprintf(stderr, "bench_paths: %s: out of memory\n", name);
		return 1;
	}
	seconds = ns_to_s(ns_now_cpu()) - seconds;
	bytes = allocated_bytes() - bytes;
	load = load_seconds(topology, &options, &MB);
	peer = igraph_seconds(topology, switches);
	printf("{\"benchmark\": \"topology_paths\", \"network\": \"%s\", \"switches\": %u, \"pairs\": %.0f, "
	       "\"seconds\": %.4f, "
	       "\"us_per_pair\": %.3f, \"MB\": %.1f, \"load_seconds\": %.4f, \"file_MB\": %.1f, "
	       "\"igraph_us_per_pair\": %.1f, \"times_igraph\": %.0f}\n",
	       name, switches, pairs, seconds, seconds / pairs * 1e6, (double)bytes / 1e6, load, MB, peer * 1e6,
	       peer > 0 ? peer / (seconds / pairs) : 0);
	topology_paths_destroy(paths);
	topology_destroy(topology);
	return 0;
}

int main(void)
{
	return run("fat-tree 16", topology_fat_tree(16, 0, 100, NULL)) |
	       run("jellyfish 320 x 15", topology_jellyfish(320, 15, 320, 100, 1, NULL)) |
	       run("jellyfish 1000 x 15", topology_jellyfish(1000, 15, 1000, 100, 1, NULL));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the paths. They are read from a file, computed all at once, or computed for each destination when they are
 * first requested.
 */
#include <sched/topology/paths.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/array.h>

#include "paths_priv.h"

/* Reads the file. If it does not exist, computes all paths and writes the file. */
static int open_file(struct topology_paths *paths, struct error *err)
{
	const char *file = paths->options.file;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (strcmp(file, "-") == 0 || access(file, F_OK) == 0)
		return path_map_load(&paths->map, paths->topology, paths->adjacency, file, err);
	if (topology_paths_compute_all(paths, processors > 1 ? (uint32_t)processors : 1) < 0)
		return error_set(err, ENOMEM, "out of memory");
	return path_map_save(&paths->map, paths->topology, file, err);
}

/* Lists the switches and the steps between them. Returns 0 or -ENOMEM. */
static int list_steps(struct topology_paths *paths)
{
	const struct topology *topology = paths->topology;
	const struct topology_adjacency *adjacency = paths->adjacency;
	uint32_t count = 0;

	paths->index_of = calloc(topology->node_count + 1u, sizeof *paths->index_of);
	paths->first_step = calloc(topology->node_count + 1u, sizeof *paths->first_step);
	paths->steps = malloc((adjacency->first[topology->node_count] + 1u) * sizeof *paths->steps);
	if (!paths->index_of || !paths->first_step || !paths->steps)
		return -ENOMEM;
	for (uint32_t n = 0; n < topology->node_count; n++)
		if (topology->nodes[n].kind == TOPOLOGY_SWITCH)
			paths->index_of[n] = paths->switch_count++;
	for (uint32_t n = 0; n < topology->node_count; n++) {
		uint32_t first = adjacency->first[n];

		if (topology->nodes[n].kind == TOPOLOGY_HOST)
			continue;
		for (uint32_t i = first; i < adjacency->first[n + 1]; i++)
			if (topology->nodes[adjacency->to[i]].kind == TOPOLOGY_SWITCH)
				paths->steps[count++] = (struct step){.to = paths->index_of[adjacency->to[i]],
								      .port = (uint16_t)(i - first)};
		paths->first_step[paths->index_of[n] + 1] = count;
	}
	return 0;
}

struct topology_paths *topology_paths_create(const struct topology *topology,
					     const struct topology_paths_options *options, struct error *err)
{
	struct topology_paths *paths;

	if (options->k < 1 || options->k > TOPOLOGY_PATHS_K_MAXIMUM ||
	    options->detour > TOPOLOGY_PATHS_DETOUR_MAXIMUM) {
		error_set(err, EINVAL, "paths: k = %u, detour = %u; expected k in 1..%d and detour in 0..%d",
			  options->k, options->detour, TOPOLOGY_PATHS_K_MAXIMUM, TOPOLOGY_PATHS_DETOUR_MAXIMUM);
		return NULL;
	}
	paths = calloc(1, sizeof *paths);
	if (paths) {
		paths->topology = topology;
		paths->options = *options;
		paths->adjacency = topology_adjacency_create(topology);
		path_map_init(&paths->map, topology, options->k, options->detour, options->seed);
	}
	if (!paths || !paths->adjacency || !paths->map.to || list_steps(paths) < 0) {
		error_set(err, ENOMEM, "out of memory");
		topology_paths_destroy(paths);
		return NULL;
	}
	for (uint32_t n = 0; n < topology->node_count; n++)
		if (paths->adjacency->first[n + 1] - paths->adjacency->first[n] > UINT16_MAX) {
			error_set(err, E2BIG, "node '%s' has more than %d links", topology->nodes[n].name, UINT16_MAX);
			topology_paths_destroy(paths);
			return NULL;
		}
	if (options->file && open_file(paths, err) < 0) {
		topology_paths_destroy(paths);
		return NULL;
	}
	return paths;
}

void topology_paths_destroy(struct topology_paths *paths)
{
	if (!paths)
		return;
	path_map_clear(&paths->map);
	topology_adjacency_destroy(paths->adjacency);
	free(paths->index_of);
	free(paths->first_step);
	free(paths->steps);
	free(paths->links);
	free(paths);
}

/*
 * Decodes `count` ports, which begin at node `from`, to links. backwards: in the order from the end of the path.
 */
static void decode(const struct topology_paths *paths, uint32_t from, const uint16_t *ports, uint32_t count,
		   bool backwards, uint32_t *links)
{
	const struct topology_adjacency *adjacency = paths->adjacency;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = adjacency->first[from] + ports[i];

		links[backwards ? count - 1 - i : i] = adjacency->link[at];
		from = adjacency->to[at];
	}
}

int topology_paths_between(struct topology_paths *paths, uint32_t from, uint32_t to, struct topology_path *found)
{
	uint32_t low = from < to ? from : to, high = from < to ? to : from;
	const struct path_map_to *stored = &paths->map.to[high];
	const uint16_t *ports, *end;
	static const uint32_t none;
	uint32_t *links;
	int count = 0;

	if (from == to) {
		found[0] = (struct topology_path){.links = &none};
		return 1;
	}
	if (!stored->first) {
		struct topology_search *search = topology_search_create(paths);
		int code = search ? topology_search_to(search, high, &paths->map.to[high]) : -ENOMEM;

		topology_search_destroy(search);
		if (code < 0)
			return code;
	}
	ports = stored->ports + stored->first[low];
	end = stored->ports + stored->first[low + 1];
	links = array_reserve(paths->links, (size_t)(end - ports) + 1, &paths->links_capacity, sizeof *links);
	if (!links)
		return -ENOMEM;
	for (paths->links = links; ports < end; links += *ports, ports += 1 + *ports) {
		found[count] = (struct topology_path){.count = *ports, .links = links};
		decode(paths, low, ports + 1, *ports, from == high, links);
		count++;
	}
	return count;
}

/*
 * The argument of a thread of topology_paths_compute_all(). The thread repeatedly takes the next destination from
 * *next.
 */
struct worker {
	struct topology_paths *paths;
	atomic_uint *next;
	int code;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	const struct topology *topology = worker->paths->topology;
	struct topology_search *search = topology_search_create(worker->paths);
	uint32_t to;

	worker->code = search ? 0 : -ENOMEM;
	while (worker->code == 0 && (to = atomic_fetch_add(worker->next, 1)) < topology->node_count)
		if (topology->nodes[to].kind == TOPOLOGY_SWITCH && !worker->paths->map.to[to].first)
			worker->code = topology_search_to(search, to, &worker->paths->map.to[to]);
	topology_search_destroy(search);
	return NULL;
}

int topology_paths_compute_all(struct topology_paths *paths, uint32_t threads)
{
	enum { THREADS_MAXIMUM = 64 };
	struct worker workers[THREADS_MAXIMUM];
	pthread_t ids[THREADS_MAXIMUM];
	atomic_uint next = 0;
	uint32_t started = 1;
	int code = 0;

	for (uint32_t i = 0; i < THREADS_MAXIMUM; i++)
		workers[i] = (struct worker){.paths = paths, .next = &next};
	while (started < threads && started < THREADS_MAXIMUM &&
	       pthread_create(&ids[started], NULL, work, &workers[started]) == 0)
		started++;
	work(&workers[0]);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(ids[i], NULL);
	for (uint32_t i = 0; i < started; i++)
		code = code ? code : workers[i].code;
	return code;
}

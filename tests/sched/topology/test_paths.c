/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <sched/topology/paths.h>

enum { NODES_MAXIMUM = 9 };

/* A random network of switches; half of the links are down, which paths_between() ignores. */
static struct topology *random_network(struct rng *rng)
{
	struct topology *topology = topology_create();
	uint32_t nodes = 2 + (uint32_t)rng_below(rng, NODES_MAXIMUM - 1);
	double density = rng_uniform(rng);

	for (uint32_t n = 0; n < nodes; n++) {
		char name[] = {'s', (char)('0' + n), '\0'};

		topology_add_node(topology, TOPOLOGY_SWITCH, name, NULL);
	}
	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = a + 1; b < nodes; b++)
			if (rng_uniform(rng) < density) {
				int64_t link = topology_add_link(topology, a, b, 1, 1, NULL);

				topology->links[link].up = rng_below(rng, 2);
			}
	return topology;
}

/* Counts the loopless paths from `node` to `to` by their number of links. */
static void count_paths(const struct topology *topology, uint32_t node, uint32_t to, bool *visited, uint32_t length,
			uint32_t *counts)
{
	if (node == to) {
		counts[length]++;
		return;
	}
	visited[node] = true;
	for (uint32_t next = 0; next < topology->node_count; next++)
		if (!visited[next] && next != node && topology_find_link(topology, node, next) >= 0)
			count_paths(topology, next, to, visited, length + 1, counts);
	visited[node] = false;
}

static void expect_loopless(const struct topology *topology, const struct path *path, uint32_t from, uint32_t to)
{
	bool visited[NODES_MAXIMUM + 1] = {false};

	for (uint32_t i = 0; i < path->count; i++) {
		const struct topology_link *link = &topology->links[path->links[i]];

		cr_assert(link->a == from || link->b == from, "the links of a path are joined");
		cr_assert_not(visited[from], "a loop");
		visited[from] = true;
		from = link->a == from ? link->b : link->a;
	}
	cr_assert_eq(from, to);
	cr_assert_not(visited[to]);
}

static void check_pair(struct paths *paths, const struct topology *topology, uint32_t k, uint32_t from, uint32_t to)
{
	struct path found[PATHS_K_MAXIMUM];
	uint32_t counts[NODES_MAXIMUM + 1] = {0}, at = 0;
	bool visited[NODES_MAXIMUM + 1] = {false};
	int count = paths_between(paths, from, to, found);

	count_paths(topology, from, to, visited, 0, counts);
	for (uint32_t length = 0; length <= NODES_MAXIMUM; length++)
		for (uint32_t i = 0; i < counts[length] && at < k; i++, at++) {
			cr_assert_lt(at, (uint32_t)count, "too few paths");
			cr_assert_eq(found[at].count, length, "path %u has %u links, not %u", at, found[at].count,
				     length);
		}
	cr_assert_eq((uint32_t)count, at, "%d paths, %u expected", count, at);
	for (int i = 0; i < count; i++) {
		expect_loopless(topology, &found[i], from, to);
		for (int j = 0; j < i; j++)
			cr_assert(found[i].count != found[j].count ||
					  memcmp(found[i].links, found[j].links,
						 found[i].count * sizeof *found[i].links) != 0,
				  "a path twice");
	}
}

Test(paths, are_the_k_shortest_of_all_loopless_paths)
{
	struct rng rng;

	rng_seed(&rng, 23);
	for (int round = 0; round < 1000; round++) {
		struct topology *topology = random_network(&rng);
		struct paths_options options = {
			.k = 1 + (uint32_t)rng_below(&rng, 12), .detour = NODES_MAXIMUM, .seed = (uint64_t)round};
		struct paths *paths = paths_create(topology, &options, NULL);
		uint32_t from = (uint32_t)rng_below(&rng, topology->node_count),
			 to = (uint32_t)rng_below(&rng, topology->node_count);

		check_pair(paths, topology, options.k, from, to);
		check_pair(paths, topology, options.k, to, from);
		paths_destroy(paths);
		topology_destroy(topology);
	}
}

Test(paths, do_not_depend_on_the_order_of_the_questions_or_on_threads)
{
	struct topology *topology = topology_jellyfish(40, 6, 40, 1, 3, NULL);
	struct paths_options options = {.k = 10, .detour = PATHS_DETOUR, .seed = 5};
	struct paths *one = paths_create(topology, &options, NULL), *two = paths_create(topology, &options, NULL);
	struct path of_one[PATHS_K_MAXIMUM], of_two[PATHS_K_MAXIMUM];

	cr_assert_eq(paths_compute_all(two, 2), 0);
	for (uint32_t from = 0; from < 40; from++)
		for (uint32_t to = 40; to-- > 0;) {
			int count = paths_between(one, from, to, of_one);

			cr_assert_eq(paths_between(two, from, to, of_two), count);
			cr_assert_eq(count, from == to ? 1 : 10);
			for (int i = 0; i < count; i++) {
				cr_assert_eq(of_one[i].count, of_two[i].count);
				cr_assert_arr_eq(of_one[i].links, of_two[i].links,
						 of_one[i].count * sizeof *of_one[i].links);
			}
		}
	paths_destroy(one);
	paths_destroy(two);
	topology_destroy(topology);
}

/* Pods of a Fat-tree with k = 8 are joined by 16 equal paths; 8 are wanted. Each core switch is drawn equally often. */
Test(paths, equal_paths_are_drawn_equally_often)
{
	struct topology *topology = topology_fat_tree(8, 0, 1, NULL);
	uint32_t from = (uint32_t)topology_find_node(topology, "edge0.0"),
		 to = (uint32_t)topology_find_node(topology, "edge5.3"), uses[16] = {0};
	enum { SEEDS = 400 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct paths_options options = {.k = 8, .detour = 0, .seed = seed};
		struct paths *paths = paths_create(topology, &options, NULL);
		struct path found[8];

		cr_assert_eq(paths_between(paths, from, to, found), 8);
		for (int i = 0; i < 8; i++) {
			const struct topology_link *up = &topology->links[found[i].links[1]];

			cr_assert_eq(found[i].count, 4);
			uses[up->a < 16 ? up->a : up->b]++; /* core switches are the first nodes */
		}
		paths_destroy(paths);
	}
	/* Mean 200, deviation 10. */
	for (int c = 0; c < 16; c++)
		cr_expect(uses[c] > 150 && uses[c] < 250, "core %d: %u", c, uses[c]);
	topology_destroy(topology);
}

Test(paths, hosts_are_no_way_through)
{
	struct topology *topology = topology_create();
	struct paths_options options = {.k = 4, .detour = 4};
	struct path found[4];
	struct paths *paths;

	for (int n = 0; n < 3; n++)
		topology_add_node(topology, n == 1 ? TOPOLOGY_HOST : TOPOLOGY_SWITCH,
				  (const char *[]){"s0", "h", "s1"}[n], NULL);
	topology_add_link(topology, 0, 1, 1, 1, NULL);
	topology_add_link(topology, 1, 2, 1, 1, NULL);
	paths = paths_create(topology, &options, NULL);
	cr_expect_eq(paths_between(paths, 0, 2, found), 0);
	paths_destroy(paths);
	topology_destroy(topology);
}

Test(paths, bad_options_are_refused)
{
	struct topology *topology = topology_fat_tree(2, 0, 1, NULL);
	struct paths_options none = {.k = 0}, many = {.k = PATHS_K_MAXIMUM + 1};
	struct error err = {0};

	cr_expect_null(paths_create(topology, &none, &err));
	cr_expect_eq(err.code, EINVAL);
	cr_expect_null(paths_create(topology, &many, &err));
	topology_destroy(topology);
}

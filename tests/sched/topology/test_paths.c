/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/rng.h>
#include <sched/topology/paths.h>

enum { NODES_MAXIMUM = 9 };

/*
 * A random network. Capacities differ from link to link and by direction, and half of the links are down: neither may
 * change a path. Hosts are among the switches and may have several links.
 */
static struct topology *random_network(struct rng *rng)
{
	struct topology *topology = topology_create();
	uint32_t nodes = 2 + (uint32_t)rng_below(rng, NODES_MAXIMUM - 1);
	double density = rng_uniform(rng);

	for (uint32_t n = 0; n < nodes; n++) {
		char name[] = {'n', (char)('0' + n), '\0'};

		topology_add_node(topology, rng_below(rng, 8) == 0 ? TOPOLOGY_HOST : TOPOLOGY_SWITCH, name, NULL);
	}
	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = a + 1; b < nodes; b++)
			if (rng_uniform(rng) < density) {
				double there = 1e4 * rng_uniform(rng) + 1, back = 1e4 * rng_uniform(rng) + 1;
				int64_t link = topology_add_link(topology, a, b, there, back, NULL);

				if (link >= 0) /* not between two hosts */
					topology->links[link].up = rng_below(rng, 2);
			}
	return topology;
}

/* Counts the loopless paths of switches from `node` to `to` by their number of links. */
static void count_paths(const struct topology *topology, uint32_t node, uint32_t to, bool *visited, uint32_t length,
			uint32_t *counts)
{
	if (node == to) {
		counts[length]++;
		return;
	}
	visited[node] = true;
	for (uint32_t next = 0; next < topology->node_count; next++)
		if (topology->nodes[next].kind == TOPOLOGY_SWITCH && !visited[next] &&
		    topology_find_link(topology, node, next) >= 0)
			count_paths(topology, next, to, visited, length + 1, counts);
	visited[node] = false;
}

static void expect_loopless(const struct topology *topology, const struct topology_path *path, uint32_t from,
			    uint32_t to)
{
	bool *visited = calloc(topology->node_count, sizeof *visited);

	for (uint32_t i = 0; i < path->count; i++) {
		const struct topology_link *link = &topology->links[path->links[i]];

		cr_assert(link->a == from || link->b == from, "the links of a path are joined");
		cr_assert_not(visited[from], "a loop");
		cr_assert_eq(topology->nodes[from].kind, TOPOLOGY_SWITCH);
		visited[from] = true;
		from = link->a == from ? link->b : link->a;
	}
	cr_assert_eq(from, to);
	cr_assert_not(visited[to]);
	free(visited);
}

static void check_pair(struct topology_paths *paths, const struct topology *topology, uint32_t k, uint32_t from,
		       uint32_t to)
{
	struct topology_path found[TOPOLOGY_PATHS_K_MAXIMUM];
	uint32_t counts[NODES_MAXIMUM + 1] = {0}, at = 0;
	bool visited[NODES_MAXIMUM + 1] = {false};
	int count = topology_paths_between(paths, from, to, found);

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
		struct topology_paths_options options = {
			.k = 1 + (uint32_t)rng_below(&rng, 12), .detour = NODES_MAXIMUM, .seed = (uint64_t)round};
		struct topology_paths *paths = topology_paths_create(topology, &options, NULL);
		uint32_t from = (uint32_t)rng_below(&rng, topology->node_count),
			 to = (uint32_t)rng_below(&rng, topology->node_count);

		if (topology->nodes[from].kind == TOPOLOGY_SWITCH && topology->nodes[to].kind == TOPOLOGY_SWITCH) {
			check_pair(paths, topology, options.k, from, to);
			check_pair(paths, topology, options.k, to, from);
		}
		topology_paths_destroy(paths);
		topology_destroy(topology);
	}
}

Test(paths, do_not_depend_on_the_order_of_the_questions_or_on_threads)
{
	struct topology *topology = topology_jellyfish(40, 6, 40, 1, 3, NULL);
	struct topology_paths_options options = {.k = 10, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 5};
	struct topology_paths *one = topology_paths_create(topology, &options, NULL),
			      *two = topology_paths_create(topology, &options, NULL);
	struct topology_path of_one[TOPOLOGY_PATHS_K_MAXIMUM], of_two[TOPOLOGY_PATHS_K_MAXIMUM];

	cr_assert_eq(topology_paths_compute_all(two, 2), 0);
	for (uint32_t from = 0; from < 40; from++)
		for (uint32_t to = 40; to-- > 0;) {
			int count = topology_paths_between(one, from, to, of_one);

			cr_assert_eq(topology_paths_between(two, from, to, of_two), count);
			cr_assert_eq(count, from == to ? 1 : 10);
			for (int i = 0; i < count; i++) {
				cr_assert_eq(of_one[i].count, of_two[i].count);
				cr_assert_arr_eq(of_one[i].links, of_two[i].links,
						 of_one[i].count * sizeof *of_one[i].links);
			}
		}
	topology_paths_destroy(one);
	topology_paths_destroy(two);
	topology_destroy(topology);
}

/*
 * Pods of a Fat-tree with k = 8 are connected by 16 equal paths, 8 of which are drawn: each core switch is equally
 * likely.
 */
Test(paths, equal_paths_are_drawn_equally_often)
{
	struct topology *topology = topology_fat_tree(8, 0, 1, NULL);
	uint32_t from = (uint32_t)topology_find_node(topology, "edge0.0"),
		 to = (uint32_t)topology_find_node(topology, "edge5.3"), uses[16] = {0};
	enum { SEEDS = 400 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct topology_paths_options options = {.k = 8, .detour = 0, .seed = seed};
		struct topology_paths *paths = topology_paths_create(topology, &options, NULL);
		struct topology_path found[8];

		cr_assert_eq(topology_paths_between(paths, from, to, found), 8);
		for (int i = 0; i < 8; i++) {
			const struct topology_link *up = &topology->links[found[i].links[1]];

			cr_assert_eq(found[i].count, 4);
			uses[up->a < 16 ? up->a : up->b]++; /* core switches are the first nodes */
		}
		topology_paths_destroy(paths);
	}
	/* Mean 200, deviation 10. */
	for (int c = 0; c < 16; c++)
		cr_expect(uses[c] > 150 && uses[c] < 250, "core %d: %u", c, uses[c]);
	topology_destroy(topology);
}

Test(paths, hosts_are_no_way_through)
{
	struct topology *topology = topology_create();
	struct topology_paths_options options = {.k = 4, .detour = 4};
	struct topology_path found[4];
	struct topology_paths *paths;

	for (int n = 0; n < 3; n++)
		topology_add_node(topology, n == 1 ? TOPOLOGY_HOST : TOPOLOGY_SWITCH,
				  (const char *[]){"s0", "h", "s1"}[n], NULL);
	topology_add_link(topology, 0, 1, 1, 1, NULL);
	topology_add_link(topology, 1, 2, 1, 1, NULL);
	paths = topology_paths_create(topology, &options, NULL);
	cr_expect_eq(topology_paths_between(paths, 0, 2, found), 0);
	topology_paths_destroy(paths);
	topology_destroy(topology);
}

/* A row of switches s0, s1, ..., joined one to the next; closed to a ring by a link from the last one to s0. */
static struct topology *row_of_switches(uint32_t count, bool closed)
{
	struct topology *topology = topology_create();

	for (uint32_t n = 0; n < count; n++) {
		char name[16];

		snprintf(name, sizeof name, "s%u", n);
		topology_add_node(topology, TOPOLOGY_SWITCH, name, NULL);
		if (n > 0)
			topology_add_link(topology, n - 1, n, 1, 1, NULL);
	}
	if (closed)
		topology_add_link(topology, count - 1, 0, 1, 1, NULL);
	return topology;
}

Test(paths, may_have_hundreds_of_links)
{
	struct topology *row = row_of_switches(300, false);
	struct topology_paths_options options = {.k = 4, .detour = 4};
	struct topology_paths *paths = topology_paths_create(row, &options, NULL);
	struct topology_path found[4];

	for (uint32_t links = 0; links < 300; links++) {
		cr_assert_eq(topology_paths_between(paths, 0, links, found), 1, "%u links", links);
		cr_assert_eq(found[0].count, links);
		for (uint32_t i = 0; i < links; i++)
			cr_assert_eq(found[0].links[i], i);
	}
	cr_assert_eq(topology_paths_between(paths, 299, 0, found), 1);
	for (uint32_t i = 0; i < 299; i++)
		cr_assert_eq(found[0].links[i], 298 - i, "from the end to the beginning");
	topology_paths_destroy(paths);
	topology_destroy(row);
}

/* The most distant switches of a torus of 80 x 80 are joined by 4.3e23 paths of 80 links. */
Test(paths, of_a_large_torus_are_drawn)
{
	enum { SIDE = 80, FAR = SIDE * SIDE / 2 + SIDE / 2, K = 10 };
	struct topology *torus = topology_create();
	struct topology_paths_options options = {.k = K, .detour = 4, .seed = 3};
	struct topology_paths *paths;
	struct topology_path found[K];
	char name[16];

	for (uint32_t n = 0; n < SIDE * SIDE; n++) {
		snprintf(name, sizeof name, "s%u", n);
		topology_add_node(torus, TOPOLOGY_SWITCH, name, NULL);
	}
	for (uint32_t n = 0; n < SIDE * SIDE; n++) {
		topology_add_link(torus, n, n / SIDE * SIDE + (n + 1) % SIDE, 1, 1, NULL);
		topology_add_link(torus, n, (n + SIDE) % (SIDE * SIDE), 1, 1, NULL);
	}
	paths = topology_paths_create(torus, &options, NULL);
	cr_assert_eq(topology_paths_between(paths, 0, FAR, found), K);
	for (int i = 0; i < K; i++) {
		cr_assert_eq(found[i].count, SIDE);
		expect_loopless(torus, &found[i], 0, FAR);
		for (int j = 0; j < i; j++)
			cr_assert_neq(memcmp(found[i].links, found[j].links, SIDE * sizeof *found[i].links), 0);
	}
	topology_paths_destroy(paths);
	topology_destroy(torus);
}

/* The way round a ring of n switches has n - 2 links more than the link between two neighbours. */
Test(paths, are_longer_than_the_shortest_one_by_at_most_the_detour)
{
	for (uint32_t count = 5; count <= 7; count++)
		for (uint32_t detour = 0; detour < 8; detour++) {
			struct topology *ring = row_of_switches(count, true);
			struct topology_paths_options options = {.k = 4, .detour = detour};
			struct topology_paths *paths = topology_paths_create(ring, &options, NULL);
			struct topology_path found[4];
			int ways = topology_paths_between(paths, 0, 1, found);

			cr_expect_eq(ways, detour >= count - 2 ? 2 : 1, "%u switches, detour %u", count, detour);
			cr_expect_eq(found[0].count, 1);
			cr_expect(ways < 2 || found[1].count == count - 1);
			topology_paths_destroy(paths);
			topology_destroy(ring);
		}
}

/* ---- the file ---- */

struct stored {
	struct topology *topology;
	struct topology_paths_options options;
	char folder[32], file[40];
};

static struct stored store(void)
{
	struct stored stored = {.topology = topology_jellyfish(12, 5, 12, 100, 1, NULL),
				.options = {.k = 6, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 3},
				.folder = "/tmp/test_paths.XXXXXX"};
	struct topology_paths *paths;

	cr_assert_not_null(mkdtemp(stored.folder));
	snprintf(stored.file, sizeof stored.file, "%s/map", stored.folder);
	stored.options.file = stored.file;
	paths = topology_paths_create(stored.topology, &stored.options, NULL); /* writes it */
	cr_assert_not_null(paths);
	topology_paths_destroy(paths);
	stored.options.file = NULL; /* so that the copy has no file */
	return stored;
}

static struct topology_paths *load(const struct stored *stored, const struct topology *topology, struct error *err)
{
	struct topology_paths_options options = stored->options;

	options.file = stored->file;
	return topology_paths_create(topology, &options, err);
}

static void clear(struct stored *stored)
{
	unlink(stored->file);
	rmdir(stored->folder);
	topology_destroy(stored->topology);
}

Test(paths, a_file_gives_the_paths_that_are_computed)
{
	struct stored stored = store();
	struct topology_paths *computed = topology_paths_create(stored.topology, &stored.options, NULL),
			      *loaded = load(&stored, stored.topology, NULL);
	struct topology_path of_one[6], of_two[6];

	cr_assert_not_null(loaded);
	for (uint32_t from = 0; from < 12; from++)
		for (uint32_t to = 0; to < 12; to++) {
			int count = topology_paths_between(computed, from, to, of_one);

			cr_assert_eq(topology_paths_between(loaded, from, to, of_two), count);
			for (int i = 0; i < count; i++) {
				cr_assert_eq(of_one[i].count, of_two[i].count);
				cr_assert_arr_eq(of_one[i].links, of_two[i].links,
						 of_one[i].count * sizeof *of_one[i].links);
			}
		}
	topology_paths_destroy(computed);
	topology_paths_destroy(loaded);
	clear(&stored);
}

static void expect_refused(const struct stored *stored, const struct topology *topology, const char *why)
{
	struct error err = {0};

	cr_expect_null(load(stored, topology, &err), "%s", why);
	cr_expect_not_null(strstr(err.text, why), "%s, not: %s", err.text, why);
	cr_expect_not_null(strstr(err.text, stored->file), "%s", err.text);
}

Test(paths, a_file_of_other_paths_is_refused)
{
	struct stored stored = store();
	struct topology *larger = topology_jellyfish(12, 5, 13, 100, 1, NULL),
			*other = topology_jellyfish(12, 5, 12, 100, 2, NULL);

	expect_refused(&stored, larger, "belongs to another network (24 nodes");
	expect_refused(&stored, other, "belongs to another network (24 nodes");
	stored.options.k = 5;
	expect_refused(&stored, stored.topology, "computed with k 6, detour 4, seed 3; expected 5, 4, 3");
	stored.options.k = 6;
	stored.topology->links[0].up = false;
	stored.topology->links[0].MBps = 7;
	{
		struct topology_paths *paths = load(&stored, stored.topology, NULL);

		cr_expect_not_null(paths, "capacities and failures do not matter");
		topology_paths_destroy(paths);
	}
	topology_destroy(larger);
	topology_destroy(other);
	clear(&stored);
}

/* Changes one byte of the file and corrects the checksum. */
static void patch(const struct stored *stored, long at, char add, bool corrected)
{
	FILE *file = fopen(stored->file, "r+");
	char bytes[1 << 16];
	size_t count = fread(bytes, 1, sizeof bytes, file);
	uint64_t checksum;

	cr_assert(count > 100 && count < sizeof bytes);
	bytes[at] = (char)(bytes[at] + add);
	checksum = path_map_checksum(bytes, count - sizeof checksum);
	if (corrected)
		memcpy(bytes + count - sizeof checksum, &checksum, sizeof checksum);
	rewind(file);
	cr_assert_eq(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

/* The header has 40 bytes; then come one offset for switch 0, two for switch 1, and the first path from 0 to 1. */
Test(paths, a_damaged_file_is_refused)
{
	enum { FIRST_PATH = 40 + 4 + 8 };
	static const struct {
		long at;
		bool corrected;
		const char *why;
	} cases[] = {
		{0, true, "not a map of paths"},      {8, true, "byte order"},
		{60, false, "damaged or cut"},        {FIRST_PATH - 4, true, "'s0' to 's1': "},
		{FIRST_PATH, true, "'s0' to 's1': "}, {FIRST_PATH + 2, true, "'s0' to 's1': links that do not join"}};
	struct stored stored = store();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		patch(&stored, cases[i].at, 1, cases[i].corrected);
		expect_refused(&stored, stored.topology, cases[i].why);
		patch(&stored, cases[i].at, -1, true);
	}
	cr_assert_eq(truncate(stored.file, 1000), 0);
	expect_refused(&stored, stored.topology, "damaged or cut");
	cr_assert_eq(truncate(stored.file, 3), 0);
	expect_refused(&stored, stored.topology, "not a map of paths");
	clear(&stored);
}

Test(paths, bad_options_are_refused)
{
	struct topology *topology = topology_fat_tree(2, 0, 1, NULL);
	struct topology_paths_options none = {.k = 0}, many = {.k = TOPOLOGY_PATHS_K_MAXIMUM + 1};
	struct topology_paths *paths;
	struct error err = {0};

	cr_expect_null(topology_paths_create(topology, &none, &err));
	cr_expect_eq(err.code, EINVAL);
	cr_expect_null(topology_paths_create(topology, &many, &err));
	many.k = TOPOLOGY_PATHS_K_MAXIMUM;
	many.detour = TOPOLOGY_PATHS_DETOUR_MAXIMUM + 1;
	cr_expect_null(topology_paths_create(topology, &many, &err));
	many.detour--;
	paths = topology_paths_create(topology, &many, &err);
	cr_expect_not_null(paths);
	topology_paths_destroy(paths);
	topology_destroy(topology);
}

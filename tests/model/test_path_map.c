/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>
#include <model/path_map.h>

enum { K = 2, DETOUR = 1, SEED = 7 };

static struct topology *topology;
static struct topology_adjacency *adjacency;
static char file[] = "/tmp/nomora-path-map-XXXXXX";

/* A triangle of the switches 0, 1 and 2, and host 3 at switch 0. Neighbours of 0: 1, 2, 3; of 1: 0, 2; of 2: 1, 0. */
static void set_up(void)
{
	static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {0, 2}, {3, 0}};

	topology = topology_create();
	for (int n = 0; n < 4; n++)
		topology_add_node(topology, n < 3 ? TOPOLOGY_SWITCH : TOPOLOGY_HOST,
				  (const char *[]){"s0", "s1", "s2", "h"}[n], NULL);
	for (size_t l = 0; l < 4; l++)
		cr_assert_geq(topology_add_link(topology, ends[l][0], ends[l][1], 1, 1, NULL), 0);
	adjacency = topology_adjacency_create(topology);
	close(mkstemp(file));
}

static void tear_down(void)
{
	unlink(file);
	topology_adjacency_destroy(adjacency);
	topology_destroy(topology);
}

TestSuite(path_map, .init = set_up, .fini = tear_down);

/* The paths of the triangle: each pair is joined by its link, and over the third switch. */
struct paths {
	uint32_t first0[1], first1[2], first2[3];
	uint16_t ports1[5], ports2[10];
};

static const struct paths triangle = {
	.first1 = {0, 5}, .first2 = {0, 5, 10}, .ports1 = {1, 0, 2, 1, 0}, .ports2 = {1, 1, 2, 0, 1, 1, 1, 2, 0, 1}};

static void save(struct paths *paths, const struct path_map *settings)
{
	struct path_map_to to[4] = {
		{paths->first0, NULL}, {paths->first1, paths->ports1}, {paths->first2, paths->ports2}, {NULL, NULL}};
	struct path_map map = *settings;
	struct error err = {0};

	map.to = to;
	cr_assert_eq(path_map_save(&map, topology, file, &err), 0, "%s", err.text);
}

static const struct path_map settings = {.k = K, .detour = DETOUR, .seed = SEED, .node_count = 4};

static int load(struct path_map *map, struct error *err)
{
	cr_assert_eq(path_map_init(map, topology, K, DETOUR, SEED), 0);
	return path_map_load(map, topology, adjacency, file, err);
}

Test(path_map, is_read_as_it_was_written)
{
	struct paths paths = triangle;
	struct error err = {0};
	struct path_map map;

	save(&paths, &settings);
	cr_assert_eq(load(&map, &err), 0, "%s", err.text);
	cr_expect_eq(map.k, K);
	cr_expect_eq(map.node_count, 4);
	cr_expect_eq(map.to[0].first[0], 0);
	cr_expect_eq(memcmp(map.to[1].first, triangle.first1, sizeof triangle.first1), 0);
	cr_expect_eq(memcmp(map.to[1].ports, triangle.ports1, sizeof triangle.ports1), 0);
	cr_expect_eq(memcmp(map.to[2].first, triangle.first2, sizeof triangle.first2), 0);
	cr_expect_eq(memcmp(map.to[2].ports, triangle.ports2, sizeof triangle.ports2), 0);
	cr_expect_null(map.to[3].first);
	path_map_clear(&map);
	cr_expect(!map.to && map.node_count == 0);
	paths = (struct paths){0};
	save(&paths, &settings);
	cr_assert_eq(load(&map, &err), 0, "a map may have no paths: %s", err.text);
	path_map_clear(&map);
}

static const struct {
	size_t at; /* index in ports2 */
	uint16_t port;
	const char *message;
} changes[] = {
	{0, 2, "paths from switch 's0' to 's2': links that do not join the two switches, or have a loop"},
	{0, 65, "paths from switch 's0' to 's2': a length out of order or out of range"},
	{1, 0, "paths from switch 's0' to 's2': links that do not join"},                /* to s1 */
	{1, 2, "paths from switch 's0' to 's2': links that do not join"},                /* to the host */
	{1, 3, "paths from switch 's0' to 's2': links that do not join"},                /* no such neighbour */
	{2, 3, "paths from switch 's0' to 's2': a length out of order or out of range"}, /* a detour of 2 */
	{4, 0, "paths from switch 's0' to 's2': links that do not join"},                /* back to s0 */
	{2, 0, "paths from switch 's0' to 's2': a length out of order or out of range"},
	{6, 0, "paths from switch 's1' to 's2': links that do not join"},
	{7, 5, "paths from switch 's1' to 's2': a length out of order or out of range"},
};

Test(path_map, paths_that_are_none_are_refused)
{
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		struct paths paths = triangle;
		struct error err = {0};
		struct path_map map;

		paths.ports2[changes[i].at] = changes[i].port;
		save(&paths, &settings);
		cr_assert_eq(load(&map, &err), -EINVAL, "%zu", i);
		cr_expect(strstr(err.text, changes[i].message), "%zu: %s", i, err.text);
		cr_expect(!map.to[0].first && !map.to[1].first && !map.to[2].ports, "the map is empty");
		path_map_clear(&map);
	}
}

Test(path_map, offsets_and_the_number_of_paths_are_checked)
{
	/* From s0 to s1: the link three times. */
	struct paths many = {.first1 = {0, 6}, .ports1 = {1, 0, 1, 0}}, back = triangle, twice = many;
	uint16_t six[] = {1, 0, 1, 0, 1, 0};
	struct path_map_to to[4] = {{many.first0, NULL}, {many.first1, six}, {many.first2, NULL}, {NULL, NULL}};
	struct path_map map = settings;
	struct error err = {0};

	map.to = to;
	cr_assert_eq(path_map_save(&map, topology, file, &err), 0);
	cr_assert_eq(load(&map, &err), -EINVAL);
	cr_expect(strstr(err.text, "paths from switch 's0' to 's1': too many paths"), "%s", err.text);
	path_map_clear(&map);
	twice.first1[1] = 4;
	save(&twice, &settings);
	cr_assert_eq(load(&map, &err), 0, "two paths: %s", err.text);
	path_map_clear(&map);
	back.first2[1] = 11;
	save(&back, &settings);
	cr_assert_eq(load(&map, &err), -EINVAL);
	cr_expect(strstr(err.text, "paths from switch 's1' to 's2': offsets out of order"), "%s", err.text);
	path_map_clear(&map);
	/* The port that s0's last path lacks is the next number, which begins the paths of s1. */
	back = (struct paths){.first1 = {0, 5},
			      .first2 = {0, 4, 9},
			      .ports1 = {1, 0, 2, 1, 0},
			      .ports2 = {1, 1, 2, 0, 1, 1, 2, 0, 1}};
	save(&back, &settings);
	cr_assert_eq(load(&map, &err), -EINVAL, "a path that is cut short");
	path_map_clear(&map);
	back = triangle;
	back.first2[0] = 1;
	save(&back, &settings);
	cr_assert_eq(load(&map, &err), -EINVAL);
	cr_expect(strstr(err.text, "paths from switch 's0' to 's2': offsets out of order"), "%s", err.text);
	path_map_clear(&map);
}

Test(path_map, a_map_belongs_to_its_network_and_settings)
{
	static const struct path_map others[] = {{.k = 3, .detour = DETOUR, .seed = SEED, .node_count = 4},
						 {.k = K, .detour = 2, .seed = SEED, .node_count = 4},
						 {.k = K, .detour = DETOUR, .seed = 8, .node_count = 4}};
	struct error err = {0};
	struct path_map map;

	for (size_t i = 0; i < 3; i++) {
		struct paths paths = triangle;
		char message[100];

		save(&paths, &others[i]);
		cr_assert_eq(load(&map, &err), -EINVAL);
		snprintf(message, sizeof message, "computed with k %u, detour %u, seed %llu; expected 2, 1, 7",
			 others[i].k, others[i].detour, (unsigned long long)others[i].seed);
		cr_expect(strstr(err.text, message), "%s", err.text);
		path_map_clear(&map);
	}
	struct paths paths = triangle;

	save(&paths, &settings);
	topology->links[0].up = false;
	topology->links[0].MBps = 5;
	cr_assert_eq(load(&map, &err), 0, "neither states nor capacities matter: %s", err.text);
	path_map_clear(&map);
	topology->links[3].b = 1;
	cr_assert_eq(load(&map, &err), -EINVAL);
	cr_expect(strstr(err.text, "belongs to another network (4 nodes, fingerprint "), "%s", err.text);
	path_map_clear(&map);
	topology->links[3].b = 0;
	topology->nodes[3].kind = TOPOLOGY_SWITCH;
	cr_assert_eq(load(&map, &err), -EINVAL);
	cr_expect(strstr(err.text, "belongs to another network"), "%s", err.text);
	path_map_clear(&map);
}

/* Cuts the file after each byte and adds some at its end; its checksum is made to match. */
Test(path_map, a_file_that_is_too_short_or_too_long_is_refused)
{
	struct paths paths = triangle;
	struct error err = {0};
	struct path_map map;
	size_t count;
	char *bytes;

	save(&paths, &settings);
	bytes = file_read_all(file, 1 << 20, &count, &err);
	cr_assert_not_null(bytes);
	for (size_t cut = 0; cut <= count - 8 + 2; cut++) {
		char *copy = malloc(cut + 8);
		uint64_t checksum;
		int code;

		memset(copy, 0, cut + 8);
		memcpy(copy, bytes, cut < count - 8 ? cut : count - 8);
		checksum = path_map_checksum(copy, cut);
		memcpy(copy + cut, &checksum, sizeof checksum);
		cr_assert_eq(path_map_init(&map, topology, K, DETOUR, SEED), 0);
		err = (struct error){0};
		code = path_map_parse(&map, topology, adjacency, "map", copy, cut + 8, &err);
		cr_expect_eq(code, cut == count - 8 ? 0 : -EINVAL, "%zu", cut);
		cr_expect(cut >= 40 || strstr(err.text, "map: not a map of paths"), "%zu: %s", cut, err.text);
		cr_expect(cut < 40 || cut >= count - 8 || strstr(err.text, "map: ends within the paths to switch 's"),
			  "%zu: %s", cut, err.text);
		cr_expect(cut != count - 6 || strcmp(err.text, "map: 2 unexpected bytes at the end") == 0, "%s",
			  err.text);
		path_map_clear(&map);
		free(copy);
	}
	bytes[count - 10] ^= 1;
	cr_assert_eq(path_map_init(&map, topology, K, DETOUR, SEED), 0);
	cr_assert_eq(path_map_parse(&map, topology, adjacency, "map", bytes, count, &err), -EINVAL);
	cr_expect_str_eq(err.text, "map: damaged or cut: the checksum does not match");
	bytes[8] ^= 1;
	cr_assert_eq(path_map_parse(&map, topology, adjacency, "map", bytes, count, &err), -EINVAL);
	cr_expect_str_eq(err.text, "map: written on a machine of the other byte order");
	cr_assert_eq(path_map_load(&map, topology, adjacency, "/no/such/file", &err), -ENOENT);
	path_map_clear(&map);
	free(bytes);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/topology.h>

static struct topology *parse(const char *text, struct error *err)
{
	return topology_parse("t.json", text, strlen(text), err);
}

static const char good[] = "{\"schema\": \"nomora.topology/1\",\n"
			   " \"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}],\n"
			   " \"hosts\": [{\"name\": \"h0\"}, {\"name\": \"h1\"}],\n"
			   " \"links\": [\n"
			   "  {\"a\": \"h0\", \"b\": \"s0\", \"MBps\": 100},\n"
			   "  {\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 100, \"back_MBps\": 50, \"up\": false},\n"
			   "  {\"a\": \"s1\", \"b\": \"h1\", \"MBps\": 10}]}";

Test(topology, reads_nodes_links_capacities_and_states)
{
	struct error err = {0};
	struct topology *topology = parse(good, &err);
	int64_t middle;

	cr_assert_not_null(topology, "%s", err.text);
	cr_expect_eq(topology->node_count, 4);
	cr_expect_eq(topology->host_count, 2);
	cr_expect_eq(topology->link_count, 3);
	middle = topology_find_link(topology, (uint32_t)topology_find_node(topology, "s1"),
				    (uint32_t)topology_find_node(topology, "s0"));
	cr_assert_eq(middle, 1);
	cr_expect_not(topology->links[1].up);
	cr_expect_eq(topology->links[1].MBps, 100);
	cr_expect_eq(topology->links[1].back_MBps, 50);
	cr_expect_eq(topology->links[2].back_MBps, 10);
	cr_expect_eq(topology_find_node(topology, "h2"), -ENOENT);
	cr_expect_eq(topology_connected(topology), 0, "the middle link is down");
	topology->links[1].up = true;
	cr_expect_eq(topology_connected(topology), 1);
	topology_destroy(topology);
}

Test(topology, what_is_written_reads_back_the_same)
{
	char path[] = "/tmp/nomora-topology.XXXXXX";
	struct error err = {0};
	struct topology *one = parse(good, &err), *two;

	cr_assert_not_null(one);
	close(mkstemp(path));
	cr_assert_eq(topology_save(one, path, &err), 0, "%s", err.text);
	two = topology_read(path, 100, &err);
	unlink(path);
	cr_assert_not_null(two, "%s", err.text);
	cr_assert_eq(one->node_count, two->node_count);
	cr_assert_eq(one->link_count, two->link_count);
	for (uint32_t n = 0; n < one->node_count; n++) {
		cr_expect_str_eq(one->nodes[n].name, two->nodes[n].name);
		cr_expect_eq(one->nodes[n].kind, two->nodes[n].kind);
	}
	for (uint32_t l = 0; l < one->link_count; l++) {
		cr_expect_eq(one->links[l].a, two->links[l].a);
		cr_expect_eq(one->links[l].b, two->links[l].b);
		cr_expect_eq(one->links[l].MBps, two->links[l].MBps);
		cr_expect_eq(one->links[l].back_MBps, two->links[l].back_MBps);
		cr_expect_eq(one->links[l].up, two->links[l].up);
	}
	topology_destroy(one);
	topology_destroy(two);
}

static const char lag[] =
	"{\"schema\": \"nomora.topology/1\", \"switches\": [{\"name\": \"s0\"}],\n"
	" \"hosts\": [{\"name\": \"h0\"}, {\"name\": \"h1\"}, {\"name\": \"h2\"}],\n"
	" \"links\": [{\"a\": \"h0\", \"b\": \"s0\", \"MBps\": 100},\n"
	"  {\"a\": \"h0\", \"b\": \"s0\", \"MBps\": 40, \"back_MBps\": 20},\n"
	"  {\"a\": \"h1\", \"b\": \"s0\", \"MBps\": 7, \"up\": false}, {\"a\": \"h1\", \"b\": \"s0\", \"MBps\": 5},\n"
	"  {\"a\": \"h1\", \"b\": \"s0\", \"MBps\": 9, \"up\": false},\n"
	"  {\"a\": \"h2\", \"b\": \"s0\", \"MBps\": 1, \"up\": false},\n"
	"  {\"a\": \"h2\", \"b\": \"s0\", \"MBps\": 2, \"up\": false}]}";

Test(topology, parallel_links_are_one_link_with_the_capacity_of_those_that_are_up)
{
	struct error err = {0};
	struct topology *topology = parse(lag, &err);

	cr_assert_not_null(topology, "%s", err.text);
	cr_assert_eq(topology->link_count, 3);
	cr_expect(topology->links[0].up && topology->links[1].up && !topology->links[2].up);
	cr_expect_eq(topology->links[0].MBps, 140);
	cr_expect_eq(topology->links[0].back_MBps, 120);
	cr_expect_eq(topology->links[1].MBps, 5);
	cr_expect_eq(topology->links[2].MBps, 3);
	topology_destroy(topology);
}

static const struct {
	const char *from, *to, *message;
} bad[] = {
	{"\"h1\"}]", "\"h0\"}]", "t.json:3: hosts[1].name: duplicate name 'h0'"},
	{"\"b\": \"s1\", \"MBps\"", "\"b\": \"s9\", \"MBps\"", "t.json:6: links[1].b: unknown node 's9'"},
	{"\"b\": \"s1\", \"MBps\"", "\"b\": \"s0\", \"MBps\"", "t.json:6: links[1].b: 's0' is linked to itself"},
	{"\"b\": \"s1\", \"MBps\"", "\"b\": \"h0\", \"MBps\"",
	 "t.json:6: links[1].b: 's0' - 'h0' is already listed as 'h0' - 's0'"},
	{"\"a\": \"s1\", \"b\": \"h1\"", "\"a\": \"h0\", \"b\": \"h1\"",
	 "t.json:7: links[2].b: 'h0' and 'h1' are both hosts"},
	{"\"MBps\": 10}", "\"MBps\": 0}", "t.json:7: links[2].MBps: expected a capacity > 0"},
	{"\"MBps\": 10}", "\"MBps\": -1}", "t.json:7: links[2].MBps"},
	{"\"MBps\": 10}", "\"MBps\": 1e400}", "t.json"},
	{"\"a\": \"s1\", \"b\": \"h1\", \"MBps\": 10", "\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 1e9, \"up\": false",
	 "links[2].MBps: the parallel links have more than 1e+09 MB/s together"},
	{"\"a\": \"s1\", \"b\": \"h1\"", "\"a\": \"s1\", \"b\": \"s0\"",
	 "'s1' - 's0' is already listed as 's0' - 's1'"},
	{"topology/1", "topology/2", "nomora.topology/1"},
	{"\"back_MBps\"", "\"back_MBsp\"", "back_MBps"},
};

Test(topology, bad_files_are_refused_with_line_and_field)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char text[2 * sizeof good];
		const char *at = strstr(good, bad[i].from);
		struct error err = {0};

		cr_assert_not_null(at, "row %zu", i);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad[i].to, at + strlen(bad[i].from));
		cr_expect_null(parse(text, &err), "row %zu", i);
		cr_expect_not_null(strstr(err.text, bad[i].message), "row %zu: %s", i, err.text);
	}
}

Test(topology, a_host_without_a_link_is_refused)
{
	struct error err = {0};

	cr_expect_null(parse(
		"{\"schema\": \"nomora.topology/1\", \"switches\": [], \"hosts\": [{\"name\": \"h\"}], \"links\": []}",
		&err));
	cr_expect_not_null(strstr(err.text, "host 'h' has no link"), "%s", err.text);
}

static void expect_degrees(const struct topology *topology, uint32_t ports, const char *what)
{
	uint32_t *degree = calloc(topology->node_count, sizeof *degree);

	for (uint32_t l = 0; l < topology->link_count; l++) {
		degree[topology->links[l].a]++;
		degree[topology->links[l].b]++;
	}
	for (uint32_t n = 0; n < topology->node_count; n++)
		cr_expect_eq(degree[n], topology->nodes[n].kind == TOPOLOGY_HOST ? 1 : ports,
			     "%s: node %s has %u links", what, topology->nodes[n].name, degree[n]);
	free(degree);
}

Test(topology, a_full_fat_tree_has_k_links_on_every_switch)
{
	for (uint32_t k = 2; k <= 16; k += 2) {
		struct topology *topology = topology_fat_tree(k, 0, 100, NULL);

		cr_assert_not_null(topology);
		cr_expect_eq(topology->host_count, k * k * k / 4);
		cr_expect_eq(topology->node_count - topology->host_count, 5 * k * k / 4);
		expect_degrees(topology, k, "fat-tree");
		cr_expect_eq(topology_connected(topology), 1);
		topology_destroy(topology);
	}
}

Test(topology, a_pruned_fat_tree_keeps_only_switches_between_hosts)
{
	for (uint32_t hosts = 1; hosts <= 54; hosts++) {
		struct topology *topology = topology_fat_tree(6, hosts, 100, NULL);

		cr_assert_not_null(topology);
		cr_expect_eq(topology->host_count, hosts);
		cr_expect_eq(topology_connected(topology), 1, "%u hosts", hosts);
		topology_destroy(topology);
	}
	cr_expect_null(topology_fat_tree(5, 0, 100, NULL), "k is even");
	cr_expect_null(topology_fat_tree(4, 17, 100, NULL), "too many hosts");
}

Test(topology, a_jellyfish_is_regular_connected_and_its_seeds_own)
{
	struct topology *one = topology_jellyfish(30, 5, 30, 100, 7, NULL),
			*two = topology_jellyfish(30, 5, 30, 100, 7, NULL),
			*other = topology_jellyfish(30, 5, 30, 100, 8, NULL);
	uint32_t different = 0;

	cr_assert(one && two && other);
	expect_degrees(one, 5, "jellyfish");
	cr_expect_eq(topology_connected(one), 1);
	for (uint32_t l = 0; l < one->link_count; l++) {
		cr_expect(one->links[l].a == two->links[l].a && one->links[l].b == two->links[l].b);
		different += topology_find_link(other, one->links[l].a, one->links[l].b) < 0;
	}
	cr_expect_gt(different, one->link_count / 2, "%u links differ", different);
	topology_destroy(one);
	topology_destroy(two);
	topology_destroy(other);
	cr_expect_null(topology_jellyfish(4, 9, 4, 100, 1, NULL), "more links than other switches");
	cr_expect_null(topology_jellyfish(4, 1, 4, 100, 1, NULL), "no port left for a switch");
}

/* The neighbours of switch 0 over many seeds: every other switch is equally likely. */
Test(topology, a_jellyfish_favours_no_neighbour)
{
	uint32_t joined[20] = {0};
	enum { SEEDS = 400 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct topology *topology = topology_jellyfish(20, 5, 20, 100, seed, NULL);

		for (uint32_t s = 1; s < 20; s++)
			joined[s] += topology_find_link(topology, 0, s) >= 0;
		topology_destroy(topology);
	}
	/* 4 of 19 switches, 400 times: mean 84.2, deviation 8.2. */
	for (uint32_t s = 1; s < 20; s++)
		cr_expect(joined[s] > 84 - 41 && joined[s] < 84 + 41, "switch %u: %u", s, joined[s]);
}

Test(topology, names_of_networks_give_networks)
{
	struct error err = {0};
	struct topology *topology = topology_from_argument("leafspine:4,2,10", 100, 1, &err);

	cr_assert_not_null(topology, "%s", err.text);
	cr_expect_eq(topology->host_count, 10);
	cr_expect_eq(topology->link_count, 18);
	topology_destroy(topology);
	topology = topology_from_argument("fattree:4", 100, 1, &err);
	cr_assert_not_null(topology, "%s", err.text);
	topology_destroy(topology);
	cr_expect_null(topology_from_argument("fattree:4,", 100, 1, &err));
	cr_expect_not_null(strstr(err.text, "bad network 'fattree:4,'"), "%s", err.text);
	cr_expect_null(topology_from_argument("fattree:5", 100, 1, &err));
	cr_expect_not_null(strstr(err.text, "even number"), "%s", err.text);
}

Test(topology, every_network_has_its_words)
{
	static const struct {
		const char *argument;
		uint32_t hosts, switches, links;
	} good_words[] = {
		{"fattree:4,5", 5, 0, 0},      {"jellyfish:8,4", 8, 8, 20},   {"jellyfish:8,5,16", 16, 8, 28},
		{"jellyfish:1,3,2", 2, 1, 2},  {"jellyfish:6,4,5", 5, 6, 14}, {"leafspine:1,1,1", 1, 2, 2},
		{"leafspine:3,2,7", 7, 5, 13},
	};
	static const char *const bad_words[][2] = {
		{"leafspine:1,2", "bad network 'leafspine:1,2'"},
		{"leafspine:", "bad network 'leafspine:'"},
		{"leafspine:1,2,3,4", "bad network"},
		{"leafspine:1,2,x", "bad network"},
		{"jellyfish:8", "bad network 'jellyfish:8'"},
		{"jellyfish:8,4,16,1", "bad network"},
		{"jellyfish:8, 4", "bad network"},
		{"fattree:4,5,6", "bad network"},
		{"fattree:x", "bad network"},
		{"leafspine:0,1,1", "0 leaves, 1 spines, 1 hosts; expected at least one each"},
		{"leafspine:1,0,1", "1 leaves, 0 spines, 1 hosts; expected at least one each"},
		{"leafspine:1,1,0", "1 leaves, 1 spines, 0 hosts; expected at least one each"},
		{"jellyfish:4,2", "no connected network found; expected more ports per switch"},
		{"jellyfish:0,2", "0 switches, 2 ports, 0 hosts; expected more ports than hosts"},
		{"jellyfish:4,1", "4 switches, 1 ports, 4 hosts; expected more ports than hosts"},
		{"jellyfish:4,5", "4 switches, 5 ports, 4 hosts; expected more ports than hosts"},
		{"/no/such/leafspine:1,1,1", "No such file"},
	};

	for (size_t i = 0; i < sizeof good_words / sizeof good_words[0]; i++) {
		struct error err = {0};
		struct topology *topology = topology_from_argument(good_words[i].argument, 100, 1, &err);

		cr_assert_not_null(topology, "%s", err.text);
		cr_expect_eq(topology->host_count, good_words[i].hosts, "%s", good_words[i].argument);
		cr_expect_eq(topology_connected(topology), 1);
		if (good_words[i].switches == 0) {
			topology_destroy(topology);
			continue;
		}
		cr_expect_eq(topology->node_count - topology->host_count, good_words[i].switches, "%s",
			     good_words[i].argument);
		cr_expect_eq(topology->link_count, good_words[i].links, "%s: %u", good_words[i].argument,
			     topology->link_count);
		for (uint32_t l = 0; l < topology->link_count; l++)
			cr_expect(topology->links[l].MBps == 100 && topology->links[l].back_MBps == 100);
		topology_destroy(topology);
	}
	for (size_t i = 0; i < sizeof bad_words / sizeof bad_words[0]; i++) {
		struct error err = {0};

		cr_expect_null(topology_from_argument(bad_words[i][0], 100, 1, &err), "%s", bad_words[i][0]);
		cr_expect(strstr(err.text, bad_words[i][1]), "%s: %s", bad_words[i][0], err.text);
	}
}

Test(topology, a_leaf_has_every_spine_and_its_share_of_the_hosts)
{
	static const char *const leaf_of[] = {"leaf0", "leaf0", "leaf0", "leaf1", "leaf1", "leaf2", "leaf2"};
	struct topology *topology = topology_from_argument("leafspine:3,2,7", 100, 1, NULL);

	for (int h = 0; h < 7; h++) {
		char name[8];

		snprintf(name, sizeof name, "h%d", h);
		cr_expect_geq(topology_find_link(topology, (uint32_t)topology_find_node(topology, name),
						 (uint32_t)topology_find_node(topology, leaf_of[h])),
			      0, "%s", name);
	}
	for (int l = 0; l < 3; l++)
		for (int s = 0; s < 2; s++) {
			char leaf[8], spine[8];

			snprintf(leaf, sizeof leaf, "leaf%d", l);
			snprintf(spine, sizeof spine, "spine%d", s);
			cr_expect_geq(topology_find_link(topology, (uint32_t)topology_find_node(topology, leaf),
							 (uint32_t)topology_find_node(topology, spine)),
				      0);
		}
	topology_destroy(topology);
}

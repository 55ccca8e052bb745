/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/lab.h>

static int plan_lab(struct lab *lab, const char *name, int hosts, int racks, const char *one, const char *other)
{
	const char *places[] = {one, other};
	struct lab_spec spec = {.name = name,
				.hosts = hosts,
				.racks = racks,
				.slots = 4,
				.mtu_bytes = 1500,
				.places = places,
				.place_count = other ? 2
					       : one ? 1
						     : 0};
	struct error err = {0};
	int code = lab_plan(&spec, lab, &err);

	cr_assert((code == 0) == (err.text[0] == '\0'));
	return code;
}

Test(lab, hosts_are_dealt_to_racks_in_equal_runs)
{
	struct lab lab;

	cr_assert_eq(plan_lab(&lab, "lab0", 8, 2, NULL, NULL), 0);
	cr_assert_str_eq(lab.hosts[0].netns, "lab0-h1");
	cr_assert_str_eq(lab.hosts[3].address, "10.77.1.4");
	cr_assert_eq(lab.hosts[3].rack, 1);
	cr_assert_str_eq(lab.hosts[4].address, "10.77.2.1");
	cr_assert_str_eq(lab.hosts[4].probe_address, "10.77.2.101");
	cr_assert_str_eq(lab.hosts[7].mac, "02:6d:00:00:02:04");
}

Test(lab, addresses_and_macs_are_unique_in_the_largest)
{
	struct lab lab;

	cr_assert_eq(plan_lab(&lab, "z9", LAB_HOSTS_MAXIMUM, LAB_RACKS_MAXIMUM, "h64", "rack16"), 0);
	for (int i = 0; i < lab.host_count; i++)
		for (int j = 0; j < lab.host_count; j++) {
			cr_assert(i == j || strcmp(lab.hosts[i].address, lab.hosts[j].address) != 0);
			cr_assert(strcmp(lab.hosts[i].address, lab.hosts[j].probe_address) != 0);
			cr_assert(i == j || strcmp(lab.hosts[i].mac, lab.hosts[j].mac) != 0);
		}
}

static const char *const bad_names[] = {"", "0lab", "Lab", "lab-0", "averylongname", "../x", "lab 0", "lab;ls"};

Test(lab, names_that_could_not_be_told_from_others_are_refused)
{
	struct lab lab;

	for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++)
		cr_assert_lt(plan_lab(&lab, bad_names[i], 2, 1, NULL, NULL), 0, "'%s'", bad_names[i]);
}

Test(lab, shapes_and_places_that_cannot_be_built)
{
	struct lab lab;

	cr_assert_lt(plan_lab(&lab, "a", 0, 1, NULL, NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 65, 1, NULL, NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 3, 4, NULL, NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 3, NULL, NULL), 0, "runs of two leave the third rack empty");
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "h5", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "h0", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "h01", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "rack3", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "moon", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 1, "core", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 1, "rack1", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 6, 3, "core", NULL), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "h1", "h1"), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "core", "rack1"), 0);
	cr_assert_lt(plan_lab(&lab, "a", 4, 2, "rack1", "core"), 0);
	cr_assert_eq(plan_lab(&lab, "a", 4, 2, "core", "rack2"), 0);
	cr_assert_eq(plan_lab(&lab, "a", 4, 2, "rack2", "core"), 0);
	cr_assert_eq(plan_lab(&lab, "a", 4, 2, "rack1", "rack2"), 0);
	cr_assert_eq(plan_lab(&lab, "a", 4, 2, "h1", "h4"), 0);
}

Test(lab, state_file_gives_back_the_same_lab)
{
	struct lab lab, again;
	struct error err = {0};
	json_t *root;

	cr_assert_eq(plan_lab(&lab, "lab7", 7, 2, "core", "h3"), 0);
	root = lab_to_json(&lab);
	cr_assert_eq(lab_from_json("x", root, &again, &err), 0, "%s", err.text);
	cr_assert_eq(memcmp(&lab, &again, sizeof lab), 0);
	json_decref(root);
}

static char *batch_of(const struct lab *lab)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	lab_print_script(lab, out);
	fclose(out);
	return text;
}

Test(lab, injector_stands_in_the_link_that_was_named)
{
	struct lab lab;
	char *text;

	plan_lab(&lab, "lab0", 4, 2, "core", "h2");
	text = batch_of(&lab);
	cr_assert_neq(
		strstr(text,
		       "link add rack1-up netns lab0-sw  mtu 1500 type veth peer name core-a mtu 1500 netns lab0-inj"),
		NULL);
	cr_assert_neq(strstr(text, "link add core-b netns lab0-inj mtu 1500 type veth peer name rack1-down"), NULL);
	cr_assert_neq(strstr(text, "type veth peer name h2-a mtu 1500 netns lab0-inj"), NULL);
	cr_assert_neq(strstr(text, "link add rack2-up netns lab0-sw  mtu 1500 type veth peer name rack2-down"), NULL);
	cr_assert_eq(strstr(text, "h1-a"), NULL);
	free(text);
}

static struct lab_spec routed_spec(int hosts, int racks, int spines)
{
	return (struct lab_spec){
		.name = "lab0", .hosts = hosts, .racks = racks, .slots = 4, .mtu_bytes = 1500, .spines = spines};
}

Test(lab, spines_join_every_leaf)
{
	struct lab_spec spec = routed_spec(16, 4, 4);
	struct error err = {0};
	struct lab lab;

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	cr_assert_eq(lab.switch_count, 8);
	cr_assert_eq(lab.link_count, 16 + 4 * 4);
	cr_assert_eq(lab.rack_count, 4);
	cr_assert_str_eq(lab.hosts[15].name, "h16");
	cr_assert_str_eq(lab.hosts[15].netns, "lab0-h16");
	cr_assert_str_eq(lab.hosts[15].address, "10.77.4.4");
	cr_assert_str_eq(lab.hosts[15].probe_address6, "fd77::4:104");
	cr_assert_str_eq(lab_find_netns(&lab, "spine4"), "lab0-s4");
	cr_assert_eq(lab_find_netns(&lab, "sw"), NULL);
}

static char *script_of_places(const char *one, const char *other, struct error *err)
{
	const char *places[] = {one, other};
	struct lab_spec spec = routed_spec(4, 2, 2);
	struct lab lab;

	spec.places = places;
	spec.place_count = other ? 2 : 1;
	*err = (struct error){0};
	return lab_plan(&spec, &lab, err) == 0 ? batch_of(&lab) : NULL;
}

Test(lab, injectors_of_a_routed_lab)
{
	struct error err;
	char *text = script_of_places("leaf1:spine2", "h2", &err);

	cr_assert_neq(text, NULL, "%s", err.text);
	cr_assert_neq(strstr(text, "type veth peer name i1-a mtu 1500 netns lab0-inj"), NULL);
	cr_assert_neq(strstr(text, "link add i1-b netns lab0-inj mtu 1500 type veth peer name"), NULL);
	cr_assert_neq(strstr(text, "peer name i2-a"), NULL);
	free(text);
	text = script_of_places("spine1", NULL, &err);
	cr_assert_neq(strstr(text, "i2-b"), NULL, "a spine has a link to each of two leaves");
	cr_assert_eq(strstr(text, "i3-b"), NULL);
	free(text);
	cr_assert_eq(script_of_places("spine1:spine2", NULL, &err), NULL, "no such link");
	cr_assert_eq(script_of_places("rack1", NULL, &err), NULL);
	cr_assert_eq(script_of_places("spine1", "spine1:leaf2", &err), NULL, "the same link");
}

Test(lab, state_file_of_a_fabric_gives_back_the_same_lab)
{
	struct topology *fabric = topology_from_argument("fattree:4", 100, 0, NULL);
	struct lab_spec spec = {.name = "lab0", .slots = 1, .mtu_bytes = 1500, .fabric = fabric};
	struct error err = {0};
	struct lab lab, again;
	struct topology *built;
	json_t *root;

	cr_assert_eq(lab_plan(&spec, &lab, &err), 0, "%s", err.text);
	cr_assert_eq(lab.host_count, 16);
	cr_assert_eq(lab.switch_count, 20);
	cr_assert_str_eq(lab.hosts[0].netns, "lab0-h0");
	lab.links[7].up = false;
	lab.links[9].back_MBps = 0.5;
	lab.links[11].MBps = 0;
	built = lab_topology(&lab);
	cr_expect(!built->links[7].up && built->links[8].up);
	cr_expect(built->links[9].MBps == 100 && built->links[9].back_MBps == 0.5);
	cr_expect(built->links[11].MBps == TOPOLOGY_MBPS_MAXIMUM, "0: no limit");
	topology_destroy(built);
	root = lab_to_json(&lab);
	cr_assert_eq(lab_from_json("x", root, &again, &err), 0, "%s", err.text);
	cr_assert_eq(memcmp(&lab, &again, sizeof lab), 0);
	json_decref(root);
	topology_destroy(fabric);
}

#define HOST_AND_SWITCHES(host, more, links)                                                                           \
	"{\"schema\": \"nomora.topology/1\", \"switches\": [{\"name\": \"s1\"}, {\"name\": \"s2\"}], "                 \
	"\"hosts\": [{\"name\": \"" host "\"}" more "], \"links\": [" links "]}"
#define LINK(a, b) "{\"a\": \"" a "\", \"b\": \"" b "\", \"MBps\": 1}"

Test(lab, networks_that_cannot_be_built)
{
	static const char *const texts[][2] = {
		{HOST_AND_SWITCHES("h;ls", "", LINK("h;ls", "s1") ", " LINK("s1", "s2")), "node 'h;ls'"},
		{HOST_AND_SWITCHES("a-very-long-name", "", LINK("a-very-long-name", "s1") ", " LINK("s1", "s2")),
		 "at most 15"},
		{HOST_AND_SWITCHES("eth0", "", LINK("eth0", "s1") ", " LINK("s1", "s2")), "node 'eth0'"},
		{HOST_AND_SWITCHES("h1", "", LINK("h1", "s1")), "no path from 's1' to 's2'"},
		{HOST_AND_SWITCHES("h1", "", LINK("h1", "s1") ", " LINK("h1", "s2") ", " LINK("s1", "s2")),
		 "host 'h1' has two links"},
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct error err = {0};
		struct topology *fabric = topology_parse("x", texts[i][0], strlen(texts[i][0]), &err);
		struct lab_spec spec = {.name = "a", .mtu_bytes = 1500, .fabric = fabric};
		struct lab lab;

		cr_assert_neq(fabric, NULL, "%s", err.text);
		cr_expect_lt(lab_plan(&spec, &lab, &err), 0, "%s", texts[i][1]);
		cr_expect_neq(strstr(err.text, texts[i][1]), NULL, "%s", err.text);
		topology_destroy(fabric);
	}
}

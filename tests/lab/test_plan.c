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
	cr_assert_eq(plan_lab(&lab, "a", 4, 2, "core", "rack2"), 0);
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

	cr_assert_eq(lab_print_batch(lab, out), 0);
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

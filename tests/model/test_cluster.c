/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdio.h>

#include <model/cluster.h>

static struct cluster *parse(const char *text, struct error *err)
{
	return cluster_parse("c.json", text, strlen(text), err);
}

Test(cluster, reads_machines_racks_and_pods)
{
	struct error err = {0};
	struct cluster *cluster =
		parse("{\"schema\": \"nomora.cluster/1\",\n"
		      " \"default_rtt_us\": {\"same_rack\": 40.5},\n"
		      " \"racks\": [{\"name\": \"r1\", \"pod\": \"p1\"}, {\"name\": \"r2\", \"pod\": \"p2\"}],\n"
		      " \"machines\": [\n"
		      "  {\"name\": \"a\", \"rack\": \"r2\", \"slots\": 3},\n"
		      "  {\"name\": \"b\", \"rack\": \"r1\", \"pod\": \"p1\", \"slots\": 0},\n"
		      "  {\"name\": \"c\", \"rack\": \"r2\", \"slots\": 5, \"gpus\": 2}], \"about\": 1}",
		      &err);

	cr_assert_not_null(cluster, "%s", err.text);
	cr_expect_eq(cluster->machine_count, 3);
	cr_expect_eq(cluster->rack_count, 2);
	cr_expect_eq(cluster->pod_count, 2);
	cr_expect_eq(cluster_slots(cluster), 8);
	cr_expect_eq(cluster_find_machine(cluster, "c"), 2);
	cr_expect_eq(cluster_find_machine(cluster, "d"), -ENOENT);
	cr_expect_eq(cluster->machines[0].rack, cluster->machines[2].rack);
	cr_expect_str_eq(cluster->racks[cluster->machines[0].rack].name, "r2");
	cr_expect_str_eq(cluster->pods[cluster->racks[cluster->machines[1].rack].pod], "p1");
	cr_expect_eq(cluster->racks[cluster->machines[0].rack].machine_count, 2);
	cr_expect_float_eq(cluster->default_rtt.same_rack_us, 40.5, 1e-12);
	cr_expect_gt(cluster->default_rtt.other_pod_us, cluster->default_rtt.same_pod_us);
	cluster_destroy(cluster);
}

struct refusal {
	const char *text, *expected;
	int line; /* 0 = the message names no line */
};

#define HEAD "{\"schema\": \"nomora.cluster/1\",\n"
#define MACHINE(name, rack) "{\"name\": \"" name "\", \"rack\": \"" rack "\", \"slots\": 1}"

static const struct refusal refusals[] = {
	{HEAD "\"machines\": []}", "empty", 2},
	{HEAD "\"machines\": 3}", "machines", 2},
	{HEAD "\"racks\": 3,\n\"machines\": [" MACHINE("a", "r") "]}", "racks", 2},
	{"{\"machines\": [" MACHINE("a", "r") "],\n\"schema\": \"nomora.cluster/2\"}", "nomora.cluster/1", 2},
	{"{\n\"machines\": [" MACHINE("a", "r") "]}", "schema", 0},
	{HEAD "\"machines\": [\n" MACHINE("a", "r") ",\n" MACHINE("a", "r") "]}", "duplicate machine name 'a'", 4},
	{HEAD "\"racks\": [{\"name\": \"r\"},\n{\"name\": \"r\"}],\n\"machines\": [" MACHINE("a", "r") "]}",
	 "duplicate rack name 'r'", 3},
	{HEAD "\"racks\": [{\"name\": \"r\"},\n{\"name\": \"s\"}],\n\"machines\": [" MACHINE("a", "r") "]}",
	 "'s' has no machines", 3},
	{HEAD "\"racks\": [{\"name\": \"r\"}],\n\"machines\": [" MACHINE("a", "s") "]}", "not in the list", 3},
	{HEAD "\"machines\": [\n{\"name\": \"a\", \"rack\": \"r\", \"pod\": \"p\", \"slots\": 1},\n"
	      "{\"name\": \"b\", \"rack\": \"r\", \"pod\": \"q\", \"slots\": 1}]}",
	 "in pod 'p' and in pod 'q'", 4},
	{HEAD "\"racks\": [{\"name\": \"r\", \"pod\": \"p\"}],\n"
	      "\"machines\": [{\"name\": \"a\", \"rack\": \"r\", \"pod\": \"q\", \"slots\": 1}]}",
	 "\"racks\" puts rack 'r' into pod 'p'", 3},
	{HEAD "\"machines\": [\n{\"name\": \"a\", \"rack\": \"r\", \"slots\": -1}]}", "slots", 3},
	{HEAD "\"machines\": [\n{\"name\": \"a\", \"rack\": \"r\", \"slots\": 1.5}]}", "slots", 3},
	{HEAD "\"machines\": [\n{\"name\": \"\", \"rack\": \"r\", \"slots\": 1}]}", "name", 3},
	{HEAD "\"machines\": [\n{\"name\": \"a\", \"slots\": 1}]}", "rack", 3},
	{HEAD "\"machines\": [\n[]]}", "machines[0]", 3},
	{HEAD "\"default_rtt_us\": {\"same_rack\": -4}, \"machines\": [" MACHINE("a", "r") "]}", "same_rack", 2},
	{HEAD "\"default_rtt_us\": {\"same_rack\": 4,\n\"other_pod\": \"far\"}, \"machines\": [" MACHINE("a", "r") "]}",
	 "default_rtt_us.other_pod", 3},
	{HEAD "\n\"default_rtt_us\": 4, \"machines\": [" MACHINE("a", "r") "]}", "default_rtt_us", 3},
	{HEAD "\"machines\": [", "JSON", 0},
	{HEAD "\"rack\": [],\n\"machines\": [" MACHINE("a", "r") "]}",
	 "rack: unknown key, did you mean 'racks'? Expected one of schema, default_rtt_us, racks, machines", 2},
	{HEAD "\"default_rtt_us\": {\n\"same_rack\": 4,\n\"same_rakc\": 500}, \"machines\": [" MACHINE("a", "r") "]}",
	 "default_rtt_us.same_rakc: unknown key, did you mean 'same_rack'? Expected one of same_machine, same_rack, "
	 "same_pod, other_pod",
	 4},
	{HEAD "\"racks\": [{\"name\": \"s\"},\n{\"name\": \"r\", \"pods\": 1}], \"machines\": [" MACHINE("a", "r") "]}",
	 "racks[1].pods: unknown key, did you mean 'pod'? Expected one of name, pod", 3},
	{HEAD "\"machines\": [" MACHINE("a", "r") ",\n{\"name\": \"b\", \"rack\": \"r\", \"slot\": 1}]}",
	 "machines[1].slot: unknown key, did you mean 'slots'? Expected one of name, rack, pod, slots", 3},
	{HEAD "\"machines\": [" MACHINE("a", "r") "],\n\"about\": 1,\n\"machine\": 1}", "machine: unknown key, did", 4},
	{"[]", "object", 0},
};

ParameterizedTestParameters(cluster, refuses)
{
	static size_t numbers[sizeof refusals / sizeof refusals[0]];

	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		numbers[i] = i;
	return cr_make_param_array(size_t, numbers, sizeof refusals / sizeof refusals[0]);
}

ParameterizedTest(size_t *number, cluster, refuses)
{
	const struct refusal *refusal = &refusals[*number];
	struct error err = {0};
	char place[32];

	cr_assert_null(parse(refusal->text, &err), "case %zu was read", *number);
	cr_expect_eq(strncmp(err.text, "c.json", 6), 0, "case %zu: no file in: %s", *number, err.text);
	cr_expect_not_null(strstr(err.text, refusal->expected), "case %zu: no '%s' in: %s", *number, refusal->expected,
			   err.text);
	snprintf(place, sizeof place, "c.json:%d:", refusal->line);
	if (refusal->line > 0)
		cr_expect_not_null(strstr(err.text, place), "case %zu: no line %d in: %s", *number, refusal->line,
				   err.text);
}

Test(cluster, lines_are_found_whatever_the_layout)
{
	struct error err = {0};

	/*
	 * The key's name within a string, as a string value and in a nested object; brackets and quotes in strings;
	 * several keys on a line.
	 */
	cr_assert_null(parse("{\"schema\": \"nomora.cluster/1\", \"racks\": {\"same_pods\": 1},\n\"default_rtt_us\": "
			     "{\"same_pod\": \"same_pods\",\n\"same_pods\": 1}}",
			     &err));
	cr_expect_eq(strncmp(err.text, "c.json:3: default_rtt_us.same_pods:", 35), 0, "%s", err.text);
}

Test(cluster, what_is_written_reads_back_the_same)
{
	char path[] = "/tmp/nomora-cluster-XXXXXX";
	struct error err = {0};
	struct cluster *cluster = cluster_create(), *again;

	close(mkstemp(path));
	cluster->default_rtt.same_rack_us = 12.5;
	cr_assert_eq(cluster_add_machine(cluster, "a", "r2", "p", 3, &err), 0);
	cr_assert_eq(cluster_add_machine(cluster, "b", "r1", NULL, 0, &err), 1);
	cr_assert_eq(cluster_add_machine(cluster, "c", "r2", NULL, 7, &err), 2);
	cr_assert_eq(cluster_write(cluster, path, &err), 0, "%s", err.text);
	again = cluster_read(path, &err);
	cr_assert_not_null(again, "%s", err.text);
	cr_assert_eq(again->machine_count, 3);
	for (uint32_t m = 0; m < 3; m++) {
		const struct cluster_rack *rack = &cluster->racks[cluster->machines[m].rack];

		cr_assert_str_eq(again->machines[m].name, cluster->machines[m].name);
		cr_assert_eq(again->machines[m].rack, cluster->machines[m].rack);
		cr_assert_eq(again->machines[m].slots, cluster->machines[m].slots);
		cr_assert_str_eq(again->racks[cluster->machines[m].rack].name, rack->name);
		cr_assert_str_eq(again->pods[again->racks[cluster->machines[m].rack].pod], cluster->pods[rack->pod]);
	}
	cr_assert_eq(memcmp(&again->default_rtt, &cluster->default_rtt, sizeof again->default_rtt), 0);
	unlink(path);
	cluster_destroy(cluster);
	cluster_destroy(again);
}

Test(cluster, numbers_of_removed_machines_racks_and_pods_are_given_out_again)
{
	struct cluster *cluster = cluster_create();
	struct error err = {0};

	cr_assert_eq(cluster_add_machine(cluster, "a", "r1", "p1", 1, &err), 0);
	cr_assert_eq(cluster_add_machine(cluster, "b", "r2", "p2", 2, &err), 1);
	cr_assert_eq(cluster_add_machine(cluster, "c", "r2", NULL, 3, &err), 2);
	cluster_remove_machine(cluster, 1);
	cr_expect_eq(cluster_find_machine(cluster, "b"), -ENOENT);
	cr_expect_eq(cluster_slots(cluster), 4);
	cr_expect_str_eq(cluster->racks[1].name, "r2", "it still has a machine");
	cluster_remove_machine(cluster, 2);
	cr_expect_null(cluster->racks[1].name);
	cr_expect_null(cluster->pods[1]);
	cr_expect_eq(cluster_add_machine(cluster, "d", "r3", "p3", 5, &err), 1, "the first free number");
	cr_expect_eq(cluster->machines[1].rack, 1);
	cr_expect_str_eq(cluster->pods[cluster->racks[1].pod], "p3");
	cr_expect_eq(cluster_add_machine(cluster, "b", "r2", "p2", 6, &err), 2, "names come back in other places");
	cr_expect_eq(cluster->machines[2].rack, 2);
	cr_expect_eq(cluster_add_machine(cluster, "e", "r1", NULL, 7, &err), 3);
	cr_expect_eq(cluster->machine_count, 4);
	cluster_destroy(cluster);
}

Test(cluster, default_round_trips_may_be_0_and_those_not_given_stay)
{
	struct error err = {0};
	struct cluster *known = cluster_create();
	struct cluster *cluster = parse(
		HEAD
		"\"default_rtt_us\": {\"same_machine\": 0, \"other_pod\": 7.5}, \"machines\": [" MACHINE("a", "r") "]}",
		&err);

	cr_assert_not_null(cluster, "%s", err.text);
	cr_expect_eq(cluster->default_rtt.same_machine_us, 0);
	cr_expect_eq(cluster->default_rtt.other_pod_us, 7.5);
	cr_expect_eq(cluster->default_rtt.same_rack_us, known->default_rtt.same_rack_us);
	cr_expect_eq(cluster->default_rtt.same_pod_us, known->default_rtt.same_pod_us);
	cluster_destroy(cluster);
	cluster_destroy(known);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of Storm's topologies. tests/data/storm was written by hand after the fields of Storm's UI REST API
 * (STORM-UI-REST-API.md of Storm 2): a spout feeds two bolts; one of them feeds a third.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "dataflow_edges.h"

Test(dataflow_storm, executors_and_tuples)
{
	struct dataflow *dataflow = empty();
	struct error err = {0};
	const struct dataflow_job *job;

	cr_assert_eq(dataflow_read_storm(dataflow, SOURCE_ROOT "/tests/data/storm", &err), 0, "%s", err.text);
	job = &dataflow->jobs[0];
	cr_expect_str_eq(job->name, "words-1-1764547200");
	cr_assert_eq(job->component_count, 4, "ackers are left out");
	cr_expect_eq(job->task_count, 10);
	cr_expect_eq(job->components[1].task_count, 4, "executors, not tasks");
	cr_expect(isinf(job->components[0].MB), "tuples are no MB");
	cr_assert_eq(job->edge_count, 3);
	expect_edge(job, 0, "split", "count", 8);
	expect_edge(job, 1, "spout", "split", 1);
	expect_edge(job, 2, "spout", "log", 0.1);
	cr_expect_eq(job->hosts[0], DATAFLOW_NOWHERE);
	dataflow_destroy(dataflow);
}

#define COMPONENTS                                                                                                     \
	"{\"spouts\": [{\"spoutId\": \"s\", \"executors\": 1}], \"bolts\": [{\"boltId\": \"b\", \"executors\": 2}]}"
#define BOLT(id, from, value)                                                                                          \
	"{\"id\": \"" id "\", \"executed\": [{\"component_id\": \"" from                                               \
	"\", \"stream_id\": \"default\", \"value\": " value "}]}"
#define BOLTS(list) "{\"bolts\": [" list "]}"

Test(dataflow_storm, bad_answers_are_refused_with_file_and_field)
{
	static const struct {
		const char *topology, *metrics, *expected;
	} bad[] = {
		{"{", "{}", "t:1: "},
		{"{}", "[", "m:1: "},
		{"{}", "{}", "t: spouts: missing"},
		{"{\"spouts\": [{\"spoutId\": \"s\"}], \"bolts\": []}", "{}", "t: spouts[0].executors: missing"},
		{"{\"spouts\": [], \"bolts\": [{\"boltId\": \"a b\", \"executors\": 1}]}", "{}",
		 "t: bolts[0].boltId: bad id"},
		{"{\"spouts\": [{\"spoutId\": \"a\", \"executors\": 1}], \"bolts\": [{\"boltId\": \"a\", "
		 "\"executors\": 1}]}",
		 "{}", "t: bolts[0].boltId: duplicate id 'a'"},
		{"{\"spouts\": [{\"spoutId\": \"a\", \"executors\": 99999}], \"bolts\": [{\"boltId\": \"b\", "
		 "\"executors\": 2}]}",
		 "{}", "t: bolts[0].executors: more than 100000 executors"},
		{COMPONENTS, "{}", "m: bolts: missing"},
		{COMPONENTS, BOLTS(BOLT("c", "s", "5")), "m: bolts[0].id: unknown component 'c'"},
		{COMPONENTS, BOLTS(BOLT("b", "s", "5") "," BOLT("b", "s", "5")), "m: bolts[1].id: duplicate id 'b'"},
		{COMPONENTS, BOLTS(BOLT("b", "c", "5")), "m: bolts[0].executed[0].component_id: unknown component 'c'"},
		{COMPONENTS, BOLTS(BOLT("b", "b", "5")), "m: bolts[0].executed[0].component_id: 'b' is its own input"},
		{COMPONENTS, BOLTS(BOLT("b", "s", "-5")), "m: bolts[0].executed[0].value: "},
		{COMPONENTS, BOLTS(BOLT("b", "s", "0")), "m: bolts: no bolt has executed a tuple of another component"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dataflow_storm_text topology = {"t", bad[i].topology, strlen(bad[i].topology)};
		struct dataflow_storm_text metrics = {"m", bad[i].metrics, strlen(bad[i].metrics)};
		struct dataflow *dataflow = empty();
		struct error err = {0};

		cr_expect_lt(dataflow_parse_storm(dataflow, &topology, &metrics, &err), 0, "%zu", i);
		cr_expect_eq(strncmp(err.text, bad[i].expected, strlen(bad[i].expected)), 0, "'%s', not '%s'", err.text,
			     bad[i].expected);
		cr_expect_eq(dataflow->job_count, 0);
		dataflow_destroy(dataflow);
	}
}

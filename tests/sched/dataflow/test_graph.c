/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sched/dataflow/graph.h>

static struct dataflow *parse(const char *jobs, struct error *err)
{
	char text[4096];

	snprintf(text, sizeof text,
		 "{\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:2\", \"slots\": 9, \"jobs\": [%s]}",
		 jobs);
	return dataflow_parse("d.json", text, strlen(text), err);
}

static double rate_of(const struct dataflow_by_source *rows, uint32_t row, uint32_t source)
{
	for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++)
		if (rows->source[i] == source)
			return rows->rate[i];
	return 0;
}

static double flow_rate(const struct dataflow_graph *graph, uint32_t from, uint32_t to, uint32_t source)
{
	for (uint32_t f = graph->out[from]; f < graph->out[from + 1]; f++)
		if (graph->flows[f].to == to)
			return rate_of(&graph->carried, f, source);
	return -1;
}

/*
 * Two spout tasks; three bolts grouped by key with skew 1 (shares 6/11, 3/11, 2/11) that emit half of their input; one
 * sink that receives everything.
 */
Test(dataflow_graph, shares_selectivity_and_copies)
{
	struct error err = {0};
	struct dataflow *dataflow = parse(
		"{\"name\": \"j\", \"components\": [{\"name\": \"s\", \"tasks\": 2}, {\"name\": \"b\", \"tasks\": 3},"
		"{\"name\": \"all\", \"tasks\": 2}], \"edges\": ["
		"{\"from\": \"s\", \"to\": \"b\", \"grouping\": \"key\", \"skew\": 1},"
		"{\"from\": \"b\", \"to\": \"all\", \"grouping\": \"all\", \"selectivity\": 0.5}]}",
		&err);
	struct dataflow_graph *graph;

	cr_assert_not_null(dataflow, "%s", err.text);
	graph = dataflow_graph_create(&dataflow->jobs[0], &err);
	cr_assert_not_null(graph, "%s", err.text);
	cr_expect_eq(graph->task_count, 7);
	cr_expect_eq(graph->flow_count, 2 * 3 + 3 * 2);
	cr_expect_eq(graph->source_count, 2);
	cr_expect_float_eq(flow_rate(graph, 0, 2, 0), 6.0 / 11, 1e-12);
	cr_expect_float_eq(flow_rate(graph, 1, 4, 1), 2.0 / 11, 1e-12);
	cr_expect_eq(flow_rate(graph, 1, 4, 0), 0, "the other source's data does not pass here");
	cr_expect_float_eq(flow_rate(graph, 3, 5, 1), 3.0 / 11 / 2, 1e-12);
	cr_expect_float_eq(rate_of(&graph->received, 6, 0), 0.5, 1e-12);
	cr_expect_float_eq(graph->sink_share[0], 1, 1e-12, "two sinks get half each of what was emitted");
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}

/* Half of b's output returns through c: b receives 1 + 1/2 + 1/4 + ... = 2. */
Test(dataflow_graph, a_cycle_converges)
{
	struct error err = {0};
	struct dataflow *dataflow = parse(
		"{\"name\": \"j\", \"components\": [{\"name\": \"s\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, "
		"{\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"b\"}, {\"from\": \"b\", \"to\": \"c\", \"selectivity\": 0.5},"
		"{\"from\": \"c\", \"to\": \"b\"}, {\"from\": \"b\", \"to\": \"k\"}]}",
		&err);
	struct dataflow_graph *graph;

	cr_assert_not_null(dataflow, "%s", err.text);
	graph = dataflow_graph_create(&dataflow->jobs[0], &err);
	cr_assert_not_null(graph, "%s", err.text);
	cr_expect_float_eq(rate_of(&graph->received, 1, 0), 2, 1e-9);
	cr_expect_float_eq(graph->sink_share[0], 2, 1e-9);
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}

Test(dataflow_graph, a_cycle_that_gains_is_refused)
{
	static const char *const selectivities[] = {"1", "1.0001", "50"};

	for (int i = 0; i < 3; i++) {
		char job[512];
		struct error err = {0};
		struct dataflow *dataflow;

		snprintf(job, sizeof job,
			 "{\"name\": \"j\", \"components\": [{\"name\": \"s\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, "
			 "{\"name\": \"k\"}],"
			 "\"edges\": [{\"from\": \"s\", \"to\": \"b\"}, {\"from\": \"b\", \"to\": \"c\", "
			 "\"selectivity\": %s},"
			 "{\"from\": \"c\", \"to\": \"b\"}, {\"from\": \"c\", \"to\": \"k\"}]}",
			 selectivities[i]);
		dataflow = parse(job, &err);
		cr_assert_not_null(dataflow, "%s", err.text);
		cr_expect_null(dataflow_graph_create(&dataflow->jobs[0], &err), "selectivity %s", selectivities[i]);
		cr_expect_eq(err.code, EINVAL);
		dataflow_destroy(dataflow);
	}
}

static const struct {
	const char *job, *message;
} bad[] = {
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"edges\": [{\"from\": \"a\", "
	 "\"to\": \"x\"}]}",
	 "d.json:1: jobs[0].edges[0].to: unknown component 'x'"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"edges\": [{\"from\": \"a\", "
	 "\"to\": \"b\"}, {\"from\": "
	 "\"b\", \"to\": \"a\"}]}",
	 "no source"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"a\"}], \"edges\": []}",
	 "duplicate component 'a'"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}], \"edges\": [], \"placement\": {\"a.1\": \"h0\"}}",
	 "unknown task"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}], \"edges\": [], \"placement\": {\"a.0\": \"edge0.0\"}}",
	 "unknown host"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\", \"tasks\": 10}], \"edges\": [], \"placement\": "
	 "{\"a.0\": \"h0\", \"a.1\": \"h0\","
	 "\"a.2\": \"h0\", \"a.3\": \"h0\", \"a.4\": \"h0\", \"a.5\": \"h0\", \"a.6\": \"h0\", \"a.7\": \"h0\", "
	 "\"a.8\": \"h0\", \"a.9\": \"h0\"}}",
	 "more tasks on host 'h0' than its 9 slots"},
	{"{\"name\": \"j\", \"shares_slots\": true, \"components\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"edges\": "
	 "[{\"from\": \"a\", \"to\": \"b\"}], \"placement\": {\"a.0\": \"h0\", \"b.0\": \"h1\"}}",
	 "placement.b.0: not on the host of 'a.0', which shares its slot"},
	{"{\"name\": \"j\", \"components\": [{\"name\": \"a\"}], \"edges\": []}, {\"name\": \"j\", \"components\": "
	 "[{\"name\": \"a\"}], \"edges\": []}",
	 "duplicate job 'j'"},
};

Test(dataflow_graph, bad_scenarios_are_refused_with_place_and_reason)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = {0};

		cr_expect_null(parse(bad[i].job, &err), "row %zu", i);
		cr_expect_not_null(strstr(err.text, bad[i].message), "row %zu: %s", i, err.text);
	}
}

/* 50,000 tasks that send to 50,000: 2.5 thousand million flows. */
Test(dataflow_graph, too_many_flows_are_refused)
{
	struct error err = {0};
	struct dataflow *dataflow = dataflow_create(topology_fat_tree(2, 0, 100, NULL), 2);
	struct dataflow_job *job = dataflow_add_job(dataflow, "wide", 0);

	dataflow_add_component(job, "a", 50000);
	dataflow_add_component(job, "b", 50000);
	dataflow_add_edge(job, 0, 1, DATAFLOW_SHUFFLE);
	cr_expect_null(dataflow_graph_create(job, &err));
	cr_expect_eq(err.code, E2BIG);
	cr_expect_str_eq(err.text, "job 'wide': too many flows between tasks");
	dataflow_destroy(dataflow);
}

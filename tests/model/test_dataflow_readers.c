/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers of other systems' job formats, and the writer of our own. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/dataflow.h>

static struct dataflow *empty(void)
{
	return dataflow_create(topology_fat_tree(4, 0, 100, NULL), 2);
}

/* In the format of Flink 1.17; the sink is listed before the other component that its source feeds. */
static const char flink[] =
	"{\"plan\": {\"jid\": \"00ff\", \"name\": \"State machine job\", \"type\": \"STREAMING\", \"nodes\": ["
	"{\"id\": \"c27d\", \"parallelism\": 4, \"operator\": \"\", \"description\": \"Flat Map<br/>\","
	" \"inputs\": [{\"num\": 0, \"id\": \"bc76\", \"ship_strategy\": \"HASH\", \"exchange\": "
	"\"pipelined_bounded\"},"
	" {\"num\": 1, \"id\": \"bc76\", \"ship_strategy\": \"%s\"}]},"
	"{\"id\": \"bc76\", \"parallelism\": 2, \"operator\": \"\", \"description\": \"Source: Custom Source\"},"
	"{\"id\": \"0a44\", \"parallelism\": 4, \"inputs\": [{\"num\": 0, \"id\": \"%s\", \"ship_strategy\": "
	"\"Broadcast\"}]}]}}";

static int read_flink(struct dataflow *dataflow, const char *strategy, const char *input, struct error *err)
{
	char text[2048];

	snprintf(text, sizeof text, flink, strategy, input);
	return dataflow_parse_flink(dataflow, "plan", text, strlen(text), err);
}

Test(dataflow_readers, a_plan_of_flink)
{
	struct dataflow *dataflow = empty();
	struct error err = {0};
	const struct dataflow_job *job;

	cr_assert_eq(read_flink(dataflow, "CUSTOM", "c27d", &err), 0, "%s", err.text);
	job = &dataflow->jobs[0];
	cr_expect_str_eq(job->name, "00ff");
	cr_expect_eq(job->task_count, 10);
	cr_assert_eq(job->edge_count, 2, "two inputs from one vertex are one edge");
	cr_expect_eq(job->edges[0].grouping, DATAFLOW_KEY);
	cr_expect_eq(job->edges[0].selectivity, 2);
	cr_expect_eq(job->edges[0].from, 1);
	cr_expect_eq(job->edges[1].grouping, DATAFLOW_ALL);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, bad_plans_are_refused_and_leave_no_job)
{
	static const struct {
		const char *strategy, *input, *expected;
	} bad[] = {
		{"TELEPORT", "c27d", "plan: plan.nodes[0].inputs[1].ship_strategy: unknown strategy 'TELEPORT'"},
		{"REBALANCE", "c27d", "two inputs from 'bc76' with different strategies"},
		{"HASH", "0000", "plan: plan.nodes[2].inputs[0].id: unknown vertex '0000'"},
		{"HASH", "0a44", "vertex '0a44' is its own input"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dataflow *dataflow = empty();
		struct error err = {0};

		cr_expect_lt(read_flink(dataflow, bad[i].strategy, bad[i].input, &err), 0);
		cr_expect_not_null(strstr(err.text, bad[i].expected), "%s", err.text);
		cr_expect_eq(dataflow->job_count, 0);
		dataflow_destroy(dataflow);
	}
}

static int read_swim(struct dataflow *dataflow, const char *text, uint32_t jobs, struct error *err)
{
	struct dataflow_trace_options options = {.jobs = jobs, .tasks = 4, .split_MB = 100};

	return dataflow_parse_swim(dataflow, "trace", text, strlen(text), &options, err);
}

Test(dataflow_readers, swim)
{
	struct dataflow *dataflow = empty();
	struct error err = {0};
	static const char text[] = "job0\t49\t49\t250000000\t600000000\t627471\n"
				   "job1\t101\t52\t1\t0\t5\n"
				   "job2\t122\t21\t5\t50\t5\n";

	cr_assert_eq(read_swim(dataflow, text, 0, &err), 0, "%s", err.text);
	cr_assert_eq(dataflow->job_count, 2, "job1 shuffles nothing");
	cr_expect_str_eq(dataflow->jobs[1].name, "job2");
	cr_expect_eq(dataflow->jobs[0].arrival_s, 49);
	cr_expect_eq(dataflow->jobs[0].components[0].task_count, 3);
	cr_expect_eq(dataflow->jobs[0].components[1].task_count, 4, "at most 4");
	cr_expect_float_eq(dataflow->jobs[0].components[0].MB, 200, 1e-9);
	cr_expect_eq(dataflow->jobs[1].task_count, 2);
	dataflow_destroy(dataflow);
	dataflow = empty();
	cr_assert_eq(read_swim(dataflow, text, 1, &err), 0, "%s", err.text);
	cr_expect_eq(dataflow->job_count, 1);
	cr_expect_lt(read_swim(dataflow, "job0\t49\t49\t250000000\t6000", 0, &err), 0);
	cr_expect_not_null(strstr(err.text, "trace:1: 5 fields, expected 6"), "%s", err.text);
	cr_expect_lt(read_swim(dataflow, "job0\t49\t49\t1\t-6\t1\n", 0, &err), 0);
	cr_expect_not_null(strstr(err.text, "trace:1: shuffle_bytes: found '-6'"), "%s", err.text);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, coflows_keep_volumes_and_ports)
{
	struct dataflow *dataflow = empty();
	struct dataflow_trace_options options = {.pin = true};
	struct error err = {0};
	char path[] = "/tmp/nomora-coflows-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "17 2\n1 0 2 0 1 2 2:120.0 3:60.0\n2 500000 1 0 1 1:5\n";
	const struct dataflow_job *job;

	cr_assert(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
	close(fd);
	cr_expect_lt(dataflow_read_coflows(dataflow, path, &options, &err), 0, "17 ports on 16 hosts");
	cr_expect_not_null(strstr(err.text, "17 ports, but the network has 16 hosts"), "%s", err.text);
	options.pin = false;
	cr_assert_eq(dataflow_read_coflows(dataflow, path, &options, &err), 0, "%s", err.text);
	unlink(path);
	cr_assert_eq(dataflow->job_count, 2);
	job = &dataflow->jobs[0];
	cr_expect_eq(job->component_count, 3);
	cr_expect_float_eq(job->components[0].MB, 90, 1e-9);
	cr_expect_float_eq(2 * job->components[0].MB * job->edges[0].selectivity, 120, 1e-9);
	cr_expect_eq(dataflow->jobs[1].arrival_s, 500);
	cr_expect_eq(job->hosts[0], DATAFLOW_NOWHERE);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, what_is_written_reads_back)
{
	static const char text[] =
		"{\"schema\": \"nomora.dataflow/1\", \"topology\": \"leafspine:2,2,4\", \"slots\": 3, \"seed\": 7,"
		" \"hosts\": [{\"name\": \"h1\", \"slots\": 5, \"cpu\": 0.5}], \"jobs\": ["
		"{\"name\": \"j\", \"weight\": 2, \"arrival_s\": 1.5, \"components\": ["
		"{\"name\": \"a\", \"tasks\": 2, \"MBps\": 5, \"MB\": 70}, {\"name\": \"b\", \"cpu_s_per_MB\": 0.25}],"
		" \"edges\": [{\"from\": \"a\", \"to\": \"b\", \"grouping\": \"forward\", \"selectivity\": 0.5}],"
		" \"placement\": {\"a.1\": \"h1\"}}]}";
	struct error err = {0};
	struct dataflow *one = dataflow_parse("one", text, sizeof text - 1, &err), *two;
	json_t *first, *second;
	char *written;

	cr_assert_not_null(one, "%s", err.text);
	first = dataflow_to_json(one);
	written = json_dumps(first, 0);
	two = dataflow_parse("two", written, strlen(written), &err);
	cr_assert_not_null(two, "%s", err.text);
	second = dataflow_to_json(two);
	cr_expect(json_equal(first, second), "%s", written);
	cr_expect_eq(two->jobs[0].arrival_s, 1.5);
	cr_expect_eq(two->jobs[0].components[0].MB, 70);
	cr_expect(isinf(two->jobs[0].components[1].MB));
	cr_expect_eq(two->cpu[topology_find_node(two->topology, "h1")], 0.5);
	json_decref(first);
	json_decref(second);
	free(written);
	dataflow_destroy(one);
	dataflow_destroy(two);
}

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

static const char flink_triangle[] =
	"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 2}, {\"id\": \"b\", \"parallelism\": 4, "
	"\"inputs\": [{\"id\": \"a\", \"ship_strategy\": \"HASH\"}]}, "
	"{\"id\": \"c\", \"parallelism\": 2, \"inputs\": [{\"id\": \"a\", \"ship_strategy\": "
	"\"BROADCAST\"}, {\"id\": \"b\", \"ship_strategy\": \"REBALANCE\"}]}]}";
static const char flink_chain[] =
	"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 1}, {\"id\": \"b\", \"parallelism\": 1, "
	"\"inputs\": [{\"id\": \"a\", \"ship_strategy\": \"HASH\"}]}, "
	"{\"id\": \"c\", \"parallelism\": 1, \"inputs\": [{\"id\": \"b\", \"ship_strategy\": \"HASH\"}]}, "
	"{\"id\": \"d\", \"parallelism\": 1, \"inputs\": [{\"id\": \"c\", \"ship_strategy\": \"HASH\"}]}]}";

/* texts: of the vertices a, b, c; NULL: no file */
static int read_rates(struct dataflow *dataflow, const char *plan, const char *const texts[3], struct error *err)
{
	char folder[] = "/tmp/nomora-rates-XXXXXX", path[64], *at;
	int code;

	cr_assert_eq(dataflow_parse_flink(dataflow, "plan", plan, strlen(plan), err), 0, "%s", err->text);
	cr_assert_not_null(mkdtemp(folder));
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%c.json", folder, 'a' + i);
		FILE *file = texts[i] ? fopen(path, "w") : NULL;

		if (file) {
			fputs(texts[i], file);
			fclose(file);
		}
	}
	code = dataflow_read_flink_rates(&dataflow->jobs[0], folder, err);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%c.json", folder, 'a' + i);
		unlink(path);
	}
	rmdir(folder);
	at = code < 0 ? strstr(err->text, folder) : NULL;
	if (at) /* the rest of the message is the same in each run */
		memmove(at, at + strlen(folder), strlen(at + strlen(folder)) + 1);
	return code;
}

#define RATE(id, sum) "[{\"id\": \"" id "\", \"min\": 1.0, \"max\": 2.0, \"avg\": 1.5, \"sum\": " sum "}]"

/* In the format of Flink 1.17's answers to .../subtasks/metrics?get=numBytesOutPerSecond. */
Test(dataflow_readers, measured_rates_of_flink)
{
	static const struct {
		const char *texts[3], *expected;
	} bad[] = {
		{{RATE("numBytesOutPerSecond", "3e7"), NULL}, "/b.json: No such file"},
		{{RATE("numBytesOutPerSecond", "3e7"), "[]"}, "/b.json: no metric numBytesOutPerSecond"},
		{{RATE("numBytesOut", "3e7"), "[]"}, "/a.json: no metric numBytesOutPerSecond"},
		{{RATE("numBytesOutPerSecond", "\"NaN\""), "[]"}, "/a.json: [0].sum: "},
		{{"{}", "[]"}, "/a.json: expected a list of metrics"},
		{{RATE("numBytesOutPerSecond", "0"), RATE("numBytesOutPerSecond", "0")},
		 "/a.json: the source sends nothing"},
		{{RATE("numBytesOutPerSecond", "3e7"), RATE("numBytesOutPerSecond", "0"),
		  RATE("numBytesOutPerSecond", "1")},
		 "/c.json: sends data, but its inputs send nothing"},
	};
	static const char *const good[3] = {RATE("numBytesOutPerSecond", "3e7"), RATE("numBytesOutPerSecond", "5e6")};
	struct dataflow *dataflow = empty();
	struct error err = {0};
	const struct dataflow_job *job;

	cr_assert_eq(read_rates(dataflow, flink_triangle, good, &err), 0, "%s", err.text);
	job = &dataflow->jobs[0];
	/* of 30 MB/s, b gets 10, and each of the two tasks of c 10; b sends half of what it gets */
	cr_expect_float_eq(job->components[0].MBps, 5, 1e-12);
	cr_expect_eq(job->edges[0].selectivity, 1);
	cr_expect_eq(job->edges[1].selectivity, 1);
	cr_expect_eq(job->edges[2].from, 1);
	cr_expect_float_eq(job->edges[2].selectivity, 0.5, 1e-12);
	cr_expect(isinf(job->components[1].MBps));
	dataflow_destroy(dataflow);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		dataflow = empty();
		cr_expect_lt(read_rates(dataflow, bad[i].texts[2] ? flink_chain : flink_triangle, bad[i].texts, &err),
			     0, "%zu", i);
		cr_expect_not_null(strstr(err.text, bad[i].expected), "'%s', not '%s'", err.text, bad[i].expected);
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

/* The first node of some networks is a host. */
Test(dataflow_readers, each_host_is_written)
{
	static const char *const names[] = {"a", "s", "b"};
	struct topology *topology = topology_create();
	struct dataflow *dataflow;
	json_t *root;
	char *written;

	for (int n = 0; n < 3; n++)
		cr_assert_eq(topology_add_node(topology, n == 1 ? TOPOLOGY_SWITCH : TOPOLOGY_HOST, names[n], NULL), n);
	cr_assert_eq(topology_add_link(topology, 0, 1, 10, 10, NULL), 0);
	cr_assert_eq(topology_add_link(topology, 1, 2, 10, 10, NULL), 1);
	dataflow = dataflow_create(topology, 3);
	root = dataflow_to_json(dataflow);
	written = json_dumps(json_object_get(root, "hosts"), JSON_COMPACT);
	cr_expect_str_eq(written, "[{\"name\":\"a\",\"slots\":3},{\"name\":\"b\",\"slots\":3}]");
	free(written);
	json_decref(root);
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
	cr_expect_eq(two->seed, 7);
	cr_expect_eq(two->slots[topology_find_node(two->topology, "h1")], 5);
	cr_expect_eq(two->slots[topology_find_node(two->topology, "h0")], 3);
	cr_expect_eq(two->jobs[0].weight, 2);
	cr_expect_eq(two->jobs[0].components[0].task_count, 2);
	cr_expect_eq(two->jobs[0].components[0].MBps, 5);
	cr_expect_eq(two->jobs[0].components[1].cpu_s_per_MB, 0.25);
	cr_expect_eq(two->jobs[0].edges[0].grouping, DATAFLOW_FORWARD);
	cr_expect_eq(two->jobs[0].edges[0].selectivity, 0.5);
	cr_expect_eq(two->jobs[0].hosts[1], topology_find_node(two->topology, "h1"));
	cr_expect_eq(two->jobs[0].hosts[0], DATAFLOW_NOWHERE);
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

#define SCENARIO(rest) "{\"schema\": \"nomora.dataflow/1\", \"topology\": \"leafspine:1,1,2\", " rest "}"
#define COMPONENTS "\"components\": [{\"name\": \"a\", \"tasks\": 2}, {\"name\": \"b\"}]"
#define EDGE(from, to, rest) "{\"from\": \"" from "\", \"to\": \"" to "\"" rest "}"
#define JOB(name, rest) "{\"name\": \"" name "\", " COMPONENTS ", \"edges\": [" EDGE("a", "b", "") "]" rest "}"
#define WITH_EDGES(edges) SCENARIO("\"jobs\": [{\"name\": \"j\", " COMPONENTS ", \"edges\": [" edges "]}]")
#define PLACED(task, host) ", \"placement\": {\"" task "\": \"" host "\"}"

static const char *const refused[][2] = {
	{SCENARIO("\"jobs\": []"), "d: jobs: the list is empty; expected at least one job"},
	{SCENARIO("\"jobs\": [" JOB("j k", "") "]"),
	 "d:1: jobs[0].name: bad name; expected one word of at most 63 bytes"},
	{SCENARIO("\"jobs\": [" JOB("j", "") ",\n" JOB("j", "") "]"), "d:2: jobs[1].name: duplicate job 'j'"},
	{SCENARIO("\"jobs\": [" JOB("j", ", \"weight\": 0") "]"), "jobs[0].weight: found 0"},
	{SCENARIO("\"jobs\": [" JOB("j", ", \"wieght\": 1") "]"), "jobs[0].wieght: unknown key"},
	{SCENARIO("\"seed\": -1, \"jobs\": [" JOB("j", "") "]"), "d: seed: found -1"},
	{SCENARIO("\"slots\": 100001, \"jobs\": [" JOB("j", "") "]"), "d: slots: found 100001"},
	{SCENARIO("\"hosts\": [{\"name\": \"h0\"},\n{\"name\": \"h9\"}], \"jobs\": [" JOB("j", "") "]"),
	 "d:2: hosts[1].name: unknown host 'h9'"},
	{SCENARIO("\"hosts\": [{\"name\": \"leaf0\"}], \"jobs\": [" JOB("j", "") "]"),
	 "d:1: hosts[0].name: unknown host 'leaf0'"},
	{SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"a\"}], \"edges\": "
		  "[]}]"),
	 "jobs[0].components[1].name: duplicate component 'a'"},
	{SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a b\"}], \"edges\": []}]"),
	 "jobs[0].components[0].name: bad name"},
	{SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a\", \"tasks\": 100000}, {\"name\": "
		  "\"b\"}], "
		  "\"edges\": []}]"),
	 "jobs[0].components[1].tasks: more than 100000 tasks in the job"},
	{WITH_EDGES(EDGE("a", "c", "")), "jobs[0].edges[0].to: unknown component 'c'"},
	{WITH_EDGES(EDGE("ab", "b", "")), "jobs[0].edges[0].from: unknown component 'ab'"},
	{WITH_EDGES(EDGE("a", "a", "")), "jobs[0].edges[0].to: 'a' is linked to itself"},
	{WITH_EDGES(EDGE("a", "b", "") ", " EDGE("a", "b", "")), "jobs[0].edges[1].to: duplicate edge 'a' - 'b'"},
	{WITH_EDGES(EDGE("a", "b", "") ", " EDGE("b", "a", "")), "jobs[0].edges: no source"},
	{WITH_EDGES(EDGE("a", "b", ", \"grouping\": \"x\"")), "jobs[0].edges[0].grouping: unknown grouping 'x'"},
	{WITH_EDGES(EDGE("a", "b", ", \"skew\": 101")), "jobs[0].edges[0].skew: found 101"},
	{SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": "
		  "\"c\"}, "
		  "{\"name\": \"d\"}], \"edges\": [" EDGE("a", "b", "") ", " EDGE("c", "d", "") ", " EDGE("d", "c",
													  "") "]}]"),
	 "jobs[0].edges: no source reaches component 'c'"},
	{SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": "
		  "\"c\"}], "
		  "\"edges\": [" EDGE("a", "b", "") ", " EDGE("b", "c", "") ", " EDGE("c", "b", "") "]}]"),
	 "jobs[0].edges: no sink: every component has an outgoing edge"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a.2", "h0")) "]"), "jobs[0].placement.a.2: unknown task"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a", "h0")) "]"), "jobs[0].placement.a: unknown task"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("c.0", "h0")) "]"), "jobs[0].placement.c.0: unknown task"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a.0x", "h0")) "]"), "jobs[0].placement.a.0x: unknown task"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a.0", "h2")) "]"), "jobs[0].placement.a.0: unknown host"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a.0", "leaf0")) "]"), "jobs[0].placement.a.0: unknown host"},
	{SCENARIO("\"jobs\": [" JOB("j", PLACED("a.1", "h0")) ", " JOB("k", PLACED("b.0", "h0")) "]"),
	 "d: jobs.placement: more tasks on host 'h0' than its 1 slots"},
	{"{\"schema\": \"nomora.dataflow/1\", \"topology\": \"net.json\", \"jobs\": []}",
	 "topology: bad network 'net.json'"},
	{"{\"schema\": \"nomora.dataflow/1\", \"topology\": {}, \"jobs\": []}", "topology: topology: schema: missing"},
	{"{\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:3\", \"jobs\": []}", "even number"},
};

Test(dataflow_readers, bad_scenarios_are_refused)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct error err = {0};

		cr_expect_null(dataflow_parse("d", refused[i][0], strlen(refused[i][0]), &err), "%s", refused[i][0]);
		cr_expect(strstr(err.text, refused[i][1]), "%s instead of %s", err.text, refused[i][1]);
	}
}

Test(dataflow_readers, a_scenario_has_defaults)
{
	static const char text[] = SCENARIO("\"seed\": 0, \"hosts\": [{\"name\": \"h1\"}], \"jobs\": [" JOB(
		"j", PLACED("a.1", "h1")) ", " JOB("k", ", \"curve\": \"redis\"" PLACED("b.0", "h0")) "]");
	struct error err = {0};
	struct dataflow *dataflow = dataflow_parse("d", text, sizeof text - 1, &err);
	const struct dataflow_job *job;
	json_t *json;

	cr_assert_not_null(dataflow, "%s", err.text);
	cr_expect_eq(dataflow->seed, 0);
	for (uint32_t n = 0; n < dataflow->topology->node_count; n++) {
		cr_expect_eq(dataflow->slots[n], dataflow->topology->nodes[n].kind == TOPOLOGY_HOST ? 1 : 0);
		cr_expect(isinf(dataflow->cpu[n]));
	}
	cr_assert_eq(dataflow->job_count, 2);
	job = &dataflow->jobs[0];
	cr_expect(job->weight == 1 && job->arrival_s == 0 && !job->curve);
	cr_expect_str_eq(dataflow->jobs[1].curve, "redis");
	cr_assert(job->component_count == 2 && job->task_count == 3 && job->edge_count == 1);
	cr_expect(job->components[0].first_task == 0 && job->components[1].first_task == 2);
	cr_expect(job->components[0].task_count == 2 && job->components[1].task_count == 1);
	cr_expect(isinf(job->components[0].MBps) && isinf(job->components[0].MB) &&
		  job->components[0].cpu_s_per_MB == 0);
	cr_expect(job->edges[0].from == 0 && job->edges[0].to == 1 && job->edges[0].grouping == DATAFLOW_SHUFFLE);
	cr_expect(job->edges[0].skew == 0 && job->edges[0].selectivity == 1);
	cr_expect(job->hosts[0] == DATAFLOW_NOWHERE && job->hosts[2] == DATAFLOW_NOWHERE);
	cr_expect_eq(job->hosts[1], topology_find_node(dataflow->topology, "h1"));
	cr_expect_eq(dataflow->jobs[1].hosts[2], topology_find_node(dataflow->topology, "h0"));
	json = dataflow_to_json(dataflow);
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(json, "jobs"), 1), "curve")),
			 "redis");
	cr_expect_null(json_object_get(json_array_get(json_object_get(json, "jobs"), 0), "curve"));
	json_decref(json);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, plans_of_flink_have_limits_and_a_source)
{
	static const char *const cases[][2] = {
		{"{\"nodes\": [{\"id\": \"a b\", \"parallelism\": 1}]}",
		 "plan.nodes[0].id: bad id; expected one word of at most 63"},
		{"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 1}, {\"id\": \"a\", \"parallelism\": 1}]}",
		 "plan.nodes[1].id: duplicate id 'a'"},
		{"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 100000}, {\"id\": \"b\", \"parallelism\": 1}]}",
		 "plan.nodes[1].parallelism: more than 100000 tasks in the job"},
		{"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 0}]}", "plan.nodes[0].parallelism: found 0"},
		{"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 1, \"inputs\": [{\"id\": \"b\", \"ship_strategy\": "
		 "\"HASH\"}]}, "
		 "{\"id\": \"b\", \"parallelism\": 1, \"inputs\": [{\"id\": \"a\", \"ship_strategy\": \"HASH\"}]}]}",
		 "plan.nodes: no source: every vertex has an input"},
		{"{\"nodes\": [{\"id\": \"a\", \"parallelism\": 1, \"inputs\": [{\"id\": \"b\"}]}]}",
		 "plan.nodes[0].inputs[0].ship_strategy: missing"},
		{"{\"plan\": 5}", "plan: found a number"},
		{"{}", "plan.nodes: missing"},
	};
	static const char bare[] =
		"{\"jid\": \"two words\", \"nodes\": [{\"id\": \"a\", \"parallelism\": 99999}, {\"id\": \"b\", "
		"\"parallelism\": 1, \"inputs\": [{\"id\": \"a\", \"ship_strategy\": \"GLOBAL\"}]}]}";
	struct dataflow *dataflow = empty();
	struct error err = {0};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cr_expect_lt(dataflow_parse_flink(dataflow, "f", cases[i][0], strlen(cases[i][0]), &err), 0);
		cr_expect(strstr(err.text, cases[i][1]), "%s", err.text);
		cr_expect_eq(dataflow->job_count, 0);
	}
	cr_assert_eq(dataflow_parse_flink(dataflow, "f", bare, sizeof bare - 1, &err), 0, "%s", err.text);
	cr_expect_str_eq(dataflow->jobs[0].name, "flink");
	cr_expect_eq(dataflow->jobs[0].arrival_s, 0);
	cr_expect_eq(dataflow->jobs[0].task_count, 100000);
	cr_expect_eq(dataflow->jobs[0].edges[0].grouping, DATAFLOW_GLOBAL);
	for (uint32_t t = 0; t < 100000; t += 33333)
		cr_expect_eq(dataflow->jobs[0].hosts[t], DATAFLOW_NOWHERE);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, pinned_coflows_are_on_the_hosts_of_their_ports)
{
	struct dataflow *dataflow = empty();
	struct dataflow_trace_options options = {.pin = true};
	struct error err = {0};
	char path[] = "/tmp/nomora-coflows-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "16 1\n1 0 2 3 1 2 16:120.0 2:60.0\n";
	static const char *const hosts[] = {"h2", "h0", "h15", "h1"};

	cr_assert_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
	close(fd);
	cr_assert_eq(dataflow_read_coflows(dataflow, path, &options, &err), 0, "%s", err.text);
	unlink(path);
	cr_assert_eq(dataflow->jobs[0].task_count, 4);
	for (int t = 0; t < 4; t++)
		cr_expect_eq(dataflow->jobs[0].hosts[t], topology_find_node(dataflow->topology, hosts[t]), "task %d",
			     t);
	dataflow_destroy(dataflow);
}

Test(dataflow_readers, a_task_is_named_by_its_component_and_number)
{
	static const char text[] =
		SCENARIO("\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"a\", \"tasks\": 2}, "
			 "{\"name\": \"a-name-of-sixty-three-bytes-which-is-the-longest-that-is-allowe\", "
			 "\"tasks\": 3}], \"edges\": [" EDGE("a",
							     "a-name-of-sixty-three-bytes-which-is-the-longest-that-is-"
							     "allowe",
							     "") "]}]");
	struct error err = {0};
	struct dataflow *dataflow = dataflow_parse("d", text, sizeof text - 1, &err);
	char name[2 * DATAFLOW_NAME_BYTES];

	cr_assert_not_null(dataflow, "%s", err.text);
	dataflow_task_name(&dataflow->jobs[0], 1, name);
	cr_expect_str_eq(name, "a.1");
	dataflow_task_name(&dataflow->jobs[0], 4, name);
	cr_expect_str_eq(name, "a-name-of-sixty-three-bytes-which-is-the-longest-that-is-allowe.2");
	dataflow_destroy(dataflow);
}

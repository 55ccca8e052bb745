/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/recovery.h>

#define HEAD "{\"schema\": \"nomora.recovery/1\",\n"
#define SERVERS                                                                                                        \
	"\"servers\": [{\"name\": \"S0\", \"cpu\": 4, \"egress_MBps\": 10, \"ingress_MBps\": 10},\n"                   \
	"{\"name\": \"S1\", \"cpu\": 4, \"egress_MBps\": 10, \"ingress_MBps\": 20},\n"                                 \
	"{\"name\": \"S2\", \"cpu\": 1, \"egress_MBps\": 0, \"ingress_MBps\": 10}],\n"
#define TASKS                                                                                                          \
	"\"applications\": [{\"name\": \"A\", \"weight\": 2, \"tasks\": [\n"                                           \
	"{\"name\": \"1\", \"server\": \"S0\", \"backups\": [\"S1\"], \"relaunch_s\": 0.5},\n"                         \
	"{\"name\": \"2\", \"server\": \"S1\", \"stage\": 2, \"cpu\": 2.5},\n"                                         \
	"{\"name\": \"3\", \"server\": \"S2\"}],\n\"flows\": [\n"
#define FLOW "{\"from\": \"1\", \"to\": \"2\", \"MB\": 30, \"sent_MB\": 10}"
#define TAIL "]}],\n\"failed_servers\": [\"S0\"]}"

static struct recovery_scenario *parse(const char *text, struct error *err)
{
	return recovery_parse("s.json", text, strlen(text), err);
}

/* "A" with a flow to its task "B.2" is not "A.B" with its task "2". */
Test(recovery, a_name_with_a_dot_names_no_task_of_another_application)
{
	struct error err = {0};

	cr_expect_null(
		parse(HEAD SERVERS
		      "\"applications\": [{\"name\": \"A.B\", \"tasks\": [{\"name\": \"2\", \"server\": \"S0\"}]},\n"
		      "{\"name\": \"A\", \"tasks\": [{\"name\": \"1\", \"server\": \"S1\"}],\n"
		      "\"flows\": [{\"from\": \"1\", \"to\": \"B.2\", \"MB\": 1}]}]}",
		      &err));
	cr_expect(strstr(err.text, "application 'A' has no task 'B.2'"), "%s", err.text);
}

Test(recovery, reads_and_writes_what_it_read)
{
	const char *text =
		HEAD SERVERS TASKS FLOW ",\n{\"from\": \"2\", \"to\": \"3\", \"MB\": 7, \"sent_MB\": 3}" TAIL;
	struct error err = {0};
	struct recovery_scenario *s = parse(text, &err), *again;
	json_t *json;
	char *written, *twice;

	cr_assert_not_null(s, "%s", err.text);
	cr_expect_eq(s->server_count, 3);
	cr_expect_eq(s->task_count, 3);
	cr_expect(s->servers[0].failed && !s->servers[1].failed);
	cr_expect(s->tasks[0].failed && !s->tasks[1].failed);
	cr_expect_eq(s->tasks[0].backup_count, 1);
	cr_expect_eq(s->tasks[0].backups[0], 1);
	cr_expect_float_eq(s->tasks[0].relaunch_s, 0.5, 0);
	cr_expect(!s->tasks[1].has_backups);
	cr_expect_eq(s->tasks[1].stage, 2);
	cr_expect_eq(s->tasks[1].cpu, 2.5);
	cr_expect(s->tasks[0].stage == 1 && s->tasks[0].cpu == 1 && s->tasks[2].relaunch_s == 0);
	cr_expect(s->applications[0].weight == 2 && s->flows[0].MB == 30 && s->flows[0].sent_MB == 10);
	cr_expect(s->servers[1].cpu == 4 && s->servers[1].egress_MBps == 10 && s->servers[1].ingress_MBps == 20);
	cr_expect_eq(recovery_find_task(s, "A", "2"), 1);
	cr_expect_eq(recovery_find_task(s, "B", "2"), -ENOENT);
	/* A flow with a failed end starts again; other flows continue. */
	cr_expect_float_eq(recovery_flow_left_MB(s, &s->flows[0]), 30, 0);
	cr_expect_float_eq(recovery_flow_left_MB(s, &s->flows[1]), 4, 0);
	json = recovery_to_json(s);
	written = json_to_text(json);
	again = parse(written, &err);
	cr_assert_not_null(again, "%s", err.text);
	cr_expect(again->flow_count == 2 && again->flows[1].MB == 7 && again->flows[1].sent_MB == 3);
	cr_expect(again->task_count == 3 && again->server_count == 3 && again->applications[0].weight == 2);
	json_decref(json);
	json = recovery_to_json(again);
	twice = json_to_text(json);
	cr_expect_str_eq(written, twice);
	json_decref(json);
	free(written);
	free(twice);
	recovery_destroy(s);
	recovery_destroy(again);
}

struct refusal {
	const char *text, *expected;
	int line;
};

#define SERVER(name, cpu) "{\"name\": \"" name "\", \"cpu\": " cpu ", \"egress_MBps\": 1, \"ingress_MBps\": 1}"

static const struct refusal refusals[] = {
	{"{\"schema\": \"nomora.recovery/2\"}", "schema", 1},
	{HEAD "\"servers\": 7, \"applications\": []}", "servers: found a number, expected an array", 2},
	{HEAD SERVERS "\"applications\": 7}", "applications: found a number, expected an array", 5},
	{HEAD SERVERS TASKS FLOW "]}],\n\"failed_servers\": 7}", "failed_servers: found a number, expected an array",
	 11},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"9\", \"MB\": 1}" TAIL,
	 "flows[0].to: application 'A' has no task '9'", 10},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"1\", \"MB\": 1}" TAIL, "does not send to itself", 10},
	{HEAD SERVERS TASKS FLOW ",\n" FLOW TAIL, "flows[1].to: duplicate flow", 11},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"2\", \"MB\": -1}" TAIL, "flows[0].MB", 10},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"2\", \"MB\": NaN}" TAIL, "not valid JSON", 10},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"2\", \"MB\": 1e999}" TAIL, "not valid JSON", 10},
	{HEAD SERVERS TASKS "{\"from\": \"1\", \"to\": \"2\", \"MB\": 1, \"sent_MB\": 2}" TAIL, "flows[0].sent_MB", 10},
	{HEAD SERVERS TASKS "{\"from\": \"3\", \"to\": \"2\", \"MB\": 1}" TAIL, "servers[2].egress_MBps: found 0, but",
	 4},
	{HEAD "\"servers\": [{\"name\": \"a\", \"cpu\": 4, \"egress_MBps\": 1, \"ingress_MBps\": 0},\n" SERVER(
		 "b", "4") "],\n"
			   "\"applications\": [{\"name\": \"A\", \"tasks\": [{\"name\": \"x\", \"server\": \"b\"}, "
			   "{\"name\": \"y\", \"server\": \"a\"}], \"flows\": [{\"from\": \"x\", \"to\": \"y\", "
			   "\"MB\": 1}]}]}",
	 "servers[0].ingress_MBps: found 0, but tasks on 'a' receive", 2},
	{HEAD SERVERS TASKS FLOW "]}],\n\"failed_servers\": [7]}",
	 "failed_servers: entry 0: expected the name of a server", 11},
	{HEAD "\"servers\": [" SERVER("a b", "1") "], \"applications\": []}",
	 "servers[0].name: expected a name without blanks, commas and quotes", 2},
	{HEAD "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
						  "{\"name\": \"x\", \"server\": \"a\",\n\"backups\": [5]}]}]}",
	 "applications[0].tasks[0].backups: entry 0: expected the name of a server", 5},
	{HEAD "\"servers\": [\n" SERVER("a", "1") ", " SERVER(
		 "b", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
			   "{\"name\": \"x\", \"server\": \"a\",\n\"backups\": [\"b\", \"b\"]}]}]}",
	 "applications[0].tasks[0].backups: duplicate server 'b'", 5},
	{HEAD SERVERS TASKS FLOW "]}],\n\"failed_servers\": [\"S7\"]}", "failed_servers: unknown server 'S7'", 11},
	{HEAD SERVERS TASKS FLOW "]}],\n\"failed_servers\": [\"S0\", \"S1\", \"S2\"]}", "no surviving server", 11},
	{HEAD "\"servers\": [" SERVER("a", "1") ",\n" SERVER("a", "1") "], \"applications\": []}",
	 "duplicate server 'a'", 3},
	{HEAD "\"servers\": [" SERVER("a", "-1") "], \"applications\": []}", "servers[0].cpu", 2},
	{HEAD "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
						  "{\"name\": \"x\", \"server\": \"a\", \"cpu\": 2}]}]}",
	 "servers[0].cpu: the tasks on 'a' use 2, but it has 1", 3},
	{HEAD "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
						  "{\"name\": \"x\", \"server\": \"b\"}]}]}",
	 "applications[0].tasks[0].server: unknown server 'b'", 5},
	{HEAD "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
						  "{\"name\": \"x\", \"server\": \"a\",\n\"backups\": [\"b\"]}]}]}",
	 "applications[0].tasks[0].backups: unknown server 'b'", 5},
	{HEAD
	 "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"weight\": 0, \"tasks\": []}]}",
	 "applications[0].weight", 4},
	{HEAD "\"servers\": [\n" SERVER("a", "1") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": []},\n"
						  "{\"name\": \"A\", \"tasks\": []}]}",
	 "duplicate application 'A'", 5},
	{HEAD "\"servers\": [\n" SERVER(
		 "a", "4") "],\n\"applications\": [{\"name\": \"A\", \"tasks\": [\n"
			   "{\"name\": \"x\", \"server\": \"a\"},\n{\"name\": \"x\", \"server\": \"a\"}]}]}",
	 "applications[0].tasks[1].name: duplicate task 'x'", 6},
};

ParameterizedTestParameters(recovery, refuses)
{
	static int index[sizeof refusals / sizeof *refusals];

	for (size_t i = 0; i < sizeof index / sizeof *index; i++)
		index[i] = (int)i;
	return cr_make_param_array(int, index, sizeof index / sizeof *index);
}

ParameterizedTest(int *index, recovery, refuses)
{
	const struct refusal *refusal = &refusals[*index];
	struct error err = {0};
	char place[32];

	cr_assert_null(parse(refusal->text, &err));
	snprintf(place, sizeof place, "s.json:%d: ", refusal->line);
	cr_expect(strstr(err.text, refusal->expected), "'%s' does not say '%s'", err.text, refusal->expected);
	cr_expect(strncmp(err.text, place, strlen(place)) == 0, "'%s' is not of %s", err.text, place);
}

Test(coflow, is_a_scenario_at_a_second)
{
	/* Coflow 1: port 0 sends 60 MB to port 2 and 30 to port 3, port 1 as much; port 2 is the busiest: 120 MB. */
	const char *text = "4 2\n1 1000 2 0 1 2 2:120.0 3:60.0\n2 500000 1 0 1 1:5\n";
	struct error err = {0};
	struct coflow_trace *trace = coflow_read(file_lines_from_memory("t", text, strlen(text), &err), &err);
	struct recovery_scenario *s;

	cr_assert_not_null(trace, "%s", err.text);
	cr_expect_eq(coflow_flow_count(trace), 5);
	cr_expect_null(coflow_scenario(trace, 0.5, 10, &err));
	s = coflow_scenario(trace, 4, 10, &err);
	cr_assert_not_null(s, "%s", err.text);
	cr_expect_eq(s->application_count, 1);
	cr_expect_eq(s->task_count, 4);
	cr_expect_eq(s->flow_count, 4);
	cr_expect_float_eq(s->flows[0].MB, 60, 1e-12);
	cr_expect_float_eq(s->flows[0].sent_MB, 15, 1e-12); /* 3 of 12 s */
	recovery_destroy(s);
	cr_expect_null(coflow_scenario(trace, 13.001, 10, &err));
	coflow_destroy(trace);
}

/* Ports 1 to 3; port 3 sends nothing to itself. Without it, the busiest port is 1, which sends 20 of 40 MB. */
Test(coflow, a_scenario_has_the_servers_tasks_and_flows)
{
	const char *text = "3 3\n7 0 2 1 3 2 2:20 3:20\n\n 8 1500 1\t2 1 1:9\n9 1501 1 2 1 1:1\n";
	struct error err = {0};
	struct coflow_trace *trace = coflow_read(file_lines_from_memory("t", text, strlen(text), &err), &err);
	struct recovery_scenario *s;

	cr_assert_not_null(trace, "%s", err.text);
	cr_expect_eq(coflow_port_count(trace), 3);
	cr_expect_eq(coflow_flow_count(trace), 6);
	s = coflow_scenario(trace, 1.5, 10, &err);
	cr_assert_not_null(s, "%s", err.text);
	cr_assert_eq(s->server_count, 3);
	cr_expect_str_eq(s->servers[0].name, "port1");
	cr_expect_str_eq(s->servers[2].name, "port3");
	cr_expect(s->servers[1].egress_MBps == 10 && s->servers[1].ingress_MBps == 10);
	cr_assert_eq(s->application_count, 2, "coflow 9 comes a millisecond later");
	cr_expect_str_eq(s->applications[0].name, "c7");
	cr_expect_str_eq(s->applications[1].name, "c8");
	cr_assert_eq(s->task_count, 6);
	for (size_t t = 0; t < 4; t++) {
		static const char *const names[] = {"m0", "m1", "r0", "r1"};
		static const uint32_t servers[] = {0, 2, 1, 2};

		cr_expect_str_eq(s->tasks[t].name, names[t]);
		cr_expect_eq(s->tasks[t].server, servers[t]);
		cr_expect_eq(s->tasks[t].stage, t < 2 ? 1 : 2);
		cr_expect_eq(s->tasks[t].application, 0);
	}
	cr_assert_eq(s->flow_count, 5);
	for (size_t f = 0; f < 4; f++) {
		cr_expect_eq(s->flows[f].from, f % 2);
		cr_expect_eq(s->flows[f].to, 2 + f / 2);
		cr_expect_float_eq(s->flows[f].MB, 10, 1e-12);
		cr_expect_float_eq(s->flows[f].sent_MB, 7.5, 1e-12, "1.5 of 2 s");
	}
	cr_expect(s->flows[4].from == 4 && s->flows[4].to == 5 && s->flows[4].MB == 9 && s->flows[4].sent_MB == 0);
	recovery_destroy(s);
	cr_expect_null(coflow_scenario(trace, 100, 10, &err));
	cr_expect_eq(err.code, ENOENT);
	cr_expect_str_eq(err.text, "no coflow is active at 100 s");
	coflow_destroy(trace);
	coflow_destroy(NULL);
}

Test(coflow, ports_begin_with_0_or_1)
{
	static const struct {
		const char *text, *error; /* "": none */
		const char *first;
	} cases[] = {
		{"2 1\n1 0 1 0 1 1:9\n", "", "port0"},
		{"2 1\n1 0 1 1 1 2:9\n", "", "port1"},
		{"2 1\n1 0 1 2 1 1:9\n", "", "port1"},
		{"3 1\n1 0 1 1 1 2:9\n", "", "port0"},
		{"2 1\n1 0 1 0 1 2:9\n", "t:1: ports: 2, but the coflows use the ports 0 to 2", NULL},
		{"2 1\n1 0 1 2 1 0:9\n", "t:1: ports: 2, but the coflows use the ports 0 to 2", NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = {0};
		struct coflow_trace *trace =
			coflow_read(file_lines_from_memory("t", cases[i].text, strlen(cases[i].text), &err), &err);
		struct recovery_scenario *s = trace ? coflow_scenario(trace, 0, 1, &err) : NULL;

		cr_expect_str_eq(err.text, cases[i].error);
		cr_expect_eq(s != NULL, cases[i].first != NULL);
		cr_expect(!s || strcmp(s->servers[0].name, cases[i].first) == 0, "%zu", i);
		recovery_destroy(s);
		coflow_destroy(trace);
	}
}

Test(coflow, one_port_is_port_0)
{
	static const char text[] = "1 1\n1 0 1 0 1 0:9\n";
	struct error err = {0};
	struct coflow_trace *trace = coflow_read(file_lines_from_memory("t", text, strlen(text), &err), &err);

	cr_assert(trace, "%s", err.text);
	cr_expect_eq(coflow_port_count(trace), 1);
	coflow_destroy(trace);
}

Test(coflow, refuses_with_the_line_and_the_field)
{
	static const char *const bad[][2] = {
		{"0 1\n", "t:1: ports: found '0', expected a whole number from 1 to 100000"},
		{"4 2\n1 0 1 0 1 2:1\n", "t:1: coflows: 2, but the file has 1"},
		{"4 0\n1 0 1 0 1 2:1\n", "t:1: coflows: 0, but the file has 1"},
		{"4 1\n-1 0 1 0 1 2:1\n", "t:2: id: found '-1'"},
		{"4 1\n1 x 1 0 1 2:1\n", "t:2: arrival: found 'x'"},
		{"4 1\n1 0 0 1 2:1\n", "t:2: mappers: found '0'"},
		{"4 1\n\n1 0 1 5 1 2:1\n", "t:3: mapper: found '5', expected a whole number from 0 to 4"},
		{"4 1\n1 0 1 0 0\n", "t:2: reducers: found '0'"},
		{"4 1\n1 0 1 0 1\n", "t:2: reducer: found 'the end of the line', expected PORT:MB"},
		{"4 1\n1 0 1 0 1 2\n", "t:2: reducer: found '2', expected PORT:MB"},
		{"4 1\n1 0 1 0 1 2:2e12\n", "t:2: reducer: found '2e12', expected MB from 0 to 1e12"},
		{"4 1\n1 0 1 0 1 2:1 7\n", "t:2: reducer: found 'more', expected the end of the line"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = {0};

		cr_expect_null(coflow_read(file_lines_from_memory("t", bad[i][0], strlen(bad[i][0]), &err), &err), "%s",
			       bad[i][0]);
		cr_expect_eq(strncmp(err.text, bad[i][1], strlen(bad[i][1])), 0, "%s", err.text);
	}
}

Test(coflow, refuses)
{
	static const char *const bad[] = {"",
					  "4\n",
					  "4 1\n",
					  "4 1\n1 0 2 0 1 1 2\n",
					  "4 1\n1 0 2 0 1 1 2:-1\n",
					  "4 1\n1 0 2 0 1 1 9:1\n",
					  "4 1\n1 0 0 1 2:1\n",
					  "4 1\n1 0 1 0 1 4:1\n",
					  "4 1\n1 0 1 0 1 2:1 3:1\n",
					  "4 1\n1 0 1 0 1 2:nan\n"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = {0};

		cr_expect_null(coflow_read(file_lines_from_memory("t", bad[i], strlen(bad[i]), &err), &err), "%s",
			       bad[i]);
		cr_expect(strncmp(err.text, "t:", 2) == 0, "%s", err.text);
	}
}

/* A host's links that are up count together; links between switches do not. */
Test(recovery, a_network_has_the_access_links_of_its_hosts)
{
	static const char topology[] =
		"{\"schema\": \"nomora.topology/1\", \"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}],\n"
		"\"hosts\": [{\"name\": \"h0\"}, {\"name\": \"h1\"}],\n"
		"\"links\": [{\"a\": \"h0\", \"b\": \"s0\", \"MBps\": 100, \"back_MBps\": 50},\n"
		"{\"a\": \"h0\", \"b\": \"s1\", \"MBps\": 100}, {\"a\": \"s1\", \"b\": \"h1\", \"MBps\": 30},\n"
		"{\"a\": \"h1\", \"b\": \"s0\", \"MBps\": 10, \"up\": false}, {\"a\": \"s0\", \"b\": \"s1\", \"MBps\": "
		"7}]}";
	static const char scenario[] = HEAD SERVERS TASKS FLOW TAIL;
	struct error err = {0};
	struct recovery_scenario *s = recovery_network_parse("t.json", topology, strlen(topology), 125, &err);

	cr_assert_not_null(s, "%s", err.text);
	cr_expect_eq(s->server_count, 2);
	cr_expect_str_eq(s->servers[0].name, "h0");
	cr_expect_float_eq(s->servers[0].egress_MBps, 200, 1e-9);
	cr_expect_float_eq(s->servers[0].ingress_MBps, 150, 1e-9);
	cr_expect_float_eq(s->servers[1].egress_MBps, 30, 1e-9);
	cr_expect_float_eq(s->servers[1].ingress_MBps, 30, 1e-9);
	recovery_destroy(s);
	s = recovery_network_parse("s.json", scenario, strlen(scenario), 125, &err);
	cr_assert_not_null(s, "%s", err.text);
	cr_expect(s->server_count == 3 && s->task_count == 0 && !s->servers[0].failed);
	cr_expect_float_eq(s->servers[1].ingress_MBps, 20, 1e-9);
	recovery_destroy(s);
	s = recovery_network_read("leafspine:2,1,4", 125, &err);
	cr_assert_not_null(s, "%s", err.text);
	cr_expect(s->server_count == 4);
	cr_expect_float_eq(s->servers[3].egress_MBps, 125, 1e-9);
	recovery_destroy(s);
	cr_expect_null(recovery_network_parse("t.json", "{\"schema\": \"nomora.cluster/1\"}", 29, 125, &err));
	cr_expect(strstr(err.text, "t.json") == err.text, "%s", err.text);
}

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
	cr_expect_eq(recovery_find_task(s, "A", "2"), 1);
	cr_expect_eq(recovery_find_task(s, "B", "2"), -ENOENT);
	/* A flow with a failed end starts again; other flows continue. */
	cr_expect_float_eq(recovery_flow_left_MB(s, &s->flows[0]), 30, 0);
	cr_expect_float_eq(recovery_flow_left_MB(s, &s->flows[1]), 4, 0);
	json = recovery_to_json(s);
	written = json_to_text(json);
	again = parse(written, &err);
	cr_assert_not_null(again, "%s", err.text);
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
	struct coflow_trace *trace = coflow_parse("t", text, strlen(text), &err);
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

		cr_expect_null(coflow_parse("t", bad[i], strlen(bad[i]), &err), "%s", bad[i]);
		cr_expect(strncmp(err.text, "t:", 2) == 0, "%s", err.text);
	}
}

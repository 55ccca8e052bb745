/* SPDX-License-Identifier: BSD-3-Clause */
#include <client/request.h>

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static char *text, *refused;
static size_t bytes;

static json_t *parse(const char *json)
{
	json_t *value = json_loads(json, 0, NULL);

	cr_assert_not_null(value, "%s", json);
	return value;
}

static const char *shown(void (*show)(const json_t *, FILE *), const char *json)
{
	json_t *answer = parse(json);
	FILE *out;

	free(text);
	out = open_memstream(&text, &bytes);
	show(answer, out);
	fclose(out);
	json_decref(answer);
	return text;
}

Test(client_show, jobs_have_a_count_for_each_state)
{
	cr_assert_str_eq(
		shown(client_show_jobs,
		      "{\"jobs\": [{\"id\": \"web\", \"curve\": \"memcached\", \"waiting\": 1, \"decided\": 2, "
		      "\"running\": 3, \"moving\": 4, \"ended\": 5, \"failed\": 6}, {\"id\": \"db\"}]}"),
		"JOB                      CURVE           WAITING  DECIDED  RUNNING   MOVING    ENDED   FAILED\n"
		"web                      memcached             1        2        3        4        5        6\n"
		"db                       -                     0        0        0        0        0        0\n");
	cr_assert_str_eq(
		shown(client_show_jobs, "{\"jobs\": []}"),
		"JOB                      CURVE           WAITING  DECIDED  RUNNING   MOVING    ENDED   FAILED\n");
}

Test(client_show, a_job_has_its_tasks)
{
	cr_assert_str_eq(
		shown(client_show_job,
		      "{\"id\": \"web\", \"curve\": \"redis\", \"move\": true, \"tasks\": [{\"name\": \"c1\", "
		      "\"state\": \"running\", "
		      "\"machine\": \"h1\", \"since_s\": 12.25}, {\"name\": \"c2\", \"state\": \"waiting\"}]}"),
		"web: curve redis, may move\n"
		"TASK                     STATE      MACHINE                   SINCE\n"
		"c1                       running    h1                       12.2 s\n"
		"c2                       waiting    -                         0.0 s\n");
	cr_assert(strstr(
		shown(client_show_job, "{\"id\": \"web\", \"curve\": \"redis\", \"move\": false, \"tasks\": []}"),
		"web: curve redis, does not move\n"));
}

Test(client_show, nodes_have_their_place_and_their_slots)
{
	cr_assert_str_eq(
		shown(client_show_nodes,
		      "{\"machines\": [{\"name\": \"h1\", \"rack\": \"r1\", \"pod\": \"p1\", \"slots\": 8, "
		      "\"tasks\": 3, \"state\": \"up\"}, {\"name\": \"h2\", \"slots\": 4, \"state\": \"down\"}]}"),
		"MACHINE                  RACK         POD           SLOTS  TASKS STATE\n"
		"h1                       r1           p1                8      3 up\n"
		"h2                       -            -                 4      0 down\n");
}

Test(client_show, an_explanation_has_candidates_and_decisions)
{
	static const char candidates[] =
		"{\"why\": \"%s\", \"candidates\": [{\"machine\": \"h1\", \"rtt_us\": 20.25, \"origin\": \"measured\", "
		"\"performance\": 0.95, \"free_slots\": 2, \"here\": true}, {\"machine\": \"h2\", \"rtt_us\": 400, "
		"\"origin\": \"rack\", \"performance\": 0.5, \"free_slots\": 1, \"here\": false}]%s}";
	static const char table[] = "MACHINE                   RTT TO ROOT ORIGIN          PERFORMANCE   FREE\n"
				    "h1                            20.2 us measured              0.950      2  here\n"
				    "h2                           400.0 us rack                  0.500      1\n";
	char json[1500];

	snprintf(json, sizeof json, candidates, "no free slot", "");
	cr_assert(strncmp(shown(client_show_explanation, json), "no free slot\n", 13) == 0);
	cr_assert_str_eq(text + 13, table);
	snprintf(json, sizeof json, candidates, "", ", \"decisions\": []");
	cr_assert_str_eq(shown(client_show_explanation, json), table, "no reason and no decision print nothing");
	snprintf(json, sizeof json, candidates, "",
		 ", \"decisions\": [{\"kind\": \"move\", \"job\": \"web\", \"task\": \"c1\", \"from\": \"h2\", \"to\": "
		 "\"h1\", "
		 "\"rtt_us\": 20.5, \"performance\": 0.9}, {\"kind\": \"place\", \"job\": \"web\", \"task\": \"s\", "
		 "\"to\": \"h3\", \"root\": true}]");
	shown(client_show_explanation, json);
	cr_assert(strncmp(text, table, sizeof table - 1) == 0);
	cr_assert_str_eq(
		text + sizeof table - 1,
		"\nDecisions, the latest first:\n"
		"KIND    TASK                             FROM             TO                RTT TO ROOT  PERFORMANCE\n"
		"move    web/c1                           h2               h1                    20.5 us        0.900\n"
		"place   web/s                            -                h3                       root\n");
}

Test(client_show, a_forecast_compares_before_and_after)
{
	cr_assert_str_eq(
		shown(client_show_forecast,
		      "{\"before\": {\"jobs\": 1, \"running\": 2, \"waiting\": 3, \"failed\": 4, \"machines\": 5, "
		      "\"slots\": 6, "
		      "\"free_slots\": 7, \"performance\": 0.75}, \"after\": {\"jobs\": 11, \"running\": 12, "
		      "\"waiting\": 13, "
		      "\"failed\": 14, \"machines\": 15, \"slots\": 16, \"free_slots\": 17, \"performance\": 0.5}, "
		      "\"decisions\": [], \"seconds\": 2.5}"),
		"                 BEFORE      AFTER\n"
		"jobs                  1         11\n"
		"running               2         12\n"
		"waiting               3         13\n"
		"failed                4         14\n"
		"machines              5         15\n"
		"slots                 6         16\n"
		"free_slots            7         17\n"
		"performance      0.7500     0.5000\n"
		"0 decisions, the last after 2.5 s\n");
	shown(client_show_forecast, "{\"before\": {\"performance\": null}, \"after\": {}, \"decisions\": [{\"kind\": "
				    "\"evict\"}], \"seconds\": 0}");
	cr_assert(strstr(text, "\nperformance           -          -\n1 decisions, the last after 0.0 s\nKIND "), "%s",
		  text);
}

/* Shows an overview of `count` racks, of which the second has no performance. */
static const char *overview(int count, const char *rest)
{
	json_t *value =
		parse("{\"totals\": {\"jobs\": 1, \"running\": 2, \"decided\": 3, \"moving\": 4, \"waiting\": 5, "
		      "\"failed\": 6, \"machines\": 7, \"free_slots\": 8, \"slots\": 9, \"measured_pairs\": 10}}");
	json_t *more = parse(rest), *racks = json_array(),
	       *decisions = parse("{\"decisions\": [{\"kind\": \"place\"}]}");
	FILE *out;

	json_object_update(json_object_get(value, "totals"), json_object_get(more, "totals"));
	json_object_del(more, "totals");
	json_object_update(value, more);
	for (int i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof name, "rack-%d", i);
		json_array_append_new(racks,
				      json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o}", "name", name, "pod", "p1",
						"machines", 1, "slots", 2, "tasks", 3, "draining", 4, "down", 5,
						"performance", i == 1 ? json_null() : json_real(0.5)));
	}
	json_object_set_new(value, "racks", racks);
	free(text);
	out = open_memstream(&text, &bytes);
	client_show_overview(value, decisions, out);
	fclose(out);
	json_decref(value);
	json_decref(more);
	json_decref(decisions);
	return text;
}

Test(client_show, an_overview_has_totals_racks_and_decisions)
{
	cr_assert_str_eq(
		overview(2,
			 "{\"trouble\": \"the mesh is old\", \"mesh_age_s\": 0, \"totals\": {\"performance\": 0.25}}"),
		"1 jobs; tasks: 2 running, 3 decided, 4 moving, 5 waiting, 6 given up\n"
		"7 machines, 8 of 9 slots free; predicted performance 0.250; 10 measured pairs, mesh read 0 s ago\n"
		"the mesh is old\n"
		"RACK             POD           MACHINES     SLOTS   TASKS  DRAINING  DOWN  PERFORMANCE\n"
		"rack-0           p1                   1         2       3         4     5        0.500\n"
		"rack-1           p1                   1         2       3         4     5            -\n"
		"\n"
		"KIND    TASK                             FROM             TO                RTT TO ROOT  PERFORMANCE\n"
		"place   /                                -                -                 unreachable            "
		"-\n");
	overview(0, "{\"trouble\": \"\", \"mesh_age_s\": -1}");
	cr_assert(strstr(text, "slots free; 10 measured pairs\n\nRACK "), "%s", text);
}

Test(client_show, an_overview_has_at_most_twelve_racks)
{
	overview(12, "{\"trouble\": \"\"}");
	cr_assert(strstr(text, "rack-11") && !strstr(text, " more\n"), "%s", text);
	overview(15, "{\"trouble\": \"\"}");
	cr_assert(strstr(text, "rack-11") && !strstr(text, "rack-12") && strstr(text, "\nand 3 more\n"), "%s", text);
}

static bool submitted(const char *json)
{
	json_t *answer = parse(json);
	FILE *out, *refusals;
	bool accepted;

	free(text);
	free(refused);
	out = open_memstream(&text, &bytes);
	refusals = open_memstream(&refused, &bytes);
	accepted = client_show_submitted(answer, out, refusals);
	fclose(out);
	fclose(refusals);
	json_decref(answer);
	return accepted;
}

Test(client_show, a_submission_is_accepted_if_each_job_is)
{
	cr_assert(submitted("{\"jobs\": [{\"id\": \"a\", \"status\": 201}, {\"id\": \"b\", \"status\": 200}]}"));
	cr_assert_str_eq(text, "a accepted\nb known\n");
	cr_assert_str_eq(refused, "");
	cr_assert_not(
		submitted("{\"jobs\": [{\"id\": \"a\", \"error\": \"bad a\"}, {\"id\": \"b\", \"status\": 201}]}"));
	cr_assert_str_eq(text, "b accepted\n");
	cr_assert_str_eq(refused, "nomora: bad a\n");
	cr_assert_not(submitted("{\"error\": \"line 3 is bad\", \"jobs\": [{\"id\": \"b\", \"status\": 201}]}"));
	cr_assert_str_eq(text, "b accepted\n");
	cr_assert_str_eq(refused, "nomora: line 3 is bad\n");
}

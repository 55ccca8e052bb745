/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <model/jobs.h>

static struct jobs *parse(const char *text, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("j.jsonl", text, strlen(text), err);
	struct jobs *jobs = jobs_parse(lines, err);

	file_lines_close(lines);
	return jobs;
}

/* Unknown keys that do not resemble ours belong to other programs. */
Test(jobs, foreign_keys_are_let_be)
{
	struct error err = {0};
	struct jobs *jobs =
		parse("{\"id\": \"a\", \"curve\": \"k\", \"root\": 0, \"tasks\": [{\"name\": \"r\", \"weight\": 2}], "
		      "\"weights\": {\"r\": 0}, \"dependencies\": 7, \"\\u001b[31m\": 1}\n",
		      &err);

	cr_assert_not_null(jobs, "%s", err.text);
	cr_expect_eq(jobs->items[0].task_count, 1);
	jobs_destroy(jobs);
}

Test(jobs, reads_every_field)
{
	struct error err = {0};
	struct jobs *jobs =
		parse("\n{\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"s\", \"tasks\": [\"c\", \"s\", "
		      "{\"name\": \"d\", \"machine\": \"h3\", \"running_s\": 12.5}, {\"name\": \"e\", "
		      "\"waited_s\": 4}]}\n\n"
		      "{\"id\": \"b\", \"curve\": \"spark\", \"root\": 2, \"tasks\": 3}\n",
		      &err);
	const struct job *job;

	cr_assert_not_null(jobs, "%s", err.text);
	cr_assert_eq(jobs->count, 2);
	job = &jobs->items[0];
	cr_expect_str_eq(job->id, "web");
	cr_expect_str_eq(job->curve, "memcached");
	cr_expect_eq(job->line, 2);
	cr_expect_eq(job->root, 1);
	cr_assert_eq(job->task_count, 4);
	cr_expect_str_eq(job->tasks[2].machine_name, "h3");
	cr_expect_float_eq(job->tasks[2].running_s, 12.5, 1e-12);
	cr_expect_float_eq(job->tasks[3].waited_s, 4, 1e-12);
	cr_expect_str_eq(jobs->items[1].tasks[2].name, "t2");
	cr_expect_eq(jobs->items[1].root, 2);
	cr_expect_eq(jobs->items[1].line, 4);
	jobs_destroy(jobs);
}

/* Edges between the same tasks are one edge, with the sums of their weights and of the MB in each direction. */
Test(jobs, an_edge_says_what_each_task_sends)
{
	struct error err = {0};
	struct jobs *jobs =
		parse("{\"id\": \"a\", \"curve\": \"k\", \"root\": 0, \"tasks\": 3, \"graph\": [[2, 0, 1, 60], "
		      "[0, 2, 2, 5, 10], [1, 2]]}",
		      &err);
	const struct job_graph *graph;
	struct job_graph *again;
	struct json_reader reader = {.file = "again", .err = &err};

	cr_assert_not_null(jobs, "%s", err.text);
	graph = jobs->items[0].graph;
	cr_assert_eq(graph->edge_count, 2);
	again = job_graph_read(&reader, graph->form, NULL, 3);
	cr_assert_not_null(again, "%s", err.text);
	for (int i = 0; i < 2; i++, graph = again) {
		cr_expect(graph->neighbours[graph->first[0]].task == 2 && graph->neighbours[graph->first[2]].task == 0);
		cr_expect_float_eq(graph->neighbours[graph->first[0]].weight, 3, 1e-9);
		cr_expect_float_eq(graph->neighbours[graph->first[0]].MB, 5, 1e-9);
		cr_expect_float_eq(graph->neighbours[graph->first[2]].MB, 70, 1e-9);
		cr_expect_float_eq(graph->neighbours[graph->first[1]].MB, 0, 1e-9);
	}
	job_graph_destroy(again);
	jobs_destroy(jobs);
}

/* A job with 60,000 running tasks is a line of 3.5 MiB. */
Test(jobs, a_large_job_is_one_line)
{
	struct error err = {0};
	char *text = malloc(8 << 20), *at = text;
	struct jobs *jobs;

	at += sprintf(at, "{\"id\": \"a\", \"curve\": \"k\", \"root\": 0, \"tasks\": [");
	for (int t = 0; t < 60000; t++)
		at += sprintf(at, "%s{\"name\": \"worker-%d\", \"machine\": \"h%d\", \"running_s\": 60}", t ? ", " : "",
			      t, t % 12500);
	sprintf(at, "]}\n");
	jobs = parse(text, &err);
	cr_assert_not_null(jobs, "%s", err.text);
	cr_assert_eq(jobs->items[0].task_count, 60000);
	cr_assert_str_eq(jobs->items[0].tasks[59999].machine_name, "h9999");
	jobs_destroy(jobs);
	free(text);
}

Test(jobs, an_empty_file_has_no_jobs)
{
	struct error err = {0};
	struct jobs *jobs = parse("\n  \n", &err);

	cr_assert_not_null(jobs);
	cr_expect_eq(jobs->count, 0);
	jobs_destroy(jobs);
}

struct refusal {
	const char *text, *expected; /* the message must name both the line and the error */
};

#define JOB(tasks, more) "{\"id\": \"a\", \"curve\": \"k\", \"root\": \"r\", \"tasks\": " tasks more "}"

static const struct refusal refusals[] = {
	{"{\"id\": \"a\"", "j.jsonl:1: not valid JSON"},
	{"[1]", "j.jsonl:1: expected one JSON object a line"},
	{"{\"curve\": \"k\", \"root\": \"r\", \"tasks\": [\"r\"]}", "j.jsonl:1: id"},
	{"{\"id\": \"a\", \"root\": \"r\", \"tasks\": [\"r\"]}", "j.jsonl:1: curve"},
	{"{\"id\": \"a\", \"curve\": \"k\", \"tasks\": [\"r\"]}", "j.jsonl:1: root"},
	{"{\"id\": \"a\", \"curve\": \"k\", \"root\": \"x\", \"tasks\": [\"r\"]}",
	 "j.jsonl:1: root: 'x' is not a task of this job"},
	{"{\"id\": \"a\", \"curve\": \"k\", \"root\": 3, \"tasks\": 3}", "j.jsonl:1: root"},
	{"{\"id\": \"a\", \"curve\": \"k\", \"root\": -1, \"tasks\": 3}", "j.jsonl:1: root"},
	{JOB("[]", ""), "j.jsonl:1: tasks: 0 tasks"},
	{JOB("0", ""), "j.jsonl:1: tasks"},
	{JOB("2000000", ""), "j.jsonl:1: tasks"},
	{JOB("\"r\"", ""), "j.jsonl:1: tasks"},
	{JOB("[\"r\", 4]", ""), "j.jsonl:1: tasks[1]"},
	{JOB("[\"r\", \"\"]", ""), "j.jsonl:1: tasks[1]"},
	{JOB("[\"r\", \"r\"]", ""), "duplicate task 'r'"},
	{JOB("[\"r\", {\"machine\": \"m\"}]", ""), "j.jsonl:1: tasks[1].name"},
	{JOB("[\"r\", {\"name\": \"b\", \"running_s\": 3}]", ""), "tasks[1].running_s"},
	{JOB("[\"r\", {\"name\": \"b\", \"waited_s\": -3}]", ""), "tasks[1].waited_s"},
	{JOB("[\"r\", \"b\", \"c\"]", ", \"graph\": [[0, 1, 1, -1]]"),
	 "j.jsonl:1: graph[0]: expected MB from 0 to 1e+12"},
	{JOB("[\"r\", \"b\", \"c\"]", ", \"graph\": [[0, 1, 1, 2, \"x\"]]"),
	 "j.jsonl:1: graph[0]: expected MB from 0 to 1e+12"},
	{JOB("[\"r\", \"b\", \"c\"]", ", \"graph\": [[0, 1, 1, 2, 3, 4]]"),
	 "j.jsonl:1: graph[0]: expected [task, task], "},
	{JOB("[\"r\"]", ", \"tsaks\": {}"), "j.jsonl:1: tsaks: unknown key, did you mean 'tasks'? Expected one of id, "
					    "curve, root, tasks, graph, minimum_tasks"},
	{JOB("[\"r\"]", "") "\n" JOB("[\"r\", {\"name\": \"b\", \"machne\": \"h1\"}]", ""),
	 "j.jsonl:2: tasks[1].machne: unknown key, did you mean 'machine'? Expected one of name, machine, running_s, "
	 "waited_s"},
	{JOB("[\"r\", {\"name\": \"b\", \"nam\\u001b\": 1}]", ""),
	 "j.jsonl:1: tasks[1]: unknown key, did you mean 'name'? Expected one of name"},
	{JOB("[\"r\"]", "") "\n\n" JOB("[\"r\"]", ""), "j.jsonl:3: id: duplicate job 'a'; the first is in line 1"},
};

ParameterizedTestParameters(jobs, refuses)
{
	static size_t numbers[sizeof refusals / sizeof refusals[0]];

	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		numbers[i] = i;
	return cr_make_param_array(size_t, numbers, sizeof refusals / sizeof refusals[0]);
}

ParameterizedTest(size_t *number, jobs, refuses)
{
	struct error err = {0};

	cr_assert_null(parse(refusals[*number].text, &err), "case %zu was read", *number);
	cr_expect_not_null(strstr(err.text, refusals[*number].expected), "case %zu: no '%s' in: %s", *number,
			   refusals[*number].expected, err.text);
}

static struct cluster *two_machines(void)
{
	struct cluster *cluster = cluster_create();

	cluster_add_machine(cluster, "h1", "r", NULL, 2, NULL);
	cluster_add_machine(cluster, "h2", "r", NULL, 1, NULL);
	return cluster;
}

Test(jobs, running_tasks_are_found_in_the_cluster)
{
	struct cluster *cluster = two_machines();
	struct error err = {0};
	struct jobs *jobs = parse(JOB("[\"r\", {\"name\": \"b\", \"machine\": \"h2\"}]", ""), &err);

	cr_assert_eq(jobs_resolve(jobs, cluster, true, &err), 0, "%s", err.text);
	cr_expect_eq(jobs->items[0].tasks[0].machine, JOB_NO_MACHINE);
	cr_expect_eq(jobs->items[0].tasks[1].machine, 1);
	jobs_destroy(jobs);
	cluster_destroy(cluster);
}

Test(jobs, a_machine_that_is_not_there_or_too_small_is_refused)
{
	struct cluster *cluster = two_machines();
	struct error err = {0};
	struct jobs *jobs = parse(JOB("[\"r\", {\"name\": \"b\", \"machine\": \"h9\"}]", ""), &err);

	cr_expect_eq(jobs_resolve(jobs, cluster, false, &err), -ENOENT);
	cr_expect_not_null(strstr(err.text, "j.jsonl:1: tasks: task 'b' runs on 'h9'"), "%s", err.text);
	jobs_destroy(jobs);
	jobs = parse(JOB("[{\"name\": \"r\", \"machine\": \"h2\"}, {\"name\": \"b\", \"machine\": \"h2\"}]", ""), &err);
	cr_expect_eq(jobs_resolve(jobs, cluster, false, &err), 0); /* a daemon has them as they run */
	cr_expect_eq(jobs_resolve(jobs, cluster, true, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "exceeds the slots of 'h2'"), "%s", err.text);
	jobs_destroy(jobs);
	cluster_destroy(cluster);
}

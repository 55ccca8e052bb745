/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/batch_trace.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct workload *workload;
static struct batch_report report;
static struct error err;

static int read_text(enum batch_format format, const char *text, bool strict)
{
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), &err);
	int code;

	workload = workload_create();
	code = batch_trace_read(workload, format, lines, strict, &report, &err);
	file_lines_close(lines);
	return code == 0 ? workload_finish(workload, &all) : code;
}

static void teardown(void)
{
	workload_destroy(workload);
}

TestSuite(batch_trace, .fini = teardown);

static int read_file(enum batch_format format, const char *path)
{
	size_t bytes;
	char *text = file_read_all(path, 1 << 20, &bytes, &err);
	int code;

	cr_assert(text, "%s", err.text);
	code = read_text(format, text, true);
	free(text);
	return code;
}

/* Jobs 1, 2 and 4 ran, on 4, 2 and 3 processors, from 5 to 105 s, 10 to 60 s and 37 to 97 s. */
Test(batch_trace, standard_workload_format)
{
	cr_assert_eq(read_file(BATCH_SWF, SOURCE_ROOT "/tests/data/fuzz/batch_swf_1"), 0, "%s", err.text);
	cr_assert_eq(report.rows, 4);
	cr_assert_eq(report.jobs, 3);
	cr_assert_eq(report.machines, 2);
	cr_assert_eq(report.slots, 4);
	cr_assert_eq(report.peak_tasks, 9);
	cr_assert_eq(workload->left_out.never_ran, 4);
	cr_assert_eq(workload->job_count, 3);
	cr_assert_eq(workload->jobs[2].id, 4);
	cr_assert_eq(workload->jobs[2].task_count, 3);
	cr_assert_eq(workload->tasks[6].submit_us, 30000000);
	cr_assert_eq(workload->tasks[6].run_us, 60000000);
}

Test(batch_trace, sacct)
{
	cr_assert_eq(read_file(BATCH_SACCT, SOURCE_ROOT "/tests/data/fuzz/batch_sacct_1"), 0, "%s", err.text);
	cr_assert_eq(report.jobs, 2, "a step and a job that waits are none");
	cr_assert_eq(report.peak_tasks, 6);
	cr_assert_eq(workload->left_out.never_ran, 2);
	cr_assert_eq(workload->jobs[0].id, 7);
	cr_assert_eq(workload->jobs[0].task_count, 4, "NTasks");
	cr_assert_eq(workload->tasks[0].run_us, 100000000);
	cr_assert_eq(workload->jobs[1].task_count, 2, "AllocCPUS");
	cr_assert_eq(workload->tasks[4].submit_us, 10000000);
	cr_assert_eq(workload->tasks[4].run_us, WORKLOAD_TO_THE_END);
}

/* Columns: id, submission, wait, run time, processors, ..., processors asked for (the eighth). */
Test(batch_trace, processors_are_those_used_or_asked_for)
{
	static const char text[] = "; MaxNodes: 3\n ; MaxProcs: 10\n"
				   "1 1000 -1 10 1 -1 -1 5 -1 -1 1 1 1 1 1 -1 -1 -1\n"
				   "2 1002 3 0 0 -1 -1 5 -1 -1 1 1 1 1 1 -1 -1 -1\n"
				   "3 1001 4.5 2.5 -1 -1 -1 1000000 -1 -1 1 1 1 1 1 -1 -1 -1\n";

	cr_assert_eq(read_text(BATCH_SWF, text, true), 0, "%s", err.text);
	cr_assert_eq(workload->job_count, 3);
	cr_expect_eq(report.machines, 3);
	cr_expect_eq(report.slots, 4, "10 of 3 machines, rounded up");
	cr_expect_eq(workload->jobs[0].task_count, 1);
	cr_expect_eq(workload->jobs[1].id, 3);
	cr_expect_eq(workload->jobs[1].task_count, 1000000);
	cr_expect_eq(workload->jobs[2].task_count, 5);
	cr_expect_eq(workload->tasks[0].submit_us, 0, "times begin with the first submission");
	cr_expect_eq(workload->tasks[1].submit_us, 1000000);
	cr_expect_eq(workload->tasks[1].run_us, 2500000);
	cr_expect_eq(workload->tasks[1000001].run_us, 0);
	cr_expect_eq(report.peak_tasks, 1000001);
}

Test(batch_trace, a_job_that_begins_as_another_ends_takes_its_place)
{
	cr_assert_eq(read_text(BATCH_SWF,
			       "1 0 0 10 4 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n\n  \t\n"
			       "2 10 0 10 3 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
			       "3 5 5 10 2 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n",
			       true),
		     0, "%s", err.text);
	cr_expect_eq(report.peak_tasks, 5);
	cr_expect_eq(report.rows, 3);
}

Test(batch_trace, a_header_out_of_range_gives_no_machines)
{
	static const struct {
		const char *header;
		int64_t machines, slots;
	} cases[] = {{"; MaxNodes: 0\n; MaxProcs: 8\n", 0, 0},
		     {"; MaxNodes: 2\n; MaxProcs: 2e9\n", 2, 0},
		     {"; MaxNodes: 2e9\n; MaxProcs: 8\n", 0, 0},
		     {"; MaxNodes: 1\n; MaxProcs: 1\n", 1, 1},
		     {"; MaxProcs: 1e9\n; MaxNodes: 1e9\n", 1000000000, 1}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[200];

		snprintf(text, sizeof text, "%s1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n", cases[i].header);
		cr_assert_eq(read_text(BATCH_SWF, text, true), 0, "%s", err.text);
		cr_expect_eq(report.machines, cases[i].machines, "%zu", i);
		cr_expect_eq(report.slots, cases[i].slots, "%zu", i);
		workload_destroy(workload);
	}
	workload = NULL;
}

Test(batch_trace, sacct_has_other_ids_and_a_zero_of_tasks)
{
	static const char text[] = "jobid|State|SUBMIT|Start|End|NTasks|AllocCPUS|NNodes\n"
				   "8_[1-3]|X|1970-01-01T00:00:10|1970-01-01T00:00:10|1970-01-01T00:00:11|0||2\n"
				   "8.batch|X|never|||1|1|1\n"
				   "-9|X|1970-01-01T00:00:00|1970-01-01T00:00:00|Unknown|0|3|2\n"
				   "9|X|1970-01-01T00:00:00|None|Unknown|1|3|2\n";

	cr_assert_eq(read_text(BATCH_SACCT, text, true), 0, "%s", err.text);
	cr_assert_eq(workload->job_count, 2);
	cr_expect_eq(report.rows, 4);
	cr_expect_eq(workload->jobs[0].id, hash_text("-9"));
	cr_expect_eq(workload->jobs[0].task_count, 3, "AllocCPUS");
	cr_expect_eq(workload->jobs[1].id, hash_text("8_[1-3]"));
	cr_expect_eq(workload->jobs[1].task_count, 2, "NNodes");
	cr_expect_eq(workload->tasks[3].submit_us, 10000000);
	cr_expect_eq(workload->left_out.never_ran, 1);
}

Test(batch_trace, a_damaged_end_is_counted)
{
	static const char text[] = "1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
				   "2 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1 and a line that is too long\n";
	struct file_lines *lines = file_lines_from_memory("test", text, sizeof text - 1, &err);

	file_lines_limit(lines, 60);
	workload = workload_create();
	cr_assert_eq(batch_trace_read(workload, BATCH_SWF, lines, false, &report, &err), 0, "%s", err.text);
	cr_expect_eq(report.jobs, 1);
	cr_expect_eq(report.problems[BATCH_DAMAGED], 1);
	cr_expect(strstr(report.first[BATCH_DAMAGED], ": damaged or cut off"), "%s", report.first[BATCH_DAMAGED]);
	cr_expect_str_eq(batch_problem_name(BATCH_DAMAGED), "damaged files");
	cr_expect_str_eq(batch_problem_name(BATCH_COLUMNS), "rows with too few columns");
	file_lines_close(lines);
}

#define GOOD "1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
#define HEAD "JobID|Submit|Start|End|NTasks\n5|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:00:01|1\n"

static const struct {
	enum batch_format format;
	const char *text;
	enum batch_problem problem;
} bad[] = {
	{BATCH_SWF, GOOD "2 0 0 10 1\n", BATCH_COLUMNS},
	{BATCH_SWF, GOOD "2 0 nan 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n", BATCH_NUMBER},
	{BATCH_SWF, GOOD "2 -7 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n", BATCH_NUMBER},
	{BATCH_SWF, GOOD "2 0 0 10 0 -1 -1 0 -1 -1 1 1 1 1 1 -1 -1 -1\n", BATCH_TASKS},
	{BATCH_SWF, GOOD "2 0 0 10 2e6 -1 -1 0 -1 -1 1 1 1 1 1 -1 -1 -1\n", BATCH_TASKS},
	{BATCH_SACCT, HEAD "6|2026-01-01T00:00:00|2026-01-01T00:00:09\n", BATCH_COLUMNS},
	{BATCH_SACCT, HEAD "6|yesterday|2026-01-01T00:00:09|Unknown|1\n", BATCH_NUMBER},
	{BATCH_SACCT, HEAD "6|2026-01-01T00:00:00|2026-01-01T00:00:09|2026-01-01T00:00:08|1\n", BATCH_ORDER},
	{BATCH_SACCT, HEAD "6|2026-01-01T00:00:09|2026-01-01T00:00:00|Unknown|1\n", BATCH_ORDER},
};

Test(batch_trace, bad_rows_are_counted)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		cr_assert_eq(read_text(bad[i].format, bad[i].text, false), 0, "%zu: %s", i, err.text);
		cr_expect_eq(report.problems[bad[i].problem], 1, "%zu", i);
		cr_expect_eq(workload->job_count, 1, "%zu: the good row counts", i);
		workload_destroy(workload);
		cr_expect_lt(read_text(bad[i].format, bad[i].text, true), 0, "%zu", i);
		cr_expect(strncmp(err.text, bad[i].format == BATCH_SWF ? "test:2: " : "test:3: ", 8) == 0, "%s",
			  err.text);
		workload_destroy(workload);
		err = (struct error){0};
	}
	workload = NULL;
}

Test(batch_trace, nothing_useful_is_an_error)
{
	cr_assert_lt(read_text(BATCH_SWF, "; nothing\n", false), 0);
	cr_assert(strstr(err.text, "no job that ran, in 0 rows"), "%s", err.text);
	workload_destroy(workload);
	cr_assert_lt(read_text(BATCH_SACCT, "JobID|Submit|End\n", false), 0);
	cr_assert(strstr(err.text, "test:1: Start: no such column"), "%s", err.text);
}

/* Rows with status 2 to 4 are parts of the run that the row with status 1 has whole; 9 occurs twice: two jobs. */
Test(batch_trace, partial_executions_are_skipped_and_repeated_numbers_are_other_jobs)
{
	cr_assert_eq(read_text(BATCH_SWF,
			       "; MaxNodes: 8\n; Note: since 1998 MaxNodes: 64 were used\n"
			       "7 0 0 300 4 -1 -1 4 400 -1 1 1 1 1 1 1 -1 -1\n"
			       "7 0 0 100 4 -1 -1 4 400 -1 2 1 1 1 1 1 -1 -1\n"
			       "7 200 0 200 4 -1 -1 4 400 -1 3 1 1 1 1 1 -1 -1\n"
			       "9 0 0 100 2 -1 -1 2 400 -1 1 1 1 1 1 1 -1 -1\n"
			       "9 50 0 100 3 -1 -1 2 400 -1 5 1 1 1 1 1 -1 -1\n",
			       true),
		     0, "%s", err.text);
	cr_expect_eq(workload->job_count, 3);
	cr_expect_eq(workload->task_count, 9);
	cr_expect_eq(workload->jobs[1].task_count + workload->jobs[2].task_count, 5);
	cr_expect_eq(report.partial, 2);
	cr_expect_eq(report.repeated, 1);
	cr_expect_eq(report.machines, 8, "a note is no key");
}

/* Job 100 has 4 tasks by its step, 104 two components, 200 was requeued: 600 s, then 1,080 s. */
Test(batch_trace, steps_components_and_attempts_of_sacct)
{
	cr_assert_eq(read_text(BATCH_SACCT,
			       "JobID|Submit|Start|End|NTasks|AllocCPUS\n"
			       "100|1793520000|1793520010|1793520610||8\n"
			       "100.batch|1793520000|1793520010|1793520610|1|8\n"
			       "100.0|1793520000|1793520011|1793520609|4|8\n"
			       "104+0|1793520180|1793520210|1793521200||4\n"
			       "104+0.0|1793520180|1793520210|1793521200|4|4\n"
			       "104+1|1793520180|1793520210|1793521200||2\n"
			       "200|1793520000|1793520010|1793520610||4\n"
			       "200|1793520611|1793520720|1793521800||4\n",
			       true),
		     0, "%s", err.text);
	cr_assert_eq(workload->job_count, 3);
	cr_expect_eq(workload->task_count, 4 + 6 + 4);
	cr_expect_eq(report.repeated, 1);
	for (size_t j = 0; j < 3; j++) {
		const struct workload_job *job = &workload->jobs[j];
		int64_t run_us = workload->tasks[job->first_task].run_us;

		cr_expect_eq(job->task_count, job->id == 104 ? 6 : 4);
		cr_expect_eq(run_us, job->id == 100 ? 600000000 : job->id == 104 ? 990000000 : 1680000000);
	}
}

/* Found by the fuzzer. */
Test(batch_trace, step_of_no_job_before_the_first_job)
{
	cr_assert_eq(read_text(BATCH_SACCT,
			       "JobID|Submit|Start|End|NTasks|AllocCPUS\n"
			       ".0|1793520000|1793520010|1793520610|4|8\n"
			       "100|1793520000|1793520010|1793520610||8\n"
			       ".0|1793520000|1793520010|1793520610|64|8\n",
			       true),
		     0, "%s", err.text);
	cr_expect_eq(workload->task_count, 8);
}

Test(batch_trace, components_have_a_million_tasks_together)
{
	cr_assert_neq(read_text(BATCH_SACCT,
				"JobID|Submit|Start|End|NTasks|AllocCPUS\n"
				"104+0|1793520180|1793520210|1793521200||1000000\n"
				"104+1|1793520180|1793520210|1793521200||1\n",
				true),
		      0);
	cr_assert(strstr(err.text, "in all components"), "%s", err.text);
}

/* The clocks go back at 3 h: from 01:30 to 03:30 are 3 hours. ElapsedRaw is right in any zone. */
Test(batch_trace, local_times_and_elapsed)
{
	static const char rows[] = "300|2026-10-25T01:00:00|2026-10-25T01:30:00|2026-10-25T03:30:00||4|\n"
				   "301|2026-10-25T02:40:00|2026-10-25T02:50:00|2026-10-25T02:10:00||4|1200\n";
	char text[400];

	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	snprintf(text, sizeof text, "JobID|Submit|Start|End|NTasks|AllocCPUS|ElapsedRaw\n%s", rows);
	cr_assert_eq(read_text(BATCH_SACCT, text, true), 0, "%s", err.text);
	cr_assert_eq(workload->job_count, 2);
	for (size_t j = 0; j < 2; j++)
		cr_expect_eq(workload->tasks[workload->jobs[j].first_task].run_us,
			     workload->jobs[j].id == 300 ? 10800000000 : 1200000000);
}

/* Jobs 7, "web" (4 tasks, and the root for twice as long) and "batch" (without an end). */
Test(batch_trace, table_of_jobs)
{
	const struct workload_job *web;

	cr_assert_eq(read_file(BATCH_CSV, SOURCE_ROOT "/tests/data/fuzz/batch_csv_1"), 0, "%s", err.text);
	cr_assert_eq(report.rows, 4);
	cr_assert_eq(report.jobs, 3);
	cr_assert_eq(report.peak_tasks, 15);
	cr_assert_eq(workload->job_count, 3);
	web = &workload->jobs[0];
	cr_assert_eq(web->task_count, 5);
	cr_assert_str_eq(workload->notes[web->note].name, "web");
	cr_assert_str_eq(workload->curves[workload->notes[web->note].curve], "memcached");
	cr_assert_eq(workload->tasks[0].run_us, 7200000000, "the root is the task of the second row");
	cr_assert_eq(workload->tasks[4].run_us, 3600000000);
	cr_assert_eq(workload->jobs[1].id, 7);
	cr_assert_eq(workload->jobs[1].note, WORKLOAD_NO_NOTE);
	cr_assert_eq(workload->tasks[5].submit_us, 10500000);
	cr_assert_eq(workload->tasks[7].run_us, WORKLOAD_TO_THE_END);
}

/* A gang of the whole job, one of a part of it, and a job without. */
Test(batch_trace, gangs_of_the_table)
{
	cr_assert_eq(
		read_text(BATCH_CSV, "job,submit,run,tasks,gang\na,0,9,3,5\na,0,9,2,5\nb,1,9,4,2\nc,2,9,4,\n", false),
		0, "%s", err.text);
	cr_assert_eq(workload->job_count, 3);
	cr_expect_eq(workload->jobs[0].gang, 5);
	cr_expect_eq(workload->jobs[1].gang, 2);
	cr_expect_eq(workload->jobs[2].gang, 0);
}

/* a: a ring of two rows, of which the second has the root; b: a star; c: none stated; d: a grid. */
Test(batch_trace, graphs_of_the_table)
{
	struct job_graph *graph;

	cr_assert_eq(read_text(BATCH_CSV,
			       "job,submit,run,tasks,root,graph\na,0,9,4,,ring\na,0,9,1,1,ring\nb,1,9,4,,star\n"
			       "c,1,9,2,,\nd,2,9,6,,grid:2x3\n",
			       false),
		     0, "%s", err.text);
	cr_assert_eq(workload->job_count, 4);
	graph = workload_graph_of(workload, &workload->jobs[0], &err);
	cr_assert(graph, "%s", err.text);
	cr_expect_eq(graph->task_count, 5);
	cr_expect_eq(graph->edge_count, 5);
	cr_expect_eq(graph->neighbours[graph->first[0]].task, 1);
	cr_expect_eq(graph->neighbours[graph->first[0] + 1].task, 4);
	job_graph_destroy(graph);
	cr_expect_null(workload_graph_of(workload, &workload->jobs[1], &err));
	cr_expect_null(workload_graph_of(workload, &workload->jobs[2], &err));
	cr_expect_eq(err.code, 0);
	graph = workload_graph_of(workload, &workload->jobs[3], &err);
	cr_assert(graph, "%s", err.text);
	cr_expect_eq(graph->edge_count, 7);
	job_graph_destroy(graph);
}

/* A ring of tasks 0 to 5 of which 2 and 3 have ended before the window: the others keep their edges. */
Test(batch_trace, a_graph_between_the_tasks_that_are_kept)
{
	static const char text[] = "job,submit,run,tasks,graph\na,0,90,2,ring\na,0,9,2,ring\na,0,90,2,ring\n";
	struct workload_filter late = {.begin_us = 20000000, .end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), &err);
	struct job_graph *graph;

	workload = workload_create();
	cr_assert_eq(batch_trace_read(workload, BATCH_CSV, lines, false, &report, &err), 0, "%s", err.text);
	file_lines_close(lines);
	cr_assert_eq(workload_finish(workload, &late), 0);
	graph = workload_graph_of(workload, &workload->jobs[0], &err);
	cr_assert(graph, "%s", err.text);
	cr_expect_eq(graph->task_count, 4);
	cr_assert_eq(graph->edge_count, 3, "0-1, 2-3 (4-5), 0-3 (5-0)");
	cr_expect_eq(graph->neighbours[graph->first[2]].task, 3);
	cr_expect_eq(graph->neighbours[graph->first[0] + 1].task, 3);
	job_graph_destroy(graph);
}

Test(batch_trace, columns_of_the_table_are_in_any_order)
{
	cr_assert_eq(read_text(BATCH_CSV, "tasks, run ,job,submit\n3,60,\"a\",5\n2,30,a,9\n", false), 0, "%s",
		     err.text);
	cr_assert_eq(workload->job_count, 1);
	cr_assert_eq(workload->task_count, 5);
	cr_assert_eq(workload->tasks[2].run_us, 60000000);
	cr_assert_eq(workload->tasks[3].index, 3);
	cr_assert_eq(workload->tasks[3].submit_us, 4000000);
}

Test(batch_trace, a_bad_row_of_the_table_is_named)
{
	static const struct {
		const char *rows, *text;
	} cases[] = {
		{"a,-1,1,1,,,\n", "test:2: submit: '-1': expected seconds, 0 to 1e11"},
		{"a,0,x,1,,,\n", "test:2: run: 'x': expected seconds, 0 to 1e11, or nothing: without an end"},
		{"a,0,1,1,,,\na,0,1,0,,,\n", "test:3: tasks: '0': expected a number of tasks, 1 to 1000000"},
		{"a,0,1,1.5,,,\n", "test:2: tasks: '1.5': expected a number of tasks, 1 to 1000000"},
		{",0,1,1,,,\n", "test:2: job: '': expected the number or the name of a job"},
		{"a,0,1,1,,yes,\n", "test:2: root: 'yes': expected 0 or 1"},
		{"a,0,1,1\n", "test:2: expected as many columns as in the header"},
		{"a,0,1,1,x,,\na,0,1,1,y,,\n", "test:3: curve: 'y': expected the curve of the job's earlier rows"},
		{"a,0,1,1,,1,\nb,0,1,1,,1,\na,0,1,1,,1,\n", "test:4: root: the job has a root already, at line 2"},
		{"a,0,1,1000000,,,\na,0,1,1,,,\n",
		 "test:3: tasks: expected at most 1000000 tasks in all rows of a job"},
		{"a,0,1,4,,,0\n", "test:2: gang: '0': expected a number of tasks, 1 to 1000000, or nothing"},
		{"a,0,1,4,,,3\na,0,1,2,,,\n", "test:3: gang: expected the gang of the job's row at line 2"},
		{"a,0,1,4,,,7\na,0,1,2,,,7\n", "test:3: gang: expected at most the 6 tasks of the job"},
		{"a,0,1,4,,,,ring\na,0,1,2,,,,tree\n", "test:3: graph: expected the graph of the job's row at line 2"},
		{"a,0,1,4,,,,grid:2x3\n", "test:2: graph: grid:2x3 has 6 tasks, the job has 4"},
		{"a,0,1,4,,,,rings\n",
		 "test:2: graph: found 'rings'; expected \"star\", \"ring\", \"tree\", \"all-to-all\", \"grid:XxY\", "
		 "\"grid:XxYxZ\", \"servers:N\" or a list of edges [task, task], [task, task, weight] or [task, task, "
		 "weight, MB, MB back]"},
		{"a,0,1,2000,,,,all-to-all\n", "test:2: graph: more than 1000000 edges"},
		{"", "test: found no job that ran, in 0 rows"},
	};
	char text[256];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, "job,submit,run,tasks,curve,root,gang%s\n%s",
			 strstr(cases[i].text, "graph") ? ",graph" : "", cases[i].rows);
		cr_expect_eq(read_text(BATCH_CSV, text, false), -EINVAL);
		cr_expect_str_eq(err.text, cases[i].text);
		workload_destroy(workload);
	}
	for (size_t i = 0; i < 3; i++) {
		static const char *const headers[] = {"job,submit,run\n", "job,submit,run,tasks,gpus\n",
						      "job,job,submit,run,tasks\n"};

		cr_expect_eq(read_text(BATCH_CSV, headers[i], false), -EINVAL);
		cr_expect_str_eq(err.text, "test:1: expected a header with the columns job, submit, run, tasks and, "
					   "optionally, curve, root, gang and graph");
		workload_destroy(workload);
	}
	workload = NULL;
}

/* Eight months of a machine of 163,840 processors: 350 million tasks, of which an hour's are kept. */
Test(batch_trace, hundreds_of_millions_of_tasks_outside_the_window)
{
	enum { JOBS = 70000, TASKS = 5000, GAP_S = 300, ROW = 80 };
	struct workload_filter filter = {
		.begin_us = INT64_C(7200000000000), .end_us = INT64_C(7203600000000), .fraction = 1, .speed_up = 1};
	char *text = malloc((size_t)JOBS * ROW);
	size_t length = 0;
	struct file_lines *lines;
	struct rusage used;

	for (int j = 0; j < JOBS; j++)
		length += (size_t)snprintf(text + length, ROW, "%d %d 0 1000 %d -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n", j,
					   j * GAP_S, TASKS);
	lines = file_lines_from_memory("test", text, length, &err);
	workload = workload_create();
	workload->early = &filter;
	cr_assert_eq(batch_trace_read(workload, BATCH_SWF, lines, true, &report, &err), 0, "%s", err.text);
	workload->early = NULL;
	cr_assert_eq(workload_finish(workload, &filter), 0);
	/* Those submitted in the hour, and in the 1,000 s before. */
	cr_expect_eq(workload->task_count, (3600 / GAP_S + 1000 / GAP_S) * TASKS);
	cr_expect_eq(workload->task_count + workload->left_out.too_early + workload->left_out.too_late,
		     (size_t)JOBS * TASKS);
	cr_assert_eq(getrusage(RUSAGE_SELF, &used), 0);
	cr_expect_lt(used.ru_maxrss, 200000, "%ld KB", used.ru_maxrss);
	file_lines_close(lines);
	free(text);
}

/* The tasks outside the window are counted, and need no memory. */
Test(batch_trace, an_early_filter_leaves_out_what_the_late_one_would)
{
	static const char text[] = "job,submit,run,tasks\na,0,60,900\nb,100,60,2\nb,130,10,3\nc,200,60,5\nd,300,1,7\n";
	struct workload_filter filter = {
		.begin_us = 100000000, .end_us = 210000000, .fraction = 0.9, .speed_up = 1, .keep_single = true};
	struct workload_left_out left_out[2];
	size_t jobs[2], tasks[2];

	for (int early = 0; early < 2; early++) {
		struct file_lines *lines = file_lines_from_memory("test", text, strlen(text), &err);

		workload_destroy(workload);
		workload = workload_create();
		workload->early = early ? &filter : NULL;
		cr_assert_eq(batch_trace_read(workload, BATCH_CSV, lines, false, &report, &err), 0, "%s", err.text);
		file_lines_close(lines);
		cr_assert(!early || workload->task_capacity < 900);
		workload->early = NULL;
		cr_assert_eq(workload_finish(workload, &filter), 0);
		left_out[early] = workload->left_out;
		jobs[early] = workload->job_count;
		tasks[early] = workload->task_count;
	}
	cr_assert_eq(memcmp(&left_out[0], &left_out[1], sizeof left_out[0]), 0);
	cr_assert_eq(jobs[0], jobs[1]);
	cr_assert_eq(tasks[0], tasks[1]);
	cr_assert(left_out[0].too_early + left_out[0].not_drawn >= 900 && tasks[0] > 0);
}

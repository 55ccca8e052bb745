/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/batch_trace.h>

#include <criterion/criterion.h>
#include <string.h>

static struct workload *workload;
static struct batch_report report;
static struct error err;

static int read_text(enum batch_format format, const char *text, bool strict)
{
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct file_lines *lines = file_lines_from_memory("test", text, strlen(text));
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of the rows of Google's trace to tasks, each kind of bad row, and reading back a written trace. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <model/google_trace.h>

static struct workload *workload;
static struct google_trace_report report;
static struct google_trace_reader *reader;
static struct error err;

static void start(bool strict)
{
	workload = workload_create();
	reader = google_trace_reader_create(workload, strict, &report);
	cr_assert_not_null(reader);
	err = (struct error){0};
}

static void stop(void)
{
	google_trace_reader_destroy(reader);
	workload_destroy(workload);
	reader = NULL;
	workload = NULL;
}

TestSuite(google_trace, .fini = stop);

static int machines(const char *text)
{
	return google_trace_read_machines(reader, file_lines_from_memory("m.csv", text, strlen(text), &err), &err);
}

static int tasks(const char *text)
{
	return google_trace_read_tasks(reader, file_lines_from_memory("t.csv", text, strlen(text), &err), &err);
}

static void finish(void)
{
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};

	cr_assert_eq(google_trace_reader_finish(reader, &err), 0, "%s", err.text);
	cr_assert_eq(workload_finish(workload, &filter), 0);
}

/* time in seconds after the trace's start, job, task index, event */
#define ROW(seconds, job, index, event) seconds "000000,," job "," index ",5," event ",u,0,0,,,,\n"

Test(google_trace, attempts_add_up_from_the_first_submission)
{
	start(false);
	cr_assert_eq(machines("0,5,0,x,0.5,0.25\n600000000,6,0,x,,\n700000000,5,1,,,\n"), 0);
	cr_assert_eq(tasks("0,2,7,0,5,0,u,0,0,,,,\n0,2,7,0,5,1,u,0,0,,,,\n" ROW("610", "7", "1", "0")
				   ROW("615", "7", "1", "1") ROW("620", "7", "1", "2") ROW("621", "7", "1", "0")
					   ROW("630", "7", "1", "1") ROW("642", "7", "1", "4") ROW("650", "8", "0", "0")
						   ROW("651", "8", "0", "5") ROW("652", "7", "0", "8")),
		     0);
	finish();
	cr_expect_eq(report.rows, 14);
	cr_expect_eq(workload->machine_count, 2);
	cr_expect_eq(workload->machine_events[0].time_us, 0);
	cr_expect_eq(workload->machine_events[2].time_us, 100000000);
	cr_expect_eq(workload->machine_events[2].change, WORKLOAD_MACHINE_REMOVED);
	cr_expect_float_eq(workload->machine_events[0].cpu, 0.5, 1e-6);
	cr_expect_lt(workload->machine_events[1].cpu, 0, "not known");
	cr_assert_eq(workload->job_count, 1);
	cr_assert_eq(workload->jobs[0].task_count, 2);
	cr_expect_eq(workload->tasks[0].submit_us, 0);
	cr_expect_eq(workload->tasks[0].run_us, WORKLOAD_TO_THE_END);
	cr_expect_eq(workload->tasks[1].submit_us, 10000000);
	cr_expect_eq(workload->tasks[1].run_us, (5 + 12) * INT64_C(1000000));
	cr_expect_eq(workload->left_out.never_ran, 1, "job 8 was killed while it waited");
	for (int k = 0; k < GOOGLE_TRACE_PROBLEMS; k++)
		cr_expect_eq(report.problems[k], 0, "%s: %s", google_trace_problem_name(k), report.first[k]);
}

struct bad_row {
	enum google_trace_problem problem;
	const char *text;
};
static const struct bad_row bad_rows[] = {
	{GOOGLE_TRACE_COLUMNS, "650000000,,7,1,5,0,u,0,0,,,\n"},
	{GOOGLE_TRACE_COLUMNS, "650000000,,7,1,5,0,u,0,0,,,,,\n"},
	{GOOGLE_TRACE_COLUMNS, "\n"},
	{GOOGLE_TRACE_NUMBER, "65000000x,,7,1,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_NUMBER, "650000000,,,1,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_NUMBER, "650000000,,7,-1,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_NUMBER, "650000000,,7,99999999999,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_NUMBER, "99999999999999999999,,7,1,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_EVENT, "650000000,,7,1,5,9,u,0,0,,,,\n"},
	{GOOGLE_TRACE_BACKWARDS, "640000000,,7,1,5,0,u,0,0,,,,\n"},
	{GOOGLE_TRACE_UNKNOWN_MACHINE, "650000000,,7,1,77,1,u,0,0,,,,\n"},
	{GOOGLE_TRACE_REMOVED_MACHINE, "650000000,,7,1,6,1,u,0,0,,,,\n"},
	{GOOGLE_TRACE_START_TWICE, "650000000,,7,0,5,1,u,0,0,,,,\n"},
	{GOOGLE_TRACE_END_WITHOUT_START, "650000000,,7,1,5,4,u,0,0,,,,\n"},
};

Test(google_trace, each_kind_of_bad_row_is_counted_and_the_first_is_named)
{
	for (size_t i = 0; i < sizeof bad_rows / sizeof bad_rows[0]; i++) {
		for (int strict = 0; strict < 2; strict++) {
			char text[512];
			int code;

			snprintf(text, sizeof text, "%s%s%s", ROW("610", "7", "0", "0") ROW("645", "7", "0", "1"),
				 bad_rows[i].text, ROW("660", "7", "0", "4"));
			start(strict != 0);
			cr_assert_eq(machines("0,5,0,,,\n0,6,0,,,\n620000000,6,1,,,\n"), 0);
			code = tasks(text);
			cr_expect_eq(code == 0, !strict, "%s", bad_rows[i].text);
			cr_expect_eq(report.problems[bad_rows[i].problem], 1, "%s", bad_rows[i].text);
			cr_expect(strncmp(report.first[bad_rows[i].problem], "t.csv:3: ", 9) == 0, "%s",
				  report.first[bad_rows[i].problem]);
			if (strict) {
				cr_expect_str_eq(err.text, report.first[bad_rows[i].problem]);
			} else {
				finish();
				cr_expect_eq(workload->tasks[0].run_us, 15000000, "the other rows count");
			}
			stop();
		}
	}
}

Test(google_trace, bad_machine_rows_are_counted)
{
	start(false);
	cr_assert_eq(machines("0,5,0,x,0.5\n0,5,3,x,0.5,1\nx,5,0,x,0.5,1\n0,5,0,x,lots,1\n0,5,0,x,0.5,1\n"), 0);
	cr_expect_eq(report.problems[GOOGLE_TRACE_COLUMNS], 1);
	cr_expect_eq(report.problems[GOOGLE_TRACE_EVENT], 1);
	cr_expect_eq(report.problems[GOOGLE_TRACE_NUMBER], 2);
	cr_expect_eq(workload->machine_event_count, 1);
}

Test(google_trace, without_a_task_there_is_nothing_to_simulate)
{
	start(false);
	cr_assert_eq(machines("0,5,0,x,0.5,1\n"), 0);
	cr_assert_eq(tasks(ROW("610", "7", "0", "0")), 0);
	cr_expect_lt(google_trace_reader_finish(reader, &err), 0);
	cr_expect(strstr(err.text, "no task ran") != NULL, "%s", err.text);
}

Test(google_trace, what_is_written_reads_back)
{
	char folder[] = "/tmp/nomora-trace-XXXXXX", command[64];
	struct google_trace_options options = {.until_us = INT64_MAX, .strict = true};
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct workload *again = workload_create();

	start(false);
	cr_assert_not_null(mkdtemp(folder));
	workload_add_machine_event(workload, 0, 5, WORKLOAD_MACHINE_ADDED, 0.25F);
	workload_add_machine_event(workload, 9000000, 5, WORKLOAD_MACHINE_REMOVED, -1);
	workload_add_task(workload, 3, 0, 0, WORKLOAD_TO_THE_END);
	workload_add_task(workload, 3, 1, 0, 4000000);
	workload_add_task(workload, 2, 0, 5000000, 1);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	cr_assert_eq(google_trace_write(workload, folder, &err), 0, "%s", err.text);
	cr_assert_eq(google_trace_read(again, folder, &options, &report, &err), 0, "%s", err.text);
	cr_assert_eq(workload_finish(again, &filter), 0);
	cr_expect_eq(again->machine_event_count, 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(again->machine_events[i].time_us, workload->machine_events[i].time_us);
		cr_expect_eq(again->machine_events[i].machine, workload->machine_events[i].machine);
		cr_expect_eq(again->machine_events[i].order, workload->machine_events[i].order);
		cr_expect_eq(again->machine_events[i].change, workload->machine_events[i].change);
		cr_expect_eq(again->machine_events[i].cpu, workload->machine_events[i].cpu);
		cr_expect_eq(again->machine_events[i].slots, workload->machine_events[i].slots);
	}
	cr_assert_eq(again->task_count, 3);
	for (size_t t = 0; t < 3; t++) {
		cr_expect_eq(again->tasks[t].job_id, workload->tasks[t].job_id);
		cr_expect_eq(again->tasks[t].index, workload->tasks[t].index);
		cr_expect_eq(again->tasks[t].submit_us, workload->tasks[t].submit_us);
		cr_expect_eq(again->tasks[t].run_us, workload->tasks[t].run_us);
	}
	workload_destroy(again);
	snprintf(command, sizeof command, "rm -r %s", folder);
	cr_expect_eq(system(command), 0);
}

Test(workload, a_fraction_keeps_a_share_of_jobs_and_machines)
{
	struct workload_filter filter = {.end_us = 1000, .fraction = 0.25, .speed_up = 2};

	workload = workload_create();
	for (uint64_t m = 0; m < 2000; m++)
		workload_add_machine_event(workload, 0, m, WORKLOAD_MACHINE_ADDED, 1);
	for (uint64_t j = 0; j < 4000; j++) {
		for (uint32_t t = 0; t < 1 + j % 2; t++)
			workload_add_task(workload, 10000 + j, t, (int64_t)(j % 4) * 700, 5);
	}
	cr_assert_eq(workload_finish(workload, &filter), 0);
	cr_expect(workload->machine_count > 430 && workload->machine_count < 570, "%zu", workload->machine_count);
	cr_expect_eq(workload->machine_count + workload->left_out.machines_not_drawn, 2000);
	cr_expect_eq(workload->machine_event_count, workload->machine_count);
	for (size_t m = 0; m < workload->machine_count; m++)
		cr_expect_eq(workload_find_machine(workload, workload->machine_ids[m]), (int64_t)m);
	/* Of 2,000 jobs of two tasks, those submitted at 700 us / 2 remain; those at 2,100 us / 2 are too late. */
	cr_expect(workload->job_count > 200 && workload->job_count < 300, "%zu", workload->job_count);
	cr_expect_eq(workload->task_count, 2 * workload->job_count);
	for (size_t t = 0; t < workload->task_count; t++)
		cr_expect_eq(workload->tasks[t].submit_us, 350);
	cr_expect_eq(workload->left_out.not_drawn + workload->left_out.too_late + workload->left_out.single_jobs +
			     workload->task_count,
		     6000);
	workload_destroy(workload);
	workload = NULL;
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	out = fopen(path, "w");
	cr_assert_not_null(out, "%s", path);
	fputs(text, out);
	fclose(out);
}

/*
 * The first part there is, the third, begins at 5,000 s. Tasks 0 and 1 end in it, task 2 is updated as it runs, task 3
 * waits, task 4 is scheduled: all were submitted before. Task 5 is submitted in it, and ends a second time unstarted.
 */
Test(google_trace, a_middle_part_begins_with_the_tasks_that_run_then)
{
	char folder[] = "/tmp/nomora-trace-XXXXXX", command[96];
	static const int64_t run_us[] = {100000000, 300000000, WORKLOAD_TO_THE_END, 0, WORKLOAD_TO_THE_END, 10000000};
	struct google_trace_options options = {.until_us = INT64_MAX};
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};

	workload = workload_create();
	cr_assert_not_null(mkdtemp(folder));
	snprintf(command, sizeof command, "mkdir %s/machine_events %s/task_events", folder, folder);
	cr_assert_eq(system(command), 0);
	write_file(folder, "machine_events/part-00000-of-00001.csv", "0,5,0,x,0.5,1\n");
	write_file(folder, "task_events/part-00002-of-00500.csv",
		   ROW("5600", "7", "3", "7") ROW("5700", "7", "0", "4") ROW("5710", "7", "2", "8")
			   ROW("5720", "7", "4", "1") ROW("5800", "7", "5", "0") ROW("5801", "7", "5", "1")
				   ROW("5811", "7", "5", "4") ROW("5900", "7", "1", "5") ROW("5910", "7", "5", "0")
					   ROW("5911", "7", "5", "4"));
	cr_assert_eq(google_trace_read(workload, folder, &options, &report, &err), 0, "%s", err.text);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	cr_expect_eq(report.problems[GOOGLE_TRACE_PART_MISSING], 1);
	cr_expect(strstr(report.first[GOOGLE_TRACE_PART_MISSING], ": the part before it is missing") &&
			  !strstr(report.first[GOOGLE_TRACE_PART_MISSING], ":0: "),
		  "a missing part has no line: %s", report.first[GOOGLE_TRACE_PART_MISSING]);
	cr_expect_eq(report.problems[GOOGLE_TRACE_END_WITHOUT_START], 1, "only task 5, which was seen before");
	cr_assert_eq(workload->task_count, 5);
	cr_expect_eq(workload->left_out.never_ran, 1, "task 3");
	for (size_t t = 0; t < workload->task_count; t++) {
		const struct workload_task *task = &workload->tasks[t];

		cr_expect_eq(task->submit_us, task->index == 5 ? 5200000000 : 5000000000);
		cr_expect_eq(task->run_us, run_us[task->index], "task %u", task->index);
	}
	snprintf(command, sizeof command, "rm -r %s", folder);
	cr_expect_eq(system(command), 0);
}

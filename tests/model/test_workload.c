/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <model/curve_library.h>
#include <model/workload.h>

static const struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};

/*
 * Machine i has the id 1000 + i and one event, at i us. Job j has the id j and two tasks. Between the machines i and i
 * + 1 the round trip is i us.
 */
static struct workload *make_large(uint32_t count)
{
	struct workload *workload = workload_create();

	cr_assert_not_null(workload);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(workload_add_machine_event(workload, i, 1000 + i, WORKLOAD_MACHINE_ADDED, 0.5F), 0);
		cr_assert_eq(workload_add_task(workload, i, 0, i, 10), 0);
		cr_assert_eq(workload_add_task(workload, i, 1, i, 10), 0);
	}
	for (uint32_t i = 0; i + 1 < count; i++)
		cr_assert_eq(workload_add_latency(workload, i, i, i + 1, (float)i), 0);
	return workload;
}

Test(workload, a_fraction_keeps_its_share_of_machines_and_jobs)
{
	enum { COUNT = 1000 };
	static bool kept_before[COUNT], job_kept_before[COUNT];

	for (double fraction = 0.3; fraction < 1; fraction += 0.3) {
		struct workload *workload = make_large(COUNT);
		struct workload_filter filter = all;
		static bool kept[COUNT], job_kept[COUNT];
		size_t latencies = 0;

		filter.fraction = fraction;
		cr_assert_eq(workload_finish(workload, &filter), 0);
		cr_expect_float_eq((double)workload->machine_count, fraction * COUNT, 50);
		cr_expect_float_eq((double)workload->job_count, fraction * COUNT, 50);
		cr_expect_eq(workload->left_out.machines_not_drawn, COUNT - workload->machine_count);
		cr_expect_eq(workload->left_out.not_drawn, 2 * (COUNT - workload->job_count));
		cr_expect_eq(workload->task_count, 2 * workload->job_count);
		memset(kept, 0, sizeof kept);
		memset(job_kept, 0, sizeof job_kept);
		cr_assert_eq(workload->machine_event_count, workload->machine_count);
		for (uint32_t m = 0; m < workload->machine_count; m++) {
			uint64_t id = workload->machine_ids[m];

			cr_assert(m == 0 || id > workload->machine_ids[m - 1], "the order stays");
			cr_assert_eq(workload_find_machine(workload, id), m);
			cr_assert_eq(workload->machine_events[m].machine, m);
			cr_assert_eq(workload->machine_events[m].time_us, (int64_t)id - 1000);
			kept[id - 1000] = true;
		}
		for (size_t j = 0; j < workload->job_count; j++)
			job_kept[workload->jobs[j].id] = true;
		for (uint32_t i = 0; i < COUNT; i++) {
			cr_expect(!kept_before[i] || kept[i], "a larger fraction keeps what a smaller one keeps");
			cr_expect(!job_kept_before[i] || job_kept[i]);
			cr_expect(kept[i] || workload_find_machine(workload, 1000 + i) == -ENOENT);
			if (i + 1 == COUNT || !kept[i] || !kept[i + 1])
				continue;
			cr_assert_lt(latencies, workload->latency_count);
			cr_expect_eq(workload->latencies[latencies].rtt_us, (float)i);
			cr_expect_eq(workload->machine_ids[workload->latencies[latencies].a], 1000 + i);
			cr_expect_eq(workload->machine_ids[workload->latencies[latencies].b], 1001 + i);
			latencies++;
		}
		cr_expect_eq(workload->latency_count, latencies);
		memcpy(kept_before, kept, sizeof kept);
		memcpy(job_kept_before, job_kept, sizeof job_kept);
		workload_destroy(workload);
	}
}

Test(workload, jobs_are_in_the_order_of_their_first_submission)
{
	static const struct {
		uint64_t job;
		uint32_t index;
		int64_t submit_us;
	} tasks[] = {{9, 1, 40}, {5, 0, 60}, {9, 0, 80}, {7, 2, 40}, {7, 0, 90}, {7, 1, 41}, {5, 1, 50}, {3, 0, 10}};
	static const uint64_t jobs[] = {7, 9, 5};
	static const uint32_t firsts[] = {0, 3, 5}, counts[] = {3, 2, 2};
	static const int64_t submissions[] = {90, 41, 40, 80, 40, 60, 50};
	struct workload *workload = workload_create();

	for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++)
		cr_assert_eq(workload_add_task(workload, tasks[t].job, tasks[t].index, tasks[t].submit_us, (int64_t)t),
			     0);
	cr_assert_eq(workload_note_job(workload, 9, "nine", "curve"), 0);
	cr_assert_eq(workload_finish(workload, &all), 0);
	cr_assert_eq(workload->job_count, 3);
	cr_assert_eq(workload->task_count, 7);
	cr_expect_eq(workload->left_out.single_jobs, 1);
	for (uint32_t j = 0; j < 3; j++) {
		cr_expect_eq(workload->jobs[j].id, jobs[j]);
		cr_expect_eq(workload->jobs[j].first_task, firsts[j]);
		cr_expect_eq(workload->jobs[j].task_count, counts[j]);
		cr_expect_eq(workload->jobs[j].note, jobs[j] == 9 ? 0 : WORKLOAD_NO_NOTE);
		for (uint32_t t = 0; t < counts[j]; t++) {
			const struct workload_task *task = &workload->tasks[firsts[j] + t];

			cr_expect_eq(task->job, j);
			cr_expect_eq(task->index, t);
			cr_expect_eq(task->job_id, jobs[j]);
			cr_expect_eq(task->submit_us, submissions[firsts[j] + t]);
		}
	}
	workload_destroy(workload);
}

Test(workload, submissions_are_divided_and_end_before_the_end)
{
	struct workload_filter filter = {.end_us = 50, .fraction = 1, .speed_up = 2, .keep_single = true};
	struct workload *workload = workload_create();

	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(workload_add_task(workload, i, 0, 98 + (int64_t)i, 7), 0);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	cr_assert_eq(workload->task_count, 2, "98 and 99 us become 49 us, 100 us become 50 us");
	cr_expect(workload->tasks[0].submit_us == 49 && workload->tasks[1].submit_us == 49);
	cr_expect_eq(workload->tasks[0].run_us, 7, "run times stay");
	cr_expect(workload->jobs[0].id == 0 && workload->jobs[1].id == 1, "at the same time: by id");
	cr_expect_eq(workload->left_out.too_late, 1);
	cr_expect_eq(workload->left_out.single_jobs, 0);
	workload_destroy(workload);
}

Test(workload, machine_events_are_in_the_order_of_time_then_of_the_trace)
{
	static const int64_t times[] = {5, 3, 5, 3, 0};
	static const uint32_t order[] = {4, 1, 3, 0, 2};
	struct workload *workload = workload_create();

	for (uint64_t i = 0; i < 5; i++)
		cr_assert_eq(workload_add_machine_event(workload, times[i], 10 + i % 2,
							i == 3 ? WORKLOAD_MACHINE_REMOVED : WORKLOAD_MACHINE_ADDED,
							(float)i / 8),
			     0);
	cr_assert_eq(workload_finish(workload, &all), 0);
	cr_expect_eq(workload->machine_count, 2);
	for (uint32_t e = 0; e < 5; e++) {
		const struct workload_machine_event *event = &workload->machine_events[e];

		cr_expect_eq(event->time_us, times[order[e]]);
		cr_expect_eq(event->cpu, (float)order[e] / 8);
		cr_expect_eq(event->machine, order[e] % 2);
		cr_expect_eq(event->slots, WORKLOAD_SLOTS_UNKNOWN);
		cr_expect_eq(event->change, order[e] == 3 ? WORKLOAD_MACHINE_REMOVED : WORKLOAD_MACHINE_ADDED);
	}
	workload_destroy(workload);
}

Test(workload, a_curve_keeps_its_number_and_a_job_its_note)
{
	struct workload *workload = workload_create();

	cr_expect_eq(workload_curve(workload, "a"), 0);
	cr_expect_eq(workload_curve(workload, "b"), 1);
	cr_expect_eq(workload_curve(workload, "a"), 0);
	cr_expect_eq(workload->curve_count, 2);
	cr_expect_str_eq(workload->curves[1], "b");
	cr_expect_null(workload_find_note(workload, 7));
	cr_assert_eq(workload_note_job(workload, 7, "seven", "b"), 0);
	cr_assert_not_null(workload_find_note(workload, 7));
	cr_expect_str_eq(workload_find_note(workload, 7)->name, "seven");
	cr_expect_eq(workload_find_note(workload, 7)->curve, 1);
	cr_expect_eq(workload_find_note(workload, 7)->id, 7);
	cr_expect_null(workload_find_note(workload, 8));
	workload_destroy(workload);
	workload_destroy(NULL);
}

static int read_curves(struct workload *workload, const char *text, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("j.csv", text, strlen(text), err);
	int code = job_curves_read(workload, lines, err);

	file_lines_close(lines);
	return code;
}

Test(job_curves, each_job_has_the_curve_of_its_row)
{
	struct workload *workload = workload_create();
	struct error err = {0};

	cr_assert_eq(
		read_curves(workload, "# jobs\n\ntasks,curve,job\n5,redis,7\n# more\n5,spark,0\n6,redis,7\n", &err), 0,
		"%s", err.text);
	cr_assert_eq(workload->note_count, 2);
	cr_expect_str_eq(workload_find_note(workload, 7)->name, "7");
	cr_expect_str_eq(workload->curves[workload_find_note(workload, 7)->curve], "redis");
	cr_expect_str_eq(workload->curves[workload_find_note(workload, 0)->curve], "spark");
	workload_destroy(workload);
}

Test(job_curves, a_bad_file_is_refused_with_its_line)
{
	static const char *const cases[][2] = {
		{"", "j.csv: expected a header with the columns job and curve"},
		{"# nothing\n", "j.csv: expected a header with the columns job and curve"},
		{"job,tasks\n", "j.csv:1: expected a header with the columns job and curve"},
		{"\ncurve\n", "j.csv:2: expected a header with the columns job and curve"},
		{"job,curve\n1\n", "j.csv:2: expected as many columns as in the header"},
		{"job,curve\n1,a,b\n", "j.csv:2: expected as many columns as in the header"},
		{"job,curve\nx,a\n", "j.csv:2: job: expected the number of a job"},
		{"job,curve\n-1,a\n", "j.csv:2: job: expected the number of a job"},
		{"job,curve\n1,\n", "j.csv:2: curve: expected the name of a curve"},
		{"job,curve\n1,a\n1,b\n", "j.csv:3: job: this job has another curve already"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct workload *workload = workload_create();
		struct error err = {0};

		cr_expect_lt(read_curves(workload, cases[i][0], &err), 0, "%s", cases[i][0]);
		cr_expect_str_eq(err.text, cases[i][1]);
		workload_destroy(workload);
	}
}

/* Task 0 ends at 40 us, before the window; task 1 runs from 30 to 80 us, task 2 is submitted at 60 us, task 3 at 90 us.
 */
Test(workload, a_window_begins_with_the_tasks_that_run_then)
{
	static const int64_t submit_us[] = {10, 30, 60, 90}, run_us[] = {30, 50, 20, 20};
	struct workload *workload = workload_create();
	struct workload_filter filter = all;

	filter.keep_single = true;
	filter.begin_us = 50;
	filter.end_us = 90;
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(workload_add_task(workload, i, 0, submit_us[i], run_us[i]), 0);
	cr_assert_eq(workload_add_machine_event(workload, 20, 1, WORKLOAD_MACHINE_ADDED, 0.5F), 0);
	cr_assert_eq(workload_add_machine_event(workload, 70, 1, WORKLOAD_MACHINE_REMOVED, 0.5F), 0);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	cr_expect_eq(workload->left_out.too_early, 1);
	cr_expect_eq(workload->left_out.too_late, 1);
	cr_assert_eq(workload->job_count, 2);
	cr_expect_eq(workload->tasks[0].submit_us, 0);
	cr_expect_eq(workload->tasks[0].run_us, 30);
	cr_expect_eq(workload->tasks[1].submit_us, 10);
	cr_expect_eq(workload->tasks[1].run_us, 20);
	cr_expect_eq(workload->machine_events[0].time_us, 0);
	cr_expect_eq(workload->machine_events[1].time_us, 20);
	workload_destroy(workload);
}

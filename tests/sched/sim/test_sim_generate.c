/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <sched/sim/generate.h>

static int ascending(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Within a fifth, or a quarter at the tail, of the quantiles that the generator documents. */
Test(sim_generate, job_sizes_have_the_documented_quantiles)
{
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct sim_generate_settings settings;
	struct workload *workload;
	uint32_t *sizes;
	size_t count;

	sim_generate_settings_default(&settings);
	settings.machines = 1000;
	settings.tasks = 400000;
	workload = sim_generate(&settings);
	cr_assert_not_null(workload);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	count = workload->job_count;
	sizes = calloc(count, sizeof *sizes);
	for (size_t j = 0; j < count; j++)
		sizes[j] = workload->jobs[j].task_count;
	qsort(sizes, count, sizeof *sizes, ascending);
	cr_expect(sizes[count / 2] >= 12 && sizes[count / 2] <= 18, "%u", sizes[count / 2]);
	cr_expect(sizes[count * 9 / 10] >= 160 && sizes[count * 9 / 10] <= 240, "%u", sizes[count * 9 / 10]);
	cr_expect(sizes[count * 99 / 100] >= 1500 && sizes[count * 99 / 100] <= 2500, "%u", sizes[count * 99 / 100]);
	cr_expect_float_eq((double)workload->left_out.single_jobs / (double)(count + workload->left_out.single_jobs),
			   0.75, 0.02);
	free(sizes);
	workload_destroy(workload);
}

Test(sim_generate, a_seed_repeats)
{
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1};
	struct sim_generate_settings settings;
	struct workload *workloads[3];

	sim_generate_settings_default(&settings);
	settings.machines = 50;
	settings.hours = 1;
	for (int i = 0; i < 3; i++) {
		settings.seed = i == 2 ? 8 : 7;
		workloads[i] = sim_generate(&settings);
		cr_assert_not_null(workloads[i]);
		cr_assert_eq(workload_finish(workloads[i], &filter), 0);
	}
	cr_assert_eq(workloads[0]->task_count, workloads[1]->task_count);
	cr_expect_eq(memcmp(workloads[0]->tasks, workloads[1]->tasks,
			    workloads[0]->task_count * sizeof *workloads[0]->tasks),
		     0);
	cr_expect(workloads[0]->task_count != workloads[2]->task_count ||
		  memcmp(workloads[0]->tasks, workloads[2]->tasks,
			 workloads[0]->task_count * sizeof *workloads[0]->tasks) != 0);
	for (int i = 0; i < 3; i++)
		workload_destroy(workloads[i]);
}

/*
 * As many tasks as were asked for; those of the day come in bursts over the whole day. Tasks for 60 % of the slots run
 * to the end, as do those that would end later.
 */
Test(sim_generate, submissions_come_in_bursts_over_the_day)
{
	enum { TASKS = 5000, HOURS = 2, BURSTS = (HOURS * 2870 + 23) / 24 };
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct sim_generate_settings settings;
	struct workload *workload;
	uint32_t in_second[HOURS * 3600] = {0}, largest = 0;
	size_t filled = 0, lasting = 0, submitted = 0, seconds = 0;

	sim_generate_settings_default(&settings);
	settings.machines = 100;
	settings.slots = 10;
	settings.load = 0.7;
	settings.hours = HOURS;
	settings.tasks = TASKS;
	workload = sim_generate(&settings);
	cr_assert_not_null(workload);
	cr_assert_eq(workload_finish(workload, &filter), 0);
	for (size_t t = 0; t < workload->task_count; t++) {
		int64_t submit_us = workload->tasks[t].submit_us, run_us = workload->tasks[t].run_us;

		cr_assert(run_us == WORKLOAD_TO_THE_END || submit_us + run_us < HOURS * INT64_C(3600000000));
		cr_assert(submit_us >= 0 && submit_us < HOURS * INT64_C(3600000000));
		cr_assert(submit_us == 0 || submit_us >= 1000000, "the first second is that of the start");
		filled += submit_us == 0;
		lasting += submit_us == 0 && run_us == WORKLOAD_TO_THE_END;
		submitted += submit_us > 0;
		in_second[submit_us / 1000000] += submit_us > 0;
	}
	for (size_t s = 0; s < HOURS * 3600; s++) {
		seconds += in_second[s] > 0;
		largest = in_second[s] > largest ? in_second[s] : largest;
	}
	cr_expect(filled >= 698 && filled <= 700, "%zu of 70 %% of 1000 slots", filled);
	cr_expect(lasting >= 599 && lasting < 650, "%zu", lasting);
	cr_expect_eq(submitted, TASKS, "%zu", submitted);
	cr_expect(seconds <= BURSTS && seconds > BURSTS / 8, "%zu bursts, %d at most", seconds, BURSTS);
	cr_expect_lt(largest, TASKS / 2);
	workload_destroy(workload);
}

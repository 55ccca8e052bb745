/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads like a trace: their totals against those of the table that this test writes. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/rng.h>
#include <sched/sim/generate.h>

enum { JOBS = 400 };

struct totals {
	size_t jobs, tasks;
	double task_s, heaviest_s;
	size_t of_hour[SIM_LIKE_HOURS]; /* jobs; hour 0 without those at time 0 */
};

static struct sim_like like;

static void teardown(void)
{
	sim_like_free(&like);
}

TestSuite(sim_like, .fini = teardown);

/* Writes and reads a table of jobs: 10 at the start, the others over two days, most of them in the hours from 8 on. */
static struct totals draw(uint64_t seed)
{
	char path[] = "/tmp/nomora-like.XXXXXX";
	struct totals totals = {.jobs = JOBS};
	struct error err = {0};
	FILE *out = fdopen(mkstemp(path), "w");
	struct rng rng;

	rng_seed(&rng, seed);
	fputs("job,submit,run,tasks\n", out);
	for (unsigned j = 0; j < JOBS; j++) {
		unsigned tasks = 1 + (unsigned)rng_exponential(&rng) * 20, run_s = 1 + (unsigned)rng_below(&rng, 7200);
		unsigned hour = rng_below(&rng, 3) ? 8 + (unsigned)rng_below(&rng, 4) : (unsigned)rng_below(&rng, 24);
		unsigned at_s = j < 10 ? 0 : 86400 * (j % 2) + 3600 * hour + 1 + (unsigned)rng_below(&rng, 3599);

		fprintf(out, "%u,%u,%u,%u\n", j, at_s, run_s, tasks);
		totals.tasks += tasks;
		totals.task_s += (double)tasks * run_s;
		totals.heaviest_s = fmax(totals.heaviest_s, (double)tasks * run_s);
		totals.of_hour[hour] += j >= 10;
	}
	fclose(out);
	cr_assert_eq(sim_like_create(&like, path, &err), 0, "%s", err.text);
	unlink(path);
	return totals;
}

static struct totals generate(double hours, uint64_t seed)
{
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct sim_like_settings settings = {.hours = hours, .slots = 12, .seed = seed};
	struct workload *workload = sim_like_generate(&like, &settings);
	struct totals totals = {0};

	cr_assert_not_null(workload);
	cr_assert_eq(workload->machine_count, (like.peak_tasks + 11) / 12);
	cr_assert_eq(workload_finish(workload, &all), 0);
	totals.jobs = workload->job_count;
	totals.tasks = workload->task_count;
	for (size_t t = 0; t < workload->task_count; t++)
		totals.task_s += (double)workload->tasks[t].run_us / 1e6;
	for (size_t j = 0; j < workload->job_count; j++) {
		int64_t at_us = workload->tasks[workload->jobs[j].first_task].submit_us;

		if (at_us > 0)
			totals.of_hour[at_us / INT64_C(3600000000) % 24]++;
	}
	workload_destroy(workload);
	return totals;
}

Test(sim_like, as_long_as_the_trace_the_totals_are_equal)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct totals wanted = draw(seed), got = generate(0, seed);

		cr_expect_eq(got.jobs, wanted.jobs);
		cr_expect_eq(got.tasks, wanted.tasks);
		cr_expect_float_eq(got.task_s, wanted.task_s, 1e-6 * wanted.task_s);
		/* Each of the two days is rounded. */
		for (int hour = 0; hour < SIM_LIKE_HOURS; hour++)
			cr_expect(got.of_hour[hour] + 2 >= wanted.of_hour[hour] &&
					  got.of_hour[hour] <= wanted.of_hour[hour] + 2,
				  "hour %d: %zu for %zu jobs", hour, got.of_hour[hour], wanted.of_hour[hour]);
		sim_like_free(&like);
	}
}

/* Stratified over jobs by task-seconds, the sum differs from its expectation by at most the heaviest job. */
Test(sim_like, other_lengths_have_totals_in_proportion)
{
	static const double parts[] = {0.25, 0.5, 2, 3.3};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct totals wanted = draw(7), got = generate(48 * parts[i], 3);
		struct totals initial = generate(1e-9, 3);
		double drawn = (double)(got.jobs - initial.jobs) / (double)(wanted.jobs - initial.jobs);

		cr_expect_eq(initial.jobs, 10);
		if (parts[i] >= 2)
			cr_expect_float_eq(drawn, parts[i], 0.1 * parts[i]);
		cr_expect_float_eq(got.task_s - initial.task_s, drawn * (wanted.task_s - initial.task_s),
				   wanted.heaviest_s * fmax(1, drawn));
		sim_like_free(&like);
	}
}

Test(sim_like, a_seed_repeats)
{
	struct totals first, again, other;

	draw(1);
	first = generate(10, 5);
	again = generate(10, 5);
	other = generate(10, 6);
	cr_assert_eq(first.task_s, again.task_s);
	cr_assert_neq(first.task_s, other.task_s);
}

Test(sim_like, a_bad_table_is_refused)
{
	struct error err = {0};

	cr_assert_eq(sim_like_create(&like, "/nonexistent.csv", &err), -ENOENT);
	cr_assert_neq(err.text[0], '\0');
}

/* A folder is read as a trace of Google's format; one without its files has nothing that a workload could be like. */
Test(sim_like, a_folder_without_a_trace_is_refused)
{
	char folder[] = "/tmp/nomora-like.XXXXXX";
	struct error err = {0};
	int code;

	cr_assert_not_null(mkdtemp(folder));
	code = sim_like_create(&like, folder, &err);
	rmdir(folder);
	cr_expect_eq(code, -ENOENT, "%d", code);
	cr_expect_not_null(strstr(err.text, "a folder of Google"), "%s", err.text);
}

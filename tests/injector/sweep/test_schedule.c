/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <model/sweep.h>
#include <injector/sweep/plan.h>

static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];

static void expect(const char *text, const double *wanted, int count)
{
	struct error err = {0};

	cr_assert_eq(sweep_schedule_parse_delays(text, delays, &err), count, "'%s': %s", text, err.text);
	for (int i = 0; i < count; i++)
		cr_assert_float_eq(delays[i], wanted[i], 1e-9, "'%s': delay %d is %g, not %g", text, i, delays[i],
				   wanted[i]);
}

Test(schedule, lists_ranges_and_logarithms)
{
	expect("0 5,10\t20", (double[]){0, 5, 10, 20}, 4);
	expect("0..100/25", (double[]){0, 25, 50, 75, 100}, 5);
	expect("0..1/0.3", (double[]){0, 0.3, 0.6, 0.9}, 4);
	expect("log:1..1000*4", (double[]){1, 10, 100, 1000}, 4);
	expect("0 log:10..1000*3 1000", (double[]){0, 10, 100, 1000}, 4);
	expect("5 5 5.1 0..5.1/5.1", (double[]){5, 5.1, 0}, 3);
	expect("9999.9 0.1..0.7/0.2", (double[]){9999.9, 0.1, 0.3, 0.5, 0.7}, 5);
	expect("log:0.1..0.3*4", (double[]){0.1, 0.2, 0.3}, 3);
	expect("10000", (double[]){10000}, 1);
	expect("0..0.3/0.1", (double[]){0, 0.1, 0.2, 0.3}, 4);
	expect("log:1..5*2", (double[]){1, 5}, 2);
	expect("7..7/1", (double[]){7}, 1);
}

static const char *const refused[] = {
	"",
	"  ",
	"x",
	"1 y",
	"-1",
	"1e9",
	"10000.1",
	"nan",
	"inf",
	"1..",
	"..5/1",
	"1..5",
	"5..1/1",
	"1..5/0",
	"1..5/-1",
	"0..10000/0.1",
	"log:0..5*3",
	"log:1..5",
	"log:",
	"log:5..1*3",
	"log:1..5*1",
	"log:1..5*2.5",
	"log:1..5*9999",
	"1..5/x",
	"log:1..20000*3",
	"1../2",
	"5.04",
	"0 0.26 5",
	"0..1/0.15",
	"0.05..1/0.1",
};

Test(schedule, what_is_no_list_of_delays)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct error err = {0};

		cr_assert_lt(sweep_schedule_parse_delays(refused[i], delays, &err), 0, "'%s' was taken", refused[i]);
		cr_assert_neq(err.text[0], '\0');
	}
}

Test(schedule, a_delay_between_two_steps_is_named)
{
	struct error err = {0};

	cr_assert_eq(sweep_schedule_parse_delays("0 12.34", delays, &err), -EINVAL);
	cr_assert_str_eq(err.text, "delays: '12.34': 12.34 us: expected steps of 0.1");
	cr_assert_eq(sweep_schedule_parse_delays("0..1/0.25", delays, &err), -EINVAL);
	cr_assert_str_eq(err.text, "delays: '0..1/0.25': 0.25 us: expected steps of 0.1");
}

static struct sweep_schedule_run *runs_of(const double *delays_us, size_t count, int repetitions, int order, int seed)
{
	struct sweep_plan plan = {.repetitions = repetitions, .order = order, .seed = seed};
	size_t run_count;

	return sweep_schedule_of_plan(&plan, delays_us, count, &run_count);
}

Test(schedule, each_repetition_has_every_delay_once_in_every_order)
{
	static const double given[] = {5, 1, 9, 3, 7};
	static const int orders[] = {SWEEP_PLAN_RANDOM, SWEEP_PLAN_ASCENDING, SWEEP_PLAN_DESCENDING,
				     SWEEP_PLAN_AS_GIVEN};

	for (size_t o = 0; o < 4; o++) {
		struct sweep_schedule_run *runs = runs_of(given, 5, 20, orders[o], 3);

		for (int i = 0; i < 100; i += 5) {
			double sum = 0, product = 1;

			for (int k = 0; k < 5; k++) {
				cr_assert_eq(runs[i + k].run, i / 5);
				sum += runs[i + k].delay_us;
				product *= runs[i + k].delay_us;
			}
			cr_assert_float_eq(sum, 25, 1e-9);
			cr_assert_float_eq(product, 945, 1e-9);
		}
		free(runs);
	}
}

Test(schedule, orders_are_what_they_say)
{
	static const double given[] = {5, 1, 9};
	struct sweep_schedule_run *up = runs_of(given, 3, 1, SWEEP_PLAN_ASCENDING, 0);
	struct sweep_schedule_run *down = runs_of(given, 3, 1, SWEEP_PLAN_DESCENDING, 0);
	struct sweep_schedule_run *as = runs_of(given, 3, 1, SWEEP_PLAN_AS_GIVEN, 0);

	cr_assert(up[0].delay_us == 1 && up[1].delay_us == 5 && up[2].delay_us == 9);
	cr_assert(down[0].delay_us == 9 && down[1].delay_us == 5 && down[2].delay_us == 1);
	cr_assert(as[0].delay_us == 5 && as[1].delay_us == 1 && as[2].delay_us == 9);
	free(up);
	free(down);
	free(as);
}

Test(schedule, references_stand_between_the_runs)
{
	static const double given[] = {5, 0, 9, 3};
	struct sweep_plan plan = {.repetitions = 2, .order = SWEEP_PLAN_AS_GIVEN, .reference_every = 1};
	static const double wanted[] = {0, 5, 0, 9, 0, 3, 0}; /* the run at 0 itself counts as one */
	size_t count, fewer;
	struct sweep_schedule_run *runs = sweep_schedule_of_plan(&plan, given, 4, &count), *short_runs;

	cr_assert_eq(count, 14);
	for (size_t i = 0; i < count; i++) {
		bool reference = i % 7 == 0 || i % 7 == 4 || i % 7 == 6;

		cr_expect_eq(runs[i].delay_us, wanted[i % 7], "run %zu is at %g us", i, runs[i].delay_us);
		cr_expect_eq(runs[i].run >= SWEEP_REFERENCE_RUN, reference, "run %zu", i);
		for (size_t k = 0; k < i; k++)
			cr_expect(runs[k].delay_us != runs[i].delay_us || runs[k].run != runs[i].run);
	}
	plan.repetitions = 1;
	short_runs = sweep_schedule_of_plan(&plan, given, 4, &fewer);
	cr_assert_eq(fewer, 7);
	cr_assert_eq(memcmp(runs, short_runs, fewer * sizeof *runs), 0);
	free(short_runs);
	free(runs);
	plan.reference_every = 3;
	runs = sweep_schedule_of_plan(&plan, given, 4, &count);
	cr_assert_eq(count, 7); /* R 5 0 9 R 3 R */
	free(runs);
	plan.reference_every = 0;
	runs = sweep_schedule_of_plan(&plan, given, 4, &count);
	cr_assert_eq(count, 4);
	free(runs);
}

Test(schedule, random_order_depends_on_the_seed_alone)
{
	static const double given[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct sweep_schedule_run *one = runs_of(given, 8, 5, SWEEP_PLAN_RANDOM, 1);
	struct sweep_schedule_run *same = runs_of(given, 8, 5, SWEEP_PLAN_RANDOM, 1);
	struct sweep_schedule_run *other = runs_of(given, 8, 5, SWEEP_PLAN_RANDOM, 2);
	int different = 0, repeats = 0;

	for (int i = 0; i < 40; i++) {
		cr_assert_eq(one[i].delay_us, same[i].delay_us);
		different += one[i].delay_us != other[i].delay_us;
		repeats += i >= 8 && one[i].delay_us == one[i % 8].delay_us;
	}
	cr_assert_gt(different, 20);
	cr_assert_lt(repeats, 20, "the repetitions have the same order");
	free(one);
	free(same);
	free(other);
}

Test(schedule, a_curve_needs_three_delays_and_zero)
{
	static const double good[] = {10, 0, 5}, two[] = {0, 5}, without[] = {1, 5, 10};
	struct error err = {0};

	cr_assert_eq(sweep_plan_check_delays(good, 3, &err), 0, "%s", err.text);
	cr_assert_eq(sweep_plan_check_delays(two, 2, &err), -EINVAL);
	cr_assert_eq(sweep_plan_check_delays(without, 3, &err), -EINVAL);
}

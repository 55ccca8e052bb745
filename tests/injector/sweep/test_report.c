/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <injector/sweep/sweeper.h>

static struct sweep_plan plan;

static void begin(void)
{
	sweep_plan_defaults(&plan);
	plan.application = "web";
	plan.delays = "0 10";
	plan.output = "web.csv";
	plan.repetitions = 2;
	plan.reference_every = 0;
}

TestSuite(report, .init = begin);

Test(report, the_plans_runs_are_listed)
{
	struct sweep_plan_runs runs;
	struct error err = {0};
	json_t *root;

	cr_assert_eq(sweep_plan_list_runs(&plan, &runs, &err), 0, "%s", err.text);
	cr_assert_eq(runs.delays, 2);
	cr_assert_eq(runs.count, 4);
	root = sweep_plan_runs_to_json(&runs);
	cr_assert_eq(json_array_size(json_object_get(root, "runs")), 4);
	json_decref(root);
	free(runs.items);
	plan.delays = "soon";
	cr_assert_eq(sweep_plan_list_runs(&plan, &runs, &err), -EINVAL);
}

Test(report, a_summary_counts_only_what_happened)
{
	struct sweeper_summary summary = {.planned = 4, .made = 3, .found = 1, .disturbed = 2, .baseline_rtt_us = NAN};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *root = sweep_summary_to_json(&plan, &summary);

	sweep_summary_print(&plan, &summary, out);
	fclose(out);
	cr_assert_str_eq(text, "web.csv: 3 of 4 runs made in 0.0 s, 1 run already there, 2 runs disturbed\n");
	free(text);
	cr_assert_eq(json_integer_value(json_object_get(root, "found")), 1);
	cr_assert(json_is_null(json_object_get(root, "baseline_rtt_us")));
	json_decref(root);
}

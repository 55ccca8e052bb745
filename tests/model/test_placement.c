/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/placement.h>

static const struct placement_settings settings = {
	.p_m = 105, .p_r = 110, .gamma = 1001, .rounds = 1, .latency_reference = "added", .latency_stat = "max"};
static const struct placement_solver solver = {.algorithm = "structured", .solves = 2, .cost = 208, .seconds = 0.25};
static const struct placement_totals totals = {.tasks = 2,
					       .roots = 1,
					       .placed = 2,
					       .predicted = 1,
					       .mean_performance = 0.9,
					       .random_mean_performance = NAN,
					       .worst_performance = 0.9,
					       .application_performance = 0.95,
					       .performance_cost = 111,
					       .slots = 4,
					       .slots_free_before = 4,
					       .slots_free_after = 2};

static char *print(const struct placement_task *tasks, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert(placement_print_begin(out, "nomora", &settings));
	for (size_t i = 0; i < count; i++)
		cr_assert(placement_print_task(out, &tasks[i], i == 0));
	cr_assert(placement_print_end(out, &totals, &solver, NULL, NULL));
	fclose(out);
	return text;
}

static const struct placement_task sample[] = {
	{.job = "web",
	 .task = "server",
	 .root = true,
	 .state = PLACEMENT_ROOT,
	 .taken = {.machine = "h1", .rack = "r1", .rtt_us = NAN, .performance = NAN},
	 .arc = "cluster",
	 .next_best = {.rtt_us = NAN, .performance = NAN},
	 .random_performance = NAN},
	{.job = "web",
	 .task = "c \"1\"",
	 .state = PLACEMENT_PLACED,
	 .taken = {.machine = "h2", .rack = "r1", .rtt_us = 31.5, .performance = 0.9, .rtt_origin = "measured"},
	 .was_on = "h3",
	 .arc = "machine",
	 .arc_cost = 111,
	 .next_best = {"h3", "r2", 125, 50.25, 0.8, "rack pair"},
	 .random_performance = 0.85},
};

Test(placement, reads_back_what_is_written)
{
	struct error err = {0};
	char *text = print(sample, 2);
	struct placement *placement =
		placement_from_json("p.json", json_read_text("p.json", 0, text, strlen(text), &err), &err);
	const struct placement_task *task;

	cr_assert_not_null(placement, "%s", err.text);
	cr_expect_str_eq(placement->policy, "nomora");
	cr_expect_eq(placement->settings.p_m, 105);
	cr_expect_str_eq(placement->settings.latency_stat, "max");
	cr_assert_eq(placement->task_count, 2);
	task = &placement->tasks[0];
	cr_expect(task->root && task->state == PLACEMENT_ROOT && isnan(task->taken.performance));
	cr_expect_null(task->next_best.machine);
	cr_expect_null(task->was_on);
	cr_expect_null(task->why_waiting);
	task = &placement->tasks[1];
	cr_expect_str_eq(task->task, "c \"1\"");
	cr_expect_str_eq(task->taken.machine, "h2");
	cr_expect_eq(task->taken.rtt_us, 31.5);
	cr_expect_str_eq(task->taken.rtt_origin, "measured");
	cr_expect_str_eq(task->was_on, "h3");
	cr_expect_eq(task->arc_cost, 111);
	cr_expect_str_eq(task->arc, "machine");
	cr_expect_str_eq(task->taken.rack, "r1");
	cr_expect_eq(task->taken.performance, 0.9);
	cr_expect_str_eq(task->next_best.machine, "h3");
	cr_expect_str_eq(task->next_best.rack, "r2");
	cr_expect_eq(task->next_best.rtt_us, 50.25);
	cr_expect_str_eq(task->next_best.rtt_origin, "rack pair");
	cr_expect(placement->settings.p_r == 110 && placement->settings.gamma == 1001 &&
		  placement->settings.rounds == 1);
	cr_expect_str_eq(placement->settings.latency_reference, "added");
	cr_expect(placement->totals.tasks == 2 && placement->totals.roots == 1 && placement->totals.placed == 2);
	cr_expect(placement->totals.predicted == 1 && placement->totals.mean_performance == 0.9 &&
		  placement->totals.worst_performance == 0.9);
	cr_expect(placement->totals.slots == 4 && placement->totals.slots_free_before == 4 &&
		  placement->totals.slots_free_after == 2);
	cr_expect(placement->solver.solves == 2 && !placement->solver.verified);
	cr_expect_str_eq(placement->solver.algorithm, "structured");
	cr_expect_eq(task->next_best.cost, 125);
	cr_expect_eq(task->next_best.performance, 0.8);
	cr_expect_eq(task->random_performance, 0.85);
	cr_expect_eq(placement->totals.performance_cost, 111);
	cr_expect_eq(placement->totals.application_performance, 0.95);
	cr_expect(isnan(placement->totals.random_mean_performance));
	cr_expect_eq(placement->solver.cost, 208);
	cr_expect_eq(placement->solver.seconds, 0.25);
	placement_destroy(placement);
	memcpy(strstr(text, "performance_cost"), "other_figure_now", strlen("performance_cost"));
	placement = placement_from_json("p.json", json_read_text("p.json", 0, text, strlen(text), &err), &err);
	cr_assert_not_null(placement, "%s", err.text);
	cr_expect_eq(placement->totals.performance_cost, 0, "without it: none");
	placement_destroy(placement);
	free(text);
}

static void expect_refusal(const char *text, const char *expected)
{
	struct error err = {0};

	cr_expect_null(placement_from_json("p.json", json_read_text("p.json", 0, text, strlen(text), &err), &err));
	cr_expect(strstr(err.text, expected) != NULL, "'%s' lacks '%s'", err.text, expected);
}

Test(placement, refuses_a_bad_file_by_its_field)
{
	char *text = print(sample, 2), *machine;

	expect_refusal("{", "p.json");
	expect_refusal("{\"schema\": \"nomora.place/2\"}", "nomora.place/1");
	machine = strstr(text, "\"machine\": \"h1\"");
	memcpy(machine, "\"machin_\"", 9);
	expect_refusal(text, "tasks[0].machine");
	memcpy(machine, "\"machine\"", 9);
	memcpy(strstr(text, "\"performance\": 0.8"), "\"performance\": 1.8", 18);
	expect_refusal(text, "tasks[1].next_best.performance: found 1.8, expected a number from 0 to 1");
	memcpy(strstr(text, "\"performance\": 1.8"), "\"performance\": 0.8", 18);
	memcpy(strstr(text, "\"state\": \"root\""), "\"state\": \"boot\"", 15);
	expect_refusal(text, "tasks[0].state");
	free(text);
}

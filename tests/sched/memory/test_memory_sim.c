/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulated day when memory runs out: an error, or the same day. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>

#include <sched/sim/generate.h>
#include <sched/sim/sim.h>

#include "fail_allocation.h"

static struct sim_settings settings;
static struct sim_generate_settings generated;

static void print(const struct sim_result *result, FILE *out)
{
	for (size_t j = 0; j < result->job_count; j++)
		fprintf(out, "%a %a\n", result->jobs[j].task_sum, performance_average(&result->jobs[j].performance));
	fprintf(out, "%a %a %lu %lu %lu %lu %lu %ld", result->area, result->task_mean, result->finished,
		result->running, result->moves, result->evictions, result->rounds, (long)result->cost);
}

static int day(FILE *out)
{
	const struct workload_filter filter = {.end_us = settings.end_us, .fraction = 1, .speed_up = 1};
	struct workload *workload = sim_generate(&generated);
	struct sim_result result = {0};
	struct sim_watch watch = {0};
	struct error err = {0};
	int code = workload ? workload_finish(workload, &filter) : -ENOMEM;

	if (code == 0)
		code = sim_run(workload, &settings, &watch, &result, &err);
	if (code == 0)
		print(&result, out);
	sim_result_free(&result);
	workload_destroy(workload);
	return code;
}

Test(memory_sim, days)
{
	static const double p[] = {1, 0.9, 0.8, 0.7, 0.5, 0.3};
	struct error err = {0};
	struct curve *curve = curve_from_table("steps", p, sizeof p / sizeof *p, &err);

	sim_settings_default(&settings);
	settings.curves[0] = curve;
	settings.curve_shares[0] = 1;
	settings.curve_count = 1;
	settings.slots = 2;
	settings.machines_per_rack = 4;
	settings.racks_per_pod = 2;
	settings.round_us = 20000000;
	settings.end_us = 120000000;
	settings.bound = true;
	settings.policy_settings.flow.preemption = true;
	sim_generate_settings_default(&generated);
	generated.machines = 16;
	generated.slots = 2;
	generated.hours = 0.033;
	generated.churn_per_day = 300;
	cr_assert_not_null(curve);
	cr_expect_gt(fail_each_allocation(day), 60);
	settings.moves.mode = MIGRATION_ON;
	settings.bound = false;
	fail_each_allocation(day);
	curve_destroy(curve);
}

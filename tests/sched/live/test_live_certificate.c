/* SPDX-License-Identifier: BSD-3-Clause */
/* The live scheduler's placements cost what an independent optimum costs, as those of test_certificate.c do. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/live/live.h>

#include "random_case.h"

enum { CASES = 3000 };

static struct live *make(const struct random_case *random, bool require_measured)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.confirm_at_once = true;
	settings.max_age_s = 0;
	settings.require_measured = require_measured;
	live = live_create(&settings, &err);
	cr_assert(live, "%s", err.text);
	for (uint32_t m = 0; m < random->machine_count; m++) {
		const struct case_machine *machine = &random->machines[m];
		char name[16], rack[16];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", machine->rack);
		cr_assert_eq(live_machine_set(live, name, rack, "p", (uint32_t)machine->slots,
					      machine->draining ? LIVE_DRAINING : LIVE_UP, &err),
			     0, "%s", err.text);
	}
	for (int k = 0; k < CASE_CURVES; k++) {
		char name[16];

		snprintf(name, sizeof name, "c%d", k);
		cr_assert_eq(live_curve_set(live, name, random->curves[k], &err), 0, "%s", err.text);
	}
	return live;
}

static void submit(struct live *live, const struct random_case *random, uint32_t number)
{
	const struct case_job *from = &random->jobs[number];
	char id[12], curve[16], names[CASE_TASKS][12];
	struct job_task tasks[CASE_TASKS] = {0};
	struct job job = {.id = id,
			  .curve = curve,
			  .tasks = tasks,
			  .task_count = from->tasks,
			  .graph = (struct job_graph *)random_case_graph(random, number)};
	struct error err = {0};

	snprintf(id, sizeof id, "%u", number);
	snprintf(curve, sizeof curve, "c%d", from->curve);
	for (uint32_t t = 0; t < from->tasks; t++) {
		snprintf(names[t], sizeof names[t], "%u", t);
		tasks[t].name = names[t];
		tasks[t].machine = from->machine[t] == CASE_WAITS ? JOB_NO_MACHINE : from->machine[t];
	}
	cr_assert_eq(live_submit(live, &job, 0, false, 0, &err), 0, "%s", err.text);
}

/* Measures every pair of the case that both ends reach; `all` also measures the silent ones, as unreachable. */
static void measure(struct live *live, const struct random_case *random, bool all)
{
	for (uint32_t a = 0; a < random->machine_count; a++) {
		for (uint32_t b = 0; b < random->machine_count; b++) {
			struct latency_sample sample = {a, b, random->rtt_us[a][b]};

			if (all || (!isinf(random->rtt_us[a][b]) && !isinf(random->rtt_us[b][a])))
				cr_assert_eq(live_latency(live, &sample, 1, 0), 0);
		}
	}
}

static int64_t place(const struct random_case *random, bool silent_is_unmeasured)
{
	struct live *live = make(random, silent_is_unmeasured);
	int32_t places[CASE_JOBS][CASE_TASKS];
	struct error err = {0};

	measure(live, random, !silent_is_unmeasured);
	for (uint32_t j = 0; j < random->job_count; j++)
		submit(live, random, j);
	cr_assert_geq(live_step(live, 0, &err), 0, "%s", err.text);
	for (uint32_t j = 0; j < random->job_count; j++) {
		char id[12];
		const struct live_job *job;

		snprintf(id, sizeof id, "%u", j);
		job = live_find_job(live, id);
		for (uint32_t t = 0; t < job->task_count; t++)
			places[j][t] = job->tasks[t].machine < 0 ? CASE_WAITS : job->tasks[t].machine;
	}
	for (int refusal = MIGRATION_ALLOWED + 1; refusal < MIGRATION_REFUSALS; refusal++)
		cr_assert_eq(live_totals(live).refused[refusal], 0, "%s", migration_refusal_name(refusal));
	live_destroy(live);
	return random_case_cost_of(random, places);
}

Test(live_certificate, one_step_places_at_the_least_cost)
{
	static const double shares[] = {0, 0.01, 0.03, 0.1, 0.3};
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 41);
	for (int number = 0; number < CASES; number++) {
		int64_t optimum;

		random_case_draw(&random, &rng, shares[number % 5]);
		optimum = random_case_optimum(&random);
		cr_assert_eq(place(&random, false), optimum, "case %d", number);
		cr_assert_eq(place(&random, true), optimum, "case %d: only measured pairs", number);
		random_case_free(&random);
	}
}

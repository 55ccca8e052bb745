/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidates of a task, and the reason why it waits or stays where it is. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

enum { CANDIDATES = 8 };

static struct live *make(struct live_settings *settings)
{
	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->default_rtt = (struct cluster_default_rtt){1, 40, 40, 40};
	settings->max_age_s = 0;
	return fixture_make(settings);
}

static struct live *make_default(void)
{
	struct live_settings settings;

	live_settings_default(&settings);
	return make(&settings);
}

static void set_machine(struct live *live, int number, uint32_t slots, enum live_machine_state state)
{
	struct error err = {0};
	char name[8];

	snprintf(name, sizeof name, "m%d", number);
	cr_assert_eq(live_machine_set(live, name, number < 3 ? "r0" : "r1", "p", slots, state, &err), 0, "%s",
		     err.text);
}

static void expect_why(struct live *live, const char *job, const char *task, const char *expected)
{
	struct live_candidate candidates[CANDIDATES];
	struct error err = {0};
	char why[160];

	cr_expect_geq(live_explain(live, job, task, candidates, CANDIDATES, why, &err), 0);
	cr_expect_str_eq(why, expected);
}

/* Expects these candidates for web/t1, for example "m0 m1 m3*", where * marks the machine of the task. */
static void expect_candidates(struct live *live, size_t most, const char *expected)
{
	struct live_candidate candidates[CANDIDATES];
	struct error err = {0};
	char why[160], names[64] = "";
	int count = live_explain(live, "web", "t1", candidates, most, why, &err);

	cr_assert_leq(count, (int)most);
	for (int c = 0; c < count; c++) {
		size_t length = strlen(names);

		snprintf(names + length, sizeof names - length, "%s%s%s", c ? " " : "",
			 live_cluster(live)->machines[candidates[c].machine].name, candidates[c].is_here ? "*" : "");
	}
	cr_expect_str_eq(names, expected);
}

Test(live_explain, candidates_are_free_machines_the_best_first_and_the_present_one)
{
	struct live *live = make_default();
	struct live_candidate candidates[CANDIDATES];
	struct error err = {0};
	char why[160];

	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", false, 0, 0, &err), 0, "%s", err.text);
	fixture_measure(live, "m0", "m1", 20, 0);
	fixture_measure(live, "m0", "m2", 10, 0);
	fixture_measure(live, "m0", "m3", 30, 0);
	fixture_measure(live, "m0", "m4", 10, 0);
	fixture_measure(live, "m0", "m5", INFINITY, 0);
	fixture_step(live, 1);
	expect_candidates(live, CANDIDATES, "m0 m2 m4 m1 m3* m5");
	expect_candidates(live, 5, "m0 m2 m4 m1 m3*");
	expect_candidates(live, 4, "m0 m2 m4 m3*");
	expect_candidates(live, 1, "m3*");
	expect_candidates(live, 0, "");
	cr_assert_eq(live_explain(live, "web", "t1", candidates, CANDIDATES, why, &err), 6);
	cr_expect_float_eq(candidates[0].performance, 0.98, 1e-6);
	cr_expect_float_eq(candidates[0].rtt_us, 1, 1e-6);
	cr_expect_eq(candidates[0].origin, LATENCY_ORIGIN_SAME_MACHINE);
	cr_expect_eq(candidates[0].free_slots, 1);
	cr_expect_float_eq(candidates[1].performance, 0.8, 1e-6);
	cr_expect_float_eq(candidates[1].rtt_us, 10, 1e-6);
	cr_expect_eq(candidates[1].origin, LATENCY_ORIGIN_MEASURED);
	cr_expect_eq(candidates[1].free_slots, 2);
	cr_expect_float_eq(candidates[5].performance, 0, 1e-9);
	/* A full, a draining and a down machine are none; the task's own remains one. */
	set_machine(live, 0, 1, LIVE_UP);
	set_machine(live, 1, 2, LIVE_DRAINING);
	set_machine(live, 2, 2, LIVE_DOWN);
	set_machine(live, 3, 1, LIVE_UP);
	fixture_step(live, 2);
	expect_candidates(live, CANDIDATES, "m4 m3* m5");
	set_machine(live, 3, 1, LIVE_DRAINING);
	fixture_step(live, 3);
	expect_candidates(live, CANDIDATES, "m4 m5 m3*");
	/* Equal performance: by round trip. No free machine is left: only the present one. */
	fixture_measure(live, "m0", "m4", 70, 3);
	fixture_measure(live, "m0", "m5", 60, 3);
	expect_candidates(live, CANDIDATES, "m5 m4 m3*");
	set_machine(live, 4, 2, LIVE_DRAINING);
	set_machine(live, 5, 2, LIVE_DRAINING);
	fixture_step(live, 4);
	expect_candidates(live, CANDIDATES, "m3*");
	expect_candidates(live, 1, "m3*");
	expect_candidates(live, 0, "");
	cr_expect_eq(live_explain(live, "web", "t9", candidates, CANDIDATES, why, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown task 't9' of job 'web'");
	live_destroy(live);
}

/* Task t1 runs 40 us from its root, and could run on the root's machine. */
Test(live_explain, a_task_that_stays_although_it_would_gain)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};

	live_settings_default(&settings);
	live = make(&settings);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 0, 0, &err), 0);
	fixture_step(live, 1);
	expect_why(live, "web", "t0",
		   "the job's 1 other task reaches 0.200 with the root here; on m3 (r1), the best other free machine, "
		   "0.980");
	expect_why(live, "web", "t1", "does not move to m0: gain 0.78, moves are off");
	set_machine(live, 0, 1, LIVE_UP);
	fixture_step(live, 2);
	expect_why(live, "web", "t1", "");
	live_destroy(live);

	settings.moves.mode = MIGRATION_ON;
	live = make(&settings);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", false, 0, 0, &err), 0);
	fixture_step(live, 1);
	expect_why(live, "web", "t1", "does not move to m0: gain 0.78, the job does not allow it");
	live_destroy(live);

	settings.moves.gain = 0.79;
	live = make(&settings);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 0, 0, &err), 0);
	fixture_step(live, 1);
	expect_why(live, "web", "t1", "does not move to m0: gain 0.78 < 0.79");
	live_destroy(live);
}

/* Web's root runs on m0 and t1 on m3, 40 us away; m1 is 1 us away. They have run for 20 s at time 0. */
static struct live *make_one_that_gains(struct live_settings *settings)
{
	struct live *live;
	struct error err = {0};

	live = make(settings);
	set_machine(live, 0, 1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 20, 0, &err), 0);
	fixture_measure(live, "m0", "m1", 1, 0);
	for (int m = 2; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		fixture_measure(live, "m0", name, 40, 0);
	}
	return live;
}

Test(live_explain, a_gain_that_is_too_young_or_does_not_pay_for_the_restart)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.hold_s = 10;
	settings.moves.restart_s = 39; /* 0.78 times 50 s */
	live = make_one_that_gains(&settings);
	cr_expect_eq(fixture_step(live, 3), 0);
	expect_why(live, "web", "t1", "does not move to m1 yet: gain 0.78 for 0 s < 10 s");
	cr_expect_float_eq(live_next_s(live, 3), 10, 1e-9);
	fixture_measure(live, "m4", "m5", 1, 7);
	cr_expect_eq(fixture_step(live, 7), 0);
	expect_why(live, "web", "t1", "does not move to m1 yet: gain 0.78 for 4 s < 10 s");
	cr_expect_float_eq(live_next_s(live, 7), 6, 1e-9);
	cr_expect_eq(fixture_step(live, 13), 0);
	expect_why(live, "web", "t1",
		   "does not move to m1: gain 0.78 times 33 s of expected run time < restart cost of 39 s");
	cr_expect_float_eq(live_next_s(live, 13), 17, 1e-4);
	live_open_moves(live, false);
	cr_expect_eq(fixture_step(live, 30.01), 0);
	expect_why(live, "web", "t1", "does not move to m1 until --migrate-window allows moves: gain 0.78");
	live_open_moves(live, true);
	cr_expect_eq(fixture_step(live, 31), 1);
	live_destroy(live);
}

Test(live_explain, a_move_that_is_only_advised)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ADVISE;
	live = make_one_that_gains(&settings);
	cr_expect_eq(fixture_step(live, 3), 1);
	expect_why(live, "web", "t1", "does not move to m1: gain 0.78, moves are only advised");
	cr_expect_eq(live_totals(live).refused[MIGRATION_ALLOWED], 1);
	live_destroy(live);
}

/* By the cluster's defaults, which nobody has measured, the other rack would be nearer. */
Test(live_explain, a_gain_that_is_not_measured)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
	settings.default_rtt = (struct cluster_default_rtt){1, 40, 10, 10};
	settings.max_age_s = 0;
	live = fixture_make(&settings);
	set_machine(live, 0, 1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m1", true, 0, 0, &err), 0);
	cr_expect_eq(fixture_step(live, 1), 0);
	expect_why(live, "web", "t1", "does not move to m3: gain 0.60 is not measured");
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_UNMEASURED], 1);
	live_destroy(live);
}

/* Two tasks of a job, 40 us from their root, want to move to m1 or m2. */
static struct live *make_two_that_move(struct live_settings *settings, const char *machines, uint32_t slots_of_m1)
{
	struct live *live;
	struct error err = {0};

	settings->moves.mode = MIGRATION_ON;
	live = make(settings);
	set_machine(live, 0, 1, LIVE_UP);
	set_machine(live, 1, slots_of_m1, LIVE_UP);
	set_machine(live, 2, 2 - slots_of_m1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", machines, true, 0, 0, &err), 0, "%s", err.text);
	fixture_measure(live, "m0", "m1", 1, 0);
	fixture_measure(live, "m0", "m2", 1, 0);
	fixture_measure(live, "m0", "m3", 40, 0);
	fixture_measure(live, "m0", "m4", 40, 0);
	return live;
}

/* Expects that one task moves, and that the other one does not for this reason; %s: its target. */
static void expect_one_moves(struct live *live, enum migration_refusal refusal, const char *format)
{
	char why[160];
	uint32_t other;

	cr_assert_eq(fixture_step(live, 1), 1);
	other = fixture_task_of(live, "web", 1)->state == LIVE_MOVING ? 2 : 1;
	cr_expect_eq(fixture_task_of(live, "web", 3 - other)->state, LIVE_MOVING);
	cr_expect_eq(fixture_task_of(live, "web", other)->state, LIVE_RUNNING);
	for (int r = MIGRATION_ALLOWED; r < MIGRATION_REFUSALS; r++)
		cr_expect_eq(live_totals(live).refused[r], r == (int)refusal || r == MIGRATION_ALLOWED, "%s",
			     migration_refusal_name((enum migration_refusal)r));
	snprintf(why, sizeof why, format,
		 live_cluster(live)->machines[fixture_task_of(live, "web", other)->move.to].name);
	expect_why(live, "web", other == 1 ? "t1" : "t2", why);
	/* The other one follows when the first has started. */
	fixture_confirm(live, "web", 2);
	cr_expect_eq(fixture_step(live, 2), 1);
	live_destroy(live);
}

Test(live_explain, a_task_that_waits_for_the_moves_of_others)
{
	struct live_settings settings;

	live_settings_default(&settings);
	settings.moves.rate = 1;
	expect_one_moves(make_two_that_move(&settings, "m0 m3 m4", 1), MIGRATION_REFUSED_RATE,
			 "does not move to %s yet: 1 tasks are already moving");
	live_settings_default(&settings);
	settings.moves.per_job = 1;
	expect_one_moves(make_two_that_move(&settings, "m0 m3 m4", 1), MIGRATION_REFUSED_JOB,
			 "does not move to %s yet: 1 tasks of the job are already moving");
	live_settings_default(&settings);
	settings.moves.per_machine = 1;
	expect_one_moves(make_two_that_move(&settings, "m0 m3 m4", 2), MIGRATION_REFUSED_MACHINE,
			 "does not move to %s yet: the limit of 1 tasks moving from or to one machine is reached");
	expect_one_moves(make_two_that_move(&settings, "m0 m3 m3", 1), MIGRATION_REFUSED_MACHINE,
			 "does not move to %s yet: the limit of 1 tasks moving from or to one machine is reached");
}

Test(live_explain, both_move_if_the_limits_allow_two)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.rate = settings.moves.per_job = settings.moves.per_machine = 2;
	live = make_two_that_move(&settings, "m0 m3 m4", 2);
	cr_expect_eq(fixture_step(live, 1), 2);
	cr_expect_eq(live_totals(live).moving, 2);
	cr_expect_eq(live_totals(live).refused[MIGRATION_ALLOWED], 2);
	fixture_confirm(live, "web", 2);
	cr_expect_eq(live_totals(live).moves, 2);
	live_destroy(live);
}

/* The machine that the task has left becomes better again: the task returns no_return_s after its move. */
Test(live_explain, a_task_that_would_return_too_soon)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.no_return_s = 100;
	live = make(&settings);
	set_machine(live, 0, 1, LIVE_UP);
	set_machine(live, 2, 0, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 0, 0, &err), 0);
	fixture_measure(live, "m0", "m1", 1, 0);
	fixture_measure(live, "m0", "m3", 40, 0);
	fixture_measure(live, "m0", "m4", 40, 0);
	fixture_measure(live, "m0", "m5", 40, 0);
	cr_assert_eq(fixture_step(live, 1), 1);
	fixture_confirm(live, "web", 2);
	cr_expect_str_eq(fixture_machine_of(live, "web", 1), "m1");
	fixture_measure(live, "m0", "m3", 1, 5);
	fixture_measure(live, "m0", "m1", 40, 5);
	cr_expect_eq(fixture_step(live, 5), 0);
	expect_why(live, "web", "t1",
		   "does not move to m3 again: left it, or failed to start there, only 3 s ago (minimum 100 s)");
	cr_expect_float_eq(live_next_s(live, 5), 97, 1e-9);
	cr_expect_eq(fixture_step(live, 101.5), 0);
	cr_expect_eq(fixture_step(live, 102), 1);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_RETURN], 1);
	live_destroy(live);
}

/* The round trip to m1 is only that of the two racks, and unmeasured machines are not wanted. */
Test(live_explain, a_task_that_would_move_to_a_machine_that_is_not_measured)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.require_measured = true;
	live = make(&settings);
	set_machine(live, 0, 1, LIVE_UP);
	set_machine(live, 2, 0, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 0, 0, &err), 0);
	fixture_measure(live, "m0", "m2", 1, 0);
	fixture_measure(live, "m0", "m3", 40, 0);
	fixture_measure(live, "m0", "m4", 40, 0);
	fixture_measure(live, "m0", "m5", 40, 0);
	cr_expect_eq(fixture_step(live, 1), 0);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_UNREACHABLE], 0, "the network does not propose it");
	expect_why(live, "web", "t1", "does not move to m1: the round trip to the root is not measured");
	fixture_measure(live, "m0", "m1", 1, 2);
	cr_expect_eq(fixture_step(live, 2), 1);
	live_destroy(live);
}

Test(live_explain, a_task_that_waits)
{
	struct live *live = make_default();
	struct error err = {0};

	cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
	cr_assert_eq(fixture_step(live, 1), 2);
	expect_why(live, "web", "t1", "");
	cr_assert_eq(live_failed(live, "web", "t1", 2, &err), 0);
	expect_why(live, "web", "t1", "paused after 1 failed attempts");
	cr_assert_eq(live_failed(live, "web", "t0", 2, &err), 0);
	cr_assert_eq(fixture_step(live, 2.5), 0);
	expect_why(live, "web", "t0", "paused after 1 failed attempts");
	cr_assert_eq(fixture_submit(live, "other", 2, false, &err), 0);
	expect_why(live, "other", "t1", "waits for its root, task 't0'");
	cr_assert_eq(live_cancel(live, "web", &err), 0);
	cr_assert_eq(live_cancel(live, "other", &err), 0);
	cr_assert_eq(fixture_submit(live, "fill", 12, false, &err), 0);
	cr_assert_eq(fixture_step(live, 3), 12);
	cr_assert_eq(fixture_submit(live, "late", 1, false, &err), 0);
	cr_assert_eq(fixture_step(live, 4), 0);
	expect_why(live, "late", "t0", "no free slot: 12 slots are reserved for tasks that have not started yet");
	fixture_confirm(live, "fill", 5);
	expect_why(live, "late", "t0", "no free slot");
	live_destroy(live);
}

/* The root's machine and the measured one are full: the task waits, although two other slots are free. */
Test(live_explain, a_task_that_waits_for_a_measurement)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.require_measured = true;
	live = make(&settings);
	for (int m = 0; m < 6; m++)
		set_machine(live, m, m < 4, LIVE_UP);
	fixture_measure(live, "m0", "m1", 10, 0);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m1 -", false, 0, 0, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_step(live, 1), 0);
	cr_expect_eq(live_totals(live).free_slots, 2);
	expect_why(live, "web", "t2", "no free machine with a measured round trip to the root");
	/* A root needs no measurement. */
	cr_assert_eq(fixture_submit_running(live, "other", "-", false, 0, 0, &err), 0, "%s", err.text);
	expect_why(live, "other", "t0", "waits for the next round");
	fixture_measure(live, "m0", "m2", 10, 2);
	fixture_measure(live, "m0", "m3", 10, 2);
	expect_why(live, "web", "t2", "waits for the next round");
	cr_expect_eq(fixture_step(live, 2), 2);
	live_destroy(live);
}

/* No free machine can be reached from the root: neither by the task that waits nor by the one that was cut off. */
Test(live_explain, tasks_that_cannot_reach_their_root)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	live = make(&settings);
	set_machine(live, 0, 1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3 -", true, 20, 0, &err), 0, "%s", err.text);
	for (int m = 1; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		fixture_measure(live, "m0", name, INFINITY, 0);
	}
	cr_expect_eq(fixture_step(live, 1), 0);
	expect_why(live, "web", "t1", "m3 is unreachable from the root on m0, and so is every free machine");
	expect_why(live, "web", "t2", "every free machine is unreachable from the root on m0");
	fixture_measure(live, "m0", "m5", 40, 2);
	set_machine(live, 5, 1, LIVE_UP);
	cr_expect_eq(fixture_step(live, 2), 1);
	fixture_confirm(live, "web", 2);
	cr_expect_str_eq(fixture_machine_of(live, "web", 1), "m3", "one slot: a waiting task goes first");
	live_destroy(live);
}

/* Staying costs less in the network than the gain: a reason that is computed, not guessed. */
Test(live_explain, a_waiting_task_for_which_waiting_costs_less)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.policy_settings.flow.gamma = 100;
	live = make(&settings);
	set_machine(live, 0, 1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 -", false, 20, 0, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_step(live, 1), 0);
	expect_why(live, "web", "t1", "waiting costs 100, the best free slot (m1) 500");
	live_destroy(live);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/rng.h>

#include "fixture.h"

/* Web's root runs on m0 and t1 on m3, 40 us away, the only machines up; then m1, 1 us from m0, comes up. */
static struct live *make_movable(struct live_settings *settings, double restart_s)
{
	struct error err = {0};
	struct live *live;

	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->max_age_s = 0;
	live = fixture_make(settings);
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		live_machine_set(live, name, m < 3 ? "r0" : "r1", "p", 1, m == 0 ? LIVE_UP : LIVE_DOWN, &err);
	}
	fixture_measure(live, "m0", "m3", 40, 0);
	fixture_measure(live, "m0", "m1", 1, 0);
	live_machine_set(live, "m3", "r1", "p", 1, LIVE_UP, &err);
	cr_assert_eq(fixture_submit(live, "web", 2, true, &err), 0, "%s", err.text);
	cr_assert_eq(live_set_restart(live, "web", restart_s, &err), 0);
	cr_assert_eq(fixture_step(live, 1), 2);
	fixture_confirm(live, "web", 1);
	if (strcmp(fixture_machine_of(live, "web", 0), "m3") == 0) { /* the root is on m3: swap the roles */
		fixture_measure(live, "m3", "m1", 1, 0);
		fixture_measure(live, "m0", "m1", INFINITY, 0);
	}
	cr_assert_eq(fixture_step(live, 2), 0);
	live_machine_set(live, "m1", "r0", "p", 1, LIVE_UP, &err);
	return live;
}

static void expect_why(struct live *live, const char *expected)
{
	struct live_candidate candidates[8];
	struct error err = {0};
	char why[160];

	cr_expect_geq(live_explain(live, "web", "t1", candidates, 8, why, &err), 0);
	cr_expect(strstr(why, expected), "'%s' lacks '%s'", why, expected);
}

Test(live_moves, a_move_waits_until_the_gain_has_held_and_the_restart_pays)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.hold_s = 10;
	live = make_movable(&settings, 30);
	cr_expect_eq(fixture_step(live, 3), 0);
	expect_why(live, "< 10 s");
	cr_expect_float_eq(live_next_s(live, 3), 10, 1e-9, "a round when the hold is over");
	cr_expect_eq(fixture_step(live, 13), 0, "the gain times 12 s does not pay for 30 s");
	expect_why(live, "< restart cost of 30 s");
	cr_expect_geq(live_next_s(live, 13), 20);
	cr_expect_eq(fixture_step(live, 13 + live_next_s(live, 13)), 1);
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_MOVING);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_HOLD], 1);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_RESTART], 1);
	live_destroy(live);
}

static int set_curve(struct live *live, const double *p, size_t count)
{
	struct error err = {0};
	struct curve *curve = curve_from_table("steep", p, count, &err);
	int code = live_curve_set(live, "steep", curve, &err);

	curve_destroy(curve);
	return code;
}

/* With a flat curve no move gains anything; the jobs of a curve that changes are reviewed. */
Test(live_moves, a_new_curve_is_a_reason_to_move)
{
	static const double flat[] = {1, 1, 1, 1, 1}, steep[] = {1, 0.8, 0.6, 0.4, 0.2};
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.hold_s = 0;
	live = make_movable(&settings, 0);
	cr_assert_eq(set_curve(live, flat, 5), 0);
	fixture_measure(live, "m0", "m3", 39, 2);
	cr_expect_eq(fixture_step(live, 3), 0);
	cr_expect_eq(fixture_step(live, 30), 0);
	cr_assert_eq(set_curve(live, steep, 5), 0);
	cr_expect_eq(fixture_step(live, 31), 1);
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_MOVING);
	live_destroy(live);
}

/*
 * The two tasks run in two racks, 1 us apart. Then that measurement expires, and the default round trip within a rack
 * is less than that between racks.
 */
Test(live_moves, a_measurement_that_vanishes_moves_nobody)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.max_age_s = 10;
	settings.default_rtt = (struct cluster_default_rtt){1, 5, 40, 40};
	live = fixture_make(&settings);
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		live_machine_set(live, name, m < 3 ? "r0" : "r1", "p", 1, m % 3 ? LIVE_DOWN : LIVE_UP, &err);
	}
	fixture_measure(live, "m0", "m3", 1, 0);
	cr_assert_eq(fixture_submit(live, "web", 2, true, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_step(live, 1), 2);
	fixture_confirm(live, "web", 1);
	live_machine_set(live, "m1", "r0", "p", 1, LIVE_UP, &err);
	live_machine_set(live, "m4", "r1", "p", 1, LIVE_UP, &err);
	cr_expect_eq(fixture_step(live, 2), 0);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_UNMEASURED], 0);
	cr_assert_eq(live_expire(live, 20), 0);
	cr_expect_eq(fixture_step(live, 20), 0);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_UNMEASURED], 1);
	expect_why(live, "is not measured");
	/* Other pairs are measured: the maximum of the pair of racks is no reason to move either. */
	fixture_measure(live, "m2", "m5", 40, 21);
	fixture_measure(live, "m0", "m1", 1, 21);
	fixture_measure(live, "m3", "m4", 1, 21);
	cr_expect_eq(fixture_step(live, 21), 0);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_UNMEASURED], 2);
	/* The task's own round trip is a reason. */
	fixture_measure(live, "m0", "m3", 40, 22);
	cr_expect_eq(fixture_step(live, 22), 1);
	live_destroy(live);
}

Test(live_moves, moves_wait_for_their_window_and_limits)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.per_machine = 1;
	live = make_movable(&settings, -1);
	live_open_moves(live, false);
	cr_expect_eq(fixture_step(live, 3), 0);
	expect_why(live, "until --migrate-window allows moves");
	live_open_moves(live, true);
	cr_expect_eq(fixture_step(live, 4), 1);
	cr_expect_eq(live_totals(live).refused[MIGRATION_REFUSED_CLOSED], 1);
	fixture_confirm(live, "web", 5);
	cr_expect_str_eq(fixture_machine_of(live, "web", 1), "m1");
	/* Then m1 is drained. */
	cr_assert_eq(live_machine_set(live, "m1", "r0", "p", 1, LIVE_DRAINING, &err), 0);
	cr_expect_eq(fixture_step(live, 6), 1, "a drain moves it whatever the gain");
	cr_expect(live_decisions(live, live_last_decision(live) - 1, &(size_t){0})->drains);
	live_destroy(live);
}

Test(live_moves, advice_is_given_once)
{
	struct live_settings settings;
	const struct live_decision *decisions;
	struct live *live;
	size_t count;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ADVISE;
	live = make_movable(&settings, -1);
	cr_expect_eq(fixture_step(live, 3), 1);
	decisions = live_decisions(live, live_last_decision(live) - 1, &count);
	cr_expect_eq(decisions->kind, LIVE_ADVICE);
	for (int i = 4; i < 8; i++) {
		fixture_measure(live, "m4", "m5", (float)i, i);
		live_machine_set(live, "m2", "r0", "p", 0, LIVE_UP, &(struct error){0});
		cr_expect_eq(fixture_step(live, i), 0, "said already");
	}
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_RUNNING);
	live_destroy(live);
}

/* A move that would free a slot is refused: the waiting task is placed elsewhere. */
Test(live_moves, a_refused_move_keeps_nobody_waiting)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct live_settings settings;
		struct error err = {0};
		struct live *live;
		struct rng rng;

		live_settings_default(&settings);
		settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
		settings.moves.mode = MIGRATION_ON;
		settings.moves.gain = 0.5;
		settings.max_age_s = 0;
		settings.confirm_at_once = true;
		live = fixture_make(&settings);
		rng_seed(&rng, seed);
		for (int pair = 0; pair < 15; pair++) {
			struct latency_sample sample = {(uint32_t)rng_below(&rng, 6), (uint32_t)rng_below(&rng, 6),
							(float)(50 * rng_uniform(&rng))};

			cr_assert_eq(live_latency(live, &sample, 1, 0), 0);
		}
		for (int j = 0; j < 4; j++) {
			char id[8];

			snprintf(id, sizeof id, "j%d", j);
			cr_assert_eq(fixture_submit(live, id, 3, true, &err), 0);
			for (int round = 0; round < 4; round++)
				fixture_step(live, 1 + j);
			cr_expect_eq(live_totals(live).waiting, 0, "seed %d, job %d", (int)seed, j);
		}
		live_destroy(live);
	}
}

static void measure_all(struct live *live, float rtt_us, double now_s)
{
	for (int a = 0; a < 6; a++)
		for (int b = 0; b < 6; b++) {
			char from[8], to[8];

			snprintf(from, sizeof from, "m%d", a);
			snprintf(to, sizeof to, "m%d", b);
			if (a != b)
				fixture_measure(live, from, to, rtt_us, now_s);
		}
}

/* Performance is 0.92 at 4 us and 0.8 at 10 us: the task could gain at most 0.08 or 0.2. */
Test(live_moves, a_job_takes_part_in_moves_only_if_a_task_could_gain_enough)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	live = make_movable(&settings, -1);
	measure_all(live, 4, 3);
	fixture_step(live, 3);
	cr_expect_not(live_find_job(live, "web")->in_moves);
	measure_all(live, 10, 4);
	fixture_step(live, 4);
	cr_expect(live_find_job(live, "web")->in_moves);
	measure_all(live, 4, 5);
	fixture_step(live, 5);
	cr_expect_not(live_find_job(live, "web")->in_moves);
	live_destroy(live);
}

/* Of 300 jobs, fewer than 200 are reviewed before a round. */
Test(live_moves, a_waiting_task_is_placed_while_jobs_are_still_reviewed)
{
	enum { JOBS = 300 };
	struct live_settings settings;
	struct error err = {0};
	struct live *live;
	char name[16];

	live_settings_default(&settings);
	settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
	settings.moves.mode = MIGRATION_ON;
	settings.moves.gain = 0; /* every task could gain enough */
	live = fixture_make(&settings);
	for (int m = 0; m < 6; m++) {
		snprintf(name, sizeof name, "m%d", m);
		cr_assert_eq(live_machine_set(live, name, m < 3 ? "r0" : "r1", "p", 150, LIVE_UP, &err), 0);
	}
	for (int j = 0; j < JOBS; j++) {
		snprintf(name, sizeof name, "j%d", j);
		cr_assert_eq(fixture_submit(live, name, 2, true, &err), 0, "%s", err.text);
	}
	fixture_step(live, 1);
	for (int j = 0; j < JOBS; j++) {
		snprintf(name, sizeof name, "j%d", j);
		fixture_confirm(live, name, 1);
	}
	while (live_next_s(live, 1) <= 0)
		fixture_step(live, 1);
	measure_all(live, 40, 2);
	cr_assert_eq(fixture_submit(live, "new", 2, true, &err), 0, "%s", err.text);
	fixture_step(live, 2);
	cr_expect_eq(fixture_task_of(live, "new", 1)->state, LIVE_DECIDED);
	cr_expect_eq(live_next_s(live, 2), 0, "the rest of the reviews");
	live_destroy(live);
}

/*
 * Probes to m3, the host of t2, are lost. t1 would gain 0.8 on another machine, but only one task may move at a time:
 * t2, which cannot reach its root, goes first. The gain would not pay for the restart.
 */
Test(live_moves, a_task_on_an_unreachable_host_moves_first)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.rate = 1;
	settings.moves.restart_s = 1000;
	settings.max_age_s = 0;
	live = fixture_make(&settings);
	measure_all(live, 10, 0);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m4 m3", true, 5, 0, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_step(live, 1), 0);
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (m != 3) {
			fixture_measure(live, name, "m3", INFINITY, 2);
			fixture_measure(live, "m3", name, INFINITY, 2);
		}
	}
	fixture_measure(live, "m0", "m4", 50, 2);
	for (double now_s = 2; now_s < 20 && live_totals(live).decisions == 0; now_s++)
		fixture_step(live, now_s);
	cr_expect_eq(fixture_task_of(live, "web", 2)->state, LIVE_MOVING, "t2 is %s",
		     live_task_state_name(fixture_task_of(live, "web", 2)->state));
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_RUNNING);
	live_destroy(live);
}

/*
 * A window each second: all pairs of 24 machines measure 20 us with 20 % of noise, except m0 and m3, the machines of
 * the root and of t3. Returns the window in which t3 left m3; 0: it did not.
 */
static int run_noisy_windows(struct live *live, int windows, double rtt_of_m3_us)
{
	enum { MACHINES = 24 };
	struct latency_sample all[MACHINES * MACHINES];
	struct rng rng;

	rng_seed(&rng, 5);
	for (int window = 1; window <= windows; window++) {
		size_t count = 0;

		for (uint32_t pair = 0; pair < MACHINES * MACHINES; pair++) {
			uint32_t a = pair / MACHINES, b = pair % MACHINES;
			double rtt_us = (a == 0 && b == 3) || (a == 3 && b == 0) ? rtt_of_m3_us : 20, normal = -6;

			for (int k = 0; k < 12; k++)
				normal += rng_uniform(&rng);
			if (a != b)
				all[count++] =
					(struct latency_sample){a, b, (float)(rtt_us * fmax(0.05, 1 + 0.2 * normal))};
		}
		cr_assert_eq(live_latency(live, all, count, window), 0);
		fixture_step(live, window);
		if (fixture_task_of(live, "web", 3)->machine != 3)
			return window;
	}
	return 0;
}

static struct live *make_noisy(void)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.hold_s = 5;
	settings.confirm_at_once = true;
	settings.max_age_s = 0;
	live = fixture_make(&settings);
	for (int m = 6; m < 24; m++) {
		char name[8], rack[8];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / 6 + 1);
		cr_assert_eq(live_machine_set(live, name, rack, "p", 2, LIVE_UP, &err), 0);
	}
	cr_assert_eq(live_machine_set(live, "m0", "r0", "p", 1, LIVE_UP, &err), 0);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m1 m2 m3 m4 m5 m6 m7", true, 1000, 0, &err), 0);
	return live;
}

Test(live_moves, noise_moves_nobody_within_an_hour)
{
	struct live *live = make_noisy();

	cr_expect_eq(run_noisy_windows(live, 3600, 20), 0);
	cr_expect_eq(live_totals(live).moves, 0, "%d moves", (int)live_totals(live).moves);
	live_destroy(live);
}

Test(live_moves, a_true_gain_of_0_2_is_taken_within_6_windows)
{
	struct live *live = make_noisy();
	int window = run_noisy_windows(live, 60, 30);

	cr_expect(window > 0 && window <= 6, "window %d", window);
	for (uint32_t t = 0; t < 8; t++)
		cr_expect_eq(fixture_task_of(live, "web", t)->state, LIVE_RUNNING, "t%u", t);
	live_destroy(live);
}

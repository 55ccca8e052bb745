/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of single jobs: the minimum number of tasks to start with, and their own limits on moves. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static void submit(struct live *live, const char *id, uint32_t tasks, struct job_limits limits)
{
	struct error err = {0};

	cr_assert_eq(fixture_submit_limited(live, id, tasks, true, limits, &err), 0, "%s", err.text);
}

static uint32_t placed(const struct live *live, const char *id)
{
	const struct live_job *job = live_find_job(live, id);
	uint32_t count = 0;

	for (uint32_t t = 0; t < job->task_count; t++)
		count += job->tasks[t].state == LIVE_DECIDED;
	return count;
}

Test(live_limits, a_job_waits_whole_until_its_minimum_can_be_placed)
{
	struct live *live = fixture_make_default();
	struct live_candidate candidates[4];
	struct error err = {0};
	char id[8], why[160];

	for (int j = 0; j < 10; j++) {
		snprintf(id, sizeof id, "s%d", j);
		submit(live, id, 1, (struct job_limits){0});
	}
	cr_assert_eq(fixture_step(live, 1), 10);
	submit(live, "gang", 5, (struct job_limits){.minimum_tasks = 4});
	cr_expect_eq(fixture_step(live, 2), 0, "two slots are free");
	cr_expect_eq(live_totals(live).free_slots, 2);
	cr_expect_gt(live_next_s(live, 2), 50, "it does not poll: %f", live_next_s(live, 2));
	cr_assert_eq(live_explain(live, "gang", "t1", candidates, 4, why, &err), 0);
	cr_expect_str_eq(why, "waits until 4 tasks of its job can start together; free slots: 2");
	submit(live, "small", 1, (struct job_limits){0});
	cr_expect_eq(fixture_step(live, 3), 1, "others go on");
	for (int j = 0; j < 2; j++) {
		snprintf(id, sizeof id, "s%d", j);
		cr_assert_eq(live_ended(live, id, "t0", &err), 0, "%s", err.text);
	}
	cr_expect_eq(fixture_step(live, 4), 0, "three");
	cr_assert_eq(live_ended(live, "s2", "t0", &err), 0);
	cr_expect_eq(fixture_step(live, 5), 4);
	cr_expect_eq(placed(live, "gang"), 4);
	cr_assert_eq(live_ended(live, "s3", "t0", &err), 0);
	cr_expect_eq(fixture_step(live, 6), 1, "the rest one by one");
	live_destroy(live);
}

/* Only two machines can reach each other. */
static void cut_off(struct live *live)
{
	char a[8], b[8];

	for (int i = 0; i < 6; i++)
		for (int j = i + 1; j < 6; j++) {
			snprintf(a, sizeof a, "m%d", i);
			snprintf(b, sizeof b, "m%d", j);
			fixture_measure(live, a, b, i == 0 && j == 1 ? 5 : INFINITY, 0);
		}
}

Test(live_limits, places_that_are_not_enough_are_given_back_and_tried_again_later)
{
	struct live *live = fixture_make_default();

	cut_off(live);
	submit(live, "gang", 6, (struct job_limits){.minimum_tasks = 6});
	cr_expect_eq(fixture_step(live, 1), 0, "twelve slots are free, four of them near one another");
	cr_expect_eq(live_totals(live).free_slots, 12);
	cr_expect_eq(live_last_decision(live), 0);
	submit(live, "single", 1, (struct job_limits){0});
	cr_expect_eq(fixture_step(live, 1.5), 1);
	cr_expect_eq(fixture_step(live, 1.6), 0);
	cr_expect_float_eq(live_next_s(live, 1.6), 0.4, 1e-9, "not at once: %f", live_next_s(live, 1.6));
	for (int m = 1; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		fixture_measure(live, "m0", name, 5, 2);
		for (int n = m + 1; n < 6; n++) {
			char other[8];

			snprintf(other, sizeof other, "m%d", n);
			fixture_measure(live, name, other, 5, 2);
		}
	}
	cr_expect_eq(fixture_step(live, 2.1), 6);
	live_destroy(live);
}

/* The starts of two jobs that each need 8 of 12 slots fail: they are again tried whole, and one of them is placed. */
Test(live_limits, a_job_that_lost_all_its_tasks_waits_whole_again)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	char name[8];

	submit(live, "one", 8, (struct job_limits){.minimum_tasks = 8});
	submit(live, "two", 8, (struct job_limits){.minimum_tasks = 8});
	for (double now_s = 1; now_s < 20; now_s += 1) {
		uint32_t one, two;

		cr_assert_geq(fixture_step(live, now_s), 0);
		one = placed(live, "one");
		two = placed(live, "two");
		cr_assert(one % 8 == 0 && two % 8 == 0 && one + two <= 8, "at %.0f s: %u and %u", now_s, one, two);
		for (uint32_t t = 0; t < 8 && now_s < 3; t++) {
			snprintf(name, sizeof name, "t%u", t);
			if (one + two > 0)
				cr_assert_eq(live_failed(live, one ? "one" : "two", name, now_s, &err), 0);
		}
		cr_assert_eq(live_find_mismatch(live), LIVE_MATCH);
	}
	cr_expect_eq(placed(live, "one") + placed(live, "two"), 8);
	live_destroy(live);
}

Test(live_limits, a_cancelled_job_leaves_nothing_behind)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	submit(live, "fill", 12, (struct job_limits){.minimum_tasks = 12});
	cr_assert_eq(fixture_step(live, 1), 12);
	submit(live, "gang", 3, (struct job_limits){.minimum_tasks = 3});
	cr_expect_eq(fixture_step(live, 2), 0);
	cr_assert_eq(live_cancel(live, "gang", &err), 0);
	cr_assert_eq(live_cancel(live, "fill", &err), 0);
	cr_expect_eq(fixture_step(live, 3), 0);
	cr_expect_eq(live_totals(live).free_slots, 12);
	live_destroy(live);
}

/* A job of two tasks on machines with one slot, 30 us apart; then a machine 10 us from the root's comes up. */
static int moves_with(struct job_limits limits)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	char name[8], other[8], rack[8], root[8];
	int moves;

	live_settings_default(&settings);
	settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
	settings.max_age_s = 0;
	settings.moves.mode = MIGRATION_ON;
	live = fixture_make(&settings);
	for (int a = 0; a < 6; a++) {
		snprintf(name, sizeof name, "m%d", a);
		snprintf(rack, sizeof rack, "r%d", a / 3);
		cr_assert_eq(live_machine_set(live, name, rack, "p", 1, LIVE_UP, &err), 0);
		for (int b = 0; b < a; b++) {
			snprintf(other, sizeof other, "m%d", b);
			fixture_measure(live, name, other, 30, 0);
		}
	}
	submit(live, "web", 2, limits);
	cr_assert_eq(fixture_step(live, 1), 2);
	fixture_confirm(live, "web", 1);
	snprintf(root, sizeof root, "%s", fixture_machine_of(live, "web", 0));
	for (int m = 0; m < 6; m++) {
		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, root) == 0 || strcmp(name, fixture_machine_of(live, "web", 1)) == 0)
			continue;
		fixture_measure(live, root, name, 10, 2);
		fixture_measure(live, name, root, 10, 2);
	}
	live_latency_settle(live);
	moves = fixture_step(live, 3);
	live_destroy(live);
	return moves;
}

Test(live_limits, a_job_may_ask_for_more_than_the_scheduler_before_it_moves)
{
	cr_expect_eq(moves_with((struct job_limits){0}), 1, "gain 0.4, 0.1 is enough");
	cr_expect_eq(moves_with((struct job_limits){.migrate_gain = 0.3}), 1);
	cr_expect_eq(moves_with((struct job_limits){.migrate_gain = 0.5}), 0);
	cr_expect_eq(moves_with((struct job_limits){.migrate_gain = 0.01}), 1);
	cr_expect_eq(moves_with((struct job_limits){.migrate_hold_s = 100}), 0);
	cr_expect_eq(moves_with((struct job_limits){.migrate_tasks = 1}), 1);
}

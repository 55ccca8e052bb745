/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

Test(live, a_job_is_placed_near_its_root_confirmed_and_ends)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	size_t count;
	const struct live_decision *decisions;

	cr_assert_eq(fixture_submit(live, "web", 3, false, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_submit(live, "web", 3, false, &err), -EEXIST);
	cr_expect_eq(fixture_step(live, 1), 3, "the root and the others in one step");
	decisions = live_decisions(live, 0, &count);
	cr_assert_eq(count, 3);
	cr_expect(decisions[0].is_root && decisions[0].sequence == 1);
	for (int i = 1; i < 3; i++) {
		cr_expect_not(decisions[i].is_root);
		cr_expect_gt(decisions[i].performance, 0);
		cr_expect(decisions[i].origin == LATENCY_ORIGIN_SAME_MACHINE ||
			  decisions[i].origin == LATENCY_ORIGIN_TOPOLOGY);
	}
	cr_expect_eq(fixture_step(live, 2), 0, "nothing changed");
	fixture_confirm(live, "web", 2);
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_RUNNING);
	cr_expect_eq(live_totals(live).free_slots, 12 - 3);
	cr_assert_eq(live_ended(live, "web", "t0", &err), 0);
	cr_assert_eq(live_ended(live, "web", "t1", &err), 0);
	cr_assert_eq(live_ended(live, "web", "t2", &err), 0);
	cr_expect_null(live_find_job(live, "web"), "a job whose tasks have ended is gone");
	fixture_step(live, 3);
	cr_expect_eq(live_totals(live).free_slots, 12);
	live_destroy(live);
}

Test(live, a_rebuilt_network_has_the_tasks_that_run_and_those_that_wait)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	cr_assert_eq(fixture_submit(live, "web", 12, false, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_step(live, 1), 12);
	fixture_confirm(live, "web", 1);
	cr_assert_eq(live_ended(live, "web", "t11", &err), 0);
	cr_assert_eq(fixture_submit(live, "next", 1, false, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_submit(live, "late", 1, false, &err), 0, "%s", err.text);
	live_rebuild(live, 2);
	cr_expect_eq(fixture_step(live, 2), 1);
	cr_expect_eq(live_find_mismatch(live), LIVE_MATCH);
	cr_assert_eq(live_ended(live, "web", "t10", &err), 0);
	cr_expect_eq(fixture_step(live, 3), 1);
	cr_expect_eq(live_find_mismatch(live), LIVE_MATCH);
	live_destroy(live);
}

/* Six tasks run on a machine that has two slots: no other task goes there until five have ended. */
Test(live, what_runs_is_adopted_although_the_machines_have_too_few_slots)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	for (int m = 1; m < 6; m++) {
		char name[] = {'m', (char)('0' + m), '\0'};

		cr_assert_eq(live_machine_set(live, name, m < 3 ? "r0" : "r1", "p", 0, LIVE_UP, &err), 0, "%s",
			     err.text);
	}
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m0 m0 m0 m0 m0", false, 0, 0, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_submit(live, "three", 3, false, &err), -E2BIG);
	cr_assert_eq(fixture_submit(live, "one", 1, false, &err), 0, "%s", err.text);
	cr_expect_eq(live_totals(live).free_slots, 0);
	for (int t = 0; t < 5; t++) {
		char name[] = {'t', (char)('0' + t), '\0'};

		cr_expect_eq(fixture_step(live, 1 + t), 0, "before task %d has ended", t);
		cr_assert_eq(live_ended(live, "web", name, &err), 0);
	}
	cr_expect_eq(fixture_step(live, 6), 1);
	cr_expect_str_eq(fixture_machine_of(live, "one", 0), "m0");
	live_destroy(live);
}

Test(live, a_decision_that_is_not_confirmed_is_tried_again_and_given_up)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	double now = 1;

	cr_assert_eq(fixture_submit(live, "web", 1, false, &err), 0);
	for (int attempt = 1; attempt <= 5; attempt++) {
		cr_assert_eq(fixture_step(live, now), 1, "attempt %d", attempt);
		cr_expect_eq(fixture_task_of(live, "web", 0)->state, LIVE_DECIDED);
		cr_expect_eq(fixture_step(live, now + 59), 0);
		cr_expect_eq(fixture_step(live, now + 60), 0, "timed out; it pauses");
		cr_expect_eq(live_totals(live).free_slots, 12);
		now += 60 + pow(2, attempt - 1);
		cr_expect_leq(live_next_s(live, now - 1), attempt < 5 ? 1 : INFINITY);
	}
	cr_expect_eq(fixture_task_of(live, "web", 0)->state, LIVE_FAILED);
	cr_expect_eq(fixture_step(live, now + 1000), 0);
	cr_expect_eq(live_started(live, "web", "t0", "m0", now, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "is failed; expected a decided or moving task"), "%s", err.text);
	live_destroy(live);
}

Test(live, a_machine_that_goes_down_sends_its_tasks_elsewhere)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	char host[8];

	cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
	fixture_step(live, 1);
	fixture_confirm(live, "web", 1);
	strcpy(host, fixture_machine_of(live, "web", 0));
	cr_assert_eq(
		live_machine_set(
			live, host,
			live_cluster(live)
				->racks[live_cluster(live)->machines[fixture_task_of(live, "web", 0)->machine].rack]
				.name,
			"p", 2, LIVE_DOWN, &err),
		0, "%s", err.text);
	cr_expect_eq(fixture_task_of(live, "web", 0)->state, LIVE_WAITING);
	cr_expect_geq(fixture_step(live, 2), 1);
	cr_expect_str_neq(fixture_machine_of(live, "web", 0), host);
	cr_expect_eq(fixture_task_of(live, "web", 0)->state, LIVE_DECIDED);
	live_destroy(live);
}

static void make_moving(struct live **live, struct live_settings *settings)
{
	struct error err = {0};

	live_settings_default(settings);
	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->max_age_s = 0;
	settings->moves.mode = MIGRATION_ON;
	*live = fixture_make(settings);
	/* One slot each, so that the root's machine has no slot for the other task. */
	for (int m = 0; m < 6; m++) {
		char name[8], rack[8];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / 3);
		cr_assert_eq(live_machine_set(*live, name, rack, "p", 1, LIVE_UP, &err), 0);
	}
	for (int a = 0; a < 6; a++)
		for (int b = a + 1; b < 6; b++) {
			char one[8], two[8];

			snprintf(one, sizeof one, "m%d", a);
			snprintf(two, sizeof two, "m%d", b);
			fixture_measure(*live, one, two, 20, 0);
		}
	cr_assert_eq(fixture_submit(*live, "web", 2, true, &err), 0);
	fixture_step(*live, 1);
	fixture_confirm(*live, "web", 1);
}

Test(live, a_task_moves_when_that_gains_enough_and_does_not_come_back)
{
	struct live_settings settings;
	struct live *live;
	const struct live_decision *decision;
	size_t count;
	char before[8], near[8] = "";
	uint64_t last;

	make_moving(&live, &settings);
	strcpy(before, fixture_machine_of(live, "web", 1));
	last = live_last_decision(live);
	for (int m = 0; m < 6 && !near[0]; m++) {
		snprintf(near, sizeof near, "m%d", m);
		if (strcmp(near, before) == 0 || strcmp(near, fixture_machine_of(live, "web", 0)) == 0)
			near[0] = '\0';
	}
	fixture_measure(live, fixture_machine_of(live, "web", 0), near, 17, 2); /* 0.6 -> 0.66: the gain must be 0.1 */
	cr_expect_eq(fixture_step(live, 2), 0);
	fixture_measure(live, fixture_machine_of(live, "web", 0), near, 1, 3);
	cr_assert_eq(fixture_step(live, 3), 1);
	decision = live_decisions(live, last, &count);
	cr_expect_eq(decision->kind, LIVE_MOVE);
	cr_expect_str_eq(decision->from, before);
	cr_expect_str_eq(decision->to, near);
	cr_expect_geq(decision->gain, 0.1);
	cr_expect_eq(live_totals(live).free_slots, 3, "a move keeps its origin until it has started");
	fixture_confirm(live, "web", 4);
	cr_expect_eq(fixture_step(live, 4), 0);
	cr_expect_eq(live_totals(live).free_slots, 4);
	/* The old place becomes better again at once, but the task does not return within no_return_s. */
	fixture_measure(live, fixture_machine_of(live, "web", 0), near, 40, 5);
	fixture_measure(live, fixture_machine_of(live, "web", 0), before, 1, 5);
	cr_expect_eq(fixture_step(live, 5), 0);
	cr_expect_gt(live_totals(live).refused[MIGRATION_REFUSED_RETURN], 0);
	live_destroy(live);
}

Test(live, a_move_that_fails_leaves_the_task_where_it_was)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	char before[8];

	make_moving(&live, &settings);
	strcpy(before, fixture_machine_of(live, "web", 1));
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, before) != 0 && strcmp(name, fixture_machine_of(live, "web", 0)) != 0)
			fixture_measure(live, fixture_machine_of(live, "web", 0), name, 1, 2);
	}
	cr_assert_eq(fixture_step(live, 2), 1);
	cr_assert_eq(live_failed(live, "web", "t1", 3, &err), 0);
	cr_expect_str_eq(fixture_machine_of(live, "web", 1), before);
	cr_expect_eq(fixture_task_of(live, "web", 1)->state, LIVE_RUNNING);
	cr_expect_eq(live_totals(live).free_slots, 4);
	live_destroy(live);
}

Test(live, a_move_that_failed_is_not_tried_again_at_once)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	uint64_t rounds;
	double again_s;
	char near[8] = "";

	make_moving(&live, &settings);
	for (int m = 0; m < 6 && !near[0]; m++) {
		snprintf(near, sizeof near, "m%d", m);
		if (strcmp(near, fixture_machine_of(live, "web", 1)) == 0 ||
		    strcmp(near, fixture_machine_of(live, "web", 0)) == 0)
			near[0] = '\0';
	}
	fixture_measure(live, fixture_machine_of(live, "web", 0), near, 1, 2);
	cr_assert_eq(fixture_step(live, 2), 1);
	cr_assert_eq(live_failed(live, "web", "t1", 3, &err), 0);
	cr_expect_eq(fixture_step(live, 4), 0);
	cr_expect_gt(live_totals(live).refused[MIGRATION_REFUSED_RETURN], 0);
	again_s = 4 + live_next_s(live, 4);
	cr_expect_eq(again_s, 3 + settings.moves.no_return_s);
	rounds = live_totals(live).rounds;
	cr_expect_eq(fixture_step(live, again_s - 0.5), 0);
	cr_expect_eq(live_totals(live).rounds, rounds, "no round before it is due");
	cr_expect_eq(fixture_step(live, again_s), 1);
	live_destroy(live);
}

Test(live, moves_are_off_unless_asked_for)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	cr_assert_eq(fixture_submit(live, "web", 2, true, &err), 0);
	fixture_step(live, 1);
	fixture_confirm(live, "web", 1);
	fixture_measure(live, fixture_machine_of(live, "web", 0), fixture_machine_of(live, "web", 1), 1000, 2);
	cr_expect_eq(fixture_step(live, 2), 0);
	live_destroy(live);
}

Test(live, draining_moves_tasks_at_the_allowed_rate_and_takes_none)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	char host[8], rack[8];

	make_moving(&live, &settings);
	strcpy(host, fixture_machine_of(live, "web", 1));
	snprintf(rack, sizeof rack, "r%d", (host[1] - '0') / 3);
	cr_assert_eq(live_machine_set(live, host, rack, "p", 1, LIVE_DRAINING, &err), 0);
	cr_assert_eq(fixture_step(live, 2), 1);
	cr_expect_str_neq(fixture_machine_of(live, "web", 1), host);
	fixture_confirm(live, "web", 3);
	fixture_step(live, 3);
	cr_expect_eq(live_machine_tasks(live, (uint32_t)cluster_find_machine(live_cluster(live), host)), 0);
	cr_assert_eq(live_machine_remove(live, host, &err), 0, "%s", err.text);
	cr_expect_eq(live_cluster(live)->machine_count >= 5, 1);
	live_destroy(live);
}

Test(live, an_unreachable_machine_gets_no_task_and_explain_says_the_candidates)
{
	struct live *live = fixture_make_default();
	struct live_candidate candidates[6];
	struct error err = {0};
	char why[160], root[8];
	int count;

	cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
	fixture_step(live, 1);
	fixture_confirm(live, "web", 1);
	strcpy(root, fixture_machine_of(live, "web", 0));
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, root) != 0)
			fixture_measure(live, root, name, INFINITY, 2);
	}
	count = live_explain(live, "web", "t1", candidates, 6, why, &err);
	cr_assert_gt(count, 0, "%s", err.text);
	for (int i = 1; i < count; i++)
		cr_expect_leq(candidates[i].performance, candidates[0].performance);
	cr_assert_eq(live_failed(live, "web", "t1", 3, &err), 0);
	fixture_step(live, 10);
	cr_expect(fixture_task_of(live, "web", 1)->machine < 0 || strcmp(fixture_machine_of(live, "web", 1), root) == 0,
		  "root on %s, task on %s", root, fixture_machine_of(live, "web", 1));
	live_destroy(live);
}

Test(live, bad_jobs_are_refused)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	struct job_task task = {.name = (char *)"t", .machine = JOB_NO_MACHINE};
	struct job job = {.id = (char *)"j", .curve = (char *)"none", .tasks = &task, .task_count = 1};

	cr_expect_eq(live_submit(live, &job, 0, false, 0, &err), -ENOENT);
	cr_expect_str_eq(err.text, "job 'j': unknown curve 'none'");
	cr_expect_eq(fixture_submit(live, "large", 13, false, &err), -E2BIG);
	cr_expect_eq(live_cancel(live, "no", &err), -ENOENT);
	cr_expect_eq(live_curve_remove(live, "steep", &err), 0);
	live_destroy(live);
}

static void add_row(struct latency_matrix *matrix, const char *source, const char *destination, double rtt_us,
		    double updated_s)
{
	struct latency_entry entry = {.source = (uint32_t)latency_matrix_add_host(matrix, source),
				      .destination = (uint32_t)latency_matrix_add_host(matrix, destination),
				      .rtt_p50_us = rtt_us,
				      .rtt_p99_us = rtt_us,
				      .rtt_max_us = rtt_us,
				      .samples = isnan(rtt_us) ? 0 : 10,
				      .loss = isnan(rtt_us) ? 1 : 0,
				      .updated_at = ns_from_us(updated_s * 1e6)};

	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
}

static double rtt_of(const struct live *live, const char *a, const char *b, enum latency_origin *origin)
{
	return latency_view_get(live_view(live), (uint32_t)cluster_find_machine(live_cluster(live), a),
				(uint32_t)cluster_find_machine(live_cluster(live), b), origin);
}

/* Each row counts until it is too old, whenever it was read; after that the maximum of its pair of racks applies. */
Test(live, rows_of_a_matrix_have_the_age_that_they_say)
{
	struct live_settings settings;
	struct latency_matrix *matrix = latency_matrix_create();
	struct live_matrix_part part = {.statistic = LATENCY_STATISTIC_P99, .count = 7, .now_s = 1000};
	struct live_matrix_outcome outcome;
	enum latency_origin origin;
	struct live *live;

	live_settings_default(&settings);
	settings.max_age_s = 60;
	live = fixture_make(&settings);
	part.wall = ns_from_us(5e11);
	add_row(matrix, "m0", "m3", 7, 5e5 - 10);
	add_row(matrix, "m0", "m4", 9, 5e5 - 50);
	add_row(matrix, "m0", "m5", 11, 5e5 - 61);
	add_row(matrix, "m1", "m3", NAN, 5e5 - 1);
	add_row(matrix, "m1", "m4", 3, 5e5 + 1); /* clocks differ */
	add_row(matrix, "m1", "m5", 3, 5e5 + 86400);
	add_row(matrix, "elsewhere", "m5", 3, 5e5);
	cr_assert_eq(live_latency_matrix(live, matrix, &part, &outcome), 0);
	live_latency_settle(live);
	cr_expect_eq(outcome.taken, 4);
	cr_expect_eq(outcome.old, 1);
	cr_expect_eq(outcome.future, 1);
	cr_expect_eq(outcome.unknown, 1);
	cr_expect_float_eq(rtt_of(live, "m0", "m4", &origin), 9, 1e-3);
	cr_expect_eq(origin, LATENCY_ORIGIN_MEASURED);
	cr_expect(isinf(rtt_of(live, "m1", "m3", &origin)), "unreachable");
	cr_expect_float_eq(rtt_of(live, "m0", "m5", &origin), 9, 1e-3);
	cr_expect_eq(origin, LATENCY_ORIGIN_RACK_PAIR);
	cr_assert_eq(live_expire(live, 1012), 0);
	cr_expect_float_eq(rtt_of(live, "m0", "m4", &origin), 7, 1e-3);
	cr_expect_eq(origin, LATENCY_ORIGIN_RACK_PAIR, "too old now");
	cr_expect_float_eq(rtt_of(live, "m0", "m3", &origin), 7, 1e-3);
	cr_expect_eq(origin, LATENCY_ORIGIN_MEASURED);
	latency_matrix_destroy(matrix);
	live_destroy(live);
}

Test(live, a_window_in_parts_leads_to_one_round_and_delays_no_decision)
{
	struct live *live = fixture_make_default();
	struct latency_matrix *matrix = latency_matrix_create();
	struct live_matrix_part part = {.statistic = LATENCY_STATISTIC_P99, .count = 1, .now_s = 1, .wall = {1}};
	struct live_matrix_outcome outcome;
	struct error err = {0};
	uint64_t rounds;

	add_row(matrix, "m0", "m3", 7, 0);
	add_row(matrix, "m0", "m4", 9, 0);
	fixture_step(live, 0);
	cr_assert_eq(live_latency_matrix(live, matrix, &part, &outcome), 0);
	cr_expect(isinf(live_next_s(live, 1)), "no round for a part of a window");
	cr_assert_eq(fixture_submit(live, "j", 1, true, &err), 0, "%s", err.text);
	cr_expect_eq(fixture_step(live, 1), 1, "in between, jobs are placed");
	fixture_confirm(live, "j", 1);
	fixture_step(live, 1);
	part.first = 1;
	cr_assert_eq(live_latency_matrix(live, matrix, &part, &outcome), 0);
	cr_expect(isinf(live_next_s(live, 1)));
	rounds = live_totals(live).rounds;
	live_latency_settle(live);
	cr_expect_eq(live_next_s(live, 1), 0);
	fixture_step(live, 1);
	cr_expect_eq(live_totals(live).rounds, rounds + 1);
	cr_expect_eq(latency_view_moved(live_view(live)).count, 0);
	latency_matrix_destroy(matrix);
	live_destroy(live);
}

/* Pairs that were not measured had the round trip of the machine that is removed. */
Test(live, the_round_trips_of_a_removed_machine_are_no_longer_in_force)
{
	struct live *live = fixture_make_default();
	enum latency_origin origin;
	struct error err = {0};

	fixture_measure(live, "m0", "m3", 40, 0);
	fixture_measure(live, "m1", "m3", 20, 0);
	fixture_measure(live, "m0", "m4", 5, 0);
	cr_expect_float_eq(rtt_of(live, "m2", "m5", &origin), 40, 1e-3);
	cr_assert_eq(live_machine_remove(live, "m3", &err), 0, "%s", err.text);
	cr_expect_float_eq(rtt_of(live, "m2", "m5", &origin), 5, 1e-3);
	cr_expect_eq(origin, LATENCY_ORIGIN_RACK_PAIR);
	cr_expect_eq(latency_view_moved(live_view(live)).count, 0, "the network knows");
	live_destroy(live);
}

Test(live, a_decision_says_which_share_of_its_latencies_was_measured)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	const struct live_decision *decisions;
	const char *root;
	size_t count;

	cr_assert_eq(fixture_submit(live, "web", 1, false, &err), 0);
	cr_assert_eq(fixture_step(live, 1), 1);
	fixture_confirm(live, "web", 1);
	root = fixture_machine_of(live, "web", 0);
	decisions = live_decisions(live, 0, &count);
	cr_expect(isnan(decisions[0].measured), "the root's has none");
	cr_assert_eq(live_cancel(live, "web", &err), 0);
	for (int m = 0; m < 3; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, root) != 0)
			fixture_measure(live, root, name, 5, 1);
	}
	cr_assert_eq(fixture_submit(live, "web", 3, false, &err), 0);
	cr_assert_eq(fixture_step(live, 2), 3);
	decisions = live_decisions(live, 1, &count);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(decisions[0].to, root, "placed as before");
	cr_expect_float_eq(decisions[1].measured, strcmp(root, "m3") < 0 ? 2 / 5.0 : 3 / 5.0, 1e-9);
	live_destroy(live);
}

/* Earliest deadline, found by looking at all tasks. */
static double earliest_s(const struct live *live, uint64_t *tasks)
{
	double earliest = INFINITY;
	uint32_t count;
	struct live_job *const *jobs = live_jobs(live, &count);

	*tasks = 0;
	for (uint32_t j = 0; j < count; j++)
		for (uint32_t t = 0; jobs[j] && t < jobs[j]->task_count; t++) {
			const struct live_task *task = &jobs[j]->tasks[t];

			++*tasks;
			if (task->state == LIVE_DECIDED)
				earliest = fmin(earliest, task->since_s + 60);
			else if (task->state == LIVE_WAITING && task->retry_s > 0)
				earliest = fmin(earliest, task->retry_s);
		}
	return earliest;
}

Test(live, the_next_step_is_due_with_the_earliest_deadline_of_all_tasks)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	unsigned seed = 7;
	double now = 1;

	for (int round = 0; round < 400; round++) {
		char id[16];
		uint64_t tasks;
		int does = rand_r(&seed) % 6;

		snprintf(id, sizeof id, "j%d", rand_r(&seed) % 8);
		if (!live_find_job(live, id))
			fixture_submit(live, id, 1 + (uint32_t)rand_r(&seed) % 3, false, &err);
		else if (does == 0)
			live_cancel(live, id, &err);
		else if (does == 1)
			fixture_confirm(live, id, now);
		else if (does == 2)
			live_failed(live, id, "t0", now, &err);
		else if (does == 3)
			live_ended(live, id, "t0", &err);
		now += rand_r(&seed) % 20;
		fixture_step(live, now);
		cr_assert_float_eq(fmin(live_next_s(live, now), 1e6), fmin(earliest_s(live, &tasks) - now, 1e6), 1e-9,
				   "round %d", round);
		cr_assert_eq(live_owner_tasks(live, 0), tasks, "round %d", round);
	}
	live_destroy(live);
}

Test(live, a_job_may_arrive_with_tasks_that_run)
{
	struct live *live = fixture_make_default();
	struct error err = {0};
	const struct live_task *task;

	cr_assert_eq(fixture_submit_running(live, "web", "m2 m4", false, 30, 100, &err), 0, "%s", err.text);
	task = fixture_task_of(live, "web", 1);
	cr_expect_eq(task->state, LIVE_RUNNING);
	cr_expect_float_eq(task->since_s, 70, 1e-9);
	cr_expect_float_eq(task->started_s, 70, 1e-9);
	cr_expect_str_eq(fixture_machine_of(live, "web", 1), "m4");
	cr_expect_eq(live_totals(live).free_slots, 10);
	cr_expect_eq(live_totals(live).running, 2);
	cr_expect_eq(fixture_step(live, 101), 0);
	cr_assert_eq(live_machine_set(live, "m5", "r1", "p", 2, LIVE_DOWN, &err), 0);
	cr_expect_eq(fixture_submit_running(live, "db", "m2 m5", false, 0, 101, &err), -EINVAL);
	cr_expect_str_eq(err.text, "job 'db': task 't1' runs on machine 'm5', which is down");
	cr_expect_null(live_find_job(live, "db"));
	live_destroy(live);
}

Test(live, a_machine_or_curve_in_use_stays)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", false, 0, 0, &err), 0);
	cr_expect_eq(live_machine_remove(live, "m3", &err), -EBUSY);
	cr_expect_str_eq(err.text, "machine 'm3' has tasks; drain it first");
	cr_expect_eq(live_machine_remove(live, "m9", &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown machine 'm9'");
	cr_expect_eq(live_curve_remove(live, "steep", &err), -EBUSY);
	cr_expect_str_eq(err.text, "curve 'steep' is used by a job");
	cr_expect_eq(live_curve_remove(live, "none", &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown curve 'none'");
	cr_expect_eq(live_machine_set(live, "m0", "r1", "p", 2, LIVE_UP, &err), -EINVAL);
	cr_expect_str_eq(err.text, "machine 'm0' is in rack 'r0', pod 'p'; to change this, remove it and add it again");
	cr_expect_eq(live_machine_set(live, "m0", "r0", "q", 2, LIVE_UP, &err), -EINVAL);
	cr_expect_eq(live_machine_set(live, "m0", "r0", "p", CLUSTER_SLOTS_MAXIMUM + 1, LIVE_UP, &err), -EINVAL);
	cr_expect_eq(live_machine_set(live, "m1", "r0", "p", CLUSTER_SLOTS_MAXIMUM, LIVE_UP, &err), 0, "%s", err.text);
	cr_expect_eq(live_totals(live).slots, CLUSTER_SLOTS_MAXIMUM + 10);
	/* The root has ended: its machine is still the reference for t1, also when it is down. */
	cr_assert_eq(live_ended(live, "web", "t0", &err), 0);
	fixture_step(live, 1);
	cr_expect_eq(live_machine_remove(live, "m0", &err), -EBUSY);
	cr_expect(strstr(err.text, "machine 'm0' cannot be removed: the root of a job ended there"), "%s", err.text);
	cr_assert_eq(live_machine_set(live, "m0", "r0", "p", 2, LIVE_DOWN, &err), 0);
	fixture_step(live, 2);
	cr_expect_eq(live_machine_remove(live, "m0", &err), -EBUSY);
	cr_expect_eq(live_machine_state_of(live, 0), LIVE_DOWN, "nothing has changed");
	cr_assert_eq(live_cancel(live, "web", &err), 0);
	fixture_step(live, 3);
	cr_expect_eq(live_machine_remove(live, "m3", &err), 0, "%s", err.text);
	cr_expect_eq(live_curve_remove(live, "steep", &err), 0, "%s", err.text);
	cr_expect_eq(live_totals(live).slots, CLUSTER_SLOTS_MAXIMUM + 6);
	live_destroy(live);
}

Test(live, reports_that_do_not_fit_are_refused)
{
	struct live *live = fixture_make_default();
	struct error err = {0};

	cr_expect_eq(live_started(live, "web", "t0", "m0", 1, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown task 't0' of job 'web'");
	cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
	cr_expect_eq(live_ended(live, "web", "t0", &err), -EINVAL);
	cr_expect_str_eq(err.text, "task 't0' of job 'web' is waiting; expected a decided, moving or running task");
	cr_expect_eq(live_failed(live, "web", "t0", 1, &err), -EINVAL);
	cr_assert_eq(fixture_step(live, 1), 2);
	cr_expect_eq(live_started(live, "web", "t0", "elsewhere", 1, &err), -EINVAL);
	cr_expect(strstr(err.text, "task 't0' of job 'web' was to start on '"), "%s", err.text);
	cr_expect(strstr(err.text, ", not on 'elsewhere'"), "%s", err.text);
	cr_expect_eq(fixture_task_of(live, "web", 0)->state, LIVE_DECIDED);
	fixture_confirm(live, "web", 2);
	cr_expect_eq(live_started(live, "web", "t0", fixture_machine_of(live, "web", 0), 3, &err), 0, "known");
	cr_expect_float_eq(fixture_task_of(live, "web", 0)->started_s, 2, 1e-9);
	cr_expect_eq(live_started(live, "web", "t0", "elsewhere", 3, &err), -EINVAL);
	cr_expect_eq(live_ended(live, "web", "t9", &err), -ENOENT);
	cr_expect_eq(live_failed(live, "web", "t9", 1, &err), -ENOENT);
	cr_assert_eq(live_ended(live, "web", "t1", &err), 0);
	cr_expect_eq(live_ended(live, "web", "t1", &err), 0, "known");
	cr_expect_eq(live_find_job(live, "web")->ended_count, 1);
	cr_expect_eq(live_failed(live, "web", "t1", 4, &err), -EINVAL);
	cr_expect_eq(live_set_restart(live, "none", 1, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown job 'none'");
	live_destroy(live);
}

/*
 * A ring on all slots of two racks leaves each rack once, and its tasks on a machine are next to each other. It goes
 * from task t to t + 5, so that the order of the tasks' numbers is a bad one.
 */
Test(live, tasks_of_a_ring_are_in_its_order)
{
	struct live *live = fixture_make_default();
	char ring[400] = "[", from[8], to[8];
	struct error err = {0};
	int between = 0, machines = 0;

	for (int a = 0; a < 6; a++)
		for (int b = 0; b < 6; b++) {
			snprintf(from, sizeof from, "m%d", a);
			snprintf(to, sizeof to, "m%d", b);
			if (a != b)
				fixture_measure(live, from, to, a / 3 == b / 3 ? 10 : 40, 0);
		}
	for (int t = 0; t < 12; t++)
		snprintf(ring + strlen(ring), sizeof ring - strlen(ring), "%s[%d, %d]", t ? ", " : "", t, (t + 5) % 12);
	strcat(ring, "]");
	cr_assert_eq(fixture_submit_graph(live, "ring", 12, false, (struct job_limits){0}, ring, &err), 0, "%s",
		     err.text);
	fixture_step(live, 1);
	for (uint32_t t = 0; t < 12; t++) {
		const char *here = fixture_machine_of(live, "ring", t);
		const char *next = fixture_machine_of(live, "ring", (t + 5) % 12);

		cr_assert_str_neq(here, "-");
		machines += strcmp(here, next) != 0;
		between += (here[1] - '0') / 3 != (next[1] - '0') / 3;
	}
	cr_expect_eq(between, 2);
	cr_expect_eq(machines, 6);
	for (uint32_t t = 1; t < 12; t++) {
		struct live_candidate candidates[2];
		char name[8], why[160];

		snprintf(name, sizeof name, "t%u", t);
		cr_assert_geq(live_explain(live, "ring", name, candidates, 2, why, &err), 0, "%s", err.text);
		cr_expect(strncmp(why, "its 2 edges to other tasks reach 0.", 35) == 0 &&
				  strstr(why, "; an exchange with t") && strstr(why, " more, others no less"),
			  "%s: %s", name, why);
	}
	live_destroy(live);
}

/* Two jobs that arrive together get no better roots and slots than is proved possible. */
Test(live, the_cost_of_rounds_is_bounded)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.bound = true;
	live = fixture_make(&settings);
	cr_assert_eq(fixture_submit(live, "a", 3, false, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_submit(live, "b", 5, false, &err), 0, "%s", err.text);
	fixture_step(live, 1);
	cr_expect_geq(live_totals(live).cost_bound, 6 * 100);
	cr_expect_geq(live_totals(live).cost, live_totals(live).cost_bound);
	cr_expect_leq(live_totals(live).cost, 2 * live_totals(live).cost_bound);
	live_destroy(live);
}

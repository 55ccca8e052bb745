/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>
#include <base/rng.h>
#include <sched/live/live.h>

static struct live *make(struct live_settings *settings)
{
	struct error err = {0};
	const double steep[] = {1, 0.8, 0.6, 0.4, 0.2};
	struct curve *curve = curve_from_table("steep", steep, 5, &err);
	struct live *live = live_create(settings, &err);

	cr_assert_not_null(live, "%s", err.text);
	for (int m = 0; m < 6; m++) {
		char name[8], rack[8];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / 3);
		cr_assert_eq(live_machine_set(live, name, rack, "p", 2, LIVE_UP, &err), 0, "%s", err.text);
	}
	cr_assert_eq(live_curve_set(live, "steep", curve, &err), 0, "%s", err.text);
	curve_destroy(curve);
	return live;
}

static struct live *make_default(void)
{
	struct live_settings settings;

	live_settings_default(&settings);
	settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
	settings.max_age_s = 0;
	return make(&settings);
}

static int submit(struct live *live, const char *id, uint32_t tasks, bool may_move, struct error *err)
{
	struct job_task of_job[16];
	char names[16][8];
	struct job job = {.id = (char *)id, .curve = (char *)"steep", .tasks = of_job, .task_count = tasks};

	for (uint32_t t = 0; t < tasks; t++) {
		snprintf(names[t], sizeof names[t], "t%u", t);
		of_job[t] = (struct job_task){.name = names[t], .machine = JOB_NO_MACHINE, .weight = 1};
	}
	return live_submit(live, &job, 0, may_move, 0, err);
}

static void measure(struct live *live, const char *a, const char *b, float rtt_us, double now_s)
{
	struct latency_sample sample = {(uint32_t)cluster_find_machine(live_cluster(live), a),
					(uint32_t)cluster_find_machine(live_cluster(live), b), rtt_us};

	cr_assert_eq(live_latency(live, &sample, 1, now_s), 0);
}

static int step(struct live *live, double now_s)
{
	struct error err = {0};
	int decisions = live_step(live, now_s, &err);

	cr_assert_geq(decisions, 0, "%s", err.text);
	return decisions;
}

static const struct live_task *task_of(const struct live *live, const char *job, uint32_t task)
{
	return &live_find_job(live, job)->tasks[task];
}

static const char *machine_of(const struct live *live, const char *job, uint32_t task)
{
	int32_t machine = task_of(live, job, task)->machine;

	return machine < 0 ? "-" : live_cluster(live)->machines[machine].name;
}

/* Confirms every task of a job that is decided or moves. */
static void confirm(struct live *live, const char *job, double now_s)
{
	const struct live_job *of = live_find_job(live, job);
	struct error err = {0};

	for (uint32_t t = 0; t < of->task_count; t++)
		if (of->tasks[t].state == LIVE_DECIDED || of->tasks[t].state == LIVE_MOVING)
			cr_assert_eq(live_started(live, job, of->tasks[t].name, machine_of(live, job, t), now_s, &err),
				     0, "%s", err.text);
}

Test(live, a_job_is_placed_near_its_root_confirmed_and_ends)
{
	struct live *live = make_default();
	struct error err = {0};
	size_t count;
	const struct live_decision *decisions;

	cr_assert_eq(submit(live, "web", 3, false, &err), 0, "%s", err.text);
	cr_expect_eq(submit(live, "web", 3, false, &err), -EEXIST);
	cr_expect_eq(step(live, 1), 3, "the root and the others in one step");
	decisions = live_decisions(live, 0, &count);
	cr_assert_eq(count, 3);
	cr_expect(decisions[0].is_root && decisions[0].sequence == 1);
	for (int i = 1; i < 3; i++) {
		cr_expect_not(decisions[i].is_root);
		cr_expect_gt(decisions[i].performance, 0);
		cr_expect(decisions[i].origin == LATENCY_ORIGIN_SAME_MACHINE ||
			  decisions[i].origin == LATENCY_ORIGIN_TOPOLOGY);
	}
	cr_expect_eq(step(live, 2), 0, "nothing changed");
	confirm(live, "web", 2);
	cr_expect_eq(task_of(live, "web", 1)->state, LIVE_RUNNING);
	cr_expect_eq(live_totals(live).free_slots, 12 - 3);
	cr_assert_eq(live_ended(live, "web", "t0", &err), 0);
	cr_assert_eq(live_ended(live, "web", "t1", &err), 0);
	cr_assert_eq(live_ended(live, "web", "t2", &err), 0);
	cr_expect_null(live_find_job(live, "web"), "a job whose tasks have ended is gone");
	step(live, 3);
	cr_expect_eq(live_totals(live).free_slots, 12);
	live_destroy(live);
}

Test(live, a_decision_that_is_not_confirmed_is_tried_again_and_given_up)
{
	struct live *live = make_default();
	struct error err = {0};
	double now = 1;

	cr_assert_eq(submit(live, "web", 1, false, &err), 0);
	for (int attempt = 1; attempt <= 5; attempt++) {
		cr_assert_eq(step(live, now), 1, "attempt %d", attempt);
		cr_expect_eq(task_of(live, "web", 0)->state, LIVE_DECIDED);
		cr_expect_eq(step(live, now + 59), 0);
		cr_expect_eq(step(live, now + 60), 0, "timed out; it pauses");
		cr_expect_eq(live_totals(live).free_slots, 12);
		now += 60 + pow(2, attempt - 1);
		cr_expect_leq(live_next_s(live, now - 1), attempt < 5 ? 1 : INFINITY);
	}
	cr_expect_eq(task_of(live, "web", 0)->state, LIVE_FAILED);
	cr_expect_eq(step(live, now + 1000), 0);
	cr_expect_eq(live_started(live, "web", "t0", "m0", now, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "is failed; expected a decision to start"), "%s", err.text);
	live_destroy(live);
}

Test(live, a_machine_that_goes_down_sends_its_tasks_elsewhere)
{
	struct live *live = make_default();
	struct error err = {0};
	char host[8];

	cr_assert_eq(submit(live, "web", 2, false, &err), 0);
	step(live, 1);
	confirm(live, "web", 1);
	strcpy(host, machine_of(live, "web", 0));
	cr_assert_eq(
		live_machine_set(live, host,
				 live_cluster(live)
					 ->racks[live_cluster(live)->machines[task_of(live, "web", 0)->machine].rack]
					 .name,
				 "p", 2, LIVE_DOWN, &err),
		0, "%s", err.text);
	cr_expect_eq(task_of(live, "web", 0)->state, LIVE_WAITING);
	cr_expect_geq(step(live, 2), 1);
	cr_expect_str_neq(machine_of(live, "web", 0), host);
	cr_expect_eq(task_of(live, "web", 0)->state, LIVE_DECIDED);
	live_destroy(live);
}

static void make_moving(struct live **live, struct live_settings *settings)
{
	struct error err = {0};

	live_settings_default(settings);
	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->max_age_s = 0;
	settings->migration = LIVE_MIGRATE_ON;
	*live = make(settings);
	/* One slot each, so that the root's machine has none for the other. */
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
			measure(*live, one, two, 20, 0);
		}
	cr_assert_eq(submit(*live, "web", 2, true, &err), 0);
	step(*live, 1);
	confirm(*live, "web", 1);
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
	strcpy(before, machine_of(live, "web", 1));
	last = live_last_decision(live);
	for (int m = 0; m < 6 && !near[0]; m++) {
		snprintf(near, sizeof near, "m%d", m);
		if (strcmp(near, before) == 0 || strcmp(near, machine_of(live, "web", 0)) == 0)
			near[0] = '\0';
	}
	measure(live, machine_of(live, "web", 0), near, 17, 2); /* 0.6 -> 0.66: under the gain of 0.1 */
	cr_expect_eq(step(live, 2), 0);
	measure(live, machine_of(live, "web", 0), near, 1, 3);
	cr_assert_eq(step(live, 3), 1);
	decision = live_decisions(live, last, &count);
	cr_expect_eq(decision->kind, LIVE_MOVE);
	cr_expect_str_eq(decision->from, before);
	cr_expect_str_eq(decision->to, near);
	cr_expect_geq(decision->gain, 0.1);
	cr_expect_eq(live_totals(live).free_slots, 3, "a move keeps its origin until it has started");
	confirm(live, "web", 4);
	cr_expect_eq(step(live, 4), 0);
	cr_expect_eq(live_totals(live).free_slots, 4);
	/* The old place becomes better at once: no way back within no_return_s. */
	measure(live, machine_of(live, "web", 0), near, 40, 5);
	measure(live, machine_of(live, "web", 0), before, 1, 5);
	cr_expect_eq(step(live, 5), 0);
	cr_expect_gt(live_totals(live).refused[LIVE_REFUSED_RETURN], 0);
	live_destroy(live);
}

Test(live, a_move_that_fails_leaves_the_task_where_it_was)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	char before[8];

	make_moving(&live, &settings);
	strcpy(before, machine_of(live, "web", 1));
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, before) != 0 && strcmp(name, machine_of(live, "web", 0)) != 0)
			measure(live, machine_of(live, "web", 0), name, 1, 2);
	}
	cr_assert_eq(step(live, 2), 1);
	cr_assert_eq(live_failed(live, "web", "t1", 3, &err), 0);
	cr_expect_str_eq(machine_of(live, "web", 1), before);
	cr_expect_eq(task_of(live, "web", 1)->state, LIVE_RUNNING);
	cr_expect_eq(live_totals(live).free_slots, 4);
	live_destroy(live);
}

Test(live, moves_are_off_unless_asked_for)
{
	struct live *live = make_default();
	struct error err = {0};

	cr_assert_eq(submit(live, "web", 2, true, &err), 0);
	step(live, 1);
	confirm(live, "web", 1);
	measure(live, machine_of(live, "web", 0), machine_of(live, "web", 1), 1000, 2);
	cr_expect_eq(step(live, 2), 0);
	live_destroy(live);
}

Test(live, draining_moves_tasks_at_the_allowed_rate_and_takes_none)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	char host[8], rack[8];

	make_moving(&live, &settings);
	strcpy(host, machine_of(live, "web", 1));
	snprintf(rack, sizeof rack, "r%d", (host[1] - '0') / 3);
	cr_assert_eq(live_machine_set(live, host, rack, "p", 1, LIVE_DRAINING, &err), 0);
	cr_assert_eq(step(live, 2), 1);
	cr_expect_str_neq(machine_of(live, "web", 1), host);
	confirm(live, "web", 3);
	step(live, 3);
	cr_expect_eq(live_machine_tasks(live, (uint32_t)cluster_find_machine(live_cluster(live), host)), 0);
	cr_assert_eq(live_machine_remove(live, host, &err), 0, "%s", err.text);
	cr_expect_eq(live_cluster(live)->machine_count >= 5, 1);
	live_destroy(live);
}

Test(live, an_unreachable_machine_gets_no_task_and_explain_says_the_candidates)
{
	struct live *live = make_default();
	struct live_candidate candidates[6];
	struct error err = {0};
	char why[160], root[8];
	int count;

	cr_assert_eq(submit(live, "web", 2, false, &err), 0);
	step(live, 1);
	confirm(live, "web", 1);
	strcpy(root, machine_of(live, "web", 0));
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, root) != 0)
			measure(live, root, name, INFINITY, 2);
	}
	count = live_explain(live, "web", "t1", candidates, 6, why, &err);
	cr_assert_gt(count, 0, "%s", err.text);
	for (int i = 1; i < count; i++)
		cr_expect_leq(candidates[i].performance, candidates[0].performance);
	cr_assert_eq(live_failed(live, "web", "t1", 3, &err), 0);
	step(live, 10);
	cr_expect(task_of(live, "web", 1)->machine < 0 || strcmp(machine_of(live, "web", 1), root) == 0,
		  "root on %s, task on %s", root, machine_of(live, "web", 1));
	live_destroy(live);
}

Test(live, bad_jobs_are_refused)
{
	struct live *live = make_default();
	struct error err = {0};
	struct job_task task = {.name = (char *)"t", .machine = JOB_NO_MACHINE};
	struct job job = {.id = (char *)"j", .curve = (char *)"none", .tasks = &task, .task_count = 1};

	cr_expect_eq(live_submit(live, &job, 0, false, 0, &err), -ENOENT);
	cr_expect_str_eq(err.text, "job 'j': unknown curve 'none'");
	cr_expect_eq(submit(live, "large", 13, false, &err), -E2BIG);
	cr_expect_eq(live_cancel(live, "no", &err), -ENOENT);
	cr_expect_eq(live_curve_remove(live, "steep", &err), 0);
	live_destroy(live);
}

/* What must hold after any event. */
static void check(const struct live *live)
{
	uint32_t jobs, used[64] = {0};
	struct live_job *const *list = live_jobs(live, &jobs);
	size_t count;
	const struct live_decision *decisions = live_decisions(live, 0, &count);

	for (uint32_t j = 0; j < jobs; j++)
		for (uint32_t t = 0; list[j] && t < list[j]->task_count; t++) {
			const struct live_task *task = &list[j]->tasks[t];
			bool holds = task->state == LIVE_DECIDED || task->state == LIVE_RUNNING ||
				     task->state == LIVE_MOVING;

			cr_assert_eq(holds, task->machine >= 0, "job %s task %s: %s", list[j]->id, task->name,
				     live_task_state_name(task->state));
			cr_assert_eq(task->state == LIVE_MOVING, task->origin >= 0);
			if (holds) {
				cr_assert_neq(live_machine_state_of(live, (uint32_t)task->machine), LIVE_DOWN);
				used[task->machine]++;
			}
			if (task->origin >= 0)
				used[task->origin]++;
		}
	for (uint32_t m = 0; m < live_cluster(live)->machine_count; m++)
		if (live_cluster(live)->machines[m].name)
			cr_assert_eq(used[m], live_machine_tasks(live, m), "machine %s: %u tasks, the network has %u",
				     live_cluster(live)->machines[m].name, used[m], live_machine_tasks(live, m));
	for (size_t d = 1; d < count; d++)
		cr_assert_eq(decisions[d].sequence, decisions[d - 1].sequence + 1);
}

static void random_report(struct live *live, struct rng *rng, double now_s)
{
	uint32_t jobs;
	struct live_job *const *list = live_jobs(live, &jobs);
	uint32_t j = jobs ? (uint32_t)rng_below(rng, jobs) : 0;
	const struct live_task *task;
	struct error err = {0};
	char id[16], name[16];

	if (jobs == 0 || !list[j])
		return;
	task = &list[j]->tasks[rng_below(rng, list[j]->task_count)];
	strcpy(id, list[j]->id);
	strcpy(name, task->name);
	switch (rng_below(rng, 6)) {
	case 0:
		live_failed(live, id, name, now_s, &err);
		break;
	case 1:
		live_ended(live, id, name, &err);
		break;
	case 2:
		live_cancel(live, id, &err);
		break;
	default:
		if (task->machine >= 0)
			live_started(live, id, name, live_cluster(live)->machines[task->machine].name, now_s, &err);
	}
}

static void random_event(struct live *live, struct rng *rng, double now_s)
{
	struct error err = {0};
	char id[16], name[16], rack[16];
	uint32_t machine = (uint32_t)rng_below(rng, 6);

	snprintf(name, sizeof name, "m%u", machine);
	snprintf(rack, sizeof rack, "r%u", machine / 3);
	switch (rng_below(rng, 5)) {
	case 0:
		snprintf(id, sizeof id, "j%u", (uint32_t)rng_below(rng, 8));
		submit(live, id, 1 + (uint32_t)rng_below(rng, 4), rng_below(rng, 2), &err);
		break;
	case 1:
		live_machine_set(live, name, rack, "p", (uint32_t)rng_below(rng, 4),
				 (enum live_machine_state)rng_below(rng, 3), &err);
		break;
	case 2: {
		struct latency_sample sample = {machine, (uint32_t)rng_below(rng, 6),
						rng_below(rng, 5) ? (float)(50 * rng_uniform(rng)) : INFINITY};

		cr_assert_eq(live_latency(live, &sample, 1, now_s), 0);
		cr_assert_eq(live_expire(live, now_s), 0);
		break;
	}
	default:
		random_report(live, rng, now_s);
	}
}

/* All kinds of events at random, twice: every law holds after each, and both runs decide the same. */
Test(live, random_events_keep_every_law_and_are_repeatable)
{
	uint64_t hashes[2];

	for (int run = 0; run < 2; run++) {
		struct live_settings settings;
		struct live *live;
		struct rng rng;
		double now_s = 0;
		uint64_t hash = HASH_FNV_START, seen = 0;

		live_settings_default(&settings);
		settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
		settings.migration = LIVE_MIGRATE_ON;
		settings.start_timeout_s = 5;
		settings.no_return_s = 10;
		settings.decisions_kept = 100;
		live = make(&settings);
		rng_seed(&rng, 17);
		for (int event = 0; event < 20000; event++) {
			const struct live_decision *decisions;
			size_t count;

			random_event(live, &rng, now_s);
			now_s += 0.3 * rng_uniform(&rng);
			if (rng_below(&rng, 2))
				step(live, now_s);
			check(live);
			decisions = live_decisions(live, seen, &count);
			for (size_t d = 0; d < count; d++) {
				hash = hash_fnv_bytes(hash, decisions[d].job, strlen(decisions[d].job));
				hash = hash_fnv_bytes(hash, decisions[d].to, strlen(decisions[d].to));
			}
			seen = live_last_decision(live);
		}
		cr_expect_gt(live_totals(live).decisions, 500);
		cr_expect_gt(live_totals(live).moves, 5);
		cr_expect_eq(live_totals(live).solver_errors, 0);
		hashes[run] = hash;
		live_destroy(live);
	}
	cr_expect_eq(hashes[0], hashes[1]);
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

/* Each row counts until it is too old, whenever it was read; then its rack pair's maximum takes its place. */
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
	live = make(&settings);
	part.wall = ns_from_us(5e11);
	add_row(matrix, "m0", "m3", 7, 5e5 - 10);
	add_row(matrix, "m0", "m4", 9, 5e5 - 50);
	add_row(matrix, "m0", "m5", 11, 5e5 - 61);
	add_row(matrix, "m1", "m3", NAN, 5e5 - 1);
	add_row(matrix, "m1", "m4", 3, 5e5 + 1); /* clocks differ */
	add_row(matrix, "m1", "m5", 3, 5e5 + 86400);
	add_row(matrix, "elsewhere", "m5", 3, 5e5);
	cr_assert_eq(live_latency_matrix(live, matrix, &part, &outcome), 0);
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

Test(live, a_decision_says_which_share_of_its_latencies_was_measured)
{
	struct live *live = make_default();
	struct error err = {0};
	const struct live_decision *decisions;
	const char *root;
	size_t count;

	cr_assert_eq(submit(live, "web", 1, false, &err), 0);
	cr_assert_eq(step(live, 1), 1);
	confirm(live, "web", 1);
	root = machine_of(live, "web", 0);
	decisions = live_decisions(live, 0, &count);
	cr_expect(isnan(decisions[0].measured), "the root's has none");
	cr_assert_eq(live_cancel(live, "web", &err), 0);
	for (int m = 0; m < 3; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		if (strcmp(name, root) != 0)
			measure(live, root, name, 5, 1);
	}
	cr_assert_eq(submit(live, "web", 3, false, &err), 0);
	cr_assert_eq(step(live, 2), 3);
	decisions = live_decisions(live, 1, &count);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(decisions[0].to, root, "placed as before");
	cr_expect_float_eq(decisions[1].measured, strcmp(root, "m3") < 0 ? 2 / 5.0 : 3 / 5.0, 1e-9);
	live_destroy(live);
}

/* Two machines: web's root on m0, t1 on m3, 40 us away; then m1 is up, 1 us away. */
static struct live *make_movable(struct live_settings *settings, double restart_s)
{
	struct error err = {0};
	struct live *live;

	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->max_age_s = 0;
	live = make(settings);
	for (int m = 0; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		live_machine_set(live, name, m < 3 ? "r0" : "r1", "p", 1, m == 0 ? LIVE_UP : LIVE_DOWN, &err);
	}
	measure(live, "m0", "m3", 40, 0);
	measure(live, "m0", "m1", 1, 0);
	live_machine_set(live, "m3", "r1", "p", 1, LIVE_UP, &err);
	cr_assert_eq(submit(live, "web", 2, true, &err), 0, "%s", err.text);
	cr_assert_eq(live_set_restart(live, "web", restart_s, &err), 0);
	cr_assert_eq(step(live, 1), 2);
	confirm(live, "web", 1);
	if (strcmp(machine_of(live, "web", 0), "m3") == 0) { /* the root is there: all the other way round */
		measure(live, "m3", "m1", 1, 0);
		measure(live, "m0", "m1", INFINITY, 0);
	}
	cr_assert_eq(step(live, 2), 0);
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

Test(live, a_move_waits_until_the_gain_has_held_and_the_restart_pays)
{
	struct live_settings settings;
	struct live *live;

	live_settings_default(&settings);
	settings.migration = LIVE_MIGRATE_ON;
	settings.migrate_hold_s = 10;
	live = make_movable(&settings, 30);
	cr_expect_eq(step(live, 3), 0);
	expect_why(live, "< 10 s");
	cr_expect_float_eq(live_next_s(live, 3), 10, 1e-9, "a round when the hold is over");
	cr_expect_eq(step(live, 13), 0, "the gain times 12 s does not pay for 30 s");
	expect_why(live, "< restart of 30 s");
	cr_expect_geq(live_next_s(live, 13), 20);
	cr_expect_eq(step(live, 13 + live_next_s(live, 13)), 1);
	cr_expect_eq(task_of(live, "web", 1)->state, LIVE_MOVING);
	cr_expect_eq(live_totals(live).refused[LIVE_REFUSED_HOLD], 1);
	cr_expect_eq(live_totals(live).refused[LIVE_REFUSED_RESTART], 1);
	live_destroy(live);
}

Test(live, moves_wait_for_their_window_and_limits)
{
	struct live_settings settings;
	struct error err = {0};
	struct live *live;

	live_settings_default(&settings);
	settings.migration = LIVE_MIGRATE_ON;
	settings.migrate_per_machine = 1;
	live = make_movable(&settings, -1);
	live_open_moves(live, false);
	cr_expect_eq(step(live, 3), 0);
	expect_why(live, "before the next window");
	live_open_moves(live, true);
	cr_expect_eq(step(live, 4), 1);
	cr_expect_eq(live_totals(live).refused[LIVE_REFUSED_CLOSED], 1);
	confirm(live, "web", 5);
	cr_expect_str_eq(machine_of(live, "web", 1), "m1");
	/* Its job gets a task that could move there, too, while one is on the move from there. */
	cr_assert_eq(live_machine_set(live, "m1", "r0", "p", 1, LIVE_DRAINING, &err), 0);
	cr_expect_eq(step(live, 6), 1, "a drain moves it whatever the gain");
	cr_expect(live_decisions(live, live_last_decision(live) - 1, &(size_t){0})->drains);
	live_destroy(live);
}

Test(live, advice_is_given_once)
{
	struct live_settings settings;
	const struct live_decision *decisions;
	struct live *live;
	size_t count;

	live_settings_default(&settings);
	settings.migration = LIVE_MIGRATE_ADVISE;
	live = make_movable(&settings, -1);
	cr_expect_eq(step(live, 3), 1);
	decisions = live_decisions(live, live_last_decision(live) - 1, &count);
	cr_expect_eq(decisions->kind, LIVE_ADVICE);
	for (int i = 4; i < 8; i++) {
		measure(live, "m4", "m5", (float)i, i);
		live_machine_set(live, "m2", "r0", "p", 0, LIVE_UP, &(struct error){0});
		cr_expect_eq(step(live, i), 0, "said already");
	}
	cr_expect_eq(task_of(live, "web", 1)->state, LIVE_RUNNING);
	live_destroy(live);
}

/* A move that would make room is refused: the task that waits goes elsewhere. */
Test(live, a_refused_move_keeps_nobody_waiting)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct live_settings settings;
		struct error err = {0};
		struct live *live;
		struct rng rng;

		live_settings_default(&settings);
		settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
		settings.migration = LIVE_MIGRATE_ON;
		settings.migrate_gain = 0.5;
		settings.max_age_s = 0;
		settings.confirm_at_once = true;
		live = make(&settings);
		rng_seed(&rng, seed);
		for (int pair = 0; pair < 15; pair++) {
			struct latency_sample sample = {(uint32_t)rng_below(&rng, 6), (uint32_t)rng_below(&rng, 6),
							(float)(50 * rng_uniform(&rng))};

			cr_assert_eq(live_latency(live, &sample, 1, 0), 0);
		}
		for (int j = 0; j < 4; j++) {
			char id[8];

			snprintf(id, sizeof id, "j%d", j);
			cr_assert_eq(submit(live, id, 3, true, &err), 0);
			for (int round = 0; round < 4; round++)
				step(live, 1 + j);
			cr_expect_eq(live_totals(live).waiting, 0, "seed %d, job %d", (int)seed, j);
		}
		live_destroy(live);
	}
}

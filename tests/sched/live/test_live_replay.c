/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay of a journal's calls: its counts, its performance, and journals that do not fit. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <sched/live/calls.h>

#include "fixture.h"

/* A journal that is being written, with the time of its next event. */
struct journal {
	FILE *out;
	char *text;
	size_t bytes;
	int64_t time_us;
};

static void print(struct journal *journal, struct journal_event event)
{
	event.time_us = journal->time_us;
	event.run_us = JOURNAL_RUN_UNKNOWN;
	cr_assert(journal_print(journal->out, &event));
}

static void note_call(void *context, const char *call)
{
	print(context, (struct journal_event){.kind = JOURNAL_CALL, .definition = call});
}

static void note_measured(void *context, const struct live *live, const struct latency_sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct cluster_machine *machines = live_cluster(live)->machines;
		struct journal_pair pair = {machines[samples[i].destination].name, (double)samples[i].rtt_us};

		print(context, (struct journal_event){.kind = JOURNAL_LATENCY,
						      .machine = machines[samples[i].source].name,
						      .pairs = &pair,
						      .pair_count = 1});
	}
}

static void begin_journal(struct journal *journal)
{
	*journal = (struct journal){0};
	journal->out = open_memstream(&journal->text, &journal->bytes);
	cr_assert(journal_print_header(journal->out, 0, NULL));
}

/* A state whose calls and measurements are noted in the journal. */
static struct live *make(struct journal *journal, struct live_settings *settings)
{
	settings->policy_settings.machine_threshold = settings->policy_settings.rack_threshold = 1000;
	settings->called = note_call;
	settings->measured = note_measured;
	settings->context = journal;
	return fixture_make(settings);
}

static void step(struct live *live, struct journal *journal, double now_s)
{
	uint64_t last = live_last_decision(live);
	const struct live_decision *decisions;
	size_t count;

	journal->time_us = (int64_t)(now_s * 1e6);
	fixture_step(live, now_s);
	decisions = live_decisions(live, last, &count);
	for (size_t d = 0; d < count; d++) {
		struct journal_event event;

		live_decision_event(&decisions[d], journal->time_us, &event);
		print(journal, event);
	}
}

/* Replays the text of a journal. */
static int replay_text(const char *text, size_t bytes, FILE *made, struct live_replayed *replayed, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("journal", text, bytes, err);
	int code = live_replay(lines, made, replayed, err);

	file_lines_close(lines);
	return code;
}

/*
 * From 0 to 7 s, web's t1 and t2 are 10 and 30 us from their root, whose machine would be the best, at 1 us; then t1 is
 * 20 us away. Db joins then, with a task at 20 us. A job of one task has no performance.
 */
Test(live_replay, performance_counts_each_second_of_each_job)
{
	const double best = 0.98;
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	struct live *live;
	char *made_text, *printed;
	size_t made_bytes, printed_bytes;
	FILE *made = open_memstream(&made_text, &made_bytes), *out;
	json_t *json, *performance;
	uint64_t calls = 0;

	begin_journal(&journal);
	live_settings_default(&settings);
	settings.max_age_s = 0;
	live = make(&journal, &settings);
	fixture_measure(live, "m0", "m1", 10, 0);
	fixture_measure(live, "m0", "m3", 30, 0);
	fixture_measure(live, "m4", "m5", 20, 0);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m1 m3", false, 0, 0, &err), 0, "%s", err.text);
	step(live, &journal, 2.25);
	cr_assert_eq(fixture_submit(live, "single", 1, false, &err), 0, "%s", err.text);
	step(live, &journal, 3.9);
	step(live, &journal, 6);
	journal.time_us = 7500000;
	fixture_measure(live, "m0", "m1", 20, 5);
	cr_assert_eq(fixture_submit_running(live, "db", "m4 m5", false, 0, 5, &err), 0, "%s", err.text);
	step(live, &journal, 7.6);
	journal.time_us = 9100000;
	cr_assert_eq(live_cancel(live, "single", &err), 0);
	live_destroy(live);
	fclose(journal.out);
	cr_assert_eq(replay_text(journal.text, journal.bytes, made, &replayed, &err), 0, "%s", err.text);
	fclose(made);
	cr_expect_eq(replayed.jobs, 2);
	cr_expect_float_eq(replayed.area, ((6 * 0.6 + 2 * 0.5) / 8 / best + 0.6 / best) / 2, 1e-5);
	cr_expect_float_eq(replayed.area_worst, (0.4 / best + 0.6 / best) / 2, 1e-5);
	cr_expect_float_eq(replayed.task_mean, (6 * 1.2 + 2 * 1.0 + 2 * 0.6) / (6 * 2 + 2 * 2 + 2), 1e-5);
	cr_expect_eq(replayed.segments, 1);
	for (const char *at = journal.text; (at = strstr(at, "\"event\": \"call\"")); at++)
		calls++;
	cr_expect_eq(replayed.calls, calls);
	cr_expect_eq(replayed.decisions, 1);
	cr_expect_eq(replayed.recorded, 1);
	cr_expect_eq(replayed.unmade + replayed.left_out, 0);
	cr_expect_not(live_replayed_differs(&replayed));
	cr_expect_not_null(strstr(journal.text, made_text), "the decision as it was recorded");
	cr_expect_not_null(strstr(made_text, "\"single\""));
	json = live_replayed_to_json(&replayed);
	performance = json_object_get(json, "performance");
	cr_expect_str_eq(json_string_value(json_object_get(json, "schema")), "nomora.replay/1");
	cr_expect_eq(json_integer_value(json_object_get(json, "calls")), (json_int_t)replayed.calls);
	cr_expect_eq(json_integer_value(json_object_get(performance, "jobs")), 2);
	cr_expect_float_eq(json_real_value(json_object_get(performance, "area")), replayed.area, 1e-12);
	cr_expect_float_eq(json_real_value(json_object_get(performance, "area_worst_task")), replayed.area_worst,
			   1e-12);
	cr_expect_float_eq(json_real_value(json_object_get(performance, "task_mean")), replayed.task_mean, 1e-12);
	json_decref(json);
	replayed.left_out = 3;
	out = open_memstream(&printed, &printed_bytes);
	live_replayed_print(&replayed, out);
	fclose(out);
	cr_expect_not_null(strstr(printed, " calls, 1 decisions: 1 as recorded, 0 different\n"), "%s", printed);
	cr_expect_not_null(strstr(printed, "performance of 2 jobs, %: 59.9, worst task 51.0, mean over tasks 57.8\n"),
			   "%s", printed);
	cr_expect_not_null(strstr(printed, "\n3 decisions are not compared"), "%s", printed);
	free(printed);
	free(made_text);
	free(journal.text);
}

Test(live_replay, a_journal_without_jobs_has_no_performance)
{
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	json_t *json;

	begin_journal(&journal);
	live_settings_default(&settings);
	live_destroy(make(&journal, &settings));
	fclose(journal.out);
	cr_assert_eq(replay_text(journal.text, journal.bytes, NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.jobs, 0);
	cr_expect(isnan(replayed.area) && isnan(replayed.area_worst) && isnan(replayed.task_mean));
	json = live_replayed_to_json(&replayed);
	cr_expect(json_is_null(json_object_get(json_object_get(json, "performance"), "area")));
	json_decref(json);
	free(journal.text);
}

static void set_machine(struct live *live, int number, uint32_t slots, enum live_machine_state state)
{
	struct error err = {0};
	char name[8];

	snprintf(name, sizeof name, "m%d", number);
	cr_assert_eq(live_machine_set(live, name, number < 3 ? "r0" : "r1", "p", slots, state, &err), 0, "%s",
		     err.text);
}

/*
 * A day of a minute: two tasks could move to m1 and m2, later back; tasks of another job start, fail and end; moves are
 * closed for a while. Returns the number of decisions.
 */
static uint64_t play(struct journal *journal, struct live_settings *settings, struct job_limits limits,
		     const char *graph, bool confirms)
{
	struct live *live = make(journal, settings);
	static const uint32_t slots[] = {1, 2, 1, 3, 2, 4};
	struct error err = {0};
	uint64_t last;

	for (int m = 0; m < 6; m++)
		set_machine(live, m, slots[m], m == 1 || m == 2 ? LIVE_DOWN : LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3 m3", true, 5, 0, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_submit_graph(live, "new", 8, true, limits, graph, &err), 0, "%s", err.text);
	for (int second = 1; second < 60; second++) {
		journal->time_us = second * INT64_C(1000000);
		if (second == 2) {
			set_machine(live, 1, slots[1], LIVE_UP);
			set_machine(live, 2, slots[2], LIVE_UP);
		}
		if (second == 3 || second == 20) {
			fixture_measure(live, "m0", "m1", second == 3 ? 1 : 40, second);
			fixture_measure(live, "m0", "m3", second == 3 ? 40 : 2, second);
			fixture_measure(live, "m0", "m2", second == 3 ? 1 : 40, second);
			fixture_measure(live, "m0", "m4", 40, second);
			fixture_measure(live, "m0", "m5", 40, second);
		}
		live_expire(live, second);
		if (second == 30 || second == 40)
			live_open_moves(live, second == 40);
		if (second == 35)
			cr_assert_eq(live_set_restart(live, "web", 1000, &err), 0);
		step(live, journal, second);
		if (second % 7 < 2)
			live_failed(live, "new", "t1", second, &err);
		else if (confirms)
			fixture_confirm(live, "new", second);
		if (confirms)
			fixture_confirm(live, "web", second);
		if (second == 45)
			live_ended(live, "new", "t2", &err);
	}
	last = live_last_decision(live);
	live_destroy(live);
	return last;
}

/* Plays and replays. Returns the replay's decisions as text; the caller frees. */
static char *play_again(struct live_settings *settings, struct job_limits limits, const char *graph, bool confirms,
			const char *what)
{
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	uint64_t made;

	begin_journal(&journal);
	made = play(&journal, settings, limits, graph, confirms);
	fclose(journal.out);
	cr_expect_gt(made, 4, "%s", what);
	cr_assert_eq(replay_text(journal.text, journal.bytes, out, &replayed, &err), 0, "%s: %s", what, err.text);
	fclose(out);
	cr_expect_eq(replayed.decisions, made, "%s: %d of %d", what, (int)replayed.decisions, (int)made);
	cr_expect_eq(replayed.recorded, made, "%s", what);
	cr_expect_eq(replayed.unmade, 0, "%s: %s", what, replayed.first);
	free(journal.text);
	return text;
}

/* Each setting changes the decisions, or keeps them from being made: the replay has the same settings. */
Test(live_replay, every_setting_is_that_of_the_journal)
{
	enum { VARIANTS = 18 };
	struct live_settings defaults, settings;
	char *usual = NULL;

	live_settings_default(&defaults);
	defaults.moves.mode = MIGRATION_ON;
	defaults.max_age_s = 25;
	for (int variant = 0; variant < VARIANTS; variant++) {
		struct job_limits limits = {0};
		bool confirms;
		char what[16], *made;

		settings = defaults;
		settings.moves.mode = variant == 1 ? MIGRATION_OFF : variant == 2 ? MIGRATION_ADVISE : MIGRATION_ON;
		settings.moves.gain = variant == 3 ? 1 : defaults.moves.gain;
		settings.moves.hold_s = variant == 4 ? 1000 : 0;
		settings.moves.restart_s = variant == 5 ? 1000 : 0;
		settings.moves.no_return_s = variant == 6 ? 0 : defaults.moves.no_return_s;
		settings.moves.rate = variant == 7 ? 1 : defaults.moves.rate;
		settings.moves.per_machine = variant == 8;
		settings.moves.per_job = variant == 9;
		settings.require_measured = variant == 10;
		settings.start_timeout_s = variant == 11 ? 4 : defaults.start_timeout_s;
		settings.retry_s = variant == 12 ? 9 : defaults.retry_s;
		settings.attempts_maximum = variant == 13 ? 2 : defaults.attempts_maximum;
		settings.confirm_at_once = variant == 14;
		confirms = variant != 11 && variant != 14;
		if (variant == 15)
			settings.default_rtt = (struct cluster_default_rtt){30, 20, 10, 5};
		if (variant == 16)
			limits = (struct job_limits){0.5, 10, 1, 8};
		snprintf(what, sizeof what, "variant %d", variant);
		made = play_again(&settings, limits, variant == 17 ? "tree" : NULL, confirms, what);
		if (variant == 0) {
			usual = made;
			continue;
		}
		cr_expect_str_neq(made, usual, "%s changes nothing", what);
		free(made);
	}
	free(usual);
}

/* The job old of a state that is restored: a task of each state, and the root has ended on m0. */
static void restore(struct live *live, double now_s)
{
	static const enum live_task_state states[] = {LIVE_ENDED,   LIVE_RUNNING, LIVE_MOVING,
						      LIVE_DECIDED, LIVE_FAILED,  LIVE_WAITING};
	static const int32_t machines[] = {0, 1, 3, 5, -1, -1};
	struct job_task of_job[6];
	struct live_task tasks[6];
	char names[6][8];
	struct job job = {.id = (char *)"old", .curve = (char *)"steep", .tasks = of_job, .task_count = 6};
	struct error err = {0};

	for (int t = 0; t < 6; t++) {
		snprintf(names[t], sizeof names[t], "t%d", t);
		of_job[t] = (struct job_task){.name = names[t], .machine = JOB_NO_MACHINE};
		tasks[t] = (struct live_task){.state = states[t],
					      .machine = machines[t],
					      .origin = states[t] == LIVE_MOVING ? 4 : -1,
					      .came_from = states[t] == LIVE_RUNNING ? 2 : -1,
					      .moved_s = states[t] == LIVE_RUNNING ? now_s - 5 : -INFINITY,
					      .since_s = now_s - 2,
					      .started_s = now_s - 20,
					      .attempts = states[t] == LIVE_FAILED ? 5
							  : t == 5                 ? 4
										   : 0};
	}
	cr_assert_eq(live_restore(live, &job, 7, true, tasks, now_s, &err), 0, "%s", err.text);
}

Test(live_replay, a_restored_job_goes_on_from_its_states)
{
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	struct live *live;
	const char *second, *decision;
	char *changed;
	uint64_t last;

	begin_journal(&journal);
	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.no_return_s = 30;
	settings.max_age_s = 0;
	settings.default_rtt = (struct cluster_default_rtt){40, 40, 40, 40};
	live = make(&journal, &settings);
	cr_assert_eq(fixture_submit(live, "web", 2, true, &err), 0);
	step(live, &journal, 1);
	cr_assert_eq(live_last_decision(live), 2);
	live_destroy(live);
	fflush(journal.out);
	last = journal.bytes; /* where the second segment begins */
	live = make(&journal, &settings);
	live_number_decisions(live, 2);
	fixture_measure(live, "m0", "m1", 40, 10);
	fixture_measure(live, "m0", "m2", 1, 10);
	restore(live, 10);
	cr_expect_eq(live_owner_tasks(live, 7), 6);
	cr_expect_eq(live_find_job(live, "old")->reference, 0);
	cr_expect_eq(fixture_task_of(live, "old", 0)->machine, -1);
	cr_expect_eq(fixture_task_of(live, "old", 2)->state, LIVE_RUNNING);
	cr_expect_str_eq(fixture_machine_of(live, "old", 2), "m4");
	cr_expect_eq(fixture_task_of(live, "old", 2)->origin, -1);
	cr_expect_eq(fixture_task_of(live, "old", 3)->state, LIVE_DECIDED);
	cr_expect_eq(fixture_task_of(live, "old", 4)->state, LIVE_FAILED);
	cr_expect_eq(fixture_task_of(live, "old", 4)->attempts, 5);
	cr_expect_eq(live_totals(live).free_slots, 9, "%d", (int)live_totals(live).free_slots);
	for (int second_s = 10; second_s < 50; second_s++) {
		step(live, &journal, second_s);
		journal.time_us = second_s * INT64_C(1000000) + 1;
		if (second_s == 10)
			cr_assert_eq(live_failed(live, "old", "t5", second_s, &err), 0, "%s", err.text);
		fixture_confirm(live, "old", second_s);
	}
	cr_expect_eq(fixture_task_of(live, "old", 5)->state, LIVE_FAILED, "its fifth failure");
	cr_expect_str_eq(fixture_machine_of(live, "old", 1), "m2", "it has returned");
	cr_expect_float_eq(fixture_task_of(live, "old", 1)->moved_s, 35, 1e-9, "when no_return_s was over");
	last = live_last_decision(live) > 2 ? last : 0;
	cr_expect_gt(last, 0);
	live_destroy(live);
	fclose(journal.out);
	cr_assert_eq(replay_text(journal.text, journal.bytes, NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.segments, 2);
	cr_expect_eq(replayed.unmade, 0, "%s", replayed.first);
	cr_expect_not(live_replayed_differs(&replayed));
	cr_expect_eq(replayed.left_out, 0);
	/* Without the beginning of the first segment, that segment is left out. */
	second = strchr(strchr(journal.text, '\n') + 1, '\n') + 1;
	changed = malloc(journal.bytes + 1);
	snprintf(changed, journal.bytes + 1, "%.*s%s", (int)(strchr(journal.text, '\n') + 1 - journal.text),
		 journal.text, second);
	cr_assert_eq(replay_text(changed, strlen(changed), NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.segments, 1);
	cr_expect_eq(replayed.left_out, 2);
	cr_expect_not(live_replayed_differs(&replayed));
	/* A decision that was recorded otherwise, and one that was not recorded. */
	strcpy(changed, journal.text);
	decision = strstr(changed, "\"decision\"");
	cr_assert_not_null(decision);
	memcpy(strstr(decision, "\"task\": \"t"), "\"task\": \"x", 10);
	cr_assert_eq(replay_text(changed, strlen(changed), NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.unmade, 1);
	cr_expect(live_replayed_differs(&replayed));
	cr_expect(strstr(replayed.first, "recorded {") == replayed.first && strstr(replayed.first, "made     {"), "%s",
		  replayed.first);
	free(changed);
	free(journal.text);
}

/* A journal of this begin and these machines and curves, and then one more call, which is refused with this message. */
static void expect_refused(const char *call, const char *message)
{
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	struct live *live;
	int code;

	begin_journal(&journal);
	live_settings_default(&settings);
	live = make(&journal, &settings);
	cr_assert_eq(live_machine_set(live, "m5", "r1", "p", 2, LIVE_DOWN, &err), 0);
	note_call(&journal, call);
	live_destroy(live);
	fclose(journal.out);
	code = replay_text(journal.text, journal.bytes, NULL, &replayed, &err);
	cr_expect_lt(code, 0, "%s", call);
	cr_expect_eq(strncmp(err.text, "journal:", 8), 0, "%s: %s", call, err.text);
	cr_expect_not_null(strstr(err.text, message), "%s: %s", call, err.text);
	free(journal.text);
}

Test(live_replay, a_call_that_does_not_fit_is_refused)
{
	static const char *const cases[][2] = {
		{"{\"number\": 1}", "do"},
		{"{\"do\": \"dance\"}", "unknown call 'dance'"},
		{"{\"do\": \"step\"}", "number"},
		{"{\"do\": \"step\", \"number\": 1e16}", "number"},
		{"{\"do\": \"cancel\"}", "name"},
		{"{\"do\": \"cancel\", \"name\": \"web\"}", "unknown job 'web'"},
		{"{\"do\": \"remove\", \"name\": \"m9\"}", "unknown machine 'm9'"},
		{"{\"do\": \"forget\", \"name\": \"none\"}", "unknown curve 'none'"},
		{"{\"do\": \"ended\", \"job\": \"web\", \"task\": \"t0\", \"now_s\": 1}",
		 "unknown task 't0' of job 'web'"},
		{"{\"do\": \"failed\", \"job\": \"web\", \"task\": \"t0\", \"now_s\": 1}",
		 "unknown task 't0' of job 'web'"},
		{"{\"do\": \"started\", \"job\": \"web\", \"task\": \"t0\", \"machine\": \"m0\", \"now_s\": 1}",
		 "unknown task 't0' of job 'web'"},
		{"{\"do\": \"restart\", \"job\": \"web\", \"now_s\": 1}", "unknown job 'web'"},
		{"{\"do\": \"restart\", \"job\": \"web\"}", "now_s"},
		{"{\"do\": \"machine\", \"name\": \"x\", \"rack\": \"r\", \"slots\": 1, \"state\": \"off\"}",
		 "unknown state 'off'"},
		{"{\"do\": \"machine\", \"name\": \"m0\", \"rack\": \"r1\", \"pod\": \"p\", \"slots\": 1, "
		 "\"state\": \"up\"}",
		 "machine 'm0' is in rack 'r0', pod 'p'"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"none\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [\"a\"]}",
		 "unknown curve 'none'"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 1, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [\"a\"]}",
		 "expected one of the job's tasks"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": []}",
		 "expected one of the job's tasks"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [7]}",
		 "expected names"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"m9\", 0, 0]]}",
		 "unknown machine 'm9'"},
		{"{\"do\": \"submit\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"m5\", 0, 0]]}",
		 "job 'x': task 'a' runs on machine 'm5', which is down"},
		{"{\"do\": \"restore\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"lost\", null, null, 0, 0, null, null, 0]]}",
		 "expected a state"},
		{"{\"do\": \"restore\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"running\", \"m5\", null, 0, 0, null, null, 0]]}",
		 "the machine of task 'a' is missing or down"},
		{"{\"do\": \"restore\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"decided\", null, null, 0, 0, null, null, 0]]}",
		 "the machine of task 'a' is missing or down"},
		{"{\"do\": \"restore\", \"job\": \"x\", \"curve\": \"steep\", \"root\": 0, \"owner\": 0, "
		 "\"now_s\": 0, \"tasks\": [[\"a\", \"moving\", \"m0\", \"m5\", 0, 0, null, null, 0]]}",
		 "the machine of task 'a' is missing or down"},
		{"{\"do\": \"begin\"}", "policy"},
		{"{\"do\": \"begin\", \"policy\": {\"name\": \"best\"}}", "unknown policy 'best'"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_refused(cases[i][0], cases[i][1]);
}

Test(live_replay, settings_that_are_not_whole_are_refused)
{
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	char *begin, *rtt;

	begin_journal(&journal);
	live_settings_default(&settings);
	live_destroy(make(&journal, &settings));
	fclose(journal.out);
	rtt = strstr(journal.text, "100.0,250.0]");
	rtt = rtt ? rtt : strstr(journal.text, "100.0, 250.0]");
	cr_assert_not_null(rtt, "%s", journal.text);
	begin = strchr(rtt, ']');
	for (char *at = rtt + 5; at < begin; at++)
		*at = ' ';
	cr_assert_lt(replay_text(journal.text, journal.bytes, NULL, &replayed, &err), 0);
	cr_expect_not_null(strstr(err.text, "expected four round trips"), "%s", err.text);
	free(journal.text);
}

/* While moves are closed, m1 is near for a while: web's t1 does not move. Later it does, as it has run for 60 s. */
Test(live_replay, moves_are_closed_and_opened_again)
{
	struct live_settings settings;
	struct live_replayed replayed;
	struct journal journal;
	struct error err = {0};
	struct live *live;

	begin_journal(&journal);
	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.max_age_s = 0;
	settings.moves.restart_s = 45;
	settings.default_rtt = (struct cluster_default_rtt){1, 40, 40, 40};
	live = make(&journal, &settings);
	set_machine(live, 0, 1, LIVE_UP);
	cr_assert_eq(fixture_submit_running(live, "web", "m0 m3", true, 60, 0, &err), 0, "%s", err.text);
	for (int m = 1; m < 6; m++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", m);
		fixture_measure(live, "m0", name, 40, 0);
	}
	live_open_moves(live, false);
	fixture_measure(live, "m0", "m1", 1, 3);
	step(live, &journal, 3);
	fixture_measure(live, "m0", "m1", 40, 4);
	step(live, &journal, 4);
	live_open_moves(live, true);
	step(live, &journal, 5);
	cr_expect_eq(live_last_decision(live), 0);
	fixture_measure(live, "m0", "m2", 1, 6);
	step(live, &journal, 6);
	cr_expect_eq(live_last_decision(live), 1);
	live_destroy(live);
	fclose(journal.out);
	cr_assert_eq(replay_text(journal.text, journal.bytes, NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.decisions, 1);
	cr_expect_not(live_replayed_differs(&replayed), "%s", replayed.first);
	free(journal.text);
}

/* Files: the replay's decisions are written only if the journal can be replayed. */
Test(live_replay, a_journal_in_a_file)
{
	char folder[] = "/tmp/nomora-replay.XXXXXX", journal_path[64], record[64];
	struct live_settings settings;
	struct live_replayed replayed;
	struct error err = {0};

	cr_assert_not_null(mkdtemp(folder));
	snprintf(journal_path, sizeof journal_path, "%s/journal", folder);
	snprintf(record, sizeof record, "%s/record", folder);
	live_settings_default(&settings);
	for (int bad = 2; bad >= 0; bad--) {
		struct journal_pair pair = {bad == 1 ? "m9" : "m1", 7};
		struct journal journal;
		struct live *live;
		FILE *file;

		begin_journal(&journal);
		live = make(&journal, &settings);
		cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
		step(live, &journal, 1);
		print(&journal, (struct journal_event){.kind = JOURNAL_LATENCY,
						       .machine = bad == 2 ? "m8" : "m0",
						       .pairs = &pair,
						       .pair_count = 1});
		live_destroy(live);
		fclose(journal.out);
		file = fopen(journal_path, "w");
		fputs(journal.text, file);
		fclose(file);
		free(journal.text);
		err = (struct error){0};
		cr_expect_eq(live_replay_file(journal_path, record, &replayed, &err), bad ? -ENOENT : 0, "%s",
			     err.text);
		if (bad)
			cr_expect(strstr(err.text, bad == 2 ? "unknown machine 'm8'" : "unknown machine 'm9'"), "%s",
				  err.text);
		cr_expect_eq(access(record, F_OK) == 0, !bad);
		cr_expect(bad || replayed.decisions == 2);
	}
	unlink(record);
	unlink(journal_path);
	rmdir(folder);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweep's log: each event is read back as it was written. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <model/sweep_log.h>

/* Reads one event back from the text of `json`; takes over the reference. The caller closes the reader. */
static struct sweep_log_reader *read_back(json_t *json, struct sweep_log_event *event)
{
	static char text[4096];
	struct error err = {0};
	struct sweep_log_reader *reader;
	size_t bytes = json_dumpb(json, text, sizeof text, JSON_COMPACT | JSON_REAL_PRECISION(12));

	json_decref(json);
	reader = sweep_log_open(file_lines_from_memory("s.log", text, bytes, &err), &err);
	cr_assert_not_null(reader);
	cr_assert_eq(sweep_log_next(reader, event, &err), 1, "%s", err.text);
	return reader;
}

static const struct sweep_log_run run = {
	.delay_us = 12.5, .direction = SWEEP_BA, .run = 3, .attempt = 2, .disturbed = true, .reasons = "x; y"};

static void assert_run(const struct sweep_log_run *read)
{
	cr_assert_eq(read->delay_us, 12.5);
	cr_assert_eq(read->direction, SWEEP_BA);
	cr_assert_eq(read->run, 3);
	cr_assert_eq(read->attempt, 2);
	cr_assert(read->disturbed);
	cr_assert_str_eq(read->reasons, "x; y");
}

Test(sweep_log, an_attempt_is_read_back_as_it_was_written)
{
	struct sweep_log_attempt attempt = {.run = run,
					    .started_at = "2026-11-20T10:00:00Z",
					    .elapsed_s = 1.5,
					    .metric_count = 1,
					    .metric_names = {"qps"},
					    .metric_values = {9},
					    .rtt_by = SWEEP_LOG_RTT_PROBE,
					    .rtt_unchecked = "why",
					    .rtt_us = 30,
					    .rtt_expected_us = 25,
					    .has_injector = true,
					    .injector = {1.5,
							 2,
							 3,
							 4,
							 5,
							 6,
							 7,
							 0.5,
							 8,
							 9,
							 10,
							 11,
							 12,
							 13,
							 14,
							 15,
							 {{16, 16, 17, 18}, {19, 20, 21, 22}}},
					    .steal_percent = 1,
					    .busy_percent = 2,
					    .load = 3,
					    .processors = 4,
					    .processors_used = 2.5};
	struct sweep_log_event event;
	struct sweep_log_reader *reader = read_back(sweep_log_attempt_to_json(&attempt), &event);

	cr_assert_eq(event.kind, SWEEP_LOG_ATTEMPT);
	assert_run(&event.attempt.run);
	cr_assert_str_eq(event.attempt.started_at, attempt.started_at);
	cr_assert_eq(event.attempt.rtt_by, SWEEP_LOG_RTT_PROBE);
	cr_assert_str_eq(event.attempt.rtt_unchecked, "why");
	cr_assert_eq(event.attempt.rtt_us, 30);
	cr_assert_eq(event.attempt.rtt_expected_us, 25);
	cr_assert(event.attempt.has_injector);
	cr_assert_eq(memcmp(&event.attempt.injector, &attempt.injector, sizeof attempt.injector), 0);
	cr_assert_eq(event.attempt.steal_percent, 1);
	cr_assert_eq(event.attempt.busy_percent, 2);
	cr_assert_eq(event.attempt.load, 3);
	cr_assert_eq(event.attempt.processors, 4);
	cr_assert_eq(event.attempt.processors_used, 2.5);
	sweep_log_close(reader);
}

Test(sweep_log, an_attempt_of_an_earlier_version_has_no_delays_and_was_checked_by_ping)
{
	static const char text[] = "{\"event\":\"attempt\",\"delay_us\":5,\"attempt\":1,\"rtt_us\":30,"
				   "\"injector\":{\"packets\":9,\"late_us\":1}}\n"
				   "{\"event\":\"attempt\",\"delay_us\":5,\"attempt\":1,\"rtt_by\":\"pong\"}\n";
	struct error err = {0};
	struct sweep_log_event event;
	struct sweep_log_reader *reader =
		sweep_log_open(file_lines_from_memory("s.log", text, sizeof text - 1, &err), &err);

	cr_assert_eq(sweep_log_next(reader, &event, &err), 1, "%s", err.text);
	cr_assert_eq(event.attempt.rtt_by, SWEEP_LOG_RTT_PING);
	cr_assert(isnan(event.attempt.injector.delays[0].applied_us));
	cr_assert_lt(sweep_log_next(reader, &event, &err), 0);
	cr_assert(strstr(err.text, "s.log:2: rtt_by"), "%s", err.text);
	sweep_log_close(reader);
}

Test(sweep_log, zeros_of_an_attempt_are_values)
{
	struct sweep_log_attempt attempt = {.run = run, .processors = 0, .processors_used = 0};
	struct sweep_log_event event;
	struct sweep_log_reader *reader = read_back(sweep_log_attempt_to_json(&attempt), &event);

	cr_assert(event.attempt.rtt_us == 0 && event.attempt.rtt_expected_us == 0 && event.attempt.elapsed_s == 0);
	cr_assert(event.attempt.processors == 0 && event.attempt.processors_used == 0 && event.attempt.load == 0);
	cr_assert(event.attempt.steal_percent == 0 && event.attempt.busy_percent == 0);
	sweep_log_close(reader);
}

Test(sweep_log, what_is_not_known_stays_unknown)
{
	struct sweep_log_attempt attempt = {
		.run = run, .rtt_us = NAN, .rtt_expected_us = NAN, .processors = NAN, .processors_used = NAN};
	struct sweep_log_event event;
	struct sweep_log_reader *reader = read_back(sweep_log_attempt_to_json(&attempt), &event);

	cr_assert(isnan(event.attempt.rtt_us) && isnan(event.attempt.rtt_expected_us));
	cr_assert(isnan(event.attempt.processors) && isnan(event.attempt.processors_used));
	cr_assert_not(event.attempt.has_injector);
	sweep_log_close(reader);
}

Test(sweep_log, accepted_runs_levels_and_plans_are_read_back)
{
	struct sweep_log_level level = {.delay_us = 5,
					.direction = SWEEP_AB,
					.metric = "qps",
					.runs = 7,
					.mean = 2,
					.deviation = 0.5,
					.standard_error_percent = 9,
					.repeatable = true};
	struct sweep_log_plan plan = {.fingerprint = "00ff",
				      .application = "a",
				      .client = "c",
				      .seed = 1,
				      .parts = json_pack("{s:s}", "client", "c")};
	struct sweep_log_event event;

	sweep_log_close(read_back(sweep_log_accepted_to_json(&run), &event));
	cr_assert_eq(event.kind, SWEEP_LOG_ACCEPTED);
	assert_run(&event.accepted);
	sweep_log_close(read_back(sweep_log_level_to_json(&level), &event));
	cr_assert_eq(event.kind, SWEEP_LOG_LEVEL);
	cr_assert(event.level.delay_us == 5 && event.level.runs == 7 && event.level.mean == 2 &&
		  event.level.deviation == 0.5);
	cr_assert(event.level.direction == SWEEP_AB && event.level.standard_error_percent == 9 &&
		  event.level.repeatable);
	level.standard_error_percent = INFINITY;
	sweep_log_close(read_back(sweep_log_level_to_json(&level), &event));
	cr_assert(isinf(event.level.standard_error_percent));
	{
		struct sweep_log_reader *reader = read_back(sweep_log_plan_to_json(&plan), &event);

		cr_assert_eq(event.kind, SWEEP_LOG_PLAN);
		cr_assert_str_eq(event.plan.fingerprint, "00ff");
		cr_assert(json_equal(event.plan.parts, plan.parts));
		sweep_log_close(reader);
	}
	json_decref(plan.parts);
}

Test(sweep_log, a_line_cut_off_is_skipped_and_a_wrong_one_is_named)
{
	static const char text[] =
		"{\"event\":\"att\n{\"event\":\"news\"}\n{\"event\":\"accepted\",\"delay_us\":-1,\"attempt\":1}\n";
	struct error err = {0};
	struct sweep_log_event event;
	struct sweep_log_reader *reader =
		sweep_log_open(file_lines_from_memory("s.log", text, sizeof text - 1, &err), &err);

	cr_assert_eq(sweep_log_next(reader, &event, &err), 1);
	cr_assert_eq(event.kind, SWEEP_LOG_OTHER);
	cr_assert_lt(sweep_log_next(reader, &event, &err), 0);
	cr_assert(strstr(err.text, "s.log:3: delay_us"), "%s", err.text);
	sweep_log_close(reader);
	sweep_log_close(NULL);
}

static int first_code(const char *line, struct sweep_log_event *event, struct error *err)
{
	struct sweep_log_reader *reader = sweep_log_open(file_lines_from_memory("s.log", line, strlen(line), err), err);
	int code = sweep_log_next(reader, event, err);

	sweep_log_close(reader);
	return code;
}

Test(sweep_log, a_direction_is_one_of_three_and_0_is_a_delay)
{
	static const char *const directions[] = {"both", "ab", "ba"};
	struct sweep_log_event event;
	struct error err = {0};
	char line[200];

	for (int which = 0; which < 3; which++) {
		snprintf(line, sizeof line,
			 "{\"event\":\"level\",\"delay_us\":0,\"direction\":\"%s\",\"runs\":0,\"mean\":-1,"
			 "\"deviation\":0,"
			 "\"standard_error_percent\":0}",
			 directions[which]);
		cr_assert_eq(first_code(line, &event, &err), 1, "%s", err.text);
		cr_expect_eq(event.level.direction, which);
		cr_expect_eq(event.level.standard_error_percent, 0);
		cr_expect(event.level.delay_us == 0 && event.level.mean == -1 && !event.level.repeatable);
		snprintf(line, sizeof line,
			 "{\"event\":\"accepted\",\"delay_us\":0,\"direction\":\"%s\",\"run\":0,\"attempt\":1}",
			 directions[which]);
		cr_assert_eq(first_code(line, &event, &err), 1, "%s", err.text);
		cr_expect_eq(event.accepted.direction, which);
		cr_expect(event.accepted.delay_us == 0 && event.accepted.attempt == 1 && !event.accepted.disturbed);
	}
	cr_assert_eq(first_code("{\"event\":\"level\",\"delay_us\":0,\"direction\":\"up\",\"runs\":0,\"mean\":1,"
				"\"deviation\":0}",
				&event, &err),
		     -EINVAL);
	cr_expect_str_eq(err.text, "s.log:1: direction: 'up': expected both, ab or ba");
	cr_assert_eq(first_code("{\"event\":\"accepted\",\"delay_us\":0,\"direction\":\"up\",\"run\":0,\"attempt\":1}",
				&event, &err),
		     -EINVAL);
	cr_expect_str_eq(err.text, "s.log:1: direction: 'up': expected both, ab or ba");
	cr_assert_eq(first_code("{\"event\":\"accepted\",\"delay_us\":0,\"run\":0,\"attempt\":0}", &event, &err),
		     -EINVAL);
	cr_expect_eq(first_code("", &event, &err), 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of a cluster as text, their effect, and the forecast of what follows. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sched/live/change.h>

#include "fixture.h"

Test(live_change, each_kind_is_read_with_its_scope_and_names)
{
	static const struct {
		const char *text;
		struct live_change expected;
	} cases[] = {
		{"drain m1", {.kind = LIVE_CHANGE_STATE, .state = LIVE_DRAINING, .name = "m1"}},
		{"up machine m1", {.kind = LIVE_CHANGE_STATE, .state = LIVE_UP, .name = "m1"}},
		{"  down\track  r1 ",
		 {.kind = LIVE_CHANGE_STATE, .state = LIVE_DOWN, .scope = LIVE_SCOPE_RACK, .name = "r1"}},
		{"drain pod p",
		 {.kind = LIVE_CHANGE_STATE, .state = LIVE_DRAINING, .scope = LIVE_SCOPE_POD, .name = "p"}},
		{"fail m1  m2 rack", {.kind = LIVE_CHANGE_STATE, .state = LIVE_DOWN, .name = "m1 m2 rack"}},
		{"fail rack r1 r2",
		 {.kind = LIVE_CHANGE_STATE, .state = LIVE_DOWN, .scope = LIVE_SCOPE_RACK, .name = "r1 r2"}},
		{"drain rack", {.kind = LIVE_CHANGE_STATE, .state = LIVE_DRAINING, .name = "rack"}},
		{"add 1 machine like m1", {.kind = LIVE_CHANGE_ADD, .count = 1, .name = "m1"}},
		{"add 100000 machines like m2", {.kind = LIVE_CHANGE_ADD, .count = 100000, .name = "m2"}},
		{"curve a := b", {.kind = LIVE_CHANGE_CURVE, .name = "a", .other = "b"}},
		{"cancel web", {.kind = LIVE_CHANGE_CANCEL, .name = "web"}},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct live_change *expected = &cases[i].expected;
		struct live_change change;
		struct error err = {0};

		cr_assert_eq(live_change_parse(cases[i].text, &change, &err), 0, "%s", err.text);
		cr_expect(change.kind == expected->kind && change.scope == expected->scope &&
				  change.state == expected->state && change.count == expected->count,
			  "%s", cases[i].text);
		cr_expect_str_eq(change.name, expected->name, "%s", cases[i].text);
		cr_expect_str_eq(change.other, expected->other, "%s", cases[i].text);
	}
}

Test(live_change, a_bad_change_is_refused_with_what_was_expected)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "unknown change ''"},
		{"drain", "expected 'drain [machine|rack|pod] NAME...'"},
		{"fail  ", "expected 'fail [machine|rack|pod] NAME...'"},
		{"burn r1", "unknown change 'burn r1'"},
		{"add 1 machine like", "expected 'add N machines like NAME'"},
		{"add x machines like m1", "expected 'add N machines like NAME'"},
		{"add 1x machines like m1", "expected 'add N machines like NAME'"},
		{"add -1 machines like m1", "expected 'add N machines like NAME'"},
		{"add 1 racks like m1", "expected 'add N machines like NAME'"},
		{"add 1 machines as m1", "expected 'add N machines like NAME'"},
		{"add 0 machines like m1", "cannot add 0 machines; expected 1 to 100000"},
		{"add 100001 machines like m1", "cannot add 100001 machines; expected 1 to 100000"},
		{"add 1 machines like m1 m2", "unknown change 'add 1 machines like m1 m2'"},
		{"curve a = b", "unknown change 'curve a = b'"},
		{"curve a :=", "unknown change 'curve a :='"},
		{"cancel web web", "unknown change 'cancel web web'"},
	};
	struct live_change change;
	struct error err;
	char text[300];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		err = (struct error){0};
		cr_expect_eq(live_change_parse(cases[i].text, &change, &err), -EINVAL, "%s", cases[i].text);
		cr_expect(strstr(err.text, cases[i].message) == err.text, "%s: %s", cases[i].text, err.text);
	}
	for (int length = 255; length <= 256; length++) {
		snprintf(text, sizeof text, "fail m1 %0*d", length, 0);
		cr_expect_eq(live_change_parse(text, &change, &err), length == 255 ? 0 : -EINVAL);
	}
	for (int length = 255; length <= 256; length++) {
		err = (struct error){0};
		snprintf(text, sizeof text, "cancel %0*d", length, 0);
		cr_expect_eq(live_change_parse(text, &change, &err), length == 255 ? 0 : -EINVAL);
	}
	cr_expect_str_eq(err.text, "a name is too long; expected at most 255 bytes");
}

/* Context of note_touched(): the machines, as a string of their numbers. */
struct touched {
	char numbers[32];
};

static void note_touched(void *context, uint32_t machine)
{
	struct touched *touched = context;
	size_t length = strlen(touched->numbers);

	snprintf(touched->numbers + length, sizeof touched->numbers - length, "%u ", machine);
}

static int apply(struct live *live, const char *text, struct touched *touched, struct error *err)
{
	struct live_change change;

	*touched = (struct touched){0};
	cr_assert_eq(live_change_parse(text, &change, err), 0, "%s", err->text);
	return live_change_apply(live, &change, note_touched, touched, err);
}

/* The states of all machines, for example "UUUDDd": up, down, draining. */
static void expect_states(const struct live *live, const char *expected)
{
	char states[16] = "";

	for (uint32_t m = 0; m < live_cluster(live)->machine_count; m++)
		states[m] = "UdD"[live_machine_state_of(live, m)];
	cr_expect_str_eq(states, expected);
}

Test(live_change, states_are_set_for_a_machine_a_rack_or_a_pod)
{
	struct live *live = fixture_make_default();
	struct touched touched;
	struct error err = {0};

	cr_assert_eq(live_machine_set(live, "other", "r9", "q", 1, LIVE_UP, &err), 0);
	cr_expect_eq(apply(live, "drain m1", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "1 ");
	expect_states(live, "UdUUUUU");
	cr_expect_eq(apply(live, "down rack r1", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "3 4 5 ");
	expect_states(live, "UdUDDDU");
	cr_expect_eq(live_totals(live).slots, 3 * 2 + 1);
	cr_expect_eq(apply(live, "up pod p", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "0 1 2 3 4 5 ");
	expect_states(live, "UUUUUUU");
	cr_expect_eq(live_totals(live).slots, 6 * 2 + 1);
	cr_expect_eq(apply(live, "drain pod q", &touched, &err), 0);
	expect_states(live, "UUUUUUd");
	cr_expect_eq(apply(live, "down rack m1", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown rack 'm1'");
	cr_expect_eq(apply(live, "down pod r1", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown pod 'r1'");
	cr_expect_eq(apply(live, "down p", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown machine 'p'");
	expect_states(live, "UUUUUUd");
	cr_expect_str_eq(touched.numbers, "");
	cr_expect_eq(apply(live, "fail m1 room", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown machine 'room'");
	expect_states(live, "UUUUUUd");
	cr_expect_eq(apply(live, "fail m1 m3", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "1 3 ");
	expect_states(live, "UDUDUUd");
	cr_expect_eq(apply(live, "up rack r0 r1", &touched, &err), 0);
	expect_states(live, "UUUUUUd");
	/* A removed machine is no longer in its rack. */
	cr_assert_eq(live_machine_remove(live, "m4", &err), 0, "%s", err.text);
	cr_expect_eq(apply(live, "drain rack r1", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "3 5 ");
	live_destroy(live);
}

Test(live_change, added_machines_are_like_another_one_and_have_new_names)
{
	struct live *live = fixture_make_default();
	struct touched touched;
	struct error err = {0};

	cr_assert_eq(live_machine_set(live, "m4", "r1", "p", 3, LIVE_DRAINING, &err), 0);
	cr_assert_eq(live_machine_set(live, "m4.2", "r0", "p", 1, LIVE_UP, &err), 0);
	cr_expect_eq(apply(live, "add 2 machines like m4", &touched, &err), 0);
	cr_expect_str_eq(touched.numbers, "7 8 ");
	for (uint32_t m = 7; m < 9; m++) {
		const struct cluster_machine *machine = &live_cluster(live)->machines[m];

		cr_expect_str_eq(machine->name, m == 7 ? "m4.1" : "m4.3");
		cr_expect_eq(machine->slots, 3);
		cr_expect_str_eq(live_cluster(live)->racks[machine->rack].name, "r1");
		cr_expect_eq(live_machine_state_of(live, m), LIVE_UP);
	}
	cr_expect_eq(live_cluster(live)->machine_count, 9);
	cr_expect_eq(live_cluster(live)->rack_count, 2);
	cr_expect_eq(apply(live, "add 1 machine like m9", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown machine 'm9'");
	cr_expect_eq(live_cluster(live)->machine_count, 9);
	live_destroy(live);
}

Test(live_change, curves_and_jobs)
{
	static const double flat[] = {0.5, 0.5};
	struct live *live = fixture_make_default();
	struct touched touched;
	struct error err = {0};
	struct curve *curve = curve_from_table("flat", flat, 2, &err);

	cr_assert_eq(live_curve_set(live, "flat", curve, &err), 0);
	curve_destroy(curve);
	cr_assert_eq(fixture_submit(live, "web", 2, false, &err), 0);
	fixture_step(live, 1);
	fixture_confirm(live, "web", 1);
	cr_expect_gt(fabs(live_performance(live) - 0.5), 0.01, "%f", live_performance(live));
	cr_expect_eq(apply(live, "curve steep := none", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown curve 'none'");
	cr_expect_eq(apply(live, "curve no := flat", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown curve 'no'");
	cr_expect_eq(apply(live, "curve steep := flat", &touched, &err), 0);
	cr_expect_float_eq(live_performance(live), 0.5, 1e-9);
	cr_expect_eq(apply(live, "cancel web", &touched, &err), 0);
	cr_expect_eq(live_totals(live).jobs, 0);
	cr_expect_eq(apply(live, "cancel web", &touched, &err), -ENOENT);
	cr_expect_str_eq(err.text, "unknown job 'web'");
	live_destroy(live);
}

static void expect_forecast(bool confirm_at_once)
{
	struct live_settings settings;
	struct live *live;
	struct error err = {0};
	double end_s = NAN;

	live_settings_default(&settings);
	settings.confirm_at_once = confirm_at_once;
	settings.max_age_s = 0;
	live = fixture_make(&settings);
	cr_expect_eq(live_settle(live, 5, 0, &end_s, &err), 0);
	cr_expect_float_eq(end_s, 5, 1e-9, "nothing follows");
	cr_assert_eq(fixture_submit(live, "web", 3, false, &err), 0);
	cr_expect_eq(live_settle(live, 6, 0, &end_s, &err), 0);
	cr_expect_float_eq(end_s, 6, 1e-9);
	cr_expect_eq(live_totals(live).running, 3);
	cr_expect_eq(live_last_decision(live), 3);
	/* A task that failed is placed again after a pause of 1 s. */
	cr_assert_eq(live_failed(live, "web", "t1", 7, &err), 0);
	cr_expect_eq(live_settle(live, 7, 0.5, &end_s, &err), 0);
	cr_expect_float_eq(end_s, 7, 1e-9);
	cr_expect_eq(live_totals(live).waiting_pause, 1);
	cr_expect_eq(live_settle(live, 7, 1, &end_s, &err), 0);
	cr_expect_float_eq(end_s, 8, 1e-9);
	cr_expect_eq(live_totals(live).running, 3);
	cr_expect_eq(live_last_decision(live), 4);
	live_destroy(live);
}

Test(live_change, a_forecast_starts_every_task_and_ends_with_its_last_decision)
{
	expect_forecast(false);
	expect_forecast(true);
}

/* One task moves at a time: the next one follows when the first has started. */
Test(live_change, a_forecast_of_a_drain_makes_all_its_moves)
{
	struct live_settings settings;
	struct live *live;
	struct touched touched;
	struct error err = {0};
	double end_s;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.rate = 1;
	settings.max_age_s = 0;
	live = fixture_make(&settings);
	for (int m = 0; m < 6; m++) {
		char text[16];

		snprintf(text, sizeof text, m < 2 ? "up m%d" : "down m%d", m);
		cr_assert_eq(apply(live, text, &touched, &err), 0);
	}
	cr_assert_eq(fixture_submit(live, "web", 4, true, &err), 0);
	cr_assert_eq(live_settle(live, 1, 0, &end_s, &err), 0);
	cr_expect_eq(live_totals(live).running, 4);
	cr_assert_eq(apply(live, "drain m1", &touched, &err), 0);
	cr_assert_eq(apply(live, "up rack r1", &touched, &err), 0);
	cr_assert_eq(live_settle(live, 2, 0, &end_s, &err), 0);
	cr_expect_eq(live_machine_tasks(live, 1), 0);
	cr_expect_eq(live_totals(live).moves, 2);
	cr_expect_eq(live_totals(live).running, 4);
	cr_expect_float_eq(end_s, 2, 1e-9);
	live_destroy(live);
}

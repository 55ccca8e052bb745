/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the daemon without its loop: hours of moves, settings, metrics. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/file.h>
#include <sched/schedd/schedd.h>

#include "fixture.h"
#include "schedd_priv.h"

static bool open_at(const char *text, int hour, int minute)
{
	struct windows windows;
	struct error err = {0};
	struct tm local = {.tm_hour = hour, .tm_min = minute};

	cr_assert_eq(windows_parse(text, &windows, &err), 0, "%s: %s", text, err.text);
	return windows_are_open(&windows, &local);
}

Test(daemon, windows_include_their_begin_and_not_their_end)
{
	struct windows none = {0};

	cr_expect_not(open_at("12:30-13:00", 12, 29));
	cr_expect(open_at("12:30-13:00", 12, 30));
	cr_expect(open_at("12:30-13:00", 12, 59));
	cr_expect_not(open_at("12:30-13:00", 13, 0));
	/* Over midnight. */
	cr_expect_not(open_at("22:00-06:05", 21, 59));
	cr_expect(open_at("22:00-06:05", 22, 0));
	cr_expect(open_at("22:00-06:05", 0, 0));
	cr_expect(open_at("22:00-06:05", 6, 4));
	cr_expect_not(open_at("22:00-06:05", 6, 5));
	/* To midnight, and several. */
	cr_expect(open_at("00:00-24:00", 23, 59));
	cr_expect(open_at("00:00-24:00", 0, 0));
	cr_expect(open_at("01:00-02:00,23:00-24:00", 1, 30));
	cr_expect(open_at("01:00-02:00,23:00-24:00", 23, 30));
	cr_expect_not(open_at("01:00-02:00,23:00-24:00", 2, 30));
	cr_expect(windows_are_open(&none, &(struct tm){.tm_hour = 3}), "always, if there are none");
}

Test(daemon, bad_windows_are_refused)
{
	static const char *const bad[] = {"",
					  "12:00",
					  "12:00-",
					  "12:00-12:00",
					  "12:60-14:00",
					  "24:01-01:00",
					  "01:00-24:01",
					  "1:00-02:00",
					  "01:00-02:00,",
					  "01:00-02:00;03:00-04:00",
					  "01.00-02:00",
					  "01:00_02:00",
					  "01:00-02:0x"};
	char text[128] = "";
	struct windows windows;
	struct error err = {0};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(windows_parse(bad[i], &windows, &err), -EINVAL, "%s", bad[i]);
		cr_expect(strstr(err.text, "bad windows '"), "%s", err.text);
	}
	for (int w = 0; w < 9; w++) {
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%02d:00-%02d:30", w ? "," : "", w, w);
		cr_expect_eq(windows_parse(text, &windows, &err), w < WINDOWS_MOST ? 0 : -EINVAL, "%d windows", w + 1);
		cr_expect(w >= WINDOWS_MOST || windows.count == (unsigned)w + 1);
	}
}

Test(daemon, every_setting_becomes_its_option)
{
	struct schedd_settings settings;
	struct schedd_setup setup;
	struct schedd_options *options = &setup.options;
	struct live_settings *live = &options->live;
	struct error err = {0};

	schedd_settings_default(&settings);
	cr_expect_eq(schedd_setup_read(&settings, &setup, &err), -EINVAL);
	cr_expect_str_eq(err.text, "missing option --state FILE");
	settings.state = "state";
	settings.socket = "socket";
	cr_assert_eq(schedd_setup_read(&settings, &setup, &err), 0, "%s", err.text);
	cr_expect_str_eq(options->socket, "socket");
	cr_expect_eq(options->statistic, LATENCY_STATISTIC_P99);
	cr_expect_eq(options->round_ms, 10);
	cr_expect_eq(options->connections, 512);
	cr_expect_float_eq(options->journal_days, 7, 1e-9);
	cr_expect_float_eq(live->moves.hold_s, 5, 1e-9);
	cr_expect(!options->address && !options->extender_address && options->windows.count == 0);
	cr_expect(live->moves.mode == MIGRATION_OFF && !live->confirm_at_once && live->attempts_maximum == 5);

	settings = (struct schedd_settings){.state = "state",
					    .socket = "socket",
					    .listen = "[::1]:80",
					    .token_file = "token",
					    .extender = "127.0.0.1:65535",
					    .cluster = "cluster",
					    .curves = "curves",
					    .latency = "latency",
					    .statistic = LATENCY_STATISTIC_P50,
					    .policy = 1,
					    .moves = {.mode = MIGRATION_ON,
						      .gain = 0.24,
						      .hold_s = 18,
						      .rate = 14,
						      .per_machine = 15,
						      .per_job = 16,
						      .restart_s = 19,
						      .no_return_s = 25},
					    .windows = "01:02-03:04",
					    .admin_group = "group",
					    .user_tasks = 11,
					    .connections = 12,
					    .salvage = true,
					    .round_ms = 13,
					    .attempts = 17,
					    .journal_days = 20,
					    .start_timeout_s = 21,
					    .retry_s = 22,
					    .max_age_s = 23,
					    .omega_per_s = 26,
					    .beta_per_s = 27,
					    .require_measured = true,
					    .no_executor = true,
					    .journal_brief = true};
	cr_assert_eq(schedd_setup_read(&settings, &setup, &err), 0, "%s", err.text);
	cr_expect_null(options->socket, "TCP instead");
	cr_expect_str_eq(options->address, "::1");
	cr_expect_eq(options->port, 80);
	cr_expect_str_eq(options->extender_address, "127.0.0.1");
	cr_expect_eq(options->extender_port, 65535);
	cr_expect_str_eq(options->state, "state");
	cr_expect_str_eq(options->cluster, "cluster");
	cr_expect_str_eq(options->curves, "curves");
	cr_expect_str_eq(options->latency, "latency");
	cr_expect_str_eq(options->admin_group, "group");
	cr_expect_eq(options->statistic, LATENCY_STATISTIC_P50);
	cr_expect_eq(options->windows.count, 1);
	cr_expect_eq(options->windows.items[0].begin_min, 62);
	cr_expect_eq(options->windows.items[0].end_min, 184);
	cr_expect_eq(options->user_tasks, 11);
	cr_expect_eq(options->connections, 12);
	cr_expect(options->salvage && options->journal_brief);
	cr_expect_eq(options->round_ms, 13);
	cr_expect_float_eq(options->journal_days, 20, 1e-9);
	cr_expect_eq(live->policy, policies[1]);
	cr_expect_eq(live->moves.mode, MIGRATION_ON);
	cr_expect_eq(live->moves.rate, 14);
	cr_expect_eq(live->moves.per_machine, 15);
	cr_expect_eq(live->moves.per_job, 16);
	cr_expect_eq(live->attempts_maximum, 17);
	cr_expect_float_eq(live->moves.hold_s, 18, 1e-9);
	cr_expect_float_eq(live->moves.restart_s, 19, 1e-9);
	cr_expect_float_eq(live->start_timeout_s, 21, 1e-9);
	cr_expect_float_eq(live->retry_s, 22, 1e-9);
	cr_expect_float_eq(live->max_age_s, 23, 1e-9);
	cr_expect_float_eq(live->moves.gain, 0.24, 1e-9);
	cr_expect_float_eq(live->moves.no_return_s, 25, 1e-9);
	cr_expect_float_eq(live->policy_settings.flow.omega_per_s, 26, 1e-9);
	cr_expect_float_eq(live->policy_settings.flow.beta_per_s, 27, 1e-9);
	cr_expect(live->require_measured && live->confirm_at_once);
}

Test(daemon, a_bad_address_or_token_is_refused)
{
	static const char *const bad[] = {
		"nowhere",      "127.0.0.1:",
		"127.0.0.1:x",  "127.0.0.1:80x",
		"127.0.0.1:-1", "127.0.0.1:65536",
		":80",          "0123456789012345678901234567890123456789012345678901234567890123:80"};
	struct schedd_settings settings;
	struct schedd_setup setup;
	struct error err = {0};
	char path[] = "/tmp/nomora-token.XXXXXX";
	int fd = mkstemp(path);
	FILE *file;

	schedd_settings_default(&settings);
	settings.state = "state";
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		settings.extender = bad[i];
		cr_expect_eq(schedd_setup_read(&settings, &setup, &err), -EINVAL, "%s", bad[i]);
		cr_expect(strstr(err.text, "expected ADDRESS:PORT"), "%s", err.text);
	}
	settings.extender = NULL;
	settings.listen = "127.0.0.1:0";
	cr_expect_eq(schedd_setup_read(&settings, &setup, &err), -EINVAL);
	cr_expect_str_eq(err.text, "--listen needs --token-file");
	settings.token_file = path;
	cr_assert_eq(schedd_setup_read(&settings, &setup, &err), 0, "%s", err.text);
	cr_assert_geq(fd, 0);
	file = fdopen(fd, "w");
	cr_expect_eq(schedd_setup_read_token(&settings, &setup, &err), -EINVAL);
	cr_expect(strstr(err.text, ": the token is empty"), "%s", err.text);
	fputs("secret\r\nmore\n", file);
	fclose(file);
	cr_assert_eq(schedd_setup_read_token(&settings, &setup, &err), 0, "%s", err.text);
	cr_expect_str_eq(setup.options.token, "secret");
	schedd_setup_free(&setup);
	cr_assert_eq(chmod(path, 0640), 0);
	cr_expect_eq(schedd_setup_read_token(&settings, &setup, &err), -EPERM);
	unlink(path);
	cr_expect_eq(schedd_setup_read_token(&settings, &setup, &err), -ENOENT);
}

static void expect_line(const char *text, const char *line)
{
	char whole[128];

	snprintf(whole, sizeof whole, "\n%s\n", line);
	cr_expect_not_null(strstr(text, whole), "no line '%s'", line);
}

/* Web has two running tasks, of which t1 is 10 us from its root; x's t1 waits in a pause, y waits for its root. */
Test(daemon, metrics_count_tasks_decisions_and_waiting_times)
{
	static const double waited_s[] = {0, 0.001, 0.0011, 0.05, 0.5, 1, 600, 601};
	static struct schedd schedd;
	struct live_settings settings;
	struct error err = {0};
	char *text;

	live_settings_default(&settings);
	settings.max_age_s = 0;
	schedd.live = fixture_make(&settings);
	fixture_measure(schedd.live, "m0", "m1", 10, 0);
	cr_assert_eq(fixture_submit_running(schedd.live, "web", "m0 m1", false, 0, 0, &err), 0, "%s", err.text);
	cr_assert_eq(fixture_submit_running(schedd.live, "x", "m2 m3", false, 0, 0, &err), 0, "%s", err.text);
	cr_assert_eq(live_failed(schedd.live, "x", "t0", 1, &err), 0);
	cr_assert_eq(live_failed(schedd.live, "x", "t1", 1, &err), 0);
	cr_assert_eq(fixture_submit(schedd.live, "y", 3, false, &err), 0, "%s", err.text);
	for (size_t i = 0; i < sizeof waited_s / sizeof *waited_s; i++)
		schedd_count_decision(&schedd, &(struct live_decision){.kind = LIVE_PLACE,
								       .waited_s = waited_s[i],
								       .is_root = i == 0,
								       .origin = i == 1 ? LATENCY_ORIGIN_TOPOLOGY
											: LATENCY_ORIGIN_MEASURED});
	schedd_count_decision(&schedd, &(struct live_decision){.kind = LIVE_MOVE, .waited_s = 7});
	schedd.commits = 5;
	schedd.commit_failures = 3;
	schedd.commit_s = 1.5;
	text = schedd_metrics_text(&schedd);
	cr_assert_not_null(text);
	expect_line(text, "nomora_schedd_tasks{state=\"waiting\"} 5");
	expect_line(text, "nomora_schedd_tasks{state=\"decided\"} 0");
	expect_line(text, "nomora_schedd_tasks{state=\"running\"} 2");
	expect_line(text, "nomora_schedd_tasks{state=\"moving\"} 0");
	expect_line(text, "nomora_schedd_tasks{state=\"failed\"} 0");
	expect_line(text, "nomora_schedd_jobs 3");
	expect_line(text, "nomora_schedd_machines 6");
	expect_line(text, "nomora_schedd_slots 12");
	expect_line(text, "nomora_schedd_free_slots 10");
	expect_line(text, "nomora_schedd_measured_pairs 1");
	expect_line(text, "nomora_schedd_mesh_age_seconds -1");
	expect_line(text, "nomora_schedd_predicted_performance 0.8");
	expect_line(text, "nomora_schedd_healthy 1");
	expect_line(text, "nomora_schedd_waiting{reason=\"pause\"} 2");
	expect_line(text, "nomora_schedd_waiting{reason=\"root\"} 2");
	expect_line(text, "nomora_schedd_waiting{reason=\"slot\"} 1");
	expect_line(text, "nomora_schedd_placed_total{origin=\"measured\"} 6");
	expect_line(text, "nomora_schedd_placed_total{origin=\"topology\"} 1");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.001\"} 2");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.005\"} 3");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.01\"} 3");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.05\"} 4");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.1\"} 4");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"0.5\"} 5");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"1\"} 6");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"10\"} 6");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"60\"} 6");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"600\"} 7");
	expect_line(text, "nomora_schedd_decision_wait_seconds_bucket{le=\"+Inf\"} 8");
	expect_line(text, "nomora_schedd_decision_wait_seconds_sum 1202.5521");
	expect_line(text, "nomora_schedd_decision_wait_seconds_count 8");
	expect_line(text, "nomora_schedd_commits_total 5");
	expect_line(text, "nomora_schedd_commit_failures_total 3");
	expect_line(text, "nomora_schedd_commit_seconds 1.5");
	expect_line(text, "nomora_schedd_mesh_rows{outcome=\"taken\"} 0");
	free(text);
	/* Placed, and then timed out. */
	fixture_step(schedd.live, 1.5);
	fixture_step(schedd.live, 61.5);
	strcpy(schedd.trouble, "disk is full");
	text = schedd_metrics_text(&schedd);
	expect_line(text, "nomora_schedd_healthy 0");
	expect_line(text, "nomora_schedd_timeouts_total 3");
	expect_line(text, "nomora_schedd_moves_total 0");
	expect_line(text, "nomora_schedd_moves_withheld_total{reason=\"gain\"} 0");
	free(text);
	live_destroy(schedd.live);
}

/* A point every 10 s, also if the calls come more often or later. */
Test(daemon, the_chart_has_a_point_every_ten_seconds)
{
	static struct schedd schedd;
	struct error err = {0};

	schedd.live = fixture_make_default();
	schedd_sample(&schedd, 0);
	cr_assert_eq(fixture_submit_running(schedd.live, "web", "m0 m1 -", false, 0, 0, &err), 0);
	cr_expect_eq(schedd.series_count, 1);
	schedd_sample(&schedd, 9.9);
	cr_expect_eq(schedd.series_count, 1);
	schedd_sample(&schedd, 10);
	cr_expect_eq(schedd.series_count, 2);
	cr_expect_eq(schedd.series[0].running + schedd.series[0].waiting, 0);
	cr_expect_eq(schedd.series[1].running, 2);
	cr_expect_eq(schedd.series[1].waiting, 1);
	cr_expect_eq(schedd.series[1].moving, 0);
	fixture_step(schedd.live, 11);
	schedd_sample(&schedd, 25);
	cr_expect_eq(schedd.series[2].running, 3, "a decided task counts as running");
	schedd_sample(&schedd, 34.9);
	cr_expect_eq(schedd.series_count, 3);
	live_destroy(schedd.live);
}

static int commit_code, load_code, open_code;

struct store *__real_store_open_old(const char *path, struct error *err);
struct store *__wrap_store_open_old(const char *path, struct error *err);
struct store *__wrap_store_open_old(const char *path, struct error *err)
{
	if (open_code == 0)
		return __real_store_open_old(path, err);
	error_set(err, open_code, "no open");
	return NULL;
}

int __real_store_commit(struct store *store, struct error *err);
int __wrap_store_commit(struct store *store, struct error *err);
int __wrap_store_commit(struct store *store, struct error *err)
{
	return commit_code ? error_set(err, commit_code, "no commit") : __real_store_commit(store, err);
}

int __real_store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err);
int __wrap_store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err);
int __wrap_store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err)
{
	return load_code ? error_set(err, load_code, "no load") : __real_store_load(store, live, offset_s, now_s, err);
}

static bool lines_fail;
struct file_lines *__real_file_lines_from_memory(const char *name, const char *text, size_t bytes, struct error *err);
struct file_lines *__wrap_file_lines_from_memory(const char *name, const char *text, size_t bytes, struct error *err);
struct file_lines *__wrap_file_lines_from_memory(const char *name, const char *text, size_t bytes, struct error *err)
{
	if (!lines_fail)
		return __real_file_lines_from_memory(name, text, bytes, err);
	error_set(err, ENOMEM, "out of memory");
	return NULL;
}

/* They were answered by 200 and "taken": 0: the agent would not have sent them again. */
Test(daemon, events_for_which_there_is_no_memory_are_not_taken)
{
	static struct schedd schedd;
	struct serve_call call = {.method = "POST", .path = "/v1/events", .tail = "", .body = "{}\n", .body_bytes = 3};

	lines_fail = true;
	schedd_post_events(&schedd, &call);
	lines_fail = false;
	cr_assert_eq(schedd.reply_count, 1);
	cr_expect_eq(schedd.replies[0].status, 503);
	cr_expect_str_eq(schedd.replies[0].text, "{\"taken\": 0, \"error\": \"out of memory\"}");
	free(schedd.replies[0].text);
	free(schedd.replies);
}

static void add_machine(struct schedd *schedd)
{
	struct error err = {0};

	cr_assert_eq(live_machine_set(schedd->live, "m1", "r1", "p", 2, LIVE_UP, &err), 0);
	schedd_keep_machine(schedd, 0);
}

/* It would decide with a part of the state, and write the rest away. */
Test(daemon, ends_if_the_state_can_neither_be_written_nor_read_again)
{
	char folder[] = "/tmp/nomora-daemon.XXXXXX", state[64], socket[64];
	struct schedd_options options = {.state = state, .socket = socket, .round_ms = 10};
	volatile int stop = 0;
	struct error err = {0};
	struct schedd *schedd;

	cr_assert(mkdtemp(folder));
	snprintf(state, sizeof state, "%s/state", folder);
	snprintf(socket, sizeof socket, "%s/socket", folder);
	live_settings_default(&options.live);
	schedd = schedd_create(&options, &stop, &err);
	cr_assert(schedd, "%s", err.text);
	add_machine(schedd);
	commit_code = ENOSPC;
	cr_assert_eq(schedd_commit(schedd, &err), 1, "%s", err.text);
	add_machine(schedd);
	load_code = EIO;
	cr_expect_eq(schedd_run(schedd, &stop, &err), -EIO);
	cr_expect_str_eq(err.text, "the state can neither be written nor read again: no load");
	schedd_destroy(schedd);
	commit_code = load_code = 0;
	/* After an I/O error, another daemon may have the lock. */
	schedd = schedd_create(&options, &stop, &err);
	cr_assert(schedd, "%s", err.text);
	add_machine(schedd);
	commit_code = EIO;
	cr_expect_eq(schedd_commit(schedd, &err), 1, "%s", err.text);
	cr_expect_eq(live_cluster(schedd->live)->machine_count, 0);
	add_machine(schedd);
	open_code = EBUSY;
	cr_expect_eq(schedd_run(schedd, &stop, &err), -EBUSY);
	cr_expect_str_eq(err.text, "the state can neither be written nor read again: no open");
	schedd_destroy(schedd);
	commit_code = open_code = 0;
	schedd = schedd_create(&options, &stop, &err);
	cr_assert(schedd, "%s", err.text);
	cr_expect_eq(live_cluster(schedd->live)->machine_count, 0);
	schedd_destroy(schedd);
	unlink(state);
	rmdir(folder);
}

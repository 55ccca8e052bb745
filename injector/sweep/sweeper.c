/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/sweeper.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_priv.h"
#include "sweeper_priv.h"
#include "commands_priv.h"
#include "attempt_priv.h"
#include "scratch_priv.h"

static int parse_plan(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	int count = sweep_schedule_parse_delays(plan->delays, sweeper->delays_us, err), code;

	if (count < 0)
		return count;
	sweeper->delay_count = (size_t)count;
	for (size_t i = 0; i < plan->metrics.count; i++) {
		if (i == SWEEP_METRICS_MAXIMUM)
			return error_set(err, E2BIG, "metric: expected at most %d metrics", SWEEP_METRICS_MAXIMUM);
		code = sweep_metric_parse(plan->metrics.items[i], &sweeper->metrics[i], err);
		if (code)
			return code;
		sweeper->metric_count++;
	}
	code = host_parse(plan->server_host, &sweeper->server_host, err);
	if (!code)
		code = host_parse(plan->client_host, &sweeper->client_host, err);
	if (code)
		return code;
	sweeper->runs = sweep_schedule_of_plan(plan, sweeper->delays_us, (size_t)count, &sweeper->run_count);
	sweeper->summary->planned = sweeper->run_count;
	return sweeper->runs ? 0 : error_set(err, ENOMEM, "out of memory");
}

/* If the last run in the file lacks metrics, because its writer was killed, removes the run, so that it is repeated. */
static int cut_torn_run(struct sweeper *sweeper, struct error *err)
{
	const char *names[SWEEP_METRICS_MAXIMUM];
	int rows;

	if (!levels_has_rows(sweeper) || !journal_is_of_our_plan(sweeper->journal))
		return 0;
	for (size_t i = 0; i < sweeper->metric_count; i++)
		names[i] = sweeper->metrics[i].name;
	rows = sweep_writer_cut_torn_run(sweeper->writer, names, sweeper->metric_count, err);
	if (rows > 0)
		sweeper_say(sweeper, "%s: its last run has %d of %zu metrics: removed and repeated",
			    sweeper->plan->output, rows, sweeper->metric_count);
	return rows < 0 ? rows : 0;
}

/* Removes from the schedule the runs that the file already has. */
static int take_off_found(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct sweep *sweep;
	size_t left = 0;

	if (!levels_has_rows(sweeper))
		return 0;
	sweep = sweep_load(plan->output, err);
	if (!sweep)
		return error_code(err, EINVAL);
	for (size_t i = 0; i < sweeper->run_count; i++) {
		const struct sweep_schedule_run *run = &sweeper->runs[i];

		if (sweep_has_run(sweep, run->delay_us, (enum sweep_direction)plan->direction, run->run))
			sweeper->summary->found++;
		else
			sweeper->runs[left++] = *run;
	}
	sweeper->run_count = left;
	sweep_destroy(sweep);
	return 0;
}

static int connect_hosts(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	const volatile sig_atomic_t *stop = sweeper->hooks->stop;
	int code = host_connect(&sweeper->server_host, plan->ssh_config, sweeper->scratch, stop, err);

	if (!code)
		code = host_connect(&sweeper->client_host, plan->ssh_config, sweeper->scratch, stop, err);
	return code;
}

/* Sets the delay to 0, and then runs setup, measures the baseline round trip and starts the server. */
static int prepare(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command setup = commands_make(sweeper, "setup", plan->setup, plan->ready_timeout_s);
	int code = path_set_delay(sweeper, (struct delay_pair){0, 0}, err);

	sweeper->set_up = true;
	if (!code && plan->setup)
		code = commands_must_run(sweeper, &sweeper->server_host, &setup, (struct commands_occasion){0}, err);
	if (!code)
		code = baseline_measure(sweeper, err);
	if (!code && plan->server)
		code = server_start(sweeper, err);
	return code;
}

/*
 * Makes the scheduled runs. Reports progress as a share of `total` runs; while extra runs are made, reports `total` as
 * done.
 */
static int make_runs(struct sweeper *sweeper, size_t total, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	bool extra = sweeper->summary->extra > 0;
	int code = 0;

	for (size_t i = 0; i < sweeper->run_count && !code; i++) {
		char note[128];

		if (sweeper_is_stopped(sweeper))
			return error_set(err, EINTR, "stopped");
		snprintf(note, sizeof note, "%g us, run %lld%s", sweeper->runs[i].delay_us,
			 (long long)sweeper->runs[i].run, extra ? ", for precision" : "");
		if (sweeper->hooks->progress)
			sweeper->hooks->progress(sweeper->hooks->context, extra ? total : i, total, note);
		code = run_make(sweeper, &sweeper->runs[i], err);
		if (!code && i + 1 < sweeper->run_count)
			host_sleep((struct ns){(int64_t)(plan->cool_down_s * 1e9)}, sweeper->hooks->stop);
	}
	return code;
}

static int make_all_runs(struct sweeper *sweeper, struct error *err)
{
	size_t total = sweeper->run_count;
	int code = make_runs(sweeper, total, err);

	/*
	 * Each pass makes at most one extra run per delay. The number of passes is limited: a run that is left out adds
	 * no row, so the mean at its delay would never become precise enough.
	 */
	for (int64_t round = 0; round < sweeper->plan->repetitions && !code; round++) {
		int extra = levels_schedule_extra(sweeper, err);

		if (extra <= 0)
			return extra;
		code = make_runs(sweeper, total, err);
	}
	return code;
}

static void tidy_up(struct sweeper *sweeper)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct host_command teardown = commands_make(sweeper, "teardown", plan->teardown, plan->ready_timeout_s);
	struct error err = {0};

	teardown.stop = NULL; /* the sweep may have been stopped */
	server_stop(sweeper);
	if (sweeper->set_up && plan->teardown &&
	    commands_must_run(sweeper, &sweeper->server_host, &teardown, (struct commands_occasion){0}, &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
	if (sweeper->set_up)
		path_restore(sweeper);
	commands_end_all(sweeper);
	host_disconnect(&sweeper->server_host);
	host_disconnect(&sweeper->client_host);
	if (sweeper->scratch[0])
		scratch_remove(sweeper->scratch);
}

static int carry_out_locked(struct sweeper *sweeper, struct error *err)
{
	struct awake *awake = NULL;
	int code = commands_prepare(sweeper, err);

	if (!code)
		code = connect_hosts(sweeper, err);
	if (!code && sweeper->plan->keep_awake) {
		awake = awake_start(err);
		code = awake ? 0 : error_code(err, EAGAIN);
	}
	if (!code)
		code = prepare(sweeper, err);
	if (!code)
		code = make_all_runs(sweeper, err);
	tidy_up(sweeper);
	awake_stop(awake);
	return code;
}

static int carry_out(struct sweeper *sweeper, struct error *err)
{
	const char *control = sweeper->plan->injector;
	struct injector_state_totals found;
	/* Reads before it locks: if the injector does not answer, no lock file is created. */
	int code = injector_client_read(control, &found, err);

	if (!code)
		code = injector_client_lock(control, &sweeper->lock, err);
	if (code)
		return code;
	/* Reads the delays again: since the first reading, another sweep may have ended and restored them. */
	code = path_find_delays(sweeper, err);
	if (!code)
		code = carry_out_locked(sweeper, err);
	injector_client_unlock(control, sweeper->lock);
	return code;
}

/* A sweep that was refused before its first run leaves no new file. */
static void close_files(struct sweeper *sweeper, bool refused)
{
	if (refused && !sweeper->begun) {
		journal_discard(sweeper->journal);
		sweep_writer_discard(sweeper->writer);
		return;
	}
	journal_close(sweeper->journal);
	sweep_writer_close(sweeper->writer);
}

int sweeper_run(const struct sweep_plan *plan, const struct sweeper_hooks *hooks, struct sweeper_summary *summary,
		struct error *err)
{
	struct ns began = ns_now_monotonic();
	struct sweeper *sweeper = calloc(1, sizeof *sweeper);
	int code;

	*summary = (struct sweeper_summary){.baseline_rtt_us = NAN};
	if (!sweeper)
		return error_set(err, ENOMEM, "out of memory");
	sweeper->plan = plan;
	sweeper->baseline_rtt_us = NAN;
	sweeper->hooks = hooks;
	sweeper->summary = summary;
	code = parse_plan(sweeper, err);
	if (!code) {
		sweeper->writer = sweep_writer_open(plan->output, err);
		code = sweeper->writer ? journal_open(plan, levels_has_rows(sweeper), &sweeper->journal, err)
				       : error_code(err, EIO);
	}
	if (!code)
		code = cut_torn_run(sweeper, err);
	if (!code)
		code = take_off_found(sweeper, err);
	if (!code && sweeper->run_count == 0 && levels_schedule_extra(sweeper, err) < 0)
		code = error_code(err, EINVAL);
	if (!code && sweeper->run_count > 0) {
		code = hooks->make_path ? hooks->make_path(hooks->context, err) : 0;
		if (!code)
			code = carry_out(sweeper, err);
	}
	if (!code)
		code = levels_conclude(sweeper, err);
	summary->elapsed_s = ns_to_s(ns_sub(ns_now_monotonic(), began));
	close_files(sweeper, code != 0);
	for (size_t i = 0; i < sweeper->metric_count; i++)
		sweep_metric_free(&sweeper->metrics[i]);
	commands_free(sweeper);
	free(sweeper->runs);
	free(sweeper);
	return code;
}

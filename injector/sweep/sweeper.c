/* SPDX-License-Identifier: BSD-3-Clause */
#include <injector/sweep/sweeper.h>
#include "sweeper_priv.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/number.h>

/*
 * Two locks. Only one sweep at a time runs on a machine, because two would disturb each other. And only one sweep at a
 * time uses the name of a lab, which it locks before it makes the lab. Each lock is a name in the abstract socket
 * namespace, which leaves no file and is released when its holder ends.
 */

static const char machine[] = "nomora-sweep", lab_prefix[] = "nomora-sweep-lab-";

/* Abstract names begin with a zero byte. */
static socklen_t set_address(const char *name, struct sockaddr_un *address)
{
	size_t bytes = strnlen(name, sizeof address->sun_path - 1);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path + 1, name, bytes);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
}

/*
 * Returns 0 and in *lock a descriptor that holds the lock; -EAGAIN if another sweep holds it; or -errno with err set.
 */
static int try_lock(const char *name, int *lock, struct error *err)
{
	struct sockaddr_un address;
	socklen_t bytes = set_address(name, &address);
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (descriptor < 0)
		return error_set(err, errno, "cannot create a socket: %s", strerror(errno));
	/* Listens only so that others can read our process number from the socket. */
	if (bind(descriptor, (const struct sockaddr *)&address, bytes) == 0 && listen(descriptor, 16) == 0) {
		*lock = descriptor;
		return 0;
	}
	code = errno;
	close(descriptor);
	return code == EADDRINUSE ? -EAGAIN : error_set(err, code, "cannot take the sweeps' lock: %s", strerror(code));
}

/* Returns the process that holds the lock, or 0 if it is not known. */
static pid_t find_holder(const char *name)
{
	struct sockaddr_un address;
	socklen_t bytes = set_address(name, &address);

	return machine_find_listener(&address, bytes);
}

static void tell(const struct sweeper_hooks *hooks)
{
	pid_t holder = find_holder(machine);
	char who[40] = "", line[200];

	if (!hooks->say)
		return;
	if (holder > 0)
		snprintf(who, sizeof who, ", process %d,", (int)holder);
	snprintf(line, sizeof line, "another sweep%s runs on this machine: waiting for it (or use --share-machine)",
		 who);
	hooks->say(hooks->context, line);
}

int sweeper_take_turn(const struct sweeper_hooks *hooks, int *turn, struct error *err)
{
	bool told = false;

	for (;;) {
		int code = try_lock(machine, turn, err);

		if (code != -EAGAIN)
			return code;
		if (hooks->stop && *hooks->stop)
			return error_set(err, EINTR, "stopped while waiting for another sweep on this machine");
		if (!told)
			tell(hooks);
		told = true;
		host_sleep((struct ns){200 * NS_PER_MS}, hooks->stop);
	}
}

int sweeper_claim_lab(const char *lab, int *claim, int *other, struct error *err)
{
	char name[sizeof((struct sockaddr_un *)NULL)->sun_path];
	int code;

	snprintf(name, sizeof name, "%s%s", lab_prefix, lab);
	code = try_lock(name, claim, err);
	if (code == -EAGAIN)
		*other = (int)find_holder(name);
	return code;
}

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
	sweep = sweep_read(file_lines_open(plan->output, err), err);
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
	if (!code)
		journal_machine(sweeper->journal, plan->injector);
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
	int code = injector_client_read(sweeper->plan, &found, err);

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

int sweep_plan_list_runs(const struct sweep_plan *plan, struct sweep_plan_runs *runs, struct error *err)
{
	static double delays[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	int count = sweep_schedule_parse_delays(plan->delays, delays, err);

	*runs = (struct sweep_plan_runs){0};
	if (count < 0)
		return error_code(err, EINVAL);
	runs->delays = (size_t)count;
	runs->items = sweep_schedule_of_plan(plan, delays, runs->delays, &runs->count);
	return runs->items ? 0 : error_set(err, ENOMEM, "out of memory");
}

void sweep_plan_print_runs(const struct sweep_plan *plan, const struct sweep_plan_runs *runs, FILE *out)
{
	fprintf(out, "%zu run%s: %zu delay%s, %lld repetition%s; at most %lld attempt%s of %g s each\n", runs->count,
		number_s(runs->count), runs->delays, number_s(runs->delays), (long long)plan->repetitions,
		number_s((uint64_t)plan->repetitions), (long long)plan->attempts, number_s((uint64_t)plan->attempts),
		plan->timeout_s);
	for (size_t i = 0; i < runs->count; i++) {
		const struct sweep_schedule_run *run = &runs->items[i];

		if (run->run >= SWEEP_REFERENCE_RUN)
			fprintf(out, "%5zu  %8.10g us  reference\n", i + 1, run->delay_us);
		else
			fprintf(out, "%5zu  %8.10g us  run %lld\n", i + 1, run->delay_us, (long long)run->run);
	}
}

json_t *sweep_plan_runs_to_json(const struct sweep_plan_runs *runs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < runs->count; i++) {
		const struct sweep_schedule_run *run = &runs->items[i];
		json_t *item = json_pack("{s:f,s:I}", "delay_us", run->delay_us, "run", (json_int_t)run->run);

		if (json_array_append_new(list, item) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:s,s:o}", "schema", "nomora.sweep-schedule/1", "runs", list);
}

/* Prints ", 3 runs left out" unless count is 0; the %s in `what` is for the plural's s. */
static void print_count(FILE *out, size_t count, const char *what)
{
	const char *gap = strstr(what, "%s");

	if (count > 0)
		fprintf(out, ", %zu %.*s%s%s", count, (int)(gap - what), what, number_s(count), gap + 2);
}

void sweep_summary_print(const struct sweep_plan *plan, const struct sweeper_summary *summary, FILE *out)
{
	fprintf(out, "%s: %zu of %zu run%s made in %.1f s", plan->output, summary->made,
		summary->planned + summary->extra, number_s(summary->planned + summary->extra), summary->elapsed_s);
	print_count(out, summary->extra, "run%s for precision");
	print_count(out, summary->found, "run%s already there");
	print_count(out, summary->repeated, "attempt%s repeated");
	print_count(out, summary->unrepeatable, "delay%s not repeatable");
	print_count(out, summary->disturbed, "run%s disturbed");
	print_count(out, summary->failed, "run%s left out");
	if (!isnan(summary->baseline_rtt_us))
		fprintf(out, ", %.4g us round trip without delay", summary->baseline_rtt_us);
	fputc('\n', out);
}

json_t *sweep_summary_to_json(const struct sweep_plan *plan, const struct sweeper_summary *summary)
{
	return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:f}", "schema", "nomora.sweep/1",
			 "application", plan->application, "output", plan->output, "planned",
			 (json_int_t)summary->planned, "found", (json_int_t)summary->found, "made",
			 (json_int_t)summary->made, "repeated", (json_int_t)summary->repeated, "disturbed",
			 (json_int_t)summary->disturbed, "failed", (json_int_t)summary->failed, "extra",
			 (json_int_t)summary->extra, "unrepeatable", (json_int_t)summary->unrepeatable,
			 "baseline_rtt_us",
			 isnan(summary->baseline_rtt_us) ? json_null() : json_real(summary->baseline_rtt_us),
			 "elapsed_s", summary->elapsed_s);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/file.h>

static const struct ns server_grace = {2 * NS_PER_S};
/* At the other end a server is killed a second after it was told to end. */
static const struct ns remote_patience = {5 * NS_PER_S};

static bool told_to_stop(const struct sweeper *sweeper)
{
	return sweeper->hooks->stop && *sweeper->hooks->stop;
}

void sweeper_say(const struct sweeper *sweeper, const char *format, ...)
{
	char line[1400];
	va_list arguments;

	if (!sweeper->hooks->say)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	sweeper->hooks->say(sweeper->hooks->context, line);
}

struct command sweeper_command(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s)
{
	return (struct command){.phase = phase,
				.line = line,
				.environment = (const char *const *)sweeper->environment,
				.timeout = {(int64_t)(timeout_s * 1e9)},
				.stop = sweeper->hooks->stop};
}

void sweeper_mark(const struct sweeper *sweeper, enum orphans_of of, struct marked_environment *environment,
		  struct command *command)
{
	size_t count = 0;

	for (; sweeper->environment[count]; count++)
		environment->items[count] = sweeper->environment[count];
	orphans_mark(of, sweeper->scratch, environment->mark, sizeof environment->mark);
	environment->items[count] = environment->mark;
	environment->items[count + 1] = NULL;
	command->environment = environment->items;
}

int sweeper_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err)
{
	size_t length = strlen(name), i = 0;
	char *text;

	while (sweeper->environment[i] &&
	       (strncmp(sweeper->environment[i], name, length) != 0 || sweeper->environment[i][length] != '='))
		i++;
	if (i == ENVIRONMENT_MAXIMUM)
		return error_set(err, E2BIG, "%s: expected at most %d variables", name, ENVIRONMENT_MAXIMUM);
	if (asprintf(&text, "%s=%s", name, value) < 0)
		return error_set(err, ENOMEM, "out of memory");
	free(sweeper->environment[i]);
	sweeper->environment[i] = text;
	return 0;
}

static void quote_server_log(const struct sweeper *sweeper, char *text, size_t bytes)
{
	char path[128];
	char *log;

	orphans_name_log(sweeper->scratch, path, sizeof path);
	log = file_read_all(path, 1 << 20, NULL, NULL);
	snprintf(text, bytes, "%.300s", last_line(log));
	free(log);
}

/* Tries server-ready until it succeeds, as long as the server lives. */
static int wait_until_ready(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct ns deadline = ns_add(ns_now_monotonic(), (struct ns){(int64_t)(plan->ready_timeout_s * 1e9)});
	char quote[320];

	for (;;) {
		struct command command =
			sweeper_command(sweeper, "server-ready", plan->server_ready, plan->ready_timeout_s);
		struct process_result result = {0};
		int code;

		if (process_wait(sweeper->server, (struct ns){50 * NS_PER_MS}, &result, NULL) == 0) {
			quote_server_log(sweeper, quote, sizeof quote);
			return error_set(err, ECHILD, "server: ended with exit code %d: %s", result.exit_code, quote);
		}
		code = plan->server_ready ? host_must_run(&sweeper->client_host, &command, err) : 0;
		if (code == 0)
			return 0;
		if (told_to_stop(sweeper))
			return error_set(err, EINTR, "stopped");
		if (ns_now_monotonic().v > deadline.v)
			return error_prefix(err, "the server is not ready after %g s", plan->ready_timeout_s);
	}
}

int sweeper_start_server(struct sweeper *sweeper, struct error *err)
{
	struct command command = sweeper_command(sweeper, "server", sweeper->plan->server, 0);
	struct marked_environment environment;
	char path[128];
	int code;

	orphans_name_log(sweeper->scratch, path, sizeof path);
	command.output_path = path;
	sweeper_mark(sweeper, ORPHANS_OF_SERVER, &environment, &command);
	sweeper->server = host_start(&sweeper->server_host, &command, err);
	if (!sweeper->server)
		return -err->code;
	code = wait_until_ready(sweeper, err);
	if (code)
		sweeper_stop_server(sweeper);
	return code;
}

/* Our end of a server over ssh is gone at once; the server itself holds its port until it has ended as well. */
static void await_remote_end(struct sweeper *sweeper)
{
	struct command command = sweeper_command(sweeper, "end of the server", NULL, ns_to_s(remote_patience));
	char line[ORPHANS_LINE_BYTES], mark[ORPHANS_MARK_BYTES];
	struct error err = {0};

	orphans_mark(ORPHANS_OF_SERVER, sweeper->scratch, mark, sizeof mark);
	snprintf(line, sizeof line, "while grep -qszxF '%s' /proc/[0-9]*/environ; do sleep 0.05; done", mark);
	command.line = line;
	command.stop = NULL; /* also, and above all, when we were told to stop */
	if (host_must_run(&sweeper->server_host, &command, &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
}

void sweeper_stop_server(struct sweeper *sweeper)
{
	bool was_there = sweeper->server;

	if (sweeper->server)
		process_stop(sweeper->server, server_grace);
	process_destroy(sweeper->server);
	sweeper->server = NULL;
	if (was_there && ssh_is_open(sweeper->server_host.ssh))
		await_remote_end(sweeper);
}

void sweeper_end_strays(const struct sweeper *sweeper, bool stopped)
{
	struct command command = {.phase = "end of what the client left", .timeout = remote_patience};
	const struct host *host = &sweeper->client_host;
	char ending[ORPHANS_LINE_BYTES], line[ORPHANS_LINE_BYTES + 16];
	struct error err = {0};

	if (host->kind != HOST_SSH) {
		orphans_end(ORPHANS_OF_CLIENT, sweeper->scratch);
		return;
	}
	if (!ssh_is_open(host->ssh))
		return;
	orphans_print_line(ORPHANS_OF_CLIENT, sweeper->scratch, ending, sizeof ending);
	snprintf(line, sizeof line, "%s%s", stopped ? "sleep 1.2; " : "", ending);
	command.line = line;
	if (host_must_run(host, &command, &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
}

static int parse_plan(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	int count = schedule_parse_delays(plan->delays, sweeper->delays_us, err), code;

	if (count < 0)
		return count;
	sweeper->delay_count = (size_t)count;
	for (size_t i = 0; i < plan->metrics.count; i++) {
		if (i == SWEEP_METRICS_MAXIMUM)
			return error_set(err, E2BIG, "more than %d metrics", SWEEP_METRICS_MAXIMUM);
		code = metric_parse(plan->metrics.items[i], &sweeper->metrics[i], err);
		if (code)
			return code;
		sweeper->metric_count++;
	}
	code = host_parse(plan->server_host, &sweeper->server_host, err);
	if (!code)
		code = host_parse(plan->client_host, &sweeper->client_host, err);
	if (code)
		return code;
	sweeper->runs = schedule_of_plan(plan, sweeper->delays_us, (size_t)count, &sweeper->run_count);
	sweeper->summary->planned = sweeper->run_count;
	return sweeper->runs ? 0 : error_set(err, ENOMEM, "out of memory");
}

bool sweeper_has_rows(const struct sweeper *sweeper)
{
	struct file_lines *lines = file_lines_open(sweeper->plan->output, NULL);
	char *line;
	int count = 0;

	while (count < 2 && lines && file_lines_next(lines, &line, NULL) > 0)
		count += line[0] != '\0' && line[0] != '#';
	file_lines_close(lines);
	return count == 2;
}

/* A run that a dying writer left without all its metrics is to be made again. */
static int cut_torn_run(struct sweeper *sweeper, struct error *err)
{
	const char *names[SWEEP_METRICS_MAXIMUM];
	int rows;

	if (!sweeper_has_rows(sweeper) || !journal_is_of_our_plan(sweeper->journal))
		return 0;
	for (size_t i = 0; i < sweeper->metric_count; i++)
		names[i] = sweeper->metrics[i].name;
	rows = sweep_writer_cut_torn_run(sweeper->writer, names, sweeper->metric_count, err);
	if (rows > 0)
		sweeper_say(sweeper, "%s: its last run has %d of %zu metrics: it is cut off and made again",
			    sweeper->plan->output, rows, sweeper->metric_count);
	return rows < 0 ? rows : 0;
}

/* Takes the runs off the schedule that the file has already. */
static int take_off_found(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct sweep *sweep;
	size_t left = 0;

	if (!sweeper_has_rows(sweeper))
		return 0;
	sweep = sweep_load(plan->output, err);
	if (!sweep)
		return -err->code;
	for (size_t i = 0; i < sweeper->run_count; i++) {
		const struct schedule_run *run = &sweeper->runs[i];

		if (sweep_has_run(sweep, run->delay_us, (enum sweep_direction)plan->direction, run->run))
			sweeper->summary->found++;
		else
			sweeper->runs[left++] = *run;
	}
	sweeper->run_count = left;
	sweep_destroy(sweep);
	return 0;
}

/* The folder of our own program goes in front of our PATH. */
static int set_path(struct sweeper *sweeper, struct error *err)
{
	const char *path = getenv("PATH");
	char *text;
	int code;

	if (!sweeper->hooks->program_folder || !path)
		return 0;
	if (asprintf(&text, "%s:%s", sweeper->hooks->program_folder, path) < 0)
		return error_set(err, ENOMEM, "out of memory");
	code = sweeper_set_variable(sweeper, "PATH", text, err);
	free(text);
	return code;
}

static int make_surroundings(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	const char *netns = sweeper->server_host.kind == HOST_NETNS ? sweeper->server_host.target : "";
	const char *const variables[][2] = {{"NOMORA_SERVER", plan->server_address ? plan->server_address : ""},
					    {"NOMORA_CLIENT", plan->client_address ? plan->client_address : ""},
					    {"NOMORA_SERVER_NETNS", netns},
					    {"NOMORA_PLAN_FOLDER", plan->folder ? plan->folder : "."},
					    {"NOMORA_SCRATCH", sweeper->scratch},
					    {"NOMORA_DELAY_US", "0"},
					    {"NOMORA_RUN", "0"}};
	int code = scratch_make(sweeper->scratch, sizeof sweeper->scratch, err);

	for (size_t i = 0; i < sizeof variables / sizeof *variables && !code; i++)
		code = sweeper_set_variable(sweeper, variables[i][0], variables[i][1], err);
	return code ? code : set_path(sweeper, err);
}

static int connect_hosts(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	const volatile sig_atomic_t *stop = sweeper->hooks->stop;
	int code = host_connect(&sweeper->server_host, plan->ssh_config, sweeper->scratch, stop, err);

	if (!code)
		code = host_connect(&sweeper->client_host, plan->ssh_config, sweeper->scratch, stop, err);
	return code;
}

int sweeper_set_delay(struct sweeper *sweeper, double ab_us, double ba_us, struct error *err)
{
	const char *control = sweeper->plan->injector;
	struct delay_note *note = &sweeper->note;
	int code;

	note->before = note->set;
	note->set = (struct delay_pair){ab_us, ba_us};
	delay_note_write(sweeper->lock, control, note);
	code = injector_set(control, ab_us, ba_us, err);
	if (code)
		note->set = note->before;
	return code;
}

/* What is there is what was there before us, unless a sweep that was killed has left it: then what that one found. */
static int find_delays(struct sweeper *sweeper, struct error *err)
{
	const char *control = sweeper->plan->injector;
	struct injector_state now;
	struct delay_note *note = &sweeper->note, left;
	int code = injector_read(control, &now, err);

	if (code)
		return code;
	note->found = note->set = (struct delay_pair){now.delay_ab_us, now.delay_ba_us};
	if (!delay_note_read(sweeper->lock, control, &left) || injector_has_delay(&now, left.found) ||
	    !(injector_has_delay(&now, left.set) || injector_has_delay(&now, left.before)))
		return 0;
	note->found = left.found;
	sweeper_say(sweeper,
		    "a sweep that was killed has left %.10g us from A to B and %.10g back: put back to %.10g and %.10g",
		    now.delay_ab_us, now.delay_ba_us, left.found.ab_us, left.found.ba_us);
	return sweeper_set_delay(sweeper, left.found.ab_us, left.found.ba_us, err);
}

/* At delay 0: set-up and server. */
static int prepare(struct sweeper *sweeper, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	struct command setup = sweeper_command(sweeper, "setup", plan->setup, plan->ready_timeout_s);
	int code = sweeper_set_delay(sweeper, 0, 0, err);

	sweeper->set_up = true;
	if (!code && plan->setup)
		code = host_must_run(&sweeper->server_host, &setup, err);
	if (!code && plan->server)
		code = sweeper_start_server(sweeper, err);
	return code;
}

/* `total` is what the progress is measured against; extra runs come behind it. */
static int make_runs(struct sweeper *sweeper, size_t total, struct error *err)
{
	const struct plan *plan = sweeper->plan;
	bool extra = sweeper->summary->extra > 0;
	int code = 0;

	for (size_t i = 0; i < sweeper->run_count && !code; i++) {
		char note[128];

		if (told_to_stop(sweeper))
			return error_set(err, EINTR, "stopped");
		snprintf(note, sizeof note, "%g us, run %lld%s", sweeper->runs[i].delay_us,
			 (long long)sweeper->runs[i].run, extra ? ", for precision" : "");
		if (sweeper->hooks->progress)
			sweeper->hooks->progress(sweeper->hooks->context, extra ? total : i, total, note);
		code = sweeper_make_run(sweeper, &sweeper->runs[i], err);
		if (!code && i + 1 < sweeper->run_count)
			sleep_unless((struct ns){(int64_t)(plan->cool_down_s * 1e9)}, sweeper->hooks->stop);
	}
	return code;
}

static int make_all_runs(struct sweeper *sweeper, struct error *err)
{
	size_t total = sweeper->run_count;
	int code = make_runs(sweeper, total, err);

	/* Bounded: a run that fails and is left out adds none to its delay. */
	for (int64_t round = 0; round < sweeper->plan->repetitions && !code; round++) {
		int extra = sweeper_schedule_extra(sweeper, err);

		if (extra <= 0)
			return extra;
		code = make_runs(sweeper, total, err);
	}
	return code;
}

/* What setup and hooks have started and nobody has stopped, and what has left its group. */
static void end_helpers(struct sweeper *sweeper)
{
	struct command command = {.phase = "end of what is left", .timeout = remote_patience};
	const struct host *hosts[] = {&sweeper->server_host, &sweeper->client_host};
	struct error err = {0};
	char guards[ORPHANS_LINE_BYTES], rest[ORPHANS_LINE_BYTES], line[2 * ORPHANS_LINE_BYTES + 2];

	if (!sweeper->scratch[0])
		return;
	orphans_print_line(ORPHANS_OF_GUARD, sweeper->scratch, guards, sizeof guards);
	orphans_print_line(ORPHANS_OF_SWEEP, sweeper->scratch, rest, sizeof rest);
	snprintf(line, sizeof line, "%s; %s", guards, rest);
	command.line = line;
	for (size_t i = 0; i < 2; i++)
		if (ssh_is_open(hosts[i]->ssh) && host_must_run(hosts[i], &command, &err) != 0)
			sweeper_say(sweeper, "%s", err.text);
	orphans_end(ORPHANS_OF_SWEEP, sweeper->scratch);
}

static void tidy_up(struct sweeper *sweeper)
{
	const struct plan *plan = sweeper->plan;
	struct command teardown = sweeper_command(sweeper, "teardown", plan->teardown, plan->ready_timeout_s);
	struct error err = {0};

	teardown.stop = NULL; /* also, and above all, when we were told to stop */
	sweeper_stop_server(sweeper);
	if (sweeper->set_up && plan->teardown && host_must_run(&sweeper->server_host, &teardown, &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
	if (sweeper->set_up)
		injector_set(plan->injector, sweeper->note.found.ab_us, sweeper->note.found.ba_us, NULL);
	end_helpers(sweeper);
	host_disconnect(&sweeper->server_host);
	host_disconnect(&sweeper->client_host);
	if (sweeper->scratch[0])
		scratch_remove(sweeper->scratch);
}

static int carry_out_locked(struct sweeper *sweeper, struct error *err)
{
	struct awake *awake = NULL;
	int code = make_surroundings(sweeper, err);

	if (!code)
		code = connect_hosts(sweeper, err);
	if (!code && sweeper->plan->keep_awake) {
		awake = awake_start(err);
		code = awake ? 0 : -err->code;
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
	struct injector_state found;
	int code = injector_read(control, &found, err); /* no file is made beside what is no injector */

	if (!code)
		code = injector_lock(control, &sweeper->lock, err);
	if (code)
		return code;
	/* Again: a sweep that has ended meanwhile has put the old delays back. */
	code = find_delays(sweeper, err);
	if (!code)
		code = carry_out_locked(sweeper, err);
	injector_unlock(control, sweeper->lock);
	return code;
}

/* Of a sweep that was refused before its first run, no file stays that it has made. */
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

int sweeper_run(const struct plan *plan, const struct sweeper_hooks *hooks, struct sweeper_summary *summary,
		struct error *err)
{
	struct ns began = ns_now_monotonic();
	struct sweeper *sweeper = calloc(1, sizeof *sweeper);
	int code;

	*summary = (struct sweeper_summary){0};
	if (!sweeper)
		return error_set(err, ENOMEM, "out of memory");
	sweeper->plan = plan;
	sweeper->hooks = hooks;
	sweeper->summary = summary;
	code = parse_plan(sweeper, err);
	if (!code) {
		sweeper->writer = sweep_writer_open(plan->output, err);
		code = sweeper->writer ? journal_open(plan, sweeper_has_rows(sweeper), &sweeper->journal, err)
				       : -err->code;
	}
	if (!code)
		code = cut_torn_run(sweeper, err);
	if (!code)
		code = take_off_found(sweeper, err);
	if (!code && sweeper->run_count == 0 && sweeper_schedule_extra(sweeper, err) < 0)
		code = -err->code;
	if (!code && sweeper->run_count > 0) {
		code = hooks->make_path ? hooks->make_path(hooks->context, err) : 0;
		if (!code)
			code = carry_out(sweeper, err);
	}
	if (!code)
		code = sweeper_conclude(sweeper, err);
	summary->elapsed_s = ns_to_s(ns_sub(ns_now_monotonic(), began));
	close_files(sweeper, code != 0);
	for (size_t i = 0; i < sweeper->metric_count; i++)
		metric_free(&sweeper->metrics[i]);
	for (size_t i = 0; i < ENVIRONMENT_MAXIMUM; i++)
		free(sweeper->environment[i]);
	free(sweeper->runs);
	free(sweeper);
	return code;
}

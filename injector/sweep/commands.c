/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/file.h>

enum { QUOTED_LINES = 20, PATH_BYTES = 4096, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/*
 * Time limit of the commands by which the sweep itself kills processes, and of the wait for the end of a server on an
 * ssh host. It must be above 1.2 s: commands_end_strays() waits so long on an ssh host, where the processes of a
 * stopped command have one second to end. A server is killed one second after it was asked to end.
 */
static const struct ns remote_patience = {5 * NS_PER_S};

bool sweeper_is_stopped(const struct sweeper *sweeper)
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

int commands_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err)
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

/* Sets the PATH of the plan's commands to our own PATH with the folder of our program in front. */
static int set_path(struct sweeper *sweeper, struct error *err)
{
	const char *path = getenv("PATH");
	char *text;
	int code;

	if (!sweeper->hooks->program_folder || !path)
		return 0;
	if (asprintf(&text, "%s:%s", sweeper->hooks->program_folder, path) < 0)
		return error_set(err, ENOMEM, "out of memory");
	code = commands_set_variable(sweeper, "PATH", text, err);
	free(text);
	return code;
}

int commands_prepare(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
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
		code = commands_set_variable(sweeper, variables[i][0], variables[i][1], err);
	return code ? code : set_path(sweeper, err);
}

void commands_free(struct sweeper *sweeper)
{
	for (size_t i = 0; i < ENVIRONMENT_MAXIMUM; i++)
		free(sweeper->environment[i]);
}

struct host_command commands_make(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s)
{
	return (struct host_command){.phase = phase,
				     .line = line,
				     .environment = (const char *const *)sweeper->environment,
				     .timeout = {(int64_t)(timeout_s * 1e9)},
				     .stop = sweeper->hooks->stop};
}

void commands_mark(const struct sweeper *sweeper, enum orphans_of of, struct commands_marked *environment,
		   struct host_command *command)
{
	size_t count = 0;

	for (; sweeper->environment[count]; count++)
		environment->items[count] = sweeper->environment[count];
	orphans_mark(of, sweeper->scratch, environment->mark, sizeof environment->mark);
	environment->items[count] = environment->mark;
	environment->items[count + 1] = NULL;
	command->environment = environment->items;
}

static void name_output(const struct sweeper *sweeper, const char *phase, struct commands_occasion occasion,
			char path[PATH_BYTES])
{
	if (occasion.run)
		snprintf(path, PATH_BYTES, "%s.out/%gus-run%lld-attempt%d-%s.txt", sweeper->plan->output,
			 occasion.run->delay_us, (long long)occasion.run->run, occasion.attempt, phase);
	else
		snprintf(path, PATH_BYTES, "%s.out/%s.txt", sweeper->plan->output, phase);
}

static int write_output(const struct sweeper *sweeper, const char *path, const char *output, struct error *err)
{
	char folder[PATH_BYTES];
	struct file_writer *writer;

	snprintf(folder, sizeof folder, "%s.out", sweeper->plan->output);
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return error_set(err, errno, "cannot create %s: %s", folder, strerror(errno));
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	fputs(output, file_writer_stream(writer));
	return file_writer_commit(writer, err);
}

static void print_tail(const struct sweeper *sweeper, const char *phase, const char *path, const char *output)
{
	const char *line = output_tail(output, QUOTED_LINES);

	if (!strchr(line, '\n') || !line[strcspn(line, "\n") + 1]) /* a single line is in the error already */
		return;
	sweeper_say(sweeper, "%s: last lines of the output (complete in %s):", phase, path);
	while (*line) {
		int length = (int)strcspn(line, "\r\n");

		sweeper_say(sweeper, "  | %.*s", length, line);
		line += length;
		line += *line == '\r';
		line += *line == '\n';
	}
}

void commands_keep_output(struct sweeper *sweeper, const char *phase, struct commands_occasion occasion, bool failed,
			  const char *output)
{
	char path[PATH_BYTES];
	struct error err = {0};

	name_output(sweeper, phase, occasion, path);
	if (write_output(sweeper, path, output ? output : "", &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
	if (failed)
		print_tail(sweeper, phase, path, output ? output : "");
}

int commands_fail(struct sweeper *sweeper, const struct host_command *command, struct commands_occasion occasion,
		  int exit_code, char *output, struct error *err)
{
	bool cannot_start = exit_code == EXIT_NOT_EXECUTABLE || exit_code == EXIT_NOT_FOUND;

	commands_keep_output(sweeper, command->phase, occasion, true, output);
	return error_set(err, cannot_start ? ENOEXEC : ECHILD, "%s: failed with exit code %d: %.300s", command->phase,
			 exit_code, output_last_line(output));
}

int commands_must_run(struct sweeper *sweeper, const struct host *host, const struct host_command *command,
		      struct commands_occasion occasion, struct error *err)
{
	struct process_result result = {0};
	int code = host_run(host, command, &result, err);

	if (code == 0 && result.exit_code != 0)
		code = commands_fail(sweeper, command, occasion, result.exit_code, result.output, err);
	else if (code == -ETIMEDOUT)
		commands_keep_output(sweeper, command->phase, occasion, true, result.output);
	else if (code == 0 && sweeper->plan->keep_output)
		commands_keep_output(sweeper, command->phase, occasion, false, result.output);
	process_result_free(&result);
	return code;
}

void commands_end_strays(const struct sweeper *sweeper, bool stopped)
{
	struct host_command command = {.phase = "killing the client's processes", .timeout = remote_patience};
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

void commands_end_all(struct sweeper *sweeper)
{
	struct host_command command = {.phase = "killing processes that are left", .timeout = remote_patience};
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

enum { LOG_BYTES_MAXIMUM = 16 << 20 };

static const struct ns server_grace = {2 * NS_PER_S};

/* Returns the server's output so far, which the caller frees; it may be NULL. */
static char *read_log(const struct sweeper *sweeper)
{
	char path[128];

	orphans_name_log(sweeper->scratch, path, sizeof path);
	return file_read_all(path, LOG_BYTES_MAXIMUM, NULL, NULL);
}

/* Reports a server that ended although it was not stopped. */
static int explain_end(struct sweeper *sweeper, int exit_code, struct error *err)
{
	struct host_command command = {.phase = "server"};
	char *log = read_log(sweeper);
	int code = commands_fail(sweeper, &command, (struct commands_occasion){0}, exit_code, log, err);

	free(log);
	return code;
}

/* Reports a server that runs although server-ready never succeeded. */
static int explain_wait(struct sweeper *sweeper, struct error *err)
{
	char *log = read_log(sweeper);

	commands_keep_output(sweeper, "server", (struct commands_occasion){0}, true, log);
	free(log);
	return error_prefix(err, "the server is not ready after %g s", sweeper->plan->ready_timeout_s);
}

/*
 * Repeats server-ready until it succeeds, the server has ended, or the time limit (ready-timeout-s) is over. Without
 * server-ready, only checks that the server still runs after 50 ms.
 */
static int wait_until_ready(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct ns deadline = ns_add(ns_now_monotonic(), (struct ns){(int64_t)(plan->ready_timeout_s * 1e9)});

	for (;;) {
		struct host_command command =
			commands_make(sweeper, "server-ready", plan->server_ready, plan->ready_timeout_s);
		struct process_result result = {0};
		int code;

		if (process_wait(sweeper->server, (struct ns){50 * NS_PER_MS}, &result, NULL) == 0) {
			code = result.exit_code;
			process_result_free(&result);
			return explain_end(sweeper, code, err);
		}
		if (!plan->server_ready)
			return 0;
		code = host_must_run(&sweeper->client_host, &command, err);
		if (code == 0)
			return 0;
		if (sweeper_is_stopped(sweeper))
			return error_set(err, EINTR, "stopped");
		if (ns_now_monotonic().v > deadline.v)
			return explain_wait(sweeper, err);
	}
}

int server_start(struct sweeper *sweeper, struct error *err)
{
	struct host_command command = commands_make(sweeper, "server", sweeper->plan->server, 0);
	struct commands_marked environment;
	char path[128];
	int code;

	orphans_name_log(sweeper->scratch, path, sizeof path);
	command.output_path = path;
	commands_mark(sweeper, ORPHANS_OF_SERVER, &environment, &command);
	sweeper->server = host_start(&sweeper->server_host, &command, err);
	if (!sweeper->server)
		return error_code(err, ECHILD);
	code = wait_until_ready(sweeper, err);
	if (code)
		server_stop(sweeper);
	return code;
}

/*
 * Waits for the end of a server on an ssh host. When the server is stopped, our ssh process ends at once, but the
 * server ends later, and has its port until then.
 */
static void await_remote_end(struct sweeper *sweeper)
{
	struct host_command command =
		commands_make(sweeper, "waiting for the end of the server", NULL, ns_to_s(remote_patience));
	char line[ORPHANS_LINE_BYTES], mark[ORPHANS_MARK_BYTES];
	struct error err = {0};

	orphans_mark(ORPHANS_OF_SERVER, sweeper->scratch, mark, sizeof mark);
	snprintf(line, sizeof line, "while grep -qszxF '%s' /proc/[0-9]*/environ; do sleep 0.05; done", mark);
	command.line = line;
	command.stop = NULL; /* the sweep may have been stopped */
	if (host_must_run(&sweeper->server_host, &command, &err) != 0)
		sweeper_say(sweeper, "%s", err.text);
}

void server_stop(struct sweeper *sweeper)
{
	bool was_there = sweeper->server;

	if (sweeper->server)
		process_stop(sweeper->server, server_grace);
	process_destroy(sweeper->server);
	sweeper->server = NULL;
	if (was_there && ssh_is_open(sweeper->server_host.ssh))
		await_remote_end(sweeper);
}

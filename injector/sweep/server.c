/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/file.h>

#include "commands_priv.h"
#include "host_priv.h"

enum { LOG_BYTES_MAXIMUM = 16 << 20 };

static const struct ns server_grace = {2 * NS_PER_S};
/* Longest wait for the end of a server on an ssh host. The server is killed one second after it was asked to end. */
static const struct ns remote_patience = {5 * NS_PER_S};

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

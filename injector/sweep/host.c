/* SPDX-License-Identifier: BSD-3-Clause */
#include "host_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <injector/sweep/sweeper.h>

enum { SSH_FAILED = 255 }; /* exit code of ssh itself */

static const struct ns slice = {50 * NS_PER_MS};
static const struct ns grace = {2 * NS_PER_S};

int host_parse(const char *text, struct host *host, struct error *err)
{
	*host = (struct host){.kind = HOST_LOCAL};
	if (strcmp(text, "local") == 0)
		return 0;
	host->kind = strncmp(text, "netns:", 6) == 0 ? HOST_NETNS : HOST_SSH;
	host->target = strchr(text, ':') ? strchr(text, ':') + 1 : "";
	if ((host->kind == HOST_SSH && strncmp(text, "ssh:", 4) != 0) || !*host->target || *host->target == '-')
		return error_set(err, EINVAL,
				 "host '%s': expected local, netns:NAME, ssh:TARGET, or a host of the plan's lab",
				 text);
	return 0;
}

int sweeper_check_host(const char *text, struct error *err)
{
	struct host host;

	return host_parse(text, &host, err);
}

int host_connect(struct host *host, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		 struct error *err)
{
	if (host->kind != HOST_SSH)
		return 0;
	host->ssh = ssh_open(host->target, config, scratch, stop, err);
	return host->ssh ? 0 : error_code(err, EHOSTUNREACH);
}

void host_disconnect(struct host *host)
{
	ssh_close(host->ssh);
	host->ssh = NULL;
}

struct process *host_start(const struct host *host, const struct host_command *command, struct error *err)
{
	struct process_options options = {.environment = command->environment,
					  .output_path = command->output_path,
					  .ends_group = command->ends_group};
	const char *netns[] = {"ip", "netns", "exec", host->target, "/bin/sh", "-c", command->line, NULL};
	struct process *process = NULL;

	switch (host->kind) {
	case HOST_LOCAL:
		options.shell = command->line;
		process = process_start(&options, err);
		break;
	case HOST_NETNS:
		options.argv = netns;
		process = process_start(&options, err);
		break;
	case HOST_SSH:
		process = ssh_start(host->ssh, command, err);
		break;
	}
	if (!process && err)
		error_prefix(err, "%s", command->phase);
	return process;
}

static bool is_stopped(const volatile sig_atomic_t *stop)
{
	return stop && *stop;
}

int host_run(const struct host *host, const struct host_command *command, struct process_result *result,
	     struct error *err)
{
	struct process *process = host_start(host, command, err);
	struct ns deadline = ns_add(ns_now_monotonic(), command->timeout);
	int code;

	memset(result, 0, sizeof *result);
	if (!process)
		return error_code(err, ECHILD);
	do
		code = process_wait(process, slice, result, err);
	while (code == -ETIMEDOUT && ns_now_monotonic().v < deadline.v && !is_stopped(command->stop));
	if (code == -ETIMEDOUT) {
		process_stop(process, grace);
		if (is_stopped(command->stop))
			code = error_set(err, EINTR, "stopped");
		else
			code = error_set(err, ETIMEDOUT, "%s: timed out after %.10g s", command->phase,
					 ns_to_s(command->timeout));
	} else if (code < 0) {
		error_prefix(err, "%s", command->phase);
	} else if (host->kind == HOST_SSH && result->exit_code == SSH_FAILED && !ssh_is_own_code(result->output)) {
		code = ssh_explain(host->ssh, command->phase, result->output, err);
		process_result_free(result);
	}
	process_destroy(process);
	return code;
}

int host_must_run(const struct host *host, const struct host_command *command, struct error *err)
{
	struct process_result result;
	int code = host_run(host, command, &result, err);

	if (code == 0 && result.exit_code != 0)
		code = error_set(err, ECHILD, "%s: failed with exit code %d: %.300s", command->phase, result.exit_code,
				 output_last_line(result.output));
	process_result_free(&result);
	return code;
}

void host_sleep(struct ns time, const volatile sig_atomic_t *stop)
{
	struct ns deadline = ns_add(ns_now_monotonic(), time);

	while (!is_stopped(stop)) {
		int64_t left = deadline.v - ns_now_monotonic().v;
		struct timespec wait = {.tv_nsec = left < slice.v ? left : slice.v};

		if (left <= 0)
			return;
		nanosleep(&wait, NULL);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/file.h>
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
	return host->ssh ? 0 : -err->code;
}

void host_disconnect(struct host *host)
{
	ssh_close(host->ssh);
	host->ssh = NULL;
}

struct process *host_start(const struct host *host, const struct command *command, struct error *err)
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

static bool told_to_stop(const volatile sig_atomic_t *stop)
{
	return stop && *stop;
}

int host_run(const struct host *host, const struct command *command, struct process_result *result, struct error *err)
{
	struct process *process = host_start(host, command, err);
	struct ns deadline = ns_add(ns_now_monotonic(), command->timeout);
	int code;

	memset(result, 0, sizeof *result);
	if (!process)
		return -err->code;
	do
		code = process_wait(process, slice, result, err);
	while (code == -ETIMEDOUT && ns_now_monotonic().v < deadline.v && !told_to_stop(command->stop));
	if (code == -ETIMEDOUT) {
		process_stop(process, grace);
		if (told_to_stop(command->stop))
			code = error_set(err, EINTR, "stopped");
		else
			code = error_set(err, ETIMEDOUT, "%s: not done after %.10g s: stopped", command->phase,
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

const char *last_line(char *output)
{
	size_t length = output ? strlen(output) : 0;
	char *newline;

	while (length > 0 && strchr(" \t\r\n", output[length - 1]))
		output[--length] = '\0';
	if (length == 0)
		return "it printed nothing";
	newline = strrchr(output, '\n');
	return newline ? newline + 1 : output;
}

int host_must_run(const struct host *host, const struct command *command, struct error *err)
{
	struct process_result result;
	int code = host_run(host, command, &result, err);

	if (code == 0 && result.exit_code != 0)
		code = error_set(err, ECHILD, "%s: failed with exit code %d: %.300s", command->phase, result.exit_code,
				 last_line(result.output));
	process_result_free(&result);
	return code;
}

void sleep_unless(struct ns time, const volatile sig_atomic_t *stop)
{
	struct ns deadline = ns_add(ns_now_monotonic(), time);

	while (!told_to_stop(stop)) {
		int64_t left = deadline.v - ns_now_monotonic().v;
		struct timespec wait = {.tv_nsec = left < slice.v ? left : slice.v};

		if (left <= 0)
			return;
		nanosleep(&wait, NULL);
	}
}

/* user nice system idle iowait irq softirq steal, proc(5) */
enum { TICKS_NICE = 1, TICKS_IDLE = 3, TICKS_WAIT = 4, TICKS_STEAL = 7, TICKS = 8 };

static double read_ticks(const char *fields, double ticks[TICKS])
{
	double sum = 0;

	if (sscanf(fields, "%lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
		   &ticks[5], &ticks[6], &ticks[7]) != TICKS)
		return 0;
	for (int i = 0; i < TICKS; i++)
		sum += ticks[i];
	return sum;
}

void host_state_read(struct host_state *state)
{
	char *text = file_read_all("/proc/stat", 1 << 20, NULL, NULL), *save = NULL;
	double ticks[TICKS] = {0};
	cpu_set_t ours;

	*state = (struct host_state){0};
	if (sched_getaffinity(0, sizeof ours, &ours) != 0)
		CPU_ZERO(&ours);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && strncmp(line, "cpu", 3) == 0;
	     line = strtok_r(NULL, "\n", &save)) {
		char *fields = line + 3;
		unsigned long cpu;

		if (*fields == ' ') {
			state->total_ticks = read_ticks(fields, ticks);
			state->steal_ticks = ticks[TICKS_STEAL];
			continue;
		}
		cpu = strtoul(fields, &fields, 10);
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &ours)) {
			state->our_processors++;
			state->our_ticks += read_ticks(fields, ticks);
			state->our_free_ticks += ticks[TICKS_IDLE] + ticks[TICKS_WAIT] + ticks[TICKS_NICE];
		}
	}
	free(text);
	if (getloadavg(&state->load, 1) != 1)
		state->load = 0;
}

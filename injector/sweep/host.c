/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <base/name.h>
#include <base/text_stream.h>
#include <injector/sweep/sweeper.h>

static size_t trimmed_length(const char *output)
{
	size_t length = output ? strlen(output) : 0;

	while (length > 0 && strchr(" \t\r\n", output[length - 1]))
		length--;
	return length;
}

const char *output_last_line(char *output)
{
	size_t length = trimmed_length(output);
	char *newline;

	if (length == 0)
		return "no output";
	output[length] = '\0';
	newline = strrchr(output, '\n');
	return newline ? newline + 1 : output;
}

const char *output_tail(const char *output, size_t lines)
{
	const char *at = (output ? output : "") + trimmed_length(output);
	const char *begin = output ? output : at;

	while (at > begin) {
		if (at[-1] == '\n' && --lines == 0)
			break;
		at--;
	}
	return at;
}

/*
 * Commands on ssh hosts. One connection (ssh's master) stays open for the whole sweep. Each command is a session in it,
 * so that no handshake is part of a measurement. The master is our child: when we end, it ends too, with its sessions,
 * and sshd then hangs up the terminals of the sessions.
 */

enum { ARGUMENTS = 16, CONNECT_PATIENCE_S = 30, SOCKET_BYTES = 108 /* sun_path */, CONTROL_BYTES = SOCKET_BYTES + 16 };

#define SSH_OWN_255 "255 is the exit code of the command itself"

/*
 * The shell script that runs a command ($1) on the ssh host. If there is a $2, the script kills the rest of the
 * command's process group when the command ends. (The number of the group is not reused while any member lives.)
 *
 * If sshd hangs up the terminal, only this shell gets the signal, because servers would take SIGHUP as a request to
 * reload; the shell then kills the command's whole group. The terminal exists only for that: the command has no input
 * and writes into a pipe, its exit code comes through descriptor 3, and no carriage returns get into its output.
 *
 * When ssh itself fails, it ends with 255. If the command ends with 255, the script therefore prints a last line that
 * says so (SSH_OWN_255).
 */
static const char wrapper[] = "stty -onlcr 2>/dev/null; exec 4>&1; "
			      "s=$({ { trap 'kill -TERM -$p; sleep 1; kill -KILL -$p' HUP TERM; "
			      "setsid /bin/sh -c \"$1\" </dev/null 3>&- 4>&- & p=$!; wait $p; e=$?; test -z \"$2\" || "
			      "kill -KILL -$p 2>/dev/null; "
			      "echo $e >&3; } 2>&1 | "
			      "cat >&4; } 3>&1); test $s != 255 || printf '\\n" SSH_OWN_255 "\\n' >&4; exit $s";

/*
 * Processes that a command leaves in the background have no shell that would kill them after a hang-up. So each
 * connection has a guard: a session that waits for the hang-up and then kills all processes of the sweep that are left
 * on the host ($1 is the shell line that kills them). Before it kills, the guard waits 10 s: if only the connection was
 * lost, the sweep may reconnect in this time, and then ends this guard.
 */
static const char guard_script[] =
	"l=$1; end() { trap '' HUP TERM; kill $p 2>/dev/null; sleep 10; eval \"$l\"; exit; }; "
	"trap end HUP TERM; while :; do sleep 3600 & p=$!; wait $p; done";

struct ssh {
	const char *target, *config, *scratch;
	char socket[SOCKET_BYTES];
	struct process *master, *guard;
};

/*
 * Writes to argv the options that the master and the sessions share. Returns the number of words. `control` must
 * outlive argv.
 */
static size_t put_options(const struct ssh *ssh, char control[CONTROL_BYTES], const char **argv)
{
	/* ssh notices within 12 s that a host has vanished, and stops trying to connect after 10 s. */
	const char *const words[] = {
		"ssh",  "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=3", "-oServerAliveCountMax=3",
		control};
	size_t count = sizeof words / sizeof *words;

	snprintf(control, CONTROL_BYTES, "-oControlPath=%s", ssh->socket);
	memcpy(argv, words, sizeof words);
	if (ssh->config) {
		argv[count++] = "-F";
		argv[count++] = ssh->config;
	}
	return count;
}

static struct process *start_master(const struct ssh *ssh, struct error *err)
{
	const char *argv[ARGUMENTS];
	char control[CONTROL_BYTES];
	size_t count = put_options(ssh, control, argv);

	argv[count++] = "-MN";
	argv[count++] = "-oControlPersist=no";
	argv[count++] = ssh->target;
	argv[count] = NULL;
	return process_start(&(struct process_options){.argv = argv}, err);
}

/* Waits for the master's socket, which it creates after the login. */
static int wait_for_socket(struct ssh *ssh, const volatile sig_atomic_t *stop, struct error *err)
{
	struct ns deadline = ns_add(ns_now_monotonic(), (struct ns){CONNECT_PATIENCE_S * NS_PER_S});
	struct process_result result = {0};

	while (access(ssh->socket, F_OK) != 0) {
		if (process_wait(ssh->master, (struct ns){20 * NS_PER_MS}, &result, err) != -ETIMEDOUT) {
			error_set(err, EHOSTUNREACH, "cannot connect to ssh:%s: %.300s", ssh->target,
				  output_last_line(result.output));
			process_result_free(&result);
			return -EHOSTUNREACH;
		}
		if (stop && *stop)
			return error_set(err, EINTR, "stopped");
		if (ns_now_monotonic().v > deadline.v)
			return error_set(err, ETIMEDOUT, "cannot connect to ssh:%s: not logged in after %d s",
					 ssh->target, CONNECT_PATIENCE_S);
	}
	return 0;
}

static void end_master(struct ssh *ssh)
{
	process_destroy(ssh->guard);
	process_destroy(ssh->master);
	ssh->guard = ssh->master = NULL;
	unlink(ssh->socket);
}

/* Starts a session that runs a line at the other end. */
static struct process *start_session(const struct ssh *ssh, const char *line, const char *output_path,
				     struct error *err)
{
	const char *argv[ARGUMENTS];
	char control[CONTROL_BYTES];
	size_t count = put_options(ssh, control, argv);

	argv[count++] = "-oLogLevel=ERROR"; /* keeps ssh's own messages out of the command's output */
	argv[count++] = "-tt";
	argv[count++] = ssh->target;
	argv[count++] = line;
	argv[count] = NULL;
	return process_start(&(struct process_options){.argv = argv, .output_path = output_path}, err);
}

/* Starts the guard of a new connection, and kills the guards of earlier connections. */
static int start_guard(struct ssh *ssh, struct error *err)
{
	char others[ORPHANS_LINE_BYTES], rest[ORPHANS_LINE_BYTES], mark[ORPHANS_MARK_BYTES], *line = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&line, &bytes);

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	orphans_print_line(ORPHANS_OF_GUARD, ssh->scratch, others, sizeof others);
	orphans_print_line(ORPHANS_OF_SWEEP, ssh->scratch, rest, sizeof rest);
	orphans_mark(ORPHANS_OF_GUARD, ssh->scratch, mark, sizeof mark);
	fputs("/bin/sh -c ", out);
	shell_print(out, others, strlen(others));
	fprintf(out, "; exec env %s /bin/sh -c ", mark);
	shell_print(out, guard_script, strlen(guard_script));
	fputs(" sh ", out);
	shell_print(out, rest, strlen(rest));
	if (fclose(out) == 0)
		ssh->guard = start_session(ssh, line, NULL, err);
	else
		error_set(err, ENOMEM, "out of memory");
	free(line);
	return ssh->guard ? 0 : error_code(err, EIO);
}

static int connect_master(struct ssh *ssh, const volatile sig_atomic_t *stop, struct error *err)
{
	int code;

	ssh->master = start_master(ssh, err);
	if (!ssh->master)
		return error_code(err, EIO);
	code = wait_for_socket(ssh, stop, err);
	if (!code)
		code = start_guard(ssh, err);
	if (code)
		end_master(ssh);
	return code;
}

/* Connects to an ssh host. The arguments are those of host_connect(). Returns NULL with err set on failure. */
static struct ssh *ssh_open(const char *target, const char *config, const char *scratch,
			    const volatile sig_atomic_t *stop, struct error *err)
{
	struct ssh *ssh = calloc(1, sizeof *ssh);

	if (!ssh) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	ssh->target = target;
	ssh->config = config;
	ssh->scratch = scratch;
	snprintf(ssh->socket, sizeof ssh->socket, "%s/ssh/%p", scratch, (void *)ssh);
	if (connect_master(ssh, stop, err) != 0) {
		free(ssh);
		return NULL;
	}
	return ssh;
}

/* NULL is legal */
static void ssh_close(struct ssh *ssh)
{
	if (!ssh)
		return;
	end_master(ssh);
	free(ssh);
}

/*
 * Returns the shell line to run on the ssh host, or NULL if out of memory; the caller frees it. The line sets the
 * command's environment, except PATH, because ssh does not pass the environment on.
 */
static char *remote_line(const struct host_command *command)
{
	char *line = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&line, &bytes);

	if (!out)
		return NULL;
	fputs("env", out);
	for (const char *const *variable = command->environment; variable && *variable; variable++) {
		if (strncmp(*variable, "PATH=", 5) == 0)
			continue;
		fputc(' ', out);
		shell_print(out, *variable, strlen(*variable));
	}
	fputs(" /bin/sh -c ", out);
	shell_print(out, wrapper, strlen(wrapper));
	fputs(" sh ", out);
	shell_print(out, command->line, strlen(command->line));
	if (command->ends_group)
		fputs(" 1", out);
	fclose(out);
	return line;
}

/*
 * Returns true if the connection has ended. `why` is then the last message of ssh, or says that an earlier attempt to
 * reconnect failed.
 */
static bool has_ended(struct ssh *ssh, struct ns patience, char *why, size_t bytes)
{
	struct process_result result = {0};

	if (!ssh->master) {
		snprintf(why, bytes, "cannot reconnect");
		return true;
	}
	if (process_wait(ssh->master, patience, &result, NULL) == -ETIMEDOUT)
		return false;
	snprintf(why, bytes, "%.200s", output_last_line(result.output));
	process_result_free(&result);
	end_master(ssh);
	return true;
}

/*
 * Starts a command over the connection; reconnects first if the connection has ended. Returns the local process of ssh,
 * or NULL with err set.
 */
static struct process *ssh_start(struct ssh *ssh, const struct host_command *command, struct error *err)
{
	struct process *process;
	char why[256], *line;

	if (has_ended(ssh, (struct ns){0}, why, sizeof why) && connect_master(ssh, command->stop, err) != 0)
		return NULL;
	line = remote_line(command);
	if (!line) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	process = start_session(ssh, line, command->output_path, err);
	free(line);
	return process;
}

bool ssh_is_open(struct ssh *ssh)
{
	char why[256];

	return ssh && !has_ended(ssh, (struct ns){0}, why, sizeof why);
}

/*
 * Call it if a command ended with exit code 255. Returns true if 255 is the exit code of the command itself, and false
 * if it is that of ssh. If true, removes the line that marks this from the end of the output.
 */
static bool ssh_is_own_code(char *output)
{
	static const char mark[] = "\n" SSH_OWN_255 "\n";
	size_t length = output ? strlen(output) : 0, bytes = sizeof mark - 1;

	if (length < bytes || strcmp(output + length - bytes, mark) != 0)
		return false;
	output[length - bytes] = '\0';
	return true;
}

/*
 * Call it if ssh itself failed. Sets err to the reason why the connection ended, or to ssh's last message. Returns the
 * error.
 */
static int ssh_explain(struct ssh *ssh, const char *phase, char *output, struct error *err)
{
	char why[256];

	if (has_ended(ssh, (struct ns){NS_PER_S}, why, sizeof why))
		return error_set(err, ECONNRESET, "%s: the connection to ssh:%s broke: %s", phase, ssh->target, why);
	return error_set(err, ECOMM, "%s: ssh:%s failed: %.300s", phase, ssh->target, output_last_line(output));
}

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

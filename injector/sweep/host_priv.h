/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the plan's commands run: this machine, a network namespace, or another machine by ssh. */
#ifndef SWEEP_HOST_PRIV_H
#define SWEEP_HOST_PRIV_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/process.h>

enum host_kind { HOST_LOCAL, HOST_NETNS, HOST_SSH };

struct ssh;

struct host {
	enum host_kind kind;
	const char *target; /* namespace or ssh target; borrowed */
	struct ssh *ssh;    /* connection to an ssh host; NULL before host_connect() */
};

/* Parses "local", "netns:NAME" or "ssh:TARGET". Returns 0, or -EINVAL with err set. */
int host_parse(const char *text, struct host *host, struct error *err);

/*
 * Connects to an ssh host; then its commands need no handshake. Does nothing for other hosts. `config` is the file for
 * ssh -F, or NULL. `scratch` is the sweep's folder: it holds the connection's socket, and must exist for as long as the
 * connection. `stop` may be NULL.
 */
int host_connect(struct host *host, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		 struct error *err);
void host_disconnect(struct host *host);

struct host_command {
	const char *phase;              /* for messages: "client" */
	const char *line;               /* for /bin/sh */
	const char *const *environment; /* NULL-terminated "NAME=value" */
	const char *output_path;        /* file for the command's output; NULL = captured in the result */
	bool ends_group;                /* when the command ends, kill the other processes of its process group */
	struct ns timeout;
	const volatile sig_atomic_t *stop; /* may be NULL */
};

/* Starts a command on a host. Returns its local process, or NULL with err set. */
struct process *host_start(const struct host *host, const struct host_command *command, struct error *err);

/*
 * Runs a command to its end. Returns 0 if the command ended by itself, with any exit code; or with err set, -ETIMEDOUT
 * if it took too long (the command and its children were stopped), -EINTR if *stop was set, or another -errno. After 0
 * and -ETIMEDOUT, the caller frees the result.
 */
int host_run(const struct host *host, const struct host_command *command, struct process_result *result,
	     struct error *err);

/* Like host_run(), but an exit code other than 0 is an error; its text quotes the last line of the output. */
int host_must_run(const struct host *host, const struct host_command *command, struct error *err);

/* Sleeps in slices; returns early when *stop is set. */
void host_sleep(struct ns time, const volatile sig_atomic_t *stop);

/* ---- ssh.c: a connection that lasts for the sweep, and a session in it for each command ---- */

/* Connects to an ssh host. The arguments are those of host_connect(). Returns NULL with err set on failure. */
struct ssh *ssh_open(const char *target, const char *config, const char *scratch, const volatile sig_atomic_t *stop,
		     struct error *err);
void ssh_close(struct ssh *ssh); /* NULL is legal */
/*
 * Starts a command over the connection; reconnects first if the connection has ended. Returns the local process of ssh,
 * or NULL with err set.
 */
struct process *ssh_start(struct ssh *ssh, const struct host_command *command, struct error *err);
/* Returns true while the connection is believed to be up; false for NULL. */
bool ssh_is_open(struct ssh *ssh);
/*
 * Call it if a command ended with exit code 255. Returns true if 255 is the exit code of the command itself, and false
 * if it is that of ssh. If true, removes the line that marks this (ssh.c) from the end of the output.
 */
bool ssh_is_own_code(char *output);
/*
 * Call it if ssh itself failed. Sets err to the reason why the connection ended, or to ssh's last message. Returns the
 * error.
 */
int ssh_explain(struct ssh *ssh, const char *phase, char *output, struct error *err);

/* ---- output.c: parts of a command's output, to quote in messages; pure ---- */

/*
 * Returns the last line that is not blank, or "no output" if there is none or `output` is NULL. Removes the blanks
 * after this line from `output`.
 */
const char *output_last_line(char *output);

/* Returns the beginning of the last `lines` lines, not counting blank lines at the end. NULL counts as empty. */
const char *output_tail(const char *output, size_t lines);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the plan's commands run: this machine, a network namespace, or another machine by ssh. */
#ifndef SWEEP_HOST_PRIV_H
#define SWEEP_HOST_PRIV_H

#include <signal.h>
#include <stdbool.h>

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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands on an ssh host: a connection that lasts for the sweep, and a session in it for each command. */
#ifndef SWEEP_SSH_PRIV_H
#define SWEEP_SSH_PRIV_H

#include <signal.h>
#include <stdbool.h>

#include <base/error.h>
#include <base/process.h>

#include "host_priv.h"

struct ssh;

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

#endif

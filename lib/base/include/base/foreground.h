/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes in the foreground: they have our terminal, and we wait for them. They end when we are killed. */
#ifndef BASE_FOREGROUND_H
#define BASE_FOREGROUND_H

#include <base/error.h>

/*
 * Runs a command line with /bin/sh; it may be interactive. When *stop is set, the shell gets SIGTERM. Returns the exit
 * code, 128 + N if signal N ended the shell, or -errno with err set.
 */
int foreground_run_shell(const char *command, const volatile int *stop, struct error *err);

/*
 * Runs a function in a child with a session of its own, so that process_set_nice() there affects no other session. The
 * child gets SIGTERM when *stop is set or when we die. Returns the function's value as exit code, or -errno with err
 * set.
 */
int foreground_run_session(int (*run)(void *context), void *context, const volatile int *stop, struct error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Child processes in the foreground: they use our terminal, and we wait until they end. If we die first, the kernel
 * sends them SIGTERM.
 */
#ifndef BASE_FOREGROUND_H
#define BASE_FOREGROUND_H

#include <base/error.h>

/*
 * Runs a command line with /bin/sh; it may be interactive. When *stop is set, the shell gets SIGTERM. Returns the exit
 * code, 128 + N if signal N ended the shell, or -errno with err set.
 */
int foreground_run_shell(const char *command, const volatile int *stop, struct error *err);

/*
 * Runs a function in a child with a session of its own, so that process_set_nice(), called in the child, affects no
 * other session. The child gets SIGTERM when *stop is set or when we die. The function's value is the child's exit
 * code. Returns this code, 128 + N if signal N ended the child, or -errno with err set.
 */
int foreground_run_session(int (*run)(void *context), void *context, const volatile int *stop, struct error *err);

#endif

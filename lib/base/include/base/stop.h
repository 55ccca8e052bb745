/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a program's work on SIGINT, SIGTERM or SIGHUP: the handler stores the signal's number in one flag of the
 * process, and loops look at the flag. Only programs call these functions; modules get a pointer to the flag as an
 * argument.
 */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

/*
 * Installs the handlers. If SIGHUP is ignored already (nohup), it stays ignored. Calls that wait, such as poll(), fail
 * with EINTR when the first signal comes.
 */
void stop_catch_signals(void);

/*
 * Returns the flag: 0 before the first signal, then the number of the latest signal caught. Any thread may read it, at
 * any time.
 */
const volatile sig_atomic_t *stop_flag(void);

/* Like stop_flag(), for the second signal and later ones: work that ends slowly after the first should end at once. */
const volatile sig_atomic_t *stop_second_flag(void);

/* Sleeps until a signal has been caught; returns its number. Call stop_catch_signals() before. */
int stop_wait(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a program's work on SIGINT, SIGTERM or SIGHUP: the handler stores the signal's number in one flag of the
 * process, and loops look at the flag. For programs; rooms take a pointer to the flag.
 */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <signal.h>

/*
 * Installs the handlers. SIGHUP stays ignored if it is (nohup). Calls that wait, such as poll(), end with EINTR when
 * the first signal comes.
 */
void stop_catch_signals(void);

/* The flag: 0, then the number of the latest signal caught. Valid for ever, from any thread. */
const volatile sig_atomic_t *stop_flag(void);

/* Sleeps until a signal has been caught; returns its number. Call stop_catch_signals() before. */
int stop_wait(void);

#endif

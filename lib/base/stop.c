/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/stop.h>

#include <stddef.h>

static volatile sig_atomic_t stop_signal, stop_second;

static void note_signal(int number)
{
	if (stop_signal)
		stop_second = number;
	stop_signal = number;
}

void stop_catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal}, hangup;
	sigset_t terminate;

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	/*
	 * Unblocks SIGTERM: a parent that may send SIGTERM before the handler is installed blocks the signal before it
	 * starts us.
	 */
	sigemptyset(&terminate);
	sigaddset(&terminate, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &terminate, NULL);
}

const volatile sig_atomic_t *stop_flag(void)
{
	return &stop_signal;
}

const volatile sig_atomic_t *stop_second_flag(void)
{
	return &stop_second;
}

/* The signals are blocked between checking the flag and sleeping, so that none is missed. */
int stop_wait(void)
{
	sigset_t blocked, old;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, &old);
	while (!stop_signal)
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return stop_signal;
}

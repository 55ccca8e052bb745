/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <base/stop.h>

Test(stop, each_signal_is_noted)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	stop_catch_signals();
	cr_assert_eq(*stop_flag(), 0);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		raise(signals[i]);
		cr_assert_eq(*stop_flag(), signals[i]);
	}
}

Test(stop, a_hangup_that_is_ignored_stays_ignored)
{
	signal(SIGHUP, SIG_IGN);
	stop_catch_signals();
	raise(SIGHUP);
	cr_assert_eq(*stop_flag(), 0);
}

Test(stop, a_blocked_termination_is_let_in)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	stop_catch_signals();
	raise(SIGTERM);
	cr_assert_eq(*stop_flag(), SIGTERM);
}

static void send_signal(int number)
{
	(void)number;
	kill(getpid(), SIGTERM);
}

Test(stop, waits_for_a_signal)
{
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};

	stop_catch_signals();
	signal(SIGALRM, send_signal);
	setitimer(ITIMER_REAL, &soon, NULL);
	cr_assert_eq(stop_wait(), SIGTERM);
	cr_assert_eq(stop_wait(), SIGTERM, "at once: it came before");
}

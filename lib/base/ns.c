/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/ns.h>

#include <time.h>

static struct ns now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t); /* cannot fail for these clocks */
	return (struct ns){(int64_t)t.tv_sec * NS_PER_S + t.tv_nsec};
}

struct ns ns_now_monotonic(void)
{
	return now_of(CLOCK_MONOTONIC);
}

struct ns ns_now_cpu(void)
{
	return now_of(CLOCK_THREAD_CPUTIME_ID);
}

struct ns ns_now_wall(void)
{
	return now_of(CLOCK_REALTIME);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include <dp/clock.h>

static struct dp_clock calibrated(int64_t baseline_ms)
{
	struct dp_clock clock;
	struct error err = {0};

	cr_assert_eq(dp_clock_calibrate(&clock, (struct ns){baseline_ms * NS_PER_MS}, &err), 0, "%s", err.text);
	return clock;
}

Test(clock, follows_the_kernels_clock)
{
	struct dp_clock clock = calibrated(50);

	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	/*
	 * Each side is read between two readings of the other, so that the inequality holds even if the test is
	 * descheduled.
	 */
	for (int i = 0; i < 100; i++) {
		int64_t before = ns_now_monotonic().v;
		uint64_t tsc = rte_rdtsc_precise();
		int64_t after = ns_now_monotonic().v;
		int64_t converted = dp_clock_monotonic(&clock, tsc).v;

		cr_assert_geq(converted, before - 20000, "100 ppm of 0.2 s");
		cr_assert_leq(converted, after + 20000);
	}
}

Test(clock, does_not_drift_with_updates)
{
	struct dp_clock clock = calibrated(20);

	for (int i = 0; i < 20; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		dp_clock_update(&clock);
	}
	for (int i = 0; i < 100; i++) {
		int64_t before = ns_now_wall().v;
		uint64_t tsc = rte_rdtsc_precise();
		int64_t after = ns_now_wall().v;

		cr_assert_geq(dp_clock_wall(&clock, tsc).v, before - 5000);
		cr_assert_leq(dp_clock_wall(&clock, tsc).v, after + 5000);
	}
}

Test(clock, counter_stamps_are_continuous_over_updates_and_convert_both_ways)
{
	struct dp_clock clock = calibrated(20);

	for (int i = 0; i < 20; i++) {
		struct dp_clock before = clock;
		uint64_t tsc;
		struct stamp wall;
		struct ns step;

		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		dp_clock_update(&clock);
		tsc = clock.latest.cycles;
		cr_assert(stamp_difference(dp_clock_stamp(&clock, tsc), dp_clock_stamp(&before, tsc), &step));
		cr_assert_leq(llabs(step.v), 1, "a jump of %ld ns", step.v);
		wall = dp_clock_to_wall(&clock, dp_clock_stamp(&clock, tsc));
		cr_assert_eq(wall.ns, clock.latest.wall_ns);
		cr_assert(!stamp_difference(wall, dp_clock_stamp(&clock, tsc), &step), "two clocks");
		cr_assert_eq(dp_clock_from_wall(&clock, wall).ns, dp_clock_stamp(&clock, tsc).ns);
	}
	cr_assert(!dp_clock_to_wall(&clock, (struct stamp){.clock = CLOCK_COUNTER}).valid);
}

Test(clock, says_when_it_was_trusted)
{
	struct dp_clock clock = calibrated(20), trusting;

	dp_clock_calibrate_trusting(&trusting, (struct ns){20 * NS_PER_MS});
	cr_assert(!clock.trusted);
	cr_assert(!trusting.trusted, "this CPU vouches for its counter, or calibrated() had failed");
	cr_assert_float_eq(trusting.ns_per_cycle, clock.ns_per_cycle, 1e-3 * clock.ns_per_cycle);
}

/* Puts a file over /proc/cpuinfo; only this process sees it. */
static void pretend_cpu_flags(const char *flags)
{
	char path[] = "/tmp/nomora-cpuinfo-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	dprintf(fd, "processor\t: 0\nflags\t\t: fpu %s ht\n", flags);
	close(fd);
	umount("/proc/cpuinfo");
	cr_assert_eq(mount(path, "/proc/cpuinfo", NULL, MS_BIND, NULL), 0, "%s", strerror(errno));
	unlink(path);
}

Test(clock, a_counter_that_stops_or_changes_its_rate_is_refused_or_trusted)
{
	static const char *const flags[] = {"constant_tsc", "nonstop_tsc", "tsc"};
	struct dp_clock clock;
	struct error err = {0};

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		cr_log_info("needs root");
		return;
	}
	for (size_t i = 0; i < 3; i++) {
		pretend_cpu_flags(flags[i]);
		cr_expect_eq(dp_clock_calibrate(&clock, (struct ns){1000}, &err), -ENOTSUP, "%s", flags[i]);
		dp_clock_calibrate_trusting(&clock, (struct ns){1000});
		cr_expect(clock.trusted, "%s", flags[i]);
	}
	pretend_cpu_flags("constant_tsc nonstop_tsc");
	cr_expect_eq(dp_clock_calibrate(&clock, (struct ns){1000}, &err), 0);
}

Test(clock, durations_and_cycles_are_inverse)
{
	static const int64_t durations_ns[] = {0, 1, 100, 500000, 10000000, -700};
	struct dp_clock clock = {.ns_per_cycle = 0.4761904};

	for (size_t i = 0; i < sizeof durations_ns / sizeof durations_ns[0]; i++) {
		int64_t cycles = dp_clock_cycles(&clock, (struct ns){durations_ns[i]});

		cr_assert_leq(llabs(dp_clock_duration(&clock, cycles).v - durations_ns[i]), 1, "%lld ns",
			      (long long)durations_ns[i]);
	}
}

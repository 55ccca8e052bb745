/* SPDX-License-Identifier: BSD-3-Clause */
#include <dp/clock.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

enum { READINGS = 16 };

/* Maximum of the baseline. A longer one would include times at which the kernel had not yet disciplined its clock. */
#define BASELINE_MAXIMUM (INT64_C(100) * NS_PER_S)

/*
 * Reads the counter, the clocks, and the counter again, READINGS times. Keeps the reading with the fewest cycles
 * between its two counter values: no interrupt has delayed it.
 */
static struct dp_clock_anchor read_anchor(void)
{
	struct dp_clock_anchor best = {.width_cycles = UINT64_MAX};

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = rte_rdtsc_precise();
		int64_t monotonic_ns = ns_now_monotonic().v;
		int64_t wall_ns = ns_now_wall().v;
		uint64_t after = rte_rdtsc_precise();

		if (after - before < best.width_cycles) {
			best.width_cycles = after - before;
			best.cycles = before + (after - before) / 2;
			best.monotonic_ns = monotonic_ns;
			best.wall_ns = wall_ns;
		}
	}
	return best;
}

static bool counter_is_invariant(void)
{
	char line[8192];
	bool found = false, flags_seen = false;
	FILE *file = fopen("/proc/cpuinfo", "re");

	if (!file)
		return true;
	while (!flags_seen && fgets(line, sizeof line, file)) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		flags_seen = true;
		found = strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc");
	}
	fclose(file);
	return found || !flags_seen;
}

static void calibrate(struct dp_clock *clock, struct ns baseline)
{
	struct timespec pause = {.tv_sec = baseline.v / NS_PER_S, .tv_nsec = baseline.v % NS_PER_S};

	clock->origin = read_anchor();
	while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
		;
	clock->latest = read_anchor();
	clock->latest.counter_ns = clock->latest.monotonic_ns;
	clock->ns_per_cycle = (double)(clock->latest.monotonic_ns - clock->origin.monotonic_ns) /
			      (double)(clock->latest.cycles - clock->origin.cycles);
}

int dp_clock_calibrate(struct dp_clock *clock, struct ns baseline, struct error *err)
{
	if (!counter_is_invariant())
		return error_set(err, ENOTSUP,
				 "this CPU's time stamp counter is not invariant (no constant_tsc and nonstop_tsc in "
				 "/proc/cpuinfo); "
				 "delays could not be trusted");
	clock->trusted = false;
	calibrate(clock, baseline);
	return 0;
}

void dp_clock_calibrate_trusting(struct dp_clock *clock, struct ns baseline)
{
	clock->trusted = !counter_is_invariant();
	calibrate(clock, baseline);
}

void dp_clock_update(struct dp_clock *clock)
{
	struct dp_clock_anchor anchor = read_anchor();
	int64_t elapsed_ns = anchor.monotonic_ns - clock->origin.monotonic_ns;

	/* If interrupts delayed all readings, the anchor may be wrong by up to its width: keep the old anchor. */
	if (anchor.width_cycles > 64 * (clock->latest.width_cycles + 1) && clock->latest.width_cycles > 0)
		return;
	anchor.counter_ns = dp_clock_stamp(clock, anchor.cycles).ns;
	clock->ns_per_cycle = (double)elapsed_ns / (double)(anchor.cycles - clock->origin.cycles);
	if (elapsed_ns > BASELINE_MAXIMUM)
		clock->origin = clock->latest;
	clock->latest = anchor;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses delays, and orders the runs. A random order is random within each repetition, so that a sweep that is cut off
 * has about the same number of runs at every delay. Pure.
 */
#ifndef SWEEP_SCHEDULE_H
#define SWEEP_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

enum { SWEEP_SCHEDULE_DELAYS_MAXIMUM = 1000 };

#define SWEEP_SCHEDULE_DELAY_MAXIMUM_US 10000.0

/*
 * Parses "0 5 10", "0,5,10", "0..100/20" (from, to, step), "log:1..1000*7" (seven delays, evenly spaced logarithms) and
 * mixtures of these. Delays are 0..10000 µs in steps of 0.1. Delays of log: are rounded to such a step; any other delay
 * between two steps is an error. `delays_us` must have space for SWEEP_SCHEDULE_DELAYS_MAXIMUM delays; duplicates count
 * once. Returns the number of delays, or -errno with err set.
 */
int sweep_schedule_parse_delays(const char *text, double *delays_us, struct error *err);

struct sweep_schedule_run {
	double delay_us;
	int64_t run; /* number of the repetition, from 0; references have numbers from SWEEP_REFERENCE_RUN on */
};

double sweep_schedule_smallest(const double *delays_us, size_t delay_count);

/*
 * Copies the runs and inserts references (model/sweep.h), which are runs at the smallest delay. A reference precedes
 * every group of `every` runs, and one follows the last run. None is inserted next to a run at the smallest delay. The
 * number of a reference is first_number + the index, in `runs`, of the run after it, so there are gaps between the
 * numbers. `to` must have space for 2 * count + 1 runs. Returns the number of runs in `to`.
 */
size_t sweep_schedule_add_references(const struct sweep_schedule_run *runs, size_t count, double smallest_us,
				     int64_t every, int64_t first_number, struct sweep_schedule_run *to);

struct sweep_plan;

/*
 * Returns the runs of a plan with these delays, and references. Each delay occurs once in each repetition, in the order
 * that the plan sets. If two plans differ only in the number of repetitions, the shorter schedule is the beginning of
 * the longer one. Returns NULL if out of memory. The caller calls free().
 */
struct sweep_schedule_run *sweep_schedule_of_plan(const struct sweep_plan *plan, const double *delays_us,
						  size_t delay_count, size_t *run_count);

#endif

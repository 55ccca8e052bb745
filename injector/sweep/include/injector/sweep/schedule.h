/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delays from text, and the order of the runs. A random order is random within each repetition: however early a sweep
 * is cut off, it has about the same number of runs at every delay. Pure.
 */
#ifndef SWEEP_SCHEDULE_H
#define SWEEP_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

enum { SWEEP_SCHEDULE_DELAYS_MAXIMUM = 1000 };

#define SWEEP_SCHEDULE_DELAY_MAXIMUM_US 10000.0

/*
 * "0 5 10", "0,5,10", "0..100/20" (from, to, step) and "log:1..1000*7" (seven delays, evenly spaced logarithms), mixed;
 * 0..10000 µs in steps of 0.1 (what lies between is refused, of logarithms rounded). `delays` holds
 * SWEEP_SCHEDULE_DELAYS_MAXIMUM; a delay given twice counts once. Returns how many, or -errno with err set.
 */
int sweep_schedule_parse_delays(const char *text, double *delays_us, struct error *err);

struct sweep_schedule_run {
	double delay_us;
	int64_t run; /* repetition, from 0 */
};

/* delay_count * repetitions runs in an order of enum sweep_plan_order; NULL if out of memory. Free with free(). */
struct sweep_schedule_run *sweep_schedule_create(const double *delays_us, size_t delay_count, int64_t repetitions,
						 int order, uint64_t seed);

double sweep_schedule_smallest(const double *delays_us, size_t delay_count);

/*
 * Runs with references (model/sweep.h) between them: one before each `every`, and one behind the last, but none beside
 * a run that is at the smallest delay itself. `to` has room for 2 * count + 1; references are numbered from
 * first_number on, with gaps. Returns how many there are then.
 */
size_t sweep_schedule_add_references(const struct sweep_schedule_run *runs, size_t count, double smallest_us,
				     int64_t every, int64_t first_number, struct sweep_schedule_run *to);

struct sweep_plan;

/*
 * The runs of a plan with these delays: those of sweep_schedule_create(), each repetition with its references. The
 * schedule of fewer repetitions is the beginning of that of more. NULL if out of memory. Free with free().
 */
struct sweep_schedule_run *sweep_schedule_of_plan(const struct sweep_plan *plan, const double *delays_us,
						  size_t delay_count, size_t *run_count);

#endif

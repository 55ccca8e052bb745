/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the cost of every machine from its round trip to the job's root task, and the smallest and largest cost of
 * each rack, in one pass (NoMora 5.2, eq. 6 and 8): cost = lround(100 / p(x)). p is the curve: performance as a
 * function of latency x. enum latency_reference says how x is computed from the round trip. A curve gives p at every
 * 10 us of x. Between these values, p(x) is interpolated, with x rounded to a quarter of a microsecond; or, as in the
 * paper, p(x) is the nearest value. Beyond the last value, p is the curve's smallest value. A struct cost_table is
 * read-only: any number of threads may use it.
 */
#ifndef COST_KERNEL_H
#define COST_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/curve.h>

#include <sched/cost/layout.h>

enum {
	COST_GAMMA = 1001,       /* above every cost of a machine (NoMora 6) */
	COST_MAXIMUM = 1000,     /* p = 0.1 */
	COST_ABSENT = INT16_MAX, /* cost of a column without a machine: above every threshold */
};

/* How to compute the curve's x from a measured round trip. */
enum latency_reference {
	LATENCY_REFERENCE_ADDED,    /* x = round trip - baseline_rtt_us of the testbed, at least 0 */
	LATENCY_REFERENCE_ABSOLUTE, /* x = round trip, as the papers did */
};

enum cost_lookup {
	COST_LOOKUP_INTERPOLATED, /* curve_eval() */
	COST_LOOKUP_NEAREST,      /* curve_eval_nearest() (NoMora 6) */
	COST_LOOKUP_TWO_DIGITS, /* likewise, but 1 / p is rounded to two significant digits: costs 100, 110, 120, .. */
};

/*
 * Number of entries per microsecond in an interpolated table. Even if the curve falls by 1.6 % per microsecond,
 * rounding x to an entry changes the cost by at most 0.2 %.
 */
enum { COST_STEPS_PER_US = 4 };

/*
 * A curve in the form that the kernels read: costs by latency x. cost[0] is COST_ABSENT, for columns without a machine;
 * cost[1 + k] is the cost at x = k / per_us; the last entry is the cost at any larger x.
 */
struct cost_table {
	uint32_t count;    /* entries */
	float baseline_us; /* subtracted from a round trip to get x; a negative x counts as 0 */
	float per_us;      /* entries per microsecond of x */
	bool monotone;     /* cost never falls as the round trip grows */
	int32_t *cost;     /* [count] */
};

/* Returns NULL with errno ENOMEM if out of memory. Keeps no reference to `curve`. */
struct cost_table *cost_table_create(const struct curve *curve, enum latency_reference reference,
				     enum cost_lookup lookup);
void cost_table_destroy(struct cost_table *table); /* NULL is legal */

/* Returns the cost of one round trip, exactly as the kernels below compute it. */
uint32_t cost_table_at(const struct cost_table *table, float rtt_us);

/*
 * rack() computes cost[columns] from rtt_us[columns] of one rack; a negative round trip means that the column has no
 * machine. `columns` is a multiple of COST_LANES. *maximum and *minimum are the rack's largest and smallest cost; both
 * are COST_ABSENT if the rack has no machine.
 */
struct cost_kernel {
	const char *name;
	bool (*usable)(void); /* on this processor */
	void (*rack)(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
		     uint16_t *maximum, uint16_t *minimum);
};

/* All kernels, the fastest first. A row whose name is NULL ends the list; the last kernel runs on every processor. */
extern const struct cost_kernel cost_kernels[];

/* Returns the first kernel that runs on this processor. */
const struct cost_kernel *cost_kernel_best(void);

#endif

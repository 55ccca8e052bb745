/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost of every machine from its round trip to the root, and each rack's extremes, in one pass (NoMora 5.2, eq. 6 and
 * 8): cost = lround(100 / p(x)), x = round trip, less the testbed's own if that is requested. p is interpolated in the
 * curve's 10 us table at the nearest quarter of a microsecond, or it is the nearest entry as in the paper; beyond the
 * table it is the smallest. Tables are read-only; any number of threads may use one.
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
	COST_TABLE_SMALL = 128,  /* entries that fit into vector registers */
	COST_ABSENT = INT16_MAX, /* cost of a column without a machine: above every threshold */
};

/* How a measured round trip becomes the curve's x. */
enum latency_reference {
	LATENCY_REFERENCE_ADDED,    /* x = round trip - baseline_rtt_us of the testbed, not under 0 */
	LATENCY_REFERENCE_ABSOLUTE, /* x = round trip, as the papers did */
};

enum cost_lookup {
	COST_LOOKUP_INTERPOLATED, /* curve_eval() */
	COST_LOOKUP_NEAREST,      /* curve_eval_nearest() (NoMora 6) */
};

enum { COST_STEPS_PER_US = 4 }; /* of an interpolated table; 0.2 % between steps of a curve that falls 1.6 % per us */

/*
 * A curve in the form that the kernels read. Entry 0 is COST_ABSENT, 1.. are the steps, the last is beyond the table.
 */
struct cost_table {
	uint32_t count; /* entries */
	float baseline_us;
	float per_us;                                                  /* entries a microsecond */
	bool monotone;                                                 /* cost never falls as the round trip grows */
	int32_t *cost;                                                 /* [count] */
	uint16_t small[COST_TABLE_SMALL] __attribute__((aligned(64))); /* the same, if count <= COST_TABLE_SMALL */
};

/* NULL with errno ENOMEM. `curve` is not kept. */
struct cost_table *cost_table_create(const struct curve *curve, enum latency_reference reference,
				     enum cost_lookup lookup);
void cost_table_destroy(struct cost_table *table); /* NULL is legal */

/* Cost of one round trip: exactly the result of the kernels below. */
uint32_t cost_table_at(const struct cost_table *table, float rtt_us);

/*
 * rtt_us[columns] of one rack (a negative one: no machine there) -> cost[columns]; columns is a multiple of COST_LANES.
 * *maximum is the largest cost, *minimum the smallest; both COST_ABSENT when the rack has no machine.
 */
struct cost_kernel {
	const char *name;
	bool (*usable)(void); /* on this processor */
	void (*rack)(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
		     uint16_t *maximum, uint16_t *minimum);
};

/* Fastest first, ended by a row whose name is NULL; the last one works everywhere. */
extern const struct cost_kernel cost_kernels[];

/* The first usable one. */
const struct cost_kernel *cost_kernel_best(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Average application performance of a job (NoMora section 6; DESIGN decision 7): the sum over measurement intervals of
 * the mean of p(round trip to the root) over the job's tasks without the root, divided by the sum of the best p that
 * any machine would have given in that interval. The worst task in the place of the mean is reported beside it, and a
 * second divisor: the best p of the machines other than the root's.
 */
#ifndef EXPLAIN_PERFORMANCE_H
#define EXPLAIN_PERFORMANCE_H

#include <stdint.h>

/* Sums over the intervals in which the job had a root and another task on machines; all zero to begin. */
struct performance_sum {
	double mean, worst, best, best_other;
	uint64_t intervals;
};

/* One interval: mean and worst p of the tasks, best p of all machines and of all but the root's. */
void performance_sum_add(struct performance_sum *sum, double mean, double worst, double best, double best_other);

/* The quotients, 0..1; NAN without an interval. */
double performance_average(const struct performance_sum *sum);
double performance_worst(const struct performance_sum *sum);
double performance_average_other(const struct performance_sum *sum);

#endif

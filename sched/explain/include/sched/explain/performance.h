/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Average application performance of a job (NoMora section 6; DESIGN decision 7): the sum over measurement intervals of
 * the mean of p(round trip to the root) over the job's tasks without the root, divided by the sum of the best p that
 * any machine would have given in that interval. Also reported: the same with the worst task instead of the mean, and
 * with the best p of the machines other than the root's as the divisor.
 */
#ifndef EXPLAIN_PERFORMANCE_H
#define EXPLAIN_PERFORMANCE_H

#include <stdint.h>

#include <sched/policy/policy.h>

/* Returns p at a round trip, looked up as the policy does; 0 for an unreachable machine (INFINITY). */
double performance_at(const struct curve *curve, const struct policy_settings *settings, double rtt_us);

/*
 * The best p that a job with this curve would have on any machine with a slot. rtt_us: scratch, [columns of the
 * layout].
 */
double performance_best(const struct curve *curve, struct placer *placer, const struct latency_view *view,
			const struct cost_layout *layout, uint32_t root, float *rtt_us);

/* Sums over the intervals in which the job had its root and another task on machines. Initialise it to 0. */
struct performance_sum {
	double mean, worst, best, best_other;
	uint64_t intervals;
};

/*
 * Adds `intervals` intervals with these values: mean and worst p of the tasks, best p of all machines and of all but
 * the root's.
 */
void performance_sum_add(struct performance_sum *sum, double mean, double worst, double best, double best_other,
			 uint64_t intervals);

/* The quotients, 0..1; NAN if there was no interval. */
double performance_average(const struct performance_sum *sum);
double performance_worst(const struct performance_sum *sum);
double performance_average_other(const struct performance_sum *sum);

#endif

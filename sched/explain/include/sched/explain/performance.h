/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Average application performance of a job (NoMora section 6; DESIGN decision 7). p is the predicted performance of a
 * task by its round trip to the root. Each measurement interval has these values:
 *
 *   mean, worst     mean and smallest p of the job's tasks without the root
 *   best            greatest p that a task would have on any machine
 *   best_other      greatest p that a task would have on any machine but the root's
 *
 * The average is the sum of `mean` over the intervals, divided by the sum of `best`. Two variants are reported, too:
 * with `worst` in place of `mean`, and with `best_other` in place of `best`.
 */
#ifndef EXPLAIN_PERFORMANCE_H
#define EXPLAIN_PERFORMANCE_H

#include <stdint.h>

#include <sched/policy/policy.h>

/* Returns p at a round trip, looked up as the policy does; 0 for an unreachable machine (INFINITY). */
double performance_at(const struct curve *curve, const struct policy_settings *settings, double rtt_us);

/*
 * Returns the greatest p that a task with this curve would have on any machine with slots, used or free. rtt_us[columns
 * of the layout]: work space.
 */
double performance_best(const struct curve *curve, struct placer *placer, const struct latency_view *view,
			const struct cost_layout *layout, uint32_t root, float *rtt_us);

/* Sums over the intervals in which the job's root and at least one other task were on machines. Initialise it to 0. */
struct performance_sum {
	double mean, worst, best, best_other;
	uint64_t intervals;
};

/* Adds `intervals` intervals, all with these values. */
void performance_sum_add(struct performance_sum *sum, double mean, double worst, double best, double best_other,
			 uint64_t intervals);

/* Return mean / best, worst / best and mean / best_other of the sums, 0..1; NAN if the divisor is 0. */
double performance_average(const struct performance_sum *sum);
double performance_worst(const struct performance_sum *sum);
double performance_average_other(const struct performance_sum *sum);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates that sources sustain under back-pressure: weighted max-min fair rates. A source loads several resources (links,
 * CPUs); on each of them, its load is its rate times a factor. If all factors are 1, this is max-min fair sharing of
 * links (Bertsekas and Gallager, Data Networks, section 6.5.2, "progressive filling").
 *
 * All rates grow in proportion to their weights. When a resource is full, the rates of the sources on it stop growing.
 * A rate also stops at the source's offered rate. The others continue to grow. In the result, the rate of a source
 * below its offered rate can be raised only by lowering that of a source whose rate / weight is equal or smaller.
 */
#ifndef SCHED_FLOWS_MAX_MIN_H
#define SCHED_FLOWS_MAX_MIN_H

#include <stdint.h>

#define MAX_MIN_OFFERED UINT32_MAX /* value of bottleneck[] for a source that gets its offered rate */

/*
 * All arrays are borrowed. The loads on resource r: source[i], load[i] for i = first[r] .. first[r + 1] - 1, where each
 * source occurs at most once. load[i] is the load per unit of the source's rate, > 0.
 */
struct max_min_problem {
	uint32_t source_count, resource_count;
	const double *capacity; /* by resource, >= 0 */
	const double *weight;   /* by source, > 0 */
	const double *offered;  /* by source: offered rate, >= 0; INFINITY: no limit */
	const uint32_t *first;
	const uint32_t *source;
	const double *load;
};

/*
 * Writes the rate of each source to rate[source_count]. Writes the resource that limits the source, or MAX_MIN_OFFERED,
 * to bottleneck[source_count], which may be NULL. A source without loads whose offered rate is INFINITY gets the rate
 * INFINITY. work: work space of max_min_work_doubles(problem) elements. Time: O(events * (resources + sources) +
 * loads); an event is a value of rate / weight at which sources stop. Pure, no allocation.
 */
void max_min_solve(const struct max_min_problem *problem, double *rate, uint32_t *bottleneck, double *work);
uint64_t max_min_work_doubles(const struct max_min_problem *problem);

#endif

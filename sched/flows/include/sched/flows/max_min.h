/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates that sources sustain under back-pressure: weighted max-min fair rates when each unit of a source's rate loads
 * several resources (links, CPUs), each by its own amount. With one load of 1 per link this is max-min fair sharing of
 * links (Bertsekas and Gallager, Data Networks, section 6.5.2, "progressive filling").
 *
 * All rates grow in proportion to their weights until a resource is full or a source reaches its offered rate; sources
 * on a full resource stop, the others continue. At the end, to raise a source's rate one would have to lower the rate
 * of a source whose rate per weight is not higher.
 */
#ifndef SCHED_FLOWS_MAX_MIN_H
#define SCHED_FLOWS_MAX_MIN_H

#include <stdint.h>

#define MAX_MIN_OFFERED UINT32_MAX /* value of bottleneck[] for a source that gets its offered rate */

/*
 * All arrays are borrowed. The loads on resource r, per unit of the source's rate, are source[i], load[i] for i =
 * first[r] .. first[r + 1] - 1; each source occurs at most once, and every load is > 0.
 */
struct max_min_problem {
	uint32_t source_count, resource_count;
	const double *capacity; /* by resource, >= 0 */
	const double *weight;   /* by source, > 0 */
	const double *offered;  /* by source, >= 0; INFINITY is allowed if some resource limits the source */
	const uint32_t *first;
	const uint32_t *source;
	const double *load;
};

/*
 * Writes the rate of each source to rate[source_count], and the resource that limits it, or MAX_MIN_OFFERED, to
 * bottleneck[source_count], which may be NULL. A source without loads and without an offered rate (INFINITY) gets
 * INFINITY. `work` has max_min_work_doubles(problem) elements. O(events * resources + loads), where an event is a level
 * of rate per weight at which sources stop growing. Pure, no allocation.
 */
void max_min_solve(const struct max_min_problem *problem, double *rate, uint32_t *bottleneck, double *work);
uint64_t max_min_work_doubles(const struct max_min_problem *problem);

#endif

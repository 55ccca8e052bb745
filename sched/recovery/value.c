/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a placement: p, then the load of the servers that take failed tasks, then the bytes on the network. */
#include "recovery_priv.h"

#include <math.h>
#include <string.h>

/*
 * Computes the loads of all servers under a placement. Returns the MB of the failed tasks' flows that cross the
 * network.
 */
static double add_loads(const struct problem *p, const uint32_t *place, double *egress, double *ingress)
{
	double network_MB = 0;

	memcpy(egress, p->bE, p->N * sizeof *egress);
	memcpy(ingress, p->bI, p->N * sizeof *ingress);
	for (uint32_t f = 0; f < p->F; f++) {
		const struct failed_task *task = &p->failed[f];
		double local_MB = recovery_problem_local_MB(p, f, place[f]);

		egress[place[f]] += task->egress - local_MB * task->factor;
		ingress[place[f]] += task->ingress - local_MB * task->factor;
		network_MB += task->out_MB + task->in_MB - local_MB;
	}
	for (uint32_t f = 0; p->has_pairs && f < p->F; f++) {
		for (uint32_t g = f + 1; g < p->F; g++) {
			double load = p->pair_load[(size_t)f * p->F + g];

			if (place[f] == place[g]) {
				egress[place[f]] -= load;
				ingress[place[f]] -= load;
			} else {
				network_MB += p->pair_MB[(size_t)f * p->F + g] + p->pair_MB[(size_t)g * p->F + f];
			}
		}
	}
	return network_MB;
}

struct value recovery_problem_value(const struct problem *p, const uint32_t *place, double *load)
{
	struct value value = {.network_MB = add_loads(p, place, load, load + p->N)};

	for (uint32_t n = 0; n < p->N; n++)
		value.p = larger(value.p, recovery_problem_relative(p, n, load[n], load[p->N + n]));
	for (uint32_t f = 0; f < p->F; f++) {
		uint32_t n = place[f];

		value.touched = larger(value.touched, recovery_problem_relative(p, n, load[n], load[p->N + n]));
	}
	return value;
}

struct value recovery_problem_evaluate(struct problem *p, const uint32_t *place, double *load)
{
	double low = p->least_p, high;
	struct value value;

	if (!p->has_relaunch)
		return recovery_problem_value(p, place, load);
	/* The greatest relative load falls as the scale x rises; p is the x that equals it, found by bisection. */
	recovery_problem_scale(p, INFINITY);
	high = larger(2 * low, recovery_problem_value(p, place, load).p);
	for (recovery_problem_scale(p, high); recovery_problem_value(p, place, load).p > high;
	     recovery_problem_scale(p, high))
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
		double middle = (low + high) / 2;

		recovery_problem_scale(p, middle);
		if (recovery_problem_value(p, place, load).p > middle)
			low = middle;
		else
			high = middle;
	}
	recovery_problem_scale(p, high);
	value = recovery_problem_value(p, place, load);
	value.p = high;
	return value;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a placement: p, then the load of the servers that take failed tasks, then the bytes on the network. */
#include "recovery_priv.h"

#include <math.h>
#include <string.h>

/*
 * Computes the loads of all servers under a placement, as sums of the flows that cross the network: without
 * differences, loads that are 0 are exactly 0. Returns the MB of the failed tasks' flows that cross the network.
 */
static double add_loads(const struct problem *p, const uint32_t *place, double *egress, double *ingress)
{
	double network_MB = 0;

	memcpy(egress, p->fixedE, p->N * sizeof *egress);
	memcpy(ingress, p->fixedI, p->N * sizeof *ingress);
	for (uint32_t f = 0; f < p->F; f++) {
		const struct failed_task *task = &p->failed[f];

		for (uint32_t i = 0; i < task->peer_count; i++) {
			const struct peer *peer = &p->peers[task->first_peer + i];

			if (peer->server == place[f])
				continue;
			egress[place[f]] += peer->out_MB * task->factor;
			ingress[place[f]] += peer->in_MB * task->factor;
			egress[peer->server] += peer->in_MB * task->factor;
			ingress[peer->server] += peer->out_MB * task->factor;
			network_MB += peer->out_MB + peer->in_MB;
		}
		for (uint32_t g = 0; p->has_pairs && g < p->F; g++) {
			if (place[f] == place[g])
				continue;
			egress[place[f]] += p->pair_out_load[(size_t)f * p->F + g];
			ingress[place[g]] += p->pair_out_load[(size_t)f * p->F + g];
			network_MB += p->pair_MB[(size_t)f * p->F + g];
		}
	}
	return network_MB;
}

/* The relative load of server n by the loads of add_loads(). */
static double exact_relative(const struct problem *p, uint32_t n, const double *load)
{
	return larger(load_ratio(load[n], p->BE[n], 0), load_ratio(load[p->N + n], p->BI[n], 0));
}

struct value recovery_problem_value(const struct problem *p, const uint32_t *place, double *load)
{
	struct value value = {.network_MB = add_loads(p, place, load, load + p->N)};

	for (uint32_t n = 0; n < p->N; n++)
		value.p = larger(value.p, exact_relative(p, n, load));
	for (uint32_t f = 0; f < p->F; f++)
		value.touched = larger(value.touched, exact_relative(p, place[f], load));
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/recovery/recovery.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>

#include "recovery_priv.h"

/*
 * The two highest relative loads when task f is not placed. With them, p can be computed for f on any server without a
 * pass over all servers.
 */
struct others {
	double worst, second; /* highest relative loads */
	uint32_t hottest;     /* the server with the load `worst` */
};

static struct others find_worst(const struct problem *p, const double *load)
{
	struct others others = {.hottest = p->N};

	for (uint32_t n = 0; n < p->N; n++) {
		double relative = recovery_problem_relative(p, n, load[n], load[p->N + n]);

		if (relative > others.worst || others.hottest == p->N) {
			others.second = others.worst;
			others.worst = relative;
			others.hottest = n;
		} else {
			others.second = fmax(others.second, relative);
		}
	}
	return others;
}

/* Adds the load of task f on server n (sign -1: subtracts it), given the places of the other failed tasks. */
static void add_task(const struct problem *p, uint32_t f, uint32_t n, const uint32_t *place, double sign, double *load)
{
	double local = recovery_problem_local_MB(p, f, n) * p->failed[f].factor;

	for (uint32_t g = 0; p->has_pairs && g < p->F; g++) {
		if (g != f && place[g] == n)
			local += p->pair_load[(size_t)f * p->F + g];
	}
	load[n] += sign * (p->failed[f].egress - local);
	load[p->N + n] += sign * (p->failed[f].ingress - local);
}

static bool fits(const struct problem *p, uint32_t f, uint32_t n, const double *space)
{
	return (!p->allowed || p->allowed[(size_t)f * p->N + n]) &&
	       p->failed[f].cpu <= space[n] + RECOVERY_CPU_TOLERANCE;
}

static struct recovery_reason begin_reason(const struct problem *p, uint32_t f, uint32_t own, const double *load)
{
	return (struct recovery_reason){.task = p->failed[f].task,
					.server = p->server[own],
					.load_s = recovery_problem_relative(p, own, load[own], load[p->N + own]),
					.next_p = INFINITY};
}

/* Adds server n, with which p would be `with`, to the alternatives. random_p is their sum until they are all known. */
static void add_alternative(const struct problem *p, uint32_t n, uint32_t own, double with,
			    struct recovery_reason *reason)
{
	reason->random_p += with;
	reason->server_count++;
	if (n == own || with >= reason->next_p)
		return;
	reason->has_next = true;
	reason->next_server = p->server[n];
	reason->next_p = with;
}

/*
 * Fills the reason for task f, but leaves the sum in random_p. load: loads with all tasks placed; changed during the
 * call and restored. space: by server, its free CPU without f.
 */
static void explain_task(const struct problem *p, uint32_t f, const uint32_t *place, double *load, const double *space,
			 struct recovery_reason *reason)
{
	uint32_t own = place[f];
	struct others others;

	*reason = begin_reason(p, f, own, load);
	add_task(p, f, own, place, -1, load);
	others = find_worst(p, load);
	for (uint32_t n = 0; n < p->N; n++) {
		double egress = load[n], ingress = load[p->N + n], with;

		if (!fits(p, f, n, space))
			continue;
		add_task(p, f, n, place, 1, load);
		with = fmax(n == others.hottest ? others.second : others.worst,
			    recovery_problem_relative(p, n, load[n], load[p->N + n]));
		load[n] = egress;
		load[p->N + n] = ingress;
		add_alternative(p, n, own, with, reason);
	}
	add_task(p, f, own, place, 1, load);
}

/* True if the loads of the other servers do not depend on n: task f has no peer there, and no other failed task is. */
static bool is_apart(const struct problem *p, uint32_t f, const uint32_t *place, uint32_t n)
{
	for (uint32_t g = 0; g < p->F; g++)
		if (g != f && place[g] == n)
			return false;
	return recovery_problem_local_MB(p, f, n) == 0;
}

/* Returns the relative load of server n, which is apart, with task f. */
static double load_apart(const struct problem *p, uint32_t f, uint32_t n)
{
	return recovery_problem_relative(p, n, p->bE[n] + p->failed[f].egress, p->bI[n] + p->failed[f].ingress);
}

/*
 * With relaunch delays, the demands depend on p, so the alternatives are evaluated each at its own p. For servers that
 * are apart and do not limit p themselves, this is the same p, `common`. Changes place[f] during the call; leaves the
 * problem at another scale.
 */
static void explain_late(struct problem *p, uint32_t f, uint32_t *place, double *load, const double *space,
			 struct recovery_reason *reason)
{
	uint32_t own = place[f];
	double common = INFINITY;

	recovery_problem_evaluate(p, place, load);
	*reason = begin_reason(p, f, own, load);
	for (uint32_t n = 0; n < p->N; n++) {
		double with = common;
		bool apart;

		if (!fits(p, f, n, space))
			continue;
		place[f] = n;
		apart = is_apart(p, f, place, n);
		if (!apart || isinf(common) || load_apart(p, f, n) > common) {
			with = recovery_problem_evaluate(p, place, load).p;
			if (isinf(common) && apart && load_apart(p, f, n) < with * (1 - 1e-9))
				common = with;
			if (!isinf(common))
				recovery_problem_scale(p, common);
		}
		add_alternative(p, n, own, with, reason);
	}
	place[f] = own;
}

int recovery_explain(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		     struct recovery_reason *reasons)
{
	struct problem problem;
	double *load = NULL, *space;
	uint32_t *place = NULL;
	int code = recovery_problem_create(scenario, &problem);

	if (code == 0) {
		load = calloc(3 * (problem.N + 1u), sizeof *load);
		place = calloc(problem.F + 1u, sizeof *place);
		code = load && place ? 0 : -ENOMEM;
	}
	if (code == 0) {
		for (uint32_t f = 0; f < problem.F; f++)
			place[f] = (uint32_t)problem.survivor[answer->server[f]];
		recovery_problem_evaluate(&problem, place, load);
		space = load + 2 * problem.N;
		memcpy(space, problem.free_cpu, problem.N * sizeof *space);
		for (uint32_t f = 0; f < problem.F; f++)
			space[place[f]] -= problem.failed[f].cpu;
		for (uint32_t f = 0; f < problem.F; f++) {
			space[place[f]] += problem.failed[f].cpu;
			if (problem.has_relaunch)
				explain_late(&problem, f, place, load, space, &reasons[f]);
			else
				explain_task(&problem, f, place, load, space, &reasons[f]);
			if (reasons[f].server_count > 0)
				reasons[f].random_p /= reasons[f].server_count;
			space[place[f]] -= problem.failed[f].cpu;
		}
	}
	free(load);
	free(place);
	recovery_problem_free(&problem);
	return code;
}

struct recovery_spread recovery_random_spread(const struct recovery_scenario *scenario, const bool *candidate,
					      uint32_t runs, uint64_t seed)
{
	struct recovery_spread spread = {.least_p = INFINITY};
	uint32_t *server = calloc(scenario->task_count + 1u, sizeof *server);
	struct rng rng;

	rng_seed(&rng, seed);
	for (uint32_t i = 0; i < runs && server; i++) {
		double p;

		if (!recovery_random_placement(scenario, &rng, candidate, server))
			break;
		p = recovery_evaluate(scenario, server, NULL);
		spread.runs++;
		spread.mean_p += p;
		spread.least_p = fmin(spread.least_p, p);
		spread.greatest_p = fmax(spread.greatest_p, p);
	}
	free(server);
	spread.mean_p = spread.runs ? spread.mean_p / spread.runs : 0;
	return spread;
}

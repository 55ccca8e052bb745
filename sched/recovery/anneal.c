/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated annealing: improves a placement by random moves of a task and exchanges of two tasks' servers. It minimises
 * the sum of the relative loads above a limit. A change that raises this sum by d is kept with the probability
 * exp(-d / temperature). Deterministic.
 */
#include "search_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>

#ifndef ANNEAL_STEPS /* tests use a smaller value */
#define ANNEAL_STEPS 200000
#endif
enum { STEPS = ANNEAL_STEPS, STEPS_PER_CLOCK = 256 };
/* The temperature falls exponentially from the first fraction of the limit to the second. */
static const double hottest = 0.03, coldest = 3e-5;

/* Failed tasks first..end-1. */
struct range {
	uint32_t first, end;
};

struct anneal {
	const struct search *s;
	double aim;
	struct rng rng;
	uint32_t *place, *best;           /* by failed task: candidate; place: C = removed during a move */
	struct range *mates;              /* by failed task: the tasks of its application */
	double *egress, *ingress, *space; /* by candidate */
};

static double excess_of(const struct anneal *a, uint32_t c)
{
	const struct problem *p = a->s->p;
	uint32_t n = a->s->n[c];

	return larger(load_ratio(a->egress[c], p->BE[n], p->noise) - a->aim, 0) +
	       larger(load_ratio(a->ingress[c], p->BI[n], p->noise) - a->aim, 0);
}

static double total_excess(const struct anneal *a)
{
	double sum = 0;

	for (uint32_t c = 0; c < a->s->C; c++)
		sum += excess_of(a, c);
	return sum;
}

/* Adds the task to candidate c, or removes it. place[f] must not be c. */
static void put(struct anneal *a, uint32_t f, uint32_t c, double sign)
{
	const struct problem *p = a->s->p;
	const struct failed_task *task = &p->failed[f];
	double local = a->s->local[(size_t)f * a->s->C + c];

	for (uint32_t g = a->mates[f].first; g < a->mates[f].end; g++)
		local += a->place[g] == c ? p->pair_load[(size_t)f * p->F + g] : 0;
	a->egress[c] += sign * (task->egress - local);
	a->ingress[c] += sign * (task->ingress - local);
	a->space[c] -= sign * task->cpu;
}

static void move(struct anneal *a, uint32_t f, uint32_t to)
{
	uint32_t from = a->place[f];

	a->place[f] = a->s->C;
	put(a, f, from, -1);
	put(a, f, to, 1);
	a->place[f] = to;
}

static bool fits(const struct anneal *a, uint32_t f, uint32_t c)
{
	return a->space[c] >= -RECOVERY_CPU_TOLERANCE && recovery_problem_allows(a->s->p, f, a->s->n[c]);
}

/* Tries one random change. Returns by how much it changes the sum; 0 if it is not kept. */
static double change(struct anneal *a, double temperature)
{
	uint32_t f = (uint32_t)rng_below(&a->rng, a->s->p->F), g = (uint32_t)rng_below(&a->rng, a->s->p->F);
	uint32_t from = a->place[f], to = (uint32_t)rng_below(&a->rng, a->s->C);
	bool exchange = rng_below(&a->rng, 2);
	double change;

	if (exchange)
		to = a->place[g];
	if (to == from)
		return 0;
	change = -excess_of(a, from) - excess_of(a, to);
	if (exchange)
		move(a, g, from);
	move(a, f, to);
	change += excess_of(a, from) + excess_of(a, to);
	if (fits(a, f, to) && (!exchange || fits(a, g, from)) &&
	    (change <= 0 || rng_uniform(&a->rng) < exp(-change / temperature)))
		return change;
	move(a, f, from);
	if (exchange)
		move(a, g, to);
	return 0;
}

static void run(struct anneal *a)
{
	const struct search *s = a->s;
	double excess = total_excess(a), least = excess, temperature = hottest * a->aim;

	memcpy(a->best, a->place, s->p->F * sizeof *a->best);
	for (uint32_t i = 0; i < STEPS && least > 0; i++, temperature *= pow(coldest / hottest, 1.0 / STEPS)) {
		excess += change(a, temperature);
		if (excess < least) {
			excess = total_excess(a); /* without the rounding errors of the changes */
			least = smaller(least, excess);
			memcpy(a->best, a->place, s->p->F * sizeof *a->best);
		}
		if (i % STEPS_PER_CLOCK == 0 && s->deadline.v > 0 && ns_now_monotonic().v > s->deadline.v)
			break;
	}
}

static void fill_mates(struct anneal *a)
{
	const struct problem *p = a->s->p;
	uint32_t first = 0;

	for (uint32_t f = 0; f < p->F; f++) {
		if (p->failed[f].application != p->failed[first].application)
			first = f;
		for (uint32_t g = first; g <= f; g++)
			a->mates[g] = (struct range){.first = first, .end = f + 1};
	}
}

/* place: by failed task, n. */
static void start(struct anneal *a, const uint32_t *place)
{
	const struct search *s = a->s;

	fill_mates(a);
	for (uint32_t c = 0; c < s->C; c++) {
		a->egress[c] = s->p->bE[s->n[c]];
		a->ingress[c] = s->p->bI[s->n[c]];
		a->space[c] = s->p->free_cpu[s->n[c]];
	}
	for (uint32_t f = 0; f < s->p->F; f++)
		a->place[f] = s->C;
	for (uint32_t f = 0; f < s->p->F; f++) {
		uint32_t c = (uint32_t)s->c[place[f]];

		put(a, f, c, 1);
		a->place[f] = c;
	}
}

void recovery_anneal(const struct search *s, uint32_t *place, double aim, uint64_t seed)
{
	struct anneal a = {.s = s, .aim = aim};
	uint32_t F = s->p->F, C = s->C;

	a.place = malloc((2 * (size_t)F + 1) * sizeof *a.place);
	a.mates = malloc((F + 1u) * sizeof *a.mates);
	a.egress = malloc((3 * (size_t)C + 1) * sizeof *a.egress);
	if (a.place && a.mates && a.egress && F > 0) {
		a.best = a.place + F;
		a.ingress = a.egress + C;
		a.space = a.ingress + C;
		rng_seed(&a.rng, seed);
		start(&a, place);
		run(&a);
		for (uint32_t f = 0; f < F; f++)
			place[f] = s->n[a.best[f]];
	}
	free(a.place);
	free(a.mates);
	free(a.egress);
}

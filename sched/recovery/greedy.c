/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the placement from which the search starts. Places the tasks, largest first, each on the server whose load is
 * then lowest. Afterwards moves single tasks.
 */
#include "recovery_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOVES_MAXIMUM = 200 };

struct loads {
	double *egress, *ingress, *space;
};

/*
 * Returns the correction, 0 or negative, to the load that task f adds to server n in each direction. The flows of f
 * with surviving tasks and with placed failed tasks on n stay within n, and so do not load its link.
 */
static double added(const struct problem *p, uint32_t f, uint32_t n, const uint32_t *place, const bool *placed)
{
	double local = recovery_problem_local_MB(p, f, n) * p->failed[f].factor;

	for (uint32_t g = 0; p->has_pairs && g < p->F; g++) {
		if (placed[g] && place[g] == n)
			local += p->pair_load[(size_t)f * p->F + g];
	}
	return -local;
}

static void put(const struct problem *p, uint32_t f, uint32_t n, double delta, double sign, const struct loads *l)
{
	l->egress[n] += sign * (p->failed[f].egress + delta);
	l->ingress[n] += sign * (p->failed[f].ingress + delta);
	l->space[n] -= sign * p->failed[f].cpu;
}

static bool open_to(const struct problem *p, const bool *candidate, uint32_t f, uint32_t n, const double *space)
{
	return candidate[n] && (!p->allowed || p->allowed[(size_t)f * p->N + n]) &&
	       p->failed[f].cpu <= space[n] + RECOVERY_CPU_TOLERANCE;
}

/* Returns the server whose load is lowest after it gets f, and this load; returns N if no server may take f. */
static uint32_t best_server(const struct problem *p, const bool *candidate, uint32_t f, const uint32_t *place,
			    const bool *placed, const struct loads *l, double *best_load)
{
	uint32_t best = p->N;

	*best_load = INFINITY;
	for (uint32_t n = 0; n < p->N; n++) {
		double delta, load;

		if (!open_to(p, candidate, f, n, l->space))
			continue;
		delta = added(p, f, n, place, placed);
		load = recovery_problem_relative(p, n, l->egress[n] + p->failed[f].egress + delta,
						 l->ingress[n] + p->failed[f].ingress + delta);
		if (load < *best_load || best == p->N) {
			best = n;
			*best_load = load;
		}
	}
	return best;
}

struct item {
	double size, cpu;
	uint32_t f;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	return (x->f > y->f) - (x->f < y->f);
}

/*
 * Places the tasks in the order of items[], each on its best_server(). Returns false if some task finds none. load:
 * scratch, 3 N doubles.
 */
static bool place_in_order(const struct problem *p, const bool *candidate, const struct item *items, uint32_t *place,
			   bool *placed, double *load)
{
	struct loads l = {.egress = load, .ingress = load + p->N, .space = load + 2 * p->N};

	memcpy(l.egress, p->bE, p->N * sizeof *load);
	memcpy(l.ingress, p->bI, p->N * sizeof *load);
	memcpy(l.space, p->free_cpu, p->N * sizeof *load);
	memset(placed, 0, p->F * sizeof *placed);
	for (uint32_t i = 0; i < p->F; i++) {
		uint32_t f = items[i].f;
		double ignored;
		uint32_t n = best_server(p, candidate, f, place, placed, &l, &ignored);

		if (n == p->N)
			return false;
		put(p, f, n, added(p, f, n, place, placed), 1, &l);
		place[f] = n;
		placed[f] = true;
	}
	return true;
}

bool recovery_greedy_place(const struct problem *p, const bool *candidate, uint32_t *place, double *load)
{
	struct item *items = calloc(p->F + 1u, sizeof *items);
	bool *placed = calloc(p->F + 1u, sizeof *placed), complete = false;

	for (int by_cpu = 0; by_cpu < 2 && items && placed && !complete; by_cpu++) {
		for (uint32_t f = 0; f < p->F; f++) {
			const struct failed_task *task = &p->failed[f];

			items[f] = (struct item){.size = by_cpu ? task->cpu : larger(task->egress, task->ingress),
						 .cpu = task->cpu,
						 .f = f};
		}
		qsort(items, p->F, sizeof *items, compare_items);
		complete = place_in_order(p, candidate, items, place, placed, load);
	}
	free(items);
	free(placed);
	return complete;
}

/*
 * Moves one task from the most loaded server with failed tasks to another one, if the larger load of the two servers
 * falls. Returns false if there is no such move.
 */
static bool improve_once(const struct problem *p, const bool *candidate, uint32_t *place, bool *placed,
			 const struct loads *l)
{
	double worst = -1;
	uint32_t hot = 0;

	for (uint32_t f = 0; f < p->F; f++) {
		double load = recovery_problem_relative(p, place[f], l->egress[place[f]], l->ingress[place[f]]);

		if (load > worst) {
			worst = load;
			hot = place[f];
		}
	}
	for (uint32_t f = 0; f < p->F; f++) {
		uint32_t from = place[f], to;
		double delta, load, left;

		if (from != hot)
			continue;
		placed[f] = false;
		delta = added(p, f, from, place, placed);
		put(p, f, from, delta, -1, l);
		to = best_server(p, candidate, f, place, placed, l, &load);
		left = recovery_problem_relative(p, from, l->egress[from], l->ingress[from]);
		placed[f] = true;
		if (to != from && to < p->N && larger(load, left) < worst * (1 - RECOVERY_TOLERANCE)) {
			placed[f] = false;
			put(p, f, to, added(p, f, to, place, placed), 1, l);
			placed[f] = true;
			place[f] = to;
			return true;
		}
		put(p, f, from, delta, 1, l);
	}
	return false;
}

/*
 * Moves one task to the most loaded server if this lowers the server's load: flows between the task and its peers there
 * then no longer cross the server's link. Of several such tasks, moves the one that leaves the lowest maximum of the
 * two servers' loads. Returns false if there is no such task.
 */
static bool relieve_once(const struct problem *p, const bool *candidate, uint32_t *place, bool *placed,
			 const struct loads *l)
{
	double worst = -1, least;
	uint32_t hot = 0, best = p->F;

	for (uint32_t n = 0; n < p->N; n++) {
		double load = recovery_problem_relative(p, n, l->egress[n], l->ingress[n]);

		if (load > worst) {
			worst = load;
			hot = n;
		}
	}
	least = worst * (1 - RECOVERY_TOLERANCE);
	for (uint32_t f = 0; f < p->F; f++) {
		uint32_t from = place[f];
		double delta, left, load;

		if (from == hot || !open_to(p, candidate, f, hot, l->space))
			continue;
		placed[f] = false;
		delta = added(p, f, hot, place, placed);
		load = recovery_problem_relative(p, hot, l->egress[hot] + p->failed[f].egress + delta,
						 l->ingress[hot] + p->failed[f].ingress + delta);
		delta = added(p, f, from, place, placed);
		left = recovery_problem_relative(p, from, l->egress[from] - p->failed[f].egress - delta,
						 l->ingress[from] - p->failed[f].ingress - delta);
		placed[f] = true;
		if (larger(load, left) < least) {
			least = larger(load, left);
			best = f;
		}
	}
	if (best == p->F)
		return false;
	placed[best] = false;
	put(p, best, place[best], added(p, best, place[best], place, placed), -1, l);
	put(p, best, hot, added(p, best, hot, place, placed), 1, l);
	placed[best] = true;
	place[best] = hot;
	return true;
}

void recovery_greedy_improve(const struct problem *p, const bool *candidate, uint32_t *place, double *load)
{
	struct loads l = {.egress = load, .ingress = load + p->N, .space = load + 2 * p->N};
	bool *placed = calloc(p->F + 1u, sizeof *placed);

	if (!placed)
		return;
	memset(placed, 1, p->F * sizeof *placed);
	recovery_problem_value(p, place, load);
	memcpy(l.space, p->free_cpu, p->N * sizeof *l.space);
	for (uint32_t f = 0; f < p->F; f++)
		l.space[place[f]] -= p->failed[f].cpu;
	for (int i = 0; i < MOVES_MAXIMUM && (relieve_once(p, candidate, place, placed, &l) ||
					      improve_once(p, candidate, place, placed, &l));
	     i++)
		;
	free(placed);
}

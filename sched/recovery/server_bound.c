/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound of p from each server alone: the least relative load that a set of failed tasks can give it. On small
 * clusters each server has peers of most failed tasks, and often one server decides p.
 *
 * The set consists of one part of each application's failed tasks, and the loads of the parts add up. A weight w
 * between the two directions gives a bound, as the larger load is at least w egress + (1 - w) ingress, and the least of
 * this sum is found application by application. Parts whose sum with the others' least exceeds the target are left
 * out; the few that remain are joined. The tasks of one part have to fit on the server, but not those of all parts.
 */
#include "search_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Applications with more failed tasks are split; flows between their pieces count as staying on the server. The tables
 * for 18 tasks have 4 MB.
 */
#ifndef PIECE_TASKS /* tests use a smaller value */
enum { PIECE_TASKS = 18 };
#endif
/* If joining takes more points than this, the result is the bound of the weight. */
enum { POINTS_MAXIMUM = 1 << 18 };
/* Halvings of the interval of w: a difference of 1/1024 hardly changes the bound, and 0.1 % of the parts remain. */
enum { WEIGHT_STEPS = 10 };

/* Relative load that tasks add to the egress and ingress of a server; it is negative if they remove load. */
struct point {
	double egress, ingress;
};

struct piece {
	uint32_t first, count; /* failed tasks */
	struct point *points;  /* by set of tasks; INFINITY if the server may not take the set */
	double least;          /* least weighted sum of the points */
};

struct work {
	const struct search *s;
	double target;
	struct piece *pieces;
	uint32_t piece_count;
	struct point *joined, *sums; /* POINTS_MAXIMUM entries each */
};

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->egress != y->egress)
		return x->egress < y->egress ? -1 : 1;
	return (x->ingress > y->ingress) - (x->ingress < y->ingress);
}

/* Sorts the points and keeps those that no other beats in both directions. Returns their number. */
static size_t keep_front(struct point *points, size_t count)
{
	size_t kept = 0;

	qsort(points, count, sizeof *points, compare_points);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || points[i].ingress < points[kept - 1].ingress)
			points[kept++] = points[i];
	}
	return kept;
}

static double weighted(struct point point, double w)
{
	return w * point.egress + (1 - w) * point.ingress;
}

/* The load of task f alone on candidate c, without the flows to and from other pieces of its application. */
static struct point task_load(const struct search *s, const struct piece *piece, uint32_t f, uint32_t c)
{
	const struct problem *p = s->p;
	double local = s->local[(size_t)f * s->C + c];
	struct point load = {.egress = p->failed[f].egress - local, .ingress = p->failed[f].ingress - local};

	for (uint32_t g = 0; g < p->F; g++) {
		if (g >= piece->first && g < piece->first + piece->count)
			continue;
		load.egress -= p->pair_out_load[(size_t)f * p->F + g];
		load.ingress -= p->pair_out_load[(size_t)g * p->F + f];
	}
	return load;
}

static void fill_points(struct work *work, struct piece *piece, uint32_t c)
{
	const struct problem *p = work->s->p;
	uint32_t n = work->s->n[c];
	struct point load[PIECE_TASKS] = {0};
	double space = p->free_cpu[n] + RECOVERY_CPU_TOLERANCE;

	for (uint32_t i = 0; i < piece->count; i++)
		load[i] = task_load(work->s, piece, piece->first + i, c);
	piece->points[0] = (struct point){0};
	for (uint32_t set = 1; set < 1u << piece->count; set++) {
		uint32_t i = (uint32_t)__builtin_ctz(set), f = piece->first + i;
		struct point point = piece->points[set & (set - 1)];
		double shared = 0, cpu = p->failed[f].cpu;

		for (uint32_t others = set & (set - 1); others; others &= others - 1) {
			uint32_t g = piece->first + (uint32_t)__builtin_ctz(others);

			shared += p->pair_load[(size_t)f * p->F + g];
			cpu += p->failed[g].cpu;
		}
		point.egress += (load[i].egress - shared) / p->BE[n];
		point.ingress += (load[i].ingress - shared) / p->BI[n];
		if (cpu > space || !recovery_problem_allows(p, f, n))
			point.egress = point.ingress = INFINITY;
		piece->points[set] = point;
	}
}

/* Fills `least` of the pieces for the weight w. Returns the bound; *slope: its derivative with respect to w. */
static double bound_of_weight(struct work *work, struct point base, double w, double *slope)
{
	double bound = weighted(base, w);

	*slope = base.egress - base.ingress;
	for (uint32_t k = 0; k < work->piece_count; k++) {
		struct piece *piece = &work->pieces[k];
		uint32_t best = 0;

		piece->least = 0;
		for (uint32_t set = 1; set < 1u << piece->count; set++) {
			double sum = weighted(piece->points[set], w);

			if (sum < piece->least) {
				piece->least = sum;
				best = set;
			}
		}
		bound += piece->least;
		*slope += piece->points[best].egress - piece->points[best].ingress;
	}
	return bound;
}

/* Finds the weight with the highest bound, a concave function of the weight. Returns the bound. */
static double find_weight(struct work *work, struct point base, double *w)
{
	double low = 0, high = 1, slope, bound = 0;

	for (int i = 0; i < WEIGHT_STEPS; i++) {
		*w = (low + high) / 2;
		bound = bound_of_weight(work, base, *w, &slope);
		if (slope > 0)
			low = *w;
		else
			high = *w;
	}
	return bound;
}

/*
 * Joins the pieces' points, leaving out sums that cannot lead to a load below the target. Returns the least load, the
 * target if there is none below it, or `bound` if there are too many points.
 */
static double join(struct work *work, struct point base, double w, double bound)
{
	double least = work->target, others = bound - weighted(base, w);
	size_t count = 1;

	work->sums[0] = base;
	for (uint32_t k = 0; k < work->piece_count; k++) {
		const struct piece *piece = &work->pieces[k];
		size_t joined = 0;

		others -= piece->least;
		for (uint32_t set = 0; set < 1u << piece->count; set++) {
			double excess = weighted(piece->points[set], w) + others;

			if (excess - piece->least - others + bound > work->target)
				continue;
			for (size_t i = 0; i < count; i++) {
				if (weighted(work->sums[i], w) + excess > work->target)
					continue;
				if (joined == POINTS_MAXIMUM)
					return bound;
				work->joined[joined++] =
					(struct point){.egress = work->sums[i].egress + piece->points[set].egress,
						       .ingress = work->sums[i].ingress + piece->points[set].ingress};
			}
		}
		count = keep_front(work->joined, joined);
		memcpy(work->sums, work->joined, count * sizeof *work->sums);
	}
	for (size_t i = 0; i < count; i++)
		least = smaller(least, larger(work->sums[i].egress, work->sums[i].ingress));
	return least;
}

static double bound_server(struct work *work, uint32_t c)
{
	const struct problem *p = work->s->p;
	uint32_t n = work->s->n[c];
	struct point base = {.egress = (p->bE[n] - p->noise) / p->BE[n], .ingress = (p->bI[n] - p->noise) / p->BI[n]};
	double bound, w;

	for (uint32_t k = 0; k < work->piece_count; k++)
		fill_points(work, &work->pieces[k], c);
	bound = find_weight(work, base, &w);
	return bound < work->target ? join(work, base, w, bound) : work->target;
}

static bool create(struct work *work)
{
	const struct problem *p = work->s->p;
	uint32_t first = 0;

	work->pieces = calloc(p->F + 1u, sizeof *work->pieces);
	work->joined = malloc(2 * (size_t)POINTS_MAXIMUM * sizeof *work->joined);
	if (!work->pieces || !work->joined)
		return false;
	work->sums = work->joined + POINTS_MAXIMUM;
	while (first < p->F) {
		struct piece *piece = &work->pieces[work->piece_count++];

		piece->first = first;
		while (first < p->F && piece->count < PIECE_TASKS &&
		       p->failed[first].application == p->failed[piece->first].application) {
			piece->count++;
			first++;
		}
		piece->points = malloc(((size_t)1 << piece->count) * sizeof *piece->points);
		if (!piece->points)
			return false;
	}
	return true;
}

double recovery_server_bound(const struct search *s, const uint32_t *place, double target, double bound)
{
	struct work work = {.s = s, .target = target};
	double *load = malloc(2 * (s->p->N + 1u) * sizeof *load);

	if (load && create(&work)) {
		recovery_problem_value(s->p, place, load);
		for (uint32_t c = 0; c < s->C; c++) {
			uint32_t n = s->n[c];

			if (s->p->BE[n] > 0 && s->p->BI[n] > 0 &&
			    recovery_problem_relative(s->p, n, load[n], load[s->p->N + n]) > bound &&
			    !(s->deadline.v > 0 && ns_now_monotonic().v > s->deadline.v))
				bound = larger(bound, bound_server(&work, c));
		}
	}
	for (uint32_t k = 0; k < work.piece_count; k++)
		free(work.pieces[k].points);
	free(work.pieces);
	free(work.joined);
	free(load);
	return bound;
}

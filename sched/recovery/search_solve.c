/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the optimum by a sequence of decision problems (search.c): first for p, then for the load of the servers that
 * take failed tasks, then for the bytes on the network.
 */
#include "search_priv.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Maximum numbers of options that searches may examine; about 100 options take 1 us. probe_work is for one search with
 * a limit at the bound, or half-way between bound and incumbent: such a search succeeds quickly or hardly ever.
 * tie_work is for each of the two tie-breaking objectives, load and bytes. Only the search for p runs until the
 * deadline.
 */
#ifndef PROBE_WORK /* tests use 1, so that small scenarios need the bound from all links */
#define PROBE_WORK 200000
#endif
static const uint64_t probe_work = PROBE_WORK, tie_work = 400000;

static int allocate(struct search *s)
{
	struct problem *p = s->p;
	size_t servers = s->C + 1u, tasks = p->F + 1u;

	s->local = calloc(tasks * servers, sizeof *s->local);
	s->plain = calloc(servers, sizeof *s->plain);
	s->egress = calloc(servers, sizeof *s->egress);
	s->ingress = calloc(servers, sizeof *s->ingress);
	s->relief_egress = calloc(2 * servers, sizeof *s->relief_egress);
	s->space = calloc(servers, sizeof *s->space);
	s->tasks_on = calloc(servers, sizeof *s->tasks_on);
	s->place = calloc(tasks, sizeof *s->place);
	s->found = calloc(tasks, sizeof *s->found);
	s->remaining = calloc(tasks, sizeof *s->remaining);
	s->hot = calloc(servers, sizeof *s->hot);
	s->gains = calloc(tasks, sizeof *s->gains);
	s->block_on = calloc(tasks * servers, 1);
	s->relief_ingress = s->relief_egress ? s->relief_egress + servers : NULL;
	if (!s->relief_egress || !s->local || !s->plain || !s->egress || !s->ingress || !s->space || !s->tasks_on ||
	    !s->place || !s->found || !s->remaining || !s->hot || !s->gains || !s->block_on)
		return -ENOMEM;
	return recovery_blocks_create(s);
}

static int create(struct search *s, const bool *candidate)
{
	struct problem *p = s->p;

	s->n = calloc(p->N + 1u, sizeof *s->n);
	s->c = calloc(p->N + 1u, sizeof *s->c);
	if (!s->n || !s->c)
		return -ENOMEM;
	for (uint32_t n = 0; n < p->N; n++) {
		s->c[n] = candidate[n] ? (int64_t)s->C : -1;
		if (candidate[n])
			s->n[s->C++] = n;
	}
	return allocate(s);
}

static void destroy(struct search *s)
{
	recovery_blocks_free(s);
	free(s->n);
	free(s->c);
	free(s->local);
	free(s->plain);
	free(s->egress);
	free(s->ingress);
	free(s->relief_egress);
	free(s->space);
	free(s->tasks_on);
	free(s->place);
	free(s->found);
	free(s->remaining);
	free(s->hot);
	free(s->gains);
	free(s->block_on);
}

/* Computes everything that depends on the problem's scale. scale: the p for which to compute the loads. */
static void prepare(struct search *s, double scale)
{
	struct problem *p = s->p;

	if (p->has_relaunch)
		recovery_problem_scale(p, scale);
	s->outside = 0;
	for (uint32_t n = 0; n < p->N; n++) {
		if (s->c[n] < 0)
			s->outside = larger(s->outside, recovery_problem_relative(p, n, p->bE[n], p->bI[n]));
	}
	for (uint32_t c = 0; c < s->C; c++)
		s->plain[c] = true;
	for (uint32_t f = 0; f < p->F; f++) {
		for (uint32_t i = 0; i < p->failed[f].peer_count; i++) {
			const struct peer *peer = &p->peers[p->failed[f].first_peer + i];
			int64_t c = s->c[peer->server];

			if (c < 0)
				continue;
			s->plain[c] = false;
			s->local[(size_t)f * s->C + (size_t)c] = (peer->out_MB + peer->in_MB) * p->failed[f].factor;
		}
	}
	recovery_blocks_fill(s);
}

/*
 * Lower bound of p at the current scale: from the groups, from the servers that are no candidates, and from the
 * candidates after all possible relief.
 */
static double bound_p(const struct search *s)
{
	double bound = larger(recovery_blocks_bound(s), larger(s->outside, s->p->least_p));

	for (uint32_t c = 0; c < s->C; c++) {
		double egress = s->p->bE[s->n[c]] - s->relief_egress[c];
		double ingress = s->p->bI[s->n[c]] - s->relief_ingress[c];

		bound = larger(bound, search_relative(s, c, egress, ingress));
	}
	return bound;
}

static enum outcome decide_p(struct search *s, double limit, uint64_t work)
{
	if (s->p->has_relaunch)
		prepare(s, limit);
	return recovery_search_decide(s, limit, limit, work);
}

/*
 * The state of minimise(): the objective's value for the incumbent (the best placement so far), and a lower bound of
 * the objective.
 */
struct descent {
	double incumbent, bound;
	uint64_t work; /* limit for all decisions together; 0 = only the deadline */
};

typedef enum outcome decide_function(struct search *s, double limit, uint64_t work);
typedef double value_function(struct search *s, uint32_t *place);

static bool closed(const struct descent *d)
{
	return d->incumbent <= d->bound * (1 + RECOVERY_TOLERANCE) || isinf(d->bound);
}

/*
 * Tries the bound itself. Then halves the gap, as long as it is large and short searches give an answer. Then searches
 * for anything better than the incumbent until there is none. Returns true if the incumbent is proved best.
 */
static bool minimise(struct search *s, struct descent *d, decide_function *decide, value_function *value,
		     uint32_t *place)
{
	enum { AT_BOUND, HALF_WAY, BELOW_INCUMBENT } stage = AT_BOUND;
	uint64_t begin = s->work;
	const double small_gap = 0.02;

	while (!closed(d)) {
		double below = smaller(DBL_MAX, d->incumbent * (1 - 2 * RECOVERY_TOLERANCE)), limit = below;
		uint64_t work = probe_work;
		enum outcome outcome;

		if (d->work && s->work - begin > d->work)
			return false;
		if (stage == AT_BOUND)
			limit = smaller(below, d->bound * (1 + RECOVERY_TOLERANCE / 2));
		else if (stage == HALF_WAY && d->bound > 0 && d->incumbent - d->bound > small_gap * d->bound &&
			 isfinite(d->incumbent))
			limit = smaller(below, (d->incumbent + d->bound) / 2);
		else
			stage = BELOW_INCUMBENT;
		if (stage == BELOW_INCUMBENT)
			work = d->work ? d->work - (s->work - begin) + 1 : 0;
		outcome = decide(s, limit, work);
		if (outcome == SEARCH_FOUND) {
			double better = value(s, s->found);

			/* the values differ only by rounding: the placement found is not better than the incumbent */
			if (better >= d->incumbent)
				return stage == BELOW_INCUMBENT;
			memcpy(place, s->found, s->p->F * sizeof *place);
			d->incumbent = better;
		} else if (outcome == SEARCH_NONE) {
			d->bound = stage == BELOW_INCUMBENT ? d->incumbent : limit;
			stage = HALF_WAY;
		} else if (outcome == SEARCH_DEADLINE || stage == BELOW_INCUMBENT) {
			return false;
		} else {
			stage = stage == AT_BOUND ? HALF_WAY : BELOW_INCUMBENT;
		}
	}
	return true;
}

static double value_p(struct search *s, uint32_t *place)
{
	double *load = malloc(2 * (s->p->N + 1u) * sizeof *load);
	double p = load ? recovery_problem_evaluate(s->p, place, load).p : INFINITY;

	free(load);
	return p;
}

/* Servers without failed tasks keep the limit that settle_ties() has set. */
static enum outcome decide_touched(struct search *s, double limit, uint64_t work)
{
	return recovery_search_decide(s, limit, s->untouched_limit, work);
}

static double value_touched(struct search *s, uint32_t *place)
{
	double *load = malloc(2 * (s->p->N + 1u) * sizeof *load);
	double touched = load ? recovery_problem_value(s->p, place, load).touched : INFINITY;

	free(load);
	return touched;
}

/*
 * Call it when p is proved. Among the placements with this p, finds the lowest `touched` (load of the servers that take
 * failed tasks), and among those the fewest bytes. Returns true if both are proved.
 */
static bool settle_ties(struct search *s, uint32_t *place, double p)
{
	struct descent touched = {.work = tie_work};
	double *load = malloc(2 * (s->p->N + 1u) * sizeof *load), total_MB = 0;
	enum outcome outcome;
	bool proved;

	if (!load)
		return false;
	if (s->p->has_relaunch)
		prepare(s, p);
	s->untouched_limit = p * (1 + RECOVERY_TOLERANCE);
	touched.incumbent = value_touched(s, place);
	touched.bound = recovery_blocks_bound(s);
	proved = minimise(s, &touched, decide_touched, value_touched, place);
	for (uint32_t f = 0; f < s->p->F; f++) {
		total_MB += s->p->failed[f].out_MB + s->p->failed[f].in_MB;
		for (uint32_t g = 0; g < s->p->F; g++)
			total_MB += s->p->pair_MB[(size_t)f * s->p->F + g];
	}
	s->least_bytes = true;
	s->best_saved_MB = total_MB - recovery_problem_value(s->p, place, load).network_MB;
	outcome = recovery_search_decide(s, touched.incumbent * (1 + RECOVERY_TOLERANCE), s->untouched_limit, tie_work);
	if (s->has_found)
		memcpy(place, s->found, s->p->F * sizeof *place);
	free(load);
	return proved && outcome == SEARCH_NONE;
}

/*
 * Anneals the incumbent, and raises the bound to that of single servers, until they meet. The bound leaves out what
 * leads to more than the incumbent, so it is found again for a better one.
 */
static void improve(struct search *s, struct descent *p, uint32_t *place)
{
	enum { ROUNDS = 8 };
	uint32_t *better = malloc((s->p->F + 1u) * sizeof *better);

	for (uint64_t round = 1; round <= ROUNDS && better && !closed(p); round++) {
		/* every second round aims half-way: the bound itself may be out of reach */
		double aim = round % 2 ? p->bound * (1 + RECOVERY_TOLERANCE / 2) : (p->bound + p->incumbent) / 2;
		double value;
		bool improved;

		memcpy(better, place, s->p->F * sizeof *place);
		recovery_anneal(s, better, aim, round);
		value = value_p(s, better);
		improved = value < p->incumbent;
		if (improved) {
			memcpy(place, better, s->p->F * sizeof *place);
			p->incumbent = value;
			if (s->p->has_relaunch)
				prepare(s, value);
		}
		if (round == 1 || improved)
			p->bound = recovery_server_bound(s, place, p->incumbent, p->bound);
	}
	free(better);
}

/*
 * Most scenarios need no more than a short search. Only the others get the bounds from all links and from
 * single servers, and annealing, which take longer than such a search.
 */
static bool minimise_p(struct search *s, struct descent *p, uint32_t *place)
{
	p->work = probe_work;
	if (minimise(s, p, decide_p, value_p, place))
		return true;
	p->work = 0;
	if (s->p->has_relaunch)
		prepare(s, p->incumbent);
	p->bound = larger(p->bound, recovery_weights_bound(s, p->incumbent));
	improve(s, p, place);
	return minimise(s, p, decide_p, value_p, place);
}

int recovery_search_solve(struct problem *problem, const bool *candidate, uint32_t *place, struct ns deadline,
			  struct recovery_answer *answer)
{
	struct search s = {.p = problem, .deadline = deadline};
	struct descent p;
	int code = create(&s, candidate);

	if (code == 0) {
		p = (struct descent){.incumbent = value_p(&s, place)};
		prepare(&s, p.incumbent);
		p.bound = bound_p(&s);
		answer->status = minimise_p(&s, &p, place) ? RECOVERY_OPTIMAL : RECOVERY_FEASIBLE;
		answer->bound = smaller(p.bound, p.incumbent);
		if (answer->status == RECOVERY_OPTIMAL)
			answer->ties_proved = settle_ties(&s, place, p.incumbent);
		answer->nodes = s.nodes;
	}
	destroy(&s);
	return code;
}

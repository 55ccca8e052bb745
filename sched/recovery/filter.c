/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the candidate servers. The exact filter drops server n if at least F others dominate it and no group of
 * failed tasks can lower its load. In a placement that uses n, at least one of these F servers has no failed task. The
 * failed tasks on n fit on that server, at no higher load there, and n's load does not rise when they leave. So an
 * optimum does not need n.
 */
#include "recovery_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RELIEF_NONE, RELIEF_PEERS, RELIEF_POSSIBLE };

/*
 * Sets relief[n]: whether failed tasks can lower the load of server n. The load that a group adds to a server is at
 * least the sum of one term per task: the load that the task alone adds, minus half of its flows with failed tasks. If
 * no term is negative, the load cannot fall. With relaunch delays, loads depend on p, so every server with a peer
 * is kept.
 */
static void fill_relief(const struct problem *p, unsigned char *relief)
{
	bool certain = !p->has_relaunch;
	double *least = calloc(p->F + 1u, sizeof *least);

	for (uint32_t f = 0; f < p->F && least; f++) {
		least[f] = fmin(p->failed[f].egress, p->failed[f].ingress);
		for (uint32_t g = 0; p->has_pairs && g < p->F; g++)
			least[f] -= p->pair_load[(size_t)f * p->F + g] / 2;
		certain = certain && least[f] >= 0;
	}
	for (uint32_t f = 0; f < p->F; f++) {
		const struct failed_task *task = &p->failed[f];

		for (uint32_t i = 0; i < task->peer_count; i++) {
			const struct peer *peer = &p->peers[task->first_peer + i];

			if (!least || !certain || (peer->out_MB + peer->in_MB) * task->factor > least[f])
				relief[peer->server] = RELIEF_POSSIBLE;
			else if (relief[peer->server] == RELIEF_NONE)
				relief[peer->server] = RELIEF_PEERS;
		}
	}
	free(least);
}

/* True if each failed task that may go to n may also go to m, and adds at most as much load to m as to n. */
static bool takes_as_little(const struct problem *p, uint32_t m, uint32_t n)
{
	for (uint32_t f = 0; f < p->F; f++) {
		if (p->allowed && p->allowed[(size_t)f * p->N + n] && !p->allowed[(size_t)f * p->N + m])
			return false;
		if (recovery_problem_local_MB(p, f, n) > recovery_problem_local_MB(p, f, m))
			return false;
	}
	return true;
}

static double part(double load, double capacity)
{
	return capacity > 0 ? load / capacity : load > 0 ? INFINITY : 0;
}

struct standing {
	double egress, ingress; /* relative loads without failed tasks */
	uint32_t n;
};

static int compare_standings(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	if (x->egress != y->egress)
		return x->egress < y->egress ? -1 : 1;
	if (x->ingress != y->ingress)
		return x->ingress < y->ingress ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static bool dominates(const struct problem *p, const struct standing *m, const struct standing *n, bool n_has_peers)
{
	if (m->ingress > n->ingress || p->BE[m->n] < p->BE[n->n] || p->BI[m->n] < p->BI[n->n] ||
	    p->free_cpu[m->n] < p->free_cpu[n->n])
		return false;
	return (!n_has_peers && !p->allowed) || takes_as_little(p, m->n, n->n);
}

/*
 * order: the servers by their relative egress load, so that every server comes after those that dominate it; of equal
 * servers, the one with the lower number comes first. So domination is a strict order, and F dominators of a dropped
 * server are always kept.
 */
static void drop_dominated(const struct problem *p, const struct standing *order, const unsigned char *relief,
			   bool *candidate)
{
	for (uint32_t i = 0; i < p->N; i++) {
		uint32_t n = order[i].n, dominators = 0;

		candidate[n] = true;
		if (relief[n] == RELIEF_POSSIBLE)
			continue;
		/*
		 * It is enough to count kept dominators: a dropped dominator has F kept dominators, and these dominate
		 * n, too.
		 */
		for (uint32_t j = 0; j < i && dominators < p->F; j++)
			dominators += candidate[order[j].n] && !(p->has_relaunch && relief[order[j].n]) &&
				      dominates(p, &order[j], &order[i], relief[n]);
		candidate[n] = dominators < p->F;
	}
}

static int filter_exact(const struct problem *p, bool *candidate)
{
	struct standing *order = calloc(p->N + 1u, sizeof *order);
	unsigned char *relief = calloc(p->N + 1u, 1);
	bool *useful = calloc(p->N + 1u, sizeof *useful);
	int code = order && relief && useful ? 0 : -ENOMEM;

	if (code == 0) {
		fill_relief(p, relief);
		for (uint32_t n = 0; n < p->N; n++)
			order[n] = (struct standing){
				.egress = part(p->bE[n], p->BE[n]), .ingress = part(p->bI[n], p->BI[n]), .n = n};
		qsort(order, p->N, sizeof *order, compare_standings);
		drop_dominated(p, order, relief, candidate);
		/* A server that may take no task, because of CPU or backups, is no candidate. */
		for (uint32_t f = 0; f < p->F; f++)
			for (uint32_t n = 0; n < p->N; n++)
				useful[n] = useful[n] || recovery_problem_allows(p, f, n);
		for (uint32_t n = 0; n < p->N; n++)
			candidate[n] = candidate[n] && useful[n];
	}
	free(order);
	free(relief);
	free(useful);
	return code;
}

static double load_with(const struct problem *p, uint32_t f, uint32_t n)
{
	const struct failed_task *task = &p->failed[f];
	double local = recovery_problem_local_MB(p, f, n) * task->factor;

	return recovery_problem_relative(p, n, p->bE[n] + task->egress - local, p->bI[n] + task->ingress - local);
}

struct turn {
	double cpu;
	int stage;
	uint32_t f;
};

/* The order of Algorithm 1, line 2: by descending CPU size; of equal sizes, the earlier stage first. */
static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	return (x->f > y->f) - (x->f < y->f);
}

struct choice {
	double load;
	uint32_t n;
};

static int compare_choices(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->load != y->load)
		return x->load < y->load ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static void take_turn(const struct problem *p, uint32_t f, uint32_t eta, struct choice *choices, bool *candidate)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < p->N; n++) {
		if (!candidate[n] && recovery_problem_allows(p, f, n))
			choices[count++] = (struct choice){.load = load_with(p, f, n), .n = n};
	}
	qsort(choices, count, sizeof *choices, compare_choices);
	for (uint32_t i = 0; i < count && i < eta; i++)
		candidate[choices[i].n] = true;
}

static int filter_paper(const struct problem *p, uint32_t eta, bool with_peers, bool *candidate)
{
	struct turn *turns = calloc(p->F + 1u, sizeof *turns);
	struct choice *choices = calloc(p->N + 1u, sizeof *choices);
	int code = turns && choices ? 0 : -ENOMEM;

	memset(candidate, 0, p->N * sizeof *candidate);
	for (uint32_t f = 0; f < p->F && code == 0; f++)
		turns[f] = (struct turn){.cpu = p->failed[f].cpu, .stage = p->failed[f].stage, .f = f};
	if (code == 0)
		qsort(turns, p->F, sizeof *turns, compare_turns);
	for (uint32_t i = 0; i < p->F && code == 0; i++)
		take_turn(p, turns[i].f, eta > 0 ? eta : 1, choices, candidate);
	for (uint32_t f = 0; f < p->F && with_peers; f++) {
		for (uint32_t i = 0; i < p->failed[f].peer_count; i++)
			candidate[p->peers[p->failed[f].first_peer + i].server] = true;
	}
	free(turns);
	free(choices);
	return code;
}

int recovery_filter_apply(struct problem *p, const struct recovery_options *options, bool *candidate)
{
	switch (options->filter) {
	case RECOVERY_FILTER_EXACT:
		return filter_exact(p, candidate);
	case RECOVERY_FILTER_PEERS:
		return filter_paper(p, options->eta, true, candidate);
	case RECOVERY_FILTER_PAPER:
		return filter_paper(p, options->eta, false, candidate);
	default:
		memset(candidate, 1, p->N * sizeof *candidate);
		return 0;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills the tables of each block, which are indexed by sets of the block's tasks: demands, least costs, and, by dynamic
 * programming, the best partition of each set.
 */
#include "search_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double size_of(const struct problem *p, uint32_t f)
{
	return larger(p->failed[f].egress, p->failed[f].ingress);
}

/* Puts the tasks first..first+count-1 into the block, largest first. */
static void deal_tasks(const struct search *s, struct block *block, uint32_t first, uint32_t count)
{
	block->count = count;
	block->full = (1u << count) - 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at > 0 && size_of(s->p, block->task[at - 1]) < size_of(s->p, first + i); at--)
			block->task[at] = block->task[at - 1];
		block->task[at] = first + i;
	}
}

static int allocate_block(const struct search *s, struct block *block)
{
	size_t sets = (size_t)block->full + 1, servers = s->C + 1u;

	block->egress = malloc((10 * sets + 2 * servers) * sizeof *block->egress);
	if (!block->egress)
		return -ENOMEM;
	block->ingress = block->egress + sets;
	block->cpu = block->ingress + sets;
	block->cross_egress = block->cpu + sets;
	block->cross_ingress = block->cross_egress + sets;
	block->cost = block->cross_ingress + sets;
	block->best = block->cost + sets;
	block->saved_MB = block->best + sets;
	block->best_saved_MB = block->saved_MB + sets;
	block->plain_cost = block->best_saved_MB + sets;
	block->relief_egress = block->plain_cost + sets;
	block->relief_ingress = block->relief_egress + servers;
	return 0;
}

int recovery_blocks_create(struct search *s)
{
	uint32_t first = 0;

	s->blocks = calloc(s->p->F + 1u, sizeof *s->blocks);
	s->set_values = malloc(((size_t)2 << BLOCK_TASKS) * sizeof *s->set_values);
	s->offers = malloc((s->C + 1u) * sizeof *s->offers);
	if (!s->blocks || !s->set_values || !s->offers)
		return -ENOMEM;
	while (first < s->p->F) {
		uint32_t count = 1, parts;

		while (first + count < s->p->F &&
		       s->p->failed[first + count].application == s->p->failed[first].application)
			count++;
		parts = (count + BLOCK_TASKS - 1) / BLOCK_TASKS;
		for (uint32_t part = 0; part < parts; part++) {
			struct block *block = &s->blocks[s->block_count];
			uint32_t begin = first + count * part / parts, end = first + count * (part + 1) / parts;

			block->split = parts > 1;
			s->has_split = s->has_split || block->split;
			deal_tasks(s, block, begin, end - begin);
			if (allocate_block(s, block) != 0)
				return -ENOMEM;
			s->block_count++;
		}
		first += count;
	}
	return 0;
}

void recovery_blocks_free(struct search *s)
{
	for (uint32_t b = 0; s->blocks && b < s->block_count; b++)
		free(s->blocks[b].egress);
	free(s->blocks);
	free(s->set_values);
	free(s->offers);
}

/* Computes the load of the flows between a task and the other blocks of its application. */
static void cross_loads(const struct search *s, const struct block *block, uint32_t f, double *egress, double *ingress)
{
	const double *load = s->p->pair_out_load;
	size_t F = s->p->F;

	*egress = *ingress = 0;
	for (uint32_t g = 0; g < F && block->split; g++) {
		bool inside = false;

		for (uint32_t i = 0; i < block->count; i++)
			inside = inside || block->task[i] == g;
		*egress += inside ? 0 : load[f * F + g];
		*ingress += inside ? 0 : load[g * F + f];
	}
}

static void fill_demands(const struct search *s, struct block *block)
{
	const struct problem *p = s->p;

	block->egress[0] = block->ingress[0] = block->cpu[0] = block->cross_egress[0] = block->cross_ingress[0] = 0;
	for (uint32_t set = 1; set <= block->full; set++) {
		uint32_t i = (uint32_t)__builtin_ctz(set), rest = set & (set - 1), f = block->task[i];
		double shared = 0, *cross_egress = &block->cross_egress[set],
		       *cross_ingress = &block->cross_ingress[set];

		for (uint32_t others = rest; others && p->has_pairs; others &= others - 1)
			shared += p->pair_load[(size_t)f * p->F + block->task[__builtin_ctz(others)]];
		block->egress[set] = block->egress[rest] + p->failed[f].egress - shared;
		block->ingress[set] = block->ingress[rest] + p->failed[f].ingress - shared;
		block->cpu[set] = block->cpu[rest] + p->failed[f].cpu;
		if (rest == 0) {
			cross_loads(s, block, f, cross_egress, cross_ingress);
			continue;
		}
		*cross_egress = block->cross_egress[rest] + block->cross_egress[set & -set];
		*cross_ingress = block->cross_ingress[rest] + block->cross_ingress[set & -set];
	}
}

/*
 * Fills local[set], the load of the set's flows with surviving peers on candidate c. Returns false if no task of the
 * block has a peer there.
 */
static bool fill_local(const struct search *s, const struct block *block, uint32_t c, double *local)
{
	bool any = false;

	for (uint32_t i = 0; i < block->count; i++)
		any = any || s->local[(size_t)block->task[i] * s->C + c] > 0;
	if (!any)
		return false;
	local[0] = 0;
	for (uint32_t set = 1; set <= block->full; set++)
		local[set] = local[set & (set - 1)] + s->local[(size_t)block->task[__builtin_ctz(set)] * s->C + c];
	return true;
}

static uint32_t allowed_set(const struct search *s, const struct block *block, uint32_t c)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < block->count; i++) {
		if (recovery_problem_allows(s->p, block->task[i], s->n[c]))
			set |= 1u << i;
	}
	return set;
}

static void fill_relief(const struct search *s, struct block *block, double *local)
{
	for (uint32_t c = 0; c < s->C; c++) {
		double egress = 0, ingress = 0;
		uint32_t allowed = allowed_set(s, block, c);
		bool peers = fill_local(s, block, c, local);

		for (uint32_t set = 1; set <= block->full && peers; set++) {
			if ((set & ~allowed) || block->cpu[set] > s->p->free_cpu[s->n[c]] + RECOVERY_CPU_TOLERANCE)
				continue;
			egress = larger(egress, local[set] + block->cross_egress[set] - block->egress[set]);
			ingress = larger(ingress, local[set] + block->cross_ingress[set] - block->ingress[set]);
		}
		block->relief_egress[c] = egress;
		block->relief_ingress[c] = ingress;
	}
}

static struct offer offer_of(const struct search *s, const struct block *block, uint32_t c)
{
	uint32_t n = s->n[c];
	struct offer offer = {.egress = s->p->bE[n], .ingress = s->p->bI[n], .c = c};

	offer.egress -= s->relief_egress[c] - block->relief_egress[c];
	offer.ingress -= s->relief_ingress[c] - block->relief_ingress[c];
	return offer;
}

/* True if every set of tasks costs at most as much on a as on b. The block's tasks have no peers on a and b. */
static bool no_worse(const struct search *s, const struct offer *a, const struct offer *b)
{
	const struct problem *p = s->p;
	uint32_t m = s->n[a->c], n = s->n[b->c];

	return p->BE[m] >= p->BE[n] && p->BI[m] >= p->BI[n] && p->free_cpu[m] >= p->free_cpu[n] && p->BE[n] > 0 &&
	       p->BI[n] > 0 && a->egress / p->BE[m] <= b->egress / p->BE[n] &&
	       a->ingress / p->BI[m] <= b->ingress / p->BI[n];
}

/*
 * Lowers each cost of the block to the cost on this server, if that is lower. local: NULL if the block's tasks have no
 * peers on the server; then plain_cost is lowered, too.
 */
static void offer_costs(const struct search *s, struct block *block, const struct offer *offer, const double *local)
{
	uint32_t allowed = allowed_set(s, block, offer->c), n = s->n[offer->c];
	double space = s->p->free_cpu[n] + RECOVERY_CPU_TOLERANCE, BE = s->p->BE[n], BI = s->p->BI[n];

	for (uint32_t set = 1; set <= block->full; set++) {
		double egress, ingress, cost;

		if ((set & ~allowed) || block->cpu[set] > space)
			continue;
		egress = offer->egress + block->egress[set] - block->cross_egress[set] - (local ? local[set] : 0);
		ingress = offer->ingress + block->ingress[set] - block->cross_ingress[set] - (local ? local[set] : 0);
		if (BE > 0 && BI > 0)
			cost = larger(egress / BE, ingress / BI);
		else
			cost = recovery_problem_relative(s->p, n, egress, ingress);
		if (cost < block->cost[set])
			block->cost[set] = cost;
		if (!local && cost < block->plain_cost[set])
			block->plain_cost[set] = cost;
	}
}

/*
 * Fills cost[] and plain_cost[]. front: scratch for C offers. It holds the Pareto front of the servers without peers:
 * of the servers without peers, only those on the front can have the least cost of a set.
 */
static void fill_costs(const struct search *s, struct block *block, double *local, struct offer *front)
{
	uint32_t kept = 0;

	for (uint32_t set = 0; set <= block->full; set++)
		block->cost[set] = block->plain_cost[set] = INFINITY;
	for (uint32_t c = 0; c < s->C; c++) {
		struct offer offer = offer_of(s, block, c);
		bool peers = fill_local(s, block, c, local), dominated = false;

		if (peers || s->p->allowed) {
			offer_costs(s, block, &offer, peers ? local : NULL);
			continue;
		}
		for (uint32_t i = 0; i < kept && !dominated; i++)
			dominated = no_worse(s, &front[i], &offer);
		for (uint32_t i = 0; i < kept && !dominated; i++) {
			if (no_worse(s, &offer, &front[i]))
				front[i--] = front[--kept];
		}
		if (!dominated)
			front[kept++] = offer;
	}
	for (uint32_t i = 0; i < kept; i++)
		offer_costs(s, block, &front[i], NULL);
}

static void fill_best(struct block *block)
{
	block->best[0] = 0;
	for (uint32_t set = 1; set <= block->full; set++) {
		uint32_t first = set & -set, others = set ^ first;
		double best = INFINITY;

		/* tries each group that contains the set's first task: that task plus any subset of the others */
		for (uint32_t sub = others;; sub = (sub - 1) & others) {
			double cost = block->cost[first | sub];

			if (cost < best)
				best = smaller(best, larger(cost, block->best[others ^ sub]));
			if (sub == 0)
				break;
		}
		block->best[set] = best;
	}
}

void recovery_blocks_fill(struct search *s)
{
	for (uint32_t b = 0; b < s->block_count; b++) {
		fill_demands(s, &s->blocks[b]);
		fill_relief(s, &s->blocks[b], s->set_values);
	}
	for (uint32_t c = 0; c < s->C; c++) {
		s->relief_egress[c] = s->relief_ingress[c] = 0;
		for (uint32_t b = 0; b < s->block_count; b++) {
			s->relief_egress[c] += s->blocks[b].relief_egress[c];
			s->relief_ingress[c] += s->blocks[b].relief_ingress[c];
		}
	}
	for (uint32_t b = 0; b < s->block_count; b++) {
		fill_costs(s, &s->blocks[b], s->set_values, s->offers);
		fill_best(&s->blocks[b]);
	}
}

double recovery_blocks_bound(const struct search *s)
{
	double bound = 0;

	for (uint32_t b = 0; b < s->block_count; b++)
		bound = larger(bound, s->blocks[b].best[s->blocks[b].full]);
	return bound;
}

/* Fills pairs[set]: MB of the flows within the set, plus MB of its flows with the application's other blocks. */
static void fill_pairs(const struct search *s, const struct block *block, double *pairs)
{
	const struct problem *p = s->p;

	pairs[0] = 0;
	for (uint32_t set = 1; set <= block->full; set++) {
		uint32_t rest = set & (set - 1), f = block->task[__builtin_ctz(set)];

		pairs[set] = pairs[rest];
		for (uint32_t others = rest; others && p->has_pairs; others &= others - 1) {
			uint32_t g = block->task[__builtin_ctz(others)];

			pairs[set] += p->pair_MB[(size_t)f * p->F + g] + p->pair_MB[(size_t)g * p->F + f];
		}
		for (uint32_t g = 0; g < p->F && block->split; g++) {
			bool inside = false;

			for (uint32_t i = 0; i < block->count; i++)
				inside = inside || block->task[i] == g;
			if (!inside)
				pairs[set] += p->pair_MB[(size_t)f * p->F + g] + p->pair_MB[(size_t)g * p->F + f];
		}
	}
}

/* Computes saved_MB and best_saved_MB of the block. local, local_MB: scratch, indexed by set. */
static void fill_saved(const struct search *s, struct block *block, double *local, double *local_MB)
{
	const struct problem *p = s->p;
	double *pairs = block->best_saved_MB; /* used as scratch until the dynamic programme fills it */

	fill_pairs(s, block, pairs);
	for (uint32_t set = 1; set <= block->full; set++)
		block->saved_MB[set] = block->plain_cost[set] <= s->limit ? pairs[set] : (double)-INFINITY;
	for (uint32_t c = 0; c < s->C; c++) {
		uint32_t allowed, n = s->n[c];
		struct offer offer;

		if (!fill_local(s, block, c, local))
			continue;
		allowed = allowed_set(s, block, c);
		offer = offer_of(s, block, c);
		local_MB[0] = 0;
		for (uint32_t set = 1; set <= block->full; set++) {
			uint32_t f = block->task[__builtin_ctz(set)];
			double egress = offer.egress + block->egress[set] - block->cross_egress[set] - local[set];
			double ingress = offer.ingress + block->ingress[set] - block->cross_ingress[set] - local[set];

			local_MB[set] =
				local_MB[set & (set - 1)] + s->local[(size_t)f * s->C + c] / p->failed[f].factor;
			if ((set & ~allowed) || block->cpu[set] > p->free_cpu[n] + RECOVERY_CPU_TOLERANCE ||
			    local_MB[set] + pairs[set] <= block->saved_MB[set])
				continue;
			if (search_relative(s, c, egress, ingress) <= s->limit)
				block->saved_MB[set] = local_MB[set] + pairs[set];
		}
	}
	block->best_saved_MB[0] = 0;
	for (uint32_t set = 1; set <= block->full; set++) {
		uint32_t first = set & -set, others = set ^ first;
		double best = -INFINITY;

		for (uint32_t sub = others;; sub = (sub - 1) & others) {
			best = larger(best, block->saved_MB[first | sub] + block->best_saved_MB[others ^ sub]);
			if (sub == 0)
				break;
		}
		block->best_saved_MB[set] = best;
	}
}

void recovery_blocks_fill_saved(struct search *s)
{
	for (uint32_t b = 0; b < s->block_count; b++)
		fill_saved(s, &s->blocks[b], s->set_values, s->set_values + ((size_t)1 << BLOCK_TASKS));
}

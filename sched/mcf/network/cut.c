/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Farkas' inequality is a sum over the levels of the potentials (their different values). Each level has a cut: the
 * nodes with at least this potential. If the sum is violated, so is the inequality of one of the cuts. One sweep from
 * the highest level down examines all cuts.
 */
#include <sched/mcf/verify.h>

#include <errno.h>
#include <stdlib.h>

/*
 * The amounts by which the sums of the level's cut exceed those of the cut of the next higher level. Sums fit int64
 * (mcf/mcf.h).
 */
struct level {
	int64_t potential;
	int64_t supply, lower_in, capacity;
	int32_t nodes, arcs;
};

static int compare_falling(const void *left, const void *right)
{
	const struct level *a = left, *b = right;

	return (a->potential < b->potential) - (a->potential > b->potential);
}

/* Lists each value of the potentials once, in descending order. Returns the number of values. */
static int32_t list_levels(const struct mcf_problem *problem, const int64_t *potential, struct level *levels)
{
	int32_t kept = 0;

	for (int32_t v = 0; v < problem->node_count; v++)
		levels[v] = (struct level){.potential = potential[v]};
	qsort(levels, (size_t)problem->node_count, sizeof *levels, compare_falling);
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (kept == 0 || levels[kept - 1].potential != levels[v].potential)
			levels[kept++] = levels[v];
	}
	return kept;
}

static struct level *level_of(struct level *levels, int32_t count, int64_t potential)
{
	struct level key = {.potential = potential};

	return bsearch(&key, levels, (size_t)count, sizeof *levels, compare_falling);
}

static void enter_arc(const struct mcf_problem *problem, int32_t arc, struct level *tail, struct level *head)
{
	int64_t lower = problem->lower ? problem->lower[arc] : 0;

	if (tail < head) { /* crosses every cut between the levels of its two ends */
		tail->capacity += problem->capacity[arc];
		head->capacity -= problem->capacity[arc];
		tail->arcs++;
		head->arcs--;
	} else if (head < tail) {
		head->lower_in += lower;
		tail->lower_in -= lower;
	}
}

static int64_t left_over(const struct mcf_cut *cut)
{
	return cut->supply + cut->lower_in - cut->capacity;
}

static void sweep(const struct level *levels, int32_t count, struct mcf_cut *best)
{
	struct mcf_cut cut = {0};

	*best = cut;
	for (int32_t i = 0; i < count; i++) {
		cut.least_potential = levels[i].potential;
		cut.nodes += levels[i].nodes;
		cut.arcs += levels[i].arcs;
		cut.supply += levels[i].supply;
		cut.lower_in += levels[i].lower_in;
		cut.capacity += levels[i].capacity;
		if (left_over(&cut) > left_over(best))
			*best = cut;
	}
}

int mcf_cut_find(const struct mcf_problem *problem, const int64_t *potential, struct mcf_cut *cut)
{
	size_t nodes = (size_t)problem->node_count;
	struct level *levels = calloc(nodes + 1, sizeof *levels), **of_node = calloc(nodes + 1, sizeof *of_node);
	int32_t count;

	if (!levels || !of_node) {
		free(levels);
		free(of_node);
		return -ENOMEM;
	}
	count = list_levels(problem, potential, levels);
	for (int32_t v = 0; v < problem->node_count; v++) {
		of_node[v] = level_of(levels, count, potential[v]);
		of_node[v]->supply += problem->supply[v];
		of_node[v]->nodes++;
	}
	for (int32_t a = 0; a < problem->arc_count; a++)
		enter_arc(problem, a, of_node[problem->tail[a]], of_node[problem->head[a]]);
	sweep(levels, count, cut);
	free(levels);
	free(of_node);
	return left_over(cut) > 0 ? 0 : -EBADMSG;
}
